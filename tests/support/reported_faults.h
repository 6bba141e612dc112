// Faults that users of other fusers have met, as small tests (numbers as in
// docs/reported_faults.md).
//
// tests/cpu and tests/gpu include this file once each, with kFaultsDevice defined before: the same
// graphs, values and expectations on both. Expected values are written out or computed here, never
// taken from the evaluator. Where there is no GPU, the GPU tests skip.
#ifndef JITFUSE_TESTS_SUPPORT_REPORTED_FAULTS_H_
#define JITFUSE_TESTS_SUPPORT_REPORTED_FAULTS_H_

#include <sys/mman.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "api/inspect.h"
#include "api/jitfuse.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace jitfuse_test {

using jitfuse::Array;
using jitfuse::Builder;
using jitfuse::Device;
using jitfuse::DeviceKind;
using jitfuse::DType;
using jitfuse::Function;
using jitfuse::Tensor;
using testing::ElementsAre;
using Dims = std::vector<std::int64_t>;
using Values = std::vector<double>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

class ReportedFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (kFaultsDevice != DeviceKind::kCuda) return;
    bool found = false;
    for (const jitfuse::Finding& f : jitfuse::Doctor()) found |= f.what == "CUDA device" && f.found;
    if (!found) GTEST_SKIP() << "no GPU";
  }

  static Device TheDevice() { return {kFaultsDevice, 0}; }
  static Array On(const Array& host) {
    return kFaultsDevice == DeviceKind::kCuda ? *host.CopyTo(TheDevice()) : host;
  }
  static Array Make(DType dtype, Dims dims, const Values& values) {
    return On(*Array::FromValues(dtype, std::move(dims), values));
  }
  static Function Compile(const Builder& b, const std::vector<Tensor>& outputs) {
    jitfuse::CompileOptions options;
    options.device = kFaultsDevice;
    auto f = b.Compile(outputs, options);
    EXPECT_TRUE(f.ok()) << f.status().message();
    return f.ok() ? *f : Function();
  }
  // Results as doubles, one vector an output; empty after an error, which fails the test.
  static std::vector<Values> Run(const Function& f, const std::vector<Array>& inputs) {
    auto results = f.Run(inputs);
    EXPECT_TRUE(results.ok()) << results.status().message();
    std::vector<Values> out;
    if (!results.ok()) return out;
    for (const Array& a : *results) out.push_back(*a.ToVector());
    return out;
  }
  static Values Run1(const Function& f, const std::vector<Array>& inputs) {
    std::vector<Values> all = Run(f, inputs);
    return all.empty() ? Values() : all[0];
  }
  // One input of `dtype` and dims {n}, one output.
  static Values Map(DType dtype, const Values& x, const std::function<Tensor(Tensor)>& body) {
    Builder b;
    Tensor in = b.Input("x", dtype, {"n"});
    return Run1(Compile(b, {body(in)}), {Make(dtype, {static_cast<int64_t>(x.size())}, x)});
  }
  static Values Random(size_t n, int seed, double scale = 1) {
    std::mt19937_64 rng(static_cast<uint64_t>(seed));
    std::normal_distribution<double> normal;
    Values v(n);
    for (double& e : v) e = static_cast<float>(normal(rng) * scale);
    return v;
  }
};

// Equal bit for bit, a NaN to any NaN.
inline void ExpectSame(const Values& got, const Values& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << what << " [" << i << "]: " << got[i] << ", not NaN";
    } else {
      EXPECT_EQ(std::bit_cast<uint64_t>(got[i]), std::bit_cast<uint64_t>(want[i]))
          << what << " [" << i << "]: " << got[i] << ", not " << want[i];
    }
  }
}

inline Values Each(const Values& x, const std::function<double(double)>& f) {
  Values out;
  for (double v : x) out.push_back(f(v));
  return out;
}

constexpr DType kFloats[] = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

}  // namespace jitfuse_test

#endif  // JITFUSE_TESTS_SUPPORT_REPORTED_FAULTS_H_
