#include "jit/precache.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/support/status.h"
#include "ir/support/threads.h"
#include "jit/compile.h"

namespace jitfuse::internal {
namespace {

// Of one job on one target, in the order in which plans need them.
struct Collected {
  absl::Status status;
  std::vector<WantedKernel> kernels;
  int64_t products = 0;
};

size_t NumProducts(const Graph& graph) {
  size_t out = 0;
  for (NodeId id = 0; id < graph.size(); ++id) out += graph.node(id).kind() == OpKind::kMatMul;
  return out;
}

// Plans that a call may come to have in place of the first one (jit/tune.cc, CallCache::BindWith).
std::vector<std::vector<ProductChoice>> OtherChoices(const PlannedGraph& planned) {
  bool any_epilogue = false, padded = false;
  for (const Group& group : planned.fusion.groups)
    any_epilogue = any_epilogue || (group.gemm && !group.gemm->epilogue.empty());
  for (const Note& note : planned.fusion.notes)
    padded = padded || note.reason == Reason::kGemmPadded;
  const size_t products = NumProducts(planned.graph);
  std::vector<std::vector<ProductChoice>> out;
  if (any_epilogue) {
    for (auto epilogue : {ProductChoice::Epilogue::kSums, ProductChoice::Epilogue::kNone})
      out.emplace_back(products).assign(products, {epilogue});
  }
  if (padded)
    out.emplace_back(products).assign(
        products, {ProductChoice::Epilogue::kAll, false, ProductChoice::Padding::kNever});
  return out;
}

absl::StatusOr<PlannedGraph> AddKernels(const PrecacheJob& job, const Options& options,
                                        const PrecacheTarget& target, Collected* out) {
  JF_ASSIGN_OR_RETURN(EmittedGraph emitted,
                      EmitGraph(*job.graph, job.cls, options, *target.backend));
  for (KernelSource& source : emitted.sources) {
    CacheKey key = KeyOf(source, target.backend->name());
    key.toolchain = target.toolchain;
    out->kernels.push_back({std::move(source), std::move(key), target.backend});
  }
  return std::move(emitted.planned);
}

absl::Status Collect(const PrecacheJob& job, const PrecacheTarget& target, Collected* out) {
  const TargetKind kind = target.backend->target().kind;
  if (job.cuda_only && kind != TargetKind::kCuda) return absl::OkStatus();
  JF_ASSIGN_OR_RETURN(const PlannedGraph planned, AddKernels(job, job.options, target, out));
  for (const Group& group : planned.fusion.groups)
    out->products += group.kind == GroupKind::kGemm ? 1 : 0;
  for (std::vector<ProductChoice>& choices : OtherChoices(planned)) {
    Options options = job.options;
    options.products = std::move(choices);
    JF_RETURN_IF_ERROR(AddKernels(job, options, target, out).status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<WantedKernels> CollectKernels(absl::Span<const PrecacheJob> jobs,
                                             absl::Span<const PrecacheTarget> targets) {
  std::vector<Collected> collected(jobs.size() * targets.size());
  std::atomic<size_t> next{0};
  RunWithHelpers(static_cast<int>(std::min<size_t>(collected.size(), INT_MAX)), [&] {
    for (size_t i = next.fetch_add(1); i < collected.size(); i = next.fetch_add(1))
      collected[i].status =
          Collect(jobs[i / targets.size()], targets[i % targets.size()], &collected[i]);
  });
  WantedKernels out;
  absl::flat_hash_set<std::string> seen;
  for (size_t i = 0; i < collected.size(); ++i) {
    const PrecacheTarget& target = targets[i % targets.size()];
    if (!collected[i].status.ok())
      return Annotate(collected[i].status, absl::StrCat(jobs[i / targets.size()].where, ": for ",
                                                        target.backend->target().arch));
    out.products += target.again ? 0 : collected[i].products;
    for (WantedKernel& kernel : collected[i].kernels) {
      if (seen.insert(kernel.key.Hash().ToHex()).second) out.kernels.push_back(std::move(kernel));
    }
  }
  return out;
}

}  // namespace jitfuse::internal
