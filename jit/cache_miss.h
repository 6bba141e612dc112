// The error of a kernel that has to be in the cache and is not: which entry comes nearest, and in
// what its key differs.
#ifndef JITFUSE_JIT_CACHE_MISS_H_
#define JITFUSE_JIT_CACHE_MISS_H_

#include <string>

#include "absl/status/status.h"
#include "codegen/plan/kernel_source.h"
#include "jit/disk_cache.h"

namespace jitfuse::internal {

// FailedPrecondition. Reads all entries of the cache, or the first 20000.
absl::Status MissError(DiskCache& cache, const KernelSource& source, const CacheKey& key,
                       const std::vector<std::string>& general);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CACHE_MISS_H_
