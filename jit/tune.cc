#include "jit/tune.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "ir/support/dump.h"
#include "ir/support/status.h"
#include "jit/executor.h"
#include "jit/product_choices.h"

namespace jitfuse::internal {
namespace {

constexpr int kWarmRounds = 2;
constexpr int kRounds = 15, kFewRounds = 5;
constexpr double kLongRoundUs = 20e3;  // rounds that take longer are repeated less
constexpr double kWorthwhile = 0.98;   // of the time of what comes before

double Median(std::vector<double> v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return std::round(*middle * 1e3) / 1e3;
}

// The first that nothing beats by what is worth while.
int BestOf(const std::vector<double>& us) {
  const double least = *std::min_element(us.begin(), us.end());
  for (size_t i = 0; i < us.size(); ++i) {
    if (least >= kWorthwhile * us[i]) return static_cast<int>(i);
  }
  return 0;
}

std::string ProblemText(const GemmProblem& p) {
  return absl::StrCat(ToAbsl(DTypeName(p.dtype)),
                      p.f32_result ? absl::StrCat(" -> ", ToAbsl(DTypeName(p.result()))) : "", " ",
                      p.batch, " x [", p.m, ",", p.k, "]", p.transpose_a ? "^T" : "", " [", p.k,
                      ",", p.n, "]", p.transpose_b ? "^T" : "", ", align ", p.align,
                      p.epilogue.empty() ? "" : absl::StrCat(", ", EpilogueToString(p.epilogue)));
}

struct Range {  // bytes of a view, from its pointer
  int64_t below = 0, above = 0;
};
Range RangeOf(const TensorView& view) {
  const auto [lo, hi] = OffsetRange(view);
  if (hi < lo) return {};
  const int64_t size = ItemSize(view.dtype);
  return {-lo * size, (hi + 1) * size};
}

// Memory of the tuning alone.
class Scratch {
 public:
  Scratch(Allocator* allocator, StreamHandle stream) : allocator_(allocator), stream_(stream) {}
  ~Scratch() {
    for (const auto& [at, bytes] : taken_) allocator_->Free(at, bytes, stream_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  absl::StatusOr<void*> Take(int64_t bytes) {
    if (bytes <= 0) return nullptr;
    const auto size = static_cast<size_t>(bytes);
    void* at = allocator_->Allocate(size, stream_);
    if (at == nullptr)
      return absl::ResourceExhaustedError(
          absl::StrCat("tuning: the allocator had no ", size, " bytes to run the call in"));
    taken_.emplace_back(at, size);
    return at;
  }
  // For the elements of such a view, as far from a multiple of 256 as it is.
  absl::StatusOr<void*> TakeLike(const TensorView& view) {
    const Range range = RangeOf(view);
    if (range.above == 0) return nullptr;
    const auto beyond = static_cast<int64_t>(
        (reinterpret_cast<uintptr_t>(view.ptr) - static_cast<uintptr_t>(range.below)) %
        kAllocationAlign);
    JF_ASSIGN_OR_RETURN(void* at, Take(beyond + range.below + range.above));
    return static_cast<char*>(at) + beyond + range.below;
  }

 private:
  Allocator* const allocator_;
  const StreamHandle stream_;
  std::vector<std::pair<void*, size_t>> taken_;
};

class Tuner {
 public:
  explicit Tuner(const TuneQuestion& q)
      : q_(q), backend_(*q.first->executable->backend), scratch_(q.allocator, q.stream) {}

  absl::StatusOr<TuneRecord> Run() {
    JF_RETURN_IF_ERROR(TakeBuffers());
    JF_RETURN_IF_ERROR(AddPlan(q_.first));
    for (const std::vector<ProductChoice>& choices : OtherChoices(*q_.first->executable)) {
      absl::StatusOr<std::shared_ptr<const BoundCall>> bound = q_.plan(choices, {});
      const absl::Status added = bound.ok() ? AddPlan(*std::move(bound)) : bound.status();
      if (!added.ok()) Log(1, absl::StrCat("tuning: a plan is left out: ", added.ToString()));
    }
    JF_ASSIGN_OR_RETURN(buffers_.arena, scratch_.Take(arena_bytes_));
    for (PlanWork& work : plans_) JF_RETURN_IF_ERROR(ChooseAlgorithms(&work));
    if (const absl::Status added = AddMixedPlan(); !added.ok())
      Log(1,
          absl::StrCat("tuning: the plan of each product's best is left out: ", added.ToString()));
    return ChoosePlan();
  }

 private:
  struct ProductWork {
    size_t step = 0, end = 0;  // from the product to the next one
    int number = 0;            // of the product in the graph
    std::vector<std::shared_ptr<const PreparedGemm>> candidates;
  };
  struct PlanWork {
    std::shared_ptr<const BoundCall> bound;
    TuneRecord::Plan plan;
    std::vector<ProductWork> timed;
  };

  // What else is worth planning: products without activations, products alone, none padded.
  static std::vector<std::vector<ProductChoice>> OtherChoices(const Executable& exe) {
    std::vector<std::vector<ProductChoice>> out;
    for (auto epilogue : {ProductChoice::Epilogue::kSums, ProductChoice::Epilogue::kNone}) {
      std::vector<ProductChoice> choices = exe.products;
      bool any = false;
      for (const GemmStep& step : exe.gemms) {
        const auto smaller = SmallerEpilogues(step.call.epilogue);
        if (std::find(smaller.begin(), smaller.end(), epilogue) == smaller.end()) continue;
        const auto product = static_cast<size_t>(step.product);
        if (choices.size() <= product) choices.resize(product + 1);
        choices[product].epilogue = epilogue;
        any = true;
      }
      if (any) out.push_back(std::move(choices));
    }
    if (AnyPadded(exe.fusion)) {
      std::vector<ProductChoice> unpadded = exe.products;
      unpadded.resize(exe.gemms.size());
      for (ProductChoice& c : unpadded) c.padding = ProductChoice::Padding::kNever;
      out.push_back(std::move(unpadded));
    }
    return out;
  }

  // Inputs where they lie, but for those that results lie over, which are copied.
  absl::Status TakeBuffers() {
    for (const TensorView& view : q_.inputs) inputs_.push_back(const_cast<void*>(view.ptr));
    const std::vector<std::shared_ptr<const std::vector<int64_t>>>& dims = q_.first->output_dims;
    for (size_t o = 0; o < dims.size(); ++o) {
      TensorView view{nullptr, q_.first->executable->outputs[o].dtype, *dims[o], {}};
      if (!q_.outputs.empty()) view = q_.outputs[o];
      JF_ASSIGN_OR_RETURN(void* own, scratch_.TakeLike(view));
      outputs_.push_back(own);
      if (o >= q_.aliases.size()) continue;
      for (int input : q_.aliases[o]) {
        inputs_[static_cast<size_t>(input)] = own;
        const Range range = RangeOf(view);
        JF_RETURN_IF_ERROR(backend_.CopyOnDevice(
            static_cast<char*>(own) - range.below, static_cast<const char*>(view.ptr) - range.below,
            static_cast<size_t>(range.below + range.above), q_.stream));
      }
    }
    buffers_.inputs = inputs_;
    buffers_.outputs = outputs_;
    buffers_.scalars = q_.scalars;
    buffers_.stream = q_.stream;
    flush_bytes_ = 2 * backend_.target().l2_bytes;
    JF_ASSIGN_OR_RETURN(flush_, scratch_.Take(flush_bytes_));
    return absl::OkStatus();
  }

  absl::Status AddPlan(std::shared_ptr<const BoundCall> bound) {
    PlanWork work;
    const Executable& exe = *bound->executable;
    work.plan.choices = exe.products;
    work.plan.products.resize(exe.gemms.size());
    int64_t arena = bound->arena_bytes;
    std::vector<size_t> begins;
    for (size_t s = 0; s < exe.steps.size(); ++s) {
      if (exe.steps[s].kind == Step::Kind::kGemm) begins.push_back(s);
    }
    absl::flat_hash_map<std::string, int> known;  // problem -> product
    for (size_t i = 0; i < begins.size(); ++i) {
      const auto gemm = static_cast<size_t>(exe.steps[begins[i]].index);
      const GemmStep& step = exe.gemms[gemm];
      const auto number = static_cast<size_t>(step.product);
      if (number >= work.plan.products.size()) work.plan.products.resize(number + 1);
      TuneRecord::Product& product = work.plan.products[number];
      const GemmProblem problem = ProblemOf(step.call, bound->symbols, q_.align);
      product.problem = ProblemText(problem);
      if (bound->gemms[gemm].gemm == nullptr) continue;
      const auto [same, fresh] = known.emplace(problem.Key().ToHex(), step.product);
      if (!fresh && same->second < step.product) {
        product.like = same->second;
        continue;
      }
      ProductWork timed{
          begins[i], i + 1 < begins.size() ? begins[i + 1] : exe.steps.size(), step.product, {}};
      JF_ASSIGN_OR_RETURN(timed.candidates, backend_.GemmCandidates(problem, kMaxAlgorithms));
      for (const auto& candidate : timed.candidates)
        arena = std::max(
            arena, bound->workspace_offset + static_cast<int64_t>(candidate->workspace_bytes()));
      work.timed.push_back(std::move(timed));
    }
    for (TuneRecord::Product& product : work.plan.products) {
      if (product.problem.empty()) product.problem = "of bound inputs alone, computed once";
    }
    arena_bytes_ = std::max(arena_bytes_, arena);
    work.bound = std::move(bound);
    plans_.push_back(std::move(work));
    return absl::OkStatus();
  }

  absl::Status Flush() {
    return backend_.Zero(flush_, static_cast<size_t>(flush_bytes_), q_.stream);
  }

  // Steps [first, last) behind all that is before them.
  absl::StatusOr<double> TimeSteps(const BoundCall& bound, size_t first, size_t last,
                                   const PreparedGemm* gemm) {
    JF_RETURN_IF_ERROR(Flush());
    JF_RETURN_IF_ERROR(ExecuteSteps(bound, buffers_, 0, first));
    return backend_.TimeOnDevice([&] { return ExecuteSteps(bound, buffers_, first, last, gemm); },
                                 q_.stream);
  }

  absl::StatusOr<std::vector<double>> Medians(
      size_t count, absl::FunctionRef<absl::StatusOr<double>(size_t)> time) {
    std::vector<std::vector<double>> samples(count);
    int rounds = kRounds;
    for (int round = -kWarmRounds; round < rounds; ++round) {
      double all = 0;
      for (size_t i = 0; i < count; ++i) {
        JF_ASSIGN_OR_RETURN(double us, time(i));
        all += us;
        if (round >= 0) samples[i].push_back(us);
      }
      if (round == -1 && all > kLongRoundUs) rounds = kFewRounds;
    }
    std::vector<double> out;
    for (std::vector<double>& s : samples) out.push_back(Median(std::move(s)));
    return out;
  }

  absl::Status ChooseAlgorithms(PlanWork* work) {
    for (const ProductWork& timed : work->timed) {
      TuneRecord::Product& product = work->plan.products[static_cast<size_t>(timed.number)];
      JF_ASSIGN_OR_RETURN(std::vector<double> us, Medians(timed.candidates.size(), [&](size_t i) {
                            return TimeSteps(*work->bound, timed.step, timed.end,
                                             timed.candidates[i].get());
                          }));
      for (size_t i = 0; i < us.size(); ++i)
        product.tried.push_back(
            {timed.candidates[i]->algorithm(), timed.candidates[i]->Describe(), us[i]});
      product.chosen = BestOf(us);
    }
    JF_ASSIGN_OR_RETURN(work->bound, q_.plan(work->plan.choices, ChosenAlgorithms(work->plan)));
    return absl::OkStatus();
  }

  // A product of a plan with its own times, or those of the one like it.
  static const TuneRecord::Product& TimesOf(const TuneRecord::Plan& plan, size_t number) {
    const TuneRecord::Product& own = plan.products[number];
    return own.like < 0 ? own : plan.products[static_cast<size_t>(own.like)];
  }
  static double BestUs(const TuneRecord::Plan& plan, size_t number) {
    if (number >= plan.products.size()) return std::numeric_limits<double>::infinity();
    const TuneRecord::Product& product = TimesOf(plan, number);
    return product.tried.empty() ? std::numeric_limits<double>::infinity()
                                 : product.tried[static_cast<size_t>(product.chosen)].us;
  }
  static ProductChoice ChoiceIn(const TuneRecord::Plan& plan, size_t number) {
    return number < plan.choices.size() ? plan.choices[number] : ProductChoice();
  }

  // Each product as in the plan where it and what follows it took the least, unless that is one of
  // the plans.
  absl::Status AddMixedPlan() {
    PlanWork work;
    const size_t products = plans_[0].plan.products.size();
    for (size_t n = 0; n < products; ++n) {
      std::vector<double> us;
      for (const PlanWork& p : plans_) us.push_back(BestUs(p.plan, n));
      const TuneRecord::Plan& best = plans_[static_cast<size_t>(BestOf(us))].plan;
      work.plan.choices.push_back(ChoiceIn(best, n));
      work.plan.products.push_back(TimesOf(best, n));
      work.plan.products.back().like = -1;
    }
    const auto is_mixed = [&](const PlanWork& p) {
      for (size_t n = 0; n < products; ++n) {
        if (!(ChoiceIn(p.plan, n) == work.plan.choices[n])) return false;
      }
      return true;
    };
    if (std::any_of(plans_.begin(), plans_.end(), is_mixed)) return absl::OkStatus();
    JF_ASSIGN_OR_RETURN(work.bound, q_.plan(work.plan.choices, ChosenAlgorithms(work.plan)));
    if (work.bound->arena_bytes > arena_bytes_) {
      arena_bytes_ = work.bound->arena_bytes;
      JF_ASSIGN_OR_RETURN(buffers_.arena, scratch_.Take(arena_bytes_));
    }
    plans_.push_back(std::move(work));
    return absl::OkStatus();
  }

  absl::StatusOr<TuneRecord> ChoosePlan() {
    JF_ASSIGN_OR_RETURN(std::vector<double> us, Medians(plans_.size(), [&](size_t i) {
                          const BoundCall& bound = *plans_[i].bound;
                          return TimeSteps(bound, 0, bound.executable->steps.size(), nullptr);
                        }));
    TuneRecord out;
    for (size_t i = 0; i < us.size(); ++i) {
      plans_[i].plan.us = us[i];
      out.plans.push_back(std::move(plans_[i].plan));
    }
    out.chosen = BestOf(us);
    return out;
  }

  const TuneQuestion& q_;
  const Backend& backend_;
  Scratch scratch_;
  std::vector<void*> inputs_, outputs_;
  CallBuffers buffers_;
  void* flush_ = nullptr;
  int64_t flush_bytes_ = 0, arena_bytes_ = 0;
  std::vector<PlanWork> plans_;
};

}  // namespace

bool MayTune(const BoundCall& call) {
  return call.executable->backend->CanTune() &&
         std::any_of(call.gemms.begin(), call.gemms.end(),
                     [](const BoundGemm& product) { return product.gemm != nullptr; });
}

absl::StatusOr<TuneRecord> TuneCall(const TuneQuestion& question) { return Tuner(question).Run(); }

}  // namespace jitfuse::internal
