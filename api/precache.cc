#include "api/precache.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "api/context.h"
#include "api/convert.h"
#include "cpu_backend/cpu_backend.h"
#include "ir/rng.h"
#include "ir/support/status.h"
#include "ir/support/text_file.h"
#include "ir/text.h"
#include "jit/cuda/cubin_info.h"
#include "jit/cuda/cuda_backend.h"
#include "jit/cuda/dynlib.h"
#include "jit/manifest.h"
#include "jit/manifest_calls.h"
#include "jit/precache.h"

namespace jitfuse {
namespace internal {
namespace {

// Calls of an entry with one choice of dtypes, and the jobs of their classes with the sizes that
// these stand for.
struct AskedCalls {
  std::string where, graph;
  std::map<std::string, std::string> dtypes;
  std::vector<std::pair<size_t, std::map<std::string, int64_t>>> jobs;  // each once
  std::set<size_t> known;                                               // of these
};

// What the jobs of a manifest are made with.
struct Jobs {
  std::vector<PrecacheJob> all;  // each class once
  std::vector<AskedCalls> asked;
  int64_t graphs = 0;
};

Options OptionsOf(const ManifestEntry& entry, Options options) {
  options.numerics = entry.numerics.value_or(options.numerics);
  options.fuse = entry.fuse.value_or(options.fuse);
  options.rewrite = entry.rewrite.value_or(options.rewrite);
  options.use_gemm_library = entry.use_gemm_library.value_or(options.use_gemm_library);
  options.max_fusions = entry.max_fusions.value_or(options.max_fusions);
  options.dynamic = entry.dynamic.value_or(options.dynamic);
  return options;
}

class JobMaker {
 public:
  JobMaker(std::string manifest, const PythonTracer& trace)
      : manifest_(std::move(manifest)), trace_(trace) {}

  absl::StatusOr<Jobs> Run() {
    JF_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(manifest_));
    JF_ASSIGN_OR_RETURN(const Manifest manifest, ParseManifest(text, manifest_));
    for (const ManifestEntry& entry : manifest.entries) {
      for (const auto& dtypes : DTypeCombinations(entry)) {
        JF_RETURN_IF_ERROR(entry.source == ManifestSource::kPython ? AddPython(entry, dtypes)
                                                                   : AddText(entry, dtypes));
      }
    }
    return std::move(jobs_);
  }

 private:
  using DTypes = std::map<std::string, std::string>;
  using Sizes = std::map<std::string, int64_t>;

  absl::Status AddText(const ManifestEntry& entry, const DTypes& dtypes) {
    std::string text = entry.what;
    if (entry.source == ManifestSource::kFile) {
      const std::filesystem::path path =
          std::filesystem::path(manifest_).parent_path() / entry.what;
      absl::StatusOr<std::string> read = ReadTextFile(path.string());
      if (!read.ok()) return Annotate(read.status(), absl::StrCat(entry.where, "/graph"));
      text = *std::move(read);
    }
    JF_RETURN_IF_ERROR(CheckNames(entry, dtypes, text,
                                  entry.source == ManifestSource::kFile ? entry.what : "the text"));
    return AddCalls(entry, entry.calls, WithDTypes(text, dtypes), Options(), {dtypes});
  }

  // With a name that stands nowhere each of its dtypes would be the same.
  static absl::Status CheckNames(const ManifestEntry& entry, const DTypes& dtypes,
                                 const std::string& text, std::string_view where) {
    for (const auto& [name, dtype] : dtypes) {
      if (WithDTypes(text, {{name, ""}}) == text)
        return InvalidArgument(entry.where, "/dtypes/", name, ": expected $", name, " in ",
                               ToAbsl(where), ", where it stands for ", dtype);
    }
    return absl::OkStatus();
  }

  // The function is traced as a call with each combination of sizes does it.
  absl::Status AddPython(const ManifestEntry& entry, const DTypes& dtypes) {
    if (trace_ == nullptr)
      return Unimplemented(
          entry.where, "/python: '", entry.what,
          "' is a Python function, which this program cannot trace; the Python package's jitfuse "
          "can: pip install . in a clone (docs/python_install.md), then run that jitfuse, or "
          "python "
          "-m jitfuse, with the same arguments");
    JF_RETURN_IF_ERROR(CheckNames(entry, dtypes, absl::StrJoin(entry.args, "\n"), "args"));
    PythonCall call{entry.what, {}, {}};
    for (const std::string& arg : entry.args) call.arguments.push_back(WithDTypes(arg, dtypes));
    for (const ManifestCall& of : entry.calls) {
      if (!of.inputs.empty() || !of.outputs.empty())
        return InvalidArgument(of.where,
                               ": layouts are for graphs, whose inputs have names; "
                               "JITFUSE_RECORD finds those that an application uses");
      JF_RETURN_IF_ERROR(TraceEach(entry, of, of.sizes.begin(), dtypes, &call));
    }
    return absl::OkStatus();
  }

  using SizesAt = std::map<std::string, std::vector<int64_t>>::const_iterator;
  // NOLINTNEXTLINE(misc-no-recursion): as deep as a call has symbols
  absl::Status TraceEach(const ManifestEntry& entry, const ManifestCall& of, SizesAt at,
                         const DTypes& dtypes, PythonCall* call) {
    if (at != of.sizes.end()) {
      for (const int64_t size : at->second) {
        call->sizes[at->first] = size;
        JF_RETURN_IF_ERROR(TraceEach(entry, of, std::next(at), dtypes, call));
      }
      call->sizes.erase(at->first);
      return absl::OkStatus();
    }
    StatusOr<TracedCall> traced = trace_(*call);
    if (!traced.ok()) return Annotate(FromPublic(traced.status()), of.where);
    ManifestCall made;
    made.where = of.where;
    for (const auto& [symbol, size] : traced->sizes) made.sizes[symbol] = {size};
    return AddCalls(entry, {made}, traced->text, FromPublic(traced->options),
                    {dtypes, &call->sizes});
  }

  // What calls are made of, as the manifest says it.
  struct Asking {
    const DTypes& dtypes;
    const Sizes* sizes = nullptr;  // of a Python call; else those of the graph's symbols
  };

  absl::Status AddCalls(const ManifestEntry& entry, const std::vector<ManifestCall>& calls,
                        const std::string& text, const Options& options, const Asking& asking) {
    absl::StatusOr<Graph> parsed = ParseGraph(text);
    if (!parsed.ok())
      return Annotate(parsed.status(), entry.source == ManifestSource::kFile
                                           ? absl::StrCat(entry.where, ": ", entry.what)
                                           : entry.where);
    if (texts_.insert(text).second) ++jobs_.graphs;
    auto graph = std::make_shared<const Graph>(*std::move(parsed));
    const Options own = OptionsOf(entry, options);
    JF_RETURN_IF_ERROR(AddClasses(entry, calls, graph, own, /*cuda_only=*/false, asking));
    if (RngRolesOf(*graph).empty()) return absl::OkStatus();
    JF_ASSIGN_OR_RETURN(Graph from_memory, RngFromMemory(*graph));
    return AddClasses(entry, calls, std::make_shared<const Graph>(std::move(from_memory)), own,
                      /*cuda_only=*/true, asking);
  }

  absl::Status AddClasses(const ManifestEntry& entry, const std::vector<ManifestCall>& calls,
                          const std::shared_ptr<const Graph>& graph, const Options& options,
                          bool cuda_only, const Asking& asking) {
    for (const ManifestCall& call : calls) {
      JF_ASSIGN_OR_RETURN(std::vector<ClassOfCalls> classes,
                          ClassesOf(graph, call, entry.bound, options.dynamic));
      AskedCalls& asked = AskedOf(entry, call, graph->name(), asking.dtypes);
      for (ClassOfCalls& c : classes) {
        const std::string key = absl::StrCat(c.graph->Fingerprint().ToHex(), options.Key().ToHex(),
                                             absl::StrJoin(c.cls.bound_inputs, ""), c.cls.key);
        const auto [known, fresh] = classes_.try_emplace(key, jobs_.all.size());
        if (asked.known.insert(known->second).second)  // each call of a Python function is traced
          asked.jobs.emplace_back(known->second, asking.sizes ? *asking.sizes : std::move(c.sizes));
        if (fresh)
          jobs_.all.push_back(
              {std::move(c.graph), std::move(c.cls), options, call.where, cuda_only});
      }
    }
    return absl::OkStatus();
  }

  AskedCalls& AskedOf(const ManifestEntry& entry, const ManifestCall& call,
                      const std::string& graph, const DTypes& dtypes) {
    const auto [place, fresh] =
        asked_.try_emplace(std::pair(call.where, dtypes), jobs_.asked.size());
    if (fresh)
      jobs_.asked.push_back(
          {call.where, entry.source == ManifestSource::kText ? graph : entry.what, dtypes, {}, {}});
    return jobs_.asked[place->second];
  }

  const std::string manifest_;
  const PythonTracer& trace_;
  std::set<std::string> texts_;
  std::map<std::string, size_t> classes_;                   // among jobs_.all
  std::map<std::pair<std::string, DTypes>, size_t> asked_;  // among jobs_.asked
  Jobs jobs_;
};

// What this machine has to compile with, for messages.
std::string CompilersHere() {
  std::vector<std::string> out;
  for (const LibraryFinding& finding : CudaFindings()) {
    if (finding.what != "CUDA driver" && finding.what != "NVRTC") continue;
    out.push_back(absl::StrCat(finding.what, " here: ", finding.found ? finding.version : "none"));
  }
  return absl::StrJoin(out, ", ");
}

absl::StatusOr<Target> TargetNamed(const std::string& arch) {
  const absl::string_view name = absl::StripPrefix(arch, "cpu:");
  JF_ASSIGN_OR_RETURN(Target host, CpuTargetFor("host"));
  if (name == "host" || name == host.arch) return host;
  absl::StatusOr<Target> target = TargetFor(ToStd(name));
  const bool cpu_wanted = name.size() != arch.size();
  if (target.ok() && target->kind != TargetKind::kInterpret &&
      (!cpu_wanted || target->kind == TargetKind::kCpu))
    return target;
  return InvalidArgument(
      "unknown architecture '", arch, "'; known: ", absl::StrJoin(KnownCudaArchs(), ", "),
      ", cpu:x86-64-v2, cpu:x86-64-v3, cpu:x86-64-v4, cpu:host, which is ", host.arch,
      " (what another exact CPU needs can be planned on it alone; ", CompilersHere(), ")");
}

// Back ends for the architectures, and what their compilers are called.
struct Targets {
  std::vector<std::unique_ptr<Backend>> backends;
  std::vector<PrecacheTarget> all;
};

absl::Status AddCudaTarget(const Target& target, int cuda, bool compiles, Targets* out) {
  if (compiles) JF_RETURN_IF_ERROR(CheckOfflineCompiler(target, cuda));
  JF_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend, CreateOfflineCudaBackend(target, cuda));
  const std::string toolchain = compiles ? ToolchainName(backend->CompilerId()) : "";
  out->all.push_back({backend.get(), toolchain});
  out->backends.push_back(std::move(backend));
  return absl::OkStatus();
}

// Of a level: as where oneDNN multiplies bf16 and, below AVX-512, as where it does not, whatever it
// does here. This machine's exact CPU is that of machines where it does the same.
absl::Status AddCpuTarget(const Target& target, bool host, bool compiles, Targets* out) {
  std::vector<std::optional<bool>> bf16_products;
  bf16_products.push_back(host ? std::nullopt : std::optional<bool>(true));
  if (!host && target.vec_bits < 512) bf16_products.push_back(false);
  for (const std::optional<bool> bf16 : bf16_products) {
    JF_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend,
                        CreateCpuBackendFor(host ? "host" : target.arch, bf16));
    const std::string toolchain = compiles ? ToolchainName(backend->CompilerId()) : "";
    out->all.push_back({backend.get(), toolchain, bf16 == false});
    out->backends.push_back(std::move(backend));
  }
  return absl::OkStatus();
}

absl::StatusOr<Targets> TargetsFor(const std::vector<std::string>& archs, int cuda, bool compiles) {
  if (cuda != 0 && cuda != 12 && cuda != 13)
    return InvalidArgument("CUDA ", cuda, ": expected 12 or 13 (", CompilersHere(), ")");
  if (archs.empty())
    return InvalidArgument("expected at least one architecture, such as sm_90 or cpu:x86-64-v3");
  Targets out;
  JF_ASSIGN_OR_RETURN(const Target here, CpuTargetFor("host"));
  std::set<std::string> seen;
  for (const std::string& arch : archs) {
    JF_ASSIGN_OR_RETURN(const Target target, TargetNamed(arch));
    if (!seen.insert(target.arch).second) continue;
    const bool host = target.arch == here.arch;
    JF_RETURN_IF_ERROR(target.kind == TargetKind::kCuda
                           ? AddCudaTarget(target, cuda, compiles, &out)
                           : AddCpuTarget(target, host, compiles, &out));
  }
  return out;
}

void ReadCodeFigures(const CacheEntry& entry, LayerKernel* out) {
  const absl::StatusOr<Target> target = TargetFor(entry.key.arch);
  if (entry.key.backend != "cuda" || !target.ok()) return;
  KernelSource source;
  source.entry = entry.symbol;
  source.arch = entry.key.arch;
  CompiledKernel compiled;
  compiled.bytes = entry.code;
  compiled.log = entry.log;
  const KernelResources resources = ResourcesOfCubin(source, compiled, *target);
  out->registers = static_cast<int>(resources.registers);
  out->local_bytes = static_cast<int>(resources.local_bytes);
  if (resources.spill_stores >= 0) out->spill_bytes = static_cast<int>(resources.spill_stores);
}

std::function<void(const LayerProgress&)> Telling(const PrecacheOptions& options) {
  if (options.progress == nullptr) return nullptr;
  return [&options](const LayerProgress& at) {
    options.progress({static_cast<long long>(at.done), static_cast<long long>(at.total),
                      static_cast<long long>(at.compiled), at.last->entry, at.last->arch});
  };
}

absl::StatusOr<std::string> Absolute(const std::string& folder) {
  std::error_code failed;
  const std::filesystem::path out = std::filesystem::absolute(folder, failed);
  if (failed)
    return InvalidArgument("'", folder, "': expected a folder to write to: ", failed.message());
  return out.lexically_normal().string();
}

absl::StatusOr<PrecacheReport> RunPrecache(const std::string& manifest, const std::string& out,
                                           const PrecacheOptions& options) {
  JF_ASSIGN_OR_RETURN(const std::string folder, Absolute(out));
  JF_ASSIGN_OR_RETURN(const Targets targets, TargetsFor(options.archs, options.cuda, true));
  JF_ASSIGN_OR_RETURN(const Jobs jobs, JobMaker(manifest, options.trace).Run());
  LayerWriter layer;
  JF_RETURN_IF_ERROR(layer.Open(folder));
  JF_ASSIGN_OR_RETURN(const WantedKernels wanted, CollectKernels(jobs.all, targets.all));
  JF_ASSIGN_OR_RETURN(const std::vector<LayerKernel> kernels,
                      layer.Compile(wanted.kernels, ReadCodeFigures, Telling(options)));
  PrecacheReport report;
  JF_ASSIGN_OR_RETURN(report.deleted, layer.Finish(ReadCodeFigures, Version()));
  report.graphs = jobs.graphs;
  report.classes = static_cast<long long>(jobs.all.size());
  report.products = wanted.products;
  std::set<std::string> compilers;
  for (const LayerKernel& k : kernels) {
    compilers.insert(k.toolchain);
    report.kernels.push_back({k.kernel, k.arch, k.toolchain, k.file, k.code_bytes, k.registers,
                              k.local_bytes, k.spill_bytes, k.compile_ms});
  }
  report.compilers.assign(compilers.begin(), compilers.end());
  return report;
}

// By architecture, of what these calls need and `missing` says is not there.
std::map<std::string, IncompleteCalls> IncompleteOf(const AskedCalls& asked,
                                                    const WantedKernels& wanted,
                                                    const std::vector<bool>& missing) {
  std::map<std::string, IncompleteCalls> out;
  std::set<size_t> counted;
  std::set<std::pair<std::string, std::map<std::string, int64_t>>> told;
  for (const auto& [job, sizes] : asked.jobs) {
    for (const size_t kernel : wanted.by_job[job]) {
      const std::string& arch = wanted.kernels[kernel].source.arch;
      IncompleteCalls& calls = out.try_emplace(arch, IncompleteCalls{asked.where,
                                                                     asked.graph,
                                                                     asked.dtypes,
                                                                     {},
                                                                     arch,
                                                                     /*wanted=*/0,
                                                                     /*missing=*/0})
                                   .first->second;
      if (missing[kernel] && told.emplace(arch, sizes).second)
        calls.sizes.emplace_back(sizes.begin(), sizes.end());
      if (!counted.insert(kernel).second) continue;
      ++calls.wanted;
      calls.missing += missing[kernel] ? 1 : 0;
    }
  }
  return out;
}

absl::StatusOr<LayerDiff> RunDiff(const std::string& layer, const std::string& manifest,
                                  const PrecacheOptions& options) {
  LayerDiff out;
  out.archs = options.archs;
  if (out.archs.empty()) {
    absl::StatusOr<std::vector<std::string>> archs = ArchsOfLayer(layer);
    if (!archs.ok())
      return Annotate(archs.status(), "no architectures were given, and the layer names none");
    out.archs = *std::move(archs);
  }
  JF_ASSIGN_OR_RETURN(const Targets targets, TargetsFor(out.archs, options.cuda, false));
  JF_ASSIGN_OR_RETURN(const Jobs jobs, JobMaker(manifest, options.trace).Run());
  JF_ASSIGN_OR_RETURN(const WantedKernels wanted, CollectKernels(jobs.all, targets.all));
  out.wanted = static_cast<long long>(wanted.kernels.size());
  LayerGaps gaps = GapsIn(layer, wanted.kernels);
  std::vector<bool> missing(wanted.kernels.size());
  for (const WantedKernel* kernel : gaps.missing) {
    out.missing.push_back({kernel->source.entry, kernel->source.arch});
    missing[static_cast<size_t>(kernel - wanted.kernels.data())] = true;
  }
  for (const AskedCalls& asked : jobs.asked) {
    for (auto& [arch, calls] : IncompleteOf(asked, wanted, missing)) {
      if (calls.missing > 0) out.incomplete.push_back(std::move(calls));
    }
  }
  out.refused = std::move(gaps.refused);
  out.unused = std::move(gaps.unused);
  return out;
}

}  // namespace
}  // namespace internal

inline namespace v1 {

StatusOr<PrecacheReport> Precache(const std::string& manifest, const std::string& out,
                                  const PrecacheOptions& options) {
  return internal::ToPublic(internal::RunPrecache(manifest, out, options));
}

StatusOr<LayerDiff> DiffLayer(const std::string& layer, const std::string& manifest,
                              const PrecacheOptions& options) {
  return internal::ToPublic(internal::RunDiff(layer, manifest, options));
}

}  // namespace v1
}  // namespace jitfuse
