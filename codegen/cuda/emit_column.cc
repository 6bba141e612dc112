// Column: rows that lie side by side in memory. A block is rows_per_block threads wide and
// threads_per_row deep; a thread takes a vector of neighbouring rows and every threads_per_row'th
// inner point. What belongs to a row is an array with an element per row of the vector. A row's
// threads meet in shared memory, in a tree of fixed order, operands in the order of threads.
#include "absl/strings/str_cat.h"
#include "codegen/cuda/emit_context.h"
#include "codegen/plan/access_map.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

// A row value that differs along a vector. Vectors lie within the last parallel axis, so what does
// not depend on that one (the number of a chunk) is the same for all their rows.
void Emitter::FindColumns() {
  columns_.assign(plan_.insts.size(), false);
  if (!IsColumn() || schedule_.vec == 1) return;
  const int last = plan_.num_parallel() - 1;
  for (size_t id = 0; id < columns_.size(); ++id) {
    const Inst& i = plan_.insts[id];
    if (i.elem) continue;
    bool differs = i.kind == Inst::Kind::kResult ||
                   (i.kind == Inst::Kind::kIndex && i.axis == last) ||
                   (i.kind == Inst::Kind::kLoad && UsesAxis(LoadAccess(i), last));
    for (int in : i.in) differs = differs || (in >= 0 && columns_[static_cast<size_t>(in)]);
    columns_[id] = differs;
  }
}

void Emitter::EachColumn(const std::function<void(const Point&)>& body) {
  if (!IsColumn() || schedule_.vec == 1) {
    body({"row", ""});
    return;
  }
  out_.Line("#pragma unroll");
  out_.Block("for (int j = 0; j < ", schedule_.vec, "; ++j)");
  column_ = "[j]";
  body({"(row + j)", ""});
  column_.clear();
  out_.End();
}

void Emitter::ColumnPrologue() {
  const CudaSchedule& s = schedule_;
  const std::string block =
      plan_.offset_bits == 32 ? "blockIdx.x" : "(unsigned long long)blockIdx.x";
  out_.Line("const unsigned lane = threadIdx.x / ", s.rows_per_block, "u;");
  out_.Line("const unsigned slot = threadIdx.x % ", s.rows_per_block, "u;");
  const std::string vector = absl::StrCat(block, " * ", Unsigned(s.rows_per_block), " + slot");
  LiveRow(s.vec == 1 ? vector : absl::StrCat("(", vector, ") * ", Unsigned(s.vec)),
          s.rows_per_block * s.vec);
}

void Emitter::DeclareColumnAccumulators(const Stage& stage, int number, std::string_view prefix) {
  if (stage.reduces.empty()) return;
  for (size_t r = 0; r < stage.reduces.size(); ++r) {
    const PlanReduce& reduce = stage.reduces[r];
    const auto names = Accumulators(reduce, number, static_cast<int>(r), prefix);
    for (size_t k = 0; k < names.size(); ++k)
      out_.Line(ToAbsl(CudaType(reduce.dtypes[k])), " ", names[k], "[", schedule_.vec, "];");
  }
  EachColumn([&](const Point&) {
    for (size_t r = 0; r < stage.reduces.size(); ++r) {
      const PlanReduce& reduce = stage.reduces[r];
      const auto names = Accumulators(reduce, number, static_cast<int>(r), prefix);
      for (size_t k = 0; k < names.size(); ++k)
        out_.Line(names[k], " = ", CudaLiteral(reduce.dtypes[k], reduce.init[k]), ";");
    }
  });
}

// One element alone, at its column.
void Emitter::Accumulate(const Stage& stage, int number, int r, const Loop& loop) {
  const PlanReduce& reduce = stage.reduces[static_cast<size_t>(r)];
  std::vector<std::string> in;
  for (int id : reduce.in) in.push_back(Operand(id));
  out_.Line(CombineCall(reduce, Accumulators(reduce, number, r, loop.accumulators), in), ";");
}

// m: of each thread and row of its vector, the accumulators of the threads from it on.
void Emitter::AcrossColumnThreads(const Stage& stage, int number) {
  const CudaSchedule& s = schedule_;
  const std::string base = s.vec == 1 ? "" : absl::StrCat("j * ", s.threads, " + ");
  auto names = [&](size_t r, std::string_view prefix) {
    return Accumulators(stage.reduces[r], number, static_cast<int>(r), prefix);
  };
  auto shared = [&](size_t r, const std::string& thread) {
    std::vector<std::string> out;
    for (size_t k = 0; k < stage.reduces[r].in.size(); ++k)
      out.push_back(absl::StrCat("m", number, "_", r, "_", k, "[", base, thread, "]"));
    return out;
  };
  auto assign = [&](bool publish, const std::string& thread) {
    for (size_t r = 0; r < stage.reduces.size(); ++r) {
      const auto a = names(r, "a"), m = shared(r, thread);
      for (size_t k = 0; k < a.size(); ++k)
        out_.Line(publish ? m[k] : a[k], " = ", publish ? a[k] : m[k], ";");
    }
  };
  for (size_t r = 0; r < stage.reduces.size(); ++r) {
    const auto m = names(r, "m");
    for (size_t k = 0; k < m.size(); ++k)
      out_.Line("__shared__ ", ToAbsl(CudaType(stage.reduces[r].dtypes[k])), " ", m[k], "[",
                s.vec * s.threads, "];");
  }
  EachColumn([&](const Point&) { assign(true, "threadIdx.x"); });
  out_.Line("__syncthreads();");
  out_.Line("#pragma unroll 1");
  out_.Block("for (unsigned s = 1; s < ", s.threads_per_row, "u; s *= 2)");
  out_.Block("if (lane % (2 * s) == 0)");
  EachColumn([&](const Point&) {
    for (size_t r = 0; r < stage.reduces.size(); ++r) {
      const auto next = shared(r, absl::StrCat("threadIdx.x + s * ", s.rows_per_block, "u"));
      out_.Line(CombineCall(stage.reduces[r], names(r, "a"), next), ";");
    }
    assign(true, "threadIdx.x");
  });
  out_.End();
  out_.Line("__syncthreads();");
  out_.End();
  EachColumn([&](const Point&) { assign(false, "slot"); });
}

}  // namespace jitfuse::internal
