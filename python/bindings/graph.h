// Builder and Tensor for Python: one graph under construction (the seam that jitfuse's Python
// sources stand on). Defines them in the module; errors are exceptions and leave the graph usable.
#ifndef JITFUSE_PYTHON_BINDINGS_GRAPH_H_
#define JITFUSE_PYTHON_BINDINGS_GRAPH_H_

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "jitfuse/options.h"
#include "jitfuse/tensor.h"

namespace jitfuse::python {

// Tensors keep their graph alive; the Python Builder is kept for `.builder`.
struct PyTensor {
  Tensor tensor;
  nanobind::object builder;
};
// Of Python's Tensors; None is an invalid one.
std::vector<Tensor> TensorsOf(nanobind::handle sequence);
// Results of one step of the Builder, whose error is taken out of it and thrown.
nanobind::tuple WrapSteps(nanobind::handle builder, std::vector<Tensor> tensors);

// "f32"; ValueError that lists the names.
DType DTypeOfName(const std::string& name);
// The keyword arguments of all that compiles, as stubs show them.
#define JF_PY_OPTIONS                                                                          \
  "device: str = 'auto', numerics: str = 'default', fuse: bool = True, rewrite: bool = True, " \
  "use_gemm_library: bool = True, batch_invariant: bool = False, max_fusions: int = -1, "      \
  "verify: int = 0, verify_action: str = 'error', autotune: bool = False, "                    \
  "dynamic: str = 'leading', background: bool = False, specialize_after: int = 0"
// TypeError for an option that there is not, or of another type; ValueError for an unknown word.
CompileOptions OptionsOf(const nanobind::dict& options);
inline bool InBackground(const CompileOptions& options) {
  return options.background || options.specialize_after > 0;
}
DeviceKind DeviceKindOfName(const std::string& name);  // ValueError that lists the names
const char* DeviceKindName(DeviceKind kind);

void DefineGraph(nanobind::module_& m);

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_GRAPH_H_
