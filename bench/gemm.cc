// Matrix products with what stands behind them, on the CPU, beside oneDNN's product alone: same
// operands, same run, same threads.
//
//   bench_gemm [--out FILE.json] [--samples 41] [--only TEXT]
// Ours is a whole call (RunInto); the peer is a prepared primitive run on the same buffers, without
// bias, activation or anything else; where our weights and bias are bound, its weights are in the
// layout that it chose (any-format), packed before. Where the library computes the rest with the
// product, the two differ by little; where it does not (gelu), by one kernel that reads and writes
// the result.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "api/jitfuse.h"
#include "common/report.h"
#include "cpu_backend/gemm_onednn.h"
#include "cpu_backend/onednn_primitive.h"
#include "cpu_backend/parallel.h"
#include "ir/scalar_value.h"

namespace jitfuse_bench {
namespace {

namespace inside = jitfuse::internal;
using jitfuse::Array;
using jitfuse::DType;

template <typename T>
T Must(T v) {
  if (v.ok()) return v;
  std::fprintf(stderr, "bench_gemm: %s\n", std::string(v.status().message()).c_str());
  std::exit(1);
}

struct Case {
  const char* name;
  const char* behind;      // $T: the dtype; %0 is the product
  bool weights_by_column;  // w[o,k], as nn.Linear has it; else w[k,o]
  double goal;
};

constexpr Case kCases[] = {
    {"linear + bias + relu, weights [N,K]",
     " %1 = add(%0, %b) : $T[n,n]\n %2 = relu(%1) : $T[n,n]\n return %2\n", true, 1.03},
    {"x @ w + bias, relu, weights [K,N]",
     " %1 = add(%0, %b) : $T[n,n]\n %2 = relu(%1) : $T[n,n]\n return %2\n", false, 1.03},
    {"x @ w + residual", " %1 = add(%0, %r) : $T[n,n]\n return %1\n", false, 0},
    {"2 * x @ w + 0.5 * c + bias",
     " %p = constant {value=2.0} : $T[]\n %1 = multiply(%0, %p) : $T[n,n]\n %q = constant "
     "{value=0.5} : $T[]\n %2 = multiply(%r, %q) : $T[n,n]\n %3 = add(%1, %2) : $T[n,n]\n %4 = "
     "add(%3, %b) : $T[n,n]\n return %4\n",
     false, 0},
    {"linear + bias + gelu (a second kernel), weights [N,K]",
     " %1 = add(%0, %b) : $T[n,n]\n %2 = gelu(%1) : $T[n,n]\n return %2\n", true, 0},
};

std::string Text(const Case& c, const std::string& dtype) {
  std::string text = "graph f(%x: $T[n,n], %w: $T[n,n], %b: $T[n], %r: $T[n,n]) -> ($T[n,n]) {\n";
  text += std::string(" %0 = matmul(%x, %w) {transpose_b=") +
          (c.weights_by_column ? "true" : "false") + "} : $T[n,n]\n" + c.behind + "}";
  for (size_t at = 0; (at = text.find("$T", at)) != std::string::npos;) text.replace(at, 2, dtype);
  return text;
}

struct Buffer {  // aligned as tensors' buffers are
  Buffer(inside::DType dtype, int64_t n)
      : data(std::aligned_alloc(
            256, static_cast<size_t>((n * inside::ItemSize(dtype) + 255) / 256 * 256))) {
    static std::mt19937 random(1);
    auto* to = static_cast<char*>(data);
    for (int64_t i = 0; i < n; ++i, to += inside::ItemSize(dtype)) {
      const double value = static_cast<double>(static_cast<int32_t>(random())) * 0x1p-31;
      inside::StoreScalar(dtype, inside::ScalarFromDouble(dtype, value), to);
    }
  }
  ~Buffer() { std::free(data); }
  Buffer(const Buffer&) = delete;
  void* data;
};

// oneDNN's product alone on these buffers.
class Bare {
 public:
  Bare(const inside::GemmProblem& p, const inside::GemmBuffers& buffers, bool packed)
      : gemm_(*Must(inside::PrepareOnednn(p, packed))),
        buffers_(buffers),
        workspace_(gemm_->workspace_bytes() / sizeof(std::max_align_t) + 1) {
    buffers_.workspace = workspace_.data();
    if (gemm_->packed_b_bytes() == 0) return;
    packed_.reset(std::aligned_alloc(256, (gemm_->packed_b_bytes() + 255) / 256 * 256));
    if (!inside::PackOnednnB(*gemm_, buffers.b, packed_.get()).ok()) std::exit(1);
    buffers_.b = packed_.get();
  }
  void Run() const {
    if (!inside::RunOnednn(*gemm_, buffers_).ok()) std::exit(1);
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::shared_ptr<const inside::PreparedGemm> gemm_;
  inside::GemmBuffers buffers_;
  std::vector<std::max_align_t> workspace_;
  std::unique_ptr<void, Free> packed_;
};

void RunCase(const Case& c, inside::DType dtype, int64_t n, bool bound, int samples,
             Report* report) {
  const bool f32 = dtype == inside::DType::kF32;
  const DType outer = f32 ? DType::kF32 : DType::kBF16;
  Buffer x(dtype, n * n), w(dtype, n * n), b(dtype, n), r(dtype, n * n), y(dtype, n * n),
      z(dtype, n * n);
  jitfuse::CompileOptions options;
  options.device = jitfuse::DeviceKind::kCpu;
  jitfuse::Function f = *Must(jitfuse::CompileText(Text(c, f32 ? "f32" : "bf16"), options));
  auto view = [&](const Buffer& of, std::vector<int64_t> dims) {
    return Array::View(of.data, outer, std::move(dims));
  };
  if (bound) f = *Must(f.Bind({{"w", view(w, {n, n})}, {"b", view(b, {n})}}));
  const std::vector<Array> in =
      bound ? std::vector<Array>{view(x, {n, n}), view(r, {n, n})}
            : std::vector<Array>{view(x, {n, n}), view(w, {n, n}), view(b, {n}), view(r, {n, n})};
  const std::vector<Array> out = {view(y, {n, n})};
  auto ours = [&] {
    if (jitfuse::Status status = f.RunInto(in, out); !status.ok()) {
      std::fprintf(stderr, "bench_gemm: %s\n", status.message().c_str());
      std::exit(1);
    }
  };
  inside::GemmProblem p;
  p.dtype = dtype;
  p.m = p.n = p.k = p.lda = p.ldb = p.ldd = n;
  p.transpose_b = c.weights_by_column;
  const Bare peer(p, {.a = x.data, .b = w.data, .d = z.data}, bound);
  const std::vector<double> seconds = TimeInterleaved({ours, [&] { peer.Run(); }}, samples);
  report->Add({std::string(c.name) + (bound ? ", bound, " : ", ") + std::to_string(n) + "^3 " +
                   (f32 ? "f32" : "bf16"),
               "ms", seconds[0] * 1e3,
               bound ? "oneDNN's any-format product alone" : "oneDNN's product alone",
               seconds[1] * 1e3, seconds[0] / seconds[1], c.goal, true});
}

}  // namespace
}  // namespace jitfuse_bench

int main(int argc, char** argv) {
  using namespace jitfuse_bench;  // NOLINT
  constexpr const char* kUsage =
      "bench_gemm [--out FILE.json] [--samples 41] [--only PART_OF_A_NAME]\n"
      "products with an epilogue against oneDNN's product alone";
  if (const auto code = ExitCode(argc, argv, kUsage, {"--out", "--samples", "--only"}))
    return *code;
  Report report("cpu products with an epilogue", CpuName() + ", " +
                                                     std::to_string(inside::NumThreads()) +
                                                     " used, oneDNN " + inside::OnednnVersion());
  const std::string only = Flag(argc, argv, "--only");
  const int samples = std::atoi(Flag(argc, argv, "--samples", "41").c_str());
  inside::Reason reason;
  for (inside::DType dtype : {inside::DType::kF32, inside::DType::kBF16}) {
    if (!inside::OnednnSupport(dtype, &reason).ok()) continue;
    for (const Case& c : kCases) {
      if (std::string(c.name).find(only) == std::string::npos) continue;
      for (const bool bound : {false, true}) RunCase(c, dtype, 1024, bound, samples, &report);
    }
  }
  return report.Write(Flag(argc, argv, "--out")) ? 0 : 1;
}
