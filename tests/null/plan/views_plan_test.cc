// Views, joins and gathers through partition, plans and the plan interpreter, for several targets:
// within the evaluator's bounds, with dense and strided inputs; and what VerifyPlan says of masks
// and positions.
#include <random>

#include "codegen/plan/access_map.h"
#include "gmock/gmock.h"
#include "ir/eval.h"
#include "tests/test_util/golden.h"
#include "tests/test_util/plan_checks.h"
#include "tests/test_util/run_plan.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;

struct ViewCase {
  const char* text;
  int kernels = 0;  // 0: any number
};

// Integer inputs are positions of an axis of at least 4.
constexpr ViewCase kCases[] = {
    {"graph slice(%x: f32[5,n]) -> (f32[2,n]) { %0 = slice(%x) {starts=[3,0], "
     "stops=[-9223372036854775807,9223372036854775807], steps=[-2,1]} : f32[2,n] return %0 }",
     1},
    {"graph flip_reshape(%x: f32[4,6]) -> (f32[3,8]) { %0 = flip(%x) : f32[4,6] %1 = reshape(%0) "
     "{shape=[3,8]} : f32[3,8] %2 = flip(%1) {axes=[1]} : f32[3,8] return %2 }"},
    {"graph reshape_flip(%x: f32[n,6]) -> (f32[2,n,3]) { %0 = flip(%x) {axes=[1]} : f32[n,6] %1 = "
     "reshape(%0) {shape=[n,2,3]} : f32[n,2,3] %2 = transpose(%1) {perm=[1,0,2]} : f32[2,n,3] "
     "return %2 }",
     1},
    {"graph flip_sum(%x: f32[4,n]) -> (f32[4]) { %0 = flip(%x) : f32[4,n] %1 = add(%0, %x) : "
     "f32[4,n] %2 = sum(%1) {axes=[1]} : f32[4] return %2 }",
     1},
    {"graph roll(%x: f32[4,n]) -> (f32[4,n]) { %0 = roll(%x) {shifts=[1,-3], axes=[0,1]} : "
     "f32[4,n] "
     "%1 = roll(%x) {shifts=[2], axes=[1]} : f32[4,n] %2 = add(%0, %1) : f32[4,n] return %2 }",
     1},
    {"graph tile(%x: f32[3,n]) -> (f32[2,6,n]) { %0 = tile(%x) {reps=[2,2,1]} : f32[2,6,n] return "
     "%0 }",
     1},
    {"graph repeat(%x: f32[n,3]) -> (f32[n,6]) { %0 = repeat(%x) {repeats=2, axis=1} : f32[n,6] "
     "return %0 }",
     1},
    {"graph windows(%x: f32[n,9]) -> (f32[n,4,3]) { %0 = windows(%x) {axis=1, size=3, stride=2} : "
     "f32[n,4,3] return %0 }",
     1},
    {"graph cat0(%x: f32[n,8], %y: f32[3,8]) -> (f32[n+3,8]) { %0 = concatenate(%x, %y) : "
     "f32[n+3,8] "
     "%1 = relu(%0) : f32[n+3,8] return %1 }",
     1},
    {"graph cat1(%x: f16[n,8], %y: f16[n,4], %z: f16[n,0]) -> (f16[n,12]) { %0 = exp(%x) : "
     "f16[n,8] "
     "%1 = concatenate(%0, %z, %y) {axis=1} : f16[n,12] %2 = add(%1, 1) : f16[n,12] return %2 }",
     1},
    {"graph cat_softmax(%x: f32[n,7], %y: f32[n,30]) -> (f32[n,37]) { %0 = concatenate(%x, %y) "
     "{axis=1} : f32[n,37] %1 = softmax(%0) : f32[n,37] return %1 }",
     1},
    {"graph cat_cat(%x: f32[n,3], %y: f32[n,2]) -> (f32[n,13]) { %0 = concatenate(%x, %y) {axis=1} "
     ": "
     "f32[n,5] %1 = negative(%0) : f32[n,5] %2 = concatenate(%1, %x, %0) {axis=1} : f32[n,13] "
     "return "
     "%2 }",
     1},
    {"graph cat_reshape(%x: f32[n,2,3], %y: f32[n,2,5]) -> (f32[n,16]) { %0 = concatenate(%x, %y) "
     "{axis=2} : f32[n,2,8] %1 = reshape(%0) {shape=[n,16]} : f32[n,16] %2 = relu(%1) : f32[n,16] "
     "return %2 }",
     1},
    {"graph cat_views(%x: f32[6,n]) -> (f32[n,12]) { %0 = transpose(%x) : f32[n,6] %1 = flip(%0) : "
     "f32[n,6] %2 = concatenate(%0, %1) {axis=1} : f32[n,12] return %2 }",
     1},
    {"graph part_of_cat(%x: f32[n,4], %y: f32[n,6]) -> (f32[n,4], f32[n,3]) { %0 = concatenate(%x, "
     "%y) {axis=1} : f32[n,10] %1 = slice(%0) {stops=[9223372036854775807,4]} : f32[n,4] %2 = "
     "slice(%0) {starts=[0,6], stops=[9223372036854775807,9]} : f32[n,3] return %1, %2 }"},
    {"graph stacked(%x: f32[n], %y: f32[n]) -> (f32[n,2]) { %0 = stack(%x, %y) {axis=1} : f32[n,2] "
     "return %0 }",
     1},
    {"graph pad(%x: f32[n,5]) -> (f32[n+1,9]) { %0 = exp(%x) : f32[n,5] %1 = pad(%0) {low=[1,2], "
     "high=[0,2], value=-1} : f32[n+1,9] return %1 }",
     1},
    {"graph pad_bf16(%x: bf16[3,n]) -> (bf16[3,n+16]) { %0 = pad(%x) {low=[0,8], high=[0,8]} : "
     "bf16[3,n+16] return %0 }",
     1},
    {"graph pad_reshape(%x: f32[3,4]) -> (f32[2,15]) { %0 = pad(%x) {low=[1,1], high=[1,1]} : "
     "f32[5,6] "
     "%1 = reshape(%0) {shape=[2,15]} : f32[2,15] %2 = relu(%1) : f32[2,15] return %2 }",
     1},
    {"graph reshape_pad(%x: f32[12,n]) -> (f32[5,6,n]) { %0 = reshape(%x) {shape=[3,4,n]} : "
     "f32[3,4,n] "
     "%1 = pad(%0) {low=[1,1,0], high=[1,1,0]} : f32[5,6,n] return %1 }",
     1},
    {"graph pads(%x: f32[n,5]) -> (f32[n,9], f32[n,9], f32[n,9]) { %0 = pad_reflect(%x) "
     "{low=[0,2], "
     "high=[0,2]} : f32[n,9] %1 = pad_edge(%x) {low=[0,2], high=[0,2]} : f32[n,9] %2 = "
     "pad_wrap(%x) "
     "{low=[0,2], high=[0,2]} : f32[n,9] return %0, %1, %2 }"},
    {"graph take(%x: f32[4,n], %i: i32[3,2]) -> (f32[3,2,n]) { %0 = take(%x, %i) : f32[3,2,n] %1 = "
     "relu(%0) : f32[3,2,n] return %1 }",
     1},
    {"graph take_last(%x: f32[n,5], %i: i64[6]) -> (f32[n,6]) { %0 = take(%x, %i) {axis=1} : "
     "f32[n,6] "
     "return %0 }",
     1},
    {"graph take_u8(%x: f16[7,8], %i: u8[n]) -> (f16[n]) { %0 = take(%x, %i) : f16[n,8] %1 = "
     "sum(%0) "
     "{axes=[1]} : f16[n] return %1 }",
     1},
    {"graph take_along(%x: f32[n,6], %i: i32[n,4]) -> (f32[n,4]) { %0 = add(%i, -2) : i32[n,4] %1 "
     "= "
     "take_along_axis(%x, %0) {axis=1} : f32[n,4] return %1 }",
     1},
    {"graph take_view(%x: f32[6,n], %i: i32[5]) -> (f32[5,n]) { %0 = reshape(%x) {shape=[2,3,n]} : "
     "f32[2,3,n] %1 = flip(%0) {axes=[0]} : f32[2,3,n] %2 = reshape(%1) {shape=[6,n]} : f32[6,n] "
     "%3 = "
     "take(%2, %i) : f32[5,n] return %3 }"},
    {"graph take_flat(%x: f32[4,n], %i: i32[9]) -> (f32[9]) { %0 = reshape(%x) {shape=[n*4]} : "
     "f32[n*4] %1 = take(%0, %i) : f32[9] return %1 }",
     1},
    {"graph take_computed(%x: f32[6,n], %i: i32[5]) -> (f32[5,n]) { %0 = relu(%x) : f32[6,n] %1 = "
     "take(%0, %i) : f32[5,n] %2 = add(%1, 1) : f32[5,n] return %2 }",
     2},
    {"graph take_iota(%i: i32[n], %x: f32[n]) -> (f32[n]) { %0 = iota() {shape=[9], axis=0, "
     "dtype=f32} "
     ": f32[9] %1 = flip(%0) : f32[9] %2 = take(%1, %i) : f32[n] %3 = add(%2, %x) : f32[n] return "
     "%3 }",
     1},
    {"graph take_in_cat(%x: f32[5,n], %i: i32[2], %y: f32[3,n]) -> (f32[5,n]) { %0 = take(%x, %i) "
     ": "
     "f32[2,n] %1 = concatenate(%0, %y) : f32[5,n] return %1 }"},
    {"graph take_of_cat(%x: f32[5,n], %i: i32[2], %y: f32[3,n]) -> (f32[2,n]) { %0 = "
     "concatenate(%x, "
     "%y) : f32[8,n] %1 = take(%0, %i) : f32[2,n] return %1 }",
     2},
    {"graph take_sum(%x: f32[8], %i: i32[n,7]) -> (f32[n]) { %0 = take(%x, %i) : f32[n,7] %1 = "
     "sum(%0) "
     "{axes=[1]} : f32[n] return %1 }",
     1},
    {"graph embedding_norm(%i: i64[n], %t: f32[9,32]) -> (f32[n,32]) { %0 = embedding(%i, %t) : "
     "f32[n,32] %1 = layer_norm(%0) : f32[n,32] return %1 }",
     1},
    {"graph max_pool(%x: f32[n,3,9,8]) -> (f32[n,3,5,4]) { %0 = max_pool(%x) {kernel=[3,3], "
     "stride=[2,2], padding=[1,1]} : f32[n,3,5,4] %1 = relu(%0) : f32[n,3,5,4] return %1 }",
     1},
    {"graph avg_pool(%x: f16[n,9,8,3]) -> (f16[n,5,4,3]) { %0 = avg_pool(%x) {kernel=[3,3], "
     "stride=[2,2], padding=[1,1], count_include_pad=false, channels_last=true} : f16[n,5,4,3] "
     "return "
     "%0 }",
     1},
    {"graph avg_pool_ceil(%x: f64[n,10]) -> (f64[n,6]) { %0 = avg_pool(%x) {kernel=[3], "
     "stride=[2], "
     "padding=[1], ceil_mode=true} : f64[n,6] return %0 }",
     1},
    {"graph no_windows(%x: f32[4,3]) -> (f32[4,0,3,3]) { %0 = flip(%x) {axes=[0]} : f32[4,3] %1 = "
     "windows(%0) {axis=1, size=3, stride=2} : f32[4,1,3] %2 = windows(%1) {axis=1, size=3, "
     "stride=2, dilation=2} : f32[4,0,3,3] return %2 }"},
    // A value that is read from memory at one map and could be computed again at another.
    {"graph read_and_again(%x: f32[4,3]) -> (f32[50]) { %0 = abs(%x) : f32[4,3] %1 = tile(%0) "
     "{reps=[1,2]} : f32[4,6] %2 = pad(%1) {low=[1,1], high=[2,0], value=1} : f32[7,7] %3 = "
     "hardswish(%2) : f32[7,7] %4 = reshape(%3) {shape=[49]} : f32[49] %5 = mish(%4) : f32[49] %6 "
     "= "
     "pad_edge(%5) {low=[0], high=[1]} : f32[50] return %6 }"},
    {"graph none(%x: f32[0,3], %y: f32[n,3]) -> (f32[n,3], f32[0,3]) { %0 = concatenate(%x, %y) : "
     "f32[n,3] %1 = flip(%x) : f32[0,3] return %0, %1 }"},
    {"graph deep(%x: f32[2,1,n,1,2,1,1,3]) -> (f32[2,1,n,2,2,1,1,3]) { %0 = flip(%x) : "
     "f32[2,1,n,1,2,1,1,3] %1 = concatenate(%0, %x) {axis=3} : f32[2,1,n,2,2,1,1,3] return %1 }",
     1},
};

std::vector<HostTensor> InputsOf(const Graph& graph, int64_t n) {
  std::mt19937 rng(7);
  std::vector<HostTensor> out;
  for (NodeId id : graph.inputs()) {
    const TensorType& type = graph.type({id, 0});
    HostTensor t = HostTensor::Make(type.dtype, EvalDims(type.dims, {n}));
    for (int64_t i = 0; i < t.size(); ++i) {
      auto r = static_cast<int64_t>(rng() % 1000);
      t.SetNumber(
          i, IsFloat(type.dtype) ? static_cast<double>(r) / 250 - 2 : static_cast<double>(r % 4));
    }
    out.push_back(std::move(t));
  }
  return out;
}

TEST(ViewPlans, AgreeWithTheEvaluator) {
  for (const ViewCase& c : kCases) {
    SCOPED_TRACE(c.text);
    absl::StatusOr<Graph> graph = ParseGraph(c.text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (int64_t n : {5, 1, 0, 17}) {
      std::vector<HostTensor> inputs = InputsOf(*graph, n);
      absl::StatusOr<std::vector<WideTensor>> want = EvalWide(*graph, inputs);
      if (n == 0 && !want.ok()) {  // nothing can be picked from nothing
        EXPECT_THAT(std::string(want.status().message()), HasSubstr("of size 0"));
        continue;
      }
      ASSERT_TRUE(want.ok()) << want.status();
      SCOPED_TRACE(n);
      ExpectPlansAgree(*graph, inputs, *want);
    }
  }
}

TEST(ViewPlans, TakeTheKernelsTheyShould) {
  for (const ViewCase& c : kCases) {
    if (c.kernels == 0) continue;
    SCOPED_TRACE(c.text);
    ExpectKernels(c.text, c.kernels);
  }
}

TEST(ViewPlans, OutOfRangeIsAnErrorOfTheInterpreter) {
  Graph graph = *ParseGraph(
      "graph f(%x: f32[4], %i: i32[2]) -> (f32[2]) { %0 = take(%x, %i) : f32[2] return %0 }");
  std::vector<HostTensor> inputs = InputsOf(graph, 0);
  inputs[1].SetNumber(1, 4);
  absl::StatusOr<std::vector<HostTensor>> got =
      RunGraphByPlans(graph, inputs, *TargetFor("interpret"), {});
  ASSERT_FALSE(got.ok());
  EXPECT_THAT(std::string(got.status().message()),
              HasSubstr("index 4 is out of range for an axis of size 4"));
}

KernelPlan PlanOf(std::string_view text, const Target& target) {
  Graph graph = *Expand(*ParseGraph(text));
  absl::StatusOr<std::vector<KernelPlan>> plans =
      BuildPlan(graph, WholeGroup(graph), {}, target, {});
  EXPECT_TRUE(plans.ok()) << plans.status();
  absl::Status ok = VerifyPlan((*plans)[0]);
  EXPECT_TRUE(ok.ok()) << ok << "\n" << PlanToString((*plans)[0]);
  ok = VerifyAccesses((*plans)[0], graph, {});
  EXPECT_TRUE(ok.ok()) << ok << "\n" << PlanToString((*plans)[0]);
  return (*plans)[0];
}

constexpr std::string_view kConcatenate =
    "graph f(%x: f32[16,64], %y: f32[16,32]) -> (f32[16,96]) { %0 = relu(%y) : f32[16,32] %1 = "
    "concatenate(%x, %0) {axis=1} : f32[16,96] return %1 }";
constexpr std::string_view kEmbedding =
    "graph f(%i: i32[128], %t: f32[1000,64]) -> (f32[128,64]) { %0 = embedding(%i, %t) : "
    "f32[128,64] "
    "%1 = relu(%0) : f32[128,64] return %1 }";
constexpr std::string_view kFlip =
    "graph f(%x: f32[16,64]) -> (f32[16,64]) { %0 = flip(%x) {axes=[1]} : f32[16,64] %1 = add(%0, "
    "%x) : f32[16,64] return %1 }";
constexpr std::string_view kPadded =
    "graph f(%x: f32[14,12]) -> (f32[16,16]) { %0 = pad(%x) {low=[1,2], high=[1,2]} : f32[16,16] "
    "return %0 }";

TEST(ViewPlans, Goldens) {
  Target cuda = *TargetFor("sm_90");
  ExpectGolden("plan/concatenate.cuda.txt", PlanToString(PlanOf(kConcatenate, cuda)));
  ExpectGolden("plan/embedding.cuda.txt", PlanToString(PlanOf(kEmbedding, cuda)));
  ExpectGolden("plan/flip.cuda.txt", PlanToString(PlanOf(kFlip, cuda)));
  ExpectGolden("plan/embedding.cpu.txt", PlanToString(PlanOf(kEmbedding, *TargetFor("x86-64-v3"))));
}

TEST(ViewPlans, OffsetsStayWithinTheirMasks) {
  KernelPlan plan = PlanOf(kPadded, *TargetFor("interpret"));
  ASSERT_EQ(plan.accesses.size(), 1u);
  std::optional<Range> range = OffsetRange(plan, plan.accesses[0]);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->lo, 0);
  EXPECT_EQ(range->hi, 14 * 12 - 1);
  plan.accesses[0].masks.clear();
  range = OffsetRange(plan, plan.accesses[0]);
  EXPECT_EQ(range->lo, -14);
}

TEST(ViewPlans, VectorsKeepToOneSideOfAMask) {
  Target cuda = *TargetFor("sm_90");
  EXPECT_EQ(PlanOf(kConcatenate, cuda).cuda().vec, 4);
  EXPECT_EQ(PlanOf("graph f(%x: f32[16,62], %y: f32[16,34]) -> (f32[16,96]) { %0 = "
                   "concatenate(%x, %y) {axis=1} : f32[16,96] return %0 }",
                   cuda)
                .cuda()
                .vec,
            2);
  EXPECT_EQ(PlanOf("graph f(%x: f32[16,61], %y: f32[16,35]) -> (f32[16,96]) { %0 = "
                   "concatenate(%x, %y) {axis=1} : f32[16,96] return %0 }",
                   cuda)
                .cuda()
                .vec,
            1);
  EXPECT_EQ(PlanOf(kEmbedding, cuda).cuda().vec, 4);
}

TEST(ViewPlans, VerifyFindsWhatIsWrong) {
  auto message = [](const KernelPlan& plan) { return std::string(VerifyPlan(plan).message()); };
  Target target = *TargetFor("interpret");
  KernelPlan plan = PlanOf(kEmbedding, target);
  auto load = std::find_if(plan.insts.begin(), plan.insts.end(), [](const Inst& i) {
    return i.kind == Inst::Kind::kLoad && i.in[0] >= 0;
  });
  ASSERT_NE(load, plan.insts.end());
  int position = load->in[0];
  load->in[0] = -1;
  EXPECT_THAT(message(plan), HasSubstr("an indirect load has one operand, its position"));
  load->in[0] = position;
  AccessMap& access = plan.accesses[static_cast<size_t>(load->access)];
  access.indirect = SizeExpr(0);
  EXPECT_THAT(message(plan), HasSubstr("picks from an axis of size 0"));
  access.indirect = SizeExpr(1000);
  EXPECT_EQ(message(plan), "");
  plan.insts[static_cast<size_t>(position)].dtype = DType::kI32;
  EXPECT_NE(message(plan), "");
  plan.insts[static_cast<size_t>(position)].dtype = DType::kI64;
  access.linear = Affine{};
  EXPECT_THAT(message(plan), HasSubstr("has a position but does not use it"));
  access.indirect.reset();
  EXPECT_NE(message(plan), "");

  plan = PlanOf(kPadded, target);
  plan.accesses[0].masks[0].linear.coefs[0].first = 9;
  EXPECT_THAT(message(plan), HasSubstr("malformed access"));
  plan = PlanOf(kPadded, target);
  plan.stages[0].stores[0].access.masks = plan.accesses[0].masks;
  EXPECT_THAT(message(plan), HasSubstr("has a position, or masks per row"));
}

// Offsets beyond 2^31 take 64 bits whatever the number of elements: rows of a table, and what a
// slice skips.
TEST(ViewPlans, WideOffsets) {
  Target target = *TargetFor("sm_90");
  EXPECT_EQ(
      PlanOf("graph f(%t: f32[3000000,1024], %i: i32[8]) -> (f32[8,1024]) { %0 = take(%t, %i) : "
             "f32[8,1024] return %0 }",
             target)
          .offset_bits,
      64);
  EXPECT_EQ(PlanOf("graph f(%t: f32[3000000,1024]) -> (f32[3,1024]) { %0 = slice(%t) "
                   "{steps=[1000000,1]} : f32[3,1024] return %0 }",
                   target)
                .offset_bits,
            32);
  EXPECT_EQ(PlanOf("graph f(%t: f32[3000000,1024]) -> (f32[3,1024]) { %0 = slice(%t) "
                   "{starts=[2999990,0], steps=[4,1]} : f32[3,1024] return %0 }",
                   target)
                .offset_bits,
            64);
}

}  // namespace
}  // namespace jitfuse::internal
