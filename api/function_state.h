// What stands behind a Function: its graph, and a call cache for each back end it has run on.
// Not installed.
//
// On the CPU there is one back end. On a GPU there is one for each CUDA context, since modules
// belong to a context; a call finds its own in a list that only grows, without a lock.
#ifndef JITFUSE_API_FUNCTION_STATE_H_
#define JITFUSE_API_FUNCTION_STATE_H_

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "api/convert.h"
#include "api/function.h"
#include "ir/rng.h"
#include "ir/support/check.h"
#include "ir/value_names.h"
#include "jit/call_cache.h"

namespace jitfuse {
namespace internal {

class FunctionState {
 public:
  FunctionState(DeviceKind kind, const Graph& graph, const Options& options, const Backend* backend,
                KernelCache* kernels, const VerifyPolicy& verify = {})
      : kind_(kind),
        options_(options),
        kernels_(kernels),
        first_(graph, options, backend, kernels, verify),
        rng_roles_(RngRolesOf(graph)),
        num_inputs_(
            static_cast<int>(graph.inputs().size()) -
            static_cast<int>(std::count_if(rng_roles_.begin(), rng_roles_.end(),
                                           [](RngRole r) { return r != RngRole::kNone; }))) {
    if (rng_roles_.empty() || kind != DeviceKind::kCuda) return;
    auto other = RngFromMemory(graph);  // whose own graph has no such scalars
    JF_CHECK(other.ok());
    rng_from_memory_ =
        std::make_unique<FunctionState>(kind, *other, options, backend, kernels, verify);
  }
  ~FunctionState();
  FunctionState(const FunctionState&) = delete;
  FunctionState& operator=(const FunctionState&) = delete;

  DeviceKind kind() const { return kind_; }
  const Graph& graph() const { return first_.cache.graph(); }
  CallCache& CacheOf(const Backend* backend);
  // The back end that this function was made for; on the CPU the only one.
  const Backend* home() const { return &first_.cache.backend(); }
  Counters stats() const;
  // Of the executables of all its call caches that had calls to compare.
  std::vector<v1::VerifyReport> verify_reports() const;
  // As RngRolesOf: where the seed and the offset of random ops stand in the signature.
  const std::vector<RngRole>& rng_roles() const { return rng_roles_; }
  int num_inputs() const { return num_inputs_; }  // those that the caller passes
  // The user's names of the graph's values, for explain(); set before the first call.
  const ValueNames& names() const { return names_; }
  void set_names(ValueNames names) { names_ = std::move(names); }
  const Options& options() const { return options_; }
  // On a GPU, of graphs with random ops: the same with seed and offset read from memory; else null.
  FunctionState* rng_from_memory() const { return rng_from_memory_.get(); }

 private:
  struct Node {
    Node(const Graph& graph, const Options& options, const Backend* backend, KernelCache* kernels,
         const VerifyPolicy& verify)
        : cache(graph, options, backend, kernels, verify) {}
    CallCache cache;
    Node* next = nullptr;
  };
  const DeviceKind kind_;
  const Options options_;
  KernelCache* const kernels_;
  Node first_;
  std::atomic<Node*> others_{nullptr};
  const std::vector<RngRole> rng_roles_;
  const int num_inputs_;
  ValueNames names_;
  std::unique_ptr<FunctionState> rng_from_memory_;
};

}  // namespace internal

inline namespace v1 {
namespace detail {

struct FunctionState : internal::FunctionState {
  using internal::FunctionState::FunctionState;
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
StatusOr<Function> MakeFunction(const Graph& graph, const CompileOptions& options,
                                ValueNames names = {});
v1::Stats ToPublic(const Counters& counters);
v1::VerifyReport ToPublic(const VerifyRecord& record);
}  // namespace internal
}  // namespace jitfuse

#endif  // JITFUSE_API_FUNCTION_STATE_H_
