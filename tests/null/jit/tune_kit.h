// What tests of tuning share: two graphs, and a function of one, called on the device whose time
// the test writes.
#ifndef JITFUSE_TESTS_NULL_JIT_TUNE_KIT_H_
#define JITFUSE_TESTS_NULL_JIT_TUNE_KIT_H_

#include <memory>
#include <string_view>
#include <vector>

#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/call_cache.h"
#include "jit/disk_cache.h"
#include "jit/executor.h"
#include "tests/null/jit/timed_backend.h"

namespace jitfuse::internal {

using Dims = std::vector<int64_t>;

inline constexpr const char* kProduct =
    "graph f(%x: f32[n,32], %w: f32[32,64]) -> (f32[n,64]) {\n"
    "  %0 = matmul(%x, %w) : f32[n,64]\n  return %0\n}";
inline constexpr const char* kLayer =
    "graph f(%x: f32[n,32], %w: f32[32,64], %b: f32[64]) -> (f32[n,64]) {\n"
    "  %0 = matmul(%x, %w) : f32[n,64]\n  %1 = broadcast(%b) {shape=[n,64]} : f32[n,64]\n"
    "  %2 = add(%0, %1) : f32[n,64]\n  %3 = relu(%2) : f32[n,64]\n  return %3\n}";

// One function, called with f32 tensors that hold zeros.
class Harness {
 public:
  explicit Harness(std::string_view text, bool autotune = false, TimedBackend* backend = nullptr,
                   DiskCache* disk = nullptr)
      : backend_(backend != nullptr ? backend : &own_),
        kernels_(disk),
        cache_(*ParseGraph(text), With(autotune), backend_, &kernels_) {}

  TimedBackend& backend() { return *backend_; }
  CallCache& cache() { return cache_; }

  // As Function::Run does it.
  absl::StatusOr<std::shared_ptr<const BoundCall>> Run(const std::vector<Dims>& dims) {
    Take(dims);
    JF_ASSIGN_OR_RETURN(auto bound, cache_.Find(views_, {}));
    if (bound->tune_first) {
      JF_ASSIGN_OR_RETURN(bound, cache_.TuneFirst(Request()));
    }
    std::vector<std::vector<float>> results;
    std::vector<void*> outputs;
    for (const auto& out : bound->output_dims)
      results.emplace_back(static_cast<size_t>(*CheckedNumElements(*out)));
    for (auto& r : results) outputs.push_back(r.data());
    std::vector<void*> inputs;
    for (auto& d : data_) inputs.push_back(d.data());
    backend_->ran.clear();
    JF_RETURN_IF_ERROR(ExecuteWithAllocator(*bound, {inputs, scalars_, outputs, nullptr, nullptr},
                                            backend_->allocator()));
    return bound;
  }
  absl::StatusOr<std::shared_ptr<const TuneRecord>> Tune(const std::vector<Dims>& dims) {
    Take(dims);
    return cache_.Tune(Request());
  }
  absl::Status UseRecord(const std::vector<Dims>& dims, const TuneRecord& record) {
    Take(dims);
    return cache_.UseRecord(views_, {}, record);
  }
  const std::vector<std::vector<float>>& data() const { return data_; }
  const std::vector<TensorView>& views() const { return views_; }

 private:
  static Options With(bool autotune) {
    Options options;
    options.autotune = autotune;
    return options;
  }
  void Take(const std::vector<Dims>& dims) {
    dims_ = dims;
    data_.clear();
    views_.clear();
    for (const Dims& d : dims_) data_.emplace_back(static_cast<size_t>(*CheckedNumElements(d)));
    for (size_t i = 0; i < dims_.size(); ++i)
      views_.push_back({data_[i].data(), DType::kF32, dims_[i], {}});
    scalars_.assign(dims_.size(), 0);
  }
  TuneRequest Request() const { return {views_, {}, scalars_, nullptr, nullptr}; }

  TimedBackend own_;
  TimedBackend* backend_;
  KernelCache kernels_;
  CallCache cache_;
  std::vector<Dims> dims_;
  std::vector<std::vector<float>> data_;
  std::vector<TensorView> views_;
  std::vector<uint64_t> scalars_;
};

inline std::vector<Dims> Product(int64_t n) { return {{n, 32}, {32, 64}}; }
inline std::vector<Dims> Layer(int64_t n) { return {{n, 32}, {32, 64}, {64}}; }

// The fastest is algorithm `best`.
inline auto Best(int best) {
  return [best](const GemmProblem&, int a) { return a == best ? 5.0 : 10.0; };
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_NULL_JIT_TUNE_KIT_H_
