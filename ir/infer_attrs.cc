// NormalizeAttrs: what is given, defaults, axes counted from the front, open sizes
// (ir/infer.h).
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_join.h"
#include "ir/infer.h"
#include "ir/infer_support.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

std::string_view KindName(AttrKind kind) {
  static constexpr std::string_view kNames[] = {"a bool",  "an integer",         "a number",
                                                "a dtype", "a list of integers", "a list of sizes"};
  return kNames[static_cast<size_t>(kind)];
}

// What a norm needs to know and report.
struct NormContext {
  const OpDef& def;
  absl::Span<const TensorType> in;
  absl::Span<const std::string> names;
  Attrs* attrs;

  std::string Where() const { return absl::StrCat(CallToString(def, in, names), ": "); }
  int64_t Rank() const {
    if (!in.empty()) return static_cast<int64_t>(in[0].dims.size());
    for (const Attr& a : *attrs) {
      if (const auto* dims = std::get_if<std::vector<Dim>>(&a.value))
        return static_cast<int64_t>(dims->size());
    }
    return 0;
  }
};

// `front` is "axis is " or "axes has ".
absl::Status NormalizeAxis(const NormContext& c, const std::string& front, int64_t rank,
                           int64_t* axis) {
  if (*axis < -rank || *axis >= rank) {
    std::string expected = rank == 0 ? "no axis, since the rank is 0"
                                     : absl::StrCat("an axis from ", -rank, " to ", rank - 1);
    return InvalidArgument(c.Where(), front, *axis, ", expected ", expected);
  }
  if (*axis < 0) *axis += rank;
  return absl::OkStatus();
}

absl::Status NormalizeAxes(const NormContext& c, std::string_view attr, int64_t rank,
                           std::vector<int64_t>* axes) {
  std::string given = IntsToString(*axes);
  if (axes->size() > kMaxRank) {
    return InvalidArgument(c.Where(), ToAbsl(attr), " has ", axes->size(),
                           " entries, expected at most ", rank);
  }
  std::string front = absl::StrCat(ToAbsl(attr), " has ");
  for (int64_t& axis : *axes) JF_RETURN_IF_ERROR(NormalizeAxis(c, front, rank, &axis));
  std::sort(axes->begin(), axes->end());
  if (std::adjacent_find(axes->begin(), axes->end()) != axes->end()) {
    return InvalidArgument(c.Where(), ToAbsl(attr), "=", given,
                           " names an axis twice, expected each at most once");
  }
  return absl::OkStatus();
}

std::vector<int64_t> AllAxes(int64_t rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) axes[static_cast<size_t>(i)] = i;
  return axes;
}

absl::Status NormalizePerm(const NormContext& c, std::string_view attr,
                           std::vector<int64_t>* perm) {
  int64_t rank = c.Rank();
  if (perm->empty()) {
    *perm = AllAxes(rank);
    std::reverse(perm->begin(), perm->end());
    return absl::OkStatus();
  }
  if (static_cast<int64_t>(perm->size()) != rank) {
    return InvalidArgument(c.Where(), ToAbsl(attr), "=", IntsToString(*perm), " has ", perm->size(),
                           " entries, expected ", rank, ", one for each axis");
  }
  std::vector<int64_t> sorted = *perm;
  JF_RETURN_IF_ERROR(NormalizeAxes(c, attr, rank, &sorted));
  for (int64_t& axis : *perm) axis += axis < 0 ? rank : 0;
  return absl::OkStatus();
}

absl::Status NormalizeReshape(const NormContext& c, std::string_view attr, std::vector<Dim>* dims) {
  auto open = std::find_if(dims->begin(), dims->end(), [](const Dim& d) { return d.Is(-1); });
  if (open == dims->end() || c.in.empty()) return absl::OkStatus();
  std::string given = absl::StrCat(ToAbsl(attr), "=", ShapeToString(*dims, c.names));
  std::vector<int64_t> constants;
  for (const Dim& d : *dims) {
    if (d.IsConstant() && d.constant() >= 0) constants.push_back(d.constant());
  }
  if (!CheckedNumElements(constants))
    return InvalidArgument(c.Where(), given, " has more elements than fit in 64 bits");
  Dim others(1);
  for (auto it = dims->begin(); it != dims->end(); ++it) {
    if (it == open) continue;
    if (it->Is(-1))
      return InvalidArgument(c.Where(), given, " has -1 twice, expected at most one open size");
    others = others * *it;
  }
  Dim total = NumElements(c.in[0].dims);
  std::optional<Dim> rest = others.Is(0) ? std::nullopt : total.DivExact(others);
  if (!rest) {
    return InvalidArgument(c.Where(), "no size in place of -1 in ", given, " keeps the ",
                           total.ToString(c.names), " elements");
  }
  *open = *rest;
  return absl::OkStatus();
}

absl::Status Normalize(const NormContext& c, const AttrDef& def, AttrValue* value) {
  auto* ints = std::get_if<std::vector<int64_t>>(value);
  switch (def.norm) {
    case AttrNorm::kNone:
      return absl::OkStatus();
    case AttrNorm::kAxis:
      // Rank 0 counts as one element along its only axis, as in PyTorch.
      if (c.def.infer == InferAlongAxis && c.Rank() == 0)
        return NormalizeAxis(c, absl::StrCat(ToAbsl(def.name), " is "), 1,
                             std::get_if<int64_t>(value));
      return NormalizeAxis(c, absl::StrCat(ToAbsl(def.name), " is "), c.Rank(),
                           std::get_if<int64_t>(value));
    case AttrNorm::kAxes:
      if (ints->empty()) *ints = AllAxes(c.Rank());
      return NormalizeAxes(c, def.name, c.Rank(), ints);
    case AttrNorm::kSomeAxes:
      return NormalizeAxes(c, def.name, c.Rank(), ints);
    case AttrNorm::kNewAxes: {
      int64_t rank = c.Rank() + static_cast<int64_t>(ints->size());
      if (rank > kMaxRank)
        return InvalidArgument(c.Where(), "the result has rank ", rank, ", expected at most ",
                               kMaxRank);
      return NormalizeAxes(c, def.name, rank, ints);
    }
    case AttrNorm::kPerm:
      return NormalizePerm(c, def.name, ints);
    case AttrNorm::kReshape:
      return NormalizeReshape(c, def.name, std::get_if<std::vector<Dim>>(value));
  }
  return absl::OkStatus();
}

// Whether the op computes in the integers that its operand is made of.
bool IsOfIntegers(const NormContext& c) {
  return c.def.kind == OpKind::kPointwise && !c.in.empty() && IsInt(c.in[0].dtype) &&
         IsIn(c.in[0].dtype, c.def.domain);
}

// An integer where a number is wanted is meant as a number, and integers where sizes are wanted as
// sizes. An integer that f64 would round stays one where the op computes in integers; elsewhere it
// is an error, as only its author can tell whether that matters.
absl::Status Widen(const NormContext& c, const AttrDef& row, AttrValue* value) {
  if (row.kind == AttrKind::kFloat && std::holds_alternative<int64_t>(*value)) {
    const int64_t whole = std::get<int64_t>(*value);
    const auto number = static_cast<double>(whole);
    if (number < 0x1p63 && static_cast<int64_t>(number) == whole) {
      *value = number;
    } else if (!IsOfIntegers(c)) {
      return InvalidArgument(c.Where(), ToAbsl(row.name), " is ", whole,
                             ", expected a number that f64 holds exactly; a constant operand "
                             "holds all digits of an integer");
    }
  } else if (row.kind == AttrKind::kDims && std::holds_alternative<std::vector<int64_t>>(*value)) {
    std::vector<int64_t> ints = std::get<std::vector<int64_t>>(*value);
    *value = std::vector<Dim>(ints.begin(), ints.end());
  }
  return absl::OkStatus();
}

// A pointwise op on integers computes in integers: a fraction would be cut off in silence.
absl::Status CheckWhole(const NormContext& c, const AttrDef& row, double number) {
  if (!IsOfIntegers(c) || std::isinf(number) || number == std::floor(number))
    return absl::OkStatus();
  return InvalidArgument(c.Where(), ToAbsl(row.name), " is ", number, ", expected a whole number, ",
                         "since ", ToAbsl(DTypeName(c.in[0].dtype)), " holds integers");
}

absl::Status CheckKnown(const NormContext& c, const Attrs& given) {
  for (size_t i = 0; i < given.size(); ++i) {
    std::string_view name = given[i].name;
    auto same = [&](const Attr& a) { return a.name == name; };
    if (c.def.FindAttr(name) == nullptr) {
      auto append = [](std::string* out, const AttrDef& a) {
        absl::StrAppend(out, ToAbsl(a.name));
      };
      std::string known = c.def.attrs.empty() ? "none" : absl::StrJoin(c.def.attrs, ", ", append);
      return InvalidArgument(c.Where(), "unknown attribute ", ToAbsl(name), ", expected ", known);
    }
    if (std::any_of(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(i), same)) {
      return InvalidArgument(c.Where(), "attribute ", ToAbsl(name), " is given twice");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Attrs> NormalizeAttrs(const OpDef& def, absl::Span<const TensorType> in,
                                     const Attrs& given,
                                     absl::Span<const std::string> symbol_names) {
  Attrs out;
  NormContext c{def, in, symbol_names, &out};
  JF_RETURN_IF_ERROR(CheckKnown(c, given));
  for (const AttrDef& row : def.attrs) {
    auto it =
        std::find_if(given.begin(), given.end(), [&](const Attr& a) { return a.name == row.name; });
    if (it == given.end() && !row.fallback) {
      return InvalidArgument(c.Where(), "attribute ", ToAbsl(row.name), " is missing, expected ",
                             ToAbsl(KindName(row.kind)), " (", ToAbsl(row.doc), ")");
    }
    AttrValue value = it == given.end() ? *row.fallback : it->value;
    JF_RETURN_IF_ERROR(Widen(c, row, &value));
    const bool whole = row.kind == AttrKind::kFloat && std::holds_alternative<int64_t>(value);
    if (value.index() != static_cast<size_t>(row.kind) && !whole) {
      return InvalidArgument(c.Where(), "attribute ", ToAbsl(row.name), " is ",
                             ToAbsl(KindName(static_cast<AttrKind>(value.index()))), ", expected ",
                             ToAbsl(KindName(row.kind)));
    }
    const double* number = std::get_if<double>(&value);
    if (number != nullptr && std::isnan(*number))
      return InvalidArgument(c.Where(), ToAbsl(row.name), " is NaN, expected a number");
    if (number != nullptr) JF_RETURN_IF_ERROR(CheckWhole(c, row, *number));
    JF_RETURN_IF_ERROR(Normalize(c, row, &value));
    out.push_back({row.name, std::move(value)});
  }
  return out;
}

}  // namespace jitfuse::internal
