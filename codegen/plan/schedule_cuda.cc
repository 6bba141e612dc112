// PickCudaSchedule: Flat, Row in registers, Row re-read. The numbers are those measured on an H100;
// they depend on the arch alone.
#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "codegen/plan/access_map.h"
#include "codegen/plan/schedule.h"

namespace jitfuse::internal {
namespace {

constexpr int kVectorBytes = 16;
constexpr int64_t kElementsPerThread = 32;     // of a kept row, in registers
constexpr int64_t kThreadsToFill = 64 * 1024;  // enough to keep a large GPU busy with reads

// Loads and stores of a plan that run per element, with what matters of each.
struct Stream {
  const AccessMap* access;
  bool heavy;  // differs for (nearly) every point: not broadcast along an axis
};

bool IsHeavy(const KernelPlan& plan, const AccessMap& a) {
  for (int axis = 0; axis <= VectorAxis(plan); ++axis) {
    if (!plan.extent(axis).Is(1) && !UsesAxis(a, axis)) return false;
  }
  // One flat axis walked by remainder is a broadcast too.
  return !(a.linear.coefs.empty() && a.terms.size() == 1 && !a.terms[0].mod.Is(0));
}

std::vector<Stream> ElemStreams(const KernelPlan& plan) {
  std::vector<Stream> out;
  std::vector<bool> seen(plan.accesses.size(), false);
  for (const Inst& i : plan.insts) {
    if (i.kind != Inst::Kind::kLoad || !i.elem || seen[static_cast<size_t>(i.access)]) continue;
    seen[static_cast<size_t>(i.access)] = true;
    const AccessMap& a = plan.accesses[static_cast<size_t>(i.access)];
    out.push_back({&a, IsHeavy(plan, a)});
  }
  for (const Stage& s : plan.stages) {
    for (const Store& st : s.stores) {
      if (st.elem) out.push_back({&st.access, true});
    }
  }
  return out;
}

bool ExtentAllows(const KernelPlan& plan, int vec) {
  // A flat plan of one axis ends in a tail; elsewhere each row would.
  if (!plan.IsRow() && plan.num_parallel() == 1) return true;
  return plan.extent(VectorAxis(plan)).KnownDivisor() % vec == 0;
}

struct Width {
  int vec = 1;
  int wanted = 1;  // 16 bytes of the widest element type that is walked with unit stride
};

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
  SizeExpr points = NumElements(plan.parallel);
  bool small = points.IsConstant() && points.constant() < (int64_t{1} << 20);
  s.threads = small ? 128 : Registers(plan, s.vec * s.items) > 40 ? 256 : 512;
  return s;
}

// Values alive per inner point when a row is kept, in 4-byte registers.
int KeptRegisters(const KernelPlan& plan) {
  int words = 0;
  for (int id : plan.keep)
    words += ItemSize(ComputeType(plan.insts[static_cast<size_t>(id)].dtype)) == 8 ? 2 : 1;
  return std::max(1, words);
}

int64_t PowerOfTwoFrom(int64_t x) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, x))));
}

// Rows that lie side by side in memory, reduced with a stride: neighbouring threads take
// neighbouring rows. 0: this is not such a plan.
int ThreadsAcrossRows(const KernelPlan& plan, const std::vector<Stream>& streams) {
  const SizeExpr& neighbours = plan.parallel.back();
  if (neighbours.IsConstant() && neighbours.constant() < 32) return 0;
  int side = plan.num_parallel() - 1;
  bool any = false;
  for (const Stream& s : streams) {
    if (!s.heavy || IsUniformAccess(plan, *s.access)) continue;
    std::optional<SizeExpr> step = StrideAlong(*s.access, side);
    if (IsVectorAccess(plan, *s.access, 1) || !step || !step->Is(1)) return 0;
    any = true;
  }
  if (!any) return 0;
  SizeExpr rows = NumElements(plan.parallel);
  if (!rows.IsConstant()) return 32;
  return static_cast<int>(std::clamp<int64_t>(
      PowerOfTwoFrom(kThreadsToFill / std::max<int64_t>(1, rows.constant())), 8, 256));
}

// Threads of one row: 32 for short ones, else 1 to 4 vectors or some 16 elements each.
int64_t ThreadsAlongRow(int64_t n, bool unrolled) {
  if (n > 0 && n <= 256) return 32;
  if (unrolled) return std::clamp<int64_t>(PowerOfTwoFrom((n + 15) / 16), n <= 512 ? 64 : 128, 512);
  return n == 0 || n < 16 * 1024 ? 256 : 512;
}

bool WritesRows(const KernelPlan& plan) {
  for (const Stage& stage : plan.stages) {
    for (const Store& st : stage.stores) {
      if (st.elem) return true;
    }
  }
  return false;
}

CudaSchedule PickRow(const KernelPlan& plan, const Target& target, const Width& width,
                     const std::vector<Stream>& streams) {
  CudaSchedule s;
  s.emitter = CudaEmitter::kRow;
  s.vec = width.vec;
  int64_t n = InnerPoints(plan);
  bool one_pass = plan.stages.size() == 1 && n > 0 && n <= 16 * 1024;
  int64_t across = ThreadsAcrossRows(plan, streams);
  int64_t threads = across > 0 ? across : ThreadsAlongRow(n, !plan.keep.empty() || one_pass);
  auto too_much = [&] {
    return (n + threads - 1) / threads * KeptRegisters(plan) > kElementsPerThread;
  };
  bool unrolled = !plan.keep.empty() || (one_pass && across == 0);
  while (unrolled && threads < std::min(1024, target.max_threads_per_sm) && too_much())
    threads *= 2;
  s.threads_per_row = static_cast<int>(threads);
  int block = threads <= 32 || across > 0 ? 256 : 128;
  s.rows_per_block = std::max(1, block / s.threads_per_row);
  s.threads = s.threads_per_row * s.rows_per_block;
  int64_t per_pass = threads * s.vec;
  s.items = unrolled ? static_cast<int>(std::max<int64_t>(1, (n + per_pass - 1) / per_pass)) : 0;
  s.no_allocate = across == 0 && (!WritesRows(plan) || s.items == 0);
  return s;
}

// Rows that lie side by side, and short ones, have a thread each; others a block, which takes a
// chunk of as many elements as it has threads at a time.
CudaSchedule PickScan(const KernelPlan& plan, const std::vector<Stream>& streams) {
  constexpr int kBlock = 256;
  constexpr int64_t kManyRows = 4096, kShortRow = 32;
  const int64_t n = InnerPoints(plan);
  const SizeExpr rows = NumElements(plan.parallel);
  const bool many = !rows.IsConstant() || rows.constant() >= kManyRows;
  const bool alone = (n > 0 && n <= kShortRow) ||
                     (n > 0 && n <= kLongScan && many && ThreadsAcrossRows(plan, streams) > 0);
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

bool ReadsStrided(const KernelPlan& plan, const std::vector<Stream>& streams) {
  return std::any_of(streams.begin(), streams.end(), [&](const Stream& s) {
    return s.heavy && !IsUniformAccess(plan, *s.access) && !IsVectorAccess(plan, *s.access, 1);
  });
}

}  // namespace

CudaSchedule PickCudaSchedule(const KernelPlan& plan, const Target& target,
                              std::vector<Note>* notes) {
  std::vector<Stream> streams = ElemStreams(plan);
  if (!plan.scans.empty()) {
    if (notes != nullptr && HasLongScan(plan)) notes->push_back({-1, Reason::kScanInOrder, ""});
    return PickScan(plan, streams);
  }
  Width width = PickWidth(plan, streams);
  if (notes != nullptr && width.vec == 1 && width.wanted > 1) {
    notes->push_back(
        {-1, Reason::kScalarAccess, absl::StrCat("vectors of ", width.wanted, " do not fit")});
  }
  if (notes != nullptr && plan.IsRow() && ReadsStrided(plan, streams))
    notes->push_back({-1, Reason::kStridedReduce, ""});
  return plan.IsRow() ? PickRow(plan, target, width, streams) : PickFlat(plan, width);
}

}  // namespace jitfuse::internal
