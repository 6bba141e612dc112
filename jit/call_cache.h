// CallCache: from one call's shapes to its BoundCall, through two levels; one object per compiled
// function.
//
// L1 (exact): dims, strides, alignment and alias facts -> BoundCall. One table per thread, no lock,
// bounded; a hit costs a hash of a few integers. The tables belong to this object and end with it,
// or with their thread. L2 (class): jit/call_class.h's key, compared as a whole -> Executable.
// Shared, one lock; a class is compiled once, however many threads ask, and binding a new size to
// it compiles and plans nothing. Failures are not cached. Where the matrix library has no algorithm
// for a product with its epilogue, the class is planned anew with that product alone. What tuning
// has chosen (jit/tune.h) holds for the calls of a class whose sizes have the same powers of two as
// bounds, from then on, and is kept in the disk cache, where autotune looks first
// (jit/tune_store.h); bound calls of before are bound anew, as they are when what was compiled in
// the background (Options::background, specialize_after) is ready. In: a graph, options, a back
// end, the kernel cache they share. Safe for any number of threads. The object must outlive its
// calls.
#ifndef JITFUSE_JIT_CALL_CACHE_H_
#define JITFUSE_JIT_CALL_CACHE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"
#include "ir/options.h"
#include "jit/backend.h"
#include "jit/call_class.h"
#include "jit/counters.h"
#include "jit/eval_cost.h"
#include "jit/executable.h"
#include "jit/held_values.h"
#include "jit/kernel_cache.h"
#include "jit/tune_record.h"

namespace jitfuse::internal {

// What all functions of the process have counted.
Counters ProcessCounters();

// Told before and after a thread compiles or waits for one that does; neither under a lock.
class CompileWatcher {
 public:
  virtual ~CompileWatcher() = default;
  virtual void Begin() = 0;
  virtual void End() = 0;
};

// Around such work; of a watcher that may be null.
class Watched {
 public:
  explicit Watched(CompileWatcher* watcher) : watcher_(watcher) {
    if (watcher_ != nullptr) watcher_->Begin();
  }
  ~Watched() {
    if (watcher_ != nullptr) watcher_->End();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  CompileWatcher* const watcher_;
};

// Which calls are compared with the evaluator, beside those that JITFUSE_VERIFY asks for, and what
// follows where they differ (jit/verify_run.h).
struct VerifyPolicy {
  int64_t calls = 0;      // the first so many of each executable
  bool fallback = false;  // the evaluator answers instead; else it is an error
};

// A call to be timed, with its data.
struct TuneRequest {
  absl::Span<const TensorView> inputs, outputs;  // as in Find
  absl::Span<const uint64_t> scalars;            // by signature position
  StreamHandle stream = nullptr;
  CompileWatcher* watcher = nullptr;
};

enum class VerifyEvent { kVerified, kSampled, kSkipped, kMismatch, kFallbackCall };

class CallCache {
 public:
  CallCache(Graph graph, const Options& options, const Backend* backend, KernelCache* kernels,
            const VerifyPolicy& verify = {}, HeldInputs held = {});
  ~CallCache();
  CallCache(const CallCache&) = delete;
  CallCache& operator=(const CallCache&) = delete;

  // One view per signature position, of bound inputs too; `outputs` is empty (results will be
  // allocated dense) or one per output. What bound inputs have computed once is computed in the
  // order of `stream`. `wait`: not for what runs while the code is compiled in the background.
  absl::StatusOr<std::shared_ptr<const BoundCall>> Find(absl::Span<const TensorView> inputs,
                                                        absl::Span<const TensorView> outputs,
                                                        CompileWatcher* watcher = nullptr,
                                                        StreamHandle stream = nullptr,
                                                        bool wait = false);
  // Arena bytes that are enough for such a call's own code and outputs of any strides and
  // alignment, of their own or in place of inputs, unless timing chooses anew. May ask the library
  // for algorithms, and compile where it has none for less aligned outputs.
  absl::StatusOr<int64_t> MostArena(absl::Span<const TensorView> inputs,
                                    CompileWatcher* watcher = nullptr,
                                    StreamHandle stream = nullptr);

  // Times what this call may choose from (Options::autotune) unless its key has been tuned or was
  // refused, and gives the call to run. What cannot be timed is a note of the call, not an error.
  absl::StatusOr<std::shared_ptr<const BoundCall>> TuneFirst(const TuneRequest& request);
  // Times it in any case. Null if there is nothing to choose from. FailedPrecondition while the
  // stream is captured.
  absl::StatusOr<std::shared_ptr<const TuneRecord>> Tune(const TuneRequest& request);
  // As if Tune had given this record. InvalidArgument if it is of another graph, class of calls,
  // target or library, or if the library refuses one of its algorithms for this very call.
  absl::Status UseRecord(absl::Span<const TensorView> inputs, absl::Span<const TensorView> outputs,
                         const TuneRecord& record);

  Counters stats() const;
  void Count(VerifyEvent event);
  // Executables made so far, for explain(); in order of making.
  std::vector<std::shared_ptr<const Executable>> executables() const;

  const Graph& graph() const { return graph_; }
  const GraphShapeFacts& facts() const { return facts_; }
  const Options& options() const { return options_; }
  const Backend& backend() const { return *backend_; }
  // Whether any call has to go through RunChecked.
  bool verify() const { return verify_; }
  const VerifyPolicy& verify_policy() const { return verify_policy_; }
  int64_t verify_env() const { return verify_env_; }  // JITFUSE_VERIFY, when this was made
  const HeldInputs& held_inputs() const { return held_.inputs(); }

 private:
  struct ThreadTable;
  struct Entry {
    int generation = 0;  // the process that makes it: a fork's child does not wait for its parent
    bool done = false;
    absl::Status status;
    std::shared_ptr<const Executable> executable;
  };
  // What tuning has said of a key: a record, or why there is none.
  struct Tuned {
    std::shared_ptr<const TuneRecord> record;
    std::optional<Note> refused;
    std::optional<Note> found;  // the record, in the disk cache
    bool empty() const { return record == nullptr && !refused; }
  };
  using Choices = std::vector<ProductChoice>;
  // `backend` null: that of this object.
  absl::StatusOr<std::shared_ptr<const Executable>> FindClass(const ClassKey& cls,
                                                              const Choices& choices,
                                                              CompileWatcher* watcher,
                                                              const Backend* backend = nullptr);
  // Of a class that was not there; one thread compiles, others wait.
  absl::StatusOr<std::shared_ptr<const Executable>> MakeClass(const std::string& key,
                                                              const ClassKey& cls,
                                                              const Choices& choices,
                                                              CompileWatcher* watcher,
                                                              const Backend& backend);
  Options OptionsWith(const Choices& choices) const;
  // Null if it is not there, or not yet.
  std::shared_ptr<const Executable> ReadyClass(const std::string& key);
  // By what tuning has said, if anything.
  absl::StatusOr<std::shared_ptr<const BoundCall>> BindClass(const ClassKey& cls,
                                                             CompileWatcher* watcher,
                                                             StreamHandle stream);
  absl::StatusOr<std::shared_ptr<BoundCall>> BindWith(const ClassKey& cls, Choices choices,
                                                      const std::vector<std::string>& algorithms,
                                                      CompileWatcher* watcher, StreamHandle stream);
  // Of a bound function without what it computes once.
  absl::StatusOr<std::shared_ptr<BoundCall>> BindUnheld(const ClassKey& cls, Choices choices,
                                                        const std::vector<std::string>& algorithms,
                                                        CompileWatcher* watcher);

  // ---- While code is compiled in the background (call_cache_background.cc).
  struct NewCall {
    absl::Span<const TensorView> inputs, outputs;
    CompileWatcher* watcher = nullptr;
    StreamHandle stream = nullptr;
    bool wait = false;
  };
  // Of a call that this thread has not had.
  absl::StatusOr<std::shared_ptr<const BoundCall>> BindNew(const ClassKey& cls,
                                                           const NewCall& call);
  // Of the class's own code, which is there when this returns.
  absl::StatusOr<std::shared_ptr<BoundCall>> BindOwn(const ClassKey& cls, const NewCall& call);
  absl::StatusOr<std::shared_ptr<BoundCall>> BindMeanwhile(const ClassKey& cls,
                                                           const NewCall& call);
  // The code of the exact shape if it is there; else null, and its calls are counted.
  absl::StatusOr<std::shared_ptr<BoundCall>> BindHot(const ClassKey& exact, const NewCall& call);
  absl::StatusOr<std::shared_ptr<BoundCall>> BindInterpreted(const ClassKey& general,
                                                             const NewCall& call);
  std::shared_ptr<std::atomic<int64_t>> UsesOf(const std::string& key);
  void CountUse(const BoundCall& bound, absl::Span<const TensorView> inputs,
                absl::Span<const TensorView> outputs);
  bool HasClass(const std::string& key) const;
  // Of a class whose code is being made in the background, or could not be.
  enum class Queued : uint8_t { kNot, kWaiting, kFailed };
  Queued QueuedOf(const std::string& key) const;
  // Whether its code is being made, after this call; it is then no longer to be waited for.
  bool Queue(const ClassKey& cls, Reason counted);
  void CompileQueued(const ClassKey& cls, Reason counted);
  void CountReason(Reason reason, int64_t times = 1);

  Tuned TunedOf(const std::string& key);
  void SetTuned(const std::string& key, Tuned tuned);
  void CountTuned(const Tuned& tuned);  // under the lock of caches
  void CountHealed();
  // What another process has kept of the key; empty if nothing, or nothing that holds here:
  // `place` is where a record goes then, beside those that may hold for other sizes.
  Tuned FindKept(const ClassKey& cls, int* place);
  void Keep(const TuneRecord& record, int place);
  Tuned TimeNow(const ClassKey& cls, const TuneRequest& request, int place);  // and keeps it
  // What the library has against algorithms of the record in this very call; "" if nothing.
  absl::StatusOr<std::string> RefusedOf(const ClassKey& cls, const TuneRecord& record);
  // Null, or why it cannot be tuned (`refused`), which is an error only where timing failed.
  absl::StatusOr<std::shared_ptr<const TuneRecord>> TuneClass(const ClassKey& cls,
                                                              const TuneRequest& request,
                                                              std::optional<Note>* refused);
  void Identify(const ClassKey& cls, TuneRecord* record) const;

  // With what is bound.
  absl::StatusOr<ClassKey> Classify(absl::Span<const TensorView> inputs,
                                    absl::Span<const TensorView> outputs) const {
    return Classify(inputs, outputs, options_.dynamic);
  }
  absl::StatusOr<ClassKey> Classify(absl::Span<const TensorView> inputs,
                                    absl::Span<const TensorView> outputs, Dynamic dynamic) const;
  absl::Status Prepare(BoundCall* bound, StreamHandle stream, CompileWatcher* watcher);

  ThreadTable& TableOfThisThread();

  const uint64_t id_;  // of this object, never reused: threads remember it
  const Graph graph_;
  const GraphShapeFacts facts_;
  const Options options_;
  const Backend* const backend_;
  KernelCache* const kernels_;
  const VerifyPolicy verify_policy_;
  const int64_t verify_env_;
  const bool verify_;
  const EvalCost interpreted_cost_;  // of a call in the interpreter, with Options::background
  HeldValues held_;

  int tuner_ = -1;  // whose Turn it is: one key is timed at a time
  // Tables of threads are of so many: what tuning has said, and what was made in the background.
  std::atomic<uint64_t> tunings_{0};

  // Guarded by LockOf(ForkLock::kCaches).
  absl::flat_hash_map<std::string, Tuned> tuned_;
  absl::flat_hash_map<std::string, std::pair<int, Queued>> queued_;  // with their generation
  absl::flat_hash_map<std::string, std::shared_ptr<std::atomic<int64_t>>> uses_;
  std::vector<std::shared_ptr<ThreadTable>> tables_;
  absl::flat_hash_map<std::string, std::shared_ptr<Entry>> classes_;
  std::vector<std::shared_ptr<const Executable>> order_;
  Counters counters_;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CALL_CACHE_H_
