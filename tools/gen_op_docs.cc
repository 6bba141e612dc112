// Writes docs/ops.md from the op table: what each op means, takes and guarantees; the scalar
// primitives' error bounds.
//
//   gen_op_docs > docs/ops.md
// ./dev golden --update does it; a test fails while the file is stale.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "ir/autodiff_rules.h"
#include "ir/op_def.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr const char* kHead = R"(# The ops

Generated from `ir/ops.inc` by `tools/gen_op_docs.cc` (`./dev golden --update`); do not edit. In C++ the op `layer_norm` is
`jitfuse::LayerNorm` (api/ops.h); operands come first, then attributes. Operands marked `?` and attributes with a default may be
left out; `xs...` stands for one or more (1024 at most), a `std::vector<Tensor>` in C++. Pointwise ops broadcast as NumPy does and, in C++, promote their operands' dtypes.

* **dtypes**: of the first operand (of `where`: of the values). f16 and bf16 are computed in f32.
* **ulp**: the largest error in units in the last place of an f32 / f64 result, given exact operands, one kernel per op. A `-` marks
  ops whose bound depends on their extents or parts, or whose terms may cancel: the reference evaluator computes it for each call (docs/numerics.md).
* **gradient** (docs/gradients.md): `formula`, the row's own text; `rule`, a closed form in graph ops; `expansion`, that of the ops it stands for;
  `zero`, flat almost everywhere or of integers; `none`, an error.
* Examples are lines of graph text (docs/text.md) with `%x %y: f32[4,8]`, `%i %j: i32[4,8]`, `%p %q: bool[4,8]`, `%m: f32[16,8]`,
  `%w %b: f32[8]`, `%c: f32[16]`, `%z: f32[4,1]`, `%t: f32[2,4,8]`, `%k: i64[4]`, `%u: u64[]`.
)";

constexpr const char* kScalarHead = R"(
## Scalar primitives

What bodies are made of (`ir/scalar_ops.inc`), with the largest error of each in ulp of an f32 / f64 result on any back end: 0 is exact, 0.5
correctly rounded. f16 and bf16 results are computed in f32 and rounded once more: within 0.501 ulp, erfc and gelu of them within 0.54. The
bounds are swept. Each run of the tests puts through compiled CPU kernels, for each rounded op, every f16 and bf16 value, 2^18 f32 values (one of
each 2^14 neighbours, where there is one operand) and 2^15 points in the ranges where the functions change; through the evaluator 2^19 f32 points
of each decomposition; through GPU kernels every f16 and bf16 value and 2^19 f32 points. Once, not in each run, compiled CPU kernels got 2^24 f32
values an op, one of each 256 neighbours (`JITFUSE_ULP_STEP=256 jf_tests_cpu --gtest_filter=CpuUlp.FloatsByStep`).

| primitive | operands | f32 | f64 | meaning |
|---|---|---|---|---|
)";

struct Section {
  OpKind kind;
  const char* title;
};
constexpr Section kSections[] = {
    {OpKind::kPointwise, "Pointwise"},  {OpKind::kView, "Views"},
    {OpKind::kJoin, "Joins"},           {OpKind::kGather, "Gathers"},
    {OpKind::kIota, "Index"},           {OpKind::kReduce, "Reductions"},
    {OpKind::kScan, "Scans"},           {OpKind::kSort, "Sorts"},
    {OpKind::kSegment, "Segment sums"}, {OpKind::kMatMul, "Matrix products"},
    {OpKind::kComposite, "Composites"},
};

// "f16 bf16 f32 f64", or the name of a common set.
std::string DomainText(DTypeSet domain) {
  struct Named {
    DTypeSet set;
    const char* name;
  };
  static constexpr Named kNamed[] = {{kAnyDType, "any"},
                                     {kNumeric, "numbers"},
                                     {kFloats, "floats"},
                                     {kInts, "integers"},
                                     {kBools, "bool"},
                                     {kInts | kBools, "integers, bool"},
                                     {kSigned, "signed integers"},
                                     {kComputeFloats, "f32 f64"},
                                     {kComputeNumeric, "integers, f32 f64"},
                                     {kComputeAny, "bool, integers, f32 f64"}};
  for (const Named& n : kNamed) {
    if (n.set == domain) return n.name;
  }
  std::vector<std::string> names;
  for (int i = 0; i < kNumDTypes; ++i) {
    auto d = static_cast<DType>(i);
    if (IsIn(d, domain)) names.emplace_back(DTypeName(d));
  }
  return absl::StrJoin(names, " ");
}

struct ValueText {
  std::string operator()(bool b) const { return b ? "true" : "false"; }
  std::string operator()(int64_t i) const { return absl::StrCat(i); }
  std::string operator()(double d) const { return absl::StrCat(d); }
  std::string operator()(DType d) const { return std::string(DTypeName(d)); }
  std::string operator()(const std::vector<int64_t>& v) const {
    return absl::StrCat("[", absl::StrJoin(v, ","), "]");
  }
  std::string operator()(const std::vector<Dim>& v) const { return ShapeToString(v); }
};

// "layer_norm(x, weight?, bias?) {axes=[], eps=1e-05}".
std::string Signature(const OpDef& def) {
  std::vector<std::string> attrs;
  for (const AttrDef& a : def.attrs) {
    attrs.push_back(a.fallback
                        ? absl::StrCat(ToAbsl(a.name), "=", std::visit(ValueText{}, *a.fallback))
                        : std::string(a.name));
  }
  std::vector<std::string> args(def.args.begin(), def.args.end());
  return absl::StrCat(ToAbsl(def.name), "(", absl::StrJoin(args, ", "), ")",
                      attrs.empty() ? "" : absl::StrCat(" {", absl::StrJoin(attrs, ", "), "}"));
}

std::string UlpText(const OpDef& def) {
  if (def.kind == OpKind::kView || def.kind == OpKind::kJoin || def.kind == OpKind::kGather)
    return "0 / 0";
  if (def.kind != OpKind::kPointwise && def.kind != OpKind::kIota) return "-";
  if (std::isinf(def.max_ulp_f32)) return "-";
  return absl::StrCat(def.max_ulp_f32, " / ", def.max_ulp_f64);
}

std::string_view GradientText(const OpDef& def) {
  switch (HowDifferentiated(def)) {
    case GradHow::kZero:
      return "zero";
    case GradHow::kRule:
      return "rule";
    case GradHow::kText:
    case GradHow::kBody:
      return "formula";
    case GradHow::kExpansion:
      return "expansion";
    case GradHow::kNone:
      break;
  }
  return "none";
}

std::string Entry(const OpDef& def) {
  std::string out = absl::StrCat("\n### `", Signature(def), "`\n\n", ToAbsl(def.doc),
                                 "\n\n* dtypes: ", DomainText(def.domain), "; ulp: ", UlpText(def),
                                 "; gradient: ", ToAbsl(GradientText(def)), "\n");
  for (const AttrDef& a : def.attrs) {
    absl::StrAppend(&out, "* `", ToAbsl(a.name), "`: ", ToAbsl(a.doc), "\n");
  }
  if (!def.example.empty()) absl::StrAppend(&out, "* `", ToAbsl(def.example), "`\n");
  return out;
}

std::string ScalarRow(const ScalarOpDef& def) {
  auto ulp = [&](DType dtype, double max) {
    return IsIn(dtype, def.domain) ? absl::StrCat(max) : std::string("-");
  };
  const std::string doc = absl::StrReplaceAll(ToAbsl(def.doc), {{"|", "\\|"}});
  return absl::StrCat("| `", ToAbsl(def.name), "` | ", DomainText(def.domain), " | ",
                      ulp(DType::kF32, def.max_ulp_f32), " | ", ulp(DType::kF64, def.max_ulp_f64),
                      " | ", doc, " |\n");
}

std::string ScalarTable() {
  std::string out = kScalarHead;
  for (int i = static_cast<int>(ScalarOp::kConst) + 1; i < static_cast<int>(ScalarOp::kCount);
       ++i) {
    const ScalarOpDef& def = GetScalarOp(static_cast<ScalarOp>(i));
    if (def.doc.substr(0, 8) != "Internal") out += ScalarRow(def);
  }
  return out;
}

}  // namespace
}  // namespace jitfuse::internal

int main() {
  using namespace jitfuse::internal;
  std::string out = kHead;
  for (const Section& section : kSections) {
    absl::StrAppend(&out, "\n## ", section.title, "\n");
    for (const OpDef* def : AllOps()) {
      if (def->kind == section.kind) out += Entry(*def);
    }
  }
  out += ScalarTable();
  std::fwrite(out.data(), 1, out.size(), stdout);
  return 0;
}
