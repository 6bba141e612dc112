// Rules of matrix products. Declared in autodiff_rules.h.
#include <algorithm>
#include <utility>

#include "ir/autodiff_rules.h"
#include "ir/op_enum.h"

namespace jitfuse::internal {
namespace {

Value Product(GradRule& r, Value a, bool transpose_a, Value b, bool transpose_b) {
  return r.Apply(Op::kMatMul, {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

// A tensor of [rows, size of the last dim].
Value AsRows(GradRule& r, Value v) {
  if (!r.ok()) return {};
  const Shape dims = r.Type(v).dims;
  if (dims.size() == 2) return v;
  const auto span = absl::MakeConstSpan(dims);
  return r.Reshape(v, {NumElements(span.first(dims.size() - 1)), dims.back()});
}

// Whether b is one matrix for all of a batch that a spells out: then the batch is rows, and the
// gradient of b is one product instead of a sum of many.
bool IsSharedMatrix(const GradRule& r) {
  const Shape &a = r.Type(r.Operand(0)).dims, &b = r.Type(r.Operand(1)).dims,
              &y = r.node().types[0].dims;
  return b.size() == 2 && a.size() > 2 && a.size() == y.size() &&
         !r.node().Get<bool>("transpose_a") &&
         std::equal(a.begin(), a.end() - 2, y.begin(), y.end() - 2);
}

}  // namespace

void GradMatMul(GradRule& r) {
  const bool ta = r.node().Get<bool>("transpose_a"), tb = r.node().Get<bool>("transpose_b");
  Value a = r.Operand(0), b = r.Operand(1), g = r.RawG();
  if (r.Wants(0)) r.Give(0, ta ? Product(r, b, tb, g, true) : Product(r, g, false, b, !tb));
  if (!r.Wants(1)) return;
  if (IsSharedMatrix(r)) {
    a = AsRows(r, a);
    g = AsRows(r, g);
  }
  r.Give(1, tb ? Product(r, g, true, a, ta) : Product(r, a, !ta, g, false));
}

// As the expansion: plain products of rows.
void GradLinear(GradRule& r) {
  Value x = r.Operand(0), weight = r.Operand(1);
  const Shape dims = r.Type(x).dims;
  Value g = AsRows(
      r, dims.size() == 1 ? r.Reshape(r.RawG(), {Dim(1), r.Type(r.RawG()).dims[0]}) : r.RawG());
  if (r.Wants(0)) r.Give(0, r.Reshape(Product(r, g, false, weight, false), dims));
  if (r.Wants(1)) {
    Value rows = AsRows(r, dims.size() == 1 ? r.Reshape(x, {Dim(1), dims[0]}) : x);
    r.Give(1, Product(r, g, true, rows, false));
  }
  if (r.Wants(2)) r.Give(2, r.Sum(r.Cast(g, r.compute()), {0}, false));
}

}  // namespace jitfuse::internal
