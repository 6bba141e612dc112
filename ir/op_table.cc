// The table itself: ir/ops.inc turned into OpDefs once, on first use, and never freed.
#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "ir/expand.h"
#include "ir/infer.h"
#include "ir/op_def.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"
#include "ir/view_index.h"

namespace jitfuse::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Columns live as long as the table, which is never freed.
template <typename T>
absl::Span<const T> Keep(std::initializer_list<T> items) {
  if (items.size() == 0) return {};
  T* kept = new T[items.size()];
  std::copy(items.begin(), items.end(), kept);
  return {kept, items.size()};
}

const ReduceDef* NewReduce(const ReduceDef& def) { return new ReduceDef(def); }

AttrDef Required(std::string_view name, AttrKind kind, std::string_view doc,
                 AttrNorm norm = AttrNorm::kNone) {
  return {name, kind, std::nullopt, doc, norm};
}

AttrDef Optional(std::string_view name, AttrValue fallback, std::string_view doc,
                 AttrNorm norm = AttrNorm::kNone) {
  auto kind = static_cast<AttrKind>(fallback.index());
  return {name, kind, std::move(fallback), doc, norm};
}

AttrDef OptionalAxes(std::string_view name, std::string_view doc, AttrNorm norm) {
  return Optional(name, std::vector<int64_t>{}, doc, norm);
}

#define ARGS(...) Keep<std::string_view>({__VA_ARGS__})
#define ATTRS(...) Keep<AttrDef>({__VA_ARGS__})
#define REDUCE(...) NewReduce(ReduceDef __VA_ARGS__)
#define BITS() Required("bits", AttrKind::kInt, "the number's register bits")
#define DTYPE(name, doc) Required(name, AttrKind::kDType, doc)
#define DTYPE_OR(name, value, doc) Optional(name, value, doc)
#define DIMS(name, doc) Required(name, AttrKind::kDims, doc)
#define RESHAPE_DIMS() \
  Required("shape", AttrKind::kDims, "shape of the result; one dim may be -1", AttrNorm::kReshape)
#define INT(name, doc) Required(name, AttrKind::kInt, doc)
#define INTS(name, doc) Required(name, AttrKind::kInts, doc)
#define INTS_OR_NONE(name, doc) OptionalAxes(name, doc, AttrNorm::kNone)
#define AXIS(doc) Required("axis", AttrKind::kInt, doc, AttrNorm::kAxis)
#define INT_OR(name, value, doc) Optional(name, int64_t{value}, doc)
#define AXIS_OR(value, doc) Optional("axis", int64_t{value}, doc, AttrNorm::kAxis)
#define FLOAT(name, doc) Required(name, AttrKind::kFloat, doc)
#define FLOAT_OR(name, value, doc) Optional(name, double{value}, doc)
#define BOOL_OR(name, value, doc) Optional(name, bool{value}, doc)
#define AXES() \
  OptionalAxes("axes", "axes that are reduced; every axis if empty or not given", AttrNorm::kAxes)
#define AXES_REQUIRED(doc) Required("axes", AttrKind::kInts, doc, AttrNorm::kSomeAxes)
#define NEW_AXES() Required("axes", AttrKind::kInts, "positions in the result", AttrNorm::kNewAxes)
#define KEEPDIMS() BOOL_OR("keepdims", false, "reduced axes stay, with size 1")
#define SCAN_ATTRS()                                                           \
  ATTRS(AXIS("axis along which values are combined"),                          \
        BOOL_OR("exclusive", false, "each result leaves its own element out"), \
        BOOL_OR("reverse", false, "from the end of the axis to its beginning"))
#define PERM()                                                                                 \
  OptionalAxes("perm", "axes of x in the order of the result; reversed if empty or not given", \
               AttrNorm::kPerm)

std::vector<OpDef> BuildTable() {
  std::vector<OpDef> table;
  table.reserve(static_cast<size_t>(Op::kCount));
#define JF_OP(Name, text, kind, args, attrs, domain, infer, body, reduce, expand, index, grad,     \
              ulp_f32, ulp_f64, doc, example)                                                      \
  table.push_back(OpDef{Op::k##Name, text, OpKind::kind, args, attrs, domain, infer, body, reduce, \
                        expand, index, grad, ulp_f32, ulp_f64, doc, example});
#include "ir/ops.inc"
#ifdef JF_SCRATCH_OPS  // tests/add_op
#include JF_SCRATCH_OPS
#endif
#undef JF_OP
  return table;
}

const std::vector<OpDef>& Table() {
  static const auto* table = new std::vector<OpDef>(BuildTable());
  return *table;
}

}  // namespace

const OpDef& GetOp(Op op) { return Table()[static_cast<size_t>(op)]; }

const OpDef* FindOp(std::string_view name) {
  static const auto* index = [] {
    auto* map = new absl::flat_hash_map<std::string, const OpDef*>;
    for (const OpDef& def : Table()) map->emplace(def.name, &def);
    return map;
  }();
  auto it = index->find(ToAbsl(name));
  return it == index->end() ? nullptr : it->second;
}

absl::Span<const OpDef* const> AllOps() {
  static const auto* all = [] {
    auto* list = new std::vector<const OpDef*>;
    for (const OpDef& def : Table()) list->push_back(&def);
    return list;
  }();
  return *all;
}

}  // namespace jitfuse::internal
