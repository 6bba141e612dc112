// EvalWide: elements are values with error bounds; see ir/eval.h for the rules.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/eval_at.h"
#include "ir/eval_walk.h"
#include "ir/scalar_value.h"
#include "ir/wide_scalar.h"

namespace jitfuse::internal {
namespace {

using Wide = long double;

constexpr Wide kInf = std::numeric_limits<Wide>::infinity();
// How much more a form that rescales its accumulators as it goes may err than the two-pass form.
constexpr Wide kOnePassFactor = 2;

// A sum that keeps what rounding drops (Neumaier), beside the sums of magnitudes and bounds.
class Sum {
 public:
  void Add(const WideElem& e) {
    bounds_ += e.bound;
    negative_zeros_ = negative_zeros_ && e.value == 0 && e.bound == 0 && std::signbit(e.value);
    if (!std::isfinite(e.value)) {
      special_ += e.value;
      is_special_ = true;
      return;
    }
    magnitudes_ += std::fabs(e.value) + e.bound;
    above_ += std::max<Wide>(e.value + e.bound, 0);
    below_ += std::max<Wide>(e.bound - e.value, 0);
    const Wide total = sum_ + e.value;
    lost_ +=
        std::fabs(sum_) >= std::fabs(e.value) ? (sum_ - total) + e.value : (e.value - total) + sum_;
    sum_ = total;
  }

  // With an error of `steps` roundings of a partial sum in `dtype`, and what small terms lose.
  // `other_form`: an executor may get it without a sum, which then overflows nowhere.
  WideElem Finish(DType dtype, Wide steps, Wide lost_terms = 0, bool other_form = false) const {
    // Partial sums may overflow in one order and not in another; where those of either sign may,
    // they may give NaN.
    auto overflows = [dtype](Wide magnitude) {
      const WideElem settled = SettleRange(dtype, {magnitude, 0});
      return !settled.exact() || std::isinf(settled.value);
    };
    const bool may_overflow = overflows(magnitudes_);
    if (is_special_) return {special_, bounds_ == 0 && !may_overflow ? 0 : kInf};
    if (negative_zeros_) return {0, kSignOfZero};  // +0 where a sum begins with 0
    const WideElem e = SettleRange(
        dtype, {sum_ + lost_, bounds_ + steps * EpsOf(dtype) * magnitudes_ + lost_terms});
    const bool either_sign = overflows(above_) && overflows(below_);
    const bool differs = std::isfinite(e.value) || either_sign || other_form;
    return may_overflow && differs ? WideElem{e.value, kInf} : e;
  }

 private:
  Wide sum_ = 0, lost_ = 0, magnitudes_ = 0, above_ = 0, below_ = 0, bounds_ = 0, special_ = 0;
  bool is_special_ = false, negative_zeros_ = true;
};

// Whether accumulator j is combined by a plain addition of its two values.
bool IsSum(const ReduceProgram& p, size_t j) {
  const ScalarProgram& c = p.combine;
  const ScalarInst& inst = c.insts[static_cast<size_t>(c.results[j])];
  if (inst.op != ScalarOp::kAdd || ComputeType(inst.dtype) != p.acc[j]) return false;
  const ScalarInst& a = c.insts[static_cast<size_t>(inst.in[0])];
  const ScalarInst& b = c.insts[static_cast<size_t>(inst.in[1])];
  if (a.op != ScalarOp::kArg || b.op != ScalarOp::kArg) return false;
  return std::min(a.imm, b.imm) == j && std::max(a.imm, b.imm) == j + p.acc.size();
}

bool IsFloatProduct(const ReduceProgram& p) {
  const ScalarProgram& c = p.combine;
  return p.acc.size() == 1 && IsFloat(p.acc[0]) &&
         c.insts[static_cast<size_t>(c.results[0])].op == ScalarOp::kMul;
}

// The bound of a product of factors that may be taken in any order: each step rounds by up to eps
// of its result, and where some order may leave the range, anything goes.
WideElem AnyOrder(DType dtype, const std::vector<WideElem>& factors, WideElem product) {
  if (factors.size() < 3) return product;
  Wide up = 0, down = 0;
  bool zero = false, infinite = false;
  for (const WideElem& f : factors) {
    if (std::isnan(f.value)) return product;
    zero = zero || f.value == 0;
    infinite = infinite || std::isinf(f.value);
    if (f.value == 0 || std::isinf(f.value)) continue;
    const Wide size = std::log2(std::fabs(f.value));
    (size > 0 ? up : down) += size;
  }
  const int limit = dtype == DType::kF64 ? 1020 : 124;
  const bool overflows = up >= limit, vanishes = down <= -limit;
  // 0 times what overflowed is NaN, as is infinity times what vanished.
  if (zero || infinite)
    return (zero && overflows) || (infinite && vanishes) ? WideElem{product.value, kInf} : product;
  if (overflows || vanishes) return {product.value, kInf};
  const Wide roundings = static_cast<Wide>(factors.size() - 1) * EpsOf(dtype);
  product.bound = std::max(product.bound * 2, std::fabs(product.value) * roundings * 1.01L);
  return product;
}

bool IsFloatSum(const ReduceProgram& p) {
  for (size_t j = 0; j < p.acc.size(); ++j) {
    if (!IsFloat(p.acc[j]) || !IsSum(p, j)) return false;
  }
  return true;
}

// The accumulators of a growing prefix.
class Prefixes {
 public:
  Prefixes(const ReduceProgram& p, std::vector<WideElem> init)
      : p_(p), is_sum_(IsFloatSum(p)), is_product_(IsFloatProduct(p)), acc_(std::move(init)) {
    if (is_sum_) sums_.resize(p.acc.size());
  }

  void Add(const WideElem* lifted) {
    const size_t k = p_.acc.size();
    ++count_;
    if (is_sum_) {
      for (size_t j = 0; j < k; ++j) sums_[j].Add(lifted[j]);
      return;
    }
    std::vector<WideElem> args = acc_;
    args.insert(args.end(), lifted, lifted + k);
    EvalWideProgram(p_.combine, args.data(), acc_.data());
    if (!is_product_ || lifted[0].value == 0 || !std::isfinite(lifted[0].value)) return;
    const Wide size = std::log2(std::fabs(lifted[0].value));
    (size > 0 ? up_ : down_) += size;
  }

  // Sums round at most once for each element; products once for each, and anything goes where some
  // order of the factors leaves the range. Other combines round as they do one after the other, or
  // less.
  std::vector<WideElem> Now() const {
    if (count_ == 0) return acc_;
    std::vector<WideElem> out;
    if (is_sum_) {
      for (size_t j = 0; j < sums_.size(); ++j)
        out.push_back(sums_[j].Finish(p_.acc[j], count_ - 1));
      return out;
    }
    out = acc_;
    for (WideElem& e : out) e.bound *= 2;
    if (!is_product_ || count_ < 2) return out;
    const int limit = p_.acc[0] == DType::kF64 ? 1020 : 124;
    if (up_ >= limit || down_ <= -limit) {
      out[0].bound = kInf;
    } else if (std::isfinite(out[0].value)) {
      out[0].bound =
          std::max(out[0].bound, std::fabs(out[0].value) * (count_ - 1) * EpsOf(p_.acc[0]) * 1.01L);
    }
    return out;
  }

 private:
  const ReduceProgram& p_;
  bool is_sum_, is_product_;
  std::vector<WideElem> acc_;
  std::vector<Sum> sums_;
  Wide count_ = 0, up_ = 0, down_ = 0;
};

struct WideMode {
  using Elem = WideElem;
  static constexpr BodyForm kForm = BodyForm::kOfResult;

  static Elem Load(DType dtype, ScalarValue v) { return {ScalarToLongDouble(dtype, v), 0}; }
  static Elem Stored(DType dtype, Elem e) { return MaybeStored(dtype, e); }
  static void Run(const ScalarProgram& program, const Elem* args, Elem* out) {
    EvalWideProgram(program, args, out);
  }

  // Accumulators of one element each, one after the other.
  static std::vector<Elem> Lift(const ReduceProgram& p, DType x, const std::vector<Elem>& elements,
                                const Elem* earlier, size_t num_earlier) {
    const size_t k = p.acc.size();
    std::vector<Elem> lifted(elements.size() * k);
    for (size_t i = 0; i < elements.size(); ++i) {
      Elem args[4] = {x == p.x ? elements[i] : ConvertWide(x, p.x, elements[i]),
                      {static_cast<Wide>(i), 0},
                      {},
                      {}};
      std::copy(earlier, earlier + num_earlier, args + 2);
      EvalWideProgram(p.lift, args, lifted.data() + i * k);
    }
    return lifted;
  }

  static std::vector<Elem> Sums(const ReduceProgram& p, const std::vector<Elem>& lifted,
                                bool other_form) {
    const size_t k = p.acc.size();
    const Wide n = static_cast<Wide>(lifted.size() / k);
    const Wide steps =
        n <= 1 ? 0 : std::min(n - 1, 64 + std::log2(n)) * (other_form ? kOnePassFactor : 1);
    std::vector<Elem> acc;
    for (size_t j = 0; j < k; ++j) {
      Sum sum;
      for (size_t i = j; i < lifted.size(); i += k) sum.Add(lifted[i]);
      acc.push_back(sum.Finish(p.acc[j], steps, 0, other_form));
    }
    return acc;
  }

  static std::vector<Elem> Fold(const ReduceProgram& p, const std::vector<Elem>& lifted) {
    const size_t k = p.acc.size();
    Elem args[8];
    std::copy_n(lifted.begin(), k, args);
    for (size_t i = k; i < lifted.size(); i += k) {
      std::copy_n(lifted.begin() + static_cast<std::ptrdiff_t>(i), k, args + k);
      Elem acc[4];
      EvalWideProgram(p.combine, args, acc);
      std::copy_n(acc, k, args);
    }
    return std::vector<Elem>(args, args + k);
  }

  // The combine program on plain numbers picks a position; every position whose value could have
  // won instead is covered.
  static std::vector<Elem> Pick(const ReduceProgram& p, const std::vector<Elem>& lifted) {
    Elem best = lifted[0], position = lifted[1];
    bool anything = std::isinf(best.bound);
    for (size_t i = 2; i < lifted.size(); i += 2) {
      anything = anything || std::isinf(lifted[i].bound);
      const Elem args[4] = {{best.value, 0}, position, {lifted[i].value, 0}, lifted[i + 1]};
      Elem out[2];
      EvalWideProgram(p.combine, args, out);
      if (out[1].value != position.value) best = lifted[i];
      position = out[1];
    }
    if (anything)
      return {{best.value, kInf}, {position.value, static_cast<Wide>(lifted.size() / 2)}};
    for (size_t i = 0; i < lifted.size(); i += 2) {
      const Wide slack = lifted[i].bound + best.bound;
      if (slack > 0 && std::fabs(lifted[i].value - best.value) <= slack) {
        position.bound = std::max(position.bound, std::fabs(lifted[i + 1].value - position.value));
      }
    }
    return {best, position};
  }

  static std::vector<Elem> Accumulate(const ReduceProgram& p, const ReduceDef& def, DType x,
                                      const std::vector<Elem>& elements, const Elem* earlier,
                                      size_t num_earlier) {
    if (elements.empty()) {
      std::vector<Elem> init;
      for (size_t j = 0; j < p.acc.size(); ++j) init.push_back(Load(p.acc[j], p.init[j]));
      return init;
    }
    const std::vector<Elem> lifted = Lift(p, x, elements, earlier, num_earlier);
    if (def.acc_rule == AccRule::kValueIndex) return Pick(p, lifted);
    if (IsFloatSum(p)) return Sums(p, lifted, def.num_passes > 0);
    std::vector<Elem> folded = Fold(p, lifted);
    if (IsFloatProduct(p)) folded[0] = AnyOrder(p.acc[0], lifted, folded[0]);
    return folded;
  }

  static void Reduce(const std::vector<ReduceProgram>& passes, const ReduceDef& def, DType x,
                     const std::vector<Elem>& elements, Elem* results) {
    size_t done = 0;
    for (const ReduceProgram& p : passes) {
      std::vector<Elem> args = Accumulate(p, def, x, elements, results, done);
      args.push_back({static_cast<Wide>(elements.size()), 0});
      EvalWideProgram(p.finalize, args.data(), results + done);
      done += p.finalize.results.size();
    }
  }

  // Prefixes may be combined in any order that keeps positions, one after the other among them.
  static void Scan(const ReduceProgram& p, bool exclusive, DType x,
                   const std::vector<Elem>& elements, Elem* results) {
    const std::vector<Elem> lifted = Lift(p, x, elements, nullptr, 0);
    const size_t k = p.acc.size();
    std::vector<Elem> init;
    for (size_t j = 0; j < k; ++j) init.push_back(Load(p.acc[j], p.init[j]));
    Prefixes prefixes(p, std::move(init));
    for (size_t i = 0; i < elements.size(); ++i) {
      std::vector<Elem> args = exclusive ? prefixes.Now() : std::vector<Elem>();
      prefixes.Add(lifted.data() + i * k);
      if (!exclusive) args = prefixes.Now();
      args.push_back({static_cast<Wide>(elements.size()), 0});
      EvalWideProgram(p.finalize, args.data(), results + i);
    }
  }

  static std::optional<int64_t> Integer(DType, Elem e) {
    if (!e.exact()) return std::nullopt;
    return e.value >= 0x1p63L ? INT64_MAX : static_cast<int64_t>(e.value);
  }
  static Elem Unknown() { return {0, kInf}; }
  static void Loosen(BehindProduct place, DType dtype, const std::vector<Elem>& args, Elem* e) {
    if (place == BehindProduct::kGeluTanh) e->bound += 6e-6L;
    Wide total = 0;
    for (const Elem& arg : args) {
      const Wide magnitude = std::fabs(arg.value);
      if (std::isfinite(magnitude)) total += magnitude;
      if (place == BehindProduct::kSum && std::isfinite(magnitude))
        e->bound += EpsOf(dtype) * magnitude;
      if (place == BehindProduct::kFactor && std::isinf(magnitude)) e->bound = kInf;
    }
    if (place == BehindProduct::kSum && std::isinf(SettleRange(dtype, {total, 0}).value))
      e->bound = kInf;
  }

  static Elem AddInOrder(const ScalarProgram& add, DType dtype, const std::vector<Elem>& terms) {
    if (terms.size() == 1) return terms[0];
    if (IsFloat(dtype)) {
      Sum sum;
      for (const Elem& e : terms) sum.Add(e);
      return sum.Finish(dtype, static_cast<Wide>(terms.size() - 1));
    }
    Elem args[2] = {terms[0], {}};
    for (size_t i = 1; i < terms.size(); ++i) {
      args[1] = terms[i];
      Elem next;
      EvalWideProgram(add, args, &next);
      args[0] = next;
    }
    return args[0];
  }

  static Elem Dot(DType dtype, const Elem* a, const Elem* b, int64_t k) {
    if (!IsFloat(dtype)) return IntegerDot(dtype, a, b, k);
    const DType compute = ComputeType(dtype);
    Sum sum;
    // Products that are no numbers of the type round by its least one. CPUs with instructions for
    // dot products of bf16 take subnormal operands, products and sums of them for 0.
    const bool flushed = dtype == DType::kBF16;
    const Wide normal = flushed ? 0x1p-126L : 0;
    bool tiny = false;
    for (int64_t i = 0; i < k; ++i) {
      Elem product{a[i].value * b[i].value, 0};
      tiny = tiny || std::fabs(product.value) < UlpOf(compute, 0) * 0x1p+60L;
      if (!a[i].exact() || !b[i].exact()) {
        product.bound =
            std::fabs(a[i].value) * b[i].bound + a[i].bound * (std::fabs(b[i].value) + b[i].bound);
        if (std::isnan(product.bound)) product.bound = kInf;
      }
      if (flushed && ((a[i].value != 0 && std::fabs(a[i].value) < normal) ||
                      (b[i].value != 0 && std::fabs(b[i].value) < normal)))
        product.bound += std::fabs(product.value);  // infinity times what counts as 0: NaN
      sum.Add(product);
    }
    const Wide n = static_cast<Wide>(k);
    const Wide least = flushed ? 2 * normal : UlpOf(compute, 0);
    return sum.Finish(compute, std::min(n, 64 + n / 4), tiny || flushed ? n * least : 0);
  }

  static Elem IntegerDot(DType dtype, const Elem* a, const Elem* b, int64_t k) {
    uint64_t sum = 0;
    Wide bound = 0;
    for (int64_t i = 0; i < k; ++i) {
      sum += ScalarFromLongDouble(dtype, a[i].value).u * ScalarFromLongDouble(dtype, b[i].value).u;
      if (!a[i].exact() || !b[i].exact()) bound = kInf;
    }
    return OnType(dtype, [sum, bound](auto tag) {
      return Elem{static_cast<Wide>(static_cast<decltype(tag)>(sum)), bound};
    });
  }
};

// As WideMode, where libraries may round the factors of f32 matrix products to TF32's 10 bits after
// the point, one way or the other, and take subnormal ones for 0.
struct FastMode : WideMode {
  static Elem Dot(DType dtype, const Elem* a, const Elem* b, int64_t k) {
    Elem dot = WideMode::Dot(dtype, a, b, k);
    if (dtype != DType::kF32) return dot;
    constexpr Wide kRounding = 0x1.01p-9L, kLeast = 0x1p-126L, kGreatest = 0x1.ffcp+127L;
    for (int64_t i = 0; i < k; ++i) {
      const Wide x = std::fabs(a[i].value) + a[i].bound, y = std::fabs(b[i].value) + b[i].bound;
      if (x == 0 || y == 0 || std::isnan(x) || std::isnan(y)) continue;
      const bool zero = x < kLeast || y < kLeast, infinite = std::isinf(x) || std::isinf(y);
      if (infinite && !zero) continue;  // infinite as it is
      const bool leaves = infinite || x > kGreatest || y > kGreatest;
      dot.bound += leaves ? kInf : x * y * (zero ? 1 : kRounding);
    }
    return dot;
  }
};

std::vector<WideTensor> Outputs(std::vector<EvalTensor<WideElem>> tensors) {
  std::vector<WideTensor> outputs;
  for (EvalTensor<WideElem>& t : tensors) {
    WideTensor out{std::move(t.dims), t.dtype, {}, {}, {}};
    for (const WideElem& e : t.elems) {
      out.value.push_back(e.value);
      out.bound.push_back(e.bound);
    }
    outputs.push_back(std::move(out));
  }
  return outputs;
}

}  // namespace

absl::StatusOr<std::vector<WideTensor>> EvalWide(const Graph& graph,
                                                 absl::Span<const HostTensor> inputs,
                                                 Numerics numerics) {
  JF_ASSIGN_OR_RETURN(auto tensors, numerics == Numerics::kFast
                                        ? GraphWalk<FastMode>().Run(graph, inputs)
                                        : GraphWalk<WideMode>().Run(graph, inputs));
  return Outputs(std::move(tensors));
}

absl::StatusOr<std::optional<std::vector<WideTensor>>> EvalWideAt(
    const Graph& original, absl::Span<const HostTensor> inputs,
    absl::Span<const std::vector<int64_t>> at, double max_work, Numerics numerics) {
  JF_ASSIGN_OR_RETURN(const std::vector<int64_t> symbols, BindEvalInputs(original, inputs));
  JF_ASSIGN_OR_RETURN(const Graph graph, Expand(original));
  JF_ASSIGN_OR_RETURN(std::optional<std::vector<NodeNeeds>> needs,
                      FindNeeds(graph, symbols, at, max_work));
  if (!needs) return std::optional<std::vector<WideTensor>>();
  JF_ASSIGN_OR_RETURN(auto found, numerics == Numerics::kFast
                                      ? ElementWalk<FastMode>(graph, inputs, *needs).Run(at)
                                      : ElementWalk<WideMode>(graph, inputs, *needs).Run(at));
  std::vector<WideTensor> outputs;
  for (size_t o = 0; o < at.size(); ++o) {
    const TensorType& type = graph.type(graph.outputs()[o]);
    WideTensor out{EvalDims(type.dims, symbols), type.dtype, {}, {}, at[o]};
    for (const WideElem& e : found[o]) {
      out.value.push_back(e.value);
      out.bound.push_back(e.bound);
    }
    outputs.push_back(std::move(out));
  }
  return std::optional(std::move(outputs));
}

}  // namespace jitfuse::internal
