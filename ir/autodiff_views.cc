// Rules of views and joins: each element's cotangent goes back to where the element came from. All
// are views, joins and sums again. Declared in autodiff_rules.h.
#include <algorithm>
#include <numeric>
#include <utility>

#include "ir/autodiff_rules.h"
#include "ir/op_enum.h"
#include "ir/slicing.h"

namespace jitfuse::internal {
namespace {

using Ints = std::vector<int64_t>;

const Shape& OperandDims(const GradRule& r) { return r.Type(r.Operand(0)).dims; }

// A sum in the compute type, whose axis goes.
Value SumAlong(GradRule& r, Value v, size_t axis) {
  v = r.Cast(v, r.compute());
  return r.Sum(v, {static_cast<int64_t>(axis)}, false);
}

// x[i] at i * factor of an axis factor times as long, zeros between.
Value Dilate(GradRule& r, Value v, size_t axis, int64_t factor) {
  if (factor == 1 || !r.ok()) return v;
  Shape dims = r.Type(v).dims;
  const auto span = absl::MakeConstSpan(dims);
  const Shape four = {NumElements(span.first(axis)), dims[axis], Dim(1),
                      NumElements(span.subspan(axis + 1))};
  v = r.PadAlong(r.Reshape(v, four), 2, Dim(0), Dim(factor - 1));
  dims[axis] = dims[axis] * Dim(factor);
  return r.Reshape(v, dims);
}

// The cotangent of one sliced axis on all of it.
Value Unslice(GradRule& r, Value g, size_t axis, const SliceAxis& slice, const Dim& size) {
  if (slice.extent.Is(0)) {
    if (!r.ok()) return {};
    Shape dims = r.Type(g).dims;
    dims[axis] = size;
    return r.Fill(r.Type(g).dtype, 0, dims);
  }
  const int64_t step = std::abs(slice.step);
  Dim low = slice.start;
  if (slice.step < 0) {
    g = r.Flip(g, axis);
    low = slice.start + Dim(step) - slice.extent * Dim(step);
  }
  // The last element's zeros may reach beyond the end: they are cut off again.
  g = Dilate(r, g, axis, step);
  g = r.PadAlong(g, axis, low, size + Dim(step - 1) - low - slice.extent * Dim(step));
  return step == 1 ? g : r.Slice(g, axis, 0, -(step - 1));
}

}  // namespace

void GradBroadcast(GradRule& r) { r.Give(0, r.RawG()); }

void GradReshape(GradRule& r) { r.Give(0, r.Reshape(r.RawG(), OperandDims(r))); }

void GradTranspose(GradRule& r) {
  const auto& perm = r.node().Get<Ints>("perm");
  Ints inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  // An empty list would reverse: rank 0 stays as it is.
  r.Give(0, perm.empty() ? r.RawG() : r.Apply(Op::kTranspose, {r.RawG()}, {{"perm", inverse}}));
}

void GradSlice(GradRule& r) {
  const Shape dims = OperandDims(r);
  const auto slices = ResolveSlices(dims, r.node().Get<Ints>("starts"), r.node().Get<Ints>("stops"),
                                    r.node().Get<Ints>("steps"));
  Value g = r.RawG();
  for (size_t axis = 0; axis < dims.size(); ++axis)
    g = Unslice(r, g, axis, slices[axis], dims[axis]);
  r.Give(0, g);
}

void GradFlip(GradRule& r) {
  r.Give(0, r.Apply(Op::kFlip, {r.RawG()}, {{"axes", r.node().Get<Ints>("axes")}}));
}

void GradRoll(GradRule& r) {
  Ints back = r.node().Get<Ints>("shifts");
  for (int64_t& s : back) s = -s;
  r.Give(0,
         r.Apply(Op::kRoll, {r.RawG()}, {{"shifts", back}, {"axes", r.node().Get<Ints>("axes")}}));
}

void GradTile(GradRule& r) {
  const auto& reps = r.node().Get<Ints>("reps");
  const Shape dims = OperandDims(r);
  const size_t lead = reps.size() - dims.size();
  Value g = r.RawG();
  for (size_t i = 0; i < reps.size() && r.ok(); ++i) {
    if (reps[i] == 1) continue;
    Shape one = r.Type(g).dims;
    const auto span = absl::MakeConstSpan(one);
    const Dim size = i < lead ? Dim(1) : dims[i - lead];
    g = r.Reshape(
        g, {NumElements(span.first(i)), Dim(reps[i]), size, NumElements(span.subspan(i + 1))});
    one[i] = size;
    g = r.Reshape(SumAlong(r, g, 1), one);
  }
  r.Give(0, r.Reshape(g, dims));
}

void GradRepeat(GradRule& r) {
  const Shape dims = OperandDims(r);
  const auto axis = static_cast<size_t>(r.node().Get<int64_t>("axis"));
  const auto span = absl::MakeConstSpan(dims);
  Value g = r.Reshape(
      r.RawG(), {NumElements(span.first(axis)), dims[axis], Dim(r.node().Get<int64_t>("repeats")),
                 NumElements(span.subspan(axis + 1))});
  r.Give(0, r.Reshape(SumAlong(r, g, 2), dims));
}

// Window w holds element w * stride + e * dilation of the axis as its element e. With the windows'
// cotangents spread by the stride, row e of [elements, size] needs a shift by e * dilation: rows
// that are dilation longer than the axis, read as rows of the axis' own length, are shifted so.
void GradWindows(GradRule& r) {
  const Shape dims = OperandDims(r);
  const auto axis = static_cast<size_t>(r.node().Get<int64_t>("axis"));
  const int64_t size = r.node().Get<int64_t>("size"), stride = r.node().Get<int64_t>("stride"),
                dilation = r.node().Get<int64_t>("dilation");
  const auto span = absl::MakeConstSpan(dims);
  const Dim before = NumElements(span.first(axis)), behind = NumElements(span.subspan(axis + 1));
  const Dim count = r.node().types[0].dims[axis];
  if (count.Is(0)) return r.Give(0, r.Fill(r.compute(), 0, dims));
  Value g = r.Reshape(r.RawG(), {before, count, behind, Dim(size)});
  g = r.Apply(Op::kTranspose, {g}, {{"perm", Ints{0, 3, 1, 2}}});
  g = Dilate(r, g, 2, stride);
  // The last window's zeros may reach beyond the row: they are cut off again.
  const Dim row = dims[axis] + Dim(dilation);
  g = r.PadAlong(g, 2, Dim(0), row + Dim(stride - 1) - count * Dim(stride));
  if (stride > 1) g = r.Slice(g, 2, 0, -(stride - 1));
  g = r.Reshape(g, {before, Dim(size) * row, behind});
  g = r.Slice(g, 1, 0, -size * dilation);
  g = r.Reshape(g, {before, Dim(size), dims[axis], behind});
  r.Give(0, r.Reshape(SumAlong(r, g, 1), dims));
}

void GradConcatenate(GradRule& r) {
  const auto axis = static_cast<size_t>(r.node().Get<int64_t>("axis"));
  const std::vector<Value> parts(r.node().in.begin(), r.node().in.end());
  Dim end(0);
  for (size_t i = 0; i < parts.size() && r.ok(); ++i) {
    const Dim size = r.Type(parts[i]).dims[axis];
    end = end + size;
    if (r.Wants(i)) r.Give(i, r.Last(r.First(r.RawG(), axis, end), axis, size));
  }
}

void GradPad(GradRule& r) {
  const Shape dims = OperandDims(r);
  const auto &low = r.node().Get<std::vector<Dim>>("low"),
             &high = r.node().Get<std::vector<Dim>>("high");
  Value g = r.RawG();
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (low[axis].IsConstant() && high[axis].IsConstant()) {
      const int64_t stop = high[axis].Is(0) ? kEnd : -high[axis].constant();
      g = r.Slice(g, axis, low[axis].constant(), stop);
    } else {
      g = r.Last(r.First(g, axis, low[axis] + dims[axis]), axis, dims[axis]);
    }
  }
  r.Give(0, g);
}

}  // namespace jitfuse::internal
