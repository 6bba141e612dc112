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

BoundStep BindKernel(const KernelSource& source, absl::Span<const int64_t> symbols) {
  BoundStep out;
  out.sizes.reserve(source.size_args.size());
  for (const SizeExpr& e : source.size_args) out.sizes.push_back(e.Eval(symbols));
  out.grid = source.grid.Eval(symbols);
  out.rows = source.rows.Eval(symbols);
  out.cols = source.cols.Eval(symbols);
  out.bytes_per_row = source.bytes_per_row.Eval(symbols);
  return out;
}

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

absl::StatusOr<BoundStep> BindGemm(const Backend& backend, const GemmStep& step,
                                   absl::Span<const int64_t> symbols, int align,
                                   const std::string& algorithm, std::vector<Note>* notes) {
  BoundStep out;
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

// With the workspace behind it.
int64_t ArenaBytes(int64_t slots, int64_t workspace) {
  return workspace == 0 ? slots : RoundUp(slots, kArenaAlign) + workspace;
}

// Of the executable's two plans the smaller: what is packed around fewer buffers need not be less.
void PlaceSlots(const Executable& exe, absl::Span<const int64_t> symbols, int64_t workspace,
                BoundCall* bound) {
  const int64_t lent = exe.memory.total_bytes.Eval(symbols);
  const int64_t unlent = exe.unlent.total_bytes.Eval(symbols);
  const int64_t slots = std::min(lent, unlent);
  for (const SizeExpr& offset : (lent <= unlent ? exe.memory : exe.unlent).offsets)
    bound->slot_offsets.push_back(offset.Eval(symbols));
  bound->workspace_offset = RoundUp(slots, kArenaAlign);
  bound->arena_bytes = ArenaBytes(slots, workspace);
}

}  // namespace

GemmProblem ProblemOf(const GemmCall& call, absl::Span<const int64_t> symbols, int align) {
  GemmProblem problem = Concrete(call, symbols);
  // `align` is that of the least aligned buffer of the call, maybe one of smaller elements.
  problem.align = std::max({align, static_cast<int>(ItemSize(problem.dtype)),
                            static_cast<int>(ItemSize(problem.result()))});
  return problem;
}

absl::StatusOr<std::shared_ptr<BoundCall>> Bind(std::shared_ptr<const Executable> executable,
                                                absl::Span<const int64_t> symbols, int align,
                                                const BindOptions& options) {
  const Executable& exe = *executable;
  if (options.failed_gemm != nullptr) *options.failed_gemm = -1;
  auto bound = std::make_shared<BoundCall>();
  bound->steps.reserve(exe.steps.size());
  bound->align = align;
  bound->slot_offsets.reserve(exe.memory.offsets.size());
  bound->output_dims.reserve(exe.outputs.size());
  size_t workspace = 0;
  for (const Step& step : exe.steps) {
    auto i = static_cast<size_t>(step.index);
    if (step.kind == Step::Kind::kKernel) {
      bound->steps.push_back(BindKernel(exe.kernels[i].source, symbols));
      continue;
    }
    if (step.kind == Step::Kind::kSort) {
      BoundStep sort;
      sort.sort = Concrete(exe.sorts[i].call, symbols);
      workspace =
          std::max(workspace, static_cast<size_t>(exe.backend->SortWorkspaceBytes(sort.sort)));
      bound->steps.push_back(std::move(sort));
      continue;
    }
    const auto product = static_cast<size_t>(exe.gemms[i].product);
    absl::StatusOr<BoundStep> gemm =
        BindGemm(*exe.backend, exe.gemms[i], symbols, align,
                 product < options.algorithms.size() ? options.algorithms[product] : std::string(),
                 &bound->tune_notes);
    if (!gemm.ok()) {
      if (options.failed_gemm != nullptr) *options.failed_gemm = step.index;
      return gemm.status();
    }
    if (gemm->gemm != nullptr) workspace = std::max(workspace, gemm->gemm->workspace_bytes());
    bound->steps.push_back(*std::move(gemm));
  }
  PlaceSlots(exe, symbols, static_cast<int64_t>(workspace), bound.get());
  for (const TensorType& type : exe.outputs)
    bound->output_dims.push_back(
        std::make_shared<const std::vector<int64_t>>(EvalDims(type.dims, symbols)));
  bound->eval_work = exe.eval_cost.Of(symbols);
  bound->symbols.assign(symbols.begin(), symbols.end());
  bound->executable = std::move(executable);
  return bound;
}

int64_t MostArenaBytes(const BoundCall& call) {
  const Executable& exe = *call.executable;
  int64_t workspace = std::max<int64_t>(0, call.arena_bytes - call.workspace_offset);
  for (size_t s = 0; s < exe.steps.size(); ++s) {
    if (call.steps[s].gemm == nullptr) continue;
    const GemmStep& step = exe.gemms[static_cast<size_t>(exe.steps[s].index)];
    int last = ProblemOf(step.call, call.symbols, call.align).align;
    for (int align = call.align / 2; align >= 1; align /= 2) {
      const GemmProblem problem = ProblemOf(step.call, call.symbols, align);
      if (std::exchange(last, problem.align) == problem.align) continue;
      const CompileGate gate;
      const auto gemm = Prepare(*exe.backend, problem, step, "", nullptr);
      if (gemm.ok())
        workspace = std::max(workspace, static_cast<int64_t>((*gemm)->workspace_bytes()));
    }
  }
  return ArenaBytes(exe.most_bytes.Eval(call.symbols), workspace);
}

}  // namespace jitfuse::internal
