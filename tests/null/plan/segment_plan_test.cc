// Sums of segments through partition, plans and the plan interpreter, bit for bit as the evaluator
// adds; what VerifyPlan and the emitters refuse; goldens of plans and sources.
#include <random>

#include "codegen/cuda/emit_cuda.h"
#include "cpu_backend/emit_llvm.h"
#include "gmock/gmock.h"
#include "ir/eval.h"
#include "tests/test_util/golden.h"
#include "tests/test_util/run_plan.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;

constexpr const char* kCases[] = {
    "graph rows(%x: f32[9,n], %i: i32[7], %s: f32[7,n]) -> (f32[9,n]) { %0 = index_add(%x, %i, "
    "%s) : f32[9,n] return %0 }",
    "graph columns(%x: f64[n,9], %i: i16[n], %s: f64[n,n]) -> (f64[n,9]) { %0 = index_add(%x, %i, "
    "%s) {axis=1} : f64[n,9] return %0 }",
    "graph many(%x: i32[9], %i: i64[n,3], %s: i32[n,3]) -> (i32[9]) { %0 = index_add(%x, %i, %s) : "
    "i32[9] return %0 }",
    "graph one(%x: i8[9,2], %i: i32[], %s: i8[2]) -> (i8[9,2]) { %0 = index_add(%x, %i, %s) : "
    "i8[9,2] return %0 }",
    "graph along(%x: f32[2,9,n], %i: i32[2,5,n], %s: f32[2,5,n]) -> (f32[2,9,n]) { %0 = "
    "scatter_add(%x, %i, %s) {axis=1} : f32[2,9,n] return %0 }",
    "graph last(%x: u16[n,9], %i: i32[n,n], %s: u16[n,n]) -> (u16[n,9]) { %0 = scatter_add(%x, %i, "
    "%s) {axis=1} : u16[n,9] return %0 }",
    "graph views(%x: f32[n,9], %i: i32[2,n], %s: f32[3,2,n]) -> (f32[3,9]) { %z = constant "
    "{value=0} : f32[] %0 = broadcast(%z) {shape=[9,3]} : f32[9,3] %1 = transpose(%s) "
    "{perm=[1,2,0]} : f32[2,n,3] %2 = flip(%1) {axes=[0]} : f32[2,n,3] %3 = flip(%i) {axes=[0]} : "
    "i32[2,n] %4 = index_add(%0, %3, %2) : f32[9,3] %5 = transpose(%4) : f32[3,9] return %5 }",
    "graph counts(%i: i32[n]) -> (i64[9]) { %z = constant {value=0} : i64[] %o = constant "
    "{value=1} : i64[] %0 = broadcast(%z) {shape=[9]} : i64[9] %1 = broadcast(%o) {shape=[n]} : "
    "i64[n] %2 = index_add(%0, %i, %1) : i64[9] return %2 }",
    "graph twice(%x: f32[9,3], %i: i32[n], %s: f32[n,3]) -> (f32[9,3]) { %0 = index_add(%x, %i, "
    "%s) : f32[9,3] %1 = relu(%0) : f32[9,3] %2 = take(%1, %i) : f32[n,3] %3 = index_add(%1, %i, "
    "%2) : f32[9,3] return %3 }",
    "graph padded(%x: f32[9], %i: i32[n], %s: f32[n]) -> (f32[14]) { %0 = index_add(%x, %i, %s) : "
    "f32[9] %1 = pad(%0) {low=[2], high=[3], value=1} : f32[14] return %1 }",
    "graph joined(%x: f32[9], %i: i32[n], %s: f32[n]) -> (f32[19]) { %0 = index_add(%x, %i, %s) : "
    "f32[9] %1 = pad(%x) {low=[0], high=[1]} : f32[10] %2 = concatenate(%0, %1) : f32[19] return "
    "%2 }",
    "graph eight(%x: f32[1,2,1,9,1,2,1,n], %i: i32[3], %s: f32[1,2,1,3,1,2,1,n]) -> "
    "(f32[1,2,1,9,1,2,1,n]) { %0 = index_add(%x, %i, %s) {axis=3} : f32[1,2,1,9,1,2,1,n] return "
    "%0 }",
    "graph unit(%x: f32[1,n], %i: i32[4], %s: f32[4,n]) -> (f32[1,n]) { %p = constant {value=1} : "
    "i32[] %0 = fmod(%i, %p) : i32[4] %1 = index_add(%x, %0, %s) : f32[1,n] return %1 }",
    "graph parts(%x: f32[9,n], %s: f32[1,n], %i: i32[1]) -> (f32[9,n]) { %0 = index_add(%x, %i, "
    "%s) : f32[9,n] return %0 }",
    "graph sums(%x: f32[9,n], %i: i32[7], %s: f32[7,n]) -> (f32[9]) { %0 = index_add(%x, %i, %s) : "
    "f32[9,n] %1 = square(%0) : f32[9,n] %2 = max(%1) {axes=[1]} : f32[9] return %2 }",
};

std::vector<HostTensor> InputsOf(const Graph& graph, int64_t n) {
  std::mt19937 rng(7);
  std::vector<HostTensor> out;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const TensorType& type = graph.type({graph.inputs()[i], 0});
    HostTensor t = HostTensor::Make(type.dtype, EvalDims(type.dims, {n}));
    const bool index = graph.input_name(static_cast<int>(i)) == "i";
    for (int64_t k = 0; k < t.size(); ++k)
      t.SetNumber(
          k, index ? static_cast<double>(rng() % 18) - 9 : static_cast<double>(rng() % 1000) / 250);
    out.push_back(std::move(t));
  }
  return out;
}

TEST(SegmentPlans, AgreeWithTheEvaluatorBitForBit) {
  for (const char* text : kCases) {
    SCOPED_TRACE(text);
    absl::StatusOr<Graph> graph = ParseGraph(text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (int64_t n : {5, 1, 0, 40}) {
      if (n == 0 && std::string_view(text).find("max(") != std::string_view::npos) continue;
      SCOPED_TRACE(n);
      const std::vector<HostTensor> inputs = InputsOf(*graph, n);
      absl::StatusOr<std::vector<HostTensor>> want = EvalDeclared(*graph, inputs);
      ASSERT_TRUE(want.ok()) << want.status();
      for (const char* arch : {"sm_90", "x86-64-v3"}) {
        for (bool fuse : {true, false}) {
          Options options;
          options.fuse = fuse;
          absl::StatusOr<std::vector<HostTensor>> got =
              RunGraphByPlans(*graph, inputs, *TargetFor(arch), options);
          ASSERT_TRUE(got.ok()) << got.status();
          for (size_t o = 0; o < want->size(); ++o)
            EXPECT_EQ((*want)[o].bytes, (*got)[o].bytes) << arch << " fuse " << fuse;
        }
      }
    }
  }
}

constexpr std::string_view kSegments =
    "graph f(%x: bf16[300,n], %s: bf16[m,n], %o: i64[m,n], %b: i64[300,n], %e: i64[300,n]) -> "
    "(bf16[300,n]) { %0 = segment_add(%x, %s, %o, %b, %e) {axis=0} : bf16[300,n] %1 = "
    "multiply(%0, 0.5) : bf16[300,n] return %1 }";

KernelPlan PlanOf(std::string_view text, std::string_view arch) {
  Graph graph = *Expand(*ParseGraph(text));
  absl::StatusOr<std::vector<KernelPlan>> plans =
      BuildPlan(graph, WholeGroup(graph), {}, *TargetFor(arch), {});
  EXPECT_TRUE(plans.ok()) << plans.status();
  absl::Status ok = VerifyPlan((*plans)[0]);
  EXPECT_TRUE(ok.ok()) << ok << "\n" << PlanToString((*plans)[0]);
  return (*plans)[0];
}

// Whatever begin and end say, nothing beyond the axis is read; positions out of range are errors.
TEST(SegmentPlans, SegmentsAreClipped) {
  Graph graph = *ParseGraph(
      "graph f(%x: i32[2], %s: i32[3], %o: i64[3], %b: i64[2], %e: i64[2]) -> (i32[2]) { %0 = "
      "segment_add(%x, %s, %o, %b, %e) {axis=0} : i32[2] return %0 }");
  auto tensor = [](DType dtype, const std::vector<int64_t>& values) {
    HostTensor t = HostTensor::Make(dtype, {static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); ++i)
      t.Set(static_cast<int64_t>(i), ScalarFromInt(dtype, values[i]));
    return t;
  };
  auto run = [&](std::vector<int64_t> order, std::vector<int64_t> begin, std::vector<int64_t> end) {
    std::vector<HostTensor> inputs = {tensor(DType::kI32, {100, 200}),
                                      tensor(DType::kI32, {1, 2, 4}), tensor(DType::kI64, order),
                                      tensor(DType::kI64, begin), tensor(DType::kI64, end)};
    absl::StatusOr<std::vector<HostTensor>> want = EvalDeclared(graph, inputs),
                                            got =
                                                RunGraphByPlans(graph, inputs, *TargetFor("sm_90"));
    EXPECT_EQ(want.ok(), got.ok()) << want.status() << got.status();
    if (want.ok() && got.ok()) EXPECT_EQ((*want)[0].bytes, (*got)[0].bytes);
    return got.ok() ? std::vector<double>{(*got)[0].Number(0), (*got)[0].Number(1)}
                    : std::vector<double>{};
  };
  EXPECT_EQ(run({0, 1, 2}, {-5, 2}, {2, 99}), (std::vector<double>{103, 204}));
  EXPECT_EQ(run({0, 1, 2}, {INT64_MIN, 3}, {INT64_MAX, 1}), (std::vector<double>{107, 200}));
  EXPECT_EQ(run({-1, -3, 2}, {0, 1}, {1, 2}), (std::vector<double>{104, 201}));
  EXPECT_EQ(run({7, 0, 0}, {1, 1}, {2, 1}), (std::vector<double>{101, 200})) << "not read";
  EXPECT_EQ(run({7, 0, 0}, {0, 1}, {2, 1}), (std::vector<double>{})) << "out of range";
}

TEST(SegmentPlans, AThreadOrALaneASegment) {
  KernelPlan plan = PlanOf(kSegments, "sm_90");
  EXPECT_EQ(plan.cuda().vec, 1);
  EXPECT_EQ(plan.cuda().items, 1);
  EXPECT_EQ(PlanOf(kSegments, "x86-64-v3").cpu().lanes, 1);
  EXPECT_TRUE(std::any_of(plan.notes.begin(), plan.notes.end(),
                          [](const Note& n) { return n.reason == Reason::kSegmentInOrder; }));
}

TEST(SegmentPlans, VerifierFindsBrokenSegments) {
  struct Case {
    const char* message;
    void (*breaks)(Inst*, KernelPlan*);
  };
  const Case cases[] = {
      {"adds from no access", [](Inst* i, KernelPlan*) { i->order = -1; }},
      {"adds from no access", [](Inst* i, KernelPlan*) { i->access = 99; }},
      {"adds no segment to a number", [](Inst* i, KernelPlan*) { i->in[0] = -1; }},
      {"adds no segment to a number", [](Inst* i, KernelPlan*) { i->in[0] = i->in[1]; }},
      {"begins or ends at what is no i64", [](Inst* i, KernelPlan*) { i->in[2] = i->in[0]; }},
      {"adds another dtype", [](Inst* i, KernelPlan*) { i->access = i->order; }},
      {"ordered by what is no i64", [](Inst* i, KernelPlan*) { i->order = i->access; }},
      {"picks from an axis of size 0",
       [](Inst* i, KernelPlan* p) {
         p->accesses[static_cast<size_t>(i->access)].indirect = SizeExpr(0);
       }},
  };
  for (const Case& c : cases) {
    KernelPlan plan = PlanOf(kSegments, "sm_90");
    for (Inst& i : plan.insts) {
      if (i.kind == Inst::Kind::kSegment) c.breaks(&i, &plan);
    }
    absl::Status status = VerifyPlan(plan);
    ASSERT_FALSE(status.ok()) << c.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message)) << PlanToString(plan);
  }
  KernelPlan plan = PlanOf(kSegments, "x86-64-v3");
  std::get<CpuSchedule>(plan.schedule).lanes = 8;
  EXPECT_THAT(std::string(VerifyPlan(plan).message()), HasSubstr("one element after another"));
  EXPECT_THAT(std::string(EmitLlvm(plan, *TargetFor("x86-64-v3")).status().message()),
              HasSubstr("a segment is added one element after another"));
}

TEST(SegmentPlans, NumbersAreNoSource) {
  Graph graph = *Expand(*ParseGraph(
      "graph f(%x: f32[4], %o: i64[4], %b: i64[4], %e: i64[4]) -> (f32[4]) { %c = constant "
      "{value=1} : f32[] %0 = broadcast(%c) {shape=[4]} : f32[4] %1 = segment_add(%x, %0, %o, %b, "
      "%e) {axis=0} : f32[4] return %1 }"));
  EXPECT_THAT(
      std::string(
          BuildPlan(graph, WholeGroup(graph), {}, *TargetFor("sm_90"), {}).status().message()),
      HasSubstr("lies in no buffer"));
}

TEST(SegmentPlans, Goldens) {
  ExpectGolden("plan/segment.cuda.txt", PlanToString(PlanOf(kSegments, "sm_90")));
  ExpectGolden("cuda/segment.cu",
               WithoutPrelude(*EmitCuda(PlanOf(kSegments, "sm_90"), *TargetFor("sm_90"))));
  ExpectGolden("llvm/segment_v3.ll",
               EmitLlvm(PlanOf(kSegments, "x86-64-v3"), *TargetFor("x86-64-v3"))->text);
}

}  // namespace
}  // namespace jitfuse::internal
