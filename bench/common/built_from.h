// What numbers were made by: the commit, the compilers and libraries, as found when asked.
//
// In: nothing; reads JITFUSE_COMMIT, else the file `commit` of a bundle this program lies in, else
// asks git about the repository it was built in (never what was true when CMake ran). Out: names
// and versions by what they are of: "commit" ("-dirty" where files differ from it, "unknown" where
// nobody can say), "compiler", "llvm", "nvrtc", "driver" (the latest CUDA it takes); what is not
// there is left out. Must not know: what is measured.
#ifndef JITFUSE_BENCH_COMMON_BUILT_FROM_H_
#define JITFUSE_BENCH_COMMON_BUILT_FROM_H_

#include <map>
#include <string>

namespace jitfuse_bench {

std::map<std::string, std::string> BuiltFrom();

// The folder in which bench/results lies: JITFUSE_TEST_DATA, else the bundle's or the repository
// this program lies in; empty where there is none.
std::string DataDir();

}  // namespace jitfuse_bench

#endif  // JITFUSE_BENCH_COMMON_BUILT_FROM_H_
