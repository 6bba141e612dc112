"""What a launch costs by itself: relu(a * b + c) through the driver's cuLaunchKernel, with nothing around it.

The kernel is PTX that the driver compiles. Each call goes through ctypes, whose own cost is measured on a function that does
nothing, with as many arguments, and taken off.
"""

import ctypes
import time

PTX = """
.version 6.3
.target sm_75
.address_size 64
.visible .entry chain(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pz, .param .u32 pn)
{
  .reg .pred %p;
  .reg .u32 %r<5>;
  .reg .u64 %rd<10>;
  .reg .f32 %f<6>;
  ld.param.u64 %rd1, [pa];
  ld.param.u64 %rd2, [pb];
  ld.param.u64 %rd3, [pc];
  ld.param.u64 %rd4, [pz];
  ld.param.u32 %r0, [pn];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p, %r4, %r0;
  @%p ret;
  mul.wide.u32 %rd5, %r4, 4;
  add.u64 %rd6, %rd1, %rd5;
  add.u64 %rd7, %rd2, %rd5;
  add.u64 %rd8, %rd3, %rd5;
  add.u64 %rd9, %rd4, %rd5;
  ld.global.f32 %f1, [%rd6];
  ld.global.f32 %f2, [%rd7];
  ld.global.f32 %f3, [%rd8];
  fma.rn.f32 %f4, %f1, %f2, %f3;
  max.f32 %f5, %f4, 0f00000000;
  st.global.f32 [%rd9], %f5;
  ret;
}
"""


class Bare:
    """Launches of the kernel on torch's current stream, in the context that torch has made current."""

    def __init__(self, torch, n):
        self.torch, self.n = torch, n
        self.tensors = [torch.randn(n, device="cuda") for _ in range(3)] + [torch.zeros(n, device="cuda")]
        driver = ctypes.PyDLL("libcuda.so.1")  # which keeps the GIL, as a binding would for so short a call
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(driver.cuModuleLoadData(ctypes.byref(module), PTX.encode()))
        self.check(driver.cuModuleGetFunction(ctypes.byref(function), module, b"chain"))
        self.values = [ctypes.c_uint64(t.data_ptr()) for t in self.tensors] + [ctypes.c_uint32(n)]
        params = (ctypes.c_void_p * 5)(*(ctypes.cast(ctypes.pointer(v), ctypes.c_void_p) for v in self.values))
        numbers = [ctypes.c_uint(x) for x in (1, 1, 1, max(32, -(-n // 32) * 32), 1, 1, 0)]
        self.arguments = (function, *numbers, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), params, None)
        self.launch, self.nothing = driver.cuLaunchKernel, ctypes.PyDLL(None).abs
        self.check(self.launch(*self.arguments))
        torch.cuda.synchronize()
        a, b, c, z = self.tensors
        if not torch.allclose(z, torch.relu(a * b + c)):
            raise RuntimeError("the bare kernel's result is wrong")

    @staticmethod
    def check(code):
        if code != 0:
            raise RuntimeError(f"the driver says {code}")

    def once(self, repeats):
        """ns of a launch."""
        took = []
        for function in (self.launch, self.nothing):
            self.torch.cuda.synchronize()
            arguments = self.arguments
            begin = time.perf_counter_ns()
            for _ in range(repeats):
                function(*arguments)
            took.append((time.perf_counter_ns() - begin) / repeats)
        self.torch.cuda.synchronize()
        return took[0] - took[1]

