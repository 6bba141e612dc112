#include "api/context.h"

#include <utility>

#include "api/convert.h"
#include "api/runtime.h"
#include "ir/support/dump.h"
#include "ir/support/status.h"

namespace jitfuse {
inline namespace v1 {

const char* Version() { return JF_VERSION; }

void SetLog(int level, std::function<void(int level, const std::string& message)> sink) {
  internal::SetLogLevel(level);
  if (!sink) return internal::SetLogSink({});
  internal::SetLogSink(
      [sink = std::move(sink)](int l, std::string_view message) { sink(l, std::string(message)); });
}

Status DeviceStatus(DeviceKind kind) {
  return internal::ToPublic(internal::GetBackend(kind).status());
}

StatusOr<DeviceKind> DefaultDevice() { return internal::ToPublic(internal::ResolveAuto()); }

Status Synchronize(DeviceKind kind, void* stream) {
  JF_API_ASSIGN_OR_RETURN(const internal::Backend* backend, internal::GetBackend(kind));
  return internal::ToPublic(backend->Synchronize(stream));
}

}  // namespace v1
}  // namespace jitfuse
