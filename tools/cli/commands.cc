#include "commands.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "inputs.h"
#include "jitfuse/inspect.h"
#include "jitfuse/jitfuse.h"

namespace jitfuse_cli {
namespace {

using jitfuse::Array;
using jitfuse::Device;
using jitfuse::DeviceKind;
using jitfuse::Function;
using jitfuse::Status;
using jitfuse::StatusCode;
using jitfuse::StatusOr;

constexpr std::size_t kShownElements = 8;

// A graph, ready to be called with arrays on its device.
struct Loaded {
  std::string text;
  Function function;
  std::vector<Array> host, inputs;
  jitfuse::RunOptions options;
  jitfuse::Numerics numerics = jitfuse::Numerics::kDefault;  // that it was compiled with
};

Device DeviceOf(const Function& f) {
  return Device{f.device() == DeviceKind::kCuda ? DeviceKind::kCuda : DeviceKind::kCpu, 0};
}

Status In(const Source& source, const Status& status) {
  return Status(status.code(), source.where + ":" + status.message());
}

StatusOr<Loaded> Load(const Args& args, const Source& source) {
  Loaded out;
  out.text = source.text;
  auto infos = jitfuse::ParseInputs(out.text);
  if (!infos.ok()) return In(source, infos.status());
  auto function = jitfuse::CompileText(out.text, source.options);
  if (!function.ok()) return function.status();
  out.function = *function;
  out.numerics = source.options.numerics;
  auto host = MakeInputs(out.text, args.inputs, source.symbols, source.given);
  if (!host.ok()) return host.status();
  out.host = host->arrays;
  // What is said on the command line goes before what a file has.
  out.options.rng.seed = args.seed.value_or(host->seed.value_or(0));
  out.options.rng.offset = args.offset.value_or(host->offset.value_or(0));
  for (std::size_t i = 0; i < out.host.size(); ++i) {
    auto there = (*infos)[i].scalar ? StatusOr<Array>(out.host[i])
                                    : out.host[i].CopyTo(DeviceOf(out.function));
    if (!there.ok()) return there.status();
    out.inputs.push_back(*there);
  }
  return out;
}

std::string DimsText(const std::vector<std::int64_t>& dims) {
  std::string out = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) out += (i > 0 ? "," : "") + std::to_string(dims[i]);
  return out + "]";
}

StatusOr<Array> ToCpu(const Array& a) {
  return a.device().kind == DeviceKind::kCpu ? StatusOr<Array>(a) : a.CopyTo(Device{});
}

Status PrintResult(std::size_t i, const Array& result) {
  auto values = result.ToVector();
  if (!values.ok()) return values.status();
  std::printf("output %zu: %s%s", i, jitfuse::DTypeName(result.dtype()),
              DimsText(result.dims()).c_str());
  for (std::size_t k = 0; k < std::min(kShownElements, values->size()); ++k)
    std::printf("%s%.9g", k == 0 ? " = " : ", ", (*values)[k]);
  std::printf("%s\n", values->size() > kShownElements ? ", ..." : "");
  return Status();
}

Status PrintChecks(const Loaded& loaded, const std::vector<Array>& results) {
  auto checks =
      jitfuse::Check(loaded.text, loaded.host, results, loaded.options.rng, loaded.numerics);
  if (!checks.ok()) return checks.status();
  bool ok = true;
  for (std::size_t i = 0; i < checks->size(); ++i) {
    const jitfuse::CheckResult& c = (*checks)[i];
    // The element with the largest error in ulp need not be the one nearest its bound.
    std::printf("check output %zu: %s, largest error %.3g ulp", i, c.ok ? "ok" : "FAILED",
                c.max_ulp);
    if (c.sampled)
      std::printf(" (of %lld of %lld elements: comparing all would take too long)", c.compared,
                  c.elements);
    if (!c.where.empty())
      std::printf("; %s its bound (%.3g of it): %s", c.ok ? "nearest to" : "farthest beyond",
                  c.max_bound, c.where.c_str());
    std::printf("\n");
    ok = ok && c.ok;
  }
  return ok ? Status()
            : Status(
                  StatusCode::kInternal,
                  "the results differ from the reference evaluator's by more than its error bound");
}

// What the library found when it compared the calls itself (--verify).
void PrintVerified(const Function& f) {
  for (const jitfuse::VerifyReport& r : f.stats().verify) {
    std::printf("verify: %lld calls compared, %lld of them wrong; %lld skipped%s%s\n", r.verified,
                r.mismatches, r.skipped, r.skip_reason.empty() ? "" : ": ", r.skip_reason.c_str());
    for (std::size_t o = 0; o < r.outputs.size(); ++o) {
      const jitfuse::VerifyOutput& out = r.outputs[o];
      std::printf(
          "verify output %zu: difference at most %.3g (%.3g of the bound), on average %.3g (%.3g "
          "of it); %lld elements compared, %lld in a call%s\n",
          o, out.max_difference, out.max_of_bound, out.mean_difference, out.mean_of_bound,
          out.compared, out.elements, r.sampled > 0 ? " (a sample)" : "");
      for (const std::string& checksum : out.checksums)
        std::printf("verify output %zu: checksum %s\n", o, checksum.c_str());
    }
    if (r.fallback)
      std::printf("verify: %lld calls answered by the evaluator (verify_fallback): %s\n",
                  r.fallback_calls, r.first_mismatch.c_str());
    for (const std::string& command : r.reproducers)
      std::printf("verify: reproduce it with: %s\n", command.c_str());
  }
}

double Median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// Median seconds of one call. Calls are batched so that a sample lasts about a millisecond at
// least.
StatusOr<double> TimeCall(const Function& f, const std::vector<Array>& inputs, int repeat,
                          const jitfuse::RunOptions& options = {}) {
  using Clock = std::chrono::steady_clock;
  auto outputs = f.Run(inputs, options);
  if (!outputs.ok()) return outputs.status();
  std::vector<double> samples;
  int batch = 1;
  for (int warm = 3; static_cast<int>(samples.size()) < repeat;) {
    auto start = Clock::now();
    for (int i = 0; i < batch; ++i) {
      if (Status s = f.RunInto(inputs, *outputs, options); !s.ok()) return s;
    }
    if (Status s = jitfuse::Synchronize(f.device()); !s.ok()) return s;
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (seconds < 1e-3 && batch < 4096) {
      batch *= 2;
    } else if (warm > 0) {
      --warm;
    } else {
      samples.push_back(seconds / batch);
    }
  }
  return Median(samples);
}

double TotalBytes(const std::vector<Array>& arrays) {
  double bytes = 0;
  for (const Array& a : arrays)
    bytes += static_cast<double>(a.num_elements()) * jitfuse::ItemSize(a.dtype());
  return bytes;
}

// GB/s (read plus written) of Jitfuse's own copy of as many bytes on the same device.
StatusOr<double> CopyRate(const Function& f, double bytes, int repeat,
                          const jitfuse::CompileOptions& options) {
  auto n = std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes / 8));
  jitfuse::Builder b("copy");
  jitfuse::CompileOptions same = options;
  same.device = f.device();
  auto copy = b.Compile({b.Input("x", jitfuse::DType::kF32, {"n"})}, same);
  if (!copy.ok()) return copy.status();
  auto host = Array::Empty(jitfuse::DType::kF32, {n});
  if (!host.ok()) return host.status();
  for (std::int64_t i = 0; i < n; ++i)
    static_cast<float*>(host->data())[i] = static_cast<float>(i % 1000);
  auto x = host->CopyTo(DeviceOf(f));
  if (!x.ok()) return x.status();
  auto seconds = TimeCall(*copy, {*x}, repeat);
  if (!seconds.ok()) return seconds.status();
  return 8.0 * static_cast<double>(n) / *seconds * 1e-9;
}

}  // namespace

Status CheckArgs(const Args& args, bool can_trace) {
  if (Status s = CheckEntry(args.file, args.arguments, can_trace); !s.ok()) return s;
  auto symbols = ParseSets(args.sets);
  if (!symbols.ok()) return symbols.status();
  if (Status s = CheckSource(args.inputs, *symbols); !s.ok()) return s;
  if (args.json && (args.stage != "groups" || !args.arch.empty()))
    return Status(StatusCode::kInvalidArgument,
                  "--json: expected neither --arch nor a --stage other than groups; JSON is of the "
                  "groups on this machine");
  return Status();
}

StatusOr<Source> ReadSource(const Args& args, const Tracer& tracer) {
  auto symbols = ParseSets(args.sets);
  if (!symbols.ok()) return symbols.status();
  auto source = ReadSource({args.file, args.arguments, *symbols, kDefaultSize}, tracer);
  if (!source.ok()) return source;
  jitfuse::CompileOptions& options = source->options;
  if (args.options.device != DeviceKind::kAuto) options.device = args.options.device;
  options.fuse &= args.options.fuse;
  options.rewrite &= args.options.rewrite;
  options.use_gemm_library &= args.options.use_gemm_library;
  options.autotune |= args.options.autotune;
  if (args.numerics) options.numerics = *args.numerics;
  if (args.verify) options.verify = *args.verify;
  if (args.options.verify_action != jitfuse::VerifyAction::kError)
    options.verify_action = args.options.verify_action;
  return source;
}

namespace {

Status RunUntraced(const Args& args, const Source& source) {
  auto loaded = Load(args, source);
  if (!loaded.ok()) return loaded.status();
  auto results = loaded->function.Run(loaded->inputs, loaded->options);
  for (long long i = 1; i < source.options.verify && results.ok(); ++i)
    results = loaded->function.Run(loaded->inputs, loaded->options);
  if (!results.ok()) {
    PrintVerified(loaded->function);
    return results.status();
  }
  std::vector<Array> host;
  for (std::size_t i = 0; i < results->size(); ++i) {
    auto there = ToCpu((*results)[i]);
    if (!there.ok()) return there.status();
    if (Status s = PrintResult(i, *there); !s.ok()) return s;
    host.push_back(*there);
  }
  PrintVerified(loaded->function);
  return args.check ? PrintChecks(*loaded, host) : Status();
}

// What the kernels take of a GPU that need not be here; what keeps them from being compiled is no
// error of explaining the groups.
void PrintResources(const Args& args, const Source& source, const std::vector<Array>& shapes) {
  auto text = jitfuse::SourceOf(source.text, shapes, "resources", args.arch, source.options);
  std::printf("%s",
              text.ok() ? text->c_str() : ("resources: " + text.status().message() + "\n").c_str());
}

}  // namespace

Status Run(const Args& args, const Source& source) {
  if (args.trace.empty()) return RunUntraced(args, source);
  if (Status s = jitfuse::StartTrace(args.trace); !s.ok()) return s;
  const Status ran = RunUntraced(args, source);
  const Status stopped = jitfuse::StopTrace();
  return ran.ok() ? stopped : ran;
}

Status Explain(const Args& args, const Source& source) {
  auto shapes = MakeShapes(source.text, source.symbols);
  if (!shapes.ok()) return In(source, shapes.status());
  if (args.stage != "groups" || !args.arch.empty()) {
    auto stage = jitfuse::SourceOf(source.text, *shapes, args.stage, args.arch, source.options);
    if (!stage.ok()) return stage.status();
    std::printf("%s", stage->c_str());
    if (args.stage == "groups") PrintResources(args, source, *shapes);
    return Status();
  }
  auto function = jitfuse::CompileText(source.text, source.options);
  if (!function.ok()) return function.status();
  auto explained = args.json ? function->ExplainJson(*shapes) : function->Explain(*shapes);
  if (!explained.ok()) return explained.status();
  std::printf("%s%s", explained->c_str(), args.json ? "\n" : "");
  return Status();
}

Status Text(const Source& source) {
  auto text = jitfuse::FormatText(source.text);
  if (!text.ok()) return In(source, text.status());
  std::printf("%s", text->c_str());
  return Status();
}

Status Bench(const Args& args, const Source& source) {
  auto loaded = Load(args, source);
  if (!loaded.ok()) return loaded.status();
  auto results = loaded->function.Run(loaded->inputs, loaded->options);
  if (!results.ok()) return results.status();
  double bytes = TotalBytes(loaded->inputs) + TotalBytes(*results);
  auto seconds = TimeCall(loaded->function, loaded->inputs, args.repeat, loaded->options);
  if (!seconds.ok()) return seconds.status();
  auto copy = CopyRate(loaded->function, bytes, args.repeat, source.options);
  if (!copy.ok()) return copy.status();
  double rate = bytes / *seconds * 1e-9;
  std::printf("latency   %.3f us (median of %d)\n", *seconds * 1e6, args.repeat);
  std::printf("bytes     %.0f (each input read once, each output written once)\n", bytes);
  std::printf("rate      %.2f GB/s\n", rate);
  std::printf("copy      %.2f GB/s (as many bytes, same device, same run)\n", *copy);
  std::printf("share     %.1f%% of the copy\n", 100 * rate / *copy);
  return Status();
}

void PrintStats() {
  const jitfuse::Stats s = jitfuse::TotalStats();
  std::printf(
      "stats: %lld executables made, %lld found; %lld kernels compiled in %.1f ms, %lld found in "
      "memory, %lld on disk, %lld in layers, %lld entries healed; %lld calls verified, "
      "%lld of them wrong; %lld keys tuned\n",
      s.compiles, s.class_hits, s.compiled, s.compile_ms, s.memory_hits, s.disk_hits, s.layer_hits,
      s.healed, s.verified, s.mismatches, s.tuned);
  for (const auto& [name, count] : s.fallbacks)
    std::printf("stats: fallback %s %lld\n", name.c_str(), count);
  for (const auto& [name, count] : s.boundaries)
    std::printf("stats: boundary %s %lld\n", name.c_str(), count);
}

namespace {

// "one; two" a line each, after `title`; lines are broken at blanks before column 100.
void PrintSteps(const char* title, const std::string& text) {
  constexpr std::size_t kIndent = 22, kWidth = 100 - kIndent;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find("; ", at), text.size());
    std::size_t next = std::min(end + 2, text.size());
    if (end - at > kWidth) {
      std::size_t blank = text.rfind(' ', at + kWidth);
      if (blank == std::string::npos || blank <= at) blank = text.find(' ', at);
      if (blank < end) next = (end = blank) + 1;
    }
    std::printf("%*s%-*s%s\n", 12, "", static_cast<int>(kIndent) - 12, title,
                text.substr(at, end - at).c_str());
    title = "";
    at = next;
  }
}

}  // namespace

Status Doctor() {
  std::printf("jitfuse %s\n", jitfuse::Version());
  for (const jitfuse::Finding& f : jitfuse::Doctor()) {
    if (f.found) {
      std::printf("%-12s found    %s  %s\n", f.what.c_str(), f.version.c_str(), f.where.c_str());
      continue;
    }
    std::printf("%-12s missing\n", f.what.c_str());
    PrintSteps("searched", f.where);
    PrintSteps("get it", f.remedy);
  }
  return Status();
}

}  // namespace jitfuse_cli
