#include "jit/precache.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ir/support/status.h"
#include "ir/support/threads.h"
#include "jit/compile.h"
#include "jit/product_choices.h"

namespace jitfuse::internal {
namespace {

// Of one job on one target, in the order in which plans need them.
struct Collected {
  absl::Status status;
  std::vector<WantedKernel> kernels;
  int64_t products = 0;
};

absl::StatusOr<EmittedGraph> AddKernels(const PrecacheJob& job, const Options& options,
                                        const PrecacheTarget& target, Collected* out) {
  JF_ASSIGN_OR_RETURN(EmittedGraph emitted,
                      EmitGraph(*job.graph, job.cls, options, *target.backend));
  for (KernelSource& source : emitted.sources) {
    CacheKey key = KeyOf(source, target.backend->name());
    key.toolchain = target.toolchain;
    out->kernels.push_back({std::move(source), std::move(key), target.backend});
  }
  return emitted;
}

// What computes a held value, as HeldValues::ComputeOne calls it: a job of its own. `least_align`:
// of what it reads.
absl::StatusOr<PrecacheJob> JobOf(const HeldSlot& slot, const PrecacheJob& job, int least_align) {
  std::vector<std::vector<int64_t>> dims, strides;
  std::vector<TensorView> views;
  for (size_t i = 0; i < slot.inputs.size(); ++i) {
    const TensorType& type = slot.graph.type({slot.graph.inputs()[i], 0});
    const Layout& layout = job.cls.inputs[static_cast<size_t>(slot.inputs[i])];
    dims.push_back(EvalDims(type.dims, {}));
    strides.push_back(EvalDims(layout.strides, job.cls.symbols));
    const int align = std::max(layout.align, least_align);  // all that counts of an address
    views.push_back(
        {reinterpret_cast<const void*>(static_cast<uintptr_t>(align)), type.dtype, {}, {}});
  }
  for (size_t i = 0; i < views.size(); ++i) {
    views[i].dims = dims[i];
    views[i].strides = strides[i];
  }
  PrecacheJob out;
  out.graph = std::make_shared<const Graph>(slot.graph);
  JF_ASSIGN_OR_RETURN(out.cls, ClassifyCall(slot.graph, ComputeShapeFacts(slot.graph), views, {},
                                            job.options.dynamic));
  out.options = job.options;
  return out;
}

// Held values by their keys, each once.
using HeldSlots = std::map<std::string, HeldSlot>;

// The kernels of each plan that calls of the job may have.
absl::StatusOr<PlannedGraph> AddPlans(const PrecacheJob& job, const PrecacheTarget& target,
                                      Collected* out, HeldSlots* held) {
  const auto add = [&](const Options& options) -> absl::StatusOr<PlannedGraph> {
    JF_ASSIGN_OR_RETURN(EmittedGraph emitted, AddKernels(job, options, target, out));
    for (HeldSlot& slot : emitted.held) {
      if (!slot.graph.outputs().empty()) held->try_emplace(slot.key.ToHex(), std::move(slot));
    }
    return std::move(emitted.planned);
  };
  JF_ASSIGN_OR_RETURN(PlannedGraph planned, add(job.options));
  for (std::vector<ProductChoice>& choices : OtherChoices(planned.graph, planned.fusion)) {
    Options options = job.options;
    options.products = std::move(choices);
    JF_RETURN_IF_ERROR(add(options).status());
  }
  return planned;
}

absl::Status Collect(const PrecacheJob& job, const PrecacheTarget& target, Collected* out) {
  const TargetKind kind = target.backend->target().kind;
  if (job.cuda_only && kind != TargetKind::kCuda) return absl::OkStatus();
  HeldSlots held, none;
  JF_ASSIGN_OR_RETURN(const PlannedGraph planned, AddPlans(job, target, out, &held));
  for (const Group& group : planned.fusion.groups)
    out->products += group.kind == GroupKind::kGemm ? 1 : 0;
  // With Dynamic::kAll a class knows the alignment of its worst input alone.
  const bool more_aligned = job.options.dynamic == Dynamic::kAll;
  for (const auto& [key, slot] : held) {
    for (const int least_align : more_aligned ? std::vector<int>{1, 16} : std::vector<int>{1}) {
      JF_ASSIGN_OR_RETURN(const PrecacheJob once, JobOf(slot, job, least_align));
      JF_RETURN_IF_ERROR(AddPlans(once, target, out, &none).status());
    }
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
  out.by_job.resize(jobs.size());
  absl::flat_hash_map<std::string, size_t> places;  // by key
  for (size_t i = 0; i < collected.size(); ++i) {
    const PrecacheTarget& target = targets[i % targets.size()];
    if (!collected[i].status.ok())
      return Annotate(collected[i].status, absl::StrCat(jobs[i / targets.size()].where, ": for ",
                                                        target.backend->target().arch));
    out.products += target.again ? 0 : collected[i].products;
    std::vector<size_t>& needed = out.by_job[i / targets.size()];
    for (WantedKernel& kernel : collected[i].kernels) {
      const auto [place, fresh] = places.try_emplace(kernel.key.Hash().ToHex(), out.kernels.size());
      needed.push_back(place->second);
      if (fresh) out.kernels.push_back(std::move(kernel));
    }
  }
  for (std::vector<size_t>& needed : out.by_job) {
    std::sort(needed.begin(), needed.end());
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  }
  return out;
}

}  // namespace jitfuse::internal
