// JF_CHECK: for our own bugs only, never for anything a user can cause.
//
// In: a condition that the surrounding code makes true. Out: nothing; when it is false the process
// prints file, line and the condition and aborts. User mistakes become absl::Status
// (ir/support/status.h) instead. JF_DCHECK is the same in debug builds and compiles to nothing when
// NDEBUG is set. Must not know: anything of Jitfuse.
#ifndef JITFUSE_IR_SUPPORT_CHECK_H_
#define JITFUSE_IR_SUPPORT_CHECK_H_

namespace jitfuse::internal {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace jitfuse::internal

#define JF_CHECK(condition)                                             \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::jitfuse::internal::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)

#ifdef NDEBUG
#define JF_DCHECK(condition) \
  do {                       \
  } while (false && (condition))
#else
#define JF_DCHECK(condition) JF_CHECK(condition)
#endif

#endif  // JITFUSE_IR_SUPPORT_CHECK_H_
