// The CPU's kernels beside compiled C++ loops that move the same bytes, in one run, on the same
// threads.
//
//   bench_cpu [--out FILE.json] [--samples 21] [--only TEXT]
// Buffers are larger than any cache and hold random numbers. A peer is a STREAM-like loop (as many
// reads and writes of as many bytes), built with -O3 for this CPU's vectors and run by OpenMP, with
// plain stores and with stores that pass by the caches (which ours does as well, where it pays).
// The goal speaks of the first, a loop as a compiler makes it; the other, which is mostly faster,
// has a row of its own.
#include <immintrin.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "api/jitfuse.h"
#include "common/report.h"
#include "cpu_backend/parallel.h"

namespace jitfuse_bench {

#ifdef __clang__  // does not take these together
#define JF_LOOP __attribute__((noinline))
#else
#define JF_LOOP \
  __attribute__((noinline, optimize("O3"), target_clones("avx512f", "avx2", "default")))
#endif
// Their own functions, so that gcc makes versions for each CPU.
JF_LOOP void Copy(const float* __restrict a, float* __restrict y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] * 3.0f;
}
JF_LOOP void Add(const float* __restrict a, const float* __restrict b, float* __restrict y,
                 int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}
JF_LOOP void MulAdd(const float* __restrict a, const float* __restrict b, const float* __restrict c,
                    float* __restrict y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] * b[i] + c[i];
}

// The same with stores past the caches: `n` is a multiple of 16, `y` is aligned to 16 bytes.
JF_LOOP void StreamCopy(const float* a, float* y, int64_t n) {
  const __m128 three = _mm_set1_ps(3.0f);
  for (int64_t i = 0; i < n; i += 4) _mm_stream_ps(y + i, _mm_mul_ps(_mm_loadu_ps(a + i), three));
}
JF_LOOP void StreamAdd(const float* a, const float* b, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 4)
    _mm_stream_ps(y + i, _mm_add_ps(_mm_loadu_ps(a + i), _mm_loadu_ps(b + i)));
}
JF_LOOP void StreamMulAdd(const float* a, const float* b, const float* c, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 4) {
    const __m128 product = _mm_mul_ps(_mm_loadu_ps(a + i), _mm_loadu_ps(b + i));
    _mm_stream_ps(y + i, _mm_add_ps(product, _mm_loadu_ps(c + i)));
  }
}

namespace {

using jitfuse::Array;
using jitfuse::DType;

constexpr int64_t kElements = int64_t{1} << 24;

template <typename T>
T Must(jitfuse::StatusOr<T> v) {
  if (v.ok()) return *std::move(v);
  std::fprintf(stderr, "bench_cpu: %s\n", v.status().message().c_str());
  std::exit(1);
}

// Aligned as tensors' buffers are (a vector of floats begins 16 bytes after a page).
struct Buffer {
  explicit Buffer(int64_t n)
      : data(static_cast<float*>(
            std::aligned_alloc(256, static_cast<size_t>((n * 4 + 255) / 256 * 256)))) {
    static std::mt19937 random(std::random_device{}());
    // 24 bits of each to [-2, 2): a distribution object would take most of the program's time.
    for (int64_t i = 0; i < n; ++i)
      data[i] = static_cast<float>(static_cast<int32_t>(random()) >> 8) * 0x1p-22f;
  }
  ~Buffer() { std::free(data); }
  Buffer(Buffer&& from) noexcept : data(std::exchange(from.data, nullptr)) {}
  float* data;
};

// body(first, count) over equal parts, one per thread, of whole cache lines.
void OnThreads(const std::function<void(int64_t, int64_t)>& body) {
  int threads = jitfuse::internal::NumThreads();
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int t = 0; t < threads; ++t) {
    constexpr int64_t kLines = kElements / 16;
    int64_t first = kLines * t / threads * 16, last = kLines * (t + 1) / threads * 16;
    body(first, last - first);
  }
}

constexpr char kMisaligned[] = "relu(a*b+c) 16M f32, 4 bytes off";

struct Case {
  const char* name;
  const char* text;
  int streams;  // read and written, of kElements each
  double goal;
};

constexpr Case kCases[] = {
    {"relu(a*b+c) 16M f32",
     "graph f(%a: f32[n], %b: f32[n], %c: f32[n]) -> (f32[n]) {\n %0 = multiply(%a, %b) : f32[n]\n "
     "%1 = add(%0, %c) : f32[n]\n %2 = relu(%1) : f32[n]\n return %2\n}",
     4, 0.85},
    {"gelu(a+b) 16M f32",
     "graph f(%a: f32[n], %b: f32[n]) -> (f32[n]) {\n %0 = add(%a, %b) : f32[n]\n %1 = gelu(%0) : "
     "f32[n]\n return %1\n}",
     3, 0.85},
    {"tanh(a*b) 16M f32",
     "graph f(%a: f32[n], %b: f32[n]) -> (f32[n]) {\n %0 = multiply(%a, %b) : f32[n]\n %1 = "
     "tanh(%0) : f32[n]\n return %1\n}",
     3, 0.85},
    {"softmax 8192x4096 f32",
     "graph f(%x: f32[n,4096]) -> (f32[n,4096]) {\n %0 = softmax(%x) {axis=1} : f32[n,4096]\n "
     "return %0\n}",
     2, 0.80},
    {"layer_norm 8192x4096 f32",
     "graph f(%x: f32[n,4096], %w: f32[4096], %b: f32[4096]) -> (f32[n,4096]) {\n %0 = "
     "layer_norm(%x, %w, %b) {norm_dims=1, eps=1e-05} : f32[n,4096]\n return %0\n}",
     2, 0.80},
};

void RunCase(const Case& c, int samples, Report* report) {
  const bool rows = c.streams == 2;
  const int64_t n = rows ? int64_t{8192} * 4096 : kElements;
  Buffer a(n), b(rows ? 4096 : n), d(rows ? 4096 : n), y(n);
  jitfuse::CompileOptions options;
  options.device = jitfuse::DeviceKind::kCpu;
  jitfuse::Function f = Must(jitfuse::CompileText(c.text, options));
  std::vector<int64_t> dims = rows ? std::vector<int64_t>{n / 4096, 4096} : std::vector<int64_t>{n};
  std::vector<Array> in = {Array::View(a.data, DType::kF32, dims)};
  std::vector<int64_t> others = rows ? std::vector<int64_t>{4096} : dims;
  if (f.num_inputs() > 1) in.push_back(Array::View(b.data, DType::kF32, others));
  if (f.num_inputs() > 2) in.push_back(Array::View(d.data, DType::kF32, others));
  std::vector<Array> out = {Array::View(y.data, DType::kF32, dims)};
  auto fused = [&] {
    jitfuse::Status status = f.RunInto(in, out);
    if (!status.ok()) {
      std::fprintf(stderr, "bench_cpu: %s\n", status.message().c_str());
      std::exit(1);
    }
  };
  auto peer = [&](bool stream) {
    for (int64_t done = 0; done < n; done += kElements) {
      OnThreads([&](int64_t first, int64_t count) {
        first += done;
        const float *p = a.data + first, *q = rows ? p : b.data + first,
                    *r = rows ? p : d.data + first;
        float* to = y.data + first;
        if (c.streams == 2) stream ? StreamCopy(p, to, count) : Copy(p, to, count);
        if (c.streams == 3) stream ? StreamAdd(p, q, to, count) : Add(p, q, to, count);
        if (c.streams == 4) stream ? StreamMulAdd(p, q, r, to, count) : MulAdd(p, q, r, to, count);
        if (stream) _mm_sfence();
      });
    }
  };
  const std::vector<double> seconds =
      TimeInterleaved({fused, [&] { peer(false); }, [&] { peer(true); }}, samples);
  const double gb = static_cast<double>(n) * 4 * c.streams * 1e-9;
  report->Add({c.name, "GB/s", gb / seconds[0], "compiled loop, same bytes", gb / seconds[1],
               seconds[1] / seconds[0], c.goal, false});
  report->Add({std::string(c.name) + ", beside stores past the caches", "GB/s", gb / seconds[0],
               "the loop with such stores", gb / seconds[2], seconds[2] / seconds[0], 0, false});
}

// Operands that a first element was cut off, beside those that were not: a kernel that copied them
// first, or fell back to single elements, would be far from 1.
void RunMisaligned(int samples, Report* report) {
  const int64_t n = kElements;
  std::vector<Buffer> buffers;
  buffers.reserve(4);
  for (int i = 0; i < 4; ++i) buffers.emplace_back(n + 1);
  jitfuse::CompileOptions options;
  options.device = jitfuse::DeviceKind::kCpu;
  jitfuse::Function f = Must(jitfuse::CompileText(kCases[0].text, options));
  auto call = [&](int64_t offset) {
    std::vector<Array> at;
    for (const Buffer& b : buffers) at.push_back(Array::View(b.data + offset, DType::kF32, {n}));
    jitfuse::Status status = f.RunInto({at[0], at[1], at[2]}, {at[3]});
    if (!status.ok()) {
      std::fprintf(stderr, "bench_cpu: %s\n", status.message().c_str());
      std::exit(1);
    }
  };
  const std::vector<double> seconds =
      TimeInterleaved({[&] { call(1); }, [&] { call(0); }}, samples);
  const double gb = static_cast<double>(n) * 16e-9;
  report->Add({kMisaligned, "GB/s", gb / seconds[0], "the same, aligned", gb / seconds[1],
               seconds[1] / seconds[0], 1 / 1.1, false});
}

}  // namespace
}  // namespace jitfuse_bench

int main(int argc, char** argv) {
  using namespace jitfuse_bench;  // NOLINT
  constexpr const char* kUsage =
      "bench_cpu [--out FILE.json] [--samples 21] [--only PART_OF_A_NAME]\n"
      "CPU kernels against compiled C++ loops of the same bytes";
  if (const auto code = ExitCode(argc, argv, kUsage, {"--out", "--samples", "--only"}))
    return *code;
  Report report("cpu kernels",
                CpuName() + ", " + std::to_string(jitfuse::internal::NumThreads()) + " used");
  std::string only = Flag(argc, argv, "--only");
  for (const Case& c : kCases) {
    if (std::string(c.name).find(only) != std::string::npos)
      RunCase(c, std::atoi(Flag(argc, argv, "--samples", "21").c_str()), &report);
  }
  if (std::string(kMisaligned).find(only) != std::string::npos)
    RunMisaligned(std::atoi(Flag(argc, argv, "--samples", "21").c_str()), &report);
  return report.Write(Flag(argc, argv, "--out")) ? 0 : 1;
}
