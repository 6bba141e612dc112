// Every reason code is reached: for each there is a graph that has to give it, here or, where it is
// calls that give it, in call_reasons.cc; and the page that lists them lists them all.
#include <fstream>
#include <sstream>

#include "absl/strings/str_replace.h"
#include "api/runtime.h"
#include "bench/common/plan_chain.h"
#include "gmock/gmock.h"
#include "ir/builder.h"
#include "ir/op_enum.h"
#include "jit/compile.h"
#include "tests/null/fusion/fusion_kit.h"
#include "tests/null/fusion/reason_examples.h"
#include "tests/test_util/golden.h"

namespace jitfuse::internal {
namespace {

Codes CodesOf(const FusionPlan& plan) {
  Codes out;
  for (const Boundary& b : plan.boundaries) out.emplace(ReasonName(b.reason));
  for (const Note& n : plan.notes) out.emplace(ReasonName(n.reason));
  return out;
}

// ---- Ways to get there.

// The whole pipeline before the compiler; every symbol is kChainRows.
Codes Compiled(std::string_view text, const Options& options = {}) {
  auto graph = ParseGraph(text);
  auto backend = BackendForArch(DeviceKind::kCuda, "sm_90");
  EXPECT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(backend.ok()) << backend.status();
  if (!graph.ok() || !backend.ok()) return {};
  auto call = jitfuse_bench::DenseClass(*graph);
  EXPECT_TRUE(call.ok()) << call.status();
  if (!call.ok()) return {};
  auto planned = PlanGraph(*graph, *call, options, **backend);
  EXPECT_TRUE(planned.ok()) << planned.status();
  return planned.ok() ? CodesOf(planned->fusion) : Codes();
}

template <typename T>
Options With(T Options::* option, T value) {
  Options options;
  options.*option = value;
  return options;
}

// Grouping alone, with settings and a library that no machine need have.
Codes Grouped(std::string_view text, const Setting& setting = {}) {
  return CodesOf(PlanOf(text, setting).plan);
}

Codes Product(const std::string& dtype, const Setting& setting = {}) {
  return Grouped(absl::StrCat("graph f(%a: ", dtype, "[4,8], %b: ", dtype, "[8,5]) -> (", dtype,
                              "[4,5]) {\n  %0 = matmul(%a, %b) : ", dtype, "[4,5]\n  return %0\n}"),
                 setting);
}

// A library that multiplies all dtypes and computes what its table has.
Setting TakesAll() {
  Setting setting;
  setting.library = [](DType) { return std::nullopt; };
  setting.epilogues = TakeEpilogues;
  return setting;
}

// x @ w, then `behind` ("%0 = matmul(...)" is there).
Codes Behind(const std::string& dtype, std::string_view behind, const char* inputs = "",
             const ProductChoice& choice = {}) {
  Setting setting = TakesAll();
  setting.options.products = {choice};
  std::string text = absl::StrReplaceAll(
      "graph f(%x: T[n,32], %w: T[32,64]I) -> (T[n,64]) {\n  %0 = matmul(%x, %w) : T[n,64]\n",
      {{"T", dtype}, {"I", inputs}});
  return Grouped(absl::StrCat(text, absl::string_view(behind.data(), behind.size()), "}"), setting);
}

// x, then `step` so many times.
Codes Long(int ops, const Target& target, bool all_are_read_later) {
  Graph graph;
  Value x = *graph.AddInput("x", {DType::kF32, {Dim(64)}});
  std::vector<Value> values;
  for (int i = 0; i < ops; ++i) {
    x = *graph.Add(i % 2 != 0 ? Op::kTanh : Op::kExp, std::vector<Value>{x}, {});
    values.push_back(x);
  }
  for (size_t i = values.size() - 1; all_are_read_later && i-- > 0;)
    x = *graph.Add(Op::kAdd, std::vector<Value>{x, values[i]}, {});
  EXPECT_TRUE(graph.AddOutput(x).ok());
  Setting setting;
  setting.target = target;
  return CodesOf(PlanOf(graph, setting).plan);
}

Target WithBudgets(int params, int insts, int live) {
  Target t = *TargetFor("sm_90");
  t.max_params = params;
  t.max_insts = insts;
  t.max_live = live;
  return t;
}

constexpr char kRelu[] = "  %1 = relu(%0) : f32[n,64]\n  return %1\n";

// ---- The table: one row a code.

constexpr char kChain[] = R"(graph f(%x: f32[n,64], %b: f32[64]) -> (f32[n,64]) {
  %0 = add(%x, %b) : f32[n,64]
  %1 = exp(%0) : f32[n,64]
  return %1
})";
constexpr char kResidual[] =
    R"(graph f(%x: f32[n,64], %r: f32[n,64], %w: f32[64,64], %g: f32[64]) -> (f32[n,64]) {
  %0 = multiply(%x, %r) : f32[n,64]
  %1 = tanh(%0) : f32[n,64]
  %2 = rms_norm(%1, %g) {norm_dims=1, eps=1e-06} : f32[n,64]
  %3 = matmul(%2, %w) : f32[n,64]
  %4 = add(%1, %3) : f32[n,64]
  return %4
})";
constexpr char kIndexAdd[] = R"(graph f(%x: f32[9,n], %i: i32[7], %a: f32[7,n]) -> (f32[9]) {
  %0 = remainder(%i, 9) : i32[7]
  %1 = index_add(%x, %0, %a) : f32[9,n]
  %2 = sum(%1) {axes=[1]} : f32[9]
  return %2
})";
constexpr char kBatches[] = R"(graph f(%q: f32[2,7,4,8], %b: f32[8,3]) -> (f32[2,4,7,3]) {
  %0 = transpose(%q) {perm=[0,2,1,3]} : f32[2,4,7,8]
  %1 = matmul(%0, %b) : f32[2,4,7,3]
  return %1
})";

std::string OneOp(const char* type, const char* op, const char* attrs) {
  return absl::StrCat("graph f(%x: ", type, ") -> (", type, ") {\n  %0 = ", op, "(%x) ", attrs,
                      " : ", type, "\n  return %0\n}");
}

const ReasonExamples& ExamplesOfPlans() {
  static const auto* examples = new ReasonExamples{
      {Reason::kGraphInput, [] { return Compiled(kChain); }},
      {Reason::kGraphOutput, [] { return Compiled(kChain); }},
      {Reason::kFusionOff, [] { return Compiled(kChain, With(&Options::fuse, false)); }},
      {Reason::kMaxFusions,
       [] { return Compiled(kChain, With(&Options::max_fusions, int64_t{0})); }},
      {Reason::kDomainDiffers,
       [] {
         return Compiled(R"(graph f(%x: f32[1048576]) -> (f32[1048576]) {
  %0 = sum(%x) {axes=[0], keepdims=true} : f32[1]
  %1 = divide(%x, %0) : f32[1048576]
  return %1
})");
       }},
      {Reason::kReduceAxesDiffer,
       [] {
         return Compiled(R"(graph f(%x: f32[256,512]) -> (f32[512], f32[256]) {
  %0 = tanh(%x) : f32[256,512]
  %1 = sum(%0) {axes=[1], keepdims=false} : f32[256]
  %2 = max(%0) {axes=[0], keepdims=false} : f32[512]
  return %2, %1
})");
       }},
      {Reason::kReduceThenReduce,
       [] {
         return Compiled(R"(graph f(%x: f32[256,512]) -> (f32[]) {
  %0 = max(%x) {axes=[1], keepdims=false} : f32[256]
  %1 = sum(%0) {axes=[0], keepdims=false} : f32[]
  return %1
})");
       }},
      {Reason::kRecomputeTooDear,
       [] {
         return Compiled(R"(graph f(%x: f32[64,768], %b: f32[768]) -> (f32[64,768]) {
  %0 = exp(%b) : f32[768]
  %1 = add(%x, %0) : f32[64,768]
  return %1
})");
       }},
      {Reason::kWouldCycle, [] { return Grouped(kResidual); }},
      {Reason::kParamBudget,
       [] {
         Setting few;
         few.target = WithBudgets(4, 1024, 96);
         return Grouped(R"(graph f(%a: f32[8], %b: f32[8], %c: f32[8], %d: f32[8]) -> (f32[8]) {
  %0 = add(%a, %b) : f32[8]
  %1 = add(%0, %c) : f32[8]
  %2 = add(%1, %d) : f32[8]
  return %2
})",
                        few);
       }},
      {Reason::kRegisterBudget, [] { return Long(150, WithBudgets(120, 100000, 96), true); }},
      {Reason::kCodeBudget, [] { return Long(5000, *TargetFor("sm_90"), false); }},
      {Reason::kViewNotAffine,
       [] {
         return Compiled(R"(graph f(%x: f32[60,77]) -> (f32[60,77]) {
  %0 = exp(%x) : f32[60,77]
  %1 = transpose(%0) {perm=[1,0]} : f32[77,60]
  %2 = reshape(%1) {shape=[70,66]} : f32[70,66]
  %3 = transpose(%2) {perm=[1,0]} : f32[66,70]
  %4 = reshape(%3) {shape=[42,110]} : f32[42,110]
  %5 = transpose(%4) {perm=[1,0]} : f32[110,42]
  %6 = reshape(%5) {shape=[60,77]} : f32[60,77]
  %7 = negative(%6) : f32[60,77]
  return %7
})");
       }},
      {Reason::kMatmulOperand, [] { return Grouped(kResidual); }},
      {Reason::kMatmulResult, [] { return Grouped(kResidual); }},
      {Reason::kGemmDtype, [] { return Product("i32"); }},
      {Reason::kGemmNoLibrary,
       [] {
         Setting none;
         none.library = [](DType) { return std::optional<Reason>(Reason::kGemmNoLibrary); };
         return Product("bf16", none);
       }},
      {Reason::kGemmOff,
       [] {
         Setting off;
         off.options.use_gemm_library = false;
         return Product("f32", off);
       }},
      {Reason::kGemmLayout, [] { return Grouped(kBatches); }},
      {Reason::kGemmEmpty,
       [] {
         return Grouped(
             "graph f(%a: f32[4,0], %b: f32[0,5]) -> (f32[4,5]) {\n  %0 = matmul(%a, %b) : "
             "f32[4,5]\n  return %0\n}");
       }},
      {Reason::kCopyOperand, [] { return Grouped(kBatches); }},
      {Reason::kOutputCopy,
       [] {
         return Compiled(
             "graph f(%x: f32[n,64]) -> (f32[64,n]) {\n  %0 = transpose(%x) "
             "{perm=[1,0]} : f32[64,n]\n  return %0\n}");
       }},
      {Reason::kScalarAccess,
       [] {
         return Compiled(
             "graph f(%x: f32[n,335]) -> (f32[n,332]) {\n  %0 = slice(%x) {starts=[0,3]} : "
             "f32[n,332]\n  %1 = softmax(%0) : f32[n,332]\n  return %1\n}");
       }},
      {Reason::kRowReread, [] { return Compiled(OneOp("f32[512,65536]", "softmax", "{axis=1}")); }},
      {Reason::kStridedReduce,
       [] {
         return Compiled(
             "graph f(%x: f32[512,64], %y: f32[64,512]) -> (f32[64]) {\n%0 = transpose(%y) : "
             "f32[512,64]\n%1 = add(%x, %0) : f32[512,64]\n%2 = sum(%1) {axes=[0]} : f32[64]\n"
             "return %2\n}");
       }},
      {Reason::kOffsets64, [] { return Compiled(OneOp("f32[65536,32769]", "abs", "")); }},
      {Reason::kNumericsFastSame,
       [] { return Compiled(kChain, With(&Options::numerics, Numerics::kFast)); }},
      {Reason::kNumericsFastTf32,
       [] {
         return Compiled(
             "graph f(%x: f32[n,64], %w: f32[64,32]) -> (f32[n,32]) {\n%0 = matmul(%x, %w) : "
             "f32[n,32]\nreturn %0\n}",
             With(&Options::numerics, Numerics::kFast));
       }},
      {Reason::kGatherOperand,
       [] {
         return Compiled(R"(graph f(%x: f32[64,256], %i: i32[32]) -> (f32[32,256]) {
  %0 = relu(%x) : f32[64,256]
  %1 = take(%0, %i) : f32[32,256]
  return %1
})");
       }},
      {Reason::kScanInOrder,
       [] { return Compiled(OneOp("f32[4,1048576]", "cumsum", "{axis=1}")); }},
      {Reason::kFewLongRows, [] { return Compiled(OneOp("f32[4096,64]", "softmax", "{axis=0}")); }},
      {Reason::kColumnSumsInMemory,
       [] {
         return Compiled(
             "graph f(%x: f32[n,8192], %g: f32[n,8192], %r: f32[n,8192]) -> (f32[n,8192], "
             "f32[8192], f32[8192]) {\n%0 = multiply(%x, %g) : f32[n,8192]\n%1 = multiply(%0, %r) "
             ": f32[n,8192]\n%2 = sum(%1) {axes=[1], keepdims=true} : f32[n,1]\n%3 = subtract(%x, "
             "%2) : f32[n,8192]\n%4 = multiply(%3, %g) : f32[n,8192]\n%5 = multiply(%4, %r) : "
             "f32[n,8192]\n%6 = sum(%g) {axes=[0]} : f32[8192]\n%7 = sum(%5) {axes=[0]} : "
             "f32[8192]\nreturn %5, %6, %7\n}");
       }},
      {Reason::kTransposedAccess,
       [] {
         return Compiled(
             "graph f(%x: f32[512,3], %y: f32[3,512]) -> (f32[3,512]) {\n%0 = "
             "transpose(%x) : f32[3,512]\n%1 = add(%0, %y) : f32[3,512]\nreturn %1\n}");
       }},
      {Reason::kSortOperand, [] { return Compiled(kIndexAdd); }},
      {Reason::kSortResult, [] { return Compiled(kIndexAdd); }},
      {Reason::kSegmentResult, [] { return Compiled(kIndexAdd); }},
      {Reason::kSegmentInOrder, [] { return Compiled(kIndexAdd); }},
      {Reason::kEpilogueReaders,
       [] {
         return Behind("f32", R"(  %1 = relu(%0) : f32[n,64]
  %2 = tanh(%0) : f32[n,64]
  %3 = add(%1, %2) : f32[n,64]
  return %3
)");
       }},
      {Reason::kEpilogueActivation,
       [] { return Behind("f32", "  %1 = silu(%0) : f32[n,64]\n  return %1\n"); }},
      {Reason::kEpilogueDtype,
       [] { return Behind("f64", "  %1 = relu(%0) : f64[n,64]\n  return %1\n"); }},
      {Reason::kEpilogueOperand,
       [] {
         return Behind("f32", "  %1 = add(%0, %r) : f32[n,64]\n  return %1\n", ", %r: f32[n,1]");
       }},
      {Reason::kEpilogueOrder,
       [] {
         return Behind("f32", R"(  %1 = relu(%0) : f32[n,64]
  %2 = add(%1, %b) : f32[n,64]
  return %2
)",
                       ", %b: f32[64]");
       }},
      {Reason::kEpilogueEmptyK,
       [] {
         return Grouped(R"(graph f(%x: f32[n,k], %w: f32[k,64]) -> (f32[n,64]) {
  %0 = slice(%x) {stops=[9223372036854775807,-1]} : f32[n,max(k-1,0)]
  %1 = slice(%w) {stops=[-1,9223372036854775807]} : f32[max(k-1,0),64]
  %2 = matmul(%0, %1) : f32[n,64]
  %3 = relu(%2) : f32[n,64]
  return %3
})",
                        TakesAll());
       }},
      {Reason::kEpilogueNoAlgorithm,
       [] {
         return Behind("f32", kRelu, "", {ProductChoice::Epilogue::kNone, /*no_algorithm=*/true});
       }},
      {Reason::kEpilogueTuned,
       [] { return Behind("f32", kRelu, "", {ProductChoice::Epilogue::kSums}); }},
      {Reason::kGemmPadded,
       [] {
         return Compiled(
             "graph f(%x: bf16[1024,2047], %w: bf16[2047,1024]) -> (bf16[1024,1024]) {\n"
             "  %0 = matmul(%x, %w) : bf16[1024,1024]\n  return %0\n}");
       }},
  };
  return *examples;
}

TEST(Reasons, EachIsGivenByItsGraph) {
  for (int r = 0; r < static_cast<int>(Reason::kCount); ++r) {
    const auto reason = static_cast<Reason>(r);
    const std::string name(ReasonName(reason));
    int examples = 0;
    for (const ReasonExamples* table : {&ExamplesOfPlans(), &ReasonsOfCalls()}) {
      const auto found = table->find(reason);
      if (found == table->end()) continue;
      ++examples;
      EXPECT_THAT(found->second(), ::testing::Contains(name)) << "from the graph of " << name;
    }
    EXPECT_EQ(examples, 1) << "graphs that give " << name;
  }
}

// No code is given by everything: a chain of two ops has none but its ends.
TEST(Reasons, APlainChainHasNone) {
  EXPECT_EQ(Compiled(kChain), (Codes{"graph_input", "graph_input", "graph_output"}));
}

TEST(Reasons, ThePageListsEachWithItsMeaning) {
  std::ifstream file(TestDataPath("docs/explain.md"));
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str(), begin = "<!-- reasons: begin -->\n",
                    end = "<!-- reasons: end -->";
  const size_t from = page.find(begin), to = page.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  std::string expected = "| code | meaning |\n|---|---|\n";
  for (int r = 0; r < static_cast<int>(Reason::kCount); ++r) {
    const auto reason = static_cast<Reason>(r);
    EXPECT_FALSE(ReasonDoc(reason).empty());
    expected +=
        "| `" + std::string(ReasonName(reason)) + "` | " + std::string(ReasonDoc(reason)) + " |\n";
  }
  EXPECT_EQ(page.substr(from + begin.size(), to - from - begin.size()), expected);
}

}  // namespace
}  // namespace jitfuse::internal
