// The stored NumPy results against compiled CPU kernels and the plan interpreter: no evaluator
// between.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "api/inspect.h"
#include "api/jitfuse.h"
#include "ir/dtype.h"
#include "ir/wide_scalar.h"
#include "nlohmann/json.hpp"
#include "tests/test_util/golden.h"

namespace jitfuse {
namespace {

using Json = nlohmann::json;

Array Unpack(const Json& j) {
  const auto dtype = static_cast<DType>(*internal::ParseDType(j["dtype"].get<std::string>()));
  Array a = *Array::Empty(dtype, j["dims"].get<std::vector<std::int64_t>>());
  const std::string hex = j["hex"];
  auto* out = static_cast<std::uint8_t*>(a.data());
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    *out++ = static_cast<std::uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return a;
}

// The reference is in f64 with exact constants; f16 results are rounded, and may have been stored
// on the way.
double Allowed(DType dtype, double want, double largest) {
  const double scale = std::max({std::fabs(want), 1e-2 * largest, 2e-2});
  return dtype == DType::kF16 ? scale * 4e-3 : dtype == DType::kF32 ? scale * 8e-6 : scale * 1e-13;
}

void RunAll(DeviceKind kind) {
  std::ifstream file(internal::TestDataPath("tests/data/numpy_vectors.json"));
  ASSERT_TRUE(file);
  const Json all = Json::parse(file);
  // The first and the last case of each op: compiling all of them takes a minute.
  std::map<std::string, std::array<const Json*, 2>> cases;
  for (const Json& c : all["cases"]) {
    const std::string text = c["graph"].get<std::string>();
    const std::size_t start = text.find(" = ") + 3;
    std::array<const Json*, 2>& of_op = cases[text.substr(start, text.find('(', start) - start)];
    (of_op[0] == nullptr ? of_op[0] : of_op[1]) = &c;
  }
  std::vector<const Json*> chosen;
  for (const auto& [op, of_op] : cases) {
    for (const Json* c : of_op) {
      if (c != nullptr) chosen.push_back(c);
    }
  }
  int compared = 0;
  for (const Json* chosen_case : chosen) {
    const Json& c = *chosen_case;
    const std::string text = c["graph"].get<std::string>();
    SCOPED_TRACE(text);
    CompileOptions options;
    options.device = kind;
    auto f = CompileText(text, options);
    ASSERT_TRUE(f.ok()) << f.status().message();
    std::vector<Array> inputs;
    for (const Json& i : c["inputs"]) inputs.push_back(Unpack(all["arrays"][i.get<std::size_t>()]));
    auto results = f->Run(inputs);
    ASSERT_TRUE(results.ok()) << results.status().message();
    const Array reference = Unpack(all["arrays"][c["result"].get<std::size_t>()]);
    ASSERT_EQ((*results)[0].dims(), reference.dims());
    const std::vector<double> got = *(*results)[0].ToVector(), want = *reference.ToVector();
    const DType dtype = (*results)[0].dtype();
    const bool rounded = reference.dtype() == DType::kF64 && dtype != DType::kI64;
    double largest = 0;
    for (double w : want) largest = std::max(largest, std::fabs(w));
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_LE(std::fabs(got[i] - want[i]), rounded ? Allowed(dtype, want[i], largest) : 0)
          << "element " << i << ": got " << got[i] << ", NumPy has " << want[i];
    }
    ++compared;
  }
  EXPECT_GT(compared, 300);
}

TEST(NumpyVectorsOnExecutors, Cpu) { RunAll(DeviceKind::kCpu); }
TEST(NumpyVectorsOnExecutors, Interpreter) { RunAll(DeviceKind::kInterpret); }

}  // namespace
}  // namespace jitfuse
