// PickCudaSchedule: Flat, Row in registers, Row re-read, Column, Tile. The numbers are those
// measured on an H100; they depend on the arch alone.
#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "codegen/plan/access_map.h"
#include "codegen/plan/schedule.h"
#include "codegen/plan/streams.h"
#include "codegen/plan/window.h"

namespace jitfuse::internal {
namespace {

constexpr int kVectorBytes = 16;
constexpr int64_t kElementsPerThread = 32;     // of a kept row, in registers
constexpr int64_t kThreadsToFill = 64 * 1024;  // enough to keep a large GPU busy with reads

bool ExtentAllows(const KernelPlan& plan, int vec) {
  // A flat plan of one axis ends in a tail; elsewhere each row would.
  if (!plan.IsRow() && plan.num_parallel() == 1) return true;
  return plan.extent(VectorAxis(plan)).KnownDivisor() % vec == 0;
}

struct Width {
  int vec = 1;
  int wanted = 1;  // 16 bytes of the widest element type that is walked with unit stride
  bool window = false;
};

// Whether a flat plan is walked from end to end, so that vectors may go over the ends of its rows;
// what is broadcast is then read element by element.
bool FlatAllows(const KernelPlan& plan, const std::vector<Stream>& streams, int vec) {
  return !plan.IsRow() && std::all_of(streams.begin(), streams.end(), [&](const Stream& s) {
    return !s.heavy || IsDenseAccess(plan, *s.access, vec);
  });
}

// Rows whose ends are nowhere aligned: vectors where memory is, if all that is walked lies alike.
bool WindowAllows(const KernelPlan& plan, const std::vector<Stream>& streams, int vec) {
  constexpr int64_t kFewVectors = 4;  // fewer have more edges than middle
  if (!plan.IsRow() || plan.columns || plan.HasColumnSums() || vec == 1) return false;
  const int64_t n = InnerPoints(plan);
  const AccessMap* leader = WindowOf(plan, vec);
  if (leader == nullptr || (n > 0 && n < kFewVectors * vec)) return false;
  return std::all_of(streams.begin(), streams.end(), [&](const Stream& s) {
    return !s.heavy || !IsVectorAccess(plan, *s.access, 1) ||
           FitsWindow(plan, *s.access, *leader, vec);
  });
}

Width PickWidth(const KernelPlan& plan, const std::vector<Stream>& streams) {
  int widest = 0;
  std::vector<const AccessMap*> walked;
  for (const Stream& s : streams) {
    if (!IsVectorAccess(plan, *s.access, 1)) continue;
    if (s.heavy || plan.IsRow()) walked.push_back(s.access);
    widest = std::max(widest, ItemSize(plan.params[static_cast<size_t>(s.access->param)].dtype));
  }
  Width w;
  if (walked.empty()) return w;
  w.wanted = kVectorBytes / widest;
  for (w.vec = w.wanted; w.vec > 1; w.vec /= 2) {
    bool all = std::all_of(walked.begin(), walked.end(),
                           [&](const AccessMap* a) { return IsVectorAccess(plan, *a, w.vec); });
    if (all && ExtentAllows(plan, w.vec)) break;
  }
  if (w.vec > 1) return w;
  w.window = WindowAllows(plan, streams, w.wanted);
  if (w.window || FlatAllows(plan, streams, w.wanted)) w.vec = w.wanted;
  return w;
}

int Registers(const KernelPlan& plan, int vec) {
  int loads = 0;
  for (const Inst& i : plan.insts) loads += i.elem && i.kind == Inst::Kind::kLoad ? 1 : 0;
  return vec * (loads + 2) + 10;
}

CudaSchedule PickFlat(const KernelPlan& plan, const Width& width) {
  CudaSchedule s;
  s.emitter = CudaEmitter::kFlat;
  s.vec = width.vec;
  s.items = std::clamp(width.wanted / width.vec, 1, 8);
  if (plan.HasSegments()) s.vec = s.items = 1;  // a thread walks one segment
  SizeExpr points = NumElements(plan.parallel);
  bool small = points.IsConstant() && points.constant() < (int64_t{1} << 20);
  s.threads = small ? 128 : Registers(plan, s.vec * s.items) > 40 ? 256 : 512;
  return s;
}

// Squares of points through shared memory, where operands lie along another axis than the outputs
// and both axes are long enough. Threads 0: this is not such a plan.
CudaSchedule PickTile(const KernelPlan& plan, const Target& target) {
  constexpr int kThreads = 256;
  CudaSchedule s;
  s.threads = 0;
  s.emitter = CudaEmitter::kTile;
  s.tile_axis = TransposedAxis(plan);
  if (s.tile_axis < 0) return s;
  for (int axis : {s.tile_axis, plan.num_parallel() - 1}) {
    if (plan.extent(axis).IsConstant() && plan.extent(axis).constant() < kShortTileAxis) return s;
  }
  for (int tile : {64, 32}) {
    int64_t bytes = 0;
    for (int k : TransposedLoads(plan, s.tile_axis)) {
      const AccessMap& a = plan.accesses[static_cast<size_t>(k)];
      const int size = ItemSize(plan.params[static_cast<size_t>(a.param)].dtype);
      bytes += int64_t{tile} * (tile + std::max(1, 4 / size)) * size;
    }
    if (bytes > target.smem_per_block) continue;
    s.tile = tile;
    s.threads = kThreads;
    break;
  }
  return s;
}

// Values alive per inner point when a row is kept, in 4-byte registers.
int KeptRegisters(const KernelPlan& plan) {
  int words = 0;
  for (int id : plan.keep)
    words += ItemSize(ComputeType(plan.insts[static_cast<size_t>(id)].dtype)) == 8 ? 2 : 1;
  return std::max(1, words);
}

// Registers of a point's column sums.
int SumRegisters(const KernelPlan& plan) {
  int words = 0;
  for (const Stage& stage : plan.stages) {
    for (const ColumnSum& sum : stage.column_sums) {
      for (DType d : sum.reduce.dtypes) words += ItemSize(d) == 8 ? 2 : 1;
    }
  }
  return words;
}

int64_t PowerOfTwoFrom(int64_t x) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, x))));
}

// Threads of one row: 32 for short ones, else 1 to 4 vectors or some 16 elements each; in windows,
// where each thread has more to do besides its elements, 32 of 16 bits.
int64_t ThreadsAlongRow(int64_t n, bool unrolled, const Width& width) {
  if (n > 0 && n <= 256) return 32;
  if (!unrolled) return n <= 16 * 1024 ? 256 : 512;
  const bool many = width.window && width.vec == 8;
  const int64_t each = many ? 32 : 16, least = many || n <= 512 ? 64 : 128;
  return std::clamp<int64_t>(PowerOfTwoFrom((n + each - 1) / each), least, 512);
}

bool WritesRows(const KernelPlan& plan) {
  for (const Stage& stage : plan.stages) {
    for (const Store& st : stage.stores) {
      if (st.elem) return true;
    }
  }
  return false;
}

// Column sums live in registers from row to row, where those have room for them too: then a thread
// has half of what it may have, or all of it where a block has as many threads as two of them fit.
bool SumsFit(const KernelPlan& plan, int64_t n, int64_t* threads) {
  constexpr int64_t kMostThreads = 512;
  auto held = [&] {
    return (n + *threads - 1) / *threads * (KeptRegisters(plan) + SumRegisters(plan));
  };
  while (*threads < kMostThreads && held() > kElementsPerThread) *threads *= 2;
  return held() <= 2 * kElementsPerThread;
}

CudaSchedule PickRow(const KernelPlan& plan, const Target& target, const Width& width) {
  CudaSchedule s;
  s.emitter = CudaEmitter::kRow;
  s.vec = width.vec;
  s.window = width.window;
  int64_t n = InnerPoints(plan);
  bool one_pass = plan.stages.size() == 1 && n > 0 && n <= 16 * 1024;
  int64_t threads = ThreadsAlongRow(n, !plan.keep.empty() || one_pass, width);
  auto too_much = [&] {
    return (n + threads - 1) / threads * KeptRegisters(plan) > kElementsPerThread;
  };
  bool unrolled = !plan.keep.empty() || one_pass;
  const bool sums = plan.HasColumnSums();
  int64_t wider = threads;
  s.sums_in_memory = sums && !(unrolled && SumsFit(plan, n, &wider));
  if (sums && !s.sums_in_memory) threads = wider;
  const bool spread = unrolled && (!sums || s.sums_in_memory);
  while (spread && threads < std::min(1024, target.max_threads_per_sm) && too_much()) threads *= 2;
  s.threads_per_row = static_cast<int>(threads);
  int block = threads <= 32 ? 256 : 128;
  s.rows_per_block = sums ? 1 : std::max(1, block / s.threads_per_row);
  s.threads = s.threads_per_row * s.rows_per_block;
  const int64_t per_pass = threads * s.vec;
  s.items = unrolled ? static_cast<int>(std::max<int64_t>(1, (n + per_pass - 1) / per_pass)) : 0;
  s.no_allocate = !WritesRows(plan) || s.items == 0 || sums;
  return s;
}

// Bytes of shared memory that the accumulators of a row take, over all stages.
int64_t AccumulatorBytes(const KernelPlan& plan) {
  int64_t bytes = 0;
  for (const Stage& stage : plan.stages) {
    for (const PlanReduce& r : stage.reduces) {
      for (DType d : r.dtypes) bytes += ItemSize(d);
    }
  }
  return bytes;
}

// Blocks 16 or 32 vectors wide, and so deep that the threads fill a large GPU, or hold the rows
// that are kept.
CudaSchedule PickColumn(const KernelPlan& plan, const Width& width, const Target& target) {
  constexpr int kMaxVec = 4;  // beyond, accumulators crowd out everything else
  constexpr int kBlock = 256, kMaxBlock = 512;
  constexpr int64_t kNarrow = 2048;
  CudaSchedule s;
  s.emitter = CudaEmitter::kColumn;
  s.vec = std::min(width.vec, kMaxVec);
  const int64_t n = InnerPoints(plan);
  const SizeExpr rows = NumElements(plan.parallel);
  const int64_t vectors = rows.IsConstant() ? std::max<int64_t>(1, rows.constant() / s.vec) : 0;
  const bool narrow = vectors > 0 && rows.constant() < kNarrow;
  int64_t wide = narrow ? std::min<int64_t>(16, PowerOfTwoFrom(vectors)) : 32;
  int64_t most = n == 0 ? kBlock : PowerOfTwoFrom(n);  // threads that a row can use
  int64_t deep = std::min<int64_t>(kBlock / wide, most);
  while (deep * 2 * wide <= kMaxBlock && deep * 2 <= most && vectors > 0 &&
         vectors * deep < kThreadsToFill)
    deep *= 2;
  const bool keeps = !plan.keep.empty();
  auto held = [&] { return (n + deep - 1) / deep * s.vec * KeptRegisters(plan); };
  const int limit = std::min(1024, target.max_threads_per_sm);
  while (keeps && held() > kElementsPerThread) {
    if (deep * 2 * wide <= limit) {
      deep *= 2;
    } else if (wide > 8) {
      wide /= 2;
    } else if (s.vec > 1) {
      s.vec /= 2;
    } else {
      break;
    }
  }
  while (wide * deep < 32) wide *= 2;
  while (deep > 1 && AccumulatorBytes(plan) * wide * deep * s.vec > target.smem_per_block) {
    if (s.vec > 1) {
      s.vec /= 2;
    } else if (wide * deep > 32 && wide > 1) {
      wide /= 2;
    } else {
      deep /= 2;
      wide *= 2;
    }
  }
  s.threads_per_row = static_cast<int>(deep);
  s.rows_per_block = static_cast<int>(wide);
  s.threads = s.threads_per_row * s.rows_per_block;
  s.items = keeps ? static_cast<int>(std::max<int64_t>(1, (n + deep - 1) / deep)) : 0;
  s.no_allocate = !WritesRows(plan);
  return s;
}

// Rows that lie side by side, and short ones, have a thread each; others a block, which takes a
// chunk of as many elements as it has threads at a time.
CudaSchedule PickScan(const KernelPlan& plan) {
  constexpr int kBlock = 256;
  constexpr int64_t kManyRows = 4096, kShortRow = 32;
  const int64_t n = InnerPoints(plan);
  const SizeExpr rows = NumElements(plan.parallel);
  const bool many = !rows.IsConstant() || rows.constant() >= kManyRows;
  const bool alone =
      (n > 0 && n <= kShortRow) || (n > 0 && n <= kLongScan && many && LieSideBySide(plan));
  CudaSchedule s;
  s.emitter = CudaEmitter::kRow;
  s.items = 0;
  s.threads_per_row = alone ? 1
                      : n == 0
                          ? kBlock
                          : static_cast<int>(std::clamp<int64_t>(PowerOfTwoFrom(n), 32, kBlock));
  s.rows_per_block = alone ? 128 : 1;
  s.threads = s.threads_per_row * s.rows_per_block;
  return s;
}

}  // namespace

CudaSchedule PickCudaSchedule(const KernelPlan& plan, const Target& target,
                              std::vector<Note>* notes) {
  std::vector<Stream> streams = ElemStreams(plan);
  if (!plan.scans.empty()) {
    if (notes != nullptr && HasLongScan(plan)) notes->push_back({-1, Reason::kScanInOrder, ""});
    return PickScan(plan);
  }
  if (!plan.IsRow() && !plan.HasSegments()) {
    CudaSchedule tile = PickTile(plan, target);
    if (tile.threads > 0) return tile;
    if (notes != nullptr && tile.tile_axis >= 0)
      notes->push_back({-1, Reason::kTransposedAccess, ""});
  }
  Width width = PickWidth(plan, streams);
  if (notes != nullptr && width.vec == 1 && width.wanted > 1 && !plan.HasSegments()) {
    notes->push_back(
        {-1, Reason::kScalarAccess, absl::StrCat("vectors of ", width.wanted, " do not fit")});
  }
  if (notes != nullptr && plan.IsRow() && WalksStrided(plan))
    notes->push_back({-1, Reason::kStridedReduce, ""});
  if (plan.columns) return PickColumn(plan, width, target);
  if (!plan.IsRow()) return PickFlat(plan, width);
  CudaSchedule row = PickRow(plan, target, width);
  if (notes != nullptr && row.sums_in_memory)
    notes->push_back({-1, Reason::kColumnSumsInMemory, ""});
  return row;
}

}  // namespace jitfuse::internal
