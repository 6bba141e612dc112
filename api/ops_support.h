// What the generated functions of ops.h stand on. Use ops.h instead.
#ifndef JITFUSE_API_OPS_SUPPORT_H_
#define JITFUSE_API_OPS_SUPPORT_H_

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tensor.h"

namespace jitfuse {
inline namespace v1 {

// A number that an op is given, with all its digits: an integer stays one.
class Number {
 public:
  template <typename T, std::enable_if_t<std::is_convertible_v<const T&, double>, int> = 0>
  Number(const T& value) : value_(Keep(value)) {}  // NOLINT: implicit, numbers are written as such
  // The unsigned one only beyond the signed one's range.
  const std::variant<std::int64_t, std::uint64_t, double>& value() const { return value_; }

 private:
  template <typename T>
  static std::variant<std::int64_t, std::uint64_t, double> Keep(const T& value) {
    if constexpr (!std::is_integral_v<T>) {
      return static_cast<double>(value);
    } else {
      if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8) {
        if (value > static_cast<T>(std::numeric_limits<std::int64_t>::max()))
          return static_cast<std::uint64_t>(value);
      }
      return static_cast<std::int64_t>(value);
    }
  }

  std::variant<std::int64_t, std::uint64_t, double> value_;
};

namespace detail {

// The unsigned integer only beyond the signed one's range.
using AttrArg = std::variant<bool, std::int64_t, double, DType, std::vector<std::int64_t>,
                             std::vector<DimSpec>, std::uint64_t>;
inline AttrArg ArgOf(const Number& number) {
  return std::visit([](auto value) { return AttrArg(value); }, number.value());
}
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
Tensor LiteralLike(const Number& value, const Tensor& like);

}  // namespace detail
}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_OPS_SUPPORT_H_
