#include "tests/support/op_sweep.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/op_enum.h"
#include "ir/rng.h"
#include "ir/text.h"
#include "tests/graph_fuzz/case_examples.h"

namespace jitfuse_test {
namespace {

using namespace jitfuse::internal;
using Sizes = std::map<std::string, std::int64_t>;
using Change = std::function<void(Attrs*)>;

constexpr std::size_t kOutputs = 6;  // of one graph

// Sizes that every graph is called with, and those that only some ops can take.
const Sizes kUsual[] = {{{"n", 5}, {"m", 37}}, {{"n", 9}, {"m", 130}}};
const Sizes kSome[] = {{{"n", 1}, {"m", 1}}, {{"n", 0}, {"m", 4}}, {{"n", 4}, {"m", 0}}};

// One way to call an op.
struct Variant {
  bool broadcast = false;  // operands 1 and 2 have one row, one column
  bool rank_0 = false;
  std::size_t operands = 0;  // how many are given
  Change change = [](Attrs*) {};
};

bool IsPosition(std::string_view arg) { return arg == "indices" || arg == "target"; }

// The operand whose dtype the row's domain speaks of.
std::size_t MainOperand(const OpDef& def) {
  for (std::size_t k = 0; k < def.args.size(); ++k) {
    const std::string_view name = ArgName(def, k);
    if (name != "cond" && name != "indices") return k;
  }
  return 0;
}

template <typename T>
T* Find(Attrs* attrs, std::string_view name) {
  for (Attr& a : *attrs) {
    if (a.name == name) return std::get_if<T>(&a.value);
  }
  return nullptr;
}

// A size that positions of an example count, as they are drawn from 0..12 or -6..6.
std::int64_t CountedExtent(const OpDef& def, const Example& example) {
  std::int64_t axis = 0;
  for (const Attr& a : example.attrs) {
    if (a.name == "axis") axis = std::get<std::int64_t>(a.value);
  }
  for (std::size_t k = 0; k < example.in.size(); ++k) {
    const std::string_view name = ArgName(def, k);
    if (name == "x" || name == "weight")
      return example.in[k].dims[static_cast<std::size_t>(axis)].constant();
  }
  return 0;
}

// One graph under construction: ops of one dtype that can be called with the same sizes.
class Batch {
 public:
  Batch(std::string name, std::vector<Sizes> sizes, bool gemm_library)
      : name_(std::move(name)), sizes_(std::move(sizes)), gemm_library_(gemm_library) {}

  const std::vector<Sizes>& sizes() const { return sizes_; }
  bool gemm_library() const { return gemm_library_; }
  Graph* graph() { return &graph_; }
  std::int64_t NextStream() { return next_stream_++; }

  absl::StatusOr<Value> Input(std::size_t slot, std::string_view purpose, const TensorType& type) {
    const std::string name = absl::StrCat(
        std::string(1, static_cast<char>('a' + slot)), "_", ToAbsl(DTypeName(type.dtype)),
        type.dims.empty() ? "_0" : "", ToAbsl(purpose), ShapeName(type.dims));
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
      if (graph_.input_name(static_cast<int>(i)) == name) return Value{graph_.inputs()[i], 0};
    }
    return graph_.AddInput(name, type);
  }
  absl::StatusOr<Value> RngScalar(std::string_view name) {
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
      if (graph_.input_name(static_cast<int>(i)) == name) return Value{graph_.inputs()[i], 0};
    }
    return graph_.AddScalar(name, DType::kU64);
  }

  // All results of the op become outputs.
  bool Keep(const absl::StatusOr<Value>& v) {
    if (!v.ok()) return false;
    const auto results = static_cast<std::int32_t>(graph_.node(*v).types.size());
    for (std::int32_t r = 0; r < results; ++r) {
      if (!graph_.AddOutput({v->node, r}).ok()) return false;
    }
    return true;
  }
  bool Binds(const Sizes& sizes) const {
    std::vector<std::int64_t> values;
    for (const std::string& symbol : graph_.symbols().names) values.push_back(sizes.at(symbol));
    std::vector<std::vector<std::int64_t>> dims;
    for (NodeId id : graph_.inputs())
      dims.push_back(EvalDims(graph_.node(id).types[0].dims, values));
    return graph_.BindSymbols(dims).ok();
  }
  bool full() const { return graph_.outputs().size() >= kOutputs; }
  void Flush(std::vector<SweepCase>* out) {
    if (graph_.outputs().empty()) return;
    SweepCase c{absl::StrCat(name_, "_", number_++), GraphToString(graph_), sizes_, false};
    c.both_values = true;
    c.gemm_library = gemm_library_;
    out->push_back(std::move(c));
    graph_ = Graph();
    next_stream_ = 0;
  }

 private:
  static std::string ShapeName(const Shape& dims) {
    std::string out;
    for (const Dim& d : dims) {
      if (d.IsConstant()) {
        absl::StrAppend(&out, "_", d.constant());
      } else {
        absl::StrAppend(&out, "_", d.AsSymbol().value_or(0) == 0 ? "n" : "m");
      }
    }
    return out;
  }

  std::string name_;
  std::vector<Sizes> sizes_;
  bool gemm_library_;
  Graph graph_;
  int number_ = 0;
  std::int64_t next_stream_ = 0;
};

// One row in one dtype.
class Row {
 public:
  Row(const OpDef& def, const Example& example, DType dtype, std::optional<DType> result)
      : def_(def), example_(example), dtype_(dtype), result_(result) {}

  // The op put into `batch`, its extents as symbols as far as that goes.
  bool AddTo(Batch* batch, const Variant& variant) const {
    const std::int64_t counted = HasPositions() ? CountedExtent(def_, example_) : 0;
    for (const auto& [n, m] : std::vector<std::pair<bool, bool>>{
             {true, true}, {true, false}, {false, true}, {false, false}}) {
      for (const bool whole_numbers : {false, true}) {
        Batch trial = *batch;
        std::vector<std::pair<std::int64_t, Dim>> map;
        if (counted > 0 && counted < 13) map.push_back({counted, Dim(13)});
        // Symbol 0 is n, symbol 1 is m.
        const SizeExpr sn = trial.graph()->SymbolNamed("n"), sm = trial.graph()->SymbolNamed("m");
        if (n && counted != 4) map.push_back({4, sn});
        if (m && counted != 8) map.push_back({8, sm});
        if (!TryAdd(&trial, variant, map, whole_numbers)) continue;
        *batch = std::move(trial);
        return true;
      }
    }
    return false;
  }

 private:
  using Map = std::vector<std::pair<std::int64_t, Dim>>;

  bool HasPositions() const {
    return std::any_of(example_.in.begin(), example_.in.end(), [&](const TensorType& type) {
      return IsPosition(ArgName(def_, static_cast<std::size_t>(&type - example_.in.data()))) &&
             IsInt(type.dtype);
    });
  }

  static Dim Mapped(const Dim& d, const Map& map) {
    for (const auto& [from, to] : map) {
      if (d.Is(from)) return to;
    }
    return d;
  }

  bool TryAdd(Batch* batch, const Variant& variant, const Map& map, bool whole_numbers) const {
    const std::size_t guards = batch->graph()->guards().size();
    std::vector<Value> in;
    for (std::size_t k = 0; k < variant.operands; ++k) {
      const absl::StatusOr<Value> v = Operand(batch, variant, map, k);
      if (!v.ok()) return false;
      in.push_back(*v);
    }
    Attrs attrs = example_.attrs;
    variant.change(&attrs);
    for (Attr& a : attrs) {
      if (auto* dims = std::get_if<std::vector<Dim>>(&a.value)) {
        for (Dim& d : *dims) d = Mapped(d, map);
      }
      if (auto* number = std::get_if<double>(&a.value); number != nullptr && whole_numbers)
        *number = std::ceil(std::fabs(*number));
      if (a.name == "dtype" && result_.has_value()) a.value = *result_;
      if (a.name == "stream") a.value = batch->NextStream();
    }
    if (!batch->Keep(batch->graph()->Add(def_.op, in, attrs))) return false;
    return batch->graph()->guards().size() == guards &&
           std::all_of(batch->sizes().begin(), batch->sizes().end(),
                       [&](const Sizes& sizes) { return batch->Binds(sizes); });
  }

  absl::StatusOr<Value> Operand(Batch* batch, const Variant& variant, const Map& map,
                                std::size_t k) const {
    const std::string_view name = ArgName(def_, k);
    const bool pointwise = def_.kind == OpKind::kPointwise;
    if (!pointwise && (name == "seed" || name == "offset"))
      return batch->RngScalar(name == "seed" ? kRngSeedName : kRngOffsetName);
    if (name == "p_scalar") return batch->Input(k, "", {DType::kF32, {}});
    const TensorType& like = example_.in[std::min(k, example_.in.size() - 1)];
    const std::size_t main = std::min(MainOperand(def_), example_.in.size() - 1);
    TensorType type{like.dtype == example_.in[main].dtype ? dtype_ : like.dtype, {}};
    if (pointwise && !variant.rank_0) {
      const Dim n = Mapped(Dim(4), map), m = Mapped(Dim(8), map);
      type.dims = {n, m};
      if (variant.broadcast && k == 1) type.dims = {m};
      if (variant.broadcast && k == 2) type.dims = {n, Dim(1)};
    } else if (!pointwise) {
      for (const Dim& d : like.dims) type.dims.push_back(Mapped(d, map));
    }
    return batch->Input(k, IsPosition(name) && IsInt(type.dtype) ? "_at" : "", type);
  }

  const OpDef& def_;
  const Example& example_;
  DType dtype_;
  std::optional<DType> result_;  // attribute dtype
};

// The example as it is, and what is near it.
std::vector<Variant> VariantsOf(const OpDef& def, const Example& example) {
  const std::size_t given = example.in.size();
  std::vector<Variant> out = {{false, false, given}};
  auto change = [&](Change c) { out.push_back({false, false, given, std::move(c)}); };
  if (!def.is_variadic()) {
    for (int k : {def.min_arity(), def.max_arity()}) {
      if (static_cast<std::size_t>(k) != given)
        out.push_back({false, false, static_cast<std::size_t>(k)});
    }
  }
  if (def.kind == OpKind::kPointwise) {
    if (given > 1) out.push_back({true, false, given});
    return out;
  }
  for (const Attr& attr : example.attrs) {
    const std::string name(attr.name);
    if (std::holds_alternative<bool>(attr.value)) {
      change([name](Attrs* a) { *Find<bool>(a, name) ^= true; });
    } else if (name == "axes" && (def.kind == OpKind::kReduce || def.FindAttr("keepdims"))) {
      for (const std::vector<std::int64_t>& axes :
           {std::vector<std::int64_t>{}, std::vector<std::int64_t>{0}})
        change([axes](Attrs* a) { *Find<std::vector<std::int64_t>>(a, "axes") = axes; });
    } else if (name == "axis" && std::get<std::int64_t>(attr.value) != 0) {
      change([](Attrs* a) { *Find<std::int64_t>(a, "axis") = 0; });
    } else if (name == "reduction") {
      for (std::int64_t r : {0, 2})
        change([r](Attrs* a) { *Find<std::int64_t>(a, "reduction") = r; });
    } else if (name == "k") {
      change([](Attrs* a) { *Find<std::int64_t>(a, "k") = -2; });
    }
  }
  return out;
}

// The dtypes that a row's attribute `dtype` is given: all that inference takes.
std::vector<std::optional<DType>> ResultsOf(const OpDef& def, const Example& example, DType dtype) {
  if (def.FindAttr("dtype") == nullptr) return {std::nullopt};
  if (def.args.empty()) return {dtype};  // the domain is that of the result
  std::vector<std::optional<DType>> out;
  for (int d = 0; d < kNumDTypes; ++d) {
    Batch trial("", {}, true);
    const Row row(def, example, dtype, static_cast<DType>(d));
    if (row.AddTo(&trial, {false, false, example.in.size()})) out.push_back(static_cast<DType>(d));
  }
  return out;
}

// Rows of one dtype, sorted into batches by what sizes they can take.
class TableMaker {
 public:
  TableMaker(DType dtype, std::vector<SweepCase>* out) : dtype_(dtype), out_(out) {}

  void AddRow(const OpDef& def) {
    const std::optional<Example> example = ExampleOf(def);
    if (!example.has_value()) return;
    for (const std::optional<DType>& result : ResultsOf(def, *example, dtype_)) {
      const Row row(def, *example, dtype_, result);
      for (const Variant& variant : VariantsOf(def, *example)) AddVariant(def, row, variant);
      if (def.kind == OpKind::kPointwise) AddVariant(def, row, {false, true, example->in.size()});
    }
  }
  void Finish() {
    for (Batch& batch : batches_) batch.Flush(out_);
  }

 private:
  void AddVariant(const OpDef& def, const Row& row, const Variant& variant) {
    std::vector<Sizes> sizes(std::begin(kUsual), std::end(kUsual));
    for (const Sizes& more : kSome) {
      Batch trial("", {kUsual[0], kUsual[1], more}, true);
      if (row.AddTo(&trial, variant)) sizes.push_back(more);
    }
    const bool product = def.op == Op::kMatMul || def.op == Op::kLinear;
    for (const bool gemm_library : {true, false}) {
      if (!gemm_library && !product) break;
      Batch& batch = BatchFor(sizes, gemm_library);
      if (!row.AddTo(&batch, variant)) return;
      if (batch.full()) batch.Flush(out_);
    }
  }
  Batch& BatchFor(const std::vector<Sizes>& sizes, bool gemm_library) {
    for (Batch& batch : batches_) {
      if (batch.sizes() == sizes && batch.gemm_library() == gemm_library) return batch;
    }
    return batches_.emplace_back(
        absl::StrCat("rows_", ToAbsl(DTypeName(dtype_)), "_", batches_.size()), sizes,
        gemm_library);
  }

  DType dtype_;
  std::vector<SweepCase>* out_;
  std::vector<Batch> batches_;
};

}  // namespace

std::vector<SweepCase> TableCases() {
  std::vector<SweepCase> out;
  for (int d = 0; d < kNumDTypes; ++d) {
    TableMaker maker(static_cast<DType>(d), &out);
    for (const OpDef* def : AllOps()) {
      if (IsIn(static_cast<DType>(d), def->domain) && def->kind != OpKind::kSegment)
        maker.AddRow(*def);
    }
    maker.Finish();
  }
  return out;
}

}  // namespace jitfuse_test
