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
CompileOptions OptionsOf(const std::string& device, const std::string& numerics, bool fuse,
                         bool rewrite, bool use_gemm_library, bool batch_invariant,
                         long long max_fusions, long long verify = 0,
                         const std::string& verify_action = "error", bool autotune = false);
const char* DeviceKindName(DeviceKind kind);

void DefineGraph(nanobind::module_& m);

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_GRAPH_H_
