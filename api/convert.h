// Between the public types and the inside: statuses, dtypes, arrays. Not installed.
//
// The public enums have the inside's numbers; static_asserts in convert.cc hold them together.
#ifndef JITFUSE_API_CONVERT_H_
#define JITFUSE_API_CONVERT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/array.h"
#include "api/options.h"
#include "api/status.h"
#include "api/tensor.h"
#include "ir/dtype.h"
#include "ir/host_tensor.h"
#include "ir/options.h"
#include "jit/backend.h"
#include "jit/call_class.h"

namespace jitfuse {
inline namespace v1 {

struct ArrayAccess {
  static Array Make(void* data, DType dtype, std::vector<std::int64_t> dims,
                    std::vector<std::int64_t> strides, Device device, std::shared_ptr<void> owner);
  // Contiguous.
  static Array Make(void* data, DType dtype, std::shared_ptr<const std::vector<std::int64_t>> dims,
                    Device device, std::shared_ptr<void> owner);
};

}  // namespace v1

namespace internal {

Status ToPublic(const absl::Status& status);
inline absl::Status FromPublic(const Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.code()), status.message());
}
inline DType FromPublic(v1::DType d) { return static_cast<DType>(d); }
// Callers may make a DType of any number, and tables are indexed by it.
inline bool IsDType(v1::DType dtype) { return static_cast<unsigned>(dtype) < kNumDTypes; }
absl::Status CheckDType(v1::DType dtype);
inline v1::DType ToPublic(DType d) { return static_cast<v1::DType>(d); }
Options FromPublic(const CompileOptions& options);
inline TensorView ViewOf(const Array& array) {  // points into `array`
  return {array.data(), FromPublic(array.dtype()), array.dims(), array.strides()};
}
// A contiguous host copy of an array of any strides and device. Waits for `stream` on a GPU.
absl::StatusOr<HostTensor> ToHostTensor(const Array& array, StreamHandle stream = nullptr);
// A new contiguous array of `bytes` > 0 bytes from `allocator`.
absl::StatusOr<Array> NewArray(v1::DType dtype,
                               std::shared_ptr<const std::vector<std::int64_t>> dims,
                               std::int64_t bytes, Device device, Allocator* allocator,
                               StreamHandle stream);
std::string DeviceName(Device device);    // "the CPU", "GPU 1", "device kind 17"
Array FromHostTensor(HostTensor tensor);  // owned, on the CPU

template <typename T>
StatusOr<T> ToPublic(absl::StatusOr<T> value) {
  if (!value.ok()) return ToPublic(value.status());
  return *std::move(value);
}

}  // namespace internal
}  // namespace jitfuse

// Returns the public form of an inside error from a function that returns v1::Status or
// v1::StatusOr.
#define JF_API_RETURN_IF_ERROR(expr)                                   \
  do {                                                                 \
    if (absl::Status jf_status = (expr); !jf_status.ok()) [[unlikely]] \
      return ::jitfuse::internal::ToPublic(jf_status);                 \
  } while (false)

#define JF_API_ASSIGN_OR_RETURN(lhs, expr) \
  JF_API_ASSIGN_IMPL(JF_CONCAT(jf_api_, __LINE__), lhs, expr)
#define JF_API_ASSIGN_IMPL(tmp, lhs, expr)              \
  auto tmp = (expr);                                    \
  if (!tmp.ok()) [[unlikely]]                           \
    return ::jitfuse::internal::ToPublic(tmp.status()); \
  lhs = std::move(tmp).value()

#endif  // JITFUSE_API_CONVERT_H_
