#include "api/check_array.h"

#include "absl/strings/str_cat.h"
#include "ir/support/status.h"

namespace jitfuse {
namespace internal {

absl::Status CheckDType(const FunctionState& f, const Array& array, const char* what,
                        std::size_t i) {
  absl::Status status = CheckDType(array.dtype());
  return status.ok() ? status
                     : Annotate(status, absl::StrCat(f.graph().name(), ": ", what, " ", i));
}

absl::Status CheckDevice(const FunctionState& f, const Backend& backend, const Array& array,
                         const char* what, std::size_t i) {
  const Device expected = DeviceOf(f, backend), device = array.device();
  const bool same = device.kind == expected.kind &&
                    (expected.kind == DeviceKind::kCpu || device.index == expected.index);
  if (!same) {
    const bool gpus = device.kind == DeviceKind::kCuda && expected.kind == DeviceKind::kCuda;
    return InvalidArgument(f.graph().name(), ": ", what, " ", i, " is on ", DeviceName(device),
                           ", but this ", gpus ? "call runs on " : "function runs on ",
                           DeviceName(expected),
                           gpus ? ", where its first input is; copy one of them" : "");
  }
  if (array.data() == nullptr && array.num_elements() > 0) {
    return InvalidArgument(f.graph().name(), ": ", what, " ", i, " has ", array.num_elements(),
                           " elements but no data");
  }
  return absl::OkStatus();
}

bool IsScalarInput(const Graph& graph, std::size_t i) {
  return i < graph.inputs().size() && graph.node(graph.inputs()[i]).kind() == OpKind::kScalar;
}

absl::Status CheckScalar(const Graph& graph, const Array& array, std::size_t i, bool needs_data) {
  if (array.device().kind == DeviceKind::kCpu && (array.data() != nullptr || !needs_data))
    return absl::OkStatus();
  return InvalidArgument(graph.name(), ": input ", i, " '", graph.input_name(static_cast<int>(i)),
                         "' is a host scalar; pass Array::Scalar");
}

}  // namespace internal
}  // namespace jitfuse
