#include "ir/support/status.h"

namespace jitfuse::internal {

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(ToAbsl(context), ": ", status.message()));
}

}  // namespace jitfuse::internal
