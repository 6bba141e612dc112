#include "codegen/fusion/gemm_epilogue.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/fusion/relation.h"
#include "codegen/fusion/written_activation.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

struct TableRow {
  TargetKind target;
  GemmActivation activation;
  DTypeSet dtypes;
};
constexpr TableRow kTable[] = {
#define JF_EPILOGUE(target, activation, dtypes) \
  {TargetKind::k##target, GemmActivation::k##activation, dtypes},
#include "codegen/fusion/gemm_epilogues.inc"
#undef JF_EPILOGUE
};

struct ActivationRow {
  Op op;
  GemmActivation activation;
};
constexpr ActivationRow kActivations[] = {{Op::kRelu, GemmActivation::kRelu},
                                          {Op::kGelu, GemmActivation::kGelu},
                                          {Op::kGeluTanh, GemmActivation::kGeluTanh},
                                          {Op::kSilu, GemmActivation::kSilu}};

class Matcher {
 public:
  explicit Matcher(const EpilogueQuestion& q)
      : q_(q), graph_(q.graph), users_(ComputeUsers(q.graph)) {
    const auto size = static_cast<size_t>(graph_.size());
    uses_.assign(size, 0);
    reader_.assign(size, -1);
    multiplied_.assign(size, false);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      for (Value v : node.in) {
        ++uses_[At(v.node)];
        reader_[At(v.node)] = id;
        if (node.kind() == OpKind::kMatMul) multiplied_[At(q_.views.Base(v).node)] = true;
      }
    }
    taken_.assign(size, false);
    written_.assign(size, false);
    is_output_.assign(size, false);
    for (Value v : graph_.outputs()) is_output_[At(v.node)] = true;
    position_.assign(size, -1);
    for (size_t i = 0; i < graph_.inputs().size(); ++i)
      position_[At(graph_.inputs()[i])] = static_cast<int>(i);
  }

  std::vector<EpilogueMatch> Run() {
    std::vector<EpilogueMatch> out;
    int64_t chains = 0;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (graph_.node(id).kind() != OpKind::kMatMul) continue;
      choice_ = out.size() < q_.choices.size() ? q_.choices[out.size()] : ProductChoice();
      const bool may = q_.library && (q_.max_chains < 0 || chains < q_.max_chains);
      out.push_back(Match(id, may));
      if (!out.back().nodes.empty()) {
        ++chains;
        written_[At(out.back().result.node)] = true;
        std::sort(out.back().nodes.begin(), out.back().nodes.end());
      }
    }
    return out;
  }

 private:
  static size_t At(NodeId id) { return static_cast<size_t>(id); }

  EpilogueMatch Match(NodeId product, bool may) {
    EpilogueMatch m;
    m.product = product;
    m.result = {product, 0};
    if (!may) return m;
    Value at = m.result;  // m.result, or a reshape of it
    while (true) {
      if (std::optional<EpilogueMatch> next = TakeWritten(at, m)) {
        for (NodeId taken : next->nodes) taken_[At(taken)] = true;
        return *std::move(next);
      }
      if (is_output_[At(at.node)] || uses_[At(at.node)] != 1) {
        if (!is_output_[At(at.node)] && uses_[At(at.node)] > 1)
          m.stopped = {Reason::kEpilogueReaders, absl::StrCat(graph_.TypeString(at), " is read ",
                                                              uses_[At(at.node)], " times")};
        return m;
      }
      const NodeId id = reader_[At(at.node)];
      const Node& node = graph_.node(id);
      if (node.kind() == OpKind::kPointwise && choice_.epilogue == ProductChoice::Epilogue::kNone) {
        m.stopped = {choice_.no_algorithm ? Reason::kEpilogueNoAlgorithm : Reason::kEpilogueTuned,
                     std::string(node.def().name)};
        return m;
      }
      if (node.kind() == OpKind::kView) {
        if (q_.views.IsCut(id) || is_output_[At(id)] || !IsReshape(id)) return m;
        at = {id, 0};
        continue;
      }
      if (node.kind() != OpKind::kPointwise || taken_[At(id)]) return m;
      EpilogueMatch next = m;
      if (std::optional<Rejection> why = Take(id, at, &next)) {
        m.stopped = std::move(why);
        return m;
      }
      next.nodes.push_back(id);
      next.result = at = {id, 0};
      m = std::move(next);
      for (NodeId taken : m.nodes) taken_[At(taken)] = true;
    }
  }

  // An activation that is written out with smaller ops ends the chain.
  std::optional<EpilogueMatch> TakeWritten(Value at, const EpilogueMatch& m) const {
    if (m.epilogue.activation != GemmActivation::kNone || uses_[At(at.node)] < 2 ||
        !PositiveK(m.product) || choice_.epilogue != ProductChoice::Epilogue::kAll)
      return std::nullopt;
    const DType dtype = graph_.type(at).dtype;
    EpilogueMatch next = m;
    std::vector<GemmActivation> taken;
    for (GemmActivation a :
         {GemmActivation::kGelu, GemmActivation::kGeluTanh, GemmActivation::kSilu}) {
      next.epilogue.activation = a;
      if (!TableRefusal(q_.target, dtype, next.epilogue) && !q_.library(dtype, next.epilogue))
        taken.push_back(a);
    }
    if (taken.empty()) return std::nullopt;
    const std::optional<WrittenActivation> written =
        FindWrittenActivation(graph_, q_.views, users_, at, taken);
    if (!written) return std::nullopt;
    next.epilogue.activation = written->activation;
    next.nodes.insert(next.nodes.end(), written->nodes.begin(), written->nodes.end());
    next.result = {written->nodes.back(), 0};
    return next;
  }

  // Elements in the same order: then the buffer is the same.
  bool IsReshape(NodeId id) const {
    const Node& node = graph_.node(id);
    std::optional<Frame> reshape =
        ReshapeFrame(graph_, node.types[0].dims, graph_.type(node.in[0]).dims);
    Value base = q_.views.Base({id, 0});
    std::optional<Frame> whole = ReshapeFrame(graph_, node.types[0].dims, graph_.type(base).dims);
    const ViewChain* chain = q_.views.Chain({id, 0});
    return reshape && whole && chain != nullptr && whole->map == chain->map;
  }

  std::optional<Rejection> Take(NodeId id, Value at, EpilogueMatch* m) const {
    const Node& node = graph_.node(id);
    const std::string_view name = node.def().name;
    if (m->epilogue.activation != GemmActivation::kNone)
      return Rejection{Reason::kEpilogueOrder,
                       absl::StrCat(ToAbsl(name), " follows the activation")};
    std::optional<Rejection> why;
    if (node.op == Op::kMultiply) {
      why = TakeAlpha(node, at, m);
    } else if (node.op == Op::kAdd) {
      why = TakeSum(node, at, m);
    } else {
      why = TakeActivation(node, m);
    }
    if (why) return why;
    const DType dtype = node.types[0].dtype;
    std::optional<Reason> refusal = TableRefusal(q_.target, dtype, m->epilogue);
    if (!refusal) refusal = q_.library(dtype, m->epilogue);
    if (refusal)
      return Rejection{*refusal, absl::StrCat(ToAbsl(name), " of ", ToAbsl(DTypeName(dtype)))};
    if (!PositiveK(m->product)) return Rejection{Reason::kEpilogueEmptyK, ""};
    return std::nullopt;
  }

  bool PositiveK(NodeId product) const {
    const Node& node = graph_.node(product);
    const Shape& a = graph_.type(node.in[0]).dims;
    return (a[a.size() - (node.Get<bool>("transpose_a") ? 2 : 1)] - 1).IsKnownNonNegative();
  }

  std::optional<Rejection> TakeActivation(const Node& node, EpilogueMatch* m) const {
    for (const ActivationRow& row : kActivations) {
      if (row.op != node.op) continue;
      if (choice_.epilogue != ProductChoice::Epilogue::kAll)
        return Rejection{Reason::kEpilogueTuned, std::string(node.def().name)};
      m->epilogue.activation = row.activation;
      return std::nullopt;
    }
    return Rejection{Reason::kEpilogueActivation, std::string(node.def().name)};
  }

  // The other operand of a node with two.
  static Value Other(const Node& node, Value at) {
    return node.in[0] == at ? node.in[1] : node.in[0];
  }

  std::optional<double> Uniform(Value v) const {
    const Value base = q_.views.Base(v);
    if (graph_.node(base).kind() != OpKind::kConstant) return std::nullopt;
    return ScalarToDouble(graph_.type(base).dtype, graph_.ConstantValue(base.node));
  }

  std::optional<Rejection> TakeAlpha(const Node& node, Value at, EpilogueMatch* m) const {
    // A factor that is taken first must not overflow, or lose, what the product does not.
    const std::optional<double> alpha = Uniform(Other(node, at));
    if (!alpha || !(std::fabs(*alpha) <= 1 && std::fabs(*alpha) >= 0x1p-20))
      return Rejection{Reason::kEpilogueActivation,
                       "multiply, not by a constant between 2^-20 and 1"};
    if (!(m->epilogue == GemmEpilogue{}))
      return Rejection{Reason::kEpilogueOrder, "multiply follows a sum or another factor"};
    m->epilogue.alpha = *alpha;
    return std::nullopt;
  }

  std::optional<Rejection> TakeSum(const Node& node, Value at, EpilogueMatch* m) const {
    const Value v = Other(node, at);
    const std::string what = graph_.TypeString(q_.views.Base(v));
    const std::optional<Shape> strides = StridesOf(v);
    if (!strides)
      return Rejection{Reason::kEpilogueOperand,
                       absl::StrCat(what, " is not in memory, or its views have no strides")};
    // Of a product of one row both are the same; what is written in place may be C.
    const bool whole = q_.views.Base(v) == v &&
                       graph_.SameShape(ShapeOf(v), graph_.node(m->product).types[0].dims);
    if (!whole && IsBias(*strides, ShapeOf(v), m->product)) {
      if (m->bias) return Rejection{Reason::kEpilogueOrder, "a second bias"};
      m->bias = v;
      m->epilogue.bias = true;
      return std::nullopt;
    }
    return TakeC(v, m);
  }

  // C, or beta * C.
  std::optional<Rejection> TakeC(Value v, EpilogueMatch* m) const {
    if (m->c) return Rejection{Reason::kEpilogueOrder, "a second matrix is added"};
    double beta = 1;
    const Node& scaled = graph_.node(v);
    const bool own = uses_[At(v.node)] == 1 && !is_output_[At(v.node)] && !taken_[At(v.node)];
    for (size_t i = 0; i < 2 && own && scaled.op == Op::kMultiply && beta == 1; ++i) {
      const std::optional<double> factor = Uniform(scaled.in[i]);
      if (!factor || *factor == 0 || !StridesOf(scaled.in[1 - i])) continue;
      beta = *factor;
      m->nodes.push_back(v.node);
      v = scaled.in[1 - i];
    }
    const std::string what = graph_.TypeString(q_.views.Base(v));
    const std::optional<Shape> strides = StridesOf(v);
    if (!strides || !MatchC(v, *strides, m))
      return Rejection{Reason::kEpilogueOperand,
                       absl::StrCat(what, " is neither one number a column nor a matrix of rows")};
    if (!LiesAnyway(v))
      return Rejection{Reason::kEpilogueOperand,
                       absl::StrCat(what, " is computed by a loop group, which adds it")};
    m->c = v;
    m->epilogue.beta = beta;
    return std::nullopt;
  }

  const Shape& ShapeOf(Value v) const { return graph_.type(v).dims; }

  // Strides of `v`, through its views, in the buffer beneath; nullopt if there is none.
  std::optional<Shape> StridesOf(Value v) const {
    const Value base = q_.views.Base(v);
    const OpKind kind = graph_.node(base).kind();
    if (kind == OpKind::kConstant || kind == OpKind::kScalar || kind == OpKind::kIota)
      return std::nullopt;
    Shape strides;
    const int position = position_[At(base.node)];
    if (position >= 0 && !q_.input_layouts.empty())
      strides = q_.input_layouts[static_cast<size_t>(position)].strides;
    const ViewChain* chain = q_.views.Chain(v);
    return StridesThrough(chain != nullptr ? chain->map : IdentityOf(ShapeOf(v)), ShapeOf(v),
                          ShapeOf(base), strides);
  }

  // One number for each of the product's columns, side by side, whatever the row and the batch.
  bool IsBias(const Shape& strides, const Shape& dims, NodeId product) const {
    if (dims.empty() || !graph_.SameDim(dims.back(), graph_.node(product).types[0].dims.back()))
      return false;
    for (size_t d = 0; d + 1 < dims.size(); ++d) {
      if (!strides[d].Is(0) && !dims[d].Is(1)) return false;
    }
    return strides.back().Is(1) || dims.back().Is(1);
  }

  bool MatchC(Value v, const Shape& strides, EpilogueMatch* m) const {
    const Shape& out = graph_.node(m->product).types[0].dims;
    const Shape& dims = ShapeOf(v);
    const SizeExpr &rows = out[out.size() - 2], &columns = out.back();
    if (!graph_.SameShape(dims, out)) {  // reshaped behind the product: dense or not at all
      if (!(strides == ContiguousStrides(dims))) return false;
      m->ldc = columns;
      m->batch_stride_c = rows * columns;
      return true;
    }
    std::optional<GemmMatrix> c = AsMatrix(dims, strides);
    if (!c) return false;
    m->ldc = c->ld;
    m->batch_stride_c = c->batch_stride;
    return true;
  }

  // Whether it is stored whatever this product does with it.
  bool LiesAnyway(Value v) const {
    const NodeId base = q_.views.Base(v).node;
    const OpKind kind = graph_.node(base).kind();
    return kind == OpKind::kInput || kind == OpKind::kMatMul || is_output_[At(base)] ||
           multiplied_[At(base)] || written_[At(base)];
  }

  const EpilogueQuestion& q_;
  const Graph& graph_;
  ProductChoice choice_;  // of the product that is being matched
  std::vector<std::vector<NodeId>> users_;
  std::vector<int> uses_;         // by node: operands that are it
  std::vector<NodeId> reader_;    // by node: the last that reads it
  std::vector<bool> multiplied_;  // by node: a product reads it, maybe through views
  std::vector<bool> is_output_;
  std::vector<bool> taken_;    // by node: of an epilogue already
  std::vector<bool> written_;  // by node: the last of an epilogue
  std::vector<int> position_;  // by node: of inputs, in the signature
};

}  // namespace

std::optional<Reason> TableRefusal(TargetKind target, DType dtype, const GemmEpilogue& epilogue) {
  if (epilogue.empty()) return std::nullopt;
  bool takes_dtype = false;
  for (const TableRow& row : kTable) {
    if (row.target != target || !IsIn(dtype, row.dtypes)) continue;
    if (row.activation == epilogue.activation) return std::nullopt;
    takes_dtype = true;
  }
  return takes_dtype ? Reason::kEpilogueActivation : Reason::kEpilogueDtype;
}

std::vector<EpilogueMatch> MatchEpilogues(const EpilogueQuestion& question) {
  bool any = false;
  for (NodeId id = 0; id < question.graph.size() && !any; ++id)
    any = question.graph.node(id).kind() == OpKind::kMatMul;
  if (!any) return {};  // most graphs, which need no tables
  return Matcher(question).Run();
}

}  // namespace jitfuse::internal
