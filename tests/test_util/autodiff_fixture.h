// What tests of gradients begin with: a graph from a few lines, checked against finite differences
// or run.
#ifndef JITFUSE_TESTS_TEST_UTIL_AUTODIFF_FIXTURE_H_
#define JITFUSE_TESTS_TEST_UTIL_AUTODIFF_FIXTURE_H_

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/autodiff.h"
#include "tests/test_util/gradient_check.h"

namespace jitfuse::internal {

// "x: f64[4,8]" and lines -> a graph that returns its last line's %r.
inline Graph Body(const std::string& inputs, const std::string& result, const std::string& body) {
  return ParsedGraph(
      absl::StrCat("graph f(", inputs, ") -> (", result, ") {\n", body, "\n  return %r\n}\n"));
}

class Autodiff : public ::testing::Test {
 protected:
  void Check(const std::string& inputs, const std::string& result, const std::string& body,
             double low = -2, double high = 2) {
    const Graph graph = Body(inputs, result, body);
    if (HasFailure()) return;
    ExpectGradient(graph, RandomInputs(graph, &rng_, low, high), &rng_, 1e-5);
  }
  // With every symbol of the graph at each of these sizes.
  void CheckSizes(const std::string& inputs, const std::string& result, const std::string& body,
                  const std::vector<std::vector<int64_t>>& sizes) {
    const Graph graph = Body(inputs, result, body);
    if (HasFailure()) return;
    for (const std::vector<int64_t>& symbols : sizes) {
      SCOPED_TRACE(::testing::PrintToString(symbols));
      ExpectGradient(graph, RandomInputs(graph, &rng_, -2, 2, symbols), &rng_, 1e-5);
    }
  }
  // The gradients of all float inputs, with cotangents of ones.
  std::vector<std::vector<double>> Run(const Graph& graph, std::vector<HostTensor> inputs) {
    absl::StatusOr<Graph> gradient =
        Gradient(graph, FloatInputs(graph), {.cotangents = Cotangents::kInputs});
    EXPECT_TRUE(gradient.ok()) << gradient.status();
    if (!gradient.ok()) return {};
    for (size_t i = inputs.size(); i < gradient->inputs().size(); ++i) {
      const TensorType& type = gradient->type({gradient->inputs()[i], 0});
      inputs.push_back(HostTensor::Make(type.dtype, EvalDims(type.dims, {})));
      for (int64_t k = 0; k < inputs.back().size(); ++k) inputs.back().SetNumber(k, 1);
    }
    absl::StatusOr<std::vector<HostTensor>> out = EvalDeclared(*gradient, inputs);
    EXPECT_TRUE(out.ok()) << out.status();
    std::vector<std::vector<double>> numbers;
    for (const HostTensor& t : *out) {
      numbers.emplace_back();
      for (int64_t i = 0; i < t.size(); ++i) numbers.back().push_back(t.Number(i));
    }
    return numbers;
  }
  std::mt19937 rng_{7};
};

inline HostTensor Numbers(DType dtype, std::vector<int64_t> dims,
                          const std::vector<double>& values) {
  HostTensor t = HostTensor::Make(dtype, std::move(dims));
  for (size_t i = 0; i < values.size(); ++i) t.SetNumber(static_cast<int64_t>(i), values[i]);
  return t;
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_AUTODIFF_FIXTURE_H_
