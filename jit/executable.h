// Executable: compiled steps of one graph for one class of calls; BoundCall: the same with this
// call's numbers filled in.
//
// In: made by jit/compile.cc. Out: immutable but for `verify`, shared by threads. Everything that
// depends on a size is a SizeExpr over the class's symbols (graph symbols, then stride symbols);
// Bind evaluates them all, so that a new batch size compiles and plans nothing. A BoundCall holds
// numbers only and no pointers, but to what a bound function computed once (jit/held_values.h), and
// may be reused for every call with the same dims, strides and alignment. Buffers are named, not
// pointed to: input i, output i, a slot of the arena (one allocation a call), or a held slot, whose
// value was computed before the first call. Must not know: how kernels were made, the API's types.
#ifndef JITFUSE_JIT_EXECUTABLE_H_
#define JITFUSE_JIT_EXECUTABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/fusion/group.h"
#include "codegen/fusion/memory_plan.h"
#include "codegen/plan/kernel_source.h"
#include "ir/graph.h"
#include "ir/options.h"
#include "jit/backend.h"
#include "jit/code_origin.h"
#include "jit/eval_cost.h"
#include "jit/size_plan.h"
#include "jit/stage_times.h"
#include "jit/tune_record.h"
#include "jit/verify_log.h"

namespace jitfuse::internal {

struct BufferRef {
  enum class Kind : uint8_t { kInput, kOutput, kArena, kHeld };
  Kind kind = Kind::kArena;
  int index = 0;  // input or output number; arena or held slot
};

struct KernelStep {
  std::shared_ptr<const Kernel> kernel;
  KernelSource source;             // size_args, grid, rows, cols; text is kept for explain()
  size_t sizes = 0;                // where the values of these are among a call's; by PlanSizes
  std::vector<BufferRef> buffers;  // by plan param
  std::vector<int> scalars;        // by plan scalar: signature position of the kScalar input
  KernelTimes times;
  CodeOrigin origin = CodeOrigin::kCompiled;
  bool healed = false;  // in place of a damaged entry of the disk cache
};
struct GemmStep {
  GemmCall call;
  int product = 0;  // number among the products of the graph
  BufferRef a, b;
  std::optional<BufferRef> c, bias;
  BufferRef d;
  bool held_b = false;  // b is the same in all calls
};

struct SortStep {
  SortCall call;
  BufferRef indices, order, begin, end;
  std::vector<KernelStep> kernels;    // without buffers: what the back end's sort compiles
  std::vector<const Kernel*> loaded;  // of `kernels`
};

struct Step {
  enum class Kind : uint8_t { kKernel, kGemm, kSort };
  Kind kind = Kind::kKernel;
  int index = 0;   // into the vector of its kind
  int group = -1;  // into fusion.groups
};

// A value that bound inputs alone decide. No step computes it: HeldValues does, from its graph, in
// the same way for all executables that have one of this key. Without a graph: no step reads it.
struct HeldSlot {
  int64_t bytes = 0;
  Hash128 key;
  Graph graph;              // of constant sizes
  std::vector<int> inputs;  // by input of the graph: signature position
};

struct Executable {
  const Backend* backend = nullptr;
  Graph graph;  // expanded, optimised, specialised to the class
  FusionPlan fusion;
  std::vector<KernelPlan> plans;  // one per kernel step, for explain()
  std::vector<Step> steps;
  std::vector<KernelStep> kernels;
  std::vector<GemmStep> gemms;
  std::vector<SortStep> sorts;
  Dynamic dynamic = Dynamic::kLeading;  // as its class of calls was told from others
  std::vector<ProductChoice> products;  // of the options it was planned with
  MemoryPlan memory;                    // slots of the arena
  MemoryPlan unlent;                    // of the same, if no output had lent its memory
  SizeExpr most_bytes;                  // of it, whatever the layouts of outputs
  SizePlan sizes;                       // of all that Bind evaluates; by PlanSizes
  std::vector<HeldSlot> held;           // of bound functions
  std::vector<TensorType> outputs;
  EvalCost eval_cost;  // of `graph`
  PlanTimes times;
  // What comparing its calls with the evaluator has shown. Threads share it: it has its own lock.
  const std::shared_ptr<VerifyLog> verify = std::make_shared<VerifyLog>();
};

class HeldBuffer;  // jit/held_values.h

// Plans what Bind evaluates of an executable whose steps, arena and results are known.
void PlanSizes(Executable* exe);

// The prepared algorithm of a product; where an extent is 0 none, but how many bytes of zeros the
// result is.
struct BoundGemm {
  std::shared_ptr<const PreparedGemm> gemm;
  std::shared_ptr<const HeldBuffer> packed_b;  // in place of b, if gemm wants it packed
  size_t zero_bytes = 0;
};

struct BoundCall {
  std::shared_ptr<const Executable> executable;
  std::vector<int64_t> sizes;                           // of executable->sizes, evaluated
  std::vector<BoundGemm> gemms;                         // by product step
  std::vector<SortProblem> sorts;                       // by sort step
  std::vector<std::shared_ptr<const HeldBuffer>> held;  // by held slot
  int64_t arena_bytes = 0;  // with the workspace of GEMMs and sorts at its end
  int64_t workspace_offset = 0;
  int align = 16;  // that Bind was told
  // Shared with the results, so that a call copies none.
  std::vector<std::shared_ptr<const std::vector<int64_t>>> output_dims;
  absl::InlinedVector<int64_t, 8> symbols;  // of the class, for explain()
  double eval_work = 0;  // element operations of the evaluator, for jit/verify_run.h
  // kDone: a call has been compared, or is being; kTooMuch: none can be.
  enum class Verify : uint8_t { kNotYet, kDone, kTooMuch };
  mutable std::atomic<Verify> verify{Verify::kNotYet};
  // Whether this is to be timed before it runs (Options::autotune); what timing chose, if it was;
  // else why it was not, if it was asked for.
  bool tune_first = false;
  std::shared_ptr<const TuneRecord> tuned;
  std::optional<Note> untuned;
  // Of calls that ran what was there (jit/background.h): why this is not their own code. And how
  // many calls there were of this shape, where that is counted.
  std::optional<Note> meanwhile;
  std::shared_ptr<std::atomic<int64_t>> uses;
  std::vector<Note> tune_notes;  // where the record is from, and what of it is refused here

  // Of `sizes`, which PlanSizes has put in order.
  size_t first_slot = 0;  // in `sizes`: where the offsets of the plan that is used begin
  int64_t slot_offset(size_t slot) const { return sizes[first_slot + slot]; }  // in bytes
  int64_t grid(const KernelStep& kernel) const { return sizes[kernel.sizes]; }
  void SetSizes(const KernelStep& kernel, LaunchArgs* args) const {
    const int64_t* own = sizes.data() + kernel.sizes;
    args->grid = own[0];
    args->rows = own[1];
    args->cols = own[2];
    args->bytes_per_row = own[3];
    args->sizes = {own + 4, kernel.source.size_args.size()};
  }
};

// The product of a step as the back end is asked for it.
GemmProblem ProblemOf(const GemmCall& call, absl::Span<const int64_t> symbols, int align);

// What Bind is told of algorithms, and what it says.
struct BindOptions {
  // By product: PreparedGemm::algorithm(); empty, or beyond the end: the back end's choice. So it
  // is, too, where one is refused, of which the call has a note.
  std::vector<std::string> algorithms;
  int* failed_gemm = nullptr;  // if set: the GemmStep that an error is about, or -1
};

// `symbols`: values of the class's symbols (see jit/call_class.h). `align`: the least alignment of
// any input or output pointer, for GEMMs.
// Of a bound function, HeldValues::Prepare makes the call whole.
absl::StatusOr<std::shared_ptr<BoundCall>> Bind(std::shared_ptr<const Executable> executable,
                                                absl::Span<const int64_t> symbols, int align,
                                                const BindOptions& options = {});

// Arena bytes that are enough for the same inputs and outputs of any strides, if they are in memory
// of their own or in place of inputs and products run these algorithms.
int64_t MostArenaBytes(const BoundCall& call);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_EXECUTABLE_H_
