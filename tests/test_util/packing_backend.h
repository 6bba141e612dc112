// PackingBackend: a Backend for tests of bound functions. Kernels run on the interpreter, f32
// products in three loops; a right operand that is the same in all calls is packed: copied in the
// order of [k, n]. Counts what it is asked for.
#ifndef JITFUSE_TESTS_TEST_UTIL_PACKING_BACKEND_H_
#define JITFUSE_TESTS_TEST_UTIL_PACKING_BACKEND_H_

#include <atomic>
#include <memory>
#include <string>

#include "tests/test_util/idle_backend.h"

namespace jitfuse::internal {

class PackingBackend : public IdleBackend {
 public:
  // `layouts`: how many layouts of packed operands there are; a product's is that of m modulo it.
  explicit PackingBackend(int64_t layouts = 1) : layouts_(layouts) {}

  mutable std::atomic<int> packs{0}, launches{0}, products{0}, packed_products{0};
  mutable std::atomic<bool> capturing{false};
  const Target* planned_for = nullptr;  // if it is not to plan as the interpreter does

  std::string_view name() const override { return "packing"; }
  const Target& target() const override {
    return planned_for != nullptr ? *planned_for : IdleBackend::target();
  }
  std::string CompilerId() const override { return ""; }
  absl::StatusOr<CompiledKernel> Compile(const KernelSource&) const override {
    return CompiledKernel{};
  }
  absl::Status Launch(const Kernel& kernel, const LaunchArgs& args) const override {
    ++launches;
    return interpreter_->Launch(kernel, args);
  }
  bool IsCapturing(StreamHandle) const override { return capturing; }

  absl::Status GemmSupport(DType dtype, Reason* reason) const override {
    *reason = Reason::kGemmDtype;
    return dtype == DType::kF32 ? absl::OkStatus() : absl::UnimplementedError("f32 alone");
  }
  absl::Status EpilogueSupport(DType, const GemmEpilogue&, Reason* reason) const override {
    *reason = Reason::kEpilogueDtype;
    return absl::UnimplementedError("no epilogues");
  }
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareGemm(
      const GemmProblem& p) const override {
    return std::make_shared<const Product>(p, 0, false);
  }
  absl::StatusOr<std::shared_ptr<const PreparedGemm>> PreparePackedGemm(
      const GemmProblem& p) const override {
    return std::make_shared<const Product>(p, p.m % layouts_, true);
  }
  absl::Status PackB(const PreparedGemm& gemm, const void* b, void* packed,
                     StreamHandle) const override {
    ++packs;
    const GemmProblem& p = static_cast<const Product&>(gemm).problem;
    for (int64_t k = 0; k < p.k; ++k) {
      for (int64_t n = 0; n < p.n; ++n)
        static_cast<float*>(packed)[k * p.n + n] = static_cast<const float*>(b)[InB(p, k, n)];
    }
    return absl::OkStatus();
  }
  absl::Status RunGemm(const PreparedGemm& gemm, const GemmBuffers& buffers,
                       StreamHandle) const override {
    const auto& product = static_cast<const Product&>(gemm);
    const GemmProblem& p = product.problem;
    ++(product.packed ? packed_products : products);
    const auto* a = static_cast<const float*>(buffers.a);
    const auto* b = static_cast<const float*>(buffers.b);
    for (int64_t m = 0; m < p.m; ++m) {
      for (int64_t n = 0; n < p.n; ++n) {
        float sum = 0;
        for (int64_t k = 0; k < p.k; ++k)
          sum += a[p.transpose_a ? k * p.lda + m : m * p.lda + k] *
                 b[product.packed ? k * p.n + n : InB(p, k, n)];
        static_cast<float*>(buffers.d)[m * p.ldd + n] = sum;
      }
    }
    return absl::OkStatus();
  }

 private:
  struct Product : public PreparedGemm {
    Product(const GemmProblem& p, int64_t which, bool is_packed)
        : problem(p), layout(which), packed(is_packed) {}
    size_t workspace_bytes() const override { return 0; }
    std::string Describe() const override { return packed ? "packed" : "plain"; }
    size_t packed_b_bytes() const override {
      return packed ? static_cast<size_t>(problem.k * problem.n) * sizeof(float) : 0;
    }
    bool SharesPackedB(const PreparedGemm& other) const override {
      return layout == static_cast<const Product&>(other).layout;
    }
    const GemmProblem problem;
    const int64_t layout;
    const bool packed;
  };
  static int64_t InB(const GemmProblem& p, int64_t k, int64_t n) {
    return p.transpose_b ? n * p.ldb + k : k * p.ldb + n;
  }

  const int64_t layouts_;
  std::unique_ptr<Backend> interpreter_ = CreateInterpretBackend();
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_PACKING_BACKEND_H_
