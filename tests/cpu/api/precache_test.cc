// Pre-caching for CPUs: a target finds all of its kernels without LLVM's code generation, and the
// same manifest gives the same bytes.
#include "api/precache.h"

#include <sys/stat.h>

#include <clocale>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/jitfuse.h"
#include "cpu_backend/cpu_backend.h"
#include "cpu_backend/orc_compile.h"
#include "tests/test_util/cache_kit.h"
#include "tests/test_util/fresh_process.h"

namespace jitfuse {
namespace {

using internal::CodegenInitializations;
using internal::EntryFiles;
using internal::PassesInAFreshProcess;
using internal::ReadFile;
using internal::TempFolder;
using internal::WriteFile;
using testing::HasSubstr;

constexpr const char* kSoftmax =
    "graph s(%x: $T[n,m]) -> ($T[n,m]) { %0 = softmax(%x) : $T[n,m] return %0 }";
constexpr const char* kLayer =
    R"(graph layer(%x: $T[n,16], %w: $T[16,8], %b: $T[8]) -> ($T[n,8]) {
  %0 = matmul(%x, %w) : $T[n,8]
  %1 = add(%0, %b) : $T[n,8]
  %2 = relu(%1) : $T[n,8]
  %3 = layer_norm(%2) : $T[n,8]
  return %3
}
)";
// Of which exp is computed once where w is bound, and by nothing else.
constexpr const char* kPositive =
    "graph positive(%x: $T[n,16], %w: $T[16,8]) -> ($T[n,8]) {\n"
    "  %0 = exp(%w) : $T[16,8]\n  %1 = matmul(%x, %0) : $T[n,8]\n"
    "  %2 = tanh(%1) : $T[n,8]\n  return %2 }";
constexpr const char* kDropout =
    "graph d(%x: f32[n], %rng_seed: scalar u64, %rng_offset: scalar u64) -> (f32[n]) {\n"
    "  %0 = dropout(%x, %rng_seed, %rng_offset) {p=0.5, stream=0} : f32[n]\n  return %0 }";
constexpr const char* kManifest = R"({"jitfuse_manifest": 1, "entries": [
  {"graph": "softmax.jf", "dtypes": {"T": ["f32", "bf16"]},
   "calls": [{"sizes": {"n": [1, {"from": 2, "to": 64, "times": 2}], "m": [64, 50]}}]},
  {"graph": "layer.jf", "dtypes": {"T": ["f32", "bf16"]}, "calls": [{"sizes": {"n": [3]}},
    {"sizes": {"n": [3]}, "inputs": {"x": {"strides": [32, 1], "align": 4}}}]},
  {"graph": "layer.jf", "dtypes": {"T": ["f32", "bf16"]}, "bound": ["w", "b"],
   "calls": [{"sizes": {"n": [3]}}]},
  {"graph": "positive.jf", "dtypes": {"T": ["f32", "bf16"]}, "bound": ["w"],
   "calls": [{"sizes": {"n": [3]}}]}]})";

std::string WriteAll(const TempFolder& folder) {
  WriteFile(folder / "softmax.jf", kSoftmax);
  WriteFile(folder / "layer.jf", kLayer);
  WriteFile(folder / "positive.jf", kPositive);
  WriteFile(folder / "m.json", kManifest);
  return folder / "m.json";
}

std::map<std::string, std::string> BytesOf(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.is_regular_file())
      out[std::filesystem::relative(file.path(), folder).string()] = ReadFile(file.path().string());
  }
  return out;
}

PrecacheOptions For(std::vector<std::string> archs) {
  PrecacheOptions out;
  out.archs = std::move(archs);
  return out;
}

std::string ErrorOf(const std::string& manifest, const std::string& out,
                    const PrecacheOptions& options) {
  return Precache(manifest, out, options).status().message();
}

Array Zeros(DType dtype, const std::vector<std::int64_t>& dims) {
  std::size_t n = 1;
  for (std::int64_t d : dims) n *= static_cast<std::size_t>(d);
  return *Array::FromValues(dtype, dims, std::vector<double>(n, 0.5));
}

std::string WithDType(std::string text, const std::string& dtype) {
  for (std::size_t at = text.find("$T"); at != std::string::npos; at = text.find("$T"))
    text.replace(at, 2, dtype);
  return text;
}

void CallBound(const Function& f, DType dtype,
               const std::vector<std::pair<std::string, Array>>& arrays) {
  const auto bound = f.Bind(arrays);
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  const auto made = bound->Run({Zeros(dtype, {9, 16})});
  EXPECT_TRUE(made.ok()) << made.status().message();
}

// The calls of the manifest, as an application makes them.
void CallAll() {
  CompileOptions options;
  options.device = DeviceKind::kCpu;
  for (DType dtype : {DType::kF32, DType::kBF16}) {
    const auto f = CompileText(WithDType(kSoftmax, DTypeName(dtype)), options);
    ASSERT_TRUE(f.ok()) << f.status().message();
    for (std::int64_t n : {1, 7, 1000}) {
      for (std::int64_t m : {48, 62}) {
        const auto made = f->Run({Zeros(dtype, {n, m})});
        EXPECT_TRUE(made.ok()) << made.status().message();
      }
    }
    const Array w = Zeros(dtype, {16, 8}), b = Zeros(dtype, {8});
    const auto layer = CompileText(WithDType(kLayer, DTypeName(dtype)), options);
    ASSERT_TRUE(layer.ok()) << layer.status().message();
    const auto made = layer->Run({Zeros(dtype, {5, 16}), w, b});
    EXPECT_TRUE(made.ok()) << made.status().message();
    CallBound(*layer, dtype, {{"w", w}, {"b", b}});
    const auto positive = CompileText(WithDType(kPositive, DTypeName(dtype)), options);
    ASSERT_TRUE(positive.ok()) << positive.status().message();
    CallBound(*positive, dtype, {{"w", w}});
  }
}

TEST(PrecacheChild, DISABLED_FindsAll) {
  CallAll();
  EXPECT_EQ(TotalStats().compiled, 0);
  EXPECT_GT(TotalStats().layer_hits, 5);
  EXPECT_EQ(CodegenInitializations(), 0);
}
TEST(PrecacheChild, DISABLED_Records) { CallAll(); }
TEST(PrecacheChild, DISABLED_Writes) {
  setlocale(LC_ALL, "");
  const auto report = Precache(std::getenv("JF_TEST_MANIFEST"), std::getenv("JF_TEST_OUT"),
                               For({"cpu:x86-64-v2", "x86-64-v3", "cpu:x86-64-v4"}));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_GT(report->kernels.size(), 12u);
  EXPECT_GT(report->products, 0);
}

std::map<std::string, std::string> Target(const std::string& layer, const std::string& own) {
  return {{"JITFUSE_NO_CACHE", "0"},
          {"JITFUSE_CACHE_PATH", layer},
          {"JITFUSE_CACHE_DIR", own},
          {"JITFUSE_REQUIRE_CACHE", "1"}};
}

TEST(PrecacheTest, ATargetFindsEveryKernel) {
  const TempFolder folder, own;
  const std::string manifest = WriteAll(folder), out = folder / "layer";
  EXPECT_TRUE(PassesInAFreshProcess("PrecacheChild.DISABLED_Writes",
                                    {{"JF_TEST_MANIFEST", manifest}, {"JF_TEST_OUT", out}}));
  const std::string moved = folder / "moved";
  std::filesystem::rename(out, moved);
  // ONEDNN_MAX_CPU_ISA: oneDNN as on a machine that has no more.
  for (const char* isa : {"ALL", "AVX2"}) {
    for (const char* arch : {"x86-64-v2", "x86-64-v3"}) {
      auto environment = Target(moved, own.path);
      environment["JITFUSE_CPU_ARCH"] = arch;
      environment["ONEDNN_MAX_CPU_ISA"] = isa;
      EXPECT_TRUE(PassesInAFreshProcess("PrecacheChild.DISABLED_FindsAll", environment))
          << arch << ", oneDNN for " << isa;
    }
  }
  EXPECT_TRUE(EntryFiles(own.path).empty());
}

TEST(PrecacheTest, TheSameBytesFromAnotherFolderCoresCpuAndLocale) {
  const TempFolder a, b;
  const std::string one = WriteAll(a), two = WriteAll(b);
  EXPECT_TRUE(PassesInAFreshProcess("PrecacheChild.DISABLED_Writes", {{"JF_TEST_MANIFEST", one},
                                                                      {"JF_TEST_OUT", a / "layer"},
                                                                      {"JITFUSE_NUM_THREADS", "1"},
                                                                      {"LC_ALL", "C"}}));
  EXPECT_TRUE(
      PassesInAFreshProcess("PrecacheChild.DISABLED_Writes", {{"JF_TEST_MANIFEST", two},
                                                              {"JF_TEST_OUT", b / "elsewhere"},
                                                              {"JITFUSE_NUM_THREADS", "4"},
                                                              {"LC_ALL", "de_DE.UTF-8"},
                                                              {"ONEDNN_MAX_CPU_ISA", "AVX2"},
                                                              {"TZ", "Asia/Tokyo"}}));
  const auto bytes = BytesOf(a / "layer");
  EXPECT_GT(bytes.size(), 12u);
  EXPECT_EQ(bytes, BytesOf(b / "elsewhere"));
}

TEST(PrecacheTest, WhatAnApplicationCompilesIsRecorded) {
  const TempFolder folder, own;
  const std::string manifest = folder / "recorded.json", out = folder / "layer";
  EXPECT_TRUE(PassesInAFreshProcess("PrecacheChild.DISABLED_Records",
                                    {{"JITFUSE_RECORD", manifest}, {"JITFUSE_NO_CACHE", "1"}}));
  const std::string once = ReadFile(manifest);
  EXPECT_THAT(once, HasSubstr("\"bound\""));
  EXPECT_TRUE(PassesInAFreshProcess("PrecacheChild.DISABLED_Records",
                                    {{"JITFUSE_RECORD", manifest}, {"JITFUSE_NO_CACHE", "1"}}));
  EXPECT_EQ(ReadFile(manifest), once);
  const auto report = Precache(manifest, out, For({"cpu:x86-64-v3"}));
  ASSERT_TRUE(report.ok()) << report.status().message();
  auto environment = Target(out, own.path);
  environment["JITFUSE_CPU_ARCH"] = "x86-64-v3";
  EXPECT_TRUE(PassesInAFreshProcess("PrecacheChild.DISABLED_FindsAll", environment));
}

TEST(PrecacheTest, TheReportSaysWhatWasMade) {
  const TempFolder folder;
  const std::string manifest = WriteAll(folder), out = folder / "layer";
  long long told = 0;
  PrecacheOptions options = For({"cpu:x86-64-v3"});
  options.progress = [&](const PrecacheProgress& at) {
    EXPECT_EQ(at.done, ++told);
    EXPECT_EQ(at.arch, "x86-64-v3");
  };
  const auto first = Precache(manifest, out, options);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first->graphs, 6);
  EXPECT_EQ(told, static_cast<long long>(first->kernels.size()));
  EXPECT_EQ(first->compilers, std::vector<std::string>{"llvm-" + internal::LlvmVersion()});
  for (const PrecachedKernel& k : first->kernels) {
    EXPECT_GT(k.code_bytes, 0);
    EXPECT_GE(k.compile_ms, 0);
    EXPECT_EQ(k.registers, -1);
    EXPECT_TRUE(std::filesystem::exists(out + "/" + k.file)) << k.file;
  }
  told = 0;
  const auto second = Precache(manifest, out, options);
  ASSERT_TRUE(second.ok()) << second.status().message();
  for (const PrecachedKernel& k : second->kernels) EXPECT_EQ(k.compile_ms, -1);
}

TEST(PrecacheTest, ADiffNamesWhatALayerLacks) {
  const TempFolder folder;
  const std::string manifest = WriteAll(folder), out = folder / "layer";
  WriteFile(folder / "less.json",
            R"({"jitfuse_manifest": 1, "entries": [{"graph": "layer.jf",
               "dtypes": {"T": ["f32"]}, "calls": [{"sizes": {"n": 2}}]}]})");
  const auto report = Precache(folder / "less.json", out, For({"cpu:x86-64-v3"}));
  ASSERT_TRUE(report.ok()) << report.status().message();
  const auto same = DiffLayer(out, folder / "less.json");
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_EQ(same->archs, std::vector<std::string>{"x86-64-v3"});
  EXPECT_EQ(same->wanted, static_cast<long long>(report->kernels.size()));
  EXPECT_TRUE(same->missing.empty());
  const auto more = DiffLayer(out, manifest);
  ASSERT_TRUE(more.ok()) << more.status().message();
  EXPECT_GT(more->missing.size(), 3u);
  EXPECT_EQ(more->missing[0].arch, "x86-64-v3");
  const auto other = DiffLayer(out, folder / "less.json", For({"cpu:x86-64-v2"}));
  EXPECT_EQ(static_cast<long long>(other->missing.size()), other->wanted);
  EXPECT_THAT(DiffLayer(folder.path, manifest).status().message(),
              HasSubstr("no architectures were given"));
}

// Entry, dtypes, sizes and architecture, for calls that lack something alone.
TEST(PrecacheTest, DTypesOfANameThatStandsNowhereAreRefused) {
  const TempFolder folder;
  WriteAll(folder);
  PrecacheOptions options = For({"x86-64-v3"});
  options.trace = [](const PythonCall&) -> StatusOr<TracedCall> {
    return Status(StatusCode::kInternal, "not to be traced");
  };
  for (const auto& [what, where] :
       {std::pair(R"("graph": "softmax.jf")", "softmax.jf"),
        std::pair(R"("text": "graph g(%x: $T[n]) -> ($T[n]) { return %x }")", "the text"),
        std::pair(R"("python": "m:f", "args": ["x:$T[n]", "$f32x"])", "args")}) {
    WriteFile(folder / "m.json", std::string(R"({"jitfuse_manifest": 1, "entries": [{)") + what +
                                     R"(, "dtypes": {"T": ["f32"], "f32": ["f16", "bf16"]}, )" +
                                     R"("calls": [{"sizes": {"n": 2, "m": 3}}]}]})");
    const auto diff = DiffLayer(folder / "layer", folder / "m.json", options);
    EXPECT_EQ(diff.status().message(), folder / "m.json" +
                                           ": /entries/0/dtypes/f32: expected $f32 in " + where +
                                           ", where it stands for f16");
  }
}

// A Python function is traced for each size, and its sizes are told once for each class too.
TEST(PrecacheTest, ADiffNamesOneSizeOfEachClassOfATracedFunction) {
  const TempFolder folder;
  WriteFile(folder / "m.json", R"({"jitfuse_manifest": 1, "entries": [{"python": "m:f", )"
                               R"("args": ["x:f32[n]"], "calls": [{"sizes": )"
                               R"({"n": [{"from": 2, "to": 40}, 1]}}]}]})");
  PrecacheOptions options = For({"x86-64-v3"});
  int traced = 0;
  options.trace = [&](const PythonCall& call) -> StatusOr<TracedCall> {
    ++traced;
    return TracedCall{
        "graph g(%x: f32[n]) -> (f32[n]) { %0 = sin(%x) : f32[n] return %0 }", call.sizes, {}};
  };
  const auto diff = DiffLayer(folder / "layer", folder / "m.json", options);
  ASSERT_TRUE(diff.ok()) << diff.status().message();
  EXPECT_EQ(traced, 40);
  ASSERT_EQ(diff->incomplete.size(), 1u);
  const auto& sizes = diff->incomplete[0].sizes;
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_EQ(sizes[0].at("n"), 2);
  EXPECT_EQ(sizes[1].at("n"), 1);
}

TEST(PrecacheTest, ADiffSaysWhichCallsLackKernels) {
  const TempFolder folder;
  WriteAll(folder);
  const auto manifest = [&](const char* file, const char* dtypes, const char* sizes) {
    WriteFile(
        folder / file,
        std::string(R"({"jitfuse_manifest": 1, "entries": [{"graph": "softmax.jf", "dtypes": )") +
            R"({"T": ["f32")" + dtypes + R"(]}, "calls": [{"sizes": {"n": 2, "m": 64}})" + sizes +
            R"(]}, {"text": "graph g(%x: f32[n]) -> (f32[n]) { %0 = sin(%x) : )" +
            R"(f32[n] return %0 }", "calls": [{"sizes": {"n": 3}}]}]})");
    return folder / file;
  };
  const std::string out = folder / "layer";
  ASSERT_TRUE(Precache(manifest("less.json", "", ""), out, For({"x86-64-v3"})).ok());
  const std::string more =
      manifest("m.json", R"(, "bf16")", R"(, {"sizes": {"n": [5, 1, 2], "m": 50}})");
  const auto diff = DiffLayer(out, more);
  ASSERT_TRUE(diff.ok()) << diff.status().message();
  using Sizes = std::map<std::string, std::int64_t>;
  struct Want {
    const char *call, *dtype;
    std::vector<Sizes> sizes;
  };
  const std::vector<Want> wanted = {
      {"/entries/0/calls/1", "f32", {{{"m", 50}, {"n", 5}}, {{"m", 50}, {"n", 1}}}},
      {"/entries/0/calls/0", "bf16", {{{"m", 64}, {"n", 2}}}},
      {"/entries/0/calls/1", "bf16", {{{"m", 50}, {"n", 5}}, {{"m", 50}, {"n", 1}}}}};
  ASSERT_EQ(diff->incomplete.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const IncompleteCalls& calls = diff->incomplete[i];
    EXPECT_EQ(calls.where, more + ": " + wanted[i].call);
    EXPECT_EQ(calls.graph, "softmax.jf");
    EXPECT_EQ(calls.dtypes, (std::map<std::string, std::string>{{"T", wanted[i].dtype}}));
    EXPECT_EQ(calls.sizes, wanted[i].sizes) << i;
    EXPECT_EQ(calls.arch, "x86-64-v3");
    EXPECT_EQ(calls.missing, static_cast<long long>(wanted[i].sizes.size())) << i;
    EXPECT_EQ(calls.wanted, calls.missing);
  }
  // Of the other architecture all is missing, also for graphs that are text.
  const auto other = DiffLayer(out, folder / "less.json", For({"x86-64-v3", "x86-64-v2"}));
  ASSERT_TRUE(other.ok()) << other.status().message();
  ASSERT_EQ(other->incomplete.size(), 2u);
  for (const IncompleteCalls& calls : other->incomplete) EXPECT_EQ(calls.arch, "x86-64-v2");
  EXPECT_EQ(other->incomplete[1].graph, "g");
  EXPECT_EQ(other->incomplete[1].sizes, (std::vector<Sizes>{{{"n", 3}}}));
  EXPECT_TRUE(other->incomplete[1].dtypes.empty());
}

TEST(PrecacheTest, ADiffSaysWhyALayerWouldNotBeUsed) {
  const TempFolder folder;
  const std::string manifest = WriteAll(folder), out = folder / "layer";
  ASSERT_TRUE(Precache(manifest, out, For({"cpu:x86-64-v3"})).ok());
  const std::string entry = EntryFiles(out)[0];
  ASSERT_EQ(chmod(entry.c_str(), 0666), 0);
  const auto one = DiffLayer(out, manifest);
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_EQ(one->missing.size(), 1u);
  EXPECT_EQ(one->unused, std::vector<std::string>{entry + ": everyone may write to it"});
  EXPECT_EQ(one->refused, "");
  ASSERT_EQ(chmod(out.c_str(), 0777), 0);
  const auto all = DiffLayer(out, manifest);
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(static_cast<long long>(all->missing.size()), all->wanted);
  EXPECT_THAT(all->refused, HasSubstr(out + ": everyone may write to it"));
}

TEST(PrecacheTest, ADiffFindsTheExactCpuThatALayerIsFor) {
  const TempFolder folder;
  const std::string manifest = WriteAll(folder), out = folder / "layer";
  const auto report = Precache(manifest, out, For({"cpu:host"}));
  ASSERT_TRUE(report.ok()) << report.status().message();
  const auto diff = DiffLayer(out, manifest);
  ASSERT_TRUE(diff.ok()) << diff.status().message();
  EXPECT_EQ(diff->archs, std::vector<std::string>{internal::CpuTargetFor("host")->arch});
  EXPECT_EQ(diff->wanted, static_cast<long long>(report->kernels.size()));
  EXPECT_TRUE(diff->missing.empty());
  WriteFile(out + "/index.json", R"({"kernels": [{"arch": "pentium-m"}]})");
  EXPECT_THAT(DiffLayer(out, manifest).status().message(),
              HasSubstr("what another exact CPU needs can be planned on it alone"));
}

TEST(PrecacheTest, RandomOpsHaveAFormForGraphsOnGpusAlone) {
  const TempFolder folder;
  WriteFile(folder / "d.jf", kDropout);
  WriteFile(folder / "m.json", R"({"jitfuse_manifest": 1, "entries": [{"graph": "d.jf",
            "calls": [{"sizes": {"n": 8}}]}]})");
  const auto cpu = Precache(folder / "m.json", folder / "cpu", For({"cpu:x86-64-v3"}));
  ASSERT_TRUE(cpu.ok()) << cpu.status().message();
  EXPECT_EQ(cpu->kernels.size(), 1u);
}

TEST(PrecacheTest, WrongRequestsAreClear) {
  const TempFolder folder;
  const std::string manifest = WriteAll(folder), out = folder / "layer";
  EXPECT_THAT(ErrorOf(manifest, out, For({"sm_99"})),
              testing::AllOf(HasSubstr("unknown architecture 'sm_99'; known: sm_75, sm_80"),
                             HasSubstr("cpu:x86-64-v4"), HasSubstr("CUDA driver here: "),
                             HasSubstr("NVRTC here: ")));
  EXPECT_THAT(ErrorOf(manifest, out, For({"cpu:sm_90"})), HasSubstr("unknown architecture"));
  EXPECT_THAT(ErrorOf(manifest, out, For({"interpret"})), HasSubstr("unknown architecture"));
  EXPECT_THAT(ErrorOf(manifest, out, For({})), HasSubstr("expected at least one architecture"));
  PrecacheOptions cuda = For({"sm_90"});
  cuda.cuda = 11;
  EXPECT_THAT(ErrorOf(manifest, out, cuda), HasSubstr("CUDA 11: expected 12 or 13"));
  EXPECT_THAT(ErrorOf(folder / "none.json", out, For({"x86-64-v3"})),
              HasSubstr("cannot read " + (folder / "none.json")));
  EXPECT_EQ(ErrorOf(folder.path, out, For({"x86-64-v3"})),
            "cannot read " + folder.path + ": it is a directory");
  EXPECT_THAT(ErrorOf(manifest, "", For({"x86-64-v3"})), HasSubstr("expected a folder to write"));
  WriteFile(folder / "p.json", R"({"jitfuse_manifest": 1, "entries": [{"python": "a:f"}]})");
  EXPECT_THAT(ErrorOf(folder / "p.json", out, For({"x86-64-v3"})),
              testing::AllOf(HasSubstr("p.json: /entries/0/python: 'a:f' is a Python function"),
                             HasSubstr("pip install .")));
  WriteFile(folder / "n.json", R"({"jitfuse_manifest": 1, "entries": [{"graph": "no.jf"}]})");
  EXPECT_THAT(ErrorOf(folder / "n.json", out, For({"x86-64-v3"})),
              HasSubstr("n.json: /entries/0/graph: cannot read"));
  WriteFile(folder / "d.json", R"({"jitfuse_manifest": 1, "entries": [{"graph": "/tmp"}]})");
  EXPECT_EQ(ErrorOf(folder / "d.json", out, For({"x86-64-v3"})),
            (folder / "d.json") + ": /entries/0/graph: cannot read /tmp: it is a directory");
  EXPECT_THAT(DiffLayer(out, folder / "d.json", For({"x86-64-v3"})).status().message(),
              HasSubstr("d.json: /entries/0/graph: cannot read /tmp: it is a directory"));
  WriteFile(folder / "s.json", R"({"jitfuse_manifest": 1, "entries": [{"graph": "layer.jf",
            "dtypes": {"T": ["f32"]}, "calls": [{"sizes": {"n": 2, "k": 3}}]}]})");
  EXPECT_THAT(ErrorOf(folder / "s.json", out, For({"x86-64-v3"})),
              HasSubstr("s.json: /entries/0/calls/0: graph layer has no symbol 'k'"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace jitfuse
