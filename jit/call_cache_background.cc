// What CallCache runs while the code of a call is compiled in the background, and which shapes get
// code of their own.
#include <mutex>

#include "absl/strings/str_cat.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"
#include "jit/background.h"
#include "jit/call_cache.h"
#include "jit/disk_cache.h"
#include "jit/interpret_backend.h"

namespace jitfuse::internal {
namespace {

using CachesLock = std::lock_guard<std::mutex>;

// Element operations that take the interpreter about as long as a compiler takes.
constexpr double kInterpretedWork = 1 << 20;
// Shapes whose calls are counted; with more, all are counted anew.
constexpr size_t kMostCounted = size_t{1} << 16;

const Backend& Interpreter() {
  static const Backend* const made = CreateInterpretBackend().release();
  return *made;
}

// Else every call's own code is that of its one shape.
bool HasManyShapes(const Graph& graph, Dynamic dynamic) {
  return dynamic != Dynamic::kNone && !graph.symbols().names.empty();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const BoundCall>> CallCache::BindNew(const ClassKey& cls,
                                                                    const NewCall& call) {
  // Where nothing may be compiled there is nothing to wait for.
  const bool compiles = kernels_->disk() == nullptr || !kernels_->disk()->required();
  const bool background = options_.background && compiles;
  const bool hot =
      options_.specialize_after > 0 && compiles && HasManyShapes(graph_, options_.dynamic);
  bool timed = options_.autotune;  // what timing has said comes first
  if (background || hot) {
    CachesLock lock(LockOf(ForkLock::kCaches));
    timed |= !tuned_.empty();
  }
  if ((!background && !hot) || timed) return BindClass(cls, call.watcher, call.stream);
  std::shared_ptr<std::atomic<int64_t>> uses;
  if (hot) {
    JF_ASSIGN_OR_RETURN(ClassKey exact, Classify(call.inputs, call.outputs, Dynamic::kNone));
    JF_ASSIGN_OR_RETURN(std::shared_ptr<BoundCall> own, BindHot(exact, call));
    if (own != nullptr) return std::shared_ptr<const BoundCall>(std::move(own));
    uses = UsesOf(exact.key);
  }
  JF_ASSIGN_OR_RETURN(std::shared_ptr<BoundCall> bound,
                      background && !call.wait ? BindMeanwhile(cls, call) : BindOwn(cls, call));
  bound->uses = std::move(uses);
  if (bound->uses != nullptr) CountUse(*bound, call.inputs, call.outputs);
  return std::shared_ptr<const BoundCall>(std::move(bound));
}

absl::StatusOr<std::shared_ptr<BoundCall>> CallCache::BindHot(const ClassKey& exact,
                                                              const NewCall& call) {
  if (!HasClass(exact.key)) return nullptr;
  JF_ASSIGN_OR_RETURN(std::shared_ptr<BoundCall> bound,
                      BindWith(exact, {}, {}, call.watcher, call.stream));
  bound->meanwhile = Note{-1, Reason::kHotShape, ""};
  return bound;
}

absl::StatusOr<std::shared_ptr<BoundCall>> CallCache::BindOwn(const ClassKey& cls,
                                                              const NewCall& call) {
  const bool there = !options_.background || HasClass(cls.key);
  JF_ASSIGN_OR_RETURN(std::shared_ptr<BoundCall> bound,
                      BindWith(cls, {}, {}, call.watcher, call.stream));
  // Other calls of the class may be bound to what ran until now, with another workspace.
  if (!there) tunings_.fetch_add(1, std::memory_order_release);
  return bound;
}

// What is there, in this order: the class's own code, code for more sizes, the interpreter.
absl::StatusOr<std::shared_ptr<BoundCall>> CallCache::BindMeanwhile(const ClassKey& cls,
                                                                    const NewCall& call) {
  if (HasClass(cls.key) || QueuedOf(cls.key) == Queued::kFailed)
    return BindWith(cls, {}, {}, call.watcher, call.stream);
  JF_ASSIGN_OR_RETURN(ClassKey general, Classify(call.inputs, call.outputs, Dynamic::kAll));
  const bool interpretable = backend_->target().kind == TargetKind::kCpu && !held_.inputs().any() &&
                             interpreted_cost_.Of(general.symbols) <= kInterpretedWork;
  std::shared_ptr<BoundCall> bound;
  Reason reason = Reason::kBackgroundWaited;
  if (HasClass(general.key)) {
    if (Queue(cls, Reason::kCount)) {
      reason = Reason::kBackgroundGeneral;
      JF_ASSIGN_OR_RETURN(bound, BindWith(general, {}, {}, call.watcher, call.stream));
    }
  } else if (interpretable && Queue(cls, Reason::kCount)) {
    reason = Reason::kBackgroundInterpreted;
    JF_ASSIGN_OR_RETURN(bound, BindInterpreted(general, call));
  }
  if (bound == nullptr) {
    JF_ASSIGN_OR_RETURN(bound, BindWith(cls, {}, {}, call.watcher, call.stream));
  }
  // For the sizes that come next.
  if (!graph_.symbols().names.empty() && !HasClass(general.key)) Queue(general, Reason::kCount);
  bound->meanwhile = Note{-1, reason, ""};
  CountReason(reason);
  return bound;
}

absl::StatusOr<std::shared_ptr<BoundCall>> CallCache::BindInterpreted(const ClassKey& general,
                                                                      const NewCall& call) {
  JF_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                      FindClass(general, {}, call.watcher, &Interpreter()));
  return Bind(std::move(executable), general.symbols, general.least_align);
}

std::shared_ptr<std::atomic<int64_t>> CallCache::UsesOf(const std::string& key) {
  CachesLock lock(LockOf(ForkLock::kCaches));
  if (uses_.size() >= kMostCounted && !uses_.contains(key)) uses_.clear();
  std::shared_ptr<std::atomic<int64_t>>& uses = uses_[key];
  if (uses == nullptr) uses = std::make_shared<std::atomic<int64_t>>(0);
  return uses;
}

void CallCache::CountUse(const BoundCall& bound, absl::Span<const TensorView> inputs,
                         absl::Span<const TensorView> outputs) {
  if (bound.uses->fetch_add(1, std::memory_order_relaxed) + 1 != options_.specialize_after) return;
  // The views are those of a call that was classified before.
  const absl::StatusOr<ClassKey> exact = Classify(inputs, outputs, Dynamic::kNone);
  if (!exact.ok() || !Queue(*exact, Reason::kHotShape)) CountReason(Reason::kBackgroundFailed);
}

bool CallCache::HasClass(const std::string& key) const {
  CachesLock lock(LockOf(ForkLock::kCaches));
  const auto it = classes_.find(key);
  return it != classes_.end() && it->second != nullptr && it->second->done;
}

CallCache::Queued CallCache::QueuedOf(const std::string& key) const {
  CachesLock lock(LockOf(ForkLock::kCaches));
  const auto it = queued_.find(key);
  const bool there = it != queued_.end() && it->second.first == ForkGeneration();
  return there ? it->second.second : Queued::kNot;
}

bool CallCache::Queue(const ClassKey& cls, Reason counted) {
  {
    CachesLock lock(LockOf(ForkLock::kCaches));
    auto& [generation, queued] = queued_[cls.key];
    // Of a process before this one: it never came to an end here.
    if (generation != ForkGeneration()) queued = Queued::kNot;
    if (queued != Queued::kNot) return queued == Queued::kWaiting;
    generation = ForkGeneration();
    queued = Queued::kWaiting;
  }
  if (RunInBackground(this, backend_, [this, cls, counted] { CompileQueued(cls, counted); }))
    return true;
  CachesLock lock(LockOf(ForkLock::kCaches));
  queued_.erase(cls.key);
  return false;
}

// Bound as well, where that needs no stream: the matrix library chooses its algorithms then.
void CallCache::CompileQueued(const ClassKey& cls, Reason counted) {
  const absl::Status made = held_.inputs().any() ? FindClass(cls, {}, nullptr).status()
                                                 : BindWith(cls, {}, {}, nullptr, nullptr).status();
  if (!made.ok()) counted = Reason::kBackgroundFailed;
  if (counted != Reason::kCount) CountReason(counted);
  {
    CachesLock lock(LockOf(ForkLock::kCaches));
    if (made.ok()) {
      queued_.erase(cls.key);
    } else {
      queued_[cls.key].second = Queued::kFailed;
    }
  }
  tunings_.fetch_add(1, std::memory_order_release);
}

}  // namespace jitfuse::internal
