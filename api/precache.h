// Pre-caching: compiling ahead of time what an application will need, on a machine that need not
// have its devices (docs/precache.md).
//
// A manifest (JSON) says which graphs are called with which sizes; Precache compiles all of their
// kernels for the architectures asked for, into a folder that JITFUSE_CACHE_PATH takes as a layer
// of the disk cache. The folder may be moved, and the same manifest gives the same bytes wherever
// and however often it is run; what a run that was ended has left is not compiled again.
// JITFUSE_RECORD makes a manifest of what an application compiles. Errors name the manifest's file,
// the JSON pointer of what is wrong in it and what was expected.
#ifndef JITFUSE_API_PRECACHE_H_
#define JITFUSE_API_PRECACHE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "options.h"
#include "status.h"

namespace jitfuse {
inline namespace v1 {

// What a manifest calls a Python function, and its graph as a call with these sizes traces it.
struct PythonCall {
  std::string entry;                   // "module:function"
  std::vector<std::string> arguments;  // "x:f32[n,1024]"
  std::map<std::string, std::int64_t> sizes;
};
struct TracedCall {
  std::string text;
  std::map<std::string, std::int64_t> sizes;  // of the symbols that the graph has
  CompileOptions options;                     // of a jitted function
};
using PythonTracer = std::function<StatusOr<TracedCall>(const PythonCall&)>;

struct PrecacheProgress {
  long long done = 0, total = 0;  // kernels
  long long compiled = 0;         // of those that are done; the others were there
  std::string kernel, arch;       // that is done
};

struct PrecacheOptions {
  // "sm_90"; "cpu:x86-64-v3", or x86-64-v3 alone; "cpu:host", this machine's exact CPU.
  std::vector<std::string> archs;
  int cuda = 0;        // 12 or 13: NVRTC of this major version of CUDA; 0: the newest that is found
  PythonTracer trace;  // empty: Python functions in a manifest are kUnimplemented
  // Called as kernels get done, by one thread at a time.
  std::function<void(const PrecacheProgress&)> progress;
};

struct PrecachedKernel {
  std::string kernel, arch, compiler;
  std::string file;          // below the layer's folder
  long long code_bytes = 0;  // a cubin or an object
  int registers = -1;        // of a thread; -1: not known, as of CPUs
  int local_bytes = -1;      // of a thread, spilled registers among them; -1: not known
  int spill_bytes = -1;      // that a thread writes when it spills registers; -1: not known
  double compile_ms = -1;    // -1: it was there
};
struct PrecacheReport {
  long long graphs = 0, classes = 0;  // of calls: docs/explain.md
  // Matrix products that cuBLASLt or oneDNN computes, by classes and architectures: nothing of them
  // is compiled, and the target needs that library.
  long long products = 0;
  std::vector<PrecachedKernel> kernels;  // each once
  std::vector<std::string> compilers;    // "nvrtc-13.0", "llvm-19.1.7"
  // Entries that were in the layer and would not have been used, such as those that others could
  // write to or that were damaged; each with its reason. Those asked for were compiled again.
  std::vector<std::string> deleted;
};

// `out`: a new folder, or a layer, which is added to.
StatusOr<PrecacheReport> Precache(const std::string& manifest, const std::string& out,
                                  const PrecacheOptions& options);

struct MissingKernel {
  std::string kernel, arch;
};
// Calls of one entry of the manifest, with one choice of its dtypes, that lack kernels for one
// architecture. Kernels that several calls need count for each of them.
struct IncompleteCalls {
  std::string where;  // "m.json: /entries/0/calls/1"
  std::string graph;  // the file, the Python function, or the name of a graph that is text
  std::map<std::string, std::string> dtypes;  // by the name that the entry has for them
  // By symbol: where kernels are missing, one of each class of calls.
  std::vector<std::map<std::string, std::int64_t>> sizes;
  std::string arch;
  long long wanted = 0, missing = 0;  // kernels
};
struct LayerDiff {
  long long wanted = 0;
  std::vector<std::string> archs;
  std::vector<MissingKernel> missing;       // also those that are there and would not be used
  std::vector<IncompleteCalls> incomplete;  // what they are missing for, in the manifest's order
  std::string refused;              // why nothing of the layer would be used; empty: it would
  std::vector<std::string> unused;  // entries of the missing that are there, and what is wrong
};
// What a layer lacks for a manifest where this user runs the application. No architectures in
// `options`: those that the layer's index names. Needs no compiler.
StatusOr<LayerDiff> DiffLayer(const std::string& layer, const std::string& manifest,
                              const PrecacheOptions& options = {});

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_PRECACHE_H_
