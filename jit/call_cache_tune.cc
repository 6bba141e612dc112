// What CallCache does with tuning, and without an algorithm.
#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "ir/support/dump.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/call_cache.h"
#include "jit/tune.h"
#include "jit/tune_store.h"
#include "jit/turn.h"

namespace jitfuse::internal {
namespace {

using CachesLock = std::lock_guard<std::mutex>;

// The class, and of each size the least power of two that it does not exceed.
std::string TuneKey(const ClassKey& cls) {
  std::string key = absl::StrCat(cls.key, "|", cls.least_align);
  for (int64_t value : cls.symbols)
    absl::StrAppend(&key, ",",
                    value <= 1 ? value : std::bit_width(static_cast<uint64_t>(value - 1)));
  return key;
}

std::string TargetName(const Backend& backend) {
  return absl::StrCat(ToAbsl(backend.name()), " ", backend.target().arch);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const BoundCall>> CallCache::BindClass(const ClassKey& cls,
                                                                      CompileWatcher* watcher,
                                                                      StreamHandle stream) {
  Tuned tuned;
  if (tunings_.load(std::memory_order_acquire) != 0) tuned = TunedOf(TuneKey(cls));
  Choices choices;
  std::vector<std::string> algorithms;
  if (tuned.record != nullptr) {
    choices = tuned.record->plan().choices;
    algorithms = ChosenAlgorithms(tuned.record->plan());
  }
  JF_ASSIGN_OR_RETURN(std::shared_ptr<BoundCall> bound,
                      BindWith(cls, std::move(choices), algorithms, watcher, stream));
  CountReason(Reason::kTuneRefused, static_cast<int64_t>(bound->tune_notes.size()));
  if (tuned.found) bound->tune_notes.push_back(*tuned.found);
  bound->tuned = tuned.record;
  bound->untuned = tuned.refused;
  bound->tune_first = options_.autotune && tuned.empty();
  return std::shared_ptr<const BoundCall>(std::move(bound));
}

absl::StatusOr<std::shared_ptr<BoundCall>> CallCache::BindWith(
    const ClassKey& cls, Choices choices, const std::vector<std::string>& algorithms,
    CompileWatcher* watcher, StreamHandle stream) {
  JF_ASSIGN_OR_RETURN(std::shared_ptr<BoundCall> bound,
                      BindUnheld(cls, std::move(choices), algorithms, watcher));
  if (held_.inputs().any()) JF_RETURN_IF_ERROR(Prepare(bound.get(), stream, watcher));
  return bound;
}

// A product for which there is no algorithm with what follows it is planned alone.
absl::StatusOr<std::shared_ptr<BoundCall>> CallCache::BindUnheld(
    const ClassKey& cls, Choices choices, const std::vector<std::string>& algorithms,
    CompileWatcher* watcher) {
  while (true) {
    JF_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                        FindClass(cls, choices, watcher));
    int failed = -1;
    absl::StatusOr<std::shared_ptr<BoundCall>> bound =
        Bind(executable, cls.symbols, cls.least_align, {algorithms, &failed});
    if (bound.ok() || failed < 0 || bound.status().code() != absl::StatusCode::kUnimplemented)
      return bound;
    const GemmStep& step = executable->gemms[static_cast<size_t>(failed)];
    if (step.call.epilogue.empty()) return bound;
    const auto product = static_cast<size_t>(step.product);
    if (choices.size() <= product) choices.resize(product + 1);
    choices[product].epilogue = ProductChoice::Epilogue::kNone;
    choices[product].no_algorithm = true;
  }
}

// Outputs of other strides or alignment make other keys, for which nothing was chosen by timing.
absl::StatusOr<int64_t> CallCache::MostArena(absl::Span<const TensorView> inputs,
                                             CompileWatcher* watcher, StreamHandle stream) {
  JF_ASSIGN_OR_RETURN(std::shared_ptr<const BoundCall> bound,
                      Find(inputs, {}, watcher, stream, /*wait=*/true));
  const Executable& exe = *bound->executable;
  int64_t most = MostArenaBytes(*bound);
  if (exe.gemms.empty()) return most;
  int lowest = bound->align;
  for (const TensorType& type : exe.outputs)
    lowest = std::min(lowest, static_cast<int>(ItemSize(type.dtype)));
  JF_ASSIGN_OR_RETURN(ClassKey cls, Classify(inputs, {}, exe.dynamic));
  for (int align = bound->tuned != nullptr ? bound->align : bound->align / 2; align >= lowest;
       align /= 2) {
    cls.least_align = align;
    const absl::StatusOr<std::shared_ptr<BoundCall>> other = BindUnheld(cls, {}, {}, watcher);
    // Else that is for calls with such outputs to say.
    if (other.ok()) most = std::max(most, MostArenaBytes(**other));
  }
  return most;
}

CallCache::Tuned CallCache::TunedOf(const std::string& key) {
  CachesLock lock(LockOf(ForkLock::kCaches));
  const auto it = tuned_.find(key);
  return it == tuned_.end() ? Tuned() : it->second;
}

void CallCache::SetTuned(const std::string& key, Tuned tuned) {
  {
    CachesLock lock(LockOf(ForkLock::kCaches));
    CountTuned(tuned);
    tuned_[key] = std::move(tuned);
  }
  tunings_.fetch_add(1, std::memory_order_release);
}

void CallCache::Identify(const ClassKey& cls, TuneRecord* record) const {
  const std::string text = GraphToString(graph_);
  record->graph = HashBytes(text.data(), text.size()).ToHex();
  Options options = options_;
  options.autotune = false;  // how it came about
  Hasher call;
  call.String(TuneKey(cls)).Hash(options.Key());
  for (bool bound : cls.bound_inputs) call.Int(bound);  // their products may be other ones
  record->call = call.Finish().ToHex();
  record->target = TargetName(*backend_);
  record->library = backend_->GemmLibrary();
}

absl::StatusOr<std::shared_ptr<const TuneRecord>> CallCache::TuneClass(
    const ClassKey& cls, const TuneRequest& request, std::optional<Note>* refused) {
  JF_ASSIGN_OR_RETURN(std::shared_ptr<const BoundCall> first,
                      BindWith(cls, {}, {}, nullptr, request.stream));
  if (!MayTune(*first)) {
    *refused = Note{-1, Reason::kTuneNothing,
                    backend_->CanTune() ? "there is no matrix product of the library"
                                        : absl::StrCat("on ", TargetName(*backend_))};
    return nullptr;
  }
  if (backend_->IsCapturing(request.stream)) {
    *refused = Note{-1, Reason::kTuneCapturing, ""};
    return nullptr;
  }
  const auto plan = [&](const Choices& choices, const std::vector<std::string>& algorithms)
      -> absl::StatusOr<std::shared_ptr<const BoundCall>> {
    return BindWith(cls, choices, algorithms, nullptr, request.stream);
  };
  absl::StatusOr<TuneRecord> record =
      TuneCall({first, cls.least_align, request.inputs, request.outputs, request.scalars,
                cls.output_aliases, request.stream, backend_->allocator(), plan});
  if (!record.ok()) return record.status();
  Identify(cls, &*record);
  return std::make_shared<const TuneRecord>(*std::move(record));
}

absl::StatusOr<std::string> CallCache::RefusedOf(const ClassKey& cls, const TuneRecord& record) {
  JF_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                      FindClass(cls, record.plan().choices, nullptr));
  const absl::StatusOr<std::shared_ptr<BoundCall>> bound =
      Bind(executable, cls.symbols, cls.least_align, {ChosenAlgorithms(record.plan()), nullptr});
  // That a product has no algorithm at all is for the call itself to answer.
  return bound.ok() && !(*bound)->tune_notes.empty() ? (*bound)->tune_notes.front().detail
                                                     : std::string();
}

CallCache::Tuned CallCache::FindKept(const ClassKey& cls, int* place) {
  *place = 0;
  if (kernels_->disk() == nullptr || !backend_->CanTune()) return {};
  TuneRecord key;
  Identify(cls, &key);
  KeptRecords kept;
  {
    CompileGate gate;
    kept = FindTuneRecords(kernels_->disk(), key);
  }
  *place = kept.next_place;
  for (KeptRecord& one : kept.records) {
    const absl::StatusOr<std::string> why = RefusedOf(cls, *one.record);
    if (!why.ok()) return {};
    if (why->empty())
      return {std::move(one.record), std::nullopt, Note{-1, Reason::kTuneFound, one.path}};
    // It may hold for other sizes of the key.
    Log(1, absl::StrCat("tuning record ", one.path, " is left aside for this call: ", *why));
  }
  if (kept.healed) CountHealed();
  return {};
}

CallCache::Tuned CallCache::TimeNow(const ClassKey& cls, const TuneRequest& request, int place) {
  Tuned out;
  absl::StatusOr<std::shared_ptr<const TuneRecord>> record = TuneClass(cls, request, &out.refused);
  if (!record.ok()) {
    out.refused = Note{-1, Reason::kTuneFailed, record.status().ToString()};
  } else if (*record != nullptr) {
    out.record = *std::move(record);
    Keep(*out.record, place);
  }
  return out;
}

void CallCache::Keep(const TuneRecord& record, int place) {
  CompileGate gate;
  KeepTuneRecord(kernels_->disk(), record, graph_.name(), place);
}

absl::StatusOr<std::shared_ptr<const BoundCall>> CallCache::TuneFirst(const TuneRequest& request) {
  JF_ASSIGN_OR_RETURN(ClassKey cls, Classify(request.inputs, request.outputs));
  const std::string key = TuneKey(cls);
  {
    const Watched watched(request.watcher);  // while it waits for another thread, too
    const Turn turn(&tuner_);
    if (TunedOf(key).empty()) {  // another thread may have been first
      int place = 0;
      Tuned tuned = FindKept(cls, &place);
      if (tuned.empty()) tuned = TimeNow(cls, request, place);
      SetTuned(key, std::move(tuned));
    }
  }
  return Find(request.inputs, request.outputs, request.watcher, request.stream);
}

absl::StatusOr<std::shared_ptr<const TuneRecord>> CallCache::Tune(const TuneRequest& request) {
  JF_ASSIGN_OR_RETURN(ClassKey cls, Classify(request.inputs, request.outputs));
  const Watched watched(request.watcher);
  const Turn turn(&tuner_);
  Tuned tuned;
  JF_ASSIGN_OR_RETURN(tuned.record, TuneClass(cls, request, &tuned.refused));
  if (tuned.record != nullptr) Keep(*tuned.record, /*place=*/0);
  if (tuned.refused && tuned.refused->reason == Reason::kTuneCapturing)
    return absl::FailedPreconditionError(
        absl::StrCat("graph ", graph_.name(),
                     ": the stream is being captured; tune before the capture begins, since "
                     "tuning runs the call and waits for it"));
  std::shared_ptr<const TuneRecord> record = tuned.record;
  SetTuned(TuneKey(cls), std::move(tuned));
  return record;
}

absl::Status CallCache::UseRecord(absl::Span<const TensorView> inputs,
                                  absl::Span<const TensorView> outputs, const TuneRecord& record) {
  JF_ASSIGN_OR_RETURN(ClassKey cls, Classify(inputs, outputs));
  TuneRecord own;
  Identify(cls, &own);
  for (auto [what, got, expected] :
       {std::tuple("graph", &record.graph, &own.graph),
        std::tuple("class of calls, or options", &record.call, &own.call),
        std::tuple("target", &record.target, &own.target),
        std::tuple("matrix library", &record.library, &own.library)}) {
    if (*got != *expected)
      return InvalidArgument("graph ", graph_.name(), ": the tuning record is of another ", what,
                             ": expected ", *expected, ", got ", *got);
  }
  if (record.chosen < 0 || record.chosen >= static_cast<int>(record.plans.size()))
    return InvalidArgument("graph ", graph_.name(), ": the tuning record has ", record.plans.size(),
                           " plans, number ", record.chosen, " is not among them");
  JF_ASSIGN_OR_RETURN(const std::string refused, RefusedOf(cls, record));
  if (!refused.empty())
    return InvalidArgument("graph ", graph_.name(), ": ", record.library,
                           " refuses what the tuning record has for ", refused);
  const Turn turn(&tuner_);
  SetTuned(TuneKey(cls), {std::make_shared<const TuneRecord>(record), std::nullopt, std::nullopt});
  return absl::OkStatus();
}

}  // namespace jitfuse::internal
