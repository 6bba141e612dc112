// What tests of the disk cache share: folders of their own, a compiler that is told what to do, and
// work in a child process.
#ifndef JITFUSE_TESTS_TEST_UTIL_CACHE_KIT_H_
#define JITFUSE_TESTS_TEST_UTIL_CACHE_KIT_H_

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "ir/support/dump.h"
#include "jit/cache_entry.h"
#include "jit/disk_cache.h"
#include "jit/kernel_cache.h"
#include "tests/test_util/idle_backend.h"

namespace jitfuse::internal {

// A graph of two kernels (sums of rows are summed) and an arena between them.
inline constexpr const char* kTwoKernels =
    "graph f(%x: f32[n,64]) -> (f32[]) {\n  %0 = sum(%x) {axes=[1], keepdims=false} : f32[n]\n"
    "  %1 = sum(%0) {axes=[0], keepdims=false} : f32[]\n  return %1\n}";

// A new folder, removed at the end. Its parent is open to all, so that a child of another user
// reaches it.
class TempFolder {
 public:
  TempFolder() {
    std::string name = testing::TempDir() + "jf_cache_XXXXXX";
    path = mkdtemp(name.data()) == nullptr ? "" : name;
  }
  ~TempFolder() { std::filesystem::remove_all(path); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string operator/(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Every file below a folder that is an entry (32 hex digits), sorted.
inline std::vector<std::string> EntryFiles(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code failed;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder, failed)) {
    const std::string name = file.path().filename().string();
    if (name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string::npos)
      out.push_back(file.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Its code is "code of <source>"; it loads what begins so.
class ToyBackend : public IdleBackend {
 public:
  explicit ToyBackend(std::string compiler = "toy 1.0") : id(std::move(compiler)) {}
  std::string_view name() const override { return "toy"; }
  std::string CompilerId() const override {
    ++opened;
    return id;
  }
  Compiler compiler() const override {
    if (!lazy) return {id, id, ""};
    return opened > 0 ? Compiler{id, "clue", file} : Compiler{"", "clue", ""};
  }
  bool LoadsCodeOf(std::string_view toolchain) const override {
    return toolchain.substr(0, 4) == "toy-";
  }
  absl::StatusOr<CompiledKernel> Compile(const KernelSource& source) const override {
    ++compiles;
    if (id.empty()) return absl::NotFoundError("no compiler");
    return CompiledKernel{code + CanonicalSource(source), "a remark", 2.0};
  }
  absl::StatusOr<std::shared_ptr<const Kernel>> Load(const KernelSource& source,
                                                     const CompiledKernel& k) const override {
    symbol = source.entry;
    if (k.bytes.rfind(loads, 0) != 0) return absl::InternalError("the device says no");
    return std::shared_ptr<const Kernel>(std::make_shared<Kernel>());
  }

  std::string id, file, code = "code of ", loads = "code of ";
  bool lazy = false;  // the compiler is opened by asking for its id
  mutable std::atomic<int> compiles{0}, opened{0};
  mutable std::string symbol;  // of what was loaded last; not for tests with threads
};

inline KernelSource ToySource(const std::string& text, const std::string& entry = "kernel") {
  KernelSource s;
  s.lang = SourceLang::kCuda;
  s.text = "// a comment of " + entry + "\nvoid " + entry + "() { " + text + " }\n";
  s.entry = entry;
  s.arch = "toy_1";
  return s;
}

// What a new process would do: nothing is in memory.
inline absl::StatusOr<CachedKernel> GetOnce(const DiskCacheOptions& options,
                                            const KernelSource& source, const Backend& backend) {
  DiskCache disk(options);
  return KernelCache(&disk).Get(source, backend);
}

inline DiskCacheOptions In(const std::string& dir) {
  DiskCacheOptions out;
  out.dir = dir;
  return out;
}

// Warnings while it lives.
class Warnings {
 public:
  Warnings() {
    SetLogSink([this](int level, std::string_view text) {
      if (level == 0) said.emplace_back(text);
    });
  }
  ~Warnings() { SetLogSink({}); }
  std::vector<std::string> said;
};

// Whether `work` succeeds in a child process.
inline bool InChild(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    _exit(work() ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_CACHE_KIT_H_
