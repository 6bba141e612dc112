// relu(a * b + c) as one fused kernel, built against an installed Jitfuse.
#include <jitfuse/jitfuse.h>

#include <cstdio>
#include <vector>

namespace jf = jitfuse;

int main() {
  jf::Builder builder("relu_chain");
  jf::Tensor a = builder.Input("a", jf::DType::kF32, {"n", 4});
  jf::Tensor b = builder.Input("b", jf::DType::kF32, {"n", 4});
  jf::Tensor c = builder.Input("c", jf::DType::kF32, {4});  // broadcast over the rows
  jf::StatusOr<jf::Function> function = builder.Compile({Relu(a * b + c)});
  if (!function.ok()) {
    std::fprintf(stderr, "%s\n", function.status().message().c_str());
    return 1;
  }

  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8}, y = {1, -1, 1, -1, 1, -1, 1, -1},
                           z = {0, 1, 2, 7};
  std::vector<float> out(8);
  jf::Status status = function->RunInto({jf::Array::View(x.data(), jf::DType::kF32, {2, 4}),
                                         jf::Array::View(y.data(), jf::DType::kF32, {2, 4}),
                                         jf::Array::View(z.data(), jf::DType::kF32, {4})},
                                        {jf::Array::View(out.data(), jf::DType::kF32, {2, 4})});
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  for (float value : out) std::printf("%g ", value);
  std::printf("\n");
  return out == std::vector<float>{1, 0, 5, 3, 5, 0, 9, 0} ? 0 : 1;
}
