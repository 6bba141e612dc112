#include "jit/call_class.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/expand.h"
#include "ir/support/status.h"
#include "jit/size_plan.h"

namespace jitfuse::internal {
namespace {

constexpr int64_t kMaxFactor = 16;  // elements: the widest vector of the narrowest type

int64_t PowerOfTwoFactor(int64_t v) {
  if (v == 0) return kMaxFactor;
  return std::min<int64_t>(kMaxFactor,
                           int64_t{1} << std::countr_zero(static_cast<uint64_t>(v < 0 ? -v : v)));
}

void Mark(const SizeExpr& size, std::vector<bool>* marks) {
  std::vector<SymbolId> used;
  size.CollectSymbols(&used);
  for (SymbolId s : used) {
    if (static_cast<size_t>(s) < marks->size()) (*marks)[static_cast<size_t>(s)] = true;
  }
}

void MarkReduced(const Graph& graph, const Node& node, GraphShapeFacts* facts) {
  const Shape& dims = graph.type(node.in[0]).dims;
  const std::vector<int64_t> axes = node.kind() == OpKind::kScan
                                        ? std::vector<int64_t>{node.Get<int64_t>("axis")}
                                        : node.Get<std::vector<int64_t>>("axes");
  for (size_t d = 0; d < dims.size(); ++d) {
    bool reduced =
        axes.empty() || std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    if (!reduced) continue;
    Mark(dims[d], &facts->symbol_reduced);
    Mark(dims[d], &facts->symbol_inner);
  }
}

std::string DimsToString(absl::Span<const int64_t> dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ","), "]");
}

// What an error is about, made into words only when there is one.
using Where = absl::FunctionRef<std::string()>;

std::string InputWhere(const Graph& graph, int position) {
  NodeId id = graph.inputs()[static_cast<size_t>(position)];
  return absl::StrCat("input ", position, " '", graph.input_name(position), "' (",
                      graph.TypeString({id, 0}), ")");
}

absl::Status CheckInputs(const Graph& graph, absl::Span<const TensorView> inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return InvalidArgument("graph ", graph.name(), ": expected ", graph.inputs().size(),
                           " inputs, got ", inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Node& node = graph.node(graph.inputs()[i]);
    const auto where = [&] { return InputWhere(graph, static_cast<int>(i)); };
    if (inputs[i].dtype != node.types[0].dtype) {
      return InvalidArgument(where(), ": expected dtype ", ToAbsl(DTypeName(node.types[0].dtype)),
                             ", got ", ToAbsl(DTypeName(inputs[i].dtype)));
    }
    if (node.kind() == OpKind::kScalar && !inputs[i].dims.empty()) {
      return InvalidArgument(where(), ": expected a host scalar of rank 0, got shape ",
                             DimsToString(inputs[i].dims));
    }
  }
  return absl::OkStatus();
}

bool IsEmpty(const TensorView& view) {
  return std::find(view.dims.begin(), view.dims.end(), 0) != view.dims.end();
}

// Whether byte offsets within the view fit 64 bits with room to spare. The dims are known to be
// those of the type.
absl::Status CheckStrides(const TensorView& view, Where where) {
  if (view.strides.empty()) return absl::OkStatus();
  if (view.strides.size() != view.dims.size()) {
    return InvalidArgument(where(), ": ", view.dims.size(), " dims but ", view.strides.size(),
                           " strides");
  }
  if (IsEmpty(view)) return absl::OkStatus();
  constexpr int64_t kMost = int64_t{1} << 56;
  int64_t total = 0;
  for (size_t d = 0; d < view.dims.size(); ++d) {
    if (view.dims[d] == 1) continue;  // a stride that nobody takes may be anything
    int64_t reach = 0;
    if (view.strides[d] <= -kMost || view.strides[d] >= kMost ||
        __builtin_mul_overflow(view.dims[d] - 1, std::abs(view.strides[d]), &reach) ||
        __builtin_add_overflow(total, reach, &total) || total >= kMost) {
      return InvalidArgument(where(), ": shape ", DimsToString(view.dims), " with strides ",
                             DimsToString(view.strides), " spans more than 2^56 elements");
    }
  }
  return absl::OkStatus();
}

bool IsContiguous(const TensorView& view) {
  if (view.strides.empty() || IsEmpty(view)) return true;
  int64_t expected = 1;
  for (size_t d = view.dims.size(); d-- > 0;) {
    if (view.dims[d] != 1 && view.strides[d] != expected) return false;
    if (__builtin_mul_overflow(expected, view.dims[d], &expected)) return false;
  }
  return true;
}

// Loads and stores are of whole elements; what more alignment allows is a variant.
absl::Status CheckAddress(const TensorView& view, Where where) {
  const auto size = static_cast<uintptr_t>(ItemSize(view.dtype));
  const auto address = reinterpret_cast<uintptr_t>(view.ptr);
  if (address % size == 0 || IsEmpty(view)) return absl::OkStatus();
  return InvalidArgument(where(), ": expected an address that is a multiple of ", size,
                         " bytes, the size of an element, got one that is ", address % size,
                         " beyond");
}

}  // namespace

std::pair<int64_t, int64_t> OffsetRange(const TensorView& view) {
  if (IsEmpty(view)) return {0, -1};
  int64_t lo = 0, hi = 0, dense = 1;
  for (size_t d = view.dims.size(); d-- > 0;) {
    int64_t reach = (view.dims[d] - 1) * (view.strides.empty() ? dense : view.strides[d]);
    (reach < 0 ? lo : hi) += reach;
    dense *= view.dims[d];
  }
  return {lo, hi};
}

namespace {

int AlignOf(const TensorView& view) {
  auto address = reinterpret_cast<uintptr_t>(view.ptr);
  return address == 0 ? 16 : static_cast<int>(std::min<uintptr_t>(16, address & (~address + 1)));
}

struct ByteRange {
  int64_t lo, hi;  // [lo, hi)
};

ByteRange BytesOf(const TensorView& view) {
  auto [lo, hi] = OffsetRange(view);
  auto base = static_cast<int64_t>(reinterpret_cast<uintptr_t>(view.ptr));
  int64_t size = ItemSize(view.dtype);
  return hi < lo ? ByteRange{base, base} : ByteRange{base + lo * size, base + (hi + 1) * size};
}

int64_t StrideBytes(const TensorView& view, size_t d) {
  const int64_t stride = view.strides.empty() ? ContiguousStrides(view.dims)[d] : view.strides[d];
  return std::abs(stride) * ItemSize(view.dtype);
}

// The bytes of a view modulo `pitch`: steps that are multiples of it do not count.
ByteRange BytesModulo(const TensorView& view, int64_t pitch) {
  const auto base = static_cast<int64_t>(reinterpret_cast<uintptr_t>(view.ptr));
  const std::vector<int64_t> dense = ContiguousStrides(view.dims);
  ByteRange range{base, base + ItemSize(view.dtype)};
  for (size_t d = 0; d < view.dims.size(); ++d) {
    if (view.dims[d] == 1) continue;  // whose stride may be anything
    const int64_t stride = view.strides.empty() ? dense[d] : view.strides[d];
    const int64_t reach = (view.dims[d] - 1) * stride * ItemSize(view.dtype);
    if (StrideBytes(view, d) % pitch != 0) (reach < 0 ? range.lo : range.hi) += reach;
  }
  return range;
}

// Two views whose ranges overlap may still interleave without touching: halves of a wider matrix,
// even and odd elements. Some stride of theirs shows it, modulo which their bytes lie apart; that
// is exact where all of their strides are equal.
bool Interleave(const TensorView& a, const TensorView& b) {
  for (const TensorView* view : {&a, &b}) {
    for (size_t d = 0; d < view->dims.size(); ++d) {
      const int64_t pitch = view->dims[d] == 1 ? 0 : StrideBytes(*view, d);
      if (pitch == 0) continue;
      const ByteRange ra = BytesModulo(a, pitch), rb = BytesModulo(b, pitch);
      const int64_t len_a = ra.hi - ra.lo, len_b = rb.hi - rb.lo;
      const int64_t delta = ((rb.lo - ra.lo) % pitch + pitch) % pitch;
      if (delta >= len_a && delta + len_b <= pitch) return true;
    }
  }
  return false;
}

bool Overlap(const TensorView& a, const TensorView& b) {
  if (a.ptr == nullptr || b.ptr == nullptr) return false;
  if (IsEmpty(a) || IsEmpty(b)) return false;
  ByteRange x = BytesOf(a);
  ByteRange y = BytesOf(b);
  return x.lo < y.hi && y.lo < x.hi && !Interleave(a, b);
}

bool SameElements(const TensorView& a, const TensorView& b) {
  if (a.ptr != b.ptr || ItemSize(a.dtype) != ItemSize(b.dtype) || a.dims != b.dims) return false;
  if (IsContiguous(a) && IsContiguous(b)) return true;
  std::vector<int64_t> da = ContiguousStrides(a.dims), db = ContiguousStrides(b.dims);
  for (size_t d = 0; d < a.dims.size(); ++d) {
    int64_t sa = a.strides.empty() ? da[d] : a.strides[d],
            sb = b.strides.empty() ? db[d] : b.strides[d];
    if (a.dims[d] > 1 && sa != sb) return false;
  }
  return true;
}

// The key's numbers, as bytes. Each says by those before it how many follow, so that no two classes
// have one key.
class KeyWriter {
 public:
  KeyWriter& Int(int64_t v) {
    numbers_.push_back(v);
    return *this;
  }
  std::string Take() const {
    return {reinterpret_cast<const char*>(numbers_.data()), numbers_.size() * sizeof(int64_t)};
  }

 private:
  absl::InlinedVector<int64_t, 64> numbers_;
};

}  // namespace

bool Touches(const TensorView& view, const void* begin, int64_t bytes) {
  if (view.ptr == nullptr || bytes <= 0 || IsEmpty(view)) return false;
  const ByteRange range = BytesOf(view);
  const auto first = static_cast<int64_t>(reinterpret_cast<uintptr_t>(begin));
  return range.lo < first + bytes && first < range.hi;
}

namespace {

bool IsOne(const SizeExpr& size, const ClassKey& key) {
  if (size.IsConstant()) return size.Is(1);
  if (const std::optional<SymbolId> s = size.AsSymbol()) {
    const auto i = static_cast<size_t>(*s);
    return key.graph_symbols[i].constant && key.symbols[i] == 1;
  }
  return size.Substitute([&](SymbolId s) { return InClass(s, key); }).Is(1);
}

// Builds one ClassKey; the members are the steps of ClassKeyOf.
class Classifier {
 public:
  Classifier(const Graph& graph, const GraphShapeFacts& facts, Dynamic dynamic)
      : graph_(graph), facts_(facts), dynamic_(dynamic) {}

  absl::StatusOr<ClassKey> Run(absl::Span<const TensorView> inputs,
                               absl::Span<const TensorView> outputs) {
    JF_RETURN_IF_ERROR(CheckInputs(graph_, inputs));
    JF_RETURN_IF_ERROR(BindSymbols(inputs));
    JF_RETURN_IF_ERROR(CheckExtents());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto where = [&] { return InputWhere(graph_, static_cast<int>(i)); };
      JF_RETURN_IF_ERROR(CheckStrides(inputs[i], where));
      JF_RETURN_IF_ERROR(CheckAddress(inputs[i], where));
    }
    cls_.dynamic = dynamic_;
    key_.Int(static_cast<int64_t>(dynamic_));
    if (dynamic_ == Dynamic::kAll) KnowAlignment(inputs, outputs);
    ClassifySymbols();
    for (size_t i = 0; i < inputs.size(); ++i) {
      NodeId id = graph_.inputs()[i];
      bool scalar = graph_.node(id).kind() == OpKind::kScalar;
      cls_.views.push_back(scalar ? ViewClass() : Classify(graph_.type({id, 0}), inputs[i]));
    }
    JF_RETURN_IF_ERROR(Outputs(inputs, outputs));
    OffsetBits();
    for (const std::vector<int>& aliases : cls_.output_aliases) {
      key_.Int(static_cast<int64_t>(aliases.size()));
      for (int alias : aliases) key_.Int(alias);
    }
    cls_.key = key_.Int(cls_.offset_bits).Take();
    return std::move(cls_);
  }

 private:
  absl::Status BindSymbols(absl::Span<const TensorView> inputs) {
    // Kept from call to call, for its memory.
    thread_local std::vector<std::vector<int64_t>> dims;
    dims.resize(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i)
      dims[i].assign(inputs[i].dims.begin(), inputs[i].dims.end());
    JF_ASSIGN_OR_RETURN(values_, graph_.BindSymbols(dims));
    return absl::OkStatus();
  }

  // Intermediate values may be larger than any input: [n,1] with [1,m].
  absl::Status CheckExtents() {
    constexpr int64_t kMost = int64_t{1} << 56;
    for (const SizeExpr& e : facts_.extents) {
      std::optional<int64_t> n = e.CheckedEval(values_);
      if (n && *n < kMost) {
        largest_extent_ = std::max(largest_extent_, *n);
        continue;
      }
      return InvalidArgument(
          "graph ", graph_.name(), ": a value of ", e.ToString(graph_.symbols().names),
          " elements is too large for the given sizes; expected fewer than 2^56");
    }
    return absl::OkStatus();
  }

  void KnowAlignment(absl::Span<const TensorView> inputs, absl::Span<const TensorView> outputs) {
    for (absl::Span<const TensorView> views : {inputs, outputs}) {
      for (const TensorView& view : views) aligned_ &= view.dims.empty() || AlignOf(view) == 16;
    }
  }

  // What code may count on.
  int AlignOfClass(const TensorView& view) const {
    const bool known = dynamic_ != Dynamic::kAll || (aligned_ && !view.dims.empty());
    return known ? AlignOf(view) : std::min(16, static_cast<int>(ItemSize(view.dtype)));
  }

  SymbolClass ClassOfSymbol(size_t s) const {
    const int64_t v = values_[s];
    if (dynamic_ == Dynamic::kNone || v == 0) return {true};
    if (dynamic_ == Dynamic::kAll)
      return {false, 1, facts_.symbol_reduced[s] ? ReducedBucket(v) : 0};
    if (v == 1) return {true};
    SymbolClass out;
    if (facts_.symbol_inner[s]) out.factor = PowerOfTwoFactor(v);
    if (facts_.symbol_reduced[s])
      out.bound = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(v))) / out.factor;
    return out;
  }

  void ClassifySymbols() {
    for (size_t s = 0; s < values_.size(); ++s) {
      const int64_t v = values_[s];
      const SymbolClass c = ClassOfSymbol(s);
      key_.Int(c.constant ? v : -1).Int(c.factor).Int(c.bound);
      cls_.graph_symbols.push_back(c);
      cls_.symbols.push_back(c.constant ? v : v / c.factor);
    }
  }

  StrideClass ClassifyStride(int64_t stride) {
    if (stride == 0 || stride == 1) {
      key_.Int(stride);
      return {stride};
    }
    // Symbols are at least 1 everywhere (SizeExpr::IsKnownNonNegative), so the sign belongs to the
    // class.
    const int64_t part = dynamic_ == Dynamic::kAll ? 1 : PowerOfTwoFactor(stride);
    const int64_t factor = stride < 0 ? -part : part;
    key_.Int(2).Int(factor);
    cls_.symbols.push_back(stride / factor);
    return {factor, static_cast<SymbolId>(cls_.symbols.size() - 1)};
  }

  ViewClass Classify(const TensorType& type, const TensorView& view) {
    ViewClass out;
    out.align = AlignOfClass(view);
    out.dense = IsContiguous(view);
    out.first_stride = cls_.strides.size();
    cls_.least_align = std::min(cls_.least_align, AlignOf(view));
    key_.Int(out.align).Int(out.dense);
    for (size_t d = 0; d < type.dims.size() && !out.dense; ++d)
      cls_.strides.push_back(IsOne(type.dims[d], cls_) ? StrideClass()
                                                       : ClassifyStride(view.strides[d]));
    auto [lo, hi] = OffsetRange(view);
    largest_offset_ = std::max({largest_offset_, -lo, hi});
    return out;
  }

  absl::Status Outputs(absl::Span<const TensorView> inputs, absl::Span<const TensorView> outputs) {
    if (!outputs.empty() && outputs.size() != graph_.outputs().size()) {
      return InvalidArgument("graph ", graph_.name(), ": expected ", graph_.outputs().size(),
                             " outputs, got ", outputs.size());
    }
    cls_.output_aliases.resize(graph_.outputs().size());
    for (size_t o = 0; o < graph_.outputs().size(); ++o) {
      const TensorType& type = graph_.type(graph_.outputs()[o]);
      absl::InlinedVector<int64_t, kMaxRank> dims;
      for (const Dim& d : type.dims) dims.push_back(d.Eval(values_));
      TensorView view{nullptr, type.dtype, dims, {}};
      if (!outputs.empty()) {
        view = outputs[o];
        JF_RETURN_IF_ERROR(CheckOutput(o, view, dims));
        JF_ASSIGN_OR_RETURN(cls_.output_aliases[o], FindAliases(inputs, outputs, o));
      }
      // In place on a strided view: the same symbols for the same strides, so that both element
      // maps are seen to be one.
      const std::vector<int>& aliases = cls_.output_aliases[o];
      bool in_place = !aliases.empty() && !IsContiguous(view);
      key_.Int(in_place);
      cls_.views.push_back(in_place ? Like(aliases[0]) : Classify(type, view));
    }
    return absl::OkStatus();
  }

  ViewClass Like(int input) const {
    ViewClass out = cls_.views[static_cast<size_t>(input)];
    out.like = input;
    return out;
  }

  std::string OutputWhere(size_t o) const {
    return absl::StrCat("output ", o, " (",
                        TypeToString(graph_.type(graph_.outputs()[o]), graph_.symbols().names),
                        ")");
  }

  absl::Status CheckOutput(size_t o, const TensorView& view, absl::Span<const int64_t> dims) const {
    const auto where = [&] { return OutputWhere(o); };
    const DType dtype = graph_.type(graph_.outputs()[o]).dtype;
    if (view.dtype != dtype) {
      return InvalidArgument(where(), ": expected dtype ", ToAbsl(DTypeName(dtype)), ", got ",
                             ToAbsl(DTypeName(view.dtype)));
    }
    if (view.dims != dims) {
      return InvalidArgument(where(), ": expected a buffer of shape ", DimsToString(dims), ", got ",
                             DimsToString(view.dims));
    }
    JF_RETURN_IF_ERROR(CheckStrides(view, where));
    JF_RETURN_IF_ERROR(CheckAddress(view, where));
    return CheckWritable(view, where);
  }

  static absl::Status CheckWritable(const TensorView& view, Where where) {
    for (size_t d = 0; d < view.strides.size(); ++d) {
      if (view.dims[d] > 1 && view.strides[d] == 0) {
        return InvalidArgument(where(), ": the buffer has stride 0 along dim ", d, " of extent ",
                               view.dims[d], ", so several results would share one element");
      }
    }
    return CheckInjective(view, where);
  }

  // From the smallest stride up, each must pass over all that the smaller ones reach: enough for no
  // element to be written twice, and true of every slice, transpose and padded pitch. (Rare layouts
  // that interleave without touching, as strides (3,2) of shape (2,3), are refused too.)
  static absl::Status CheckInjective(const TensorView& view, Where where) {
    std::vector<std::pair<int64_t, int64_t>> steps;  // (|stride|, extent)
    for (size_t d = 0; d < view.strides.size(); ++d) {
      if (view.dims[d] == 0) return absl::OkStatus();
      if (view.dims[d] > 1) steps.emplace_back(std::abs(view.strides[d]), view.dims[d]);
    }
    std::sort(steps.begin(), steps.end());
    int64_t reach = 0;
    for (auto [stride, extent] : steps) {
      if (stride <= reach) {
        return InvalidArgument(where(), ": shape ", DimsToString(view.dims), " with strides ",
                               DimsToString(view.strides),
                               " lets several results share one element; expected each stride to "
                               "pass over all that the smaller ones reach");
      }
      reach += stride * (extent - 1);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<int>> FindAliases(absl::Span<const TensorView> inputs,
                                               absl::Span<const TensorView> outputs,
                                               size_t o) const {
    const TensorView& view = outputs[o];
    const auto where = [&] { return OutputWhere(o); };
    for (size_t other = 0; other < o; ++other) {
      if (Overlap(view, outputs[other]))
        return InvalidArgument(where(), ": its buffer overlaps that of output ", other);
    }
    std::vector<int> aliases;
    for (int position : facts_.tensor_inputs) {
      const TensorView& input = inputs[static_cast<size_t>(position)];
      if (!Overlap(view, input)) continue;
      if (!SameElements(view, input)) {
        return InvalidArgument(where(), ": its buffer partly overlaps ",
                               InputWhere(graph_, position),
                               "; it must be the same elements in the same order, or apart");
      }
      aliases.push_back(position);
    }
    return aliases;
  }

  void OffsetBits() {
    constexpr int64_t kMax32 = std::numeric_limits<int32_t>::max();
    largest_offset_ = std::max(largest_offset_, largest_extent_ - 1);
    // A grid's last block may run past the end by a block's worth of elements before its guard
    // stops it.
    cls_.offset_bits = largest_offset_ > kMax32 - (int64_t{1} << 20) ? 64 : 32;
  }

  const Graph& graph_;
  const GraphShapeFacts& facts_;
  const Dynamic dynamic_;
  bool aligned_ = true;          // every tensor is, to 16 bytes
  std::vector<int64_t> values_;  // of the graph's own symbols
  int64_t largest_offset_ = 0, largest_extent_ = 0;
  KeyWriter key_;
  ClassKey cls_;
};

}  // namespace

GraphShapeFacts ComputeShapeFacts(const Graph& graph) {
  GraphShapeFacts facts;
  facts.symbol_inner.resize(graph.symbols().names.size());
  facts.symbol_reduced.resize(graph.symbols().names.size());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (graph.node(graph.inputs()[i]).kind() == OpKind::kInput)
      facts.tensor_inputs.push_back(static_cast<int>(i));
  }
  absl::StatusOr<Graph> expanded = Expand(graph);
  const Graph& g = expanded.ok() ? *expanded : graph;
  for (NodeId id = 0; id < g.size(); ++id) {
    const Node& node = g.node(id);
    for (const TensorType& type : node.types) {
      if (type.dims.size() >= 2) Mark(type.dims.back(), &facts.symbol_inner);
      SizeExpr n = NumElements(type.dims);
      const auto known = facts.extents.rbegin();  // distinct, as far as that is soon seen
      const auto end = known + std::min<std::ptrdiff_t>(32, facts.extents.rend() - known);
      if (std::find(known, end, n) == end) facts.extents.push_back(std::move(n));
    }
    if (node.kind() == OpKind::kReduce || node.kind() == OpKind::kScan)
      MarkReduced(g, node, &facts);
  }
  facts.extents = GreatestOf(std::move(facts.extents));
  return facts;
}

absl::StatusOr<ClassKey> ClassKeyOf(const Graph& graph, const GraphShapeFacts& facts,
                                    absl::Span<const TensorView> inputs,
                                    absl::Span<const TensorView> outputs, Dynamic dynamic) {
  return Classifier(graph, facts, dynamic).Run(inputs, outputs);
}

int64_t ReducedBucket(int64_t extent) {
  constexpr int64_t kWarp = 256, kLeast = 1024, kMost = 64 * 1024;
  if (extent <= kWarp) return kWarp;
  if (extent > kMost) return 0;
  return std::max(kLeast, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent))));
}

}  // namespace jitfuse::internal
