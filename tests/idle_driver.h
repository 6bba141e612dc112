// A CUDA driver that does nothing and writes nothing down: what of a call's time on the host is
// ours, and what our part of a call asks of the system.
//
// tests/fake_driver.h's, but for what a warm call asks. Kernels are compiled by the real NVRTC.
#ifndef JITFUSE_TESTS_IDLE_DRIVER_H_
#define JITFUSE_TESTS_IDLE_DRIVER_H_

#include "api/runtime.h"
#include "tests/fake_driver.h"

namespace jitfuse::internal {

// From now on GPU functions of this process run on it. Device 0's primary context is made current
// on this thread, as frameworks do.
inline void UseIdleDriver() {
  static auto* fake = new FakeDriver;
  static auto* api = new DriverApi(fake->api());
  FakeDriver::current = FakeDriver::Context(1);
  api->CtxGetCurrent = [](CuContext* context) {
    *context = FakeDriver::current;
    return kCuSuccess;
  };
  api->CtxGetId = [](CuContext, unsigned long long* id) {
    *id = 1;
    return kCuSuccess;
  };
  api->LaunchKernel = [](CuFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, CuStream, void**, void**) { return kCuSuccess; };
  UseDriverForTests(api);
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_IDLE_DRIVER_H_
