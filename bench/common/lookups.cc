#include "lookups.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/function_state.h"
#include "api/jitfuse.h"
#include "api/runtime.h"

namespace jitfuse_bench {
namespace {

using jitfuse::DType;
using jitfuse::Tensor;
using jitfuse::internal::CallCache;
using jitfuse::internal::TensorView;
using Clock = std::chrono::steady_clock;

constexpr int kLookups = 1000, kSizes = 100;
constexpr double kLookupGoalNs = 150, kBindGoalUs = 2, kBindGoalUsPerLaunch = 0.3;

// Views of `count` tensors of these dims, the first of which each call changes.
class Views {
 public:
  Views(std::size_t count, std::vector<std::int64_t> dims) : dims_(std::move(dims)) {
    for (std::size_t i = 0; i < count; ++i) {
      TensorView view;
      view.ptr = reinterpret_cast<const void*>((i + 1) << 32);
      view.dims = dims_;
      views_.push_back(view);
    }
  }
  void SetBatch(std::int64_t n) { dims_[0] = n; }
  const std::vector<TensorView>& get() const { return views_; }

 private:
  std::vector<std::int64_t> dims_;
  std::vector<TensorView> views_;
};

struct Subject {
  jitfuse::Function f;
  CallCache* cache = nullptr;
  std::size_t inputs = 0;
  std::vector<std::int64_t> dims;
};

jitfuse::StatusOr<Subject> Compiled(const jitfuse::Builder& b, const Tensor& y,
                                    jitfuse::DeviceKind device, std::vector<std::int64_t> dims) {
  jitfuse::CompileOptions options;
  options.device = device;
  jitfuse::StatusOr<jitfuse::Function> f = b.Compile({y}, options);
  if (!f.ok()) return f.status();
  Subject out;
  out.f = *f;
  const auto backend = jitfuse::internal::GetBackend(device);
  if (!backend.ok()) return jitfuse::internal::ToPublic(backend.status());
  out.cache = &jitfuse::FunctionAccess::State(out.f)->CacheOf(*backend);
  out.inputs = static_cast<std::size_t>(out.f.num_inputs());
  out.dims = std::move(dims);
  const auto first = out.cache->Find(Views(out.inputs, out.dims).get(), {});  // compiles
  if (!first.ok()) return jitfuse::internal::ToPublic(first.status());
  return out;
}

jitfuse::StatusOr<Subject> Pointwise(jitfuse::DeviceKind device) {
  jitfuse::Builder b("pointwise");
  const Tensor a = b.Input("a", DType::kF32, {"n"}), x = b.Input("b", DType::kF32, {"n"}),
               c = b.Input("c", DType::kF32, {"n"});
  return Compiled(b, Relu(a * x + c), device, {16});
}

// Along one axis and the other in turn, so that no two of them are one kernel.
jitfuse::StatusOr<Subject> EightKernels(jitfuse::DeviceKind device) {
  jitfuse::Builder b("eight");
  Tensor y = b.Input("x", DType::kF32, {"n", 64, 64});
  for (int i = 0; i < 8; ++i) y = Softmax(y, i % 2 == 0 ? -1 : -2);
  return Compiled(b, y, device, {2, 64, 64});
}

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

void AddLookup(const Subject& s, bool alternate, const std::string& name, int samples,
               Report* report) {
  Views views(s.inputs, s.dims);
  std::vector<double> ns;
  for (int i = 0; i < samples; ++i) {
    const Clock::time_point start = Clock::now();
    for (int k = 0; k < kLookups; ++k) {
      if (alternate) views.SetBatch(k % 2 == 0 ? 16 : 48);
      (void)s.cache->Find(views.get(), {});
    }
    ns.push_back(1e9 * Seconds(start) / kLookups);
  }
  const double median = Median(ns);
  report->Add({name, "ns", median, "", 0, median, kLookupGoalNs, true});
}

// Each size is asked for once, so that none of them is found by its exact key.
void AddBind(const Subject& s, const std::string& name, int samples, Report* report) {
  Views views(s.inputs, s.dims);
  std::int64_t next = 1000;
  std::size_t launches = 0;
  std::vector<double> us;
  for (int i = 0; i < samples; ++i) {
    const Clock::time_point start = Clock::now();
    for (int k = 0; k < kSizes; ++k) {
      views.SetBatch(next++);
      const auto bound = s.cache->Find(views.get(), {});
      if (bound.ok()) launches = (*bound)->executable->steps.size();
    }
    us.push_back(1e6 * Seconds(start) / kSizes);
  }
  const double median = Median(us);
  const std::string kernels = std::to_string(launches) + (launches == 1 ? " kernel" : " kernels");
  report->Add({name + kernels, "us", median, "", 0, median,
               kBindGoalUs + kBindGoalUsPerLaunch * static_cast<double>(launches), true});
}

}  // namespace

std::string AddLookups(jitfuse::DeviceKind device, const std::string& where, int samples,
                       Report* report) {
  const jitfuse::StatusOr<Subject> one = Pointwise(device);
  if (!one.ok()) return one.status().message();
  AddLookup(*one, false, "L1 lookup, the call of before" + where, samples, report);
  AddLookup(*one, true, "L1 lookup, two sizes in turn" + where, samples, report);
  AddBind(*one, "bind of a new batch size" + where + ", ", samples, report);
  const jitfuse::StatusOr<Subject> many = EightKernels(device);
  if (!many.ok()) return many.status().message();
  AddBind(*many, "bind of a new batch size" + where + ", ", samples, report);
  return "";
}

}  // namespace jitfuse_bench
