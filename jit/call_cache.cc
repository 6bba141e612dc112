#include "jit/call_cache.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "ir/support/flags.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"
#include "jit/compile.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kMaxL1Entries = 4096;
// A thread drops its tables of ended functions when it makes one beyond so many, and again when it
// has twice as many as were left.
constexpr size_t kMaxTables = 256;

using ExactKey = absl::InlinedVector<int64_t, 48>;
using CachesLock = std::lock_guard<std::mutex>;

Counters CountersOf(const Executable& exe) {
  Counters out;
  out.compiles = 1;
  out.CountPlan(exe.fusion);
  auto count = [&](const KernelStep& step) {
    if (step.source.lang == SourceLang::kPlan) return;  // the interpreter compiles nothing
    out.CountCode(step.origin, step.healed, step.compile_ms);
  };
  for (const KernelStep& step : exe.kernels) count(step);
  for (const SortStep& sort : exe.sorts) {
    for (const KernelStep& step : sort.kernels) count(step);
  }
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

int64_t AlignClass(const void* ptr) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(ptr) & 15);
}

void AppendView(const TensorView& view, ExactKey* key) {
  key->push_back(static_cast<int64_t>(view.dtype) | AlignClass(view.ptr) << 8 |
                 static_cast<int64_t>(view.dims.size()) << 16 |
                 static_cast<int64_t>(view.strides.size()) << 32);
  for (int64_t d : view.dims) key->push_back(d);
  for (int64_t s : view.strides) key->push_back(s);
}

// What was computed of a bound input would be that of what is no longer there.
absl::Status CheckBoundIsRead(const Graph& graph, const CallClass& cls) {
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

struct Reach {
  uintptr_t lo, hi;
};

// The bytes a view may touch, without looking at whether it is dense.
Reach ReachOf(const TensorView& view) {
  // Unsigned, because nothing is checked yet: what wraps here is refused when the call is
  // classified.
  auto base = reinterpret_cast<uintptr_t>(view.ptr);
  uint64_t lo = 0, hi = 0, dense = 1;
  const bool strided = view.strides.size() == view.dims.size();
  for (size_t d = view.dims.size(); d-- > 0;) {
    if (view.dims[d] == 0) return {base, base};
    uint64_t reach = static_cast<uint64_t>(view.dims[d] - 1) *
                     (strided ? static_cast<uint64_t>(view.strides[d]) : dense);
    (static_cast<int64_t>(reach) < 0 ? lo : hi) += reach;
    dense *= static_cast<uint64_t>(view.dims[d]);
  }
  auto size = static_cast<uint64_t>(ItemSize(view.dtype));
  return {base + lo * size, base + (hi + 1) * size};
}

// Overlaps of outputs with inputs and each other are facts of the pointers, not of shapes: how far
// apart overlapping ones are enters the key.
void AppendOverlaps(absl::Span<const TensorView> inputs, absl::Span<const TensorView> outputs,
                    ExactKey* key) {
  if (outputs.empty()) return;
  absl::InlinedVector<Reach, 16> reach;
  for (const TensorView& v : inputs) reach.push_back(ReachOf(v));
  for (size_t o = 0; o < outputs.size(); ++o) {
    Reach mine = ReachOf(outputs[o]);
    for (size_t i = 0; i < reach.size(); ++i) {
      if (mine.lo >= reach[i].hi || reach[i].lo >= mine.hi) continue;
      const void* other = i < inputs.size() ? inputs[i].ptr : outputs[i - inputs.size()].ptr;
      key->push_back(static_cast<int64_t>(o << 32 | i));
      key->push_back(static_cast<const char*>(other) - static_cast<const char*>(outputs[o].ptr));
    }
    reach.push_back(mine);
  }
}

}  // namespace

Counters ProcessCounters() {
  CachesLock lock(LockOf(ForkLock::kCaches));
  return Totals();
}

struct CallCache::ThreadTable {
  absl::flat_hash_map<ExactKey, std::shared_ptr<const BoundCall>> calls;
  // Of `calls`, what was asked for last: comparing costs less than hashing. Null after a change.
  const std::pair<const ExactKey, std::shared_ptr<const BoundCall>>* last = nullptr;
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
      held_(backend, std::move(held)) {}

// No call is in flight, so that no thread is at its table.
CallCache::~CallCache() {
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
    CompileWatcher* watcher, StreamHandle stream) {
  ExactKey key;
  key.push_back(static_cast<int64_t>(inputs.size() << 32 | outputs.size()));
  for (const TensorView& v : inputs) AppendView(v, &key);
  for (const TensorView& v : outputs) AppendView(v, &key);
  AppendOverlaps(inputs, outputs, &key);
  ThreadTable& table = TableOfThisThread();
  if (const uint64_t tunings = tunings_.load(std::memory_order_acquire); table.tunings != tunings)
      [[unlikely]] {
    table.last = nullptr;
    table.calls.clear();
    table.tunings = tunings;
  }
  if (table.last != nullptr && table.last->first == key) return table.last->second;
  if (auto it = table.calls.find(key); it != table.calls.end()) {
    table.last = &*it;
    return it->second;
  }

  JF_ASSIGN_OR_RETURN(CallClass cls, Classify(inputs, outputs));
  JF_ASSIGN_OR_RETURN(std::shared_ptr<const BoundCall> bound, BindClass(cls, watcher, stream));
  table.last = nullptr;
  if (table.calls.size() >= kMaxL1Entries) table.calls.clear();
  table.calls.emplace(std::move(key), bound);
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

absl::StatusOr<std::shared_ptr<const Executable>> CallCache::FindClass(const CallClass& cls,
                                                                       const Choices& choices,
                                                                       CompileWatcher* watcher) {
  Options options = options_;
  options.products = choices;
  const std::string key =
      choices.empty() ? cls.key : absl::StrCat(cls.key, "|", options.Key().ToHex());
  if (std::shared_ptr<const Executable> ready = ReadyClass(key); ready != nullptr) return ready;
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
      Compile(graph_, cls, options, *backend_, kernels_);
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

void CallCache::CountRefused(int64_t algorithms) {
  if (algorithms == 0) return;
  CachesLock lock(LockOf(ForkLock::kCaches));
  for (Counters* c : {&counters_, &Totals()})
    c->fallbacks[static_cast<size_t>(Reason::kTuneRefused)] += algorithms;
}

absl::StatusOr<CallClass> CallCache::Classify(absl::Span<const TensorView> inputs,
                                              absl::Span<const TensorView> outputs) const {
  JF_ASSIGN_OR_RETURN(CallClass cls,
                      ClassifyCall(graph_, facts_, inputs, outputs, options_.dynamic));
  cls.bound_inputs = held_.inputs().bound;
  JF_RETURN_IF_ERROR(CheckBoundIsRead(graph_, cls));
  return cls;
}

absl::Status CallCache::Prepare(BoundCall* bound, StreamHandle stream, CompileWatcher* watcher) {
  const Watched watched(watcher);
  JF_ASSIGN_OR_RETURN(const HeldValues::Made made, held_.Prepare(bound, stream));
  CachesLock lock(LockOf(ForkLock::kCaches));
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
