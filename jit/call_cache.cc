#include "jit/call_cache.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "ir/expand.h"
#include "ir/support/flags.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"
#include "jit/background.h"
#include "jit/compile.h"
#include "jit/exact_key.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kMaxL1Entries = 4096;
// A thread drops its tables of ended functions when it makes one beyond so many, and again when it
// has twice as many as were left.
constexpr size_t kMaxTables = 256;

using CachesLock = std::lock_guard<std::mutex>;

void CountCodeOf(const Executable& exe, Counters* out) {
  auto count = [&](const KernelStep& step) {
    if (step.source.lang == SourceLang::kPlan) return;  // the interpreter compiles nothing
    out->CountCode(step.origin, step.healed, step.times.compile_ms);
  };
  for (const KernelStep& step : exe.kernels) count(step);
  for (const SortStep& sort : exe.sorts) {
    for (const KernelStep& step : sort.kernels) count(step);
  }
}

Counters CountersOf(const Executable& exe) {
  Counters out;
  out.compiles = 1;
  out.CountPlan(exe.fusion);
  CountCodeOf(exe, &out);
  return out;
}

// Guarded by LockOf(ForkLock::kCaches).
Counters& Totals() {
  static auto* totals = new Counters;
  return *totals;
}

uint64_t NextId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1);
}

// Of the ops that composites stand for, products above all.
EvalCost ExpandedCost(const Graph& graph) {
  const absl::StatusOr<Graph> expanded = Expand(graph);
  return EvalCost(expanded.ok() ? *expanded : graph);
}

// What was computed of a bound input would be that of what is no longer there.
absl::Status CheckBoundIsRead(const Graph& graph, const ClassKey& cls) {
  for (size_t o = 0; o < cls.output_aliases.size(); ++o) {
    for (int input : cls.output_aliases[o]) {
      if (cls.IsBound(input))
        return InvalidArgument(
            "graph ", graph.name(), ": output ", o, " is given the buffer of input ", input, " '",
            graph.input_name(input), "', which is bound; give it a buffer of its own");
    }
  }
  return absl::OkStatus();
}

bool RunsOtherCode(const BoundCall& bound) {
  return bound.meanwhile && (bound.meanwhile->reason == Reason::kBackgroundGeneral ||
                             bound.meanwhile->reason == Reason::kBackgroundInterpreted);
}

}  // namespace

Counters ProcessCounters() {
  CachesLock lock(LockOf(ForkLock::kCaches));
  return Totals();
}

struct CallCache::ThreadTable {
  using Calls = absl::flat_hash_map<ExactKey::Kept, std::shared_ptr<const BoundCall>,
                                    ExactKey::Hash, ExactKey::Equal>;
  Calls calls;
  // Of `calls`, what was asked for last: comparing costs less than hashing. Null after a change.
  const Calls::value_type* last = nullptr;
  std::atomic<bool> orphan{false};  // the CallCache is gone
  uint64_t tunings = 0;             // what the CallCache had when these were bound
};

CallCache::CallCache(Graph graph, const Options& options, const Backend* backend,
                     KernelCache* kernels, const VerifyPolicy& verify, HeldInputs held)
    : id_(NextId()),
      graph_(std::move(graph)),
      facts_(ComputeShapeFacts(graph_)),
      options_(options),
      backend_(backend),
      kernels_(kernels),
      verify_policy_(verify),
      verify_env_(EnvInt("VERIFY", 0)),
      verify_(verify.calls > 0 || verify_env_ != 0),
      interpreted_cost_(options.background ? ExpandedCost(graph_) : EvalCost()),
      held_(backend, kernels, options, std::move(held)) {}

// No call is in flight, so that no thread is at its table.
CallCache::~CallCache() {
  EndBackgroundOf(this);
  for (const std::shared_ptr<ThreadTable>& table : tables_) {
    table->last = nullptr;
    table->calls.clear();
    table->orphan.store(true, std::memory_order_relaxed);
  }
}

CallCache::ThreadTable& CallCache::TableOfThisThread() {
  struct Mine {
    uint64_t last_id = 0;
    ThreadTable* last = nullptr;
    size_t sweep_beyond = kMaxTables;
    absl::flat_hash_map<uint64_t, std::shared_ptr<ThreadTable>> all;
  };
  thread_local Mine mine;
  if (mine.last_id == id_) return *mine.last;
  std::shared_ptr<ThreadTable>& table = mine.all[id_];
  const bool made = table == nullptr;
  if (made) {
    table = std::make_shared<ThreadTable>();
    CachesLock lock(LockOf(ForkLock::kCaches));
    // Tables that this alone holds are those of threads that have ended.
    tables_.erase(std::remove_if(tables_.begin(), tables_.end(),
                                 [](const auto& t) { return t.use_count() == 1; }),
                  tables_.end());
    tables_.push_back(table);
  }
  mine.last_id = id_;
  mine.last = table.get();
  if (made && mine.all.size() > mine.sweep_beyond) {
    absl::erase_if(mine.all,
                   [](const auto& t) { return t.second->orphan.load(std::memory_order_relaxed); });
    mine.sweep_beyond = std::max(kMaxTables, 2 * mine.all.size());
  }
  return *mine.last;
}

absl::StatusOr<std::shared_ptr<const BoundCall>> CallCache::Find(
    absl::Span<const TensorView> inputs, absl::Span<const TensorView> outputs,
    CompileWatcher* watcher, StreamHandle stream, bool wait) {
  const ExactKey exact(inputs, outputs);
  ThreadTable& table = TableOfThisThread();
  if (const uint64_t tunings = tunings_.load(std::memory_order_acquire); table.tunings != tunings)
      [[unlikely]] {
    table.last = nullptr;
    table.calls.clear();
    table.tunings = tunings;
  }
  const auto serves = [wait](const BoundCall& bound) { return !wait || !RunsOtherCode(bound); };
  const auto found = [&](const std::shared_ptr<const BoundCall>& bound) {
    if (bound->uses != nullptr) [[unlikely]]
      CountUse(*bound, inputs, outputs);
    return bound;
  };
  if (table.last != nullptr && absl::MakeConstSpan(table.last->first.parts) == exact.parts() &&
      serves(*table.last->second))
    return found(table.last->second);
  const ExactKey::Hashed key = exact.hashed();
  if (auto it = table.calls.find(key); it != table.calls.end() && serves(*it->second)) {
    table.last = &*it;
    return found(it->second);
  }

  const absl::StatusOr<ClassKey> cls = Classify(inputs, outputs);
  if (!cls.ok()) return cls.status();
  JF_ASSIGN_OR_RETURN(std::shared_ptr<const BoundCall> bound,
                      BindNew(*cls, {inputs, outputs, watcher, stream, wait}));
  table.last = nullptr;
  if (table.calls.size() >= kMaxL1Entries) table.calls.clear();
  table.calls.insert_or_assign(ExactKey::Kept(key), bound);
  return bound;
}

std::shared_ptr<const Executable> CallCache::ReadyClass(const std::string& key) {
  CachesLock lock(LockOf(ForkLock::kCaches));
  const auto it = classes_.find(key);
  if (it == classes_.end() || it->second == nullptr || !it->second->done) return nullptr;
  ++counters_.l2_hits;
  ++Totals().l2_hits;
  return it->second->executable;
}

Options CallCache::OptionsWith(const Choices& choices) const {
  Options out = options_;
  out.products = choices;
  return out;
}

absl::StatusOr<std::shared_ptr<const Executable>> CallCache::FindClass(const ClassKey& cls,
                                                                       const Choices& choices,
                                                                       CompileWatcher* watcher,
                                                                       const Backend* backend) {
  std::string other;  // the key, if it is not of the class's own code
  if (!choices.empty()) other = absl::StrCat(cls.key, "|", OptionsWith(choices).Key().ToHex());
  if (backend != nullptr)
    other = absl::StrCat(choices.empty() ? cls.key : other, "|", ToAbsl(backend->name()));
  const std::string& key = other.empty() ? cls.key : other;
  if (std::shared_ptr<const Executable> ready = ReadyClass(key); ready != nullptr) return ready;
  return MakeClass(key, cls, choices, watcher, backend == nullptr ? *backend_ : *backend);
}

absl::StatusOr<std::shared_ptr<const Executable>> CallCache::MakeClass(const std::string& key,
                                                                       const ClassKey& cls,
                                                                       const Choices& choices,
                                                                       CompileWatcher* watcher,
                                                                       const Backend& backend) {
  const Watched watched(watcher);
  auto entry = std::make_shared<Entry>();
  entry->generation = ForkGeneration();
  {
    std::unique_lock<std::mutex> lock(LockOf(ForkLock::kCaches));
    std::shared_ptr<Entry> there = classes_[key];
    while (there != nullptr && !there->done && there->generation == ForkGeneration())
      WaitForCaches(&lock);
    if (there != nullptr && there->done) {
      if (!there->status.ok()) return there->status;
      ++counters_.l2_hits;
      ++Totals().l2_hits;
      return there->executable;
    }
    classes_[key] = entry;
  }
  absl::StatusOr<std::shared_ptr<const Executable>> made =
      Compile(graph_, ClassOf(graph_, cls), OptionsWith(choices), backend, kernels_);
  CachesLock lock(LockOf(ForkLock::kCaches));
  entry->done = true;
  entry->status = made.status();
  if (made.ok()) {
    entry->executable = *made;
    order_.push_back(*made);
    Counters counted = CountersOf(**made);
    counters_.Add(counted);
    Totals().Add(counted);
  } else {
    classes_.erase(key);
  }
  NotifyCaches();
  return made;
}

void CallCache::CountReason(Reason reason, int64_t times) {
  if (times == 0) return;
  CachesLock lock(LockOf(ForkLock::kCaches));
  for (Counters* c : {&counters_, &Totals()}) c->fallbacks[static_cast<size_t>(reason)] += times;
}

void CallCache::CountTuned(const Tuned& tuned) {
  for (Counters* c : {&counters_, &Totals()}) {
    ++(tuned.refused ? c->fallbacks[static_cast<size_t>(tuned.refused->reason)] : c->tuned);
    if (tuned.found) ++c->fallbacks[static_cast<size_t>(tuned.found->reason)];
  }
}

void CallCache::CountHealed() {
  CachesLock lock(LockOf(ForkLock::kCaches));
  for (Counters* c : {&counters_, &Totals()}) ++c->healed;
}

absl::StatusOr<ClassKey> CallCache::Classify(absl::Span<const TensorView> inputs,
                                             absl::Span<const TensorView> outputs,
                                             Dynamic dynamic) const {
  absl::StatusOr<ClassKey> cls = ClassKeyOf(graph_, facts_, inputs, outputs, dynamic);
  if (!cls.ok()) return cls;
  cls->bound_inputs = held_.inputs().bound;
  JF_RETURN_IF_ERROR(CheckBoundIsRead(graph_, *cls));
  return cls;
}

absl::Status CallCache::Prepare(BoundCall* bound, StreamHandle stream, CompileWatcher* watcher) {
  const Watched watched(watcher);
  JF_ASSIGN_OR_RETURN(const HeldValues::Made made, held_.Prepare(bound, stream));
  CachesLock lock(LockOf(ForkLock::kCaches));
  // Totals() have counted them.
  for (const auto& executable : made.executables) CountCodeOf(*executable, &counters_);
  for (Counters* c : {&counters_, &Totals()}) {
    c->prepared += made.values + made.packed;
    c->fallbacks[static_cast<size_t>(Reason::kBoundPacked)] += made.packed;
  }
  return absl::OkStatus();
}

Counters CallCache::stats() const {
  CachesLock lock(LockOf(ForkLock::kCaches));
  return counters_;
}

void CallCache::Count(VerifyEvent event) {
  CachesLock lock(LockOf(ForkLock::kCaches));
  for (Counters* c : {&counters_, &Totals()}) {
    const auto fallback = [c](Reason r) -> int64_t& {
      return c->fallbacks[static_cast<size_t>(r)];
    };
    ++(event == VerifyEvent::kVerified   ? c->verified
       : event == VerifyEvent::kMismatch ? c->mismatches
       : event == VerifyEvent::kSampled  ? fallback(Reason::kVerifySampled)
       : event == VerifyEvent::kSkipped  ? fallback(Reason::kVerifySkipped)
                                         : fallback(Reason::kVerifyFallback));
  }
}

std::vector<std::shared_ptr<const Executable>> CallCache::executables() const {
  CachesLock lock(LockOf(ForkLock::kCaches));
  return order_;
}

}  // namespace jitfuse::internal
