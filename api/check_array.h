// Whether an array is one that a function can take: its dtype is one, it lies on the function's
// device, it has data. Errors name the graph, the array's place ("input 2") and what was expected.
// Not installed.
#ifndef JITFUSE_API_CHECK_ARRAY_H_
#define JITFUSE_API_CHECK_ARRAY_H_

#include <cstddef>

#include "absl/status/status.h"
#include "api/function_state.h"

namespace jitfuse {
namespace internal {

absl::Status CheckDType(const FunctionState& f, const Array& array, const char* what,
                        std::size_t i);
// Where a call on this back end runs.
inline Device DeviceOf(const FunctionState& f, const Backend& backend) {
  if (f.kind() == DeviceKind::kCuda) return {DeviceKind::kCuda, backend.device_index()};
  return {DeviceKind::kCpu, 0};
}
absl::Status CheckDevice(const FunctionState& f, const Backend& backend, const Array& array,
                         const char* what, std::size_t i);
// Whether both checks pass, for calls: `device` is DeviceOf, of any index on the CPU.
inline bool MayTake(Device device, const Array& array) {
  const Device there = array.device();
  return IsDType(array.dtype()) && array.data() != nullptr && there.kind == device.kind &&
         (there.index == device.index || device.kind == DeviceKind::kCpu);
}
bool IsScalarInput(const Graph& graph, std::size_t i);
// Of the host scalar at position `i` of the signature.
absl::Status CheckScalar(const Graph& graph, const Array& array, std::size_t i, bool needs_data);

}  // namespace internal
}  // namespace jitfuse

#endif  // JITFUSE_API_CHECK_ARRAY_H_
