// Process-wide things: the log, the library's version, which devices there are.
#ifndef JITFUSE_API_CONTEXT_H_
#define JITFUSE_API_CONTEXT_H_

#include <functional>
#include <string>

#include "options.h"
#include "status.h"

namespace jitfuse {
inline namespace v1 {

const char* Version();  // "0.1.0"

// level: 0 warnings alone, from 1 on also what is compiled and which calls JITFUSE_VERIFY skips. An
// empty sink means stderr. Overrides JITFUSE_LOG.
void SetLog(int level, std::function<void(int level, const std::string& message)> sink = {});

// Ok if a function can be compiled for and run on `kind`; else what was searched and how to get it.
Status DeviceStatus(DeviceKind kind);
// The kind that DeviceKind::kAuto stands for here. kInvalidArgument if JITFUSE_BACKEND names none.
StatusOr<DeviceKind> DefaultDevice();
// Waits until `stream` of that device (nullptr: the default stream) has nothing left to do. Returns
// at once on the CPU. Jitfuse never calls it by itself.
Status Synchronize(DeviceKind kind, void* stream = nullptr);

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_CONTEXT_H_
