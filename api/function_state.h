// What stands behind a Function: its graph, and a call cache for each back end it has run on. Not
// installed.
//
// On the CPU there is one back end. On a GPU there is one for each CUDA context, since modules
// belong to a context; a call finds its own in a list that only grows, without a lock.
#ifndef JITFUSE_API_FUNCTION_STATE_H_
#define JITFUSE_API_FUNCTION_STATE_H_

#include <atomic>
#include <memory>

#include "api/convert.h"
#include "api/function.h"
#include "jit/call_cache.h"

namespace jitfuse {
inline namespace v1 {
namespace detail {

class FunctionState {
 public:
  FunctionState(DeviceKind kind, internal::Graph graph, const internal::Options& options,
                const internal::Backend* backend, internal::KernelCache* kernels)
      : kind_(kind),
        options_(options),
        kernels_(kernels),
        first_(graph, options, backend, kernels) {}
  ~FunctionState();
  FunctionState(const FunctionState&) = delete;
  FunctionState& operator=(const FunctionState&) = delete;

  DeviceKind kind() const { return kind_; }
  const internal::Graph& graph() const { return first_.cache.graph(); }
  internal::CallCache& CacheOf(const internal::Backend* backend);
  // The back end that this function was made for; on the CPU the only one.
  const internal::Backend* home() const { return &first_.cache.backend(); }
  internal::Counters stats() const;

 private:
  struct Node {
    Node(const internal::Graph& graph, const internal::Options& options,
         const internal::Backend* backend, internal::KernelCache* kernels)
        : cache(graph, options, backend, kernels) {}
    internal::CallCache cache;
    Node* next = nullptr;
  };
  const DeviceKind kind_;
  const internal::Options options_;
  internal::KernelCache* const kernels_;
  Node first_;
  std::atomic<Node*> others_{nullptr};
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
v1::Stats ToPublic(const Counters& counters);
}  // namespace internal
}  // namespace jitfuse

#endif  // JITFUSE_API_FUNCTION_STATE_H_
