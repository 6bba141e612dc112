// What a training step of an MLP needs beside its arguments, planned as for an H100: what forward
// keeps, the gradients, and the scratch of backward.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "absl/strings/str_cat.h"
#include "ir/autodiff_split.h"
#include "ir/text.h"
#include "jit/call_cache.h"
#include "tests/null/jit/timed_backend.h"

namespace jitfuse::internal {
namespace {

// relu(linear(...)), `layers` times, all matrices of bf16[width,width].
std::string Mlp(int layers, int width) {
  std::string inputs = absl::StrCat("%x: bf16[n,", width, "]"), body, y = "%x";
  for (int i = 0; i < layers; ++i) {
    absl::StrAppend(&inputs, ", %w", i, ": bf16[", width, ",", width, "], %b", i, ": bf16[", width,
                    "]");
    absl::StrAppend(&body, " %z", i, " = linear(", y, ", %w", i, ", %b", i, ") : bf16[n,", width,
                    "]\n %y", i, " = relu(%z", i, ") : bf16[n,", width, "]\n");
    y = absl::StrCat("%y", i);
  }
  return absl::StrCat("graph mlp(", inputs, ") -> (bf16[n,", width, "]) {\n", body, " return ", y,
                      "\n}");
}

// How many matrices of n rows; the scratch of column sums counts as parts of one.
double Matrices(int64_t bytes, int64_t n, int64_t width) {
  return static_cast<double>(bytes) / static_cast<double>(2 * n * width);
}

int64_t ArenaOf(const Graph& graph, int64_t n) {
  TimedBackend backend;
  KernelCache kernels;
  CallCache cache(graph, Options{}, &backend, &kernels);
  std::vector<std::vector<int64_t>> dims;
  for (NodeId id : graph.inputs()) dims.push_back(EvalDims(graph.type({id, 0}).dims, {{n}}));
  std::vector<TensorView> views;
  for (const std::vector<int64_t>& d : dims) views.push_back({nullptr, DType::kBF16, d, {}});
  const auto bound = cache.Find(views, {});
  EXPECT_TRUE(bound.ok()) << bound.status();
  return bound.ok() ? (*bound)->arena_bytes : -1;
}

// PyTorch's eager mode, measured on an H100 with n = width: 5 matrices of 2 layers, 11 of 4.
TEST(TrainingMemory, BackwardHasOneMatrixOfItsOwn) {
  for (const int layers : {2, 4}) {
    constexpr int kWidth = 1024;
    const absl::StatusOr<Graph> mlp = ParseGraph(Mlp(layers, kWidth));
    ASSERT_TRUE(mlp.ok()) << mlp.status();
    std::vector<int> wrt(mlp->inputs().size());
    std::iota(wrt.begin(), wrt.end(), 0);
    const absl::StatusOr<ForwardBackward> split = SplitForwardBackward(*mlp, wrt);
    ASSERT_TRUE(split.ok()) << split.status();
    // Kept beside arguments: the result of each layer, of which the last is returned anyway.
    EXPECT_EQ(split->forward.outputs().size(), static_cast<size_t>(layers));
    EXPECT_EQ(ArenaOf(split->forward, kWidth), 0);  // the library here takes no workspace
    const double scratch = Matrices(ArenaOf(split->backward, kWidth), kWidth, kWidth);
    EXPECT_GT(scratch, 1);
    EXPECT_LT(scratch, 1.3);
  }
}

}  // namespace
}  // namespace jitfuse::internal
