// Dynlib: finds and opens a shared library of NVIDIA's at run time.
//
// In: what to look for (names, where pip puts it, an environment variable with its full path). Out:
// an open library, or NotFound that lists every place searched and the line that gets it. Newest
// major version first, as far as the caller's limit; a candidate may be refused (too old), then the
// search goes on. Order of places: the environment variable (then nothing else), what the process
// has loaded already, pip's folders, /usr/local/cuda*, the system's loader. A handle is never
// closed once accepted: code of it may be running. Must not know: what is in the libraries.
#ifndef JITFUSE_JIT_CUDA_DYNLIB_H_
#define JITFUSE_JIT_CUDA_DYNLIB_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace jitfuse::internal {

struct LibrarySpec {
  std::string_view what;    // "NVRTC"
  std::string_view env;     // "NVRTC_PATH": JITFUSE_NVRTC_PATH holds the file's path
  std::string_view stem;    // "libnvrtc.so"
  std::vector<int> majors;  // {13, 12}: libnvrtc.so.13 ...; newest first
  std::vector<std::string_view>
      pip;                  // folders of pip below site-packages, one per major: "nvidia/cu13/lib"
  std::string_view remedy;  // "pip install nvidia-cuda-nvrtc"
};

class Dynlib {
 public:
  Dynlib() = default;
  explicit Dynlib(void* handle);
  void* Symbol(const char* name) const;  // nullptr if it has none
  const std::string& path() const { return path_; }
  explicit operator bool() const { return handle_ != nullptr; }
  void* handle() const { return handle_; }

 private:
  void* handle_ = nullptr;
  std::string path_;
};

// Whether an opened candidate will do.
using AcceptLibrary = std::function<absl::Status(const Dynlib&)>;

// max_major: no newer library than this (0: any). `searched` (may be null) gets one line per place
// looked at, also on success.
absl::StatusOr<Dynlib> OpenLibrary(const LibrarySpec& spec, int max_major,
                                   const AcceptLibrary& accept,
                                   std::vector<std::string>* searched = nullptr);

// Folders named site-packages or dist-packages of the Python installations around: VIRTUAL_ENV,
// CONDA_PREFIX, PYTHONPATH, the user's, the system's.
std::vector<std::string> PythonPackageFolders();

// What was found of a library, for `doctor`.
struct LibraryFinding {
  std::string what;
  bool found = false;
  std::string version;
  std::string where;  // path, or what was searched, comma-separated
  std::string remedy;
};
// The driver, NVRTC, cuBLASLt and the device, each looked for anew.
std::vector<LibraryFinding> CudaFindings();

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_DYNLIB_H_
