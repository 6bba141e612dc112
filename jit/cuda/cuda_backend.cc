#include "jit/cuda/cuda_backend.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "absl/container/fixed_array.h"
#include "absl/strings/str_cat.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/emit_sort.h"
#include "ir/support/dump.h"
#include "ir/support/status.h"
#include "jit/cuda/cubin_info.h"
#include "jit/cuda/cuda_allocator.h"
#include "jit/cuda/device.h"
#include "jit/cuda/device_time.h"
#include "jit/cuda/disassemble.h"
#include "jit/cuda/gemm_cublaslt.h"
#include "jit/cuda/line_info.h"
#include "jit/cuda/nvrtc_compile.h"
#include "jit/cuda/stream_marks.h"

namespace jitfuse::internal {
namespace {

class CudaKernel : public Kernel {
 public:
  CudaKernel(std::shared_ptr<const Device> d, const KernelSource& source)
      : device(std::move(d)),
        name(source.entry),
        threads(static_cast<unsigned>(source.threads)),
        smem(static_cast<unsigned>(source.smem)),
        num_sizes(source.size_args.size()) {}
  KernelResources resources() const override { return known; }
  KernelResources MeasuredResources() const override {
    KernelResources out = known;
    ScopedContext scope(*device);
    if (scope.status().ok()) AskDriver(*device->driver, function, &out);
    return out;
  }
  ~CudaKernel() override {
    if (module == nullptr || !device->HoldsWhatWasMade()) return;
    ScopedContext scope(*device);
    // At the end of a process the driver may be gone already; there is nothing to do about an
    // error.
    if (scope.status().ok()) device->driver->ModuleUnload(module);
  }

  std::shared_ptr<const Device> device;
  CuModule module = nullptr;
  CuFunction function = nullptr;
  std::string name;
  unsigned threads, smem;
  size_t num_sizes;
  KernelResources known;  // from the cubin
};

// The dump points ptx and sass. What keeps them from being made is dumped in their place.
void DumpMachineCode(const NvrtcApi& nvrtc, const KernelSource& source, const std::string& cubin) {
  auto text_of = [](absl::StatusOr<std::string> text) {
    return text.ok() ? *std::move(text) : text.status().ToString();
  };
  if (DumpEnabled("ptx")) Dump("ptx", source.entry, text_of(CompileCudaToPtx(nvrtc, source)));
  if (DumpEnabled("sass")) Dump("sass", source.entry, text_of(Disassemble(cubin)));
}

absl::Status NoDevice() {
  return absl::FailedPreconditionError(
      "this back end was made for an architecture, not for a device: it emits and compiles only");
}

class CudaBackend : public Backend {
 public:
  CudaBackend(Target target, std::shared_ptr<const Device> device, int driver_major,
              const CublasLtApi* cublaslt)
      : target_(std::move(target)),
        device_(std::move(device)),
        driver_major_(driver_major),
        cublaslt_(cublaslt) {}

  absl::Status Init() {
    if (device_ == nullptr) return absl::OkStatus();
    ScopedContext scope(*device_);
    JF_RETURN_IF_ERROR(scope.status());
    JF_ASSIGN_OR_RETURN(allocator_, MakeCudaAllocator(*device_));
    held_allocator_ = MakeHeldCudaAllocator(*device_);
    return absl::OkStatus();
  }

  std::string_view name() const override { return "cuda"; }
  const Target& target() const override { return target_; }
  std::string CompilerId() const override {
    absl::StatusOr<const NvrtcApi*> nvrtc = LoadNvrtcApi(driver_major_);
    return nvrtc.ok() ? NvrtcId(**nvrtc) : "";
  }
  Compiler compiler() const override {
    const NvrtcApi* open = OpenNvrtcApi(driver_major_);
    const std::string clue = NvrtcClue(driver_major_);
    return open == nullptr ? Compiler{"", clue, ""} : Compiler{NvrtcId(*open), clue, open->path};
  }
  // Cubins run on drivers of their CUDA's major version and later ones.
  bool LoadsCodeOf(std::string_view toolchain) const override {
    constexpr std::string_view kName = "nvrtc-";
    if (toolchain.substr(0, kName.size()) != kName) return false;
    const int major = std::atoi(std::string(toolchain.substr(kName.size())).c_str());
    return driver_major_ == 0 || (major > 0 && major <= driver_major_);
  }

  absl::StatusOr<KernelSource> Emit(const KernelPlan& plan) const override {
    JF_ASSIGN_OR_RETURN(KernelSource source, EmitCuda(plan, target_));
    JF_RETURN_IF_ERROR(AddLineInfo(&source));
    return source;
  }

  absl::StatusOr<CompiledKernel> Compile(const KernelSource& source) const override {
    JF_ASSIGN_OR_RETURN(const NvrtcApi* nvrtc, LoadNvrtcApi(driver_major_));
    JF_ASSIGN_OR_RETURN(CompiledKernel compiled, CompileCuda(*nvrtc, source));
    DumpMachineCode(*nvrtc, source, compiled.bytes);
    return compiled;
  }

  absl::StatusOr<std::shared_ptr<const Kernel>> Load(const KernelSource& source,
                                                     const CompiledKernel& compiled) const override;
  absl::Status Launch(const Kernel& kernel, const LaunchArgs& args) const override;
  KernelResources ResourcesOf(const KernelSource& source,
                              const CompiledKernel& compiled) const override {
    KernelResources out = ResourcesOfCubin(source, compiled, target_);
    out.blocks_per_sm = BlocksPerSm(out, target_);
    return out;
  }
  std::unique_ptr<StreamMarks> MarkStream(StreamHandle stream) const override {
    if (device_ == nullptr || IsCapturing(stream)) return nullptr;
    return MarkCudaStream(device_, ToStream(stream));
  }

  absl::Status GemmSupport(DType dtype, Reason* reason) const override;
  bool GemmGivesF32(DType dtype) const override {
    return dtype == DType::kF16 || dtype == DType::kBF16;
  }
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareGemm(
      const GemmProblem& problem) const override;
  // What the table has, cuBLASLt takes.
  absl::Status EpilogueSupport(DType, const GemmEpilogue&, Reason*) const override {
    return absl::OkStatus();
  }
  absl::Status RunGemm(const PreparedGemm& gemm, const GemmBuffers& buffers,
                       StreamHandle stream) const override;
  bool CanTune() const override { return device_ != nullptr; }
  std::string GemmLibrary() const override;
  absl::StatusOr<std::vector<std::shared_ptr<const PreparedGemm>>> GemmCandidates(
      const GemmProblem& problem, int most) const override;
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareGemmWith(
      const GemmProblem& problem, const std::string& algorithm) const override;
  absl::StatusOr<double> TimeOnDevice(absl::FunctionRef<absl::Status()> work,
                                      StreamHandle stream) const override {
    double us = 0;
    JF_RETURN_IF_ERROR(OnDevice([&](const DriverApi& driver) -> absl::Status {
      JF_ASSIGN_OR_RETURN(us, TimeOnStream(driver, ToStream(stream), work));
      return absl::OkStatus();
    }));
    return us;
  }

  absl::StatusOr<std::vector<KernelSource>> EmitSort(DType indices) const override {
    std::vector<KernelSource> sources = EmitCudaSort(indices, target_);
    for (KernelSource& source : sources) JF_RETURN_IF_ERROR(AddLineInfo(&source));
    return sources;
  }
  int64_t SortWorkspaceBytes(const SortProblem& problem) const override {
    return CudaSortWorkspaceBytes(problem);
  }
  absl::Status RunSort(const SortProblem& problem, absl::Span<const Kernel* const> kernels,
                       const SortBuffers& buffers, void* workspace,
                       StreamHandle stream) const override;
  std::string DescribeSort(const SortProblem& problem) const override {
    return absl::StrCat("radix sort, ", CudaSortPasses(problem), " passes over ", problem.indices(),
                        " positions");
  }

  int device_index() const override { return device_ == nullptr ? 0 : device_->ordinal; }
  bool IsCapturing(StreamHandle stream) const override {
    CuCaptureStatus status = kCuCaptureNone;
    absl::Status asked = OnDevice([&](const DriverApi& driver) {
      return device_->Check(driver.StreamIsCapturing(ToStream(stream), &status),
                            "cuStreamIsCapturing");
    });
    return !asked.ok() || status != kCuCaptureNone;
  }
  Allocator* allocator() const override { return allocator_.get(); }
  Allocator* held_allocator() const override { return held_allocator_.get(); }
  absl::Status CopyFromHost(void* dst, const void* src, size_t bytes,
                            StreamHandle stream) const override;
  absl::Status CopyToHost(void* dst, const void* src, size_t bytes,
                          StreamHandle stream) const override;
  absl::Status CopyOnDevice(void* dst, const void* src, size_t bytes,
                            StreamHandle stream) const override;
  absl::Status Zero(void* dst, size_t bytes, StreamHandle stream) const override;
  absl::Status Synchronize(StreamHandle stream) const override;

 private:
  absl::StatusOr<CublasLtGemms*> Gemms() const;
  absl::Status Enqueue(const CudaKernel& kernel, const LaunchArgs& args, void** params) const;
  // fn(gemms) in the device's context.
  template <typename Result, typename Fn>
  absl::StatusOr<Result> WithGemms(Fn fn) const {
    Result out;
    JF_RETURN_IF_ERROR(OnDevice([&](const DriverApi&) -> absl::Status {
      JF_ASSIGN_OR_RETURN(CublasLtGemms * gemms, Gemms());
      JF_ASSIGN_OR_RETURN(out, fn(gemms));
      return absl::OkStatus();
    }));
    return out;
  }
  // Runs fn(driver) in the device's context.
  template <typename Fn>
  absl::Status OnDevice(Fn fn) const {
    if (device_ == nullptr) return NoDevice();
    ScopedContext scope(*device_);
    JF_RETURN_IF_ERROR(scope.status());
    return fn(*device_->driver);
  }

  const Target target_;
  const std::shared_ptr<const Device> device_;  // null: offline
  const int driver_major_;                      // 0: offline
  const CublasLtApi* const cublaslt_;           // null: looked for when needed
  std::unique_ptr<Allocator> allocator_, held_allocator_;
  mutable std::mutex gemms_mu_;
  mutable std::unique_ptr<CublasLtGemms> gemms_;              // guarded by it
  mutable std::atomic<CublasLtGemms*> gemms_ready_{nullptr};  // gemms_, for those who need no lock
};

absl::StatusOr<std::shared_ptr<const Kernel>> CudaBackend::Load(
    const KernelSource& source, const CompiledKernel& compiled) const {
  auto kernel = std::make_shared<CudaKernel>(device_, source);
  kernel->known = ResourcesOfCubin(source, compiled, target_);
  JF_RETURN_IF_ERROR(OnDevice([&](const DriverApi& driver) {
    const RelaxedCapture relaxed(driver);  // another thread may be capturing a stream
    JF_RETURN_IF_ERROR(device_->Check(driver.ModuleLoadData(&kernel->module, compiled.bytes.data()),
                                      "cuModuleLoadData", kernel->name));
    return device_->Check(
        driver.ModuleGetFunction(&kernel->function, kernel->module, kernel->name.c_str()),
        "cuModuleGetFunction", kernel->name);
  }));
  return std::shared_ptr<const Kernel>(std::move(kernel));
}

absl::Status CudaBackend::Launch(const Kernel& kernel, const LaunchArgs& args) const {
  const auto& k = static_cast<const CudaKernel&>(kernel);
  if (args.sizes.size() != k.num_sizes) {
    return InternalError("launch of ", k.name, ": ", args.sizes.size(),
                         " size arguments, expected ", k.num_sizes);
  }
  if (args.grid == 0) return absl::OkStatus();
  if (args.grid < 0 || args.grid > INT32_MAX)
    return InvalidArgument("launch of ", k.name, ": a grid of ", args.grid, " blocks");
  // The driver reads each argument from its address; values lie little-endian in 8 bytes, so that
  // the address serves every width.
  absl::FixedArray<void*, 256> params(args.buffers.size() + args.scalars.size() +
                                      args.sizes.size());
  void** next = params.data();
  for (void* const& buffer : args.buffers)
    *next++ = static_cast<void*>(const_cast<void**>(&buffer));
  for (const uint64_t& scalar : args.scalars) *next++ = const_cast<uint64_t*>(&scalar);
  for (const int64_t& size : args.sizes) *next++ = const_cast<int64_t*>(&size);
  if (args.in_context) return Enqueue(k, args, params.data());
  return OnDevice([&](const DriverApi&) { return Enqueue(k, args, params.data()); });
}

absl::Status CudaBackend::Enqueue(const CudaKernel& kernel, const LaunchArgs& args,
                                  void** params) const {
  const CuResult result = device_->driver->LaunchKernel(
      kernel.function, static_cast<unsigned>(args.grid), 1, 1, kernel.threads, 1, 1, kernel.smem,
      ToStream(args.stream), params, nullptr);
  if (result == kCuSuccess) [[likely]]
    return absl::OkStatus();
  return device_->Check(result, "cuLaunchKernel", kernel.name);
}

absl::StatusOr<CublasLtGemms*> CudaBackend::Gemms() const {
  if (CublasLtGemms* ready = gemms_ready_.load(std::memory_order_acquire)) return ready;
  std::lock_guard<std::mutex> lock(gemms_mu_);
  if (gemms_ == nullptr) {
    const CublasLtApi* api = cublaslt_;
    if (api == nullptr) {
      JF_ASSIGN_OR_RETURN(api, LoadCublasLtApi(driver_major_));
    }
    gemms_ = std::make_unique<CublasLtGemms>(*api, [device = device_](const GemmTrial& trial) {
      return RunTrial(*device->driver, trial);
    });
    gemms_ready_.store(gemms_.get(), std::memory_order_release);
  }
  return gemms_.get();
}

// Offline, the library is taken to be there: what is planned for a machine should not depend on
// this one.
absl::Status CudaBackend::GemmSupport(DType dtype, Reason* reason) const {
  if (!CublasLtTakes(dtype)) {
    *reason = Reason::kGemmDtype;
    return absl::UnimplementedError(
        absl::StrCat("cuBLASLt does not multiply ", ToAbsl(DTypeName(dtype))));
  }
  if (device_ == nullptr) return absl::OkStatus();
  absl::StatusOr<CublasLtGemms*> gemms = Gemms();
  if (!gemms.ok()) *reason = Reason::kGemmNoLibrary;
  return gemms.status();
}

absl::StatusOr<std::shared_ptr<const PreparedGemm>> CudaBackend::PrepareGemm(
    const GemmProblem& problem) const {
  return WithGemms<std::shared_ptr<const PreparedGemm>>(
      [&](CublasLtGemms* gemms) { return gemms->Prepare(problem); });
}

std::string CudaBackend::GemmLibrary() const {
  const absl::StatusOr<std::string> version = WithGemms<std::string>(
      [](CublasLtGemms* gemms) { return absl::StatusOr<std::string>(gemms->version()); });
  return version.ok() ? absl::StrCat("cuBLASLt ", *version) : "";
}

absl::StatusOr<std::vector<std::shared_ptr<const PreparedGemm>>> CudaBackend::GemmCandidates(
    const GemmProblem& problem, int most) const {
  return WithGemms<std::vector<std::shared_ptr<const PreparedGemm>>>(
      [&](CublasLtGemms* gemms) { return gemms->Candidates(problem, most); });
}

absl::StatusOr<std::shared_ptr<const PreparedGemm>> CudaBackend::PrepareGemmWith(
    const GemmProblem& problem, const std::string& algorithm) const {
  return WithGemms<std::shared_ptr<const PreparedGemm>>(
      [&](CublasLtGemms* gemms) { return gemms->PrepareWith(problem, algorithm); });
}

absl::Status CudaBackend::RunGemm(const PreparedGemm& gemm, const GemmBuffers& buffers,
                                  StreamHandle stream) const {
  return OnDevice([&](const DriverApi&) -> absl::Status {
    JF_ASSIGN_OR_RETURN(CublasLtGemms * gemms, Gemms());
    return gemms->Run(gemm, buffers, stream);
  });
}

absl::Status CudaBackend::RunSort(const SortProblem& problem,
                                  absl::Span<const Kernel* const> kernels,
                                  const SortBuffers& buffers, void* workspace,
                                  StreamHandle stream) const {
  void* const named[] = {const_cast<void*>(buffers.indices), buffers.order, buffers.begin,
                         buffers.end};
  return ForEachSortLaunch(problem, named, workspace,
                           [&](size_t kernel, absl::Span<void* const> args,
                               absl::Span<const int64_t> sizes, int64_t grid) {
                             LaunchArgs launch;
                             launch.buffers = args;
                             launch.sizes = sizes;
                             launch.grid = grid;
                             launch.stream = stream;
                             return Launch(*kernels[kernel], launch);
                           });
}

absl::Status CudaBackend::CopyFromHost(void* dst, const void* src, size_t bytes,
                                       StreamHandle stream) const {
  if (bytes == 0) return absl::OkStatus();
  return OnDevice([&](const DriverApi& driver) {
    JF_RETURN_IF_ERROR(
        device_->Check(driver.MemcpyHtoDAsync(ToDevicePtr(dst), src, bytes, ToStream(stream)),
                       "cuMemcpyHtoDAsync"));
    return device_->Check(driver.StreamSynchronize(ToStream(stream)), "cuStreamSynchronize");
  });
}

absl::Status CudaBackend::CopyToHost(void* dst, const void* src, size_t bytes,
                                     StreamHandle stream) const {
  if (bytes == 0) return absl::OkStatus();
  return OnDevice([&](const DriverApi& driver) {
    JF_RETURN_IF_ERROR(
        device_->Check(driver.MemcpyDtoHAsync(dst, ToDevicePtr(src), bytes, ToStream(stream)),
                       "cuMemcpyDtoHAsync"));
    return device_->Check(driver.StreamSynchronize(ToStream(stream)), "cuStreamSynchronize");
  });
}

absl::Status CudaBackend::CopyOnDevice(void* dst, const void* src, size_t bytes,
                                       StreamHandle stream) const {
  if (bytes == 0) return absl::OkStatus();
  return OnDevice([&](const DriverApi& driver) {
    return device_->Check(
        driver.MemcpyDtoDAsync(ToDevicePtr(dst), ToDevicePtr(src), bytes, ToStream(stream)),
        "cuMemcpyDtoDAsync");
  });
}

absl::Status CudaBackend::Zero(void* dst, size_t bytes, StreamHandle stream) const {
  if (bytes == 0) return absl::OkStatus();
  return OnDevice([&](const DriverApi& driver) {
    return device_->Check(driver.MemsetD8Async(ToDevicePtr(dst), 0, bytes, ToStream(stream)),
                          "cuMemsetD8Async");
  });
}

absl::Status CudaBackend::Synchronize(StreamHandle stream) const {
  return OnDevice([&](const DriverApi& driver) {
    return device_->Check(driver.StreamSynchronize(ToStream(stream)), "cuStreamSynchronize");
  });
}

}  // namespace

absl::StatusOr<Target> TargetOfDevice(const DriverApi& driver, CuDevice device) {
  auto ask = [&](CuDeviceAttribute attribute, int* value) {
    return DriverStatus(driver, driver.DeviceGetAttribute(value, attribute, device),
                        "cuDeviceGetAttribute", absl::StrCat(static_cast<int>(attribute)));
  };
  int major = 0, minor = 0, sm_count = 0, l2 = 0, clock_khz = 0, bus_bits = 0;
  JF_RETURN_IF_ERROR(ask(kCuComputeCapabilityMajor, &major));
  JF_RETURN_IF_ERROR(ask(kCuComputeCapabilityMinor, &minor));
  JF_RETURN_IF_ERROR(ask(kCuMultiprocessorCount, &sm_count));
  JF_RETURN_IF_ERROR(ask(kCuL2CacheSize, &l2));
  JF_RETURN_IF_ERROR(ask(kCuMemoryClockRate, &clock_khz));
  JF_RETURN_IF_ERROR(ask(kCuMemoryBusWidth, &bus_bits));
  const std::string arch = absl::StrCat("sm_", major * 10 + minor);
  absl::StatusOr<Target> target = TargetFor(arch);
  if (!target.ok()) return Annotate(target.status(), "this GPU");
  target->sm_count = sm_count;
  target->l2_bytes = l2;
  target->dram_gbps = 2.0 * clock_khz * 1e3 * bus_bits / 8 / 1e9;  // two transfers a clock
  return target;
}

absl::StatusOr<std::unique_ptr<Backend>> MakeCudaBackend(const DriverApi& driver,
                                                         const CublasLtApi* cublaslt,
                                                         CuContext context, CuDevice ordinal) {
  auto device = std::make_shared<Device>();
  device->driver = &driver;
  device->context = context;
  device->id = IdOf(driver, context);
  device->ordinal = ordinal;
  JF_ASSIGN_OR_RETURN(Target target, TargetOfDevice(driver, ordinal));
  int version = 0;  // 13000 is 13.0
  JF_RETURN_IF_ERROR(device->Check(driver.DriverGetVersion(&version), "cuDriverGetVersion"));
  auto backend =
      std::make_unique<CudaBackend>(std::move(target), std::move(device), version / 1000, cublaslt);
  JF_RETURN_IF_ERROR(backend->Init());
  return std::unique_ptr<Backend>(std::move(backend));
}

absl::StatusOr<std::unique_ptr<Backend>> CreateOfflineCudaBackend(const Target& target, int cuda) {
  if (target.kind != TargetKind::kCuda)
    return InvalidArgument("'", target.arch, "' is no CUDA architecture");
  return std::unique_ptr<Backend>(std::make_unique<CudaBackend>(target, nullptr, cuda, nullptr));
}

absl::Status CheckOfflineCompiler(const Target& target, int cuda) {
  const absl::StatusOr<const NvrtcApi*> found = LoadNvrtcApi(cuda);
  if (!found.ok())
    return Annotate(found.status(), cuda == 0 ? target.arch : absl::StrCat("CUDA ", cuda));
  const NvrtcApi* nvrtc = *found;
  if (cuda != 0 && nvrtc->major != cuda)
    return absl::FailedPreconditionError(
        absl::StrCat("NVRTC ", nvrtc->major, ".", nvrtc->minor, " (", nvrtc->path,
                     ") is what was found; expected one of CUDA ", cuda));
  return CheckNvrtcArch(*nvrtc, target.arch);
}

}  // namespace jitfuse::internal
