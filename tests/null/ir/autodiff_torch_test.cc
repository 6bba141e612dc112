// Gradients against PyTorch's autograd, stored by tools/make_autograd_vectors.py: an oracle that
// shares nothing with the rules. Its inputs hold zeros of both signs, ties and the corners of
// activations.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <string>

#include "ir/autodiff.h"
#include "ir/eval.h"
#include "ir/text.h"
#include "tests/test_util/golden.h"
#include "tests/test_util/gradient_check.h"
#include "tests/test_util/stored_vectors.h"

namespace jitfuse::internal {
namespace {

using Json = nlohmann::json;

TEST(AutodiffTorch, EveryCase) {
  std::ifstream file(TestDataPath("tests/data/autograd_vectors.json"));
  ASSERT_TRUE(file) << "tests/data/autograd_vectors.json";
  const Json all = Json::parse(file);
  const Json& arrays = all["arrays"];
  std::set<std::string> ops;
  int gradients = 0;
  for (const Json& c : all["cases"]) {
    const std::string text = c["graph"].get<std::string>();
    SCOPED_TRACE(text);
    const Graph graph = ParsedGraph(text);
    const size_t start = text.find(" = ") + 3;
    std::vector<HostTensor> inputs;
    for (const Json& i : c["inputs"]) inputs.push_back(UnpackStored(arrays[i.get<size_t>()]));
    inputs.push_back(UnpackStored(arrays[c["cotangent"].get<size_t>()]));
    absl::StatusOr<Graph> gradient =
        Gradient(graph, FloatInputs(graph), {.cotangents = Cotangents::kInputs});
    if (text.find("gradient_mark") != std::string::npos) {
      EXPECT_FALSE(gradient.ok());
      continue;
    }
    ASSERT_TRUE(gradient.ok()) << gradient.status();
    absl::StatusOr<std::vector<HostTensor>> got = EvalDeclared(*gradient, inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->size(), c["gradients"].size());
    for (size_t k = 0; k < got->size(); ++k) {
      if (c["gradients"][k].is_null()) continue;
      ops.insert(text.substr(start, text.find('(', start) - start));
      ++gradients;
      const HostTensor want = UnpackStored(arrays[c["gradients"][k].get<size_t>()]);
      ASSERT_EQ((*got)[k].dims, want.dims);
      for (int64_t i = 0; i < want.size(); ++i) {
        const double w = want.Number(i), g = (*got)[k].Number(i);
        if (g == w || (std::isnan(g) && std::isnan(w))) continue;
        // PyTorch's sixth of hardsigmoid is one of f32.
        const double tolerance = text.find("hardsigmoid") != std::string::npos ? 1e-7 : 1e-10;
        EXPECT_NEAR(g, w, tolerance * std::max(1.0, std::fabs(w)))
            << "operand " << k << " element " << i << " at "
            << (inputs[static_cast<size_t>(FloatInputs(graph)[k])].Number(i));
      }
    }
  }
  EXPECT_GE(ops.size(), 100u);
  EXPECT_GE(gradients, 200);
}

}  // namespace
}  // namespace jitfuse::internal
