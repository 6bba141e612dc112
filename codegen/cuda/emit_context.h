// Inside the CUDA emitter: the state of one kernel's emission, shared by emit_cuda.cc (skeleton,
// Flat), emit_access.cc (offsets, loads, stores), emit_scalar.cc (types, literals, statements) and
// emit_reduce.cc (Row), emit_window.cc (windows of rows), emit_column.cc (Column), emit_tile.cc
// (Tile), emit_scan.cc (scans within rows), emit_segment.cc (sums of segments), emit_column_sums.cc
// (sums over rows beside a row's own).
//
// A plan has two linear index spaces: the parallel points (variable `e` in Flat, `row` in Row) and
// the inner points (`c`). An access is a sum of runs: neighbouring axes whose strides nest act as
// one coordinate (index / div) % mod of their space. Vectors go along the parallel space in Flat
// and Column and along the inner one in Row, and start at multiples of their length. In Column
// every row value and accumulator is an array with an element per row of the thread's vector
// (column_ is the subscript where code stands).
#ifndef JITFUSE_CODEGEN_CUDA_EMIT_CONTEXT_H_
#define JITFUSE_CODEGEN_CUDA_EMIT_CONTEXT_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/streams.h"
#include "codegen/target.h"
#include "ir/support/writer.h"

namespace jitfuse::internal {

// ---- Types and literals (emit_scalar.cc).
std::string_view CudaType(DType d);  // of a register: float for f16
std::string_view CudaStoredType(
    DType d);  // of an element in memory: unsigned short for f16, unsigned char for bool
std::string CudaLiteral(
    DType d, uint64_t bits);  // ScalarValue bits; an operand: negative numbers are in parentheses
std::string CudaConvert(DType from, DType to, const std::string& x);
std::string CudaLoadedValue(DType stored,
                            const std::string& element);  // element in memory -> register
std::string CudaStoredValue(
    DType stored, const std::string& value);  // register of `stored`'s compute type -> element
std::string CudaOp(ScalarOp op, DType operand, DType result, const std::string* in);  // not Convert

enum class Space : uint8_t { kParallel, kInner, kIndirect };

struct IndexRun {  // coef * ((index / div) % mod), of one space's linear index; Tile: of one axis
  Space space = Space::kParallel;
  SizeExpr coef, div{1}, mod{0};  // mod 0: none
  int axis = -1;                  // Tile
};

struct Point {  // how the linear indices are written where code stands: an identifier or an
                // expression in parentheses
  std::string parallel;
  std::string inner;
  std::string position = {};  // of the gather whose offset is written
  std::string vector = {};    // Flat: the first point of the vector whose element j this is
};

enum class AccessKind : uint8_t { kElement, kVector, kUniform, kStrided };
struct AccessShape {  // of an access within one vector
  AccessKind kind = AccessKind::kElement;
  int width = 1;         // kVector: elements per memory instruction
  SizeExpr step;         // kStrided: distance of neighbours
  bool between = false;  // kVector, loads: it lies between others that are aligned
  bool wraps = false;    // Flat, kVector, loads: so it does, or over the end of a row and on at its
                         // beginning
};

enum class Part : uint8_t {
  kAll,
  kRow,
  kRest
};  // terms of an offset: all; those of the parallel axes alone with the constant; the others

struct Loop {  // one pass over (a thread's share of) the vectorised space
  int vec = 1;
  int items = 1;      // vectors, unrolled, loads of all first
  std::string index;  // variable holding the first index of the vector: "e", "c"
  std::string
      index_at;  // its value; may use `i`, the number of the item. Empty: the variable exists
  std::string
      guard;  // condition of a whole vector (may use i and the variable); empty: always inside
  std::string elem_guard;               // condition of element j; empty: vectors are never cut
  int kept_items = 1;                   // items of the arrays of kept values
  int kept_from = 0;                    // of those arrays, the first that is this loop's
  std::string batch;                    // of loops whose loads are made apart: behind their names
  bool window = false;                  // vectors begin where memory is aligned (emit_window.cc)
  std::string_view accumulators = "a";  // prefix of the accumulators that the loop adds to
};

class Emitter {
 public:
  Emitter(const KernelPlan& plan, const CudaSchedule& schedule, std::string entry);
  absl::Status Run();  // emits; then the accessors below are valid
  std::string TakeBody() { return functions_.Take() + out_.Take(); }
  const std::vector<SizeExpr>& size_args() const { return size_args_; }
  const SizeExpr& grid() const { return grid_; }

 private:
  // emit_cuda.cc
  absl::Status Check() const;
  void Signature(std::string* text) const;
  void Flat();
  void FlatTail(const SizeExpr& tail, const SizeExpr& total);
  void Items(const Stage& stage, int stage_number, const Loop& loop);
  bool LoadsApart(const Loop& loop) const { return loop.items > 1 || !loop.batch.empty(); }
  void ItemLoads(const Stage& stage, const Loop& loop);
  void ItemValues(const Stage& stage, int stage_number, const Loop& loop);
  void EachItem(const Loop& loop, const std::function<void(const std::string& item)>& body);
  void LoadBatch(const Stage& stage, const Loop& loop, const std::string& item);
  void Vector(const Stage& stage, int stage_number, const Loop& loop, const std::string& item);
  void VectorPrologue(const Stage& stage, int stage_number, const Loop& loop);
  void Element(const Stage& stage, int stage_number, const Loop& loop, const std::string& item);
  void VectorEpilogue(const Stage& stage, int stage_number, const Loop& loop);

  // emit_access.cc
  std::vector<IndexRun> RunsOf(const Affine& affine) const;
  AccessShape Shape(const AccessMap& access, const Loop& loop) const;
  AccessShape LoadShape(int load, const Loop& loop) const;
  SizeExpr WrapOf(const AccessMap& access) const;
  bool Wraps(const AccessMap& access, const Loop& loop) const;
  bool IsLate(int load) const;
  bool ComesLate(int load, const Loop& loop) const;
  bool IsOnceAVector(int id, const Loop& loop) const;
  std::vector<bool> PositionsOnceAVector(const Stage& stage, const Loop& loop) const;
  bool IsOneOfVector(const AccessMask& mask, const Loop& loop) const;
  bool IsUniform(const Affine& affine, const Loop& loop) const;         // along a vector
  std::string Conditions(const AccessMap& access, const Point& point);  // "": always inside
  std::string StoreGuard(const Store& store, const Point& point);       // the same, of live rows
  Point PointOfLoad(int load, const Point& point);    // with the position, of an indirect load
  std::string Element(int load, const Point& point);  // zero where a mask fails
  std::string Offset(const AccessMap& access, const Point& point, Part part);
  std::string Coordinate(const IndexRun& run, const Point& point);
  std::string AffineText(const Affine& affine, const Point& point);
  std::string Address(const AccessMap& access, const Point& point);  // "p0 + b1 + c"
  std::string Indexed(const AccessMap& access, const Point& point);  // "p0[b1 + c]"
  std::string OffsetFrom(const AccessMap& access,
                         const Point& point);  // with the row's base, where one is declared
  void DeclareRowBase(const AccessMap& access);
  std::string StructType(const AccessMap& access, const AccessShape& shape, int vec) const;
  std::string RawType(const AccessMap& access, const AccessShape& shape, int vec) const;
  std::string RawLoad(int load, const AccessShape& shape, const Point& point, int vec);
  std::string WrappedLoad(const AccessMap& access, const Point& point, int vec);
  void VectorStore(const Store& store, const AccessShape& shape, const Point& point, int vec,
                   const std::string& room);
  std::string VectorElement(const AccessMap& access, const AccessShape& shape, int vec,
                            const std::string& raw) const;
  struct StoreRoom {
    std::string declaration, element;
  };
  StoreRoom RoomFor(const Store& store, const AccessShape& shape, int vec,
                    const std::string& name) const;
  std::string SizeText(const SizeExpr& size, bool is_signed);
  std::string SizeArg(const SizeExpr& size);  // name of the kernel's argument
  bool NoAllocate(const AccessMap& access) const;

  // emit_scalar.cc
  std::string Operand(int inst) const;
  std::string Value(int inst, const Point& point);  // the right side of an instruction's statement
  void Statement(int inst, const Point& point);
  std::string StoreOperand(const Stage& stage, const Store& store)
      const;  // converted to the compute type of the parameter
  void Program(const ScalarProgram& program, const std::vector<std::string>& args,
               const std::vector<DType>& arg_types, const std::vector<std::string>& results,
               Writer* out) const;

  // emit_reduce.cc
  void Row();
  void RowThreads();
  void RowPrologue();
  void RowStage(const Stage& stage, int number);
  void RegisterLoop(const Stage& stage, int number);
  void StreamLoop(const Stage& stage, int number);
  void AddSecondLevel(const Stage& stage, int number);
  int StreamUnroll(const Stage& stage) const;
  void RowInsts(const std::vector<int>& insts);
  void RowStores(const Stage& stage);
  void RowLoopValues();
  void LiveRow(const std::string& row, int rows);
  void DeclareAccumulators(const Stage& stage, int number, std::string_view prefix);
  void AcrossThreads(const Stage& stage, int number);
  void AcrossLanes(const Stage& stage, int number, int width);
  void Broadcast(const Stage& stage, int number, int width);
  void ThroughShared(const Stage& stage, int number);

  // emit_window.cc
  bool UsesInner(const Affine& affine) const;
  bool UsesInner(const AccessMap& access) const;
  AccessShape WindowShape(const AccessMap& access) const;
  int WindowSlack() const;
  std::string BetweenLoad(const AccessMap& access, const Point& point);
  std::string WindowBase() const;
  void DeclareWindow();
  int MostEdges() const;
  int EdgeItems() const;
  Loop EdgeLoop();

  // emit_column.cc
  void ColumnPrologue();
  void DeclareColumnAccumulators(const Stage& stage, int number, std::string_view prefix);
  void AcrossColumnThreads(const Stage& stage, int number);
  void Accumulate(const Stage& stage, int stage_number, int reduce, const Loop& loop);
  // Code for each row of the thread's vector, given its point; also for the only row elsewhere.
  void EachColumn(const std::function<void(const Point&)>& body);
  void FindColumns();
  bool HasColumns(int inst) const {  // an array with an element per row of the vector
    return columns_[static_cast<size_t>(inst)];
  }

  // emit_column_sums.cc
  void RowBlocks();
  void DeclareColumnSums();
  void AddToColumnSums(const Stage& stage, int number, const Loop& loop);
  void StoreColumnSums();
  bool NeedsBarrier() const;  // between rows
  void PrefetchNextRow();
  void EachColumnSum(
      const std::function<void(const PlanReduce& reduce, const std::vector<int>& params,
                               const std::vector<std::string>& names)>& body) const;

  // emit_tile.cc
  void Tile();
  void TilePrologue(const std::string& across, const std::string& along);
  void TilePass(int fast, int slow, const std::string& first_fast, const std::string& first_slow,
                const std::function<void()>& body);
  bool IsTiled(int load) const;  // it is read through shared memory
  std::string TileElement(int load, const std::string& row, const std::string& column);

  // emit_scan.cc
  void DeclareScans(const Stage& stage);
  void ScanLoop(const Stage& stage, int number);
  void ScanStatement(int inst);
  void TakeIn(const PlanScan& scan, int number, const int* lifted);
  void TakeInChunk(const PlanScan& scan, int number, const int* lifted);
  bool ScansChunks() const { return !plan_.scans.empty() && schedule_.threads_per_row > 1; }

  // emit_segment.cc
  void SegmentStatement(int inst, const Point& point);

  std::string CombineName(const PlanReduce& reduce);  // emits the function on first use
  std::string CombineCall(const PlanReduce& reduce, const std::vector<std::string>& a,
                          const std::vector<std::string>& b);
  std::vector<std::string> Accumulators(const PlanReduce& reduce, int stage, int number,
                                        std::string_view prefix) const;

  bool IsKept(int inst) const { return kept_[static_cast<size_t>(inst)]; }
  DType ParamType(const AccessMap& access) const {
    return plan_.params[static_cast<size_t>(access.param)].dtype;
  }
  const AccessMap& LoadAccess(const Inst& inst) const {
    return plan_.accesses[static_cast<size_t>(inst.access)];
  }
  const Inst& inst(int id) const { return plan_.insts[static_cast<size_t>(id)]; }
  Point PointOf(const Loop& loop, bool element) const;
  int64_t InnerPerItem() const;
  bool InRegisters() const;  // Row: every thread's share of a row fits its items
  bool IsRow() const { return schedule_.emitter == CudaEmitter::kRow; }
  bool IsColumn() const { return schedule_.emitter == CudaEmitter::kColumn; }
  bool IsTile() const { return schedule_.emitter == CudaEmitter::kTile; }
  bool HasRows() const { return IsRow() || IsColumn(); }
  Space VectorSpace() const { return IsRow() ? Space::kInner : Space::kParallel; }
  std::string Unsigned(int64_t v) const;  // a literal of the index type

  const KernelPlan& plan_;
  const CudaSchedule& schedule_;
  const std::string entry_;
  const std::string index_type_;   // "unsigned" or "unsigned long long"
  const std::string signed_type_;  // "int" or "long long"
  Writer out_;
  Writer functions_;
  std::vector<SizeExpr> size_args_;
  std::vector<bool> index_sizes_;  // by size argument: also wanted in the index type
  SizeExpr grid_;
  SizeExpr inner_points_{1}, parallel_points_{1};
  const AccessMap* window_ = nullptr;  // whose rows windows follow, if there are windows
  std::vector<bool> kept_;
  std::vector<bool> columns_;  // by instruction
  std::string kept_index_;     // subscript of kept values where code stands
  std::string column_;         // Column: subscript of row values and accumulators
  bool live_guard_ = false;    // Row: the last block may have rows beyond the end
  std::string store_guard_;    // condition of the stores in a loop; empty: none
  std::vector<std::pair<AccessMap, std::string>> row_bases_;
  absl::flat_hash_map<std::string, std::string> row_base_names_;
  struct Combine {
    std::vector<DType> dtypes;
    std::vector<ScalarInst> insts;
    std::vector<int16_t> results;
  };
  std::vector<std::pair<Combine, std::string>> combines_;
  absl::flat_hash_set<std::string> scans_declared_;  // by an earlier stage
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_CUDA_EMIT_CONTEXT_H_
