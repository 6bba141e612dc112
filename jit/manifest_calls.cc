#include "jit/manifest_calls.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/fix_sizes.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

using Sizes = std::vector<int64_t>;

const TensorType& InputType(const Graph& graph, size_t i) {
  return graph.type({graph.inputs()[i], 0});
}

bool IsTensor(const Graph& graph, size_t i) {
  return graph.node(graph.inputs()[i]).kind() == OpKind::kInput;
}

absl::StatusOr<size_t> InputNamed(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (graph.input_name(static_cast<int>(i)) == name) return i;
    names.push_back(graph.input_name(static_cast<int>(i)));
  }
  return InvalidArgument("graph ", graph.name(), " has no input '", name,
                         "'; its inputs: ", absl::StrJoin(names, ", "));
}

// By symbol: whether a size of an input has it.
std::vector<bool> UsedSymbols(const Graph& graph) {
  std::vector<bool> out(graph.symbols().names.size(), false);
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    for (const Dim& dim : InputType(graph, i).dims) {
      std::vector<SymbolId> symbols;
      dim.CollectSymbols(&symbols);
      for (SymbolId s : symbols) out[static_cast<size_t>(s)] = true;
    }
  }
  return out;
}

// By symbol of the graph, the sizes that it takes.
absl::StatusOr<std::vector<Sizes>> SizesOf(const Graph& graph, const ManifestCall& call) {
  const SymbolTable& symbols = graph.symbols();
  const std::vector<bool> used = UsedSymbols(graph);
  std::vector<Sizes> out(symbols.names.size());
  for (const auto& [name, sizes] : call.sizes) {
    const std::optional<SymbolId> s = symbols.Find(name);
    if (!s)
      return InvalidArgument("graph ", graph.name(), " has no symbol '", name, "'; its symbols: ",
                             symbols.names.empty() ? "none" : absl::StrJoin(symbols.names, ", "));
    out[static_cast<size_t>(*s)] = sizes;
  }
  for (size_t s = 0; s < out.size(); ++s) {
    if (!out[s].empty()) continue;
    if (used[s])
      return InvalidArgument("graph ", graph.name(), ": expected sizes for its symbol '",
                             symbols.names[s], "'");
    out[s] = {1};
  }
  return out;
}

// Arrays as calls pass them: no memory, but addresses, each apart from the others and aligned as
// told.
class Arrays {
 public:
  absl::Status Add(const TensorType& type, absl::Span<const int64_t> symbols,
                   const ManifestLayout* layout, const std::string& where) {
    Sizes dims;
    for (const Dim& dim : type.dims) {
      const std::optional<int64_t> size = dim.CheckedEval(symbols);
      if (!size || *size < 0 || *size > kMaxSize)
        return InvalidArgument(where, ": a size of it is below 0 or above 2^48");
      dims.push_back(*size);
    }
    dims_.push_back(std::move(dims));
    strides_.push_back(layout == nullptr ? Sizes() : layout->strides);
    views_.push_back({nullptr, type.dtype, {}, {}});
    if (!strides_.back().empty() && strides_.back().size() != dims_.back().size())
      return InvalidArgument(where, ": expected ", dims_.back().size(), " strides, got ",
                             strides_.back().size());
    return Place(layout == nullptr ? 16 : layout->align, where);
  }
  void SetAddress(size_t i, const void* address) { views_[i].ptr = address; }
  const void* address(size_t i) const { return views_[i].ptr; }
  const Sizes& dims(size_t i) const { return dims_[i]; }

  std::vector<TensorView> Views() const {
    std::vector<TensorView> out = views_;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i].dims = dims_[i];
      out[i].strides = strides_[i];
    }
    return out;
  }
  // Addresses go on behind those of `before`.
  void StartBehind(const Arrays& before) { next_ = before.next_; }

 private:
  absl::Status Place(int align, const std::string& where) {
    constexpr int64_t kPage = 4096, kMost = int64_t{1} << 61;
    TensorView view{nullptr, views_.back().dtype, dims_.back(), strides_.back()};
    int64_t elements = 1, reach = 0;
    for (size_t d = 0; d < view.dims.size(); ++d) {
      const int64_t stride = view.strides.empty() ? 1 : std::abs(view.strides[d]);
      int64_t step = 0;
      if (__builtin_mul_overflow(elements, std::max<int64_t>(view.dims[d], 1), &elements) ||
          __builtin_mul_overflow(view.dims[d], stride, &step) ||
          __builtin_add_overflow(reach, step, &reach))
        return InvalidArgument(where, ": expected an array of fewer than 2^56 elements");
    }
    int64_t span = std::max(elements, reach);
    if (__builtin_mul_overflow(span, 2 * int64_t{ItemSize(view.dtype)}, &span) ||
        span > kMost - next_)
      return InvalidArgument(where, ": expected arrays that memory can hold");
    const int64_t page = (next_ + span / 2 + kPage - 1) / kPage * kPage;  // strides may go down
    align = std::max(align, ItemSize(view.dtype));
    views_.back().ptr = reinterpret_cast<const void*>(page + align % 16);
    next_ = page + span / 2 + kPage;
    return absl::OkStatus();
  }

  int64_t next_ = int64_t{1} << 20;
  std::vector<Sizes> dims_, strides_;
  std::vector<TensorView> views_;
};

// One combination of sizes.
class CallMaker {
 public:
  CallMaker(std::shared_ptr<const Graph> graph, const ManifestCall& call,
            absl::Span<const std::string> bound, Dynamic dynamic)
      : whole_(std::move(graph)), call_(call), bound_(bound), dynamic_(dynamic) {}

  absl::Status Init() {
    for (const auto& [name, layout] : call_.inputs) {
      JF_ASSIGN_OR_RETURN(const size_t i, InputNamed(*whole_, name));
      if (!IsTensor(*whole_, i))
        return InvalidArgument("input '", name, "' is passed by value and has no layout");
    }
    is_bound_.assign(whole_->inputs().size(), false);
    for (const std::string& name : bound_) {
      JF_ASSIGN_OR_RETURN(const size_t i, InputNamed(*whole_, name));
      is_bound_[i] = true;
    }
    for (const auto& [number, layout] : call_.outputs) {
      if (static_cast<size_t>(number) >= whole_->outputs().size())
        return InvalidArgument("graph ", whole_->name(), " has ", whole_->outputs().size(),
                               " outputs, so none with the number ", number);
      for (const std::string& name : layout.alias)
        JF_RETURN_IF_ERROR(InputNamed(*whole_, name).status());
    }
    facts_ = ComputeShapeFacts(*whole_);
    return absl::OkStatus();
  }

  absl::StatusOr<ClassOfCalls> Make(const Sizes& symbols) const {
    Arrays inputs, outputs;
    JF_RETURN_IF_ERROR(AddInputs(symbols, &inputs));
    outputs.StartBehind(inputs);
    JF_RETURN_IF_ERROR(AddOutputs(symbols, &inputs, &outputs));
    ClassOfCalls out{whole_, {}, {}};
    if (bound_.empty()) {
      JF_ASSIGN_OR_RETURN(out.cls,
                          ClassifyCall(*whole_, facts_, inputs.Views(), outputs.Views(), dynamic_));
      return out;
    }
    std::vector<KnownDims> known;
    for (size_t i = 0; i < is_bound_.size(); ++i) {
      if (is_bound_[i]) known.push_back({static_cast<int>(i), inputs.dims(i)});
    }
    JF_ASSIGN_OR_RETURN(Graph fixed, FixSizes(*whole_, known));
    out.graph = std::make_shared<const Graph>(std::move(fixed));
    JF_ASSIGN_OR_RETURN(out.cls, ClassifyCall(*out.graph, ComputeShapeFacts(*out.graph),
                                              inputs.Views(), outputs.Views(), dynamic_));
    out.cls.bound_inputs = is_bound_;
    return out;
  }

 private:
  absl::Status AddInputs(const Sizes& symbols, Arrays* inputs) const {
    for (size_t i = 0; i < whole_->inputs().size(); ++i) {
      const std::string& name = whole_->input_name(static_cast<int>(i));
      const auto found = call_.inputs.find(name);
      JF_RETURN_IF_ERROR(inputs->Add(InputType(*whole_, i), symbols,
                                     found == call_.inputs.end() ? nullptr : &found->second,
                                     absl::StrCat("input '", name, "'")));
    }
    return absl::OkStatus();
  }

  // None, or all of them.
  absl::Status AddOutputs(const Sizes& symbols, Arrays* inputs, Arrays* outputs) const {
    for (size_t o = 0; o < whole_->outputs().size() && !call_.outputs.empty(); ++o) {
      const auto found = call_.outputs.find(static_cast<int>(o));
      const ManifestLayout* layout = found == call_.outputs.end() ? nullptr : &found->second;
      JF_RETURN_IF_ERROR(outputs->Add(whole_->type(whole_->outputs()[o]), symbols, layout,
                                      absl::StrCat("output ", o)));
      if (layout == nullptr || layout->alias.empty()) continue;
      const size_t first = *InputNamed(*whole_, layout->alias[0]);
      for (const std::string& name : layout->alias)
        inputs->SetAddress(*InputNamed(*whole_, name), inputs->address(first));
      outputs->SetAddress(o, inputs->address(first));
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<const Graph> whole_;
  const ManifestCall& call_;
  const absl::Span<const std::string> bound_;
  const Dynamic dynamic_;
  std::vector<bool> is_bound_;
  GraphShapeFacts facts_;
};

// The next combination of sizes; false after the last.
bool Next(const std::vector<Sizes>& sizes, std::vector<size_t>* at) {
  for (size_t s = sizes.size(); s-- > 0;) {
    if (++(*at)[s] < sizes[s].size()) return true;
    (*at)[s] = 0;
  }
  return false;
}

// Of the symbols that the call gives sizes for.
std::map<std::string, int64_t> SizesByName(const Graph& graph, const ManifestCall& call,
                                           const Sizes& symbols) {
  std::map<std::string, int64_t> out;
  for (size_t s = 0; s < symbols.size(); ++s) {
    const std::string& name = graph.symbols().names[s];
    if (call.sizes.contains(name)) out[name] = symbols[s];
  }
  return out;
}

std::string SizesText(const Graph& graph, const Sizes& symbols) {
  std::vector<std::string> out;
  for (size_t s = 0; s < symbols.size(); ++s)
    out.push_back(absl::StrCat(graph.symbols().names[s], "=", symbols[s]));
  return absl::StrJoin(out, ", ");
}

// Of an array whose layout a class of calls has: nothing where it is what it is without one.
std::optional<ManifestLayout> LayoutOf(const Layout& layout, absl::Span<const Dim> dims,
                                       absl::Span<const int64_t> own_symbols,
                                       absl::Span<const int64_t> symbols) {
  ManifestLayout out;
  out.align = layout.align;
  out.strides = EvalDims(layout.strides, symbols);
  if (out.strides == ContiguousStrides(EvalDims(dims, own_symbols))) out.strides.clear();
  if (out == ManifestLayout()) return std::nullopt;
  return out;
}

}  // namespace

absl::StatusOr<std::vector<ClassOfCalls>> ClassesOf(const std::shared_ptr<const Graph>& graph,
                                                    const ManifestCall& call,
                                                    absl::Span<const std::string> bound,
                                                    Dynamic dynamic) {
  absl::StatusOr<std::vector<Sizes>> sizes = SizesOf(*graph, call);
  if (!sizes.ok()) return Annotate(sizes.status(), call.where);
  CallMaker maker(graph, call, bound, dynamic);
  if (absl::Status status = maker.Init(); !status.ok()) return Annotate(status, call.where);
  std::vector<ClassOfCalls> out;
  absl::flat_hash_set<std::string> seen;
  std::vector<size_t> at(sizes->size(), 0);
  do {
    Sizes symbols;
    for (size_t s = 0; s < at.size(); ++s) symbols.push_back((*sizes)[s][at[s]]);
    absl::StatusOr<ClassOfCalls> made = maker.Make(symbols);
    if (!made.ok()) {
      const std::string text = SizesText(*graph, symbols);
      return Annotate(made.status(), absl::StrCat(call.where, text.empty() ? "" : ": with ", text));
    }
    // The sizes of bound arrays are numbers of the graph.
    std::string key = made->cls.key;
    if (!bound.empty()) absl::StrAppend(&key, "|", made->graph->Fingerprint().ToHex());
    if (!seen.insert(std::move(key)).second) continue;
    made->sizes = SizesByName(*graph, call, symbols);
    out.push_back(*std::move(made));
  } while (Next(*sizes, &at));
  return out;
}

ManifestCall DescribeCall(const Graph& graph, const CallClass& cls) {
  ManifestCall out;
  const std::vector<bool> used = UsedSymbols(graph);
  Sizes own;  // of the graph's symbols
  for (size_t s = 0; s < used.size(); ++s) {
    own.push_back(cls.replace[s].Eval(cls.symbols));
    if (used[s]) out.sizes[graph.symbols().names[s]] = {own[s]};
  }
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (!IsTensor(graph, i)) continue;
    auto layout = LayoutOf(cls.inputs[i], InputType(graph, i).dims, own, cls.symbols);
    if (layout) out.inputs[graph.input_name(static_cast<int>(i))] = *std::move(layout);
  }
  for (size_t o = 0; o < cls.outputs.size(); ++o) {
    auto layout = LayoutOf(cls.outputs[o], graph.type(graph.outputs()[o]).dims, own, cls.symbols);
    if (!layout && cls.output_aliases[o].empty()) continue;
    ManifestLayout& described = out.outputs[static_cast<int>(o)];
    if (layout) described = *std::move(layout);
    for (int i : cls.output_aliases[o]) described.alias.push_back(graph.input_name(i));
  }
  return out;
}

std::vector<std::string> BoundNames(const Graph& graph, const CallClass& cls) {
  std::vector<std::string> out;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (cls.IsBound(static_cast<int>(i))) out.push_back(graph.input_name(static_cast<int>(i)));
  }
  return out;
}

}  // namespace jitfuse::internal
