// The demo: an MLP that reads handwritten digits, described op by op, fused by Jitfuse, on the GPU
// where there is one and on the CPU elsewhere.
//
//   demo [DATA_FOLDER]        (./dev demo builds and runs it)
//
// It prints the test accuracy and compares every label with the reference evaluator's, says what
// was fused and why not more, what compiling took, and what a batch costs fused and with one kernel
// per op.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "jitfuse/inspect.h"
#include "jitfuse/jitfuse.h"
#include "npy.h"

namespace jf = jitfuse;

namespace {

const char* const kWeights[] = {"w1", "b1", "gamma", "beta", "w2", "b2", "w3", "b3"};

// Describes the chain. Inputs, in order: x, then kWeights.
jf::StatusOr<std::string> Describe() {
  jf::Builder b("digits_mlp");
  jf::Tensor x = b.Input("x", jf::DType::kF32, {"n", 64});
  jf::Tensor w1 = b.Input("w1", jf::DType::kF32, {64, 256}),
             b1 = b.Input("b1", jf::DType::kF32, {256});
  jf::Tensor gamma = b.Input("gamma", jf::DType::kF32, {256}),
             beta = b.Input("beta", jf::DType::kF32, {256});
  jf::Tensor w2 = b.Input("w2", jf::DType::kF32, {256, 128}),
             b2 = b.Input("b2", jf::DType::kF32, {128});
  jf::Tensor w3 = b.Input("w3", jf::DType::kF32, {128, 10}),
             b3 = b.Input("b3", jf::DType::kF32, {10});

  jf::Tensor h1 = jf::LayerNorm(jf::Relu(jf::Matmul(x, w1) + b1), gamma, beta);
  jf::Tensor h2 = jf::Gelu(jf::Matmul(h1, w2) + b2);
  jf::Tensor probabilities = jf::Softmax(jf::Matmul(h2, w3) + b3);
  jf::Tensor label = jf::Argmax(probabilities, {1});
  if (!b.status().ok()) return b.status();
  return b.ToText({label, probabilities});
}

jf::StatusOr<std::vector<jf::Array>> LoadInputs(const std::string& folder) {
  std::vector<jf::Array> inputs;
  auto x = LoadNpy(folder + "/digits_test_x.npy");
  if (!x.ok()) return x.status();
  inputs.push_back(*x);
  for (const char* name : kWeights) {
    auto w = LoadNpy(folder + "/digits_weights/" + name + ".npy");
    if (!w.ok()) return w.status();
    inputs.push_back(*w);
  }
  return inputs;
}

// The least milliseconds of a batch for each function (what else runs on the machine only adds to
// it), measured in turns, with results written to the same buffers each time; for at most some
// seconds, so that a busy machine keeps nobody waiting.
jf::StatusOr<std::vector<double>> TimeBatches(const std::vector<jf::Function>& functions,
                                              const std::vector<jf::Array>& inputs) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::vector<jf::Array>> outputs;
  for (const jf::Function& f : functions) {
    auto made = f.Run(inputs);
    if (!made.ok()) return made.status();
    outputs.push_back(*made);
  }
  std::vector<std::vector<double>> ms(functions.size());
  const auto end = Clock::now() + std::chrono::seconds(3);
  for (int sample = 0; sample < 51 && (sample < 3 || Clock::now() < end); ++sample) {
    for (std::size_t f = 0; f < functions.size(); ++f) {
      auto start = Clock::now();
      for (int i = 0; i < 10; ++i) {
        if (jf::Status s = functions[f].RunInto(inputs, outputs[f]); !s.ok()) return s;
      }
      if (jf::Status s = jf::Synchronize(functions[f].device()); !s.ok()) return s;
      ms[f].push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count() / 10);
    }
  }
  std::vector<double> least;
  for (const std::vector<double>& samples : ms)
    least.push_back(*std::min_element(samples.begin(), samples.end()));
  return least;
}

jf::Status Demo(const std::string& folder) {
  auto text = Describe();
  if (!text.ok()) return text.status();
  auto host = LoadInputs(folder);
  if (!host.ok()) return host.status();
  auto truth = LoadNpy(folder + "/digits_test_y.npy");
  if (!truth.ok()) return truth.status();

  jf::CompileOptions options;
  auto fused = jf::CompileText(*text, options);
  if (!fused.ok()) return fused.status();
  options.fuse = false;
  auto unfused = jf::CompileText(*text, options);
  if (!unfused.ok()) return unfused.status();
  bool gpu = fused->device() == jf::DeviceKind::kCuda;
  std::printf("The chain:\n%s\nRunning on the %s.\n", text->c_str(), gpu ? "GPU" : "CPU");
  if (!gpu) std::printf("(%s)\n", jf::DeviceStatus(jf::DeviceKind::kCuda).message().c_str());

  std::vector<jf::Array> inputs;
  for (const jf::Array& a : *host) {
    auto there = a.CopyTo(jf::Device{gpu ? jf::DeviceKind::kCuda : jf::DeviceKind::kCpu, 0});
    if (!there.ok()) return there.status();
    inputs.push_back(*there);
  }

  auto start = std::chrono::steady_clock::now();
  auto results = fused->Run(inputs);
  if (!results.ok()) return results.status();
  auto labels = (*results)[0].ToVector();
  if (!labels.ok()) return labels.status();
  double first_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();

  auto reference = jf::Evaluate(*text, *host);
  if (!reference.ok()) return reference.status();
  auto reference_labels = (*reference)[0].ToVector(), expected = truth->ToVector();
  if (!reference_labels.ok()) return reference_labels.status();
  if (!expected.ok()) return expected.status();
  int right = 0, same = 0, total = static_cast<int>(labels->size());
  for (int i = 0; i < total; ++i) {
    auto at = static_cast<std::size_t>(i);
    right += (*labels)[at] == (*expected)[at];
    same += (*labels)[at] == (*reference_labels)[at];
  }
  auto explained = fused->Explain(inputs);
  if (!explained.ok()) return explained.status();
  auto ms = TimeBatches({*fused, *unfused}, inputs);
  if (!ms.ok()) return ms.status();
  double fused_ms = (*ms)[0], unfused_ms = (*ms)[1];

  std::printf("\nWhat was fused:\n%s\n", explained->c_str());
  std::printf("test accuracy          %.4f (%d of %d)\n", static_cast<double>(right) / total, right,
              total);
  std::printf("labels as reference    %d of %d\n", same, total);
  std::printf("first call, compiling  %.1f ms\n", first_ms);
  std::printf("batch of %d, fused     %.4f ms\n", total, fused_ms);
  std::printf("one kernel per op      %.4f ms  (%.2fx)\n", unfused_ms, unfused_ms / fused_ms);
  if (right < 0.95 * total)
    return jf::Status(jf::StatusCode::kInternal, "the accuracy is below 0.95");
  if (same != total)
    return jf::Status(jf::StatusCode::kInternal, "labels differ from the reference evaluator's");
  return jf::Status();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 || (argc > 1 && argv[1][0] == '-')) {
    std::fprintf(stderr, "usage: demo [FOLDER of the digits, examples/data if none is given]\n");
    return 2;
  }
  jf::Status status = Demo(argc > 1 ? argv[1] : JF_EXAMPLES_DATA_DIR);
  if (status.ok()) return 0;
  std::fprintf(stderr, "demo: %s\n", status.message().c_str());
  return 1;
}
