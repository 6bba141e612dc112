// What the generated functions of ops.h stand on. Use ops.h instead.
#ifndef JITFUSE_API_OPS_SUPPORT_H_
#define JITFUSE_API_OPS_SUPPORT_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensor.h"

namespace jitfuse {
inline namespace v1 {
namespace detail {

using AttrArg = std::variant<bool, std::int64_t, double, DType, std::vector<std::int64_t>,
                             std::vector<DimSpec>>;
struct NamedAttr {
  const char* name;
  AttrArg value;
};

// Adds op `name` to the graph of its operands. Operands of different dtypes are promoted (Array API
// lattice); invalid Tensors at the end stand for optional operands left out. An error is kept in
// the Builder and gives invalid Tensors.
std::vector<Tensor> ApplyAll(const char* name, const std::vector<Tensor>& in,
                             std::initializer_list<NamedAttr> attrs, int num_results);
Tensor Apply(const char* name, const std::vector<Tensor>& in,
             std::initializer_list<NamedAttr> attrs);
// Of an op with no operands.
Tensor Apply(const char* name, const Builder& builder, std::initializer_list<NamedAttr> attrs);
// A literal of the dtype that a Python-like scalar takes beside `like`: it never widens a tensor of
// its own kind.
Tensor LiteralLike(double value, const Tensor& like);

}  // namespace detail
}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_OPS_SUPPORT_H_
