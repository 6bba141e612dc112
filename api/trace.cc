#include "api/trace.h"

#include "api/convert.h"
#include "ir/support/trace.h"

namespace jitfuse {
inline namespace v1 {

Status StartTrace(const std::string& path) {
  return internal::ToPublic(internal::StartTrace(path));
}
Status StopTrace() { return internal::ToPublic(internal::StopTrace()); }

}  // namespace v1
}  // namespace jitfuse
