// Building a chain of tensor ops: dtypes, dims, Tensor handles and the Builder they belong to.
//
// A Tensor is a handle to a value of a graph under construction; ops (api/ops.h) take Tensors and
// give Tensors. Handles are cheap to copy and stay valid as long as any handle or the Builder
// lives. An error (wrong shapes, dtypes, attributes) does not throw: the result is an invalid
// Tensor, every op on it is invalid too, and the first error comes out of Builder::status() and of
// Compile, naming the op, the shapes and what was expected. Dims may be numbers or names; a name is
// a symbol, its size is taken from the arrays of each call:  b.Input("x", DType::kF32, {"n", 784}).
// Not thread-safe: one Builder, one thread. (Compiled functions are.)
#ifndef JITFUSE_API_TENSOR_H_
#define JITFUSE_API_TENSOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "status.h"

namespace jitfuse {
inline namespace v1 {

enum class DType : std::uint8_t {
  kBool = 0,
  kU8,
  kU16,
  kU32,
  kU64,
  kI8,
  kI16,
  kI32,
  kI64,
  kF16,
  kBF16,
  kF32,
  kF64
};
const char* DTypeName(DType dtype);  // "f32"; "invalid" for a number that is no dtype's
int ItemSize(DType dtype);           // bytes; 0 for a number that is no dtype's

// An extent: a number >= 0, or the name of a symbol ("n"), or a size expression over names
// ("n*4+1"). What graph text could not read back (an empty name too) is an error of the op or input
// that is given it.
class DimSpec {
 public:
  DimSpec(std::int64_t size) : size_(size) {}  // NOLINT: implicit, dims are written as {"n", 784}
  DimSpec(int size) : size_(size) {}           // NOLINT
  DimSpec(const char* name)                    // NOLINT
      : name_(name == nullptr ? "" : name), is_name_(true) {}
  DimSpec(std::string name) : name_(std::move(name)), is_name_(true) {}  // NOLINT
  bool is_name() const { return is_name_; }
  std::int64_t size() const { return size_; }
  const std::string& name() const { return name_; }

 private:
  std::int64_t size_ = 0;
  std::string name_;
  bool is_name_ = false;
};

class Builder;
namespace detail {
struct BuilderState;
}

class Tensor {
 public:
  Tensor() = default;  // invalid
  bool valid() const { return state_ != nullptr && node_ >= 0; }
  DType dtype() const;                // of an invalid tensor: kF32
  int rank() const;                   // of an invalid tensor: 0
  std::vector<DimSpec> dims() const;  // of an invalid tensor: none
  std::string type_string() const;    // "f32[n,784]", or "invalid"

 private:
  friend struct detail::BuilderState;
  friend class Builder;
  std::shared_ptr<detail::BuilderState> state_;
  int node_ = -1;
  int result_ = 0;
};

class Function;
struct CompileOptions;

// A Builder that was moved from holds no graph: whatever is asked of it is an error.
class Builder {
 public:
  // Names of graphs and inputs are as in graph text: a letter or _, then letters, digits and _.
  explicit Builder(const std::string& name = "f");

  Tensor Input(const std::string& name, DType dtype, const std::vector<DimSpec>& dims);
  // A number passed by value with each call (learning rate, scale): changing it compiles nothing.
  Tensor Scalar(const std::string& name, DType dtype);
  // A literal of rank 0; it broadcasts. An error if the number is none of that dtype: out of range,
  // a fraction or NaN for integers, other than 0 and 1 for bool, finite but beyond a float type.
  Tensor Constant(DType dtype, double value);
  Tensor ConstantInt(DType dtype, std::int64_t value);

  const Status& status() const;  // the first error so far
  // The first error so far, which is then forgotten: for those who ask after each step, and go on.
  Status TakeStatus();
  std::string ToText(
      const std::vector<Tensor>& outputs) const;  // graph text (docs/text.md), or "" after an error

  // What the sizes of the inputs must fulfil beyond what their dims say, as pairs that are equal:
  // add(f32[n], f32[m]) brings n = m. Numbers or size expressions; checked in each call.
  std::vector<std::pair<DimSpec, DimSpec>> Guards() const;

  // The function that computes `outputs` from the inputs, in the order they were declared. Nothing
  // is compiled until the first call or Warm.
  StatusOr<Function> Compile(const std::vector<Tensor>& outputs,
                             const CompileOptions& options) const;
  StatusOr<Function> Compile(const std::vector<Tensor>& outputs) const;

 private:
  friend struct detail::BuilderState;
  std::shared_ptr<detail::BuilderState> state_;
};

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_TENSOR_H_
