#include "jitfuse/precache.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "commands.h"

namespace jitfuse_cli {
namespace {

using jitfuse::PrecachedKernel;
using jitfuse::PrecacheProgress;
using jitfuse::PrecacheReport;
using jitfuse::Status;
using jitfuse::StatusCode;
using jitfuse::StatusOr;

constexpr std::size_t kShownSlowest = 5, kShownMissing = 50, kShownSizes = 8;

// On stderr: a bar with an estimate of the time that is left, or, where that is no terminal, a line
// for each tenth.
class ProgressBar {
 public:
  ~ProgressBar() {
    if (terminal_ && shown_) std::fprintf(stderr, "\r\033[K");
  }
  void Show(const PrecacheProgress& at) {
    if (at.total == 0) return;
    const auto tenth = static_cast<int>(10 * at.done / at.total);
    if (terminal_) {
      const int filled = static_cast<int>(kWidth * at.done / at.total);
      std::fprintf(stderr, "\r\033[K[%s%s] %lld of %lld kernels, %s  %.40s",
                   std::string(static_cast<std::size_t>(filled), '#').c_str(),
                   std::string(static_cast<std::size_t>(kWidth - filled), ' ').c_str(), at.done,
                   at.total, Left(at).c_str(), at.kernel.c_str());
      shown_ = true;
    } else if (tenth > tenth_) {
      std::fprintf(stderr, "%lld of %lld kernels, %s\n", at.done, at.total, Left(at).c_str());
    }
    tenth_ = std::max(tenth_, tenth);
  }

 private:
  // By the mean of those that had to be compiled; the others cost next to nothing.
  std::string Left(const PrecacheProgress& at) const {
    if (at.done == at.total) return "done";
    if (at.compiled == 0) return "all of them were there";
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    const double left =
        passed.count() / static_cast<double>(at.compiled) * static_cast<double>(at.total - at.done);
    char text[64];
    std::snprintf(text, sizeof text, "about %.0f s left", left);
    return text;
  }

  static constexpr long long kWidth = 30;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
  int tenth_ = 0;
};

jitfuse::PrecacheOptions OptionsOf(const Args& args, const Tracer& tracer) {
  jitfuse::PrecacheOptions out;
  out.archs = args.archs;
  out.cuda = args.cuda;
  if (tracer == nullptr) return out;
  out.trace = [&tracer](const jitfuse::PythonCall& call) -> StatusOr<jitfuse::TracedCall> {
    TraceRequest request;
    request.entry = call.entry;
    request.arguments = call.arguments;
    request.symbols = SymbolValues(call.sizes.begin(), call.sizes.end());
    request.default_size = kDefaultSize;
    request.as_called = true;
    auto source = tracer(request);
    if (!source.ok()) return source.status();
    return jitfuse::TracedCall{source->text, source->symbols, source->options};
  };
  return out;
}

std::string Absolute(const std::string& path) {
  std::error_code failed;
  const auto out = std::filesystem::absolute(path, failed).lexically_normal();
  return failed ? path : out.string();
}

std::string Joined(const std::vector<std::string>& words, const std::string& by = ", ") {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : by) + word;
  return out;
}

std::string SizesText(const std::map<std::string, std::int64_t>& sizes) {
  std::string out;
  for (const auto& [symbol, size] : sizes)
    out += (out.empty() ? "" : " ") + symbol + "=" + std::to_string(size);
  return out;
}

// "m.json: /entries/0/calls/1 (layer.jf, T=f32) for sm_90 lacks 2 of 3 kernels, with n=1; n=2".
std::string Describe(const jitfuse::IncompleteCalls& calls) {
  std::string out = calls.where + " (" + calls.graph;
  for (const auto& [name, dtype] : calls.dtypes) out += ", " + name + "=" + dtype;
  out += ") for " + calls.arch + " lacks " + std::to_string(calls.missing) + " of " +
         std::to_string(calls.wanted) + " kernels";
  for (std::size_t i = 0; i < std::min(calls.sizes.size(), kShownSizes); ++i) {
    if (!calls.sizes[i].empty()) out += (i == 0 ? ", with " : "; ") + SizesText(calls.sizes[i]);
  }
  if (calls.sizes.size() > kShownSizes)
    out += "; and " + std::to_string(calls.sizes.size() - kShownSizes) + " more";
  return out;
}

// At most kShownMissing, a line each.
void PrintSome(const char* head, const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < std::min(lines.size(), kShownMissing); ++i)
    std::printf("%s %s\n", head, lines[i].c_str());
  if (lines.size() > kShownMissing)
    std::printf("%s ... and %zu more\n", head, lines.size() - kShownMissing);
}

void PrintArchs(const PrecacheReport& report) {
  struct Sum {
    long long kernels = 0, bytes = 0, local = 0;
    int registers = -1;
  };
  std::map<std::string, Sum> archs;
  for (const PrecachedKernel& k : report.kernels) {
    Sum& sum = archs[k.arch];
    ++sum.kernels;
    sum.bytes += k.code_bytes;
    sum.local += k.local_bytes > 0 ? 1 : 0;
    sum.registers = std::max(sum.registers, k.registers);
  }
  for (const auto& [arch, sum] : archs) {
    std::printf("%-10s %lld kernels, %lld bytes of code", arch.c_str(), sum.kernels, sum.bytes);
    if (sum.registers >= 0)
      std::printf(", at most %d registers, %lld with spills or local memory", sum.registers,
                  sum.local);
    std::printf("\n");
  }
}

void PrintLocal(const PrecacheReport& report) {
  for (const PrecachedKernel& k : report.kernels) {
    if (k.local_bytes > 0)
      std::printf(
          "local      %s for %s: %d registers, %d bytes of local memory a thread, %d bytes "
          "spilled\n",
          k.kernel.c_str(), k.arch.c_str(), k.registers, k.local_bytes, std::max(k.spill_bytes, 0));
  }
}

void PrintSlowest(std::vector<PrecachedKernel> kernels) {
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.compile_ms > b.compile_ms; });
  kernels.resize(std::min(kernels.size(), kShownSlowest));
  for (const PrecachedKernel& k : kernels) {
    if (k.compile_ms >= 0)
      std::printf("slowest    %s for %s: %.1f ms\n", k.kernel.c_str(), k.arch.c_str(),
                  k.compile_ms);
  }
}

// `out`: the layer's folder, as any process may name it.
void PrintReport(const PrecacheReport& report, const std::string& out) {
  long long compiled = 0;
  double ms = 0;
  for (const PrecachedKernel& k : report.kernels) {
    compiled += k.compile_ms >= 0 ? 1 : 0;
    ms += std::max(k.compile_ms, 0.0);
  }
  const auto kernels = static_cast<long long>(report.kernels.size());
  std::printf("precached  %lld graphs, %lld classes of calls\n", report.graphs, report.classes);
  std::printf("kernels    %lld: %lld compiled in %.1f s of the compilers, %lld were there\n",
              kernels, compiled, ms / 1000, kernels - compiled);
  PrintSome("deleted   ", report.deleted);
  std::printf("compilers  %s\n",
              report.compilers.empty() ? "none was needed" : Joined(report.compilers).c_str());
  PrintArchs(report);
  PrintLocal(report);
  PrintSlowest(report.kernels);
  if (report.products > 0)
    std::printf(
        "products   %lld are computed by cuBLASLt or oneDNN: there is nothing to compile "
        "for them, and the target needs that library\n",
        report.products);
  std::printf("written    %s/index.json; ", out.c_str());
  if (out.find(':') == std::string::npos) {
    std::printf("where it is to be used: JITFUSE_CACHE_PATH=%s\n", out.c_str());
  } else {
    std::printf(
        "to be used it has to be in a folder without ':' in its path, since JITFUSE_CACHE_PATH "
        "separates folders by it\n");
  }
}

// The command that makes what is missing.
std::string Remedy(const Args& args, const jitfuse::LayerDiff& diff) {
  std::set<std::string> archs;
  for (const auto& kernel : diff.missing) archs.insert(kernel.arch);
  return "jitfuse precache " + args.cache_operands[1] + " --arch " +
         Joined({archs.begin(), archs.end()}, ",") +
         (args.cuda != 0 ? " --cuda " + std::to_string(args.cuda) : "") + " --out " +
         args.cache_operands[0];
}

}  // namespace

Status Precache(const Args& args, const Tracer& tracer) {
  jitfuse::PrecacheOptions options = OptionsOf(args, tracer);
  StatusOr<PrecacheReport> report = Status(StatusCode::kInternal, "not run");
  {
    ProgressBar bar;
    options.progress = [&bar](const PrecacheProgress& at) { bar.Show(at); };
    report = jitfuse::Precache(args.manifest, args.out, options);
  }
  if (!report.ok()) return report.status();
  PrintReport(*report, Absolute(args.out));
  return Status();
}

Status CacheDiff(const Args& args, const Tracer& tracer) {
  const std::string &layer = args.cache_operands[0], &manifest = args.cache_operands[1];
  const auto diff = jitfuse::DiffLayer(layer, manifest, OptionsOf(args, tracer));
  if (!diff.ok()) return diff.status();
  PrintSome("not used  ", diff->unused);
  std::vector<std::string> incomplete, missing;
  for (const auto& calls : diff->incomplete) incomplete.push_back(Describe(calls));
  PrintSome("incomplete", incomplete);
  for (const auto& kernel : diff->missing) missing.push_back(kernel.kernel + " for " + kernel.arch);
  PrintSome("missing   ", missing);
  std::printf("%lld kernels for %s, %zu of them missing\n", diff->wanted,
              Joined(diff->archs).c_str(), diff->missing.size());
  if (!diff->refused.empty())
    return Status(StatusCode::kFailedPrecondition,
                  "nothing of the layer would be used: " + diff->refused +
                      "; expected a folder that belongs to root or to the user who runs the "
                      "application, and that nobody else may write to");
  if (diff->missing.empty()) return Status();
  std::error_code failed;
  const bool there = std::filesystem::exists(layer, failed) || failed;
  return Status(StatusCode::kFailedPrecondition,
                there ? layer + " lacks kernels; " + Remedy(args, *diff) + " adds them"
                      : "there is no folder " + layer + "; " + Remedy(args, *diff) + " makes it");
}

Status RecordProgram(const Args& args) {
  setenv("JITFUSE_RECORD", Absolute(args.manifest).c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : args.program) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::fflush(stdout);
  execvp(words[0], words.data());
  return Status(StatusCode::kNotFound,
                "cannot run " + args.program[0] + ": " + std::generic_category().message(errno));
}

}  // namespace jitfuse_cli
