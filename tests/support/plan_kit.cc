#include "tests/support/plan_kit.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/support/check.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

PlanKit::PlanKit(std::string name, Shape parallel, Shape inner) {
  plan.name = std::move(name);
  plan.head = absl::StrCat("made by hand: ", plan.name);
  plan.parallel = std::move(parallel);
  plan.inner = std::move(inner);
  plan.stages.emplace_back();
}

int PlanKit::Input(DType dtype, int align) {
  Param p;
  p.dtype = dtype;
  p.align = align;
  plan.params.push_back(p);
  return static_cast<int>(plan.params.size()) - 1;
}

int PlanKit::Output(DType dtype, int align) {
  const int k = Input(dtype, align);
  plan.params.back().role = ParamRole::kOutput;
  return k;
}

int PlanKit::Add(Inst inst) {
  plan.insts.push_back(inst);
  return static_cast<int>(plan.insts.size()) - 1;
}

// Per parallel point; in Flat plans that is every value.
int PlanKit::AddInvariant(Inst inst) {
  Stage& stage = plan.stages.back();
  inst.elem = !plan.IsRow();
  (inst.elem ? stage.elem_insts : stage.row_insts_before)
      .push_back(static_cast<int>(plan.insts.size()));
  return Add(inst);
}

int PlanKit::Scalar(DType dtype) {
  plan.scalars.push_back(dtype);
  Inst i;
  i.kind = Inst::Kind::kScalar;
  i.dtype = ComputeType(dtype);
  i.scalar = static_cast<int>(plan.scalars.size()) - 1;
  return AddInvariant(i);
}

AccessMap PlanKit::Strided(int param, std::vector<SizeExpr> strides, SizeExpr constant) const {
  AccessMap a;
  a.param = param;
  a.linear.constant = std::move(constant);
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    if (!strides[axis].Is(0)) a.linear.coefs.push_back({static_cast<int>(axis), strides[axis]});
  }
  return a;
}

AccessMap PlanKit::Dense(int param) const {
  Shape all = plan.parallel;
  all.insert(all.end(), plan.inner.begin(), plan.inner.end());
  const Shape strides = ContiguousStrides(all);
  return Strided(param, {strides.begin(), strides.end()});
}

AccessMap PlanKit::DenseRow(int param) const {
  const Shape strides = ContiguousStrides(plan.parallel);
  return Strided(param, {strides.begin(), strides.end()});
}

int PlanKit::Load(const AccessMap& access) {
  Inst i;
  i.kind = Inst::Kind::kLoad;
  i.dtype = ComputeType(plan.params[static_cast<size_t>(access.param)].dtype);
  i.elem = true;
  i.access = static_cast<int>(plan.accesses.size());
  plan.accesses.push_back(access);
  plan.stages.back().elem_insts.push_back(Add(i));
  return static_cast<int>(plan.insts.size()) - 1;
}

int PlanKit::LoadRow(const AccessMap& access) {
  const int id = Load(access);
  plan.insts[static_cast<size_t>(id)].elem = false;
  plan.stages.back().elem_insts.pop_back();
  plan.stages.back().row_insts_before.push_back(id);
  return id;
}

int PlanKit::Const(DType dtype, double v) {
  Inst i;
  i.dtype = dtype;
  i.bits = ScalarFromDouble(dtype, v).bits();
  return AddInvariant(i);
}

int PlanKit::Index(int axis) {
  Inst i;
  i.kind = Inst::Kind::kIndex;
  i.dtype = DType::kI64;
  i.elem = true;
  i.axis = axis;
  plan.stages.back().elem_insts.push_back(Add(i));
  return static_cast<int>(plan.insts.size()) - 1;
}

int PlanKit::Size(const SizeExpr& size) {
  Inst i;
  i.kind = Inst::Kind::kSize;
  i.dtype = DType::kI64;
  i.size = static_cast<int>(plan.sizes.size());
  plan.sizes.push_back(size);
  plan.stages.back().row_insts_before.push_back(Add(i));
  return static_cast<int>(plan.insts.size()) - 1;
}

DType PlanKit::ResultType(ScalarOp op, const std::vector<int>& in) const {
  const ScalarTypeRule rule = GetScalarOp(op).rule;
  JF_CHECK(rule != ScalarTypeRule::kConvert && rule != ScalarTypeRule::kBitcast);
  if (rule == ScalarTypeRule::kCompare || rule == ScalarTypeRule::kPredicate) return DType::kBool;
  return ComputeType(TypeOf(rule == ScalarTypeRule::kSelect ? in[1] : in[0]));
}

int PlanKit::Op(ScalarOp op, std::vector<int> in) {
  Inst i;
  i.kind = Inst::Kind::kOp;
  i.op = op;
  i.elem = true;
  i.dtype = ResultType(op, in);
  for (size_t k = 0; k < in.size(); ++k) i.in[k] = in[k];
  plan.stages.back().elem_insts.push_back(Add(i));
  return static_cast<int>(plan.insts.size()) - 1;
}

int PlanKit::Convert(int in, DType to) {
  Inst i;
  i.kind = Inst::Kind::kOp;
  i.op = ScalarOp::kConvert;
  i.elem = true;
  i.dtype = to;
  i.in[0] = in;
  plan.stages.back().elem_insts.push_back(Add(i));
  return static_cast<int>(plan.insts.size()) - 1;
}

int PlanKit::RowOp(ScalarOp op, std::vector<int> in) {
  const int id = Op(op, std::move(in));
  plan.insts[static_cast<size_t>(id)].elem = false;
  plan.stages.back().elem_insts.pop_back();
  plan.stages.back().row_insts_after.push_back(id);
  return id;
}

void PlanKit::Store(int value, const AccessMap& access) {
  plan.stages.back().stores.push_back({value, access, true});
}
void PlanKit::StoreRow(int value, const AccessMap& access) {
  plan.stages.back().stores.push_back({value, access, false});
}

std::vector<int> PlanKit::Reduce(std::vector<int> in, std::vector<double> init,
                                 std::string_view combine) {
  PlanReduce r;
  r.in = in;
  std::vector<std::string> names;
  for (const char* side : {"a", "b"}) {
    for (size_t k = 0; k < in.size(); ++k) names.push_back(absl::StrCat(side, k));
  }
  for (size_t k = 0; k < in.size(); ++k) {
    r.dtypes.push_back(ComputeType(TypeOf(in[k])));
    r.init.push_back((r.dtypes[k] == DType::kI64
                          ? ScalarFromInt(DType::kI64, static_cast<int64_t>(init[k]))
                          : ScalarFromDouble(r.dtypes[k], init[k]))
                         .bits());
  }
  std::vector<DType> types = r.dtypes;
  types.insert(types.end(), r.dtypes.begin(), r.dtypes.end());
  const std::vector<std::string_view> views(names.begin(), names.end());
  absl::StatusOr<ScalarProgram> program = BuildScalarProgram(combine, views, types);
  JF_CHECK(program.ok());
  r.combine = *std::move(program);
  std::vector<int> results;
  for (size_t k = 0; k < in.size(); ++k) {
    Inst i;
    i.kind = Inst::Kind::kResult;
    i.dtype = r.dtypes[k];
    i.stage = static_cast<int>(plan.stages.size()) - 1;
    i.reduce = static_cast<int>(plan.stages.back().reduces.size());
    i.which = static_cast<int>(k);
    results.push_back(Add(i));
    plan.stages.back().row_insts_after.push_back(results.back());
  }
  plan.stages.back().reduces.push_back(std::move(r));
  return results;
}

KernelPlan PlanKit::Flat(int threads, int vec, int items) {
  CudaSchedule s;
  s.threads = threads;
  s.vec = vec;
  s.items = items;
  plan.schedule = s;
  return plan;
}

KernelPlan PlanKit::Row(int threads_per_row, int rows_per_block, int vec, int items) {
  CudaSchedule s;
  s.emitter = CudaEmitter::kRow;
  s.threads_per_row = threads_per_row;
  s.rows_per_block = rows_per_block;
  s.threads = threads_per_row * rows_per_block;
  s.vec = vec;
  s.items = items;
  plan.schedule = s;
  return plan;
}

KernelPlan PlanKit::Column(int threads_per_row, int rows_per_block, int vec, int items) {
  Row(threads_per_row, rows_per_block, vec, items);
  std::get<CudaSchedule>(plan.schedule).emitter = CudaEmitter::kColumn;
  plan.columns = true;
  return plan;
}

KernelPlan AddMulRelu(DType dtype, Shape shape, int threads, int vec, int items, int align) {
  PlanKit k(absl::StrCat("relu_", ToAbsl(DTypeName(dtype))), std::move(shape));
  const int a = k.Input(dtype, align), b = k.Input(dtype, align), c = k.Input(dtype, align),
            y = k.Output(dtype, align);
  const int va = k.Load(k.Dense(a)), vb = k.Load(k.Dense(b)), vc = k.Load(k.Dense(c));
  const int sum = k.Op(ScalarOp::kFma, {va, vb, vc});
  k.Store(k.Op(ScalarOp::kMaximum, {sum, k.Const(ComputeType(dtype), 0)}), k.Dense(y));
  return k.Flat(threads, vec, items);
}

KernelPlan AddBias(DType dtype, DType bias, SizeExpr rows, SizeExpr columns, int threads, int vec,
                   int items) {
  PlanKit k(absl::StrCat("bias_", ToAbsl(DTypeName(dtype)), "_", ToAbsl(DTypeName(bias))),
            {rows, columns});
  const int x = k.Input(dtype), b = k.Input(bias), y = k.Output(dtype);
  const int vx = k.Load(k.Dense(x)), vb = k.Load(k.Strided(b, {0, 1}));
  k.Store(k.Op(ScalarOp::kAdd, {vx, vb}), k.Dense(y));
  return k.Flat(threads, vec, items);
}

KernelPlan Softmax(DType dtype, SizeExpr rows, SizeExpr columns, int threads_per_row,
                   int rows_per_block, int vec, int items) {
  PlanKit k(absl::StrCat("softmax_", ToAbsl(DTypeName(dtype))), {rows}, {columns});
  const int x = k.Input(dtype), y = k.Output(dtype);
  const int v = k.Load(k.Dense(x));
  const int m = k.Reduce({v}, {-__builtin_inf()}, "{maximum(a0, b0)}")[0];
  k.NextStage();
  if (items == 0) {
    k.Again(v);
  } else {
    k.Keep(v);
  }
  const int d = k.Op(ScalarOp::kSub, {v, m});
  const int e = k.Op(ScalarOp::kExp, {d});
  const int s = k.Reduce({e}, {0}, "{a0 + b0}")[0];
  k.NextStage();
  if (items == 0) {
    for (int again : {v, d, e}) k.Again(again);
  } else {
    k.Keep(e);
  }
  k.Store(k.Op(ScalarOp::kDiv, {e, s}), k.Dense(y));
  return k.Row(threads_per_row, rows_per_block, vec, items);
}

KernelPlan LayerNorm(DType dtype, SizeExpr rows, SizeExpr columns, int threads_per_row,
                     int rows_per_block, int vec, int items) {
  PlanKit k(absl::StrCat("layer_norm_", ToAbsl(DTypeName(dtype))), {rows}, {columns});
  const DType t = ComputeType(dtype);
  const int x = k.Input(dtype), y = k.Output(dtype), mean = k.Output(t);
  const int v = k.Load(k.Dense(x));
  const int zero = k.Const(t, 0), one = k.Const(t, 1), eps = k.Const(t, 1e-5);
  const std::vector<int> r = k.Reduce({one, v, zero}, {0, 0, 0},
                                      "c = a0 + b0; d = b1 - a1; w = select(c == 0, 0, b0 / c); "
                                      "{c, a1 + d * w, a2 + b2 + d * d * (a0 * w)}");
  const int variance = k.RowOp(ScalarOp::kDiv, {r[2], r[0]});
  const int scale = k.RowOp(ScalarOp::kRsqrt, {k.RowOp(ScalarOp::kAdd, {variance, eps})});
  k.StoreRow(r[1], k.DenseRow(mean));
  k.NextStage();
  if (items == 0) {
    k.Again(v);
  } else {
    k.Keep(v);
  }
  k.Store(k.Op(ScalarOp::kMul, {k.Op(ScalarOp::kSub, {v, r[1]}), scale}), k.Dense(y));
  return k.Row(threads_per_row, rows_per_block, vec, items);
}

KernelPlan WeighRows(DType dtype, DType weight, SizeExpr rows, SizeExpr columns,
                     int threads_per_row, int rows_per_block, int vec, int items) {
  PlanKit k(absl::StrCat("weigh_", ToAbsl(DTypeName(dtype)), "_", ToAbsl(DTypeName(weight))),
            {rows}, {columns});
  const int x = k.Input(dtype), w = k.Input(weight), y = k.Output(dtype);
  const int v = k.Load(k.Dense(x));
  const int most = k.Reduce({v}, {-__builtin_inf()}, "{maximum(a0, b0)}")[0];
  k.NextStage();
  if (items == 0) {
    k.Again(v);
  } else {
    k.Keep(v);
  }
  const int by = k.Load(k.Strided(w, {0, 1}));
  k.Store(k.Op(ScalarOp::kMul, {k.Op(ScalarOp::kSub, {v, most}), by}), k.Dense(y));
  return k.Row(threads_per_row, rows_per_block, vec, items);
}

KernelPlan ArgMax(DType dtype, SizeExpr rows, SizeExpr columns, int threads_per_row,
                  int rows_per_block, int vec, int items) {
  PlanKit k(absl::StrCat("argmax_", ToAbsl(DTypeName(dtype))), {rows}, {columns});
  const int x = k.Input(dtype), y = k.Output(DType::kI64);
  const int v = k.Load(k.Dense(x));
  const std::vector<int> r =
      k.Reduce({v, k.Index(1)}, {-__builtin_inf(), 9.0e18},
               "na = a0 != a0; nb = b0 != b0; first = a1 < b1; "
               "keep = (na & (!nb | first)) | (!na & !nb & ((a0 > b0) | ((a0 == b0) & first))); "
               "{select(keep, a0, b0), select(keep, a1, b1)}");
  k.StoreRow(r[1], k.DenseRow(y));
  return k.Row(threads_per_row, rows_per_block, vec, items);
}

KernelPlan SumColumns(DType dtype, SizeExpr rows, SizeExpr columns, int threads_per_row,
                      int rows_per_block, int vec) {
  PlanKit k(absl::StrCat("sum_columns_", ToAbsl(DTypeName(dtype))), {rows}, {columns});
  const int x = k.Input(dtype), y = k.Output(dtype);
  const int v = k.Load(k.Strided(x, {1, rows}));
  k.StoreRow(k.Reduce({v}, {0}, "{a0 + b0}")[0], k.DenseRow(y));
  return k.Column(threads_per_row, rows_per_block, vec, 0);
}

KernelPlan TransposeAdd(DType dtype, SizeExpr m, SizeExpr n, int tile) {
  PlanKit k(absl::StrCat("transpose_", ToAbsl(DTypeName(dtype))), {m, n});
  const int x = k.Input(dtype), z = k.Input(dtype), y = k.Output(dtype);
  const int a = k.Load(k.Strided(x, {1, m})), b = k.Load(k.Dense(z));
  k.Store(k.Op(ScalarOp::kAdd, {a, b}), k.Dense(y));
  k.Flat(256, 1);
  auto& s = std::get<CudaSchedule>(k.plan.schedule);
  s.emitter = CudaEmitter::kTile;
  s.tile = tile;
  s.tile_axis = 0;
  return k.plan;
}

}  // namespace jitfuse::internal
