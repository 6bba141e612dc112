// The emitter's class: state shared by emit_llvm.cc (loops, stages), emit_llvm_access.cc (loads,
// stores), emit_llvm_reduce.cc (accumulators), emit_llvm_column.cc (rows side by side),
// emit_llvm_column_sums.cc (sums over blocks of rows), emit_llvm_tile.cc, emit_llvm_convert.cc
// (dtypes), emit_llvm_scalar.cc (scalar programs) and emit_llvm_fmod.cc. Included by these and by
// nothing else.
//
// Levels: a value is made once per call (entry), per row, per point of the outer inner axes, or per
// vector. The first three are scalars in scalar_; the last is a vector for each of the U copies of
// the unrolled loop body, in vector_[u]. Operand() gives either as a vector of the loop's lanes.
#ifndef JITFUSE_CPU_BACKEND_EMIT_LLVM_INTERNAL_H_
#define JITFUSE_CPU_BACKEND_EMIT_LLVM_INTERNAL_H_

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "cpu_backend/emit_llvm.h"
#include "cpu_backend/llvm_text.h"

namespace jitfuse::internal {

inline constexpr int64_t kBlockIterations = 64;

class LlvmEmitter {
 public:
  LlvmEmitter(const KernelPlan& plan, const Target& target)
      : plan_(plan), target_(target), cpu_(FeaturesOf(target)) {}
  absl::StatusOr<KernelSource> Emit();

 private:
  // One execution of a vector loop's body: `copies` vectors of `lanes` elements from `index` on;
  // `limit`: the end of the axis if the last lanes may be beyond it.
  struct Body {
    I64 index = {};
    int lanes = 1;
    int copies = 1;
    bool masked = false;
    bool streaming = false;    // stores go past the caches
    bool prefetching = false;  // what prefetches_ holds is asked for
    I64 limit = {};
    std::string mask = {};  // <lanes x i1>
  };
  // How the elements past the last full body are done.
  enum class Rest { kNone, kVectors, kMasked, kScalars };
  enum class Along {
    kUniform,
    kContiguous,
    kReversed,
    kPerLane
  };  // how an access runs along the vector axis
  using Values = std::vector<std::string>;
  struct Reduce {  // one PlanReduce of the stage being emitted; values and slots by accumulator
    const PlanReduce* def = nullptr;
    int lanes = 1;
    ScalarProgram combine;  // expanded
    bool blocked = false;
    std::vector<Values> slots;  // [copy]
    Values single;              // of the single-element loop, if there is one
    Values total;               // blocked: the join of the blocks so far ...
    Values levels;              // ... or the cascade
  };

  // emit_llvm.cc
  absl::Status Check() const;
  void ClassifyInsts();
  void EmitEntry();
  void EmitStage(int stage);
  void EmitScalarInst(int inst);
  void EmitVectorLoop(int stage, const I64& begin, const I64& end);
  void EmitSplats(int stage, int lanes);
  void EmitFullBodies(int stage, const I64& begin, const I64& end, int copies);
  bool MayStream(int stage) const;
  SizeExpr StoredBytes(int stage) const;
  std::string StreamCondition(int stage, const I64& begin);
  int StageCost(int stage) const;
  std::vector<int> PrefetchShares(int lines) const;
  void PlanPrefetches(int stage, const I64& begin, const I64& end, int copies);
  void EmitPrefetches(const Body& body);
  void EmitLoop(int stage, const I64& begin, const I64& end, Body body);
  void EmitBody(int stage, const Body& body);
  std::string VectorInst(int inst, int copy, const I64& index, const Body& body);
  void StoreKept(int inst, int copy, const Body& body);
  int PickCopies() const;
  Rest PickRest(int stage, int copies) const;
  bool IsVectorStore(const Store& store) const;
  void SetCoordinates(I64 linear, int first, int last);
  I64 Size(const SizeExpr& e);
  std::string Scalar(int inst);
  std::string Operand(int inst, int copy, const Body& body);
  std::string KeptType(DType dtype, int lanes) const;
  std::string KeptAddress(int inst, int copy, const Body& body);
  int KeptAlign(int inst, const Body& body) const;
  SizeExpr BytesPerRow() const;
  std::string Head(const KernelSource& source) const;

  // emit_llvm_access.cc
  bool DependsOnVector(const AccessMap& access) const;
  Along Classify(const AccessMap& access, int load = -1) const;
  bool Maskable(const AccessMap& access, bool store, int load = -1) const;
  // The position of an indirect load: one for all lanes, or one for each (then empty until a body
  // has it).
  struct Position {
    bool by_lane = false;
    I64 one = {};
    std::string lanes = {};  // i64s
  };
  Position PositionOf(int load);                              // without lanes
  Position PositionOf(int load, int copy, const Body& body);  // with them
  std::string InRange(const std::string& index, const SizeExpr& extent, int lanes);
  bool InVector(const Affine& affine, const Position& at) const;
  I64 EvalOutsideVector(const Affine& affine, const Position& at);
  I64 EvalOutsideVector(const Affine& linear, const std::vector<IndexTerm>& terms,
                        const Position& at);
  std::string BaseAddress(const AccessMap& access, const Position& at);
  const std::string& BaseOf(const AccessMap& access, int load = -1);  // made once per vector loop
  std::string Address(const AccessMap& access, const std::string& base, const I64& offset);
  // What the lanes add to a sum; empty: nothing.
  std::string LaneSum(const Affine& linear, const std::vector<IndexTerm>& terms, const Position& at,
                      const I64& index, const Body& body);
  std::vector<std::string> LaneOffsets(const AccessMap& access, const Position& at,
                                       const I64& index, const Body& body);
  // i1 (one for all lanes, or, if `lanes`, one for each): the masks hold. Empty: always.
  struct Condition {
    std::string one, lanes;
  };
  Condition ConditionOf(const AccessMap& access, const Position& at, const I64& index,
                        const Body& body);
  std::string Splatted(const Condition& condition, int lanes);
  std::string SafeAddress(const std::string& condition, const std::string& address);
  std::string LoadLanes(const AccessMap& access, const std::vector<std::string>& addresses,
                        const std::string& condition);
  std::string Reverse(std::string_view element, const std::string& value, int lanes);
  std::string MaskOf(const I64& index, const I64& limit, int lanes);
  std::string LoadScalarAt(int load);
  void StoreScalarAt(const AccessMap& access, const std::string& value, DType from);
  std::string LoadVector(int load, int copy, const I64& index, const Body& body);
  void StoreVector(const AccessMap& access, const std::string& value, DType from, const I64& index,
                   const Body& body);
  std::vector<std::string> StoreAddresses(const AccessMap& access, Along along, const I64& index,
                                          const Body& body);
  void When(const std::string& condition, absl::FunctionRef<void()> then);
  void StoreRun(const AccessMap& access, std::string vector, const std::string& address,
                bool reversed, const std::string& holds, const Body& body);
  void StoreLanes(const AccessMap& access, const std::string& vector,
                  const std::vector<std::string>& addresses, const std::string& holds);

  // emit_llvm_reduce.cc
  void BeginReduces(int stage, const I64& width, const SizeExpr& outer);
  // chain: joins one after another; blocks: of kBlockIterations of them, at most.
  Reduce MakeReduce(const PlanReduce& def, int lanes, int copies, bool has_single, int64_t chain,
                    int64_t blocks);
  void CountBlocks();
  bool Blocked() const;
  void InitSlots(const Reduce& reduce);
  void InitBlock();
  void Accumulate(const Body& body);
  void FlushBlock();
  void FinishReduces(int stage);
  Values NewSlots(const PlanReduce& def, int lanes);
  Values LoadSlots(const Reduce& reduce, const Values& slots, int lanes);
  void StoreSlots(const Reduce& reduce, const Values& values, const Values& slots, int lanes);
  Values Neutral(const Reduce& reduce, int lanes) const;
  Values Combine(const Reduce& reduce, const Values& a, const Values& b, int lanes);
  Values JoinBlocks(const Reduce& reduce);
  Values JoinCopies(const Reduce& reduce);
  Values LevelAddresses(const Reduce& reduce, const std::string& level);
  void PushBlock(const Reduce& reduce, const Values& block);
  Values JoinLevels(const Reduce& reduce);
  Values JoinLanes(const Reduce& reduce, Values values);

  // emit_llvm_column.cc
  Rest PickColumnRest(int copies) const;
  void EmitColumns(const I64& begin, const I64& end);
  void EmitColumnStage(int stage, const Body& body);
  void EmitColumnRow(const std::vector<int>& insts, const Body& body);
  void EmitColumnInst(int inst, const Body& body);
  void EmitColumnStore(const Store& store, const Body& body);
  void EmitColumnLoop(int stage, const I64& begin, const I64& end, const Body& body);
  void BeginColumnReduces(int stage, const SizeExpr& points, const Body& body);
  void FinishColumnReduces(int stage, const Body& body);

  // emit_llvm_column_sums.cc
  void EmitBlock(const I64& block);
  void InitColumnSums(const I64& block);
  void AddToColumnSums(int stage, const Body& body);
  std::string LoadSums(DType dtype, const std::string& address, const Body& body);
  void StoreSums(DType dtype, const std::string& sums, const std::string& address,
                 const Body& body);
  Values AddedTo(const Values& old, const ColumnSum& sum, int copy, const Body& body);

  // emit_llvm_tile.cc
  SizeExpr TileRows() const;
  void EmitTiles(const I64& row);
  // emit_llvm_segment.cc
  std::string SegmentValue(int inst, const I64& index, const Body& body);
  std::string ElementAt(const AccessMap& access, const Position& at, const I64& index,
                        const Body& body);

  void BeginScans();
  std::string ScanValue(int inst, const Body& body);

  // emit_llvm_convert.cc
  std::string Convert(DType from, DType to, const std::string& value, int lanes);
  std::string Decode(DType dtype, const std::string& memory, int lanes);  // memory type -> register
  std::string Encode(DType from, DType to, const std::string& value,
                     int lanes);  // register -> memory type, by the Convert rules
  std::string Round16(DType to, const std::string& value,
                      int lanes);  // f32 register -> on the grid of f16/bf16
  std::string F32ForRound16(DType from, DType to, const std::string& value, int lanes);
  std::string F32ToOdd(const std::string& f64_value, int lanes);
  std::string F64ToOdd(DType from, const std::string& i64_value, int lanes);
  std::string FloatToInt(DType from, DType to, const std::string& value, int lanes);
  std::string F32FromF16Bits(const std::string& bits, int lanes);
  std::string F16BitsFromF32(const std::string& value, int lanes);

  // emit_llvm_scalar.cc
  std::string Apply(ScalarOp op, DType result, DType operand, absl::Span<const std::string> in,
                    int lanes);
  std::string ApplyAvx512(ScalarOp op, DType operand, absl::Span<const std::string> in, int lanes);
  const ScalarProgram& Expanded(ScalarOp op, DType result, DType operand,
                                absl::Span<const DType> operands);
  std::string ApplyPlanOp(const Inst& inst, absl::Span<const std::string> in, int lanes);
  std::string CallExpanded(const Inst& inst, const ScalarProgram& program,
                           absl::Span<const std::string> in, int lanes);
  std::vector<std::string> Run(const ScalarProgram& program, absl::Span<const std::string> args,
                               int lanes);
  void Define(const std::string& result, const std::string& name, const std::string& params,
              absl::FunctionRef<std::string()> body);

  // emit_llvm_fmod.cc
  std::string AnyLane(const std::string& lane, int lanes);
  std::string FmodRaw(DType operand, const std::string& call, absl::Span<const std::string> in,
                      int lanes);
  void DefineFmod(DType operand, const std::string& name, int lanes);

  DType TypeOf(int inst) const { return plan_.insts[static_cast<size_t>(inst)].dtype; }
  const Inst& inst(int i) const { return plan_.insts[static_cast<size_t>(i)]; }
  const AccessMap& access_of(int i) const {
    return plan_.accesses[static_cast<size_t>(inst(i).access)];
  }
  const Param& param(const AccessMap& access) const {
    return plan_.params[static_cast<size_t>(access.param)];
  }

  const KernelPlan& plan_;
  const Target& target_;
  const CpuFeatures cpu_;
  LlvmText text_;
  int lanes_ = 1, unroll_ = 1;
  int vector_axis_ = -1;  // -1: a Flat plan of rank 0
  absl::Status error_;    // the first thing that could not be emitted

  std::vector<SizeExpr> sizes_;  // size arguments
  std::vector<std::string> size_names_;
  std::vector<std::string> buffers_;              // by param
  std::vector<std::string> host_scalars_;         // by plan scalar
  std::vector<I64> coordinates_;                  // by axis; that of the vector axis is unused
  std::vector<bool> in_vector_;                   // the inst has a value per vector
  std::vector<std::string> scalar_;               // by inst: row- and outer-level values
  std::vector<std::vector<std::string>> vector_;  // [copy][inst]
  std::map<std::pair<int, int>, std::string>
      splats_;  // (inst, lanes): scalars as vectors, made before the vector loop
  std::map<std::pair<const AccessMap*, int>, std::string> bases_;  // (access, position's inst)
  std::string zeros_;  // 16 bytes that loads behind a failing mask read
  std::map<std::tuple<int, int, int>, std::string> results_;  // (stage, reduce, which)
  std::map<std::tuple<int, int, int>, std::vector<std::string>> column_results_;  // by copy
  std::map<int, std::string> kept_;  // inst -> row buffer
  I64 kept_offset_ = 0;              // of the current outer inner point in the row buffers
  int64_t col_multiple_ = 1;
  // A part of a row: of each `of` lines, the loop being emitted brings `lines`, from `base` on.
  struct Prefetch {
    std::string base;
    int item_size = 1;
    int lines = 1, of = 1;
  };
  bool streams_ = false;  // some loop does
  std::vector<Prefetch> prefetches_;
  std::vector<Reduce> reduces_;
  struct Scan {
    Reduce join;  // def and combine alone
    PlanReduce def;
    Values slots, seen;  // the accumulators; what the instructions give at this element
  };
  std::vector<Scan> scans_;
  std::map<std::pair<const ColumnSum*, size_t>, std::string>
      column_sums_;       // by accumulator: address of the block's
  bool cascade_ = false;  // some reduce has levels
  std::string block_count_;
  std::set<std::string> called_;  // names of the functions in helpers_
  std::string helpers_;           // functions that the kernel calls
  std::map<std::tuple<int, int, int>, ScalarProgram> expanded_;  // (op, operand type, result type)
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_CPU_BACKEND_EMIT_LLVM_INTERNAL_H_
