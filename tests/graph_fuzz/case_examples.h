// Nodes drawn from a row's example: its shapes become shapes of this graph, its attributes are kept
// or moved a little. The way of every row that has no other.
//
// In: the values of CaseValues. Out: one more node, or false where the row refuses what was drawn.
#ifndef JITFUSE_TESTS_GRAPH_FUZZ_CASE_EXAMPLES_H_
#define JITFUSE_TESTS_GRAPH_FUZZ_CASE_EXAMPLES_H_

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/rng.h"
#include "ir/text.h"
#include "tests/graph_fuzz/case_values.h"

namespace jitfuse::internal {

// The example's node with the types of its operands, as the tests of the table read it.
struct Example {
  std::vector<TensorType> in;
  std::vector<std::string> names;  // of operands that are inputs
  Attrs attrs;
};

inline std::optional<Example> ExampleOf(const OpDef& def) {
  const std::string line(def.example);
  if (line.empty()) return std::nullopt;
  const std::string first = line.substr(0, line.find_first_of(" ,"));
  const std::string types = line.substr(line.rfind(" : ") + 3);
  absl::StatusOr<Graph> graph = ParseGraph(absl::StrCat(
      "graph f(%x: f32[4,8], %y: f32[4,8], %i: i32[4,8], %j: i32[4,8], %p: bool[4,8], %q: "
      "bool[4,8], %m: f32[16,8], %w: f32[8], %b: f32[8], %c: f32[16], %z: f32[4,1], %t: "
      "f32[2,4,8], %k: i64[4], %u: u64[]) -> (",
      types.substr(0,
                   types.find("], ") == std::string::npos ? types.size() : types.find("], ") + 1),
      ") {\n  ", line, "\n  return ", first, "\n}\n"));
  if (!graph.ok()) return std::nullopt;
  Example out;
  const Node& node = graph->node(graph->outputs()[0]);
  for (Value v : node.in) out.in.push_back(graph->type(v));
  out.attrs = node.attrs;
  return out;
}

inline std::string_view ArgName(const OpDef& def, size_t operand) {
  std::string_view name = def.args[std::min(operand, def.args.size() - 1)];
  while (!name.empty() && (name.back() == '?' || name.back() == '.')) name.remove_suffix(1);
  return name;
}

class CaseExamples : public CaseValues {
 protected:
  using CaseValues::CaseValues;
  using DimMap = std::vector<std::pair<int64_t, Dim>>;  // the example's sizes to this graph's

  // Positions 0 .. extent - 1 or those counted from the end, of that shape: in range by
  // construction, also where the extent is a symbol.
  absl::StatusOr<Value> Positions(Shape shape, const Dim& extent, DType dtype) {
    if (extent.IsConstant()) {
      if (extent.Is(0) || extent.constant() > 127) return absl::InvalidArgumentError("extent");
      const Value raw = rng_.OneIn(2) ? Exactly(dtype, shape) : NewInput(dtype, shape);
      const bool back = IsSigned(dtype) && rng_.OneIn(2);
      return Add(Op::kRemainder, {raw, graph_.AddConstantInt(
                                           dtype, back ? -extent.constant() : extent.constant())});
    }
    if (shape.empty()) return absl::InvalidArgumentError("no axis to count along");
    const auto axis = static_cast<size_t>(rng_.Below(static_cast<int64_t>(shape.size())));
    shape[axis] = extent;
    return Add(Op::kIota, {},
               {{"shape", std::vector<Dim>(shape.begin(), shape.end())},
                {"axis", static_cast<int64_t>(axis)},
                {"dtype", dtype == DType::kI8 || dtype == DType::kU8 ? DType::kI32 : dtype}});
  }

  // ---- Rows by their example.
  Value RngScalar(std::string_view name) {
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      if (graph_.input_name(static_cast<int>(i)) == name) return {graph_.inputs()[i], 0};
    }
    case_.inputs.push_back({{}, {}, 0, FuzzValues::kFullRange, rng_.Next() % 100000});
    return *graph_.AddScalar(name, DType::kU64);
  }

  bool ByExample(const OpDef& def) {
    const std::optional<Example> example = ExampleOf(def);
    if (!example.has_value()) return false;
    DimMap map = {{1, Dim(1)}};
    std::vector<Value> in;
    const size_t operands = OperandCount(def, *example);
    // Positions are drawn for the example's axis.
    const bool indexed = std::any_of(def.args.begin(), def.args.end(),
                                     [](std::string_view name) { return name == "indices"; });
    for (size_t i = 0; i < operands; ++i) {
      const std::optional<Value> v = i == 0 && !HasOwnWay(ArgName(def, 0))
                                         ? FirstLike(def, *example, indexed, &map)
                                         : Operand(def, *example, i, in, &map);
      if (!v.has_value()) return false;
      in.push_back(*v);
    }
    if (!indexed) {
      const absl::StatusOr<Value> v = Add(def.op, in, MoveAttrs(def, in, example->attrs, false));
      if (v.ok()) return Keep(v);
    }
    return Keep(Add(def.op, in, WithStream(example->attrs)));
  }

  size_t OperandCount(const OpDef& def, const Example& example) {
    size_t operands = example.in.size();
    if (def.is_variadic()) operands = static_cast<size_t>(1 + rng_.Below(4));
    if (static_cast<int>(operands) < def.max_arity() && !def.is_variadic() && rng_.OneIn(3))
      operands = static_cast<size_t>(def.max_arity());
    if (rng_.OneIn(3)) operands = std::max<size_t>(1, static_cast<size_t>(def.min_arity()));
    return def.args.empty() ? 0 : operands;
  }
  Dim Mapped(const Dim& d, DimMap* map) {
    for (const auto& [from, to] : *map) {
      if (d.Is(from)) return to;
    }
    map->push_back({d.constant(), Dim(1 + rng_.Below(6))});
    return map->back().second;
  }
  Shape Mapped(const Shape& dims, DimMap* map) {
    Shape shape;
    for (const Dim& d : dims) shape.push_back(Mapped(d, map));
    return shape;
  }
  static bool HasOwnWay(std::string_view arg) {
    return arg == "seed" || arg == "offset" || arg == "p_scalar" || arg == "indices" ||
           arg == "target";
  }

  // The operand whose dims give the others theirs.
  std::optional<Value> FirstLike(const OpDef& def, const Example& example, bool indexed,
                                 DimMap* map) {
    const TensorType& like = example.in[0];
    const Value x = First(def.domain);
    if ((!indexed || DimsOf(x).size() == like.dims.size()) && MapShape(like.dims, DimsOf(x), map))
      return x;
    Shape shape;
    for (const Dim& d : like.dims) shape.push_back(rng_.OneIn(2) ? rng_.Of(base_) : Mapped(d, map));
    *map = {{1, Dim(1)}};
    if (!MapShape(like.dims, shape, map)) return std::nullopt;
    return NewInput(TypeOf(x), shape);
  }

  std::optional<Value> Operand(const OpDef& def, const Example& example, size_t i,
                               const std::vector<Value>& in, DimMap* map) {
    const TensorType& like = example.in[std::min(i, example.in.size() - 1)];
    const std::string_view name = ArgName(def, i);
    const DType dtype = FirstDType(def, in);
    if (name == "seed" || name == "offset")
      return RngScalar(name == "seed" ? kRngSeedName : kRngOffsetName);
    if (name == "p_scalar") return NewInput(DType::kF32, {});
    if (name == "indices" || name == "target") {
      static const std::vector<DType> kIndex = {DType::kI64, DType::kI32};
      const Shape shape = Mapped(like.dims, map);
      if (IsFloat(like.dtype)) return Exactly(dtype, shape);
      const std::optional<Dim> extent = IndexedExtent(def, example, i, map);
      const absl::StatusOr<Value> at = Positions(shape, extent.value_or(Dim(4)), rng_.Of(kIndex));
      return at.ok() ? std::optional<Value>(*at) : std::nullopt;
    }
    if (def.is_variadic()) return Exactly(TypeOf(in[0]), DimsOf(in[0]));
    Shape shape = Mapped(like.dims, map);
    if (like.dims == example.in[0].dims) shape = DimsOf(in[0]);
    const bool same = like.dtype == example.in[0].dtype;
    return Exactly(same ? dtype : IsFloat(like.dtype) ? AnyOf(kFloats) : like.dtype, shape);
  }
  // That of the operand which gives the others theirs.
  DType FirstDType(const OpDef& def, const std::vector<Value>& in) const {
    return in.empty() || HasOwnWay(ArgName(def, 0)) ? DType::kF32 : TypeOf(in[0]);
  }
  // What positions of operand i count: an axis of the operand that holds the data.
  std::optional<Dim> IndexedExtent(const OpDef& def, const Example& example, size_t i,
                                   DimMap* map) {
    for (size_t k = 0; k < example.in.size(); ++k) {
      const std::string_view name = ArgName(def, k);
      if (k == i || (name != "x" && name != "weight")) continue;
      size_t axis = 0;
      for (const Attr& a : example.attrs) {
        if (a.name == "axis") axis = static_cast<size_t>(std::get<int64_t>(a.value));
      }
      if (axis < example.in[k].dims.size()) return Mapped(example.in[k].dims[axis], map);
    }
    return std::nullopt;
  }
  // Dims of the example's operand onto those of a value, from the last or from the first.
  bool MapShape(const Shape& from, const Shape& to, DimMap* map) {
    if (to.size() < from.size()) return false;
    const size_t skip = rng_.OneIn(2) ? to.size() - from.size() : 0;
    for (size_t d = 0; d < from.size(); ++d) {
      const Dim& target = to[d + skip];
      bool known = false;
      for (const auto& [value, dim] : *map) {
        if (!from[d].Is(value)) continue;
        if (!(dim == target)) return false;
        known = true;
      }
      if (!known) map->push_back({from[d].constant(), target});
    }
    return true;
  }

  Attrs WithStream(Attrs attrs) {
    for (Attr& a : attrs) {
      if (a.name == "stream") a.value = int64_t{next_stream_++};
    }
    return attrs;
  }
  // The given attributes, each kept or drawn anew. `all`: those of the schema that are required are
  // drawn too.
  Attrs MoveAttrs(const OpDef& def, const std::vector<Value>& in, Attrs attrs, bool all) {
    const size_t rank = in.empty() ? base_.size() : DimsOf(in[0]).size();
    Attrs out;
    for (const AttrDef& schema : def.attrs) {
      auto given = std::find_if(attrs.begin(), attrs.end(),
                                [&](const Attr& a) { return a.name == schema.name; });
      const bool present = given != attrs.end();
      if (schema.name == "stream") {
        out.push_back({schema.name, int64_t{next_stream_++}});
      } else if (rng_.OneIn(3) || (all && !schema.fallback && !present)) {
        if (std::optional<AttrValue> v = RandomAttr(schema, rank)) {
          out.push_back({schema.name, *v});
        } else if (present) {
          out.push_back(*given);
        }
      } else if (present) {
        out.push_back(*given);
      }
    }
    return out;
  }
  std::optional<AttrValue> RandomAttr(const AttrDef& schema, size_t rank) {
    const auto axes = static_cast<int64_t>(rank);
    switch (schema.kind) {
      case AttrKind::kBool:
        return rng_.OneIn(2);
      case AttrKind::kInt:
        if (schema.norm == AttrNorm::kAxis)
          return rank == 0 ? std::nullopt
                           : std::optional<AttrValue>(int64_t{rng_.Below(2 * axes) - axes});
        return int64_t{rng_.Below(6) - 1};
      case AttrKind::kFloat: {
        static const std::vector<double> kNumbers = {0, 0.1, 0.5, 1, 2, 3, 0.25};
        return rng_.Of(kNumbers);
      }
      case AttrKind::kDType:
        return rng_.OneIn(2) ? main_ : AnyDType();
      case AttrKind::kInts: {
        std::vector<int64_t> v;
        if (schema.norm == AttrNorm::kAxes || schema.norm == AttrNorm::kSomeAxes ||
            schema.norm == AttrNorm::kNewAxes) {
          for (int64_t a = 0; a < axes; ++a) {
            if (rng_.OneIn(2)) v.push_back(a);
          }
          return v;
        }
        const bool window =
            schema.name == "kernel" || schema.name == "stride" || schema.name == "padding";
        const int64_t n = window ? 1 : axes;
        for (int64_t i = 0; i < n; ++i)
          v.push_back(rng_.Below(schema.name == "padding" ? 2 : 3) +
                      (schema.name == "kernel" || schema.name == "stride" ? 1 : 0));
        return v;
      }
      case AttrKind::kDims: {
        const Shape shape = RandomShape();
        return std::vector<Dim>(shape.begin(), shape.end());
      }
    }
    return std::nullopt;
  }

  int64_t next_stream_ = 0;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_GRAPH_FUZZ_CASE_EXAMPLES_H_
