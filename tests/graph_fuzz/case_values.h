// What MakeCase draws graphs from: sizes, a pool of values, new inputs, nodes that are kept or not.
//
// In: a seed. Out: a FuzzCase under construction, whose values all have sizes below a limit and
// whose guards hold. The order of draws is part of a seed's meaning. Must not know: how the
// operands of a kind of op are chosen.
#ifndef JITFUSE_TESTS_GRAPH_FUZZ_CASE_VALUES_H_
#define JITFUSE_TESTS_GRAPH_FUZZ_CASE_VALUES_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/op_enum.h"
#include "tests/graph_fuzz/fuzz_case.h"

namespace jitfuse::internal {

class CaseValues {
 protected:
  CaseValues(uint64_t seed, uint64_t attempt) : rng_(seed ^ (attempt << 56)) { case_.seed = seed; }

  // ---- Sizes, shapes, inputs.
  void DrawSizes() {
    const int pick = rng_.Below(100);
    ops_ = pick < 60   ? 1 + rng_.Below(10)
           : pick < 90 ? 5 + rng_.Below(30)
           : pick < 98 ? 30 + rng_.Below(50)
                       : 80 + rng_.Below(121);
    tries_ = ops_ * 12;
    const bool large = ops_ <= 8 && rng_.OneIn(25);  // several blocks, split reductions
    max_elements_ = large ? 30000 : ops_ > 30 ? 600 : 3000;
    max_work_ = large ? 120000 : 60000;
    static const std::vector<int64_t> kSizes = {1,  2,  3,  4,  5,  7,   8,   12,
                                                16, 17, 32, 33, 64, 100, 130, 257};
    const int dims = 1 + rng_.Below(3);
    const int64_t budget = max_elements_ / 2;
    case_.sizes.resize(rng_.OneIn(3) ? 2 : 1);
    std::vector<int64_t> used(case_.sizes.size(), 1);
    auto draw = [&](size_t call) {
      int64_t v = rng_.OneIn(60) ? 0 : rng_.Of(kSizes);
      if (large && used[call] == 1) v = 1000 + rng_.Below(9000);
      while (v > 1 && used[call] * v > budget) v /= 2;
      used[call] *= std::max<int64_t>(v, 1);
      return v;
    };
    for (int d = 0; d < dims; ++d) {
      if (rng_.Percent(35)) {
        base_.push_back(graph_.SymbolNamed(std::string(1, "nmk"[d])));
        for (size_t call = 0; call < used.size(); ++call) case_.sizes[call].push_back(draw(call));
      } else {
        base_.push_back(draw(0));
        for (size_t call = 1; call < used.size(); ++call)
          used[call] *= std::max<int64_t>(1, base_.back().constant());
      }
    }
  }

  void DrawOptions() {
    static const std::vector<DType> kMain = {DType::kF32, DType::kF32, DType::kF32,  DType::kF64,
                                             DType::kF16, DType::kF16, DType::kBF16, DType::kBF16,
                                             DType::kI32, DType::kI64, DType::kU8};
    main_ = rng_.OneIn(8) ? AnyDType() : rng_.Of(kMain);
    case_.options.rewrite = !rng_.OneIn(6);
    case_.options.fuse = !rng_.OneIn(12);
    case_.options.use_gemm_library = !rng_.OneIn(3);
    case_.strided_outputs = rng_.OneIn(6);
    plain_ = rng_.OneIn(2);
  }

  DType AnyDType() { return static_cast<DType>(rng_.Below(kNumDTypes)); }
  DType AnyOf(DTypeSet set) {
    if (IsIn(main_, set) && !rng_.OneIn(4)) return main_;
    for (;;) {
      const DType d = AnyDType();
      if (IsIn(d, set)) return d;
    }
  }

  Shape RandomShape() {
    Shape out(base_.begin(), base_.end());
    if (rng_.Percent(55)) return out;
    for (Dim& d : out) {
      if (rng_.OneIn(4)) d = 1;
    }
    if (rng_.OneIn(3) && !out.empty()) out.erase(out.begin());
    if (rng_.OneIn(6) && out.size() > 1) std::swap(out.front(), out.back());
    if (rng_.OneIn(8)) out.insert(out.begin(), 1 + rng_.Below(3));
    while (rng_.OneIn(12) && out.size() < 6) out.insert(out.begin(), 1 + rng_.Below(2));
    return out;
  }

  FuzzInput RandomSpec(size_t rank) {
    FuzzInput spec;
    spec.seed = rng_.Next() % 100000;
    if (!plain_ && rng_.OneIn(3)) spec.values = static_cast<FuzzValues>(rng_.Below(5));
    if (rng_.Percent(60)) return spec;
    spec.shift = rng_.OneIn(2) ? 0 : rng_.Below(8);
    for (size_t d = 0; d < rank; ++d) spec.order.push_back(static_cast<int64_t>(d));
    if (rng_.OneIn(2)) {
      for (size_t d = rank; d > 1; --d)
        std::swap(spec.order[d - 1], spec.order[static_cast<size_t>(rng_.Below(int64_t(d)))]);
    }
    static const std::vector<int64_t> kSteps = {1, 1, 1, 1, 2, -1, 0, -3};
    for (size_t d = 0; d < rank; ++d) spec.steps.push_back(rng_.Of(kSteps));
    return spec;
  }

  Value NewInput(DType dtype, Shape shape) {
    for (size_t d = 0; d < shape.size() && Count(shape) > max_elements_; ++d) shape[d] = 1;
    absl::StatusOr<Value> v =
        shape.empty() && rng_.OneIn(2)
            ? graph_.AddScalar(absl::StrCat("s", graph_.inputs().size()), dtype)
            : graph_.AddInput(absl::StrCat("x", graph_.inputs().size()), {dtype, shape});
    if (!v.ok()) return head_;
    FuzzInput spec = RandomSpec(shape.size());
    if (graph_.node(*v).kind() == OpKind::kScalar) spec = {{}, {}, 0, spec.values, spec.seed};
    case_.inputs.push_back(std::move(spec));
    pool_.push_back(*v);
    return *v;
  }

  int64_t Elements(Value v) const { return Count(graph_.type(v).dims); }
  int64_t Count(const Shape& shape) const {
    int64_t most = 0;
    const SizeExpr n = NumElements(shape);
    for (const std::vector<int64_t>& sizes : case_.sizes)
      most = std::max(most, n.CheckedEval(sizes).value_or(INT64_MAX / 2));
    return most;
  }
  const Shape& DimsOf(Value v) const { return graph_.type(v).dims; }
  DType TypeOf(Value v) const { return graph_.type(v).dtype; }

  // ---- Adding a node, or not.
  bool Keep(const absl::StatusOr<Value>& v) {
    if (!v.ok()) return false;
    const Node& node = graph_.node(*v);
    for (int r = 0; r < static_cast<int>(node.types.size()); ++r) {
      const Value result{v->node, r};
      work_ += Elements(result);
      pool_.push_back(result);
      if (!graph_.node(*v).in.empty() && (Elements(result) >= Elements(head_) || rng_.OneIn(4)))
        head_ = result;
    }
    return true;
  }
  // Whether sizes that inference held to be equal are.
  bool GuardsHold() const {
    for (const Guard& g : graph_.guards()) {
      for (const std::vector<int64_t>& sizes : case_.sizes) {
        if (g.a.CheckedEval(sizes) != g.b.CheckedEval(sizes)) return false;
      }
    }
    return true;
  }
  bool IsTooLarge(const Node& node) const {
    return std::any_of(node.types.begin(), node.types.end(),
                       [&](const TensorType& t) { return Count(t.dims) > max_elements_; });
  }
  // Of what operands are broadcast to, which a loss sums before anybody sees it.
  int64_t CountTogether(const std::vector<Value>& in) const {
    int64_t most = 0;
    for (const std::vector<int64_t>& sizes : case_.sizes) {
      std::vector<int64_t> together;  // from the last dim on
      for (Value v : in) {
        const Shape& dims = graph_.type(v).dims;
        if (dims.size() > together.size()) together.resize(dims.size(), 1);
        for (size_t d = 0; d < dims.size(); ++d) {
          int64_t& n = together[dims.size() - 1 - d];
          n = std::max(n, dims[d].CheckedEval(sizes).value_or(INT64_MAX / 2));
        }
      }
      most = std::max(most, CheckedNumElements(together).value_or(INT64_MAX));
    }
    return most;
  }
  // What is refused leaves nothing behind: the evaluator would compute it all the same.
  absl::StatusOr<Value> Add(Op op, const std::vector<Value>& in, const Attrs& attrs = {}) {
    constexpr int64_t kUnseen = 16;  // times as many may be between operands and result
    if (CountTogether(in) > kUnseen * max_elements_) return absl::InvalidArgumentError("too large");
    Graph before = graph_;
    absl::StatusOr<Value> v = graph_.Add(op, in, attrs);
    if (!v.ok()) return v;
    const bool new_guards = graph_.guards().size() != before.guards().size();
    if (!IsTooLarge(graph_.node(*v)) && (!new_guards || GuardsHold())) return v;
    graph_ = std::move(before);
    return absl::InvalidArgumentError("too large, or sizes differ");
  }

  // ---- Operands.
  Value Recent(int window) {
    const auto n = static_cast<int64_t>(pool_.size());
    return pool_[static_cast<size_t>(n - 1 - rng_.Below(std::min<int64_t>(n, window)))];
  }
  Value First(DTypeSet domain) {
    for (int tries = 0; tries < 5; ++tries) {
      const Value v = rng_.OneIn(2) ? head_ : Recent(rng_.OneIn(3) ? 1000 : 6);
      if (IsIn(TypeOf(v), domain) && (Elements(v) > 1 || tries > 2)) return v;
    }
    const DType dtype = AnyOf(domain);
    if (rng_.OneIn(3)) return NewInput(dtype, RandomShape());
    const absl::StatusOr<Value> cast = Add(Op::kCast, {head_}, {{"dtype", dtype}});
    return cast.ok() ? *cast : NewInput(dtype, RandomShape());
  }
  bool Fits(const Shape& small, const Shape& large) const {
    if (small.size() > large.size()) return false;
    for (size_t i = 0; i < small.size(); ++i) {
      const Dim& a = small[small.size() - 1 - i];
      const Dim& b = large[large.size() - 1 - i];
      if (!a.Is(1) && !b.Is(1) && !graph_.SameDim(a, b)) return false;
    }
    return true;
  }
  // A value of that dtype that broadcasts with `shape`.
  Value Like(DType dtype, const Shape& shape) {
    for (int tries = 0; tries < 6; ++tries) {
      const Value v = Recent(tries < 3 ? 8 : 1000);
      if (TypeOf(v) == dtype && (Fits(DimsOf(v), shape) || Fits(shape, DimsOf(v)))) return v;
    }
    if (rng_.OneIn(3)) {
      if (IsFloat(dtype)) return graph_.AddConstant(dtype, (rng_.Below(17) - 8) * 0.25);
      return graph_.AddConstantInt(dtype, rng_.Below(5) - (IsSigned(dtype) ? 2 : 0));
    }
    Shape varied = shape;
    for (Dim& d : varied) {
      if (rng_.OneIn(3)) d = 1;
    }
    while (!varied.empty() && rng_.OneIn(4)) varied.erase(varied.begin());
    return NewInput(dtype, varied);
  }
  // A value of exactly that type.
  Value Exactly(DType dtype, const Shape& shape) {
    for (size_t i = 0, n = pool_.size(); i < n && !rng_.OneIn(10); ++i) {
      const Value v = pool_[n - 1 - i];
      if (graph_.type(v) == TensorType{dtype, shape}) return v;
    }
    return NewInput(dtype, shape);
  }

  FuzzRng rng_;
  FuzzCase case_;
  Graph graph_;
  std::vector<Value> pool_;
  Value head_;  // the newest large value: half of all first operands, so that chains grow long
  std::vector<Dim> base_;
  DType main_ = DType::kF32;
  bool plain_ = true;
  int ops_ = 1, tries_ = 0;
  int64_t max_elements_ = 0, max_work_ = 0, work_ = 0;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_GRAPH_FUZZ_CASE_VALUES_H_
