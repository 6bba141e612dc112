// Scans. A row of one thread: the loop carries the accumulators. A row of one block: the loop takes
// a chunk of as many elements as there are threads; within a warp the accumulators go up by
// shuffles, the warps' totals meet in shared memory, and all threads carry the same accumulators on
// to the next chunk. All orders keep positions, and none depends on anything but the schedule.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/cuda/emit_context.h"

namespace jitfuse::internal {
namespace {

constexpr int kFlush = 64;  // chunks before a sum goes to a second accumulator

std::vector<std::string> Names(std::string_view prefix, int number, size_t count) {
  std::vector<std::string> names;
  for (size_t k = 0; k < count; ++k)
    names.push_back(absl::StrCat(std::string(prefix), number, "_", k));
  return names;
}

PlanReduce JoinOf(const PlanScan& scan) {
  PlanReduce join;
  join.dtypes = scan.dtypes;
  join.init = scan.init;
  join.combine = scan.combine;
  return join;
}

}  // namespace

// st: the accumulators after all that the loop has been through.
void Emitter::DeclareScans(const Stage& stage) {
  const int warps = schedule_.threads_per_row / 32;
  for (int id : stage.elem_insts) {
    const Inst& i = inst(id);
    if (i.kind != Inst::Kind::kScan || i.which != 0) continue;
    const PlanScan& scan = plan_.scans[static_cast<size_t>(i.scan)];
    for (size_t k = 0; k < scan.dtypes.size(); ++k) {
      const std::string type(CudaType(scan.dtypes[k]));
      const std::string name = absl::StrCat(i.scan, "_", k);
      if (scans_declared_.insert(name).second) {
        out_.Line(type, " st", name, " = ", CudaLiteral(scan.dtypes[k], scan.init[k]), ";");
        if (ScansChunks()) out_.Line("__shared__ ", type, " ms", name, "[", warps, "];");
      } else {
        out_.Line("st", name, " = ", CudaLiteral(scan.dtypes[k], scan.init[k]), ";");
      }
    }
  }
}

// Threads beyond the end go through it all with the row's last element, whose value they leave out,
// so that barriers and shuffles stay whole.
void Emitter::ScanLoop(const Stage& stage, int number) {
  const std::string points = SizeText(inner_points_, false);
  const int64_t chunk = schedule_.threads_per_row;
  Loop loop;
  loop.index = "c";
  std::string begin = "0", end = points;
  if (!stage.reduces.empty()) {  // as in StreamLoop: sums are kept short
    loop.accumulators = "s";
    out_.Block("for (", index_type_, " c1 = 0; c1 < ", points, "; c1 += ", Unsigned(kFlush * chunk),
               ")");
    DeclareAccumulators(stage, number, "s");
    out_.Line("const ", index_type_, " end = ", points, " - c1 > ", Unsigned(kFlush * chunk),
              " ? c1 + ", Unsigned(kFlush * chunk), " : ", points, ";");
    begin = "c1";
    end = "end";
  }
  out_.Block("for (", index_type_, " c0 = ", begin, "; c0 < ", end, "; c0 += ", Unsigned(chunk),
             ")");
  out_.Line("const bool inside = ", points, " - c0 > lane;");
  out_.Line("const ", index_type_, " c = inside ? c0 + lane : ", points, " - ", Unsigned(1), ";");
  kept_index_.clear();
  store_guard_ = "inside";
  Element(stage, number, loop, "");
  store_guard_.clear();
  if (!stage.reduces.empty()) {
    out_.Block("if (inside)");
    VectorEpilogue(stage, number, loop);
    out_.End();
  }
  out_.End();
  if (stage.reduces.empty()) return;
  for (size_t r = 0; r < stage.reduces.size(); ++r) {
    const int n = static_cast<int>(r);
    out_.Line(CombineCall(stage.reduces[r], Accumulators(stage.reduces[r], number, n, "a"),
                          Accumulators(stage.reduces[r], number, n, "s")),
              ";");
  }
  out_.End();
}

void Emitter::ScanStatement(int id) {
  const Inst& i = inst(id);
  const PlanScan& scan = plan_.scans[static_cast<size_t>(i.scan)];
  if (i.which == 0) {
    if (ScansChunks()) {
      TakeInChunk(scan, i.scan, i.in);
    } else {
      TakeIn(scan, i.scan, i.in);
    }
  }
  out_.Line("const ", std::string(CudaType(i.dtype)), " v", id, " = sv", i.scan, "_", i.which, ";");
}

// sv: what the instructions give.
void Emitter::TakeIn(const PlanScan& scan, int number, const int* lifted) {
  const PlanReduce join = JoinOf(scan);
  const size_t k = scan.dtypes.size();
  const std::vector<std::string> state = Names("st", number, k), seen = Names("sv", number, k);
  std::vector<std::string> in;
  for (size_t j = 0; j < k; ++j) in.push_back(Operand(lifted[j]));
  if (!scan.exclusive) out_.Line(CombineCall(join, state, in), ";");
  for (size_t j = 0; j < k; ++j)
    out_.Line("const ", std::string(CudaType(scan.dtypes[j])), " ", seen[j], " = ", state[j], ";");
  if (scan.exclusive) out_.Line(CombineCall(join, state, in), ";");
}

// su: this lane's elements and those before it in its warp; sd: a lane's further down; ms: the
// warps' totals.
void Emitter::TakeInChunk(const PlanScan& scan, int number, const int* lifted) {
  const PlanReduce join = JoinOf(scan);
  const size_t k = scan.dtypes.size();
  const int warps = schedule_.threads_per_row / 32;
  const std::vector<std::string> state = Names("st", number, k), seen = Names("sv", number, k),
                                 up = Names("su", number, k), down = Names("sd", number, k),
                                 shared = Names("ms", number, k);
  auto type = [&](size_t j) { return std::string(CudaType(scan.dtypes[j])); };
  auto at = [&](const std::string& index) {
    std::vector<std::string> names;
    for (const std::string& name : shared) names.push_back(absl::StrCat(name, "[", index, "]"));
    return names;
  };
  auto from_below = [&](const std::string& distance) {
    for (size_t j = 0; j < k; ++j) {
      out_.Line(type(j), " ", down[j], " = jf_up<32, 0xffffffffu>(", up[j], ", ", distance, ");");
    }
  };
  for (size_t j = 0; j < k; ++j) {
    out_.Line(type(j), " ", up[j], " = inside ? ", Operand(lifted[j]), " : ",
              CudaLiteral(scan.dtypes[j], scan.init[j]), ";");
  }
  out_.Line("#pragma unroll");
  out_.Block("for (int m = 1; m < 32; m *= 2)");
  from_below("m");
  out_.Block("if (lane % 32u >= m)");
  out_.Line(CombineCall(join, down, up), ";");
  for (size_t j = 0; j < k; ++j) out_.Line(up[j], " = ", down[j], ";");
  out_.End();
  out_.End();
  out_.Block("if (lane % 32u == 31u)");
  for (size_t j = 0; j < k; ++j) out_.Line(at("lane / 32u")[j], " = ", up[j], ";");
  out_.End();
  out_.Line("__syncthreads();");
  for (size_t j = 0; j < k; ++j) out_.Line(type(j), " ", seen[j], " = ", state[j], ";");
  // One total at a time: unrolled, with a bound that depends on the thread, ptxas (13) reads
  // several at once and beyond the last.
  out_.Line("#pragma unroll 1");
  out_.Block("for (unsigned w = 0; w < ", warps, "u; ++w)");
  out_.Line("if (w < lane / 32u) ", CombineCall(join, seen, at("w")), ";");
  out_.Line(CombineCall(join, state, at("w")), ";");
  out_.End();
  out_.Line("__syncthreads();");
  if (!scan.exclusive) {
    out_.Line(CombineCall(join, seen, up), ";");
    return;
  }
  from_below("1");
  out_.Line("if (lane % 32u != 0u) ", CombineCall(join, seen, down), ";");
}

}  // namespace jitfuse::internal
