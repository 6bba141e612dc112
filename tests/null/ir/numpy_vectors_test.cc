// Both evaluator modes against NumPy's results, stored by tools/make_numpy_vectors.py: an oracle
// that shares nothing with the tables.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "ir/eval.h"
#include "ir/scalar_value.h"
#include "ir/text.h"
#include "ir/wide_scalar.h"
#include "nlohmann/json.hpp"
#include "tests/test_util/golden.h"
#include "tests/test_util/stored_vectors.h"

namespace jitfuse::internal {
namespace {

using Json = nlohmann::json;

// NumPy's reference is in f64 with exact constants; the op's own constants are rounded to its
// compute type.
long double Slack(DType dtype, long double reference) {
  const long double relative = dtype == DType::kF64 ? 4e-14L : 4e-6L;
  return relative * std::max(std::fabs(reference), 2e-2L);
}

// A row's body fools every check that is derived from it, so every row has a case here.
TEST(NumpyVectors, EveryOpHasACase) {
  const std::set<std::string_view> elsewhere = {
      "input",  "scalar",         "constant",                               // no op to compute
      "philox", "random_uniform", "random_normal", "bernoulli", "dropout",  // random_test.cc
  };
  std::ifstream file(TestDataPath("tests/data/numpy_vectors.json"));
  ASSERT_TRUE(file);
  std::set<std::string> seen;
  const Json all = Json::parse(file);
  for (const Json& c : all["cases"]) {
    const std::string text = c["graph"].get<std::string>();
    const size_t start = text.find(" = ") + 3;
    seen.insert(text.substr(start, text.find('(', start) - start));
  }
  for (const OpDef* def : AllOps()) {
    if (elsewhere.count(def->name) != 0) continue;
    EXPECT_EQ(seen.count(std::string(def->name)), 1u)
        << def->name << " has no case: add its NumPy name to tools/make_numpy_vectors.py";
  }
}

TEST(NumpyVectors, EveryCase) {
  std::ifstream file(TestDataPath("tests/data/numpy_vectors.json"));
  ASSERT_TRUE(file) << "tests/data/numpy_vectors.json";
  const Json all = Json::parse(file);
  const Json& arrays = all["arrays"];
  const Json& cases = all["cases"];
  ASSERT_GT(cases.size(), 250u);
  for (const Json& c : cases) {
    SCOPED_TRACE(c["graph"].get<std::string>());
    auto graph = ParseGraph(c["graph"].get<std::string>());
    ASSERT_TRUE(graph.ok()) << graph.status();
    std::vector<HostTensor> inputs;
    for (const Json& i : c["inputs"]) inputs.push_back(UnpackStored(arrays[i.get<size_t>()]));
    const HostTensor reference = UnpackStored(arrays[c["result"].get<size_t>()]);
    auto declared = EvalDeclared(*graph, inputs);
    auto wide = EvalWide(*graph, inputs);
    ASSERT_TRUE(declared.ok()) << declared.status();
    ASSERT_TRUE(wide.ok()) << wide.status();
    const HostTensor& got = (*declared)[0];
    const WideTensor& value = (*wide)[0];
    ASSERT_EQ(got.dims, reference.dims);
    CompareResult compared = Compare(value, got);
    EXPECT_TRUE(compared.ok) << compared.text;
    for (int64_t i = 0; i < got.size(); ++i) {
      const auto at = static_cast<size_t>(i);
      const long double want = ScalarToLongDouble(reference.dtype, reference.At(i));
      ASSERT_FALSE(std::isnan(want));
      const long double slack =
          IsFloat(got.dtype) && reference.dtype == DType::kF64 ? Slack(got.dtype, want) : 0;
      ASSERT_LE(
          std::fabs(value.value[at] - want),
          (got.dtype == DType::kF16 ? std::max(value.bound[at], UlpOf(DType::kF16, want) / 2) : 0) +
              slack)
          << "wide, element " << i;
      const long double declared_bound =
          got.dtype == DType::kF16 ? std::max(value.bound[at], UlpOf(DType::kF16, want) / 2)
                                   : value.bound[at];
      ASSERT_LE(std::fabs(ScalarToLongDouble(got.dtype, got.At(i)) - want), declared_bound + slack)
          << "declared, element " << i;
    }
  }
}

}  // namespace
}  // namespace jitfuse::internal
