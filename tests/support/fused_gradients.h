// Backward passes that are one pass over x and g: values against the evaluator's bounds, the same
// bits each time, and in place. Included by a test of each device, which defines kGradientsDevice.
#ifndef JITFUSE_TESTS_SUPPORT_FUSED_GRADIENTS_H_
#define JITFUSE_TESTS_SUPPORT_FUSED_GRADIENTS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "api/inspect.h"
#include "api/jitfuse.h"

namespace jitfuse_test {

using namespace jitfuse;  // NOLINT: tests of its interface

using Tensors = std::vector<Tensor>;

// A chain whose gradients are taken: x is [n, cols], the others are rows of cols.
struct BackwardCase {
  const char* name;
  int rows;  // tensors beside x
  std::function<Tensor(const Tensors&)> body;
};

inline const std::vector<BackwardCase>& BackwardCases() {
  static const auto* cases = new std::vector<BackwardCase>{
      {"gelu", 1, [](const Tensors& t) { return Gelu(Add(t[0], t[1])); }},
      {"relu", 1, [](const Tensors& t) { return Relu(Add(t[0], t[1])); }},
      {"two biases", 2,
       [](const Tensors& t) { return Multiply(Tanh(Add(t[0], t[1])), Sigmoid(t[2])); }},
      {"layer_norm", 2, [](const Tensors& t) { return LayerNorm(t[0], t[1], t[2]); }},
      {"rms_norm", 1, [](const Tensors& t) { return RmsNorm(t[0], t[1]); }},
      {"bias, layer_norm", 3,
       [](const Tensors& t) { return LayerNorm(Add(t[0], t[1]), t[2], t[3]); }},
      {"softmax behind a bias", 1, [](const Tensors& t) { return Softmax(Add(t[0], t[1])); }},
  };
  return *cases;
}

// Numbers without a pattern, within (-1, 1).
inline Array PatternlessNumbers(DType dtype, const std::vector<std::int64_t>& dims,
                                std::uint64_t state) {
  std::int64_t n = 1;
  for (std::int64_t d : dims) n *= d;
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<double>(static_cast<std::int64_t>(state) >> 40) * 0x1p-23);
  }
  return *Array::FromValues(dtype, dims, values);
}

class FusedGradients : public testing::Test {
 protected:
  void SetUp() override {
    if (Status s = DeviceStatus(kGradientsDevice); !s.ok()) GTEST_SKIP() << s.message();
  }

  static Function Backward(const BackwardCase& c, DType dtype, const DimSpec& n,
                           std::int64_t cols) {
    Builder b;
    Tensors in = {b.Input("x", dtype, {n, cols})};
    for (int i = 0; i < c.rows; ++i) in.push_back(b.Input("w" + std::to_string(i), dtype, {cols}));
    Tensor g = b.Input("g", dtype, {n, cols});
    CompileOptions options;
    options.device = kGradientsDevice;
    auto f = b.Compile(Vjp({c.body(in)}, {g}, in), options);
    EXPECT_TRUE(f.ok()) << f.status().message();
    return *f;
  }

  static std::vector<Array> Inputs(const BackwardCase& c, DType dtype, std::int64_t n,
                                   std::int64_t cols) {
    std::vector<Array> host = {PatternlessNumbers(dtype, {n, cols}, 1)};
    for (int i = 0; i < c.rows; ++i)
      host.push_back(PatternlessNumbers(dtype, {cols}, static_cast<std::uint64_t>(2 + i)));
    host.push_back(PatternlessNumbers(dtype, {n, cols}, 9));
    return host;
  }
  static std::vector<Array> OnDevice(const std::vector<Array>& host) {
    std::vector<Array> out;
    for (const Array& a : host) out.push_back(*a.CopyTo({kGradientsDevice, 0}));
    return out;
  }
  static std::vector<Array> OnHost(const std::vector<Array>& arrays) {
    std::vector<Array> out;
    for (const Array& a : arrays) out.push_back(*a.CopyTo({DeviceKind::kCpu, 0}));
    return out;
  }

  static void ExpectRight(const Function& f, const std::vector<Array>& host) {
    const std::vector<Array> inputs = OnDevice(host);
    auto results = f.Run(inputs);
    ASSERT_TRUE(results.ok()) << results.status().message();
    auto checks = Check(f.ToText(), host, OnHost(*results));
    ASSERT_TRUE(checks.ok()) << checks.status().message();
    for (const CheckResult& c : *checks) EXPECT_TRUE(c.ok) << c.where << "\n" << f.ToText();
    auto again = f.Run(inputs);
    ASSERT_TRUE(again.ok()) << again.status().message();
    for (size_t i = 0; i < results->size(); ++i)
      EXPECT_EQ(*OnHost(*again)[i].ToVector(), *OnHost(*results)[i].ToVector());
  }
};

TEST_F(FusedGradients, OfAnyNumberOfRows) {
  for (const BackwardCase& c : BackwardCases()) {
    for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64}) {
      for (std::int64_t cols : {96, 77}) {
        SCOPED_TRACE(std::string(c.name) + ", " + std::to_string(cols));
        const Function f = Backward(c, dtype, "n", cols);
        for (std::int64_t n : {1, 13, 150}) ExpectRight(f, Inputs(c, dtype, n, cols));
      }
    }
  }
}

// Chunks of rows, whole and cut short; rows of a block of threads, and longer ones.
TEST_F(FusedGradients, OfManyRowsAndOfLongOnes) {
  for (const BackwardCase& c : BackwardCases()) {
    SCOPED_TRACE(c.name);
    const DType dtype = DType::kBF16;
    ExpectRight(Backward(c, dtype, "n", 72), Inputs(c, dtype, 1100, 72));
    ExpectRight(Backward(c, dtype, 1024, 64), Inputs(c, dtype, 1024, 64));
    ExpectRight(Backward(c, dtype, "n", 4096), Inputs(c, dtype, 17, 4096));
    ExpectRight(Backward(c, dtype, "n", 2050), Inputs(c, dtype, 17, 2050));
    ExpectRight(Backward(c, dtype, "n", 16400), Inputs(c, dtype, 5, 16400));
  }
}

// The gradient of x over the buffer of g, or of x.
TEST_F(FusedGradients, InPlace) {
  for (const BackwardCase& c : BackwardCases()) {
    SCOPED_TRACE(c.name);
    const Function f = Backward(c, DType::kF32, "n", 96);
    const std::vector<Array> host = Inputs(c, DType::kF32, 4133, 96);
    for (size_t over : {size_t{0}, host.size() - 1}) {
      const std::vector<Array> inputs = OnDevice(host);
      std::vector<Array> outputs = f.Run(inputs).value();
      const std::vector<Array> want = OnHost(outputs);
      outputs[0] = inputs[over];
      Status s = f.RunInto(inputs, outputs);
      ASSERT_TRUE(s.ok()) << s.message();
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_EQ(*OnHost(outputs)[i].ToVector(), *want[i].ToVector()) << "output " << i;
    }
  }
}

}  // namespace jitfuse_test

#endif  // JITFUSE_TESTS_SUPPORT_FUSED_GRADIENTS_H_
