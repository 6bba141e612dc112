// What stands behind a Function: its graph, and a call cache for each back end it has run on.
// Not installed.
//
// On the CPU there is one back end. On a GPU there is one for each CUDA context, since modules
// belong to a context; a call finds its own in a list that only grows, without a lock. A bound
// function (api/bind.cc) has a state of its own: the graph with the sizes that its bound arrays
// have, and call caches that know of them.
#ifndef JITFUSE_API_FUNCTION_STATE_H_
#define JITFUSE_API_FUNCTION_STATE_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/convert.h"
#include "api/function.h"
#include "ir/rng.h"
#include "ir/value_names.h"
#include "jit/call_cache.h"

namespace jitfuse {
namespace internal {

class FunctionState {
 public:
  // By argument of the function without seed and offset: what is bound to it. Empty: nothing is.
  using BoundArrays = std::vector<std::optional<Array>>;

  FunctionState(DeviceKind kind, const Graph& graph, const Options& options, const Backend* backend,
                KernelCache* kernels, const VerifyPolicy& verify = {}, BoundArrays bound = {});
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
  // By position of the signature; false beyond it.
  bool IsScalar(std::size_t position) const {
    return position < scalars_.size() && scalars_[position];
  }
  const BoundArrays& bound() const { return bound_; }
  std::size_t num_bound() const { return num_bound_; }
  const Array* BoundArray(std::size_t argument) const {  // null: the caller passes it
    return argument < bound_.size() && bound_[argument] ? &*bound_[argument] : nullptr;
  }
  // Of a bound function: that of all inputs. Set when it is made.
  const std::shared_ptr<v1::detail::FunctionState>& whole() const { return whole_; }
  void set_whole(std::shared_ptr<v1::detail::FunctionState> whole) { whole_ = std::move(whole); }
  const VerifyPolicy& verify_policy() const { return first_.cache.verify_policy(); }
  // The user's names of the graph's values, for explain(); set before the first call.
  const ValueNames& names() const { return names_; }
  void set_names(ValueNames names) { names_ = std::move(names); }
  const Options& options() const { return options_; }
  // On a GPU, of graphs with random ops: the same with seed and offset read from memory; else null.
  FunctionState* rng_from_memory() const { return rng_from_memory_.get(); }

 private:
  BoundArrays SignatureArrays() const;

  struct Node {
    Node(const Graph& graph, const Options& options, const Backend* backend, KernelCache* kernels,
         const VerifyPolicy& verify, HeldInputs held)
        : cache(graph, options, backend, kernels, verify, std::move(held)) {}
    CallCache cache;
    Node* next = nullptr;
  };
  const DeviceKind kind_;
  const Options options_;
  KernelCache* const kernels_;
  const BoundArrays bound_;
  const std::size_t num_bound_;
  const std::vector<RngRole> rng_roles_;
  const std::vector<bool> scalars_;
  Node first_;
  std::atomic<Node*> others_{nullptr};
  const int num_inputs_;
  std::shared_ptr<v1::detail::FunctionState> whole_;
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
