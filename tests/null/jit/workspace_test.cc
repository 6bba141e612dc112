// CallCache::MostArena: what is enough for any outputs of a call, found from the call with dense
// ones; of tuned calls, too, whose choices do not hold for other outputs.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/call_cache.h"
#include "tests/graph_fuzz/fuzz_case.h"
#include "tests/null/jit/timed_backend.h"
#include "tests/null/jit/tune_kit.h"

namespace jitfuse::internal {
namespace {

// Calls of one graph; nothing is run.
class Calls {
 public:
  explicit Calls(const Graph& graph, const Options& options = {})
      : graph_(graph), cache_(graph, options, &backend_, &kernels_) {}

  TimedBackend& backend() { return backend_; }

  absl::StatusOr<std::shared_ptr<const BoundCall>> Dense(const std::vector<Dims>& inputs) {
    inputs_ = inputs;
    return cache_.Find(Views(inputs_), {});
  }
  absl::StatusOr<int64_t> Most() { return cache_.MostArena(Views(inputs_)); }
  // With outputs that have `gap` elements between rows of the last dim, and begin `shift` bytes
  // behind an aligned address; by output: whether it has.
  absl::StatusOr<std::shared_ptr<const BoundCall>> Strided(const BoundCall& dense, int64_t gap,
                                                           int64_t shift,
                                                           const std::vector<bool>& which) {
    std::vector<Dims> strides(dense.output_dims.size());
    std::vector<TensorView> outputs;
    uintptr_t at = uintptr_t{1} << 40;
    for (size_t o = 0; o < strides.size(); ++o) {
      const Dims& dims = *dense.output_dims[o];
      const DType dtype = dense.executable->outputs[o].dtype;
      const bool dense_one = !which[o] || dims.empty();
      if (!dense_one) {
        strides[o].assign(dims.size(), 1);
        for (size_t d = dims.size() - 1; d-- > 0;)
          strides[o][d] = strides[o][d + 1] * std::max<int64_t>(1, dims[d + 1]) + gap;
      }
      outputs.push_back(
          {reinterpret_cast<const void*>(at + (dense_one ? 0 : shift)), dtype, dims, strides[o]});
      at += uintptr_t{1} << 36;
    }
    return cache_.Find(Views(inputs_), outputs);
  }

 private:
  std::vector<TensorView> Views(const std::vector<Dims>& dims) const {
    std::vector<TensorView> out;
    for (size_t i = 0; i < dims.size(); ++i)
      out.push_back({nullptr, graph_.type({graph_.inputs()[i], 0}).dtype, dims[i], {}});
    return out;
  }

  const Graph graph_;
  TimedBackend backend_;
  KernelCache kernels_;
  CallCache cache_;
  std::vector<Dims> inputs_;
};

// The product is written to a dense output, and beside a strided one.
TEST(MostArena, HasRoomForAProductBesideItsOutput) {
  for (const char* size : {"n", "100"}) {
    Calls calls(
        *ParseGraph(absl::StrReplaceAll("graph f(%x: f32[n,32], %w: f32[32,64]) -> (f32[n,64]) {\n"
                                        "  %0 = matmul(%x, %w) : f32[n,64]\n  return %0\n}",
                                        {{"n,", absl::StrCat(size, ",")}})));
    const auto dense = calls.Dense({{100, 32}, {32, 64}});
    ASSERT_TRUE(dense.ok()) << dense.status();
    EXPECT_EQ((*dense)->arena_bytes, 0);
    const auto strided = calls.Strided(**dense, 8, 0, {true});
    ASSERT_TRUE(strided.ok()) << strided.status();
    EXPECT_EQ((*strided)->arena_bytes, 100 * 64 * 4);
    EXPECT_EQ(*calls.Most(), 100 * 64 * 4);
    EXPECT_EQ(MostArenaBytes(**strided), 100 * 64 * 4);
  }
}

// Of two, each or both.
TEST(MostArena, HoldsForEachOfSeveralOutputs) {
  Calls calls(
      *ParseGraph("graph f(%x: f32[n,32], %w: f32[32,64]) -> (f32[n,64], f32[n,64], f32[n,64]) {\n"
                  "  %0 = exp(%x) : f32[n,32]\n  %1 = matmul(%0, %w) : f32[n,64]\n"
                  "  %2 = softmax(%1) : f32[n,64]\n  %3 = matmul(%0, %w) : f32[n,64]\n"
                  "  %4 = tanh(%1) : f32[n,64]\n  return %1, %2, %4\n}"));
  const auto dense = calls.Dense({{100, 32}, {32, 64}});
  ASSERT_TRUE(dense.ok()) << dense.status();
  int64_t most = 0;
  for (int which = 1; which < 8; ++which) {
    const auto strided =
        calls.Strided(**dense, 3, 4, {(which & 1) != 0, (which & 2) != 0, (which & 4) != 0});
    ASSERT_TRUE(strided.ok()) << strided.status();
    EXPECT_LE((*strided)->arena_bytes, *calls.Most()) << which;
    most = std::max(most, (*strided)->arena_bytes);
  }
  EXPECT_GT(most, (*dense)->arena_bytes);
}

// An algorithm for less aligned operands is another one, and may take more.
TEST(MostArena, HoldsForAlgorithmsOfLessAlignedOutputs) {
  Calls calls(
      *ParseGraph("graph f(%x: f32[n,32], %w: f32[32,64]) -> (f32[n,64]) {\n"
                  "  %0 = matmul(%x, %w) : f32[n,64]\n  return %0\n}"));
  calls.backend().workspace = [](const GemmProblem& p, int) {
    return static_cast<size_t>(p.align == 8 ? 4096 : p.align == 4 ? 1024 : 512);
  };
  const auto dense = calls.Dense({{100, 32}, {32, 64}});
  ASSERT_TRUE(dense.ok()) << dense.status();
  EXPECT_EQ((*dense)->arena_bytes, 512);
  for (const int64_t shift : {4, 8, 16}) {
    const auto shifted = calls.Strided(**dense, 0, shift, {true});
    ASSERT_TRUE(shifted.ok()) << shifted.status();
    EXPECT_EQ((*shifted)->arena_bytes, shift == 8 ? 4096 : shift == 4 ? 1024 : 512);
    EXPECT_LE((*shifted)->arena_bytes, *calls.Most());
  }
  EXPECT_EQ(*calls.Most(), 100 * 64 * 4 + 4096);
}

// What a call like the last one of `h` needs into an output of 64 columns that has `gap` elements
// between its rows and begins `shift` bytes behind an aligned address.
absl::StatusOr<int64_t> NeededInto(Harness& h, int64_t gap, int64_t shift) {
  const Dims dims = {h.views()[0].dims[0], 64}, strides = {64 + gap, 1};
  const TensorView output{reinterpret_cast<const void*>((uintptr_t{1} << 40) + shift), DType::kF32,
                          dims, strides};
  JF_ASSIGN_OR_RETURN(auto bound, h.cache().Find(h.views(), {output}));
  return bound->arena_bytes;
}

// Timing chose an algorithm with little workspace, and products without what follows them; neither
// is of the key of calls with other outputs.
TEST(MostArena, HoldsForOutputsWhoseKeyWasNotTuned) {
  const auto with_epilogue = [](const GemmProblem& p) { return !p.epilogue.empty(); };
  for (const bool layer : {false, true}) {
    for (const bool autotune : {false, true}) {
      TimedBackend backend;
      backend.cost = [&](const GemmProblem& p, int a) {
        return a == 2 ? (with_epilogue(p) ? 100.0 : 5.0) : 200.0;
      };
      backend.workspace = [&](const GemmProblem& p, int a) {
        return a == 0 && p.align == 16 && with_epilogue(p) == layer ? size_t{8192} : size_t{256};
      };
      Harness h(layer ? kLayer : kProduct, autotune, &backend);
      const std::vector<Dims> dims = layer ? Layer(100) : Product(100);
      if (!autotune) ASSERT_TRUE(h.Tune(dims).ok());
      const auto tuned = h.Run(dims);
      ASSERT_TRUE(tuned.ok()) << tuned.status();
      ASSERT_THAT(backend.ran, ::testing::ElementsAre(2));
      const auto most = h.cache().MostArena(h.views());
      ASSERT_TRUE(most.ok()) << most.status();
      for (const int64_t gap : {0, 8}) {
        for (const int64_t shift : {0, 8, 4}) {
          const auto needed = NeededInto(h, gap, shift);
          ASSERT_TRUE(needed.ok()) << needed.status();
          EXPECT_LE(*needed, *most) << layer << autotune << " " << gap << " " << shift;
        }
      }
      EXPECT_GT(*NeededInto(h, 8, 0),
                MostArenaBytes(**tuned));  // so that this is no matter of luck
    }
  }
}

// Where the library has no algorithm for the product with what follows it, it is planned alone.
TEST(MostArena, HoldsForProductsThatLessAlignedOutputsLeaveAlone) {
  TimedBackend backend;
  backend.refuses = [](const GemmProblem& p) { return !p.epilogue.empty() && p.align < 16; };
  backend.workspace = [](const GemmProblem& p, int) {
    return p.epilogue.empty() ? size_t{4096} : size_t{256};
  };
  Harness h(kLayer, false, &backend);
  const auto dense = h.Run(Layer(100));
  ASSERT_TRUE(dense.ok()) << dense.status();
  EXPECT_EQ((*dense)->arena_bytes, 256);
  const auto most = h.cache().MostArena(h.views());
  ASSERT_TRUE(most.ok()) << most.status();
  for (const int64_t gap : {0, 8}) {
    const auto needed = NeededInto(h, gap, 4);
    ASSERT_TRUE(needed.ok()) << needed.status();
    EXPECT_GT(*needed, MostArenaBytes(**dense));
    EXPECT_LE(*needed, *most);
  }
  // Outputs for which there is no algorithm at all have that error, and no say in this.
  backend.refuses = [](const GemmProblem& p) { return p.align < 16; };
  Harness other(kLayer, false, &backend);
  ASSERT_TRUE(other.Run(Layer(100)).ok());
  EXPECT_FALSE(NeededInto(other, 0, 4).ok());
  EXPECT_TRUE(other.cache().MostArena(other.views()).ok());
}

// The widest test of the promise: random graphs of the whole table.
TEST(MostArena, HoldsForRandomGraphs) {
  int compared = 0, larger = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const FuzzCase c = MakeCase(seed);
    Calls calls(c.graph, c.options);
    std::vector<Dims> dims;
    for (NodeId id : c.graph.inputs())
      dims.push_back(EvalDims(c.graph.type({id, 0}).dims, c.sizes[0]));
    const auto dense = calls.Dense(dims);
    if (!dense.ok()) continue;  // sizes that the graph refuses
    const int64_t most = *calls.Most();
    ASSERT_LE((*dense)->arena_bytes, most) << CaseToText(c);
    FuzzRng rng(seed);
    for (const int64_t gap : {1, 16}) {
      std::vector<bool> which;
      for (size_t o = 0; o < c.graph.outputs().size(); ++o)
        which.push_back(gap == 1 || rng.OneIn(2));
      const auto strided = calls.Strided(**dense, gap, 0, which);
      ASSERT_TRUE(strided.ok()) << strided.status() << CaseToText(c);
      ASSERT_LE((*strided)->arena_bytes, most) << CaseToText(c);
      ++compared;
      larger += (*strided)->arena_bytes > (*dense)->arena_bytes ? 1 : 0;
    }
  }
  EXPECT_GT(compared, 500);
  EXPECT_GT(larger, 50);
}

}  // namespace
}  // namespace jitfuse::internal
