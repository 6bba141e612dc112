// Random ops: Philox4x32-10 against published vectors and against a second implementation, and the
// numbers that are made of its bits as semantics.md says.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/eval.h"
#include "ir/rng.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace jitfuse::internal {
namespace {

using Words = std::array<uint32_t, 4>;

// As in "Parallel random numbers: as easy as 1, 2, 3" (Salmon and others, 2011).
Words Philox(Words counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t x = uint64_t{0xD2511F53} * counter[0], y = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(y >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(y),
               static_cast<uint32_t>(x >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(x)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

uint32_t LaneOf(uint64_t lane, uint64_t seed, uint64_t offset) {
  auto low = [](uint64_t v) { return static_cast<uint32_t>(v); };
  auto high = [](uint64_t v) { return static_cast<uint32_t>(v >> 32); };
  return Philox({low(lane / 4), high(lane / 4), low(offset), high(offset)},
                {low(seed), high(seed)})[lane % 4];
}

HostTensor U64(std::vector<uint64_t> values, bool scalar = false) {
  HostTensor t = HostTensor::Make(
      DType::kU64,
      scalar ? std::vector<int64_t>{} : std::vector<int64_t>{static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    t.Set(static_cast<int64_t>(i), ScalarValue::FromBits(values[i]));
  return t;
}

std::vector<double> Numbers(const std::string& line, const std::string& type, uint64_t seed,
                            uint64_t offset, const std::vector<HostTensor>& more = {},
                            const std::string& more_args = "") {
  const std::string text =
      absl::StrCat("graph f(%rng_seed: scalar u64, %rng_offset: scalar u64", more_args, ") -> (",
                   type, ") {\n %r = ", line, " : ", type, "\n return %r\n}");
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  std::vector<HostTensor> inputs = {U64({seed}, true), U64({offset}, true)};
  inputs.insert(inputs.end(), more.begin(), more.end());
  auto results = EvalDeclared(*graph, inputs);
  EXPECT_TRUE(results.ok()) << results.status();
  if (!results.ok()) return {};
  std::vector<double> out;
  for (int64_t i = 0; i < (*results)[0].size(); ++i)
    out.push_back(ScalarToDouble((*results)[0].dtype, (*results)[0].At(i)));
  return out;
}

// Random123's kat_vectors.
TEST(Random, PublishedVectors) {
  EXPECT_EQ(Philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  const std::vector<double> got = Numbers("philox(%l, %rng_seed, %rng_offset) {stream=0}", "u32[4]",
                                          0, 0, {U64({0, 1, 2, 3})}, ", %l: u64[4]");
  EXPECT_EQ(got, (std::vector<double>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST(Random, PhiloxOpIsTheSecondImplementation) {
  const uint64_t seeds[] = {0, 1, 0x299f31d0a4093822, ~0ull};
  const uint64_t offsets[] = {0, 7, 0x0370734413198a2e, ~0ull};
  const std::vector<uint64_t> lanes = {0, 1, 2, 3, 4, 1023, (1ull << 34) + 5, ~0ull, ~0ull - 2};
  for (uint64_t seed : seeds) {
    for (uint64_t offset : offsets) {
      for (uint64_t stream : {0, 3}) {
        const std::vector<double> got =
            Numbers(absl::StrCat("philox(%l, %rng_seed, %rng_offset) {stream=", stream, "}"),
                    "u32[9]", seed, offset, {U64(lanes)}, ", %l: u64[9]");
        ASSERT_EQ(got.size(), lanes.size());
        for (size_t i = 0; i < lanes.size(); ++i)
          EXPECT_EQ(got[i], LaneOf(lanes[i], seed, offset + stream)) << seed << " " << lanes[i];
      }
    }
  }
}

TEST(Random, UniformNumbers) {
  const uint64_t seed = 0x123456789abcdef, offset = 42;
  const auto f32 = Numbers("random_uniform(%rng_seed, %rng_offset) {shape=[9,13], stream=2}",
                           "f32[9,13]", seed, offset);
  const auto f64 =
      Numbers("random_uniform(%rng_seed, %rng_offset) {shape=[50], stream=0, dtype=f64}", "f64[50]",
              seed, offset);
  const auto scaled =
      Numbers("random_uniform(%rng_seed, %rng_offset) {shape=[50], stream=0, low=-2, high=6}",
              "f32[50]", seed, offset);
  for (uint64_t e = 0; e < 117; ++e)
    EXPECT_EQ(f32[e], (LaneOf(e, seed, offset + 2) >> 8) * 0x1p-24);
  for (uint64_t e = 0; e < 50; ++e) {
    const uint64_t bits = LaneOf(2 * e, seed, offset) | uint64_t{LaneOf(2 * e + 1, seed, offset)}
                                                            << 32;
    EXPECT_EQ(f64[e], static_cast<double>(bits >> 11) * 0x1p-53);
    EXPECT_NEAR(scaled[e], -2 + 8 * ((LaneOf(e, seed, offset) >> 8) * 0x1p-24), 1e-6);
  }
}

// Ranges so narrow beside their bounds that most of what is below `high` rounds to it.
TEST(Random, UniformNumbersAreBelowTheEndOfTheRange) {
  struct Case {
    DType dtype;
    double low, high, below;
  };
  for (const Case& k : std::vector<Case>{{DType::kF32, 1, 1 + 0x1p-23, 1},
                                         {DType::kF32, 1, 1 + 0x1p-22, 1 + 0x1p-23},
                                         {DType::kF32, -1 - 0x1p-22, -1, -1 - 0x1p-23},
                                         {DType::kF32, -0x1p-149, 0, -0x1p-149},
                                         {DType::kF64, 1, 1 + 0x1p-51, 1 + 0x1p-52},
                                         {DType::kF16, 0, 2048, 2047},
                                         {DType::kF16, 2048, 2052, 2050},
                                         {DType::kF16, -0x1p-23, 0, -0x1p-24},
                                         {DType::kBF16, 256, 260, 258},
                                         {DType::kBF16, -260, -256, -258},
                                         {DType::kF32, 5, 5, 5}}) {
    const std::string dtype(DTypeName(k.dtype));
    const auto y = Numbers(
        absl::StrFormat("random_uniform(%%rng_seed, %%rng_offset) {shape=[20000], stream=0, "
                        "low=%.17g, high=%.17g, dtype=%s}",
                        k.low, k.high, dtype),
        dtype + "[20000]", 4, 9);
    ASSERT_EQ(y.size(), 20000u);
    EXPECT_EQ(*std::min_element(y.begin(), y.end()), k.low) << dtype << " " << k.low;
    EXPECT_EQ(*std::max_element(y.begin(), y.end()), k.below) << dtype << " " << k.high;
  }
}

TEST(Random, NormalNumbersAreBoxAndMullers) {
  const uint64_t seed = 99, offset = 1ull << 40;
  const auto z = Numbers("random_normal(%rng_seed, %rng_offset) {shape=[4001], stream=1}",
                         "f32[4001]", seed, offset);
  const auto w = Numbers(
      "random_normal(%rng_seed, %rng_offset) {shape=[7], stream=1, dtype=f64, "
      "mean=3, std=0.5}",
      "f64[7]", seed, offset);
  double sum = 0, squares = 0;
  for (uint64_t e = 0; e < z.size(); ++e) {
    const uint64_t first = e / 2 * 2;
    const double u = ((LaneOf(first, seed, offset + 1) >> 8) + 1) * 0x1p-24;
    const double v = (LaneOf(first + 1, seed, offset + 1) >> 8) * 0x1p-24;
    const double angle = 2 * std::acos(-1.0) * v, r = std::sqrt(-2 * std::log(u));
    EXPECT_NEAR(z[e], r * (e % 2 == 0 ? std::cos(angle) : std::sin(angle)), 2e-6);
    sum += z[e];
    squares += z[e] * z[e];
  }
  EXPECT_NEAR(sum / z.size(), 0, 0.06);
  EXPECT_NEAR(squares / z.size(), 1, 0.08);
  for (uint64_t e = 0; e < w.size(); ++e) {
    const uint64_t first = e / 2 * 4;
    auto wide = [&](uint64_t lane) {
      return (LaneOf(lane, seed, offset + 1) | uint64_t{LaneOf(lane + 1, seed, offset + 1)}
                                                   << 32) >>
             11;
    };
    const double r = std::sqrt(-2 * std::log((static_cast<double>(wide(first)) + 1) * 0x1p-53));
    const double angle = 2 * std::acos(-1.0) * (static_cast<double>(wide(first + 2)) * 0x1p-53);
    EXPECT_NEAR(w[e], 3 + 0.5 * r * (e % 2 == 0 ? std::cos(angle) : std::sin(angle)), 1e-14);
  }
}

HostTensor Ones(int64_t n) {
  HostTensor t = HostTensor::Make(DType::kF32, {n});
  for (int64_t i = 0; i < n; ++i) t.Set(i, ScalarFromDouble(DType::kF32, 1));
  return t;
}

std::vector<double> Dropped(double p, uint64_t seed, int64_t n, bool scalar) {
  std::vector<HostTensor> more = {Ones(n)};
  std::string args = absl::StrCat(", %x: f32[", n, "]");
  if (scalar) {
    HostTensor t = HostTensor::Make(DType::kF64, {});
    t.Set(0, ScalarFromDouble(DType::kF64, p));
    more.push_back(t);
    args += ", %p: scalar f64";
  }
  return Numbers(absl::StrCat("dropout(%x, %rng_seed, %rng_offset", scalar ? ", %p) {" : ") {p=",
                              scalar ? "" : absl::StrCat(p, ", "), "stream=5}"),
                 absl::StrCat("f32[", n, "]"), seed, 11, more, args);
}

TEST(Random, DropoutTakes16BitLanes) {
  const double rounded = std::nearbyint(0.1 * 65536) / 65536;
  const auto y = Dropped(0.1, 77, 1000, false);
  for (uint64_t e = 0; e < y.size(); ++e) {
    const uint32_t bits = LaneOf(e / 2, 77, 16) >> (e % 2 * 16) & 0xffff;
    EXPECT_EQ(y[e], bits < rounded * 65536 ? 0.0 : static_cast<float>(1 / (1 - rounded))) << e;
  }
}

TEST(Random, DropoutTakes32BitLanesWhereRoundingWouldMoveP) {
  for (bool scalar : {false, true}) {
    const double p = scalar ? 0.3 : 0.0001;
    const double share = std::nearbyint(p * 0x1p32);
    const auto y = Dropped(p, 78, 20000, scalar);
    int zeros = 0;
    for (uint64_t e = 0; e < y.size(); ++e) {
      const bool drop = LaneOf(e, 78, 16) < share;
      zeros += drop ? 1 : 0;
      EXPECT_EQ(y[e], drop ? 0.0 : static_cast<float>(1 / (1 - share * 0x1p-32))) << e;
    }
    EXPECT_GT(zeros, 0);
  }
  for (double v : Dropped(1, 3, 100, false)) EXPECT_EQ(v, 0);
  for (double v : Dropped(0, 3, 100, false)) EXPECT_EQ(v, 1);
  for (double v : Dropped(1, 3, 100, true)) EXPECT_EQ(v, 0);
  // A number of the call is checked by no one: what is no probability counts as the nearest.
  for (double v : Dropped(-0.5, 3, 100, true)) EXPECT_EQ(v, 1);
  for (double v : Dropped(1.5, 3, 100, true)) EXPECT_EQ(v, 0);
  for (double v : Dropped(std::nan(""), 3, 100, true)) EXPECT_TRUE(std::isnan(v));
}

TEST(Random, BernoulliFollowsItsProbabilities) {
  std::vector<HostTensor> more = {Ones(2000)};
  for (int64_t i = 0; i < 2000; ++i)
    more[0].Set(i, ScalarFromDouble(DType::kF32, i < 1000 ? 0.25 : i < 1500 ? 1 : 0));
  const auto y = Numbers("bernoulli(%p, %rng_seed, %rng_offset) {stream=0}", "f32[2000]", 5, 6,
                         more, ", %p: f32[2000]");
  double ones = 0;
  for (uint64_t e = 0; e < 2000; ++e) {
    EXPECT_EQ(y[e], e < 1000 ? (LaneOf(e, 5, 6) >> 8) * 0x1p-24 < 0.25 : e < 1500) << e;
    if (e < 1000) ones += y[e];
  }
  EXPECT_NEAR(ones, 250, 60);
}

// A probability that 24 bits would make 0.
TEST(Random, BernoulliOfF64Uses53Bits) {
  HostTensor p = HostTensor::Make(DType::kF64, {100});
  std::vector<bool> want;
  for (uint64_t e = 0; e < 100; ++e) {
    const uint64_t bits = (LaneOf(2 * e, 5, 6) | uint64_t{LaneOf(2 * e + 1, 5, 6)} << 32) >> 11;
    want.push_back(e % 2 == 0);
    p.Set(
        static_cast<int64_t>(e),
        ScalarFromDouble(DType::kF64, static_cast<double>(bits + (e % 2 == 0 ? 1 : 0)) * 0x1p-53));
  }
  const auto y = Numbers("bernoulli(%p, %rng_seed, %rng_offset) {stream=0}", "f64[100]", 5, 6, {p},
                         ", %p: f64[100]");
  ASSERT_EQ(y.size(), 100u);
  for (size_t e = 0; e < 100; ++e) EXPECT_EQ(y[e], want[e] ? 1 : 0) << e;
}

TEST(Random, StreamsAreNotMerged) {
  auto graph = ParseGraph(
      "graph f(%x: f32[8], %rng_seed: scalar u64, %rng_offset: scalar u64) -> (f32[8], f32[8], "
      "f32[8]) {\n"
      " %0 = dropout(%x, %rng_seed, %rng_offset) {p=0.5, stream=0} : f32[8]\n"
      " %1 = dropout(%x, %rng_seed, %rng_offset) {p=0.5, stream=1} : f32[8]\n"
      " %2 = dropout(%x, %rng_seed, %rng_offset) {p=0.5, stream=0} : f32[8]\n"
      " return %0, %1, %2\n}");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_NE(graph->outputs()[0], graph->outputs()[1]);
  EXPECT_EQ(graph->outputs()[0], graph->outputs()[2]);
}

TEST(Random, FromMemoryTheScalarsAreInputs) {
  auto graph = ParseGraph(
      "graph f(%x: f32[n], %rng_seed: scalar u64, %rng_offset: scalar u64, %s: scalar u64) -> "
      "(f32[n]) {\n %0 = dropout(%x, %rng_seed, %rng_offset) {p=0.5, stream=0} : f32[n]\n"
      " return %0\n}");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(RngRolesOf(*graph).size(), graph->inputs().size());
  EXPECT_EQ(RngRoleOf(*graph, 0), RngRole::kNone);
  EXPECT_EQ(RngRoleOf(*graph, 1), RngRole::kSeed);
  EXPECT_EQ(RngRoleOf(*graph, 2), RngRole::kOffset);
  EXPECT_EQ(RngRoleOf(*graph, 3), RngRole::kNone);
  EXPECT_EQ(RngRoleOf(*graph, 4), RngRole::kNone);
  auto memory = RngFromMemory(*graph);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_TRUE(VerifyGraph(*memory).ok());
  EXPECT_TRUE(RngRolesOf(*memory).empty());
  EXPECT_EQ(memory->node(memory->inputs()[1]).kind(), OpKind::kInput);
  EXPECT_EQ(memory->node(memory->inputs()[3]).kind(), OpKind::kScalar);
}

TEST(Random, BadUses) {
  auto error = [](const std::string& line) {
    auto graph = ParseGraph(absl::StrCat(
        "graph f(%x: f32[8], %s: scalar u64, %i: scalar i64, %v: u64[2]) -> (f32[8]) {\n %r = ",
        line, " : f32[8]\n return %r\n}"));
    return graph.ok() ? std::string("no error") : std::string(graph.status().message());
  };
  EXPECT_NE(error("dropout(%x, %s, %s) {p=1.5, stream=0}").find("p is 1.5, expected 0 to 1"),
            std::string::npos)
      << error("dropout(%x, %s, %s) {p=1.5, stream=0}");
  EXPECT_NE(error("dropout(%x, %i, %s) {stream=0}").find("expected u64[] for seed, got i64[]"),
            std::string::npos);
  EXPECT_NE(error("dropout(%x, %s, %v) {stream=0}").find("expected u64[] for offset, got u64[2]"),
            std::string::npos);
  EXPECT_NE(error("dropout(%x, %s, %s) {stream=-1}").find("stream is -1"), std::string::npos);
  EXPECT_NE(error("dropout(%x, %s, %s)").find("attribute stream is missing"), std::string::npos);
  EXPECT_NE(error("random_uniform(%s, %s) {shape=[8], stream=0, dtype=i32}").find("float type"),
            std::string::npos);
  auto expect = [&](const std::string& attrs, const std::string& op, const std::string& part) {
    const std::string message =
        error(absl::StrCat("random_", op, "(%s, %s) {shape=[8], stream=0, ", attrs, "}"));
    EXPECT_NE(message.find(absl::StrCat("random_", op, "(u64[], u64[]): ", part)),
              std::string::npos)
        << message;
  };
  expect("low=2, high=1", "uniform", "low is 2 and high is 1, expected low <= high");
  expect("low=-3e38, high=3e38", "uniform",
         "low is -3e+38 and high is 3e+38, expected a difference that f32 holds");
  expect("high=inf", "uniform", "high is inf, expected a finite number of f32");
  expect("low=-inf", "uniform", "low is -inf, expected a finite number of f32");
  expect("high=1e6, dtype=f16", "uniform", "high is 1e+06, expected a finite number of f16");
  expect("mean=-inf", "normal", "mean is -inf, expected a finite number of f32");
  expect("std=-1", "normal", "std is -1, expected >= 0");
  expect("std=1e300", "normal", "std is 1e+300, expected a finite number of f32");
}

}  // namespace
}  // namespace jitfuse::internal
