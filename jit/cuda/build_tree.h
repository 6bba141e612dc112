// Where ./dev puts what it gets by pip: the environment build/venv of this project.
//
// In: a file that lies in a build tree (a folder above it has a CMakeCache.txt). Out: the folders
// of Python packages in the environment beside that tree; none for files that are installed.
#ifndef JITFUSE_JIT_CUDA_BUILD_TREE_H_
#define JITFUSE_JIT_CUDA_BUILD_TREE_H_

#include <string>
#include <vector>

namespace jitfuse::internal {

std::vector<std::string> PackageFoldersOfBuildTree(const std::string& file);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_BUILD_TREE_H_
