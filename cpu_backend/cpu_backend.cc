#include "cpu_backend/cpu_backend.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cpu_backend/emit_llvm.h"
#include "cpu_backend/gemm_onednn.h"
#include "cpu_backend/orc_compile.h"
#include "cpu_backend/parallel.h"
#include "cpu_backend/sort.h"
#include "ir/support/elf.h"
#include "ir/support/flags.h"
#include "ir/support/fork.h"
#include "ir/support/int_math.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr int64_t kInlineBytes =
    128 * 1024;  // below this a parallel region costs more than it gains

const Target& HostTarget() {
  static const auto* host = [] {
    HostCpu cpu = DetectHostCpu();
    auto has = [&](const char* feature) {
      return std::find(cpu.features.begin(), cpu.features.end(), feature) != cpu.features.end();
    };
    bool avx512 = has("+avx512f") && has("+avx512bw") && has("+avx512dq") && has("+avx512vl");
    auto* target = new Target(*TargetFor(avx512         ? "x86-64-v4"
                                         : has("+avx2") ? "x86-64-v3"
                                                        : "x86-64-v2"));  // budgets
    target->arch = cpu.name;
    target->features = cpu.features;
    return target;
  }();
  return *host;
}

// What each level adds, by LLVM's names (the x86-64 psABI).
absl::Status CheckRunsHere(std::string_view arch, absl::Span<const std::string> options) {
  static const std::vector<std::string> v2 = {"cx16",   "popcnt", "sahf", "sse3",
                                              "sse4.1", "sse4.2", "ssse3"};
  static const std::vector<std::string> v3 = {"avx", "avx2",  "bmi",   "bmi2", "f16c",
                                              "fma", "lzcnt", "movbe", "xsave"};
  static const std::vector<std::string> v4 = {"avx512f", "avx512bw", "avx512cd", "avx512dq",
                                              "avx512vl"};
  const Target& host = HostTarget();
  std::vector<std::string> missing;
  auto need = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (std::find(host.features.begin(), host.features.end(), "+" + name) == host.features.end())
        missing.push_back(name);
    }
  };
  bool level = arch == "x86-64-v2" || arch == "x86-64-v3" || arch == "x86-64-v4";
  if (level) need(v2);
  if (arch == "x86-64-v3" || arch == "x86-64-v4") need(v3);
  if (arch == "x86-64-v4") need(v4);
  if (!missing.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("code for ", ToAbsl(arch), " cannot run on this CPU (", host.arch,
                     "): it lacks ", absl::StrJoin(missing, ", ")));
  if (!level &&
      (arch != host.arch || options.empty() || options[0] != absl::StrJoin(host.features, ","))) {
    return absl::FailedPreconditionError(absl::StrCat("code for the exact CPU ", ToAbsl(arch),
                                                      " cannot run on this one (", host.arch,
                                                      " or other features)"));
  }
  return absl::OkStatus();
}

// Of an object as orc_compile.h makes it: one function, and a section of {address, size of its
// frame in LEB128}.
KernelResources ResourcesOfObject(std::string_view bytes, std::string_view entry) {
  KernelResources out;
  const std::optional<ElfFile> object = ElfFile::Read(bytes);
  if (!object) return out;
  if (const ElfSymbol* symbol = object->Symbol(entry))
    out.code_bytes = static_cast<int64_t>(symbol->size);
  const ElfSection* sizes = object->Section(".stack_sizes");
  if (sizes == nullptr || sizes->bytes.size() <= 8) return out;
  uint64_t stack = 0;
  int shift = 0;
  for (size_t at = 8; at < sizes->bytes.size() && shift < 63; ++at, shift += 7) {
    const uint64_t byte = ReadLittleEndian(sizes->bytes, at, 1);
    stack |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) out.stack_bytes = static_cast<int64_t>(stack);
    if ((byte & 0x80) == 0) break;
  }
  return out;
}

class CpuKernel : public Kernel {
 public:
  using Entry = void (*)(void* const* buffers, const uint64_t* scalars, const int64_t* sizes,
                         int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end);
  CpuKernel(const KernelSource& source, std::shared_ptr<const LoadedObject> object,
            const KernelResources& resources)
      : entry(reinterpret_cast<Entry>(object->Address(source.entry))),
        grain_bytes(std::max<int64_t>(source.grain_bytes, 1)),
        col_multiple(std::max<int64_t>(source.col_multiple, 1)),
        object_(std::move(object)),
        resources_(resources) {}
  KernelResources resources() const override { return resources_; }
  const Entry entry;
  const int64_t grain_bytes, col_multiple;

 private:
  const std::shared_ptr<const LoadedObject> object_;
  const KernelResources resources_;
};

// Memory of one call's arena is given back and asked for again by the next: a few blocks are kept,
// so that their pages stay mapped.
class CachingAllocator : public Allocator {
 public:
  void* Allocate(size_t bytes, StreamHandle) override {
    size_t size = RoundUp(bytes);
    {
      std::lock_guard<std::mutex> lock(LockOf(ForkLock::kMemory));
      auto it = free_.find(size);
      if (it != free_.end() && !it->second.empty()) {
        void* block = it->second.back();
        it->second.pop_back();
        kept_ -= size;
        return block;
      }
    }
    return std::aligned_alloc(kAlign, size);
  }
  void Free(void* ptr, size_t bytes, StreamHandle) override {
    if (ptr == nullptr) return;
    size_t size = RoundUp(bytes);
    if (size > kKeepBytes) return std::free(ptr);
    std::lock_guard<std::mutex> lock(LockOf(ForkLock::kMemory));
    kept_ += size;
    free_[size].push_back(ptr);
    if (kept_ > kKeepBytes || free_.size() > kMaxSizes) Trim();
  }

 private:
  static constexpr size_t kAlign = 256;
  static constexpr size_t kMaxSizes = 4096;
#if defined(__SANITIZE_ADDRESS__)
  static constexpr size_t kKeepBytes = 0;  // so that a use after free is seen
#else
  static constexpr size_t kKeepBytes = size_t{256} << 20;
#endif
  static size_t RoundUp(size_t bytes) {
    size_t step = bytes < 65536 ? kAlign : 65536;
    return bytes > SIZE_MAX - step ? bytes : std::max(step, (bytes + step - 1) / step * step);
  }
  // The smallest first: cheapest to ask for again. Sizes that nobody gives back are forgotten.
  void Trim() {
    const size_t keep = free_.size() > kMaxSizes ? 0 : kKeepBytes;
    for (auto it = free_.begin(); it != free_.end();) {
      while (kept_ > keep && !it->second.empty()) {
        std::free(it->second.back());
        it->second.pop_back();
        kept_ -= it->first;
      }
      it = it->second.empty() ? free_.erase(it) : std::next(it);
    }
  }

  // Guarded by LockOf(ForkLock::kMemory). A size's list stays when it is empty, so that giving back
  // and taking again allocate nothing.
  std::map<size_t, std::vector<void*>> free_;
  size_t kept_ = 0;
};

// The arenas of all back ends of the process share one cache, which outlives them.
CachingAllocator& ProcessAllocator() {
  static auto* allocator = new CachingAllocator;
  return *allocator;
}

void Run(const CpuKernel& kernel, const LaunchArgs& args) {
  auto call = [&](int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end) {
    kernel.entry(args.buffers.data(), args.scalars.data(), args.sizes.data(), row_begin, row_end,
                 col_begin, col_end);
  };
  int64_t row_bytes = std::max<int64_t>(args.bytes_per_row, 1);
  if (row_bytes <= kInlineBytes && args.rows <= kInlineBytes / row_bytes)
    return call(0, args.rows, 0, args.cols);
  // Rows are grouped where they are small, and cut along columns where they are large.
  int64_t chunk_rows = std::clamp<int64_t>(kernel.grain_bytes / row_bytes, 1, args.rows);
  int64_t pieces = chunk_rows > 1 ? 1
                                  : std::clamp<int64_t>(row_bytes / kernel.grain_bytes, 1,
                                                        CeilDiv(args.cols, kernel.col_multiple));
  int64_t chunk_cols =
      CeilDiv(CeilDiv(args.cols, pieces), kernel.col_multiple) * kernel.col_multiple;
  int64_t col_chunks = CeilDiv(args.cols, chunk_cols), row_chunks = CeilDiv(args.rows, chunk_rows);
  ParallelFor(row_chunks * col_chunks, [&](int64_t chunk) {
    int64_t row = chunk / col_chunks * chunk_rows, col = chunk % col_chunks * chunk_cols;
    call(row, std::min(row + chunk_rows, args.rows), col, std::min(col + chunk_cols, args.cols));
  });
}

class CpuBackend : public HostBackend {
 public:
  explicit CpuBackend(absl::StatusOr<Target> target,
                      std::optional<bool> bf16_products = std::nullopt)
      : status_(target.status()),
        target_(target.ok() ? *std::move(target) : HostTarget()),
        bf16_products_(bf16_products) {
    target_.num_threads = NumThreads();
    ForkGeneration();  // from now on forks are counted
    if (!status_.ok() || target_.arch != HostTarget().arch) return;
    for (const char* level : {"x86-64-v4", "x86-64-v3", "x86-64-v2"}) {
      if (!CheckRunsHere(level, {}).ok()) continue;
      general_owned_.push_back(std::make_unique<CpuBackend>(TargetFor(level)));
      general_.push_back(general_owned_.back().get());
    }
  }

  std::string_view name() const override { return "cpu"; }
  const Target& target() const override { return target_; }
  std::string CompilerId() const override { return absl::StrCat("LLVM ", LlvmVersion()); }

  // An object for this CPU is code like any other, whichever LLVM wrote it.
  bool LoadsCodeOf(std::string_view toolchain) const override {
    return toolchain.substr(0, 5) == "llvm-";
  }
  absl::Span<const Backend* const> GeneralBackends() const override { return general_; }

  absl::StatusOr<KernelSource> Emit(const KernelPlan& plan) const override {
    JF_RETURN_IF_ERROR(status_);
    return EmitLlvm(plan, target_);
  }
  absl::StatusOr<CompiledKernel> Compile(const KernelSource& source) const override {
    JF_RETURN_IF_ERROR(CheckLanguage(source));
    auto start = std::chrono::steady_clock::now();
    CompiledKernel compiled;
    JF_ASSIGN_OR_RETURN(
        compiled.bytes,
        CompileLlvm(source.text, source.arch, source.options.empty() ? "" : source.options[0]));
    compiled.compile_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return compiled;
  }
  absl::StatusOr<std::shared_ptr<const Kernel>> Load(
      const KernelSource& source, const CompiledKernel& compiled) const override {
    JF_RETURN_IF_ERROR(CheckLanguage(source));
    JF_RETURN_IF_ERROR(CheckRunsHere(source.arch, source.options));
    JF_ASSIGN_OR_RETURN(std::shared_ptr<const LoadedObject> object,
                        LoadObject(compiled.bytes, {source.entry}));
    return std::shared_ptr<const Kernel>(
        std::make_shared<CpuKernel>(source, std::move(object), ResourcesOf(source, compiled)));
  }
  KernelResources ResourcesOf(const KernelSource& source,
                              const CompiledKernel& compiled) const override {
    return ResourcesOfObject(compiled.bytes, source.entry);
  }
  absl::Status Launch(const Kernel& kernel, const LaunchArgs& args) const override {
    if (args.rows > 0 && args.cols > 0) Run(static_cast<const CpuKernel&>(kernel), args);
    return absl::OkStatus();
  }

  absl::Status GemmSupport(DType dtype, Reason* reason) const override {
    if (dtype != DType::kBF16 || !bf16_products_) return OnednnSupport(dtype, reason);
    if (*bf16_products_) return OnednnSupport(DType::kF32, reason);  // whether there is oneDNN
    *reason = Reason::kGemmDtype;
    return Unimplemented("oneDNN multiplies no bf16 on ", target_.arch);
  }
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareGemm(
      const GemmProblem& problem) const override {
    return PrepareOnednn(problem);
  }
  absl::Status EpilogueSupport(DType dtype, const GemmEpilogue& epilogue,
                               Reason* reason) const override {
    if (bf16_products_) return absl::OkStatus();  // what gemm_epilogues.inc has
    return OnednnEpilogueSupport(dtype, epilogue, reason);
  }
  absl::Status RunGemm(const PreparedGemm& gemm, const GemmBuffers& buffers,
                       StreamHandle) const override {
    return RunOnednn(gemm, buffers);
  }
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> PreparePackedGemm(
      const GemmProblem& problem) const override {
    return PrepareOnednn(problem, OnednnMayPack(problem.dtype, problem.epilogue));
  }
  absl::Status PackB(const PreparedGemm& gemm, const void* b, void* packed,
                     StreamHandle) const override {
    return PackOnednnB(gemm, b, packed);
  }

  absl::Status RunSort(const SortProblem& problem, absl::Span<const Kernel* const>,
                       const SortBuffers& buffers, void*, StreamHandle) const override {
    GroupPositions(problem, buffers);
    return absl::OkStatus();
  }
  std::string DescribeSort(const SortProblem& problem) const override {
    return absl::StrCat("counting sort, ", problem.lines(), " lines, one core each");
  }

  Allocator* allocator() const override { return &ProcessAllocator(); }

 private:
  static absl::Status CheckLanguage(const KernelSource& source) {
    if (source.lang != SourceLang::kLlvm)
      return InternalError("kernel ", source.entry, " is no LLVM IR: it was written for ",
                           source.arch);
    return absl::OkStatus();
  }

  absl::Status status_;  // of the architecture asked for
  Target target_;
  const std::optional<bool> bf16_products_;  // without: oneDNN is asked, of that and of epilogues
  std::vector<std::unique_ptr<const Backend>> general_owned_;
  std::vector<const Backend*> general_;
};

}  // namespace

absl::StatusOr<Target> CpuTargetFor(std::string_view arch) {
  if (arch.empty() || arch == "host") return HostTarget();
  JF_ASSIGN_OR_RETURN(Target target, TargetFor(arch));
  if (target.kind != TargetKind::kCpu)
    return InvalidArgument("'", ToAbsl(arch),
                           "' is no CPU; known: host, x86-64-v2, x86-64-v3, x86-64-v4");
  return target;
}

std::unique_ptr<Backend> CreateCpuBackend() {
  absl::StatusOr<Target> target = CpuTargetFor(EnvString("CPU_ARCH"));
  if (!target.ok())
    return std::make_unique<CpuBackend>(Annotate(target.status(), "JITFUSE_CPU_ARCH"));
  return std::make_unique<CpuBackend>(std::move(target));
}

absl::StatusOr<std::unique_ptr<Backend>> CreateCpuBackendFor(std::string_view arch,
                                                             std::optional<bool> bf16_products) {
  JF_ASSIGN_OR_RETURN(Target target, CpuTargetFor(arch));
  return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(std::move(target), bf16_products));
}

}  // namespace jitfuse::internal
