#include "tests/support/cuda_on_host.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/prelude.h"
#include "ir/support/status.h"
#include "tests/test_util/golden.h"

namespace jitfuse::internal {
namespace {

// The prelude without the definitions that contain PTX; cuda_on_host_shim.inc has those.
std::string PortablePrelude(const std::string& bodies) {
  std::string out = "#define JF_FN [[maybe_unused]] static inline\n", block;
  const std::string prelude = PreludeFor(bodies);
  for (absl::string_view line : absl::StrSplit(prelude, '\n')) {
    if (line.substr(0, 13) == "#define JF_FN" || line == "#pragma unroll") continue;
    absl::StrAppend(&block, line, "\n");
    const bool one_line = !line.empty() && line[0] != ' ' && line[line.size() - 1] == '}';
    if (line != "}" && line != "};" && !one_line) continue;
    if (block.find("asm") == std::string::npos) absl::StrAppend(&out, block);
    block.clear();
  }
  // Loads that only differ in a hint.
  absl::StrAppend(&out, block);
  return absl::StrCat(
      "#define jf_ldna16 jf_ld16\n#define jf_ldna8 jf_ld8\n#define jf_ldna4 jf_ld4\n", out);
}

std::string Wrapper(size_t buffers, const std::vector<DType>& scalars, const KernelSource& source) {
  std::vector<std::string> args;
  for (size_t k = 0; k < buffers; ++k)
    args.push_back("static_cast<jf_any>(a[" + std::to_string(args.size()) + "])");
  static constexpr const char* kScalar[] = {"unsigned char",
                                            "unsigned char",
                                            "unsigned short",
                                            "unsigned",
                                            "unsigned long long",
                                            "signed char",
                                            "short",
                                            "int",
                                            "long long",
                                            "float",
                                            "float",
                                            "float",
                                            "double"};
  for (DType d : scalars)
    args.push_back(
        absl::StrCat("*static_cast<", kScalar[static_cast<int>(d)], "*>(a[", args.size(), "])"));
  for (size_t k = 0; k < source.size_args.size(); ++k)
    args.push_back(absl::StrCat("*static_cast<long long*>(a[", args.size(), "])"));
  return absl::StrCat("extern \"C\" void run_", source.entry, "(void** a) { ", source.entry, "(",
                      absl::StrJoin(args, ", "), "); }\n");
}

// Converts to whatever pointer the kernel wants.
constexpr char kAnyPointer[] =
    "struct jf_any {\n  void* p;\n  explicit jf_any(void* q) : p(q) {}\n"
    "  template <typename T> operator T*() const { return static_cast<T*>(p); }\n};\n";

}  // namespace

absl::StatusOr<CudaOnHost> CudaOnHost::Compile(absl::Span<const KernelPlan> plans,
                                               const Target& target) {
  CudaOnHost out;
  std::string wrappers;
  for (const KernelPlan& plan : plans) {
    Entry entry;
    JF_ASSIGN_OR_RETURN(entry.source, EmitCuda(plan, target));
    wrappers += Wrapper(plan.params.size(), plan.scalars, entry.source);
    out.entries_.push_back(std::move(entry));
  }
  JF_ASSIGN_OR_RETURN(KernelSource all, EmitCudaBatch(plans, target));
  JF_RETURN_IF_ERROR(out.Build(all.text.substr(all.text.find("// Jitfuse kernel")), wrappers));
  return out;
}

absl::StatusOr<CudaOnHost> CudaOnHost::CompileSources(std::vector<KernelSource> sources,
                                                      absl::Span<const size_t> buffers) {
  CudaOnHost out;
  std::string bodies, wrappers;
  for (size_t k = 0; k < sources.size(); ++k) {
    bodies += sources[k].text.substr(sources[k].text.find("extern \"C\" __global__"));
    wrappers += Wrapper(buffers[k], {}, sources[k]);
    out.entries_.push_back({std::move(sources[k])});
  }
  JF_RETURN_IF_ERROR(out.Build(bodies, wrappers));
  return out;
}

absl::Status CudaOnHost::Build(const std::string& bodies, const std::string& wrappers) {
  // Two loads stand for one where only the hint differs.
  const std::string prelude = PortablePrelude(bodies + " jf_ld16 jf_ld8 jf_ld4");
  // A library of a known name would be taken for the one that had it before.
  static int serial = 0;
  const auto folder = std::filesystem::temp_directory_path() /
                      absl::StrCat("jitfuse_host_", getpid(), "_", serial++);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "k.cc") << "#include \"tests/support/cuda_on_host_shim.inc\"\n"
                                 << prelude << bodies << kAnyPointer << wrappers;
  const std::string root = TestDataPath("");
  if (!std::filesystem::exists(root + "tests/support/cuda_on_host_shim.inc"))
    return absl::UnavailableError("no source tree at " + root);
  const char* cxx = std::getenv("CXX");
  const std::string command = absl::StrCat(
      cxx == nullptr ? "c++" : cxx, " -std=c++20 -O1 -w -ffp-contract=off -mfma -fPIC -shared -I",
      root, " ", (folder / "k.cc").string(), " -o ", (folder / "k.so").string(), " 2>",
      (folder / "log").string());
  if (std::system(
          absl::StrCat(cxx == nullptr ? "c++" : cxx, " --version >/dev/null 2>&1").c_str()) != 0) {
    return absl::UnavailableError("no C++ compiler: set CXX");
  }
  if (std::system(command.c_str()) != 0)
    return InternalError("could not compile ", (folder / "k.cc").string(), ": see log beside it");
  void* library = dlopen((folder / "k.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return InternalError(dlerror());
  launch_ = reinterpret_cast<decltype(launch_)>(dlsym(library, "jf_launch_on_host"));
  for (Entry& e : entries_) {
    e.function = reinterpret_cast<void (*)(void**)>(
        dlsym(library, absl::StrCat("run_", e.source.entry).c_str()));
  }
  std::filesystem::remove_all(folder);
  return absl::OkStatus();
}

absl::Status CudaOnHost::Run(size_t index, absl::Span<void* const> buffers,
                             absl::Span<const uint64_t> scalars,
                             absl::Span<const int64_t> symbols) const {
  const Entry& e = entries_[index];
  std::vector<void*> args(buffers.begin(), buffers.end());
  for (const uint64_t& s : scalars) args.push_back(const_cast<uint64_t*>(&s));
  std::vector<int64_t> sizes;
  for (const SizeExpr& s : e.source.size_args) sizes.push_back(s.Eval(symbols));
  return Launch(index, args, sizes, e.source.grid.Eval(symbols));
}

absl::Status CudaOnHost::Launch(size_t index, absl::Span<void* const> buffers,
                                absl::Span<const int64_t> sizes, int64_t grid) const {
  const Entry& e = entries_[index];
  std::vector<void*> args(buffers.begin(), buffers.end());
  for (const int64_t& s : sizes) args.push_back(const_cast<int64_t*>(&s));
  if (launch_(e.function, args.data(), static_cast<unsigned>(grid),
              static_cast<unsigned>(e.source.threads)) != 0) {
    return InternalError(e.source.entry, ": threads of a block stopped at unlike barriers");
  }
  return absl::OkStatus();
}

GuardedBuffer::GuardedBuffer(size_t bytes, size_t align) : bytes_(bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t room = (bytes + align + page - 1) / page * page;
  mapped_ = room + page;
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* end = static_cast<char*>(mapping_) + room;
  mprotect(end, page, PROT_NONE);
  data_ = end - bytes;
  data_ -= reinterpret_cast<uintptr_t>(data_) % align;
}

GuardedBuffer::~GuardedBuffer() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_(other.mapped_),
      bytes_(other.bytes_),
      data_(other.data_) {}

}  // namespace jitfuse::internal
