// What stands behind a Function: the call cache of one graph on one back end. Not installed.
#ifndef JITFUSE_API_FUNCTION_STATE_H_
#define JITFUSE_API_FUNCTION_STATE_H_

#include <memory>

#include "api/convert.h"
#include "api/function.h"
#include "jit/call_cache.h"

namespace jitfuse {
inline namespace v1 {
namespace detail {

struct FunctionState {
  DeviceKind kind;
  internal::CallCache cache;
  FunctionState(DeviceKind k, internal::Graph graph, const internal::Options& options,
                const internal::Backend* backend, internal::KernelCache* kernels)
      : kind(k), cache(std::move(graph), options, backend, kernels) {}
};

}  // namespace detail

struct FunctionAccess {
  static Function Make(std::shared_ptr<detail::FunctionState> state) {
    Function f;
    f.state_ = std::move(state);
    return f;
  }
  static const std::shared_ptr<detail::FunctionState>& State(const Function& f) { return f.state_; }
};

}  // namespace v1

namespace internal {
StatusOr<Function> MakeFunction(Graph graph, const CompileOptions& options);
}  // namespace internal
}  // namespace jitfuse

#endif  // JITFUSE_API_FUNCTION_STATE_H_
