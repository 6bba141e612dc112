// Gradients against finite differences, in f64 by the evaluator; for tests.
//
// In: graph text in f64 and values of its inputs. All float inputs are differentiated, with one
// random cotangent for each float output. Out: test failures that show the graph, the input, the
// element and both numbers. Elements at which the differences of two steps disagree are at a kink:
// they are counted, and more than a tenth of them is a failure.
#ifndef JITFUSE_TESTS_TEST_UTIL_GRADIENT_CHECK_H_
#define JITFUSE_TESTS_TEST_UTIL_GRADIENT_CHECK_H_

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "ir/autodiff.h"
#include "ir/eval.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace jitfuse::internal {

// Numbers in [low, high), of integers whole ones in [0, most].
inline HostTensor RandomTensor(DType dtype, std::vector<int64_t> dims, std::mt19937* rng,
                               double low = -2, double high = 2, int most = 3) {
  HostTensor t = HostTensor::Make(dtype, std::move(dims));
  std::uniform_real_distribution<double> number(low, high);
  std::uniform_int_distribution<int> whole(0, dtype == DType::kBool ? 1 : most);
  for (int64_t i = 0; i < t.size(); ++i) {
    IsFloat(dtype) ? t.SetNumber(i, number(*rng)) : t.Set(i, ScalarFromInt(dtype, whole(*rng)));
  }
  return t;
}

inline std::vector<HostTensor> RandomInputs(const Graph& graph, std::mt19937* rng, double low,
                                            double high, absl::Span<const int64_t> symbols = {}) {
  std::vector<HostTensor> inputs;
  for (NodeId id : graph.inputs()) {
    const TensorType& type = graph.type({id, 0});
    inputs.push_back(RandomTensor(type.dtype, EvalDims(type.dims, symbols), rng, low, high));
  }
  return inputs;
}

// sum(cotangent * output) over the float outputs; NaN where the graph does not run.
inline long double WeightedSum(const Graph& graph, const std::vector<HostTensor>& inputs,
                               const std::vector<HostTensor>& cotangents) {
  absl::StatusOr<std::vector<HostTensor>> out = EvalDeclared(graph, inputs);
  if (!out.ok()) {
    ADD_FAILURE() << out.status();
    return std::nanl("");
  }
  long double sum = 0;
  size_t next = 0;
  for (const HostTensor& t : *out) {
    if (!IsFloat(t.dtype)) continue;
    const HostTensor& g = cotangents[next++];
    for (int64_t i = 0; i < t.size(); ++i)
      sum += static_cast<long double>(t.Number(i)) * g.Number(i);
  }
  return sum;
}

inline std::vector<int> FloatInputs(const Graph& graph) {
  std::vector<int> wrt;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (IsFloat(graph.type({graph.inputs()[i], 0}).dtype)) wrt.push_back(static_cast<int>(i));
  }
  return wrt;
}

// Whether what the graph computes is finite for these inputs.
inline bool IsFiniteAt(const Graph& graph, const std::vector<HostTensor>& inputs) {
  absl::StatusOr<std::vector<HostTensor>> out = EvalDeclared(graph, inputs);
  if (!out.ok()) return false;
  for (const HostTensor& t : *out) {
    for (int64_t i = 0; i < t.size(); ++i) {
      if (IsFloat(t.dtype) && !std::isfinite(t.Number(i))) return false;
    }
  }
  return true;
}

inline bool IsRead(const Graph& graph, NodeId input) {
  for (Value v : graph.outputs()) {
    if (v.node == input) return true;
  }
  return !ComputeUsers(graph)[static_cast<size_t>(input)].empty();
}

inline void ExpectGradient(const Graph& graph, std::vector<HostTensor> inputs, std::mt19937* rng,
                           double tolerance = 2e-6) {
  SCOPED_TRACE(GraphToString(graph));
  const std::vector<int> wrt = FloatInputs(graph);
  absl::StatusOr<Graph> gradient = Gradient(graph, wrt, {.cotangents = Cotangents::kInputs});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  ASSERT_TRUE(VerifyGraph(*gradient).ok()) << VerifyGraph(*gradient);
  SCOPED_TRACE(GraphToString(*gradient));
  absl::StatusOr<std::vector<HostTensor>> out = EvalDeclared(graph, inputs);
  ASSERT_TRUE(out.ok()) << out.status();
  std::vector<HostTensor> all = inputs, cotangents;
  for (const HostTensor& t : *out) {
    if (!IsFloat(t.dtype)) continue;
    cotangents.push_back(RandomTensor(t.dtype, t.dims, rng, -1, 1));
    all.push_back(cotangents.back());
  }
  absl::StatusOr<std::vector<HostTensor>> got = EvalDeclared(*gradient, all);
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->size(), wrt.size());
  int64_t kinks = 0, elements = 0;
  for (size_t k = 0; k < wrt.size(); ++k) {
    HostTensor& x = inputs[static_cast<size_t>(wrt[k])];
    ASSERT_EQ((*got)[k].dims, x.dims);
    ASSERT_EQ((*got)[k].dtype, x.dtype);
    if (!IsRead(graph, graph.inputs()[static_cast<size_t>(wrt[k])])) {
      for (int64_t i = 0; i < x.size(); ++i) EXPECT_EQ((*got)[k].Number(i), 0);
      continue;
    }
    for (int64_t i = 0; i < x.size(); ++i) {
      const double at = x.Number(i);
      auto difference = [&](double h) {
        x.SetNumber(i, at + h);
        const long double up = WeightedSum(graph, inputs, cotangents);
        x.SetNumber(i, at - h);
        const long double down = WeightedSum(graph, inputs, cotangents);
        x.SetNumber(i, at);
        return static_cast<double>((up - down) / (2 * h));
      };
      const double wide = difference(0x1p-15), narrow = difference(0x1p-17);
      ++elements;
      const double scale = std::max(1.0, std::fabs(narrow));
      if (!(std::fabs(wide - narrow) <= 20 * tolerance * scale)) {
        ++kinks;
        continue;
      }
      // The step's error falls with its square.
      const double want = narrow + (narrow - wide) / 15;
      EXPECT_NEAR((*got)[k].Number(i), want, tolerance * scale)
          << "input " << graph.input_name(wrt[k]) << " element " << i << " at " << at;
    }
  }
  EXPECT_LE(kinks * 10, elements) << "kinks";
}

inline Graph ParsedGraph(const std::string& text) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  return graph.ok() ? *std::move(graph) : Graph();
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_GRADIENT_CHECK_H_
