#include "api/function_state.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "api/runtime.h"
#include "ir/scalar_value.h"
#include "ir/support/check.h"
#include "ir/support/fork.h"

namespace jitfuse {
namespace internal {

namespace {

std::size_t CountBound(const FunctionState::BoundArrays& bound) {
  return static_cast<std::size_t>(
      std::count_if(bound.begin(), bound.end(), [](const auto& a) { return a.has_value(); }));
}

int CountHidden(const std::vector<RngRole>& roles) {
  return static_cast<int>(
      std::count_if(roles.begin(), roles.end(), [](RngRole r) { return r != RngRole::kNone; }));
}

std::vector<bool> ScalarsOf(const Graph& graph) {
  std::vector<bool> out;
  for (NodeId input : graph.inputs()) out.push_back(graph.node(input).kind() == OpKind::kScalar);
  return out;
}

// By signature position, where `roles` says which positions the caller does not see.
HeldInputs HeldOf(const Graph& graph, const std::vector<RngRole>& roles,
                  const FunctionState::BoundArrays& bound) {
  HeldInputs out;
  if (CountBound(bound) == 0) return out;
  const std::size_t n = graph.inputs().size();
  out.bound.assign(n, false);
  out.data.assign(n, nullptr);
  out.bits.assign(n, 0);
  out.strides.assign(n, {});
  std::size_t argument = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i < roles.size() && roles[i] != RngRole::kNone) continue;
    const std::optional<Array>& array = bound[argument++];
    if (!array) continue;
    out.bound[i] = true;
    out.strides[i] = array->strides();
    if (graph.node(graph.inputs()[i]).kind() == OpKind::kScalar)
      out.bits[i] = LoadScalar(FromPublic(array->dtype()), array->data()).bits();
    else
      out.data[i] = array->data();
  }
  return out;
}

}  // namespace

FunctionState::FunctionState(DeviceKind kind, const Graph& graph, const Options& options,
                             const Backend* backend, KernelCache* kernels,
                             const VerifyPolicy& verify, BoundArrays bound)
    : kind_(kind),
      options_(options),
      kernels_(kernels),
      bound_(std::move(bound)),
      num_bound_(CountBound(bound_)),
      rng_roles_(RngRolesOf(graph)),
      scalars_(ScalarsOf(graph)),
      first_(graph, options, backend, kernels, verify, HeldOf(graph, rng_roles_, bound_)),
      num_inputs_(static_cast<int>(graph.inputs().size()) - CountHidden(rng_roles_) -
                  static_cast<int>(num_bound_)) {
  if (rng_roles_.empty() || kind != DeviceKind::kCuda) return;
  auto other = RngFromMemory(graph);  // whose own graph has no such scalars
  JF_CHECK(other.ok());
  rng_from_memory_ = std::make_unique<FunctionState>(kind, *other, options, backend, kernels,
                                                     verify, SignatureArrays());
}

// As bound_, for a graph that reads seed and offset as inputs.
FunctionState::BoundArrays FunctionState::SignatureArrays() const {
  if (num_bound_ == 0) return {};
  BoundArrays out;
  std::size_t argument = 0;
  for (RngRole role : rng_roles_)
    out.push_back(role == RngRole::kNone ? bound_[argument++] : std::nullopt);
  return out;
}

FunctionState::~FunctionState() {
  for (Node* node = others_.load(std::memory_order_acquire); node != nullptr;) {
    Node* next = node->next;
    delete node;
    node = next;
  }
}

CallCache& FunctionState::CacheOf(const Backend* backend) {
  if (backend == home()) return first_.cache;
  Node* const head = others_.load(std::memory_order_acquire);
  for (Node* n = head; n != nullptr; n = n->next) {
    if (&n->cache.backend() == backend) return n->cache;
  }
  auto made = std::make_unique<Node>(graph(), options_, backend, kernels_, verify_policy(),
                                     first_.cache.held_inputs());
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kCaches));
  made->next = others_.load(std::memory_order_acquire);
  for (Node* n = made->next; n != head; n = n->next) {  // made by others meanwhile
    if (&n->cache.backend() == backend) return n->cache;
  }
  others_.store(made.get(), std::memory_order_release);
  return made.release()->cache;
}

Counters FunctionState::stats() const {
  Counters out = first_.cache.stats();
  for (Node* n = others_.load(std::memory_order_acquire); n != nullptr; n = n->next)
    out.Add(n->cache.stats());
  if (rng_from_memory_ != nullptr) out.Add(rng_from_memory_->stats());
  return out;
}

std::vector<v1::VerifyReport> FunctionState::verify_reports() const {
  std::vector<v1::VerifyReport> out;
  long long number = 0;
  const auto add = [&](const CallCache& cache) {
    for (const auto& executable : cache.executables()) {
      v1::VerifyReport report = ToPublic(executable->verify->record());
      report.executable = number++;
      report.backend = std::string(cache.backend().name());
      report.arch = executable->backend->target().arch;
      if (report.verified > 0 || report.skipped > 0) out.push_back(std::move(report));
    }
  };
  add(first_.cache);
  for (Node* n = others_.load(std::memory_order_acquire); n != nullptr; n = n->next) add(n->cache);
  if (rng_from_memory_ == nullptr) return out;
  for (v1::VerifyReport& report : rng_from_memory_->verify_reports()) {
    report.executable += number;
    out.push_back(std::move(report));
  }
  return out;
}

}  // namespace internal

inline namespace v1 {

Stats TotalStats() { return internal::ToPublic(internal::ProcessCounters()); }

}  // namespace v1

namespace internal {

v1::VerifyReport ToPublic(const VerifyRecord& record) {
  v1::VerifyReport out;
  out.verified = record.verified;
  out.sampled = record.sampled;
  out.skipped = record.skipped;
  out.mismatches = record.mismatches;
  out.fallback = record.fallback;
  out.fallback_calls = record.fallback_calls;
  out.skip_reason = record.skip_reason;
  out.first_mismatch = record.first_mismatch;
  out.reproducers = record.reproducers;
  for (const VerifiedOutput& o : record.outputs)
    out.outputs.push_back({o.elements, o.compared, o.max_error, o.mean_error(), o.max_ratio,
                           o.mean_ratio(), o.checksums});
  return out;
}

v1::Stats ToPublic(const Counters& counters) {
  v1::Stats out;
  out.class_hits = counters.l2_hits;
  out.compiles = counters.compiles;
  out.compiled = counters.compiled;
  out.memory_hits = counters.memory_hits;
  out.disk_hits = counters.disk_hits;
  out.layer_hits = counters.layer_hits;
  out.healed = counters.healed;
  out.compile_ms = counters.compile_ms;
  out.kernels = SharedKernels()->stats().entries;
  out.verified = counters.verified;
  out.mismatches = counters.mismatches;
  out.tuned = counters.tuned;
  out.prepared = counters.prepared;
  for (size_t r = 0; r < counters.fallbacks.size(); ++r) {
    const std::string name(ReasonName(static_cast<Reason>(r)));
    if (counters.fallbacks[r] > 0) out.fallbacks[name] = counters.fallbacks[r];
    if (counters.boundaries[r] > 0) out.boundaries[name] = counters.boundaries[r];
  }
  return out;
}

}  // namespace internal
}  // namespace jitfuse
