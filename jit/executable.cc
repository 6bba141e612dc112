#include "jit/executable.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr int64_t kArenaAlign = 256;

int64_t RoundUp(int64_t v, int64_t to) { return (v + to - 1) / to * to; }

// Whatever the library has against a chosen algorithm, it has one of its own.
absl::StatusOr<std::shared_ptr<const PreparedGemm>> Prepare(const Backend& backend,
                                                            const GemmProblem& problem,
                                                            const GemmStep& step,
                                                            const std::string& algorithm,
                                                            std::vector<Note>* notes) {
  if (!algorithm.empty()) {
    absl::StatusOr<std::shared_ptr<const PreparedGemm>> chosen =
        backend.PrepareGemmWith(problem, algorithm);
    if (chosen.ok()) return chosen;
    notes->push_back({-1, Reason::kTuneRefused,
                      absl::StrCat("product ", step.product, ": ", chosen.status().message())});
  }
  return step.held_b ? backend.PreparePackedGemm(problem) : backend.PrepareGemm(problem);
}

absl::StatusOr<BoundGemm> BindGemm(const Backend& backend, const GemmStep& step,
                                   absl::Span<const int64_t> symbols, int align,
                                   const std::string& algorithm, std::vector<Note>* notes) {
  BoundGemm out;
  const GemmProblem problem = ProblemOf(step.call, symbols, align);
  if (problem.batch == 0 || problem.m == 0 || problem.n == 0) return out;
  if (problem.k == 0) {  // sums of nothing; the result is dense
    out.zero_bytes = static_cast<size_t>(problem.batch * problem.m * problem.n) *
                     static_cast<size_t>(ItemSize(problem.result()));
    return out;
  }
  CompileGate gate;
  JF_ASSIGN_OR_RETURN(out.gemm, Prepare(backend, problem, step, algorithm, notes));
  return out;
}

absl::Status BindGemms(const Executable& exe, absl::Span<const int64_t> symbols, int align,
                       const BindOptions& options, BoundCall* bound, size_t* workspace) {
  if (options.failed_gemm != nullptr) *options.failed_gemm = -1;
  bound->gemms.reserve(exe.gemms.size());
  for (size_t i = 0; i < exe.gemms.size(); ++i) {
    const auto product = static_cast<size_t>(exe.gemms[i].product);
    absl::StatusOr<BoundGemm> gemm =
        BindGemm(*exe.backend, exe.gemms[i], symbols, align,
                 product < options.algorithms.size() ? options.algorithms[product] : std::string(),
                 &bound->tune_notes);
    if (!gemm.ok()) {
      if (options.failed_gemm != nullptr) *options.failed_gemm = static_cast<int>(i);
      return gemm.status();
    }
    if (gemm->gemm != nullptr) *workspace = std::max(*workspace, gemm->gemm->workspace_bytes());
    bound->gemms.push_back(*std::move(gemm));
  }
  return absl::OkStatus();
}

void BindSorts(const Executable& exe, absl::Span<const int64_t> symbols, BoundCall* bound,
               size_t* workspace) {
  bound->sorts.reserve(exe.sorts.size());
  for (const SortStep& step : exe.sorts) {
    bound->sorts.push_back(Concrete(step.call, symbols));
    *workspace = std::max(
        *workspace, static_cast<size_t>(exe.backend->SortWorkspaceBytes(bound->sorts.back())));
  }
}

// With the workspace behind it.
int64_t ArenaBytes(int64_t slots, int64_t workspace) {
  return workspace == 0 ? slots : RoundUp(slots, kArenaAlign) + workspace;
}

// Of the executable's two plans the smaller: what is packed around fewer buffers need not be less.
// -> what follows them in `sizes`.
const int64_t* PlaceSlots(const Executable& exe, int64_t workspace, BoundCall* bound) {
  const std::vector<int64_t>& sizes = bound->sizes;
  const size_t lent_bytes = exe.memory.offsets.size();
  const size_t unlent = lent_bytes + 1, unlent_bytes = unlent + exe.unlent.offsets.size();
  bound->first_slot = sizes[lent_bytes] <= sizes[unlent_bytes] ? 0 : unlent;
  const int64_t slots = std::min(sizes[lent_bytes], sizes[unlent_bytes]);
  bound->workspace_offset = RoundUp(slots, kArenaAlign);
  bound->arena_bytes = ArenaBytes(slots, workspace);
  return sizes.data() + unlent_bytes + 1;
}

}  // namespace

GemmProblem ProblemOf(const GemmCall& call, absl::Span<const int64_t> symbols, int align) {
  GemmProblem problem = Concrete(call, symbols);
  // `align` is that of the least aligned buffer of the call, maybe one of smaller elements.
  problem.align = std::max({align, static_cast<int>(ItemSize(problem.dtype)),
                            static_cast<int>(ItemSize(problem.result()))});
  return problem;
}

// In this order: slots and arena of the one plan and of the other, results, kernels.
void PlanSizes(Executable* exe) {
  SizePlan plan;
  for (const MemoryPlan* memory : {&exe->memory, &exe->unlent}) {
    for (const SizeExpr& offset : memory->offsets) plan.Add(offset);
    plan.Add(memory->total_bytes);
  }
  for (const TensorType& type : exe->outputs) {
    for (const Dim& d : type.dims) plan.Add(d);
  }
  for (KernelStep& step : exe->kernels) {
    step.sizes = plan.Add(step.source.grid);
    for (const SizeExpr* size : {&step.source.rows, &step.source.cols, &step.source.bytes_per_row})
      plan.Add(*size);
    for (const SizeExpr& arg : step.source.size_args) plan.Add(arg);
  }
  exe->sizes = std::move(plan);
}

absl::StatusOr<std::shared_ptr<BoundCall>> Bind(std::shared_ptr<const Executable> executable,
                                                absl::Span<const int64_t> symbols, int align,
                                                const BindOptions& options) {
  const Executable& exe = *executable;
  auto bound = std::make_shared<BoundCall>();
  bound->align = align;
  size_t workspace = 0;
  JF_RETURN_IF_ERROR(BindGemms(exe, symbols, align, options, bound.get(), &workspace));
  BindSorts(exe, symbols, bound.get(), &workspace);
  bound->sizes = exe.sizes.Eval(symbols);
  const int64_t* next = PlaceSlots(exe, static_cast<int64_t>(workspace), bound.get());
  bound->output_dims.reserve(exe.outputs.size());
  for (const TensorType& type : exe.outputs) {
    const int64_t* end = next + type.dims.size();
    bound->output_dims.push_back(std::make_shared<const std::vector<int64_t>>(next, end));
    next = end;
  }
  bound->eval_work = exe.eval_cost.Of(symbols);
  bound->symbols.assign(symbols.begin(), symbols.end());
  bound->executable = std::move(executable);
  return bound;
}

int64_t MostArenaBytes(const BoundCall& call) {
  return ArenaBytes(call.executable->most_bytes.Eval(call.symbols),
                    std::max<int64_t>(0, call.arena_bytes - call.workspace_offset));
}

}  // namespace jitfuse::internal
