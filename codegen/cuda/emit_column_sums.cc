// Column sums: the threads of a row go through a block of rows, and each keeps the sums at its own
// places of a row, in registers or (sums_in_memory) in the buffer itself, where no other thread has
// anything to do. A row is worked on as in a plan without sums.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/cuda/emit_context.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

bool Divides(int64_t divisor, const SizeExpr& size) { return size.KnownDivisor() % divisor == 0; }

}  // namespace

void Emitter::RowBlocks() {
  const CudaSchedule& s = schedule_;
  grid_ = plan_.Blocks();
  const std::string rows = SizeText(plan_.block_rows, false);
  const std::string points = SizeText(parallel_points_, false);
  RowThreads();
  out_.Line("const ", index_type_, " block = blockIdx.x;");
  out_.Line("const ", index_type_, " first = block * ", rows, ";");
  out_.Line("const ", index_type_, " stop = first + ", rows, ";");
  out_.Line("const ", index_type_, " end_row = stop < ", points, " ? stop : ", points, ";");
  out_.Line("const ", index_type_, " sums = block * ", SizeText(inner_points_, false), ";");
  if (!s.sums_in_memory) DeclareColumnSums();
  out_.Block("for (", index_type_, " row = first; row < end_row; ++row)");
  if (InRegisters()) PrefetchNextRow();
  RowLoopValues();
  for (size_t k = 0; k < plan_.stages.size(); ++k) RowStage(plan_.stages[k], static_cast<int>(k));
  if (NeedsBarrier()) out_.Line("__syncthreads();");
  out_.End();
  if (!s.sums_in_memory && !inner_points_.Is(0)) StoreColumnSums();
}

// The threads of a block go from row to row together, so that nothing would be asked of memory
// while they reduce one: the next one is brought into L2 meanwhile.
void Emitter::PrefetchNextRow() {
  const CudaSchedule& s = schedule_;
  const std::string points = SizeText(inner_points_, false);
  std::vector<std::string> addresses;
  for (const Stage& stage : plan_.stages) {
    for (int id : stage.elem_insts) {
      if (inst(id).kind != Inst::Kind::kLoad) continue;
      const AccessMap& access = LoadAccess(inst(id));
      if (access.indirect || !access.masks.empty() || !NoAllocate(access)) continue;
      std::string address = Address(access, {"(row + 1)", "c"});
      if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
        addresses.push_back(std::move(address));
    }
  }
  if (addresses.empty()) return;
  out_.Block("if (row + 1 < end_row)");
  out_.Line("#pragma unroll");
  out_.Block("for (int i = 0; i < ", s.items, "; ++i)");
  out_.Line("const ", index_type_, " c = (i * ", s.threads_per_row, "u + lane) * ", s.vec, "u;");
  out_.Block("if (c < ", points, ")");
  for (const std::string& address : addresses) out_.Line("jf_prefetch(", address, ");");
  for (int closed = 0; closed < 3; ++closed) out_.End();
}

// Slots of shared memory are written again in the next row: with two stages that use some, the
// barrier of the other one lies between.
bool Emitter::NeedsBarrier() const {
  const auto reducing = std::count_if(plan_.stages.begin(), plan_.stages.end(),
                                      [](const Stage& s) { return !s.reduces.empty(); });
  return reducing == 1 && schedule_.threads_per_row > 32;
}

void Emitter::EachColumnSum(
    const std::function<void(const PlanReduce&, const std::vector<int>&,
                             const std::vector<std::string>&)>& body) const {
  for (size_t k = 0; k < plan_.stages.size(); ++k) {
    const std::vector<ColumnSum>& sums = plan_.stages[k].column_sums;
    for (size_t r = 0; r < sums.size(); ++r)
      body(sums[r].reduce, sums[r].params,
           Accumulators(sums[r].reduce, static_cast<int>(k), static_cast<int>(r), "k"));
  }
}

void Emitter::DeclareColumnSums() {
  const int places = std::max(1, schedule_.items * schedule_.vec);
  EachColumnSum([&](const PlanReduce& reduce, const std::vector<int>&,
                    const std::vector<std::string>& names) {
    for (size_t j = 0; j < names.size(); ++j)
      out_.Line(ToAbsl(CudaType(reduce.dtypes[j])), " ", names[j], "[", places, "];");
  });
  out_.Line("#pragma unroll");
  out_.Block("for (int i = 0; i < ", places, "; ++i)");
  EachColumnSum([&](const PlanReduce& reduce, const std::vector<int>&,
                    const std::vector<std::string>& names) {
    for (size_t j = 0; j < names.size(); ++j)
      out_.Line(names[j], "[i] = ", CudaLiteral(reduce.dtypes[j], reduce.init[j]), ";");
  });
  out_.End();
}

// One element, at its place. In memory the first row of a block finds nothing there.
void Emitter::AddToColumnSums(const Stage& stage, int number, const Loop& loop) {
  const std::string item = loop.kept_items > 1 ? "i" : "0";
  const std::string place = loop.vec == 1         ? item
                            : loop.kept_items > 1 ? absl::StrCat("i * ", loop.vec, " + j")
                                                  : "j";
  for (size_t r = 0; r < stage.column_sums.size(); ++r) {
    const ColumnSum& sum = stage.column_sums[r];
    std::vector<std::string> names = Accumulators(sum.reduce, number, static_cast<int>(r), "k");
    std::vector<std::string> in, memory;
    for (size_t j = 0; j < names.size(); ++j) {
      in.push_back(Operand(sum.reduce.in[j]));
      if (!schedule_.sums_in_memory) {
        absl::StrAppend(&names[j], "[", place, "]");
        continue;
      }
      memory.push_back(
          absl::StrCat("p", sum.params[j], "[sums + ", PointOf(loop, true).inner, "]"));
      out_.Line(ToAbsl(CudaType(sum.reduce.dtypes[j])), " ", names[j], " = row == first ? ",
                CudaLiteral(sum.reduce.dtypes[j], sum.reduce.init[j]), " : ", memory[j], ";");
    }
    out_.Line(CombineCall(sum.reduce, names, in), ";");
    for (size_t j = 0; j < memory.size(); ++j) out_.Line(memory[j], " = ", names[j], ";");
  }
}

// Four f32s are one store: alone, each would be a transaction.
void Emitter::StoreColumnSums() {
  const CudaSchedule& s = schedule_;
  const std::string points = SizeText(inner_points_, false);
  const bool whole = Divides(s.vec, inner_points_), quads = whole && s.vec % 4 == 0;
  out_.Line("#pragma unroll");
  out_.Block("for (int i = 0; i < ", s.items, "; ++i)");
  out_.Line("const ", index_type_, " c = (i * ", s.threads_per_row, "u + lane) * ", s.vec, "u;");
  out_.Line("#pragma unroll");
  out_.Block("for (int j = 0; j < ", s.vec, "; j += ", quads ? 4 : 1, ")");
  out_.Block("if (c + j < ", points, ")");
  EachColumnSum([&](const PlanReduce& reduce, const std::vector<int>& params,
                    const std::vector<std::string>& names) {
    for (size_t k = 0; k < names.size(); ++k) {
      auto element = [&](int j) {
        return absl::StrCat(names[k], "[i * ", s.vec, " + j", j == 0 ? "" : absl::StrCat(" + ", j),
                            "]");
      };
      const std::string at = absl::StrCat("p", params[k], " + sums + c + j");
      if (quads && reduce.dtypes[k] == DType::kF32) {
        out_.Line("*(jf_f32x4*)(", at, ") = jf_f32x4{{", element(0), ", ", element(1), ", ",
                  element(2), ", ", element(3), "}};");
        continue;
      }
      for (int j = 0; j < (quads ? 4 : 1); ++j)
        out_.Line("*(", at, j == 0 ? "" : absl::StrCat(" + ", j), ") = ", element(j), ";");
    }
  });
  for (int closed = 0; closed < 3; ++closed) out_.End();
}

}  // namespace jitfuse::internal
