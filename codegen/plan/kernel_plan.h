// KernelPlan: one kernel, abstract enough for both emitters and for an interpreter.
//
// A plan iterates over its parallel axes (independent work) and, in each stage, over the inner axes
// (the reduced ones; empty for Flat plans). Axes are numbered parallel first, then inner: axis p +
// i is inner axis i. All stages share the inner axes. Instructions form one SSA list for the whole
// plan. `elem` instructions have a value per (parallel, inner) point, the others one per parallel
// point ("row values"). In a Flat plan there are no inner axes, every value is per parallel point,
// and emitters vectorise over the last parallel axis; so they do in a plan of columns, whose rows
// lie side by side in memory: there a vector holds an element of each of some neighbouring rows.
// A stage does, for each parallel point:
//   1. before its loop: row_insts_before
//   2. for each inner point: elem_insts in order, feed its reduces and column sums, elem stores
//   3. after its loop: row_insts_after (may read the stage's reduce results), row stores.
// ApplySchedule fills elem_insts per stage: a value used in a later stage is either kept
// (schedule.keep: computed once, held per row) or listed again in the later stage (recomputed from
// its loads). Flat plans have one stage whose elem_insts hold everything; there every instruction
// and store is `elem`. Sizes: every SizeExpr may hold graph symbols and stride symbols; emitters
// turn the non-constant ones into kernel arguments.
// Must not know: CUDA, LLVM, buffers' addresses.
#ifndef JITFUSE_CODEGEN_PLAN_KERNEL_PLAN_H_
#define JITFUSE_CODEGEN_PLAN_KERNEL_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codegen/fusion/group.h"
#include "codegen/target.h"
#include "ir/index_map.h"
#include "ir/scalar_expr.h"
#include "ir/shape.h"

namespace jitfuse::internal {

// Holds where lo <= linear(axes) + terms < hi.
struct AccessMask {
  Affine linear;
  std::vector<IndexTerm> terms;
  SizeExpr lo, hi;
  friend bool operator==(const AccessMask&, const AccessMask&) = default;
};

// Element offset into a parameter's buffer: linear(axes) + sum of term.coef * ((linear / div) %
// mod) over axes of the plan. A load where a mask fails gives zero and touches no memory (the
// offset then means nothing); a store, which must be one of a row's elements, writes none.
// An indirect access also speaks of kIndirectAxis: the position that the load's operand in[0], an
// i64, gives (or a segment's order). Negative positions count from the end; then it is moved into
// 0..extent-1.
struct AccessMap {
  int param = -1;
  Affine linear;  // offset with constant strides folded in; its constant is the base offset
  std::vector<IndexTerm> terms;  // only those with a div or mod
  std::vector<AccessMask> masks;
  std::optional<SizeExpr> indirect;  // extent of the gathered axis
  friend bool operator==(const AccessMap&, const AccessMap&) = default;
};

enum class ParamRole : uint8_t { kInput, kOutput, kScratch };
struct Param {
  ParamRole role = ParamRole::kInput;
  DType dtype = DType::kF32;
  int align = 16;          // bytes the base pointer is known to be aligned to
  Value value;             // which graph value (kInput, kOutput); the executor maps it to a buffer
  SizeExpr scratch_bytes;  // kScratch
  int scratch = -1;        // kScratch: which one, among those that the plans of a group share
  bool may_alias = false;  // an input whose buffer an output of this kernel may be (same element
                           // map): no __restrict__, no .nc loads
};

struct Inst {
  enum class Kind : uint8_t {
    kLoad,   // access: accesses[access]; yields the register type of the param's dtype (f16/bf16 ->
             // f32 register); in[0]: the position, of an indirect access
    kConst,  // bits: ScalarValue bits of `dtype`
    kScalar,  // host scalar number `scalar` of the plan
    kIndex,   // the value of axis `axis`, dtype i64
    kSize,  // sizes[size] of the plan, dtype i64, never elem (e.g. the number of reduced elements);
            // a kernel argument unless constant
    kOp,    // op on in[]; kConvert's source type is that of in[0]
    kResult,  // result: accumulator `which` of reduce `reduce` of stage `stage`
    kScan,  // elem: accumulator `which` of scans[scan] at this inner point. in[]: the lifted value
            // of each accumulator; the instruction of accumulator 0 takes them in
    kSegment,  // flat plans: in[0], plus the elements that `access` reads at the positions that
               // accesses[order] has from in[1] to before in[2], added one after the other. The
               // position in `order` is counted by kIndirectAxis; in[1..2] are i64, within it
  };
  Kind kind = Kind::kConst;
  ScalarOp op = ScalarOp::kConst;
  DType dtype = DType::kF32;
  bool elem = false;
  int in[3] = {-1, -1, -1};
  int access = -1;
  int order = -1;  // kSegment: the access of the positions
  int axis = -1;
  int scalar = -1;
  int size = -1;
  int stage = -1, reduce = -1, which = -1;
  int scan = -1;
  uint64_t bits = 0;
};

// Accumulators over the inner axes. in[j] (an elem instruction) is the lifted value of accumulator
// j; acc = combine(acc, in) in ascending inner order or in any tree that keeps the order of
// operands; init is neutral.
struct PlanReduce {
  std::vector<int> in;
  std::vector<DType> dtypes;
  std::vector<uint64_t> init;  // ScalarValue bits
  ScalarProgram combine;       // args a0..ak, b0..bk -> k results
};

// Accumulators over the parallel points, a set for each inner point: in[j] of every row at that
// place, joined in ascending order of rows within a block of KernelPlan::block_rows rows. What a
// block gives is stored in scratch: element [block, inner point] of params[j], dense. A second plan
// joins the blocks. So the sums depend on sizes alone, and no element is added to by two threads.
struct ColumnSum {
  PlanReduce reduce;
  std::vector<int> params;
};

// Accumulators that each inner point sees as they are after it (exclusive: before it). A plan with
// scans has one inner axis. Every stage that lists the instructions starts from init and takes the
// elements in ascending order, or in any tree that keeps their order.
struct PlanScan {
  std::vector<DType> dtypes;
  std::vector<uint64_t> init;  // ScalarValue bits, neutral
  ScalarProgram combine;       // args a0..ak, b0..bk -> k results
  bool exclusive = false;
};
inline constexpr size_t kMaxScanAccumulators = 3;  // as many as an instruction has operands

struct Store {
  int value = -1;  // instruction; converted to the param's dtype by the Convert rules
  AccessMap access;
  bool elem = false;
};

struct Stage {
  std::vector<int> row_insts_before;
  std::vector<int> elem_insts;
  std::vector<PlanReduce> reduces;
  std::vector<ColumnSum> column_sums;
  std::vector<int> row_insts_after;
  std::vector<Store> stores;
};

enum class CudaEmitter : uint8_t { kFlat, kRow, kColumn, kTile };
struct CudaSchedule {
  CudaEmitter emitter = CudaEmitter::kFlat;
  int threads = 256;  // per block
  int vec = 1;    // elements of one vector access (of the widest 16-byte element type); 1: scalar
  int items = 1;  // Flat: vectors per thread. Row: vectors per thread and row if the row is kept in
                  // registers; 0: loop over the row. Column: the same, but of inner points
  int threads_per_row = 32;  // Row; Column: threads along the inner points
  int rows_per_block = 1;    // Row: threads == threads_per_row * rows_per_block. Column: vectors of
                             // neighbouring rows, of a thread each
  int tile = 0;        // Tile: points of a block along the last parallel axis, and along tile_axis
  int tile_axis = -1;  // Tile: the parallel axis that lies contiguous in the transposed operands
  bool sums_in_memory = false;  // Row: column sums are added up in scratch, not in registers
  bool window = false;  // Row: a row's vectors begin where memory is aligned; elements before and
                        // behind them are taken one by one
  bool no_allocate = false;  // load hint: ld.global.L1::no_allocate (read-only or looping kernels)
};
struct CpuSchedule {
  int lanes = 8;   // vector length in elements, the same for all types of the kernel
  int unroll = 1;  // vectors per iteration of the inner loop; for reduces also the number of
                   // independent accumulators
  int64_t grain_bytes = 256 * 1024;  // bytes one chunk of parallel work should move
  int tile = 0;  // points of a block along the last parallel axis, and along tile_axis; 0: none
  int tile_axis = -1;  // the parallel axis that lies contiguous in the transposed operands
};

struct KernelPlan {
  std::string name;  // an identifier: "k0_add_relu"
  std::string head;  // the group's graph text, for the comment at the top of the source
  std::vector<Param> params;
  std::vector<DType> scalars;  // host scalars passed by value, in order
  std::vector<Value> scalar_values;
  Shape parallel;        // extents
  Shape inner;           // extents; empty for Flat
  bool columns = false;  // of a plan with inner axes: vectors run along the last parallel axis, not
                         // along the last inner one (set by ApplySchedule)
  int64_t inner_bound = 0;          // no call has more inner points than this; 0: no bound is known
  SizeExpr block_rows;              // of a plan with column sums: parallel points of a block
  std::vector<AccessMap> accesses;  // of the loads
  std::vector<SizeExpr> sizes;      // what kSize instructions read; symbolic ones only
  std::vector<Inst> insts;
  std::vector<PlanScan> scans;
  std::vector<Stage> stages;
  int offset_bits = 32;   // 64 as soon as the largest offset or linear index needs it
  std::vector<int> keep;  // elem instructions held per row between stages
  std::variant<std::monostate, CudaSchedule, CpuSchedule> schedule;
  std::vector<Note> notes;  // fallbacks taken while planning (group index filled by the caller)

  int num_parallel() const { return static_cast<int>(parallel.size()); }
  bool IsRow() const { return !inner.empty(); }
  bool HasSegments() const {
    for (const Inst& i : insts) {
      if (i.kind == Inst::Kind::kSegment) return true;
    }
    return false;
  }
  bool HasColumnSums() const {
    for (const Stage& s : stages) {
      if (!s.column_sums.empty()) return true;
    }
    return false;
  }
  SizeExpr Blocks() const { return CeilDiv(NumElements(parallel), block_rows); }
  const SizeExpr& extent(int axis) const {
    return axis < num_parallel() ? parallel[static_cast<size_t>(axis)]
                                 : inner[static_cast<size_t>(axis - num_parallel())];
  }
  const CudaSchedule& cuda() const { return std::get<CudaSchedule>(schedule); }
  const CpuSchedule& cpu() const { return std::get<CpuSchedule>(schedule); }
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_KERNEL_PLAN_H_
