// Entries of the disk cache as bytes: their keys, and the form of their files.
//
// A key is everything that compiled code depends on: back end, architecture (on a CPU its exact
// name, with its features among the options), options, toolchain (the compiler's name and version)
// and the canonical source: without comments and blank lines, and with the kernel's own name
// replaced, so that functions that differ in names alone share code. Its hash is stable over
// processes and machines and names the file; the whole key is in the file and is compared, so that
// colliding hashes cannot give a wrong kernel. A file is a pure function of key and code: equal
// code gives equal bytes, whoever writes it. DecodeEntry takes any bytes: what is not an entry of
// this format, or does not match its checksum, is an error that says why. Must not know: files,
// folders, back ends.
#ifndef JITFUSE_JIT_CACHE_ENTRY_H_
#define JITFUSE_JIT_CACHE_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "codegen/plan/kernel_source.h"
#include "ir/support/hash128.h"

namespace jitfuse::internal {

// To be raised when the form below changes, and when compilers are driven in another way than the
// options of sources say (NvrtcOptions in jit/cuda/nvrtc_compile.cc, the passes in
// cpu_backend/orc_compile.cc; tests pin both).
inline constexpr uint32_t kCacheFormat = 2;

struct CacheKey {
  std::string backend, arch, options, toolchain, source;
  bool operator==(const CacheKey&) const = default;
  Hash128 Hash() const;
};

// All but the toolchain, which is found apart.
CacheKey KeyOf(const KernelSource& source, std::string_view backend);
std::string CanonicalSource(const KernelSource& source);
// A compiler's name and version as the name of a folder: "nvrtc 13.0" is "nvrtc-13.0".
std::string ToolchainName(std::string_view compiler_id);

struct CacheEntry {
  CacheKey key;
  std::string symbol;  // what the kernel is called in `code`
  std::string code;    // a cubin or an object
  std::string log;     // the compiler's remarks
};

std::string EncodeEntry(const CacheEntry& entry);
absl::StatusOr<CacheEntry> DecodeEntry(std::string_view file);

// The bytes that EncodeEntry puts around a body that is not compressed yet; tests of DecodeEntry
// make files of any body with it.
std::string FrameEntry(std::string_view body);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CACHE_ENTRY_H_
