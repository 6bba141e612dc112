// HostTensor: a contiguous, row-major array in host memory; what the evaluator takes and gives.
//
// `bytes` holds exactly the product of dims times ItemSize(dtype) bytes; bool is one byte, 0 or 1.
// Rank 0 is one element. At and Set go by linear index, as registers (ir/scalar_expr.h). Must not
// know: strides, devices, graphs.
#ifndef JITFUSE_IR_HOST_TENSOR_H_
#define JITFUSE_IR_HOST_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ir/dtype.h"
#include "ir/scalar_expr.h"

namespace jitfuse::internal {

struct HostTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;

  // Zeros.
  static HostTensor Make(DType dtype, std::vector<int64_t> dims) {
    HostTensor t{dtype, std::move(dims), {}};
    t.bytes.resize(static_cast<size_t>(t.size()) * static_cast<size_t>(ItemSize(dtype)));
    return t;
  }

  int64_t size() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
  const uint8_t* address(int64_t i) const {
    return bytes.data() + static_cast<size_t>(i) * static_cast<size_t>(ItemSize(dtype));
  }
  uint8_t* address(int64_t i) {
    return bytes.data() + static_cast<size_t>(i) * static_cast<size_t>(ItemSize(dtype));
  }

  ScalarValue At(int64_t i) const { return LoadScalar(dtype, address(i)); }
  void Set(int64_t i, ScalarValue v) { StoreScalar(dtype, v, address(i)); }
  double Number(int64_t i) const { return ScalarToDouble(dtype, At(i)); }
  // Rounded or saturated as casts do.
  void SetNumber(int64_t i, double v) { Set(i, ScalarFromDouble(dtype, v)); }
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_HOST_TENSOR_H_
