#include "api/context.h"

#include "api/convert.h"
#include "api/runtime.h"
#include "ir/support/dump.h"

#ifndef JITFUSE_VERSION
#define JITFUSE_VERSION "0.1.0"
#endif

namespace jitfuse {
inline namespace v1 {

const char* Version() { return JITFUSE_VERSION; }

void SetLog(int level, std::function<void(int level, const std::string& message)> sink) {
  internal::SetLogLevel(level);
  if (!sink) return internal::SetLogSink({});
  internal::SetLogSink([sink](int l, std::string_view message) { sink(l, std::string(message)); });
}

Status DeviceStatus(DeviceKind kind) { return internal::ToPublic(internal::GetBackend(kind).status()); }

DeviceKind DefaultDevice() { return internal::ResolveAuto(); }

}  // namespace v1
}  // namespace jitfuse
