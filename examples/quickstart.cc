#include <jitfuse/jitfuse.h>
#include <cstdio>
namespace jf = jitfuse;

int main() {
  jf::Builder b("scaled_gelu");
  jf::Tensor x = b.Input("x", jf::DType::kF32, {"n", 4}), w = b.Input("w", jf::DType::kF32, {4});
  jf::Function f = b.Compile({jf::Softmax(jf::Gelu(x * w))}).value();
  auto rows = jf::Array::FromValues(jf::DType::kF32, {2, 4}, {0, 1, 2, 3, -3, -2, -1, 0}).value();
  auto scale = jf::Array::FromValues(jf::DType::kF32, {4}, {1, 1, 0.5, 0.5}).value();
  std::vector<double> y = f.Run({rows, scale}).value()[0].ToVector().value();
  for (double v : y) std::printf("%.4f ", v);
  std::printf("\n%s", f.Explain({rows, scale}).value().c_str());
}
