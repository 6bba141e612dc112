// jitfuse::Status and StatusOr: how the public API reports errors. No exceptions.
//
// A Status is ok or has a code and a message that names the op, the shapes and what was expected.
// Codes follow absl::StatusCode's names and numbers. StatusOr<T> holds a T or a Status that is not
// ok; value() on an error prints the message and aborts, so test ok() first.
#ifndef JITFUSE_API_STATUS_H_
#define JITFUSE_API_STATUS_H_

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace jitfuse {
inline namespace v1 {

enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}
  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(T value) : value_(std::move(value)) {}         // NOLINT: implicit, as in absl
  StatusOr(Status status) : status_(std::move(status)) {  // NOLINT
    if (status_.ok()) status_ = Status(StatusCode::kInternal, "StatusOr made from an ok Status");
  }
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  T& value() & { return Checked(), *value_; }
  const T& value() const& { return Checked(), *value_; }
  // By value: in `for (double v : a.ToVector().value())` it lives as long as the loop.
  T value() && { return Checked(), *std::move(value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  void Checked() const {
    if (value_.has_value()) return;
    std::fprintf(stderr, "jitfuse: value() of a failed StatusOr: %s\n", status_.message().c_str());
    std::abort();
  }
  Status status_;
  std::optional<T> value_;
};

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_STATUS_H_
