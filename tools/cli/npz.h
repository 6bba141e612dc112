// Reads .npz files (as numpy.savez and savez_compressed write them) into CPU Arrays, by name.
//
// In: a path. Out: name -> owned, contiguous Array. Dtypes: bool, (u)int8..64, float16/32/64, and
// '<V2' / bfloat16 as bf16. C or Fortran order. Anything malformed is an error that names the file
// and member; no file crashes it. Zip64 and encrypted members are refused.
#ifndef JITFUSE_TOOLS_CLI_NPZ_H_
#define JITFUSE_TOOLS_CLI_NPZ_H_

#include <map>
#include <string>

#include "jitfuse/array.h"

namespace jitfuse_cli {

jitfuse::StatusOr<std::map<std::string, jitfuse::Array>> LoadNpz(const std::string& path);

}  // namespace jitfuse_cli

#endif  // JITFUSE_TOOLS_CLI_NPZ_H_
