#include "codegen/plan/plan_finish.h"

#include <algorithm>
#include <limits>

#include "ir/support/check.h"

namespace jitfuse::internal {
namespace {

Inst& At(KernelPlan* plan, int id) { return plan->insts[static_cast<size_t>(id)]; }

// ---- Index arithmetic.
// `position`: the value of kIndirectAxis.
int LowerAffine(PlanDraft* draft, const Affine& a, int position) {
  int sum = -1;
  auto add = [&](int term) {
    sum = sum < 0 ? term : draft->AddOp(ScalarOp::kAdd, DType::kI64, {sum, term});
  };
  for (const auto& [axis, coef] : a.coefs) {
    int value = position;
    if (axis != kIndirectAxis) {
      Inst i;
      i.kind = Inst::Kind::kIndex;
      i.dtype = DType::kI64;
      i.axis = axis;
      i.elem = draft->IsFlat() || axis >= draft->plan.num_parallel();
      value = draft->AddInst(i, 0);
    }
    add(coef.Is(1) ? value
                   : draft->AddOp(ScalarOp::kMul, DType::kI64, {value, draft->AddSize(coef)}));
  }
  if (sum < 0 || !a.constant.Is(0)) add(draft->AddSize(a.constant));
  return sum;
}

// floor(value / by); values (where they matter) and divisors are not negative, but a symbolic
// divisor may be 0 where nothing is looped over.
int LowerDiv(PlanDraft* draft, int value, const SizeExpr& by) {
  ScalarOp op = by.IsConstant() ? ScalarOp::kDivRaw : ScalarOp::kTruncDivide;
  return draft->AddOp(op, DType::kI64, {value, draft->AddSize(by)});
}

int LowerIndex(PlanDraft* draft, const IndexExpr& e, int position) {
  Affine plain;
  plain.constant = e.constant;
  for (const IndexTerm& t : e.terms) {
    if (t.IsPlain()) AddScaled(&plain, t.linear, t.coef);
  }
  int sum = plain.coefs.empty() && plain.constant.Is(0) ? -1 : LowerAffine(draft, plain, position);
  for (const IndexTerm& t : e.terms) {
    if (t.IsPlain()) continue;
    int value = LowerAffine(draft, t.linear, position);
    if (!t.div.Is(1)) value = LowerDiv(draft, value, t.div);
    if (!t.mod.Is(0)) {
      int whole = draft->AddOp(ScalarOp::kMul, DType::kI64,
                               {LowerDiv(draft, value, t.mod), draft->AddSize(t.mod)});
      value = draft->AddOp(ScalarOp::kSub, DType::kI64, {value, whole});
    }
    if (!t.coef.Is(1))
      value = draft->AddOp(ScalarOp::kMul, DType::kI64, {value, draft->AddSize(t.coef)});
    sum = sum < 0 ? value : draft->AddOp(ScalarOp::kAdd, DType::kI64, {sum, value});
  }
  return sum < 0 ? draft->AddSize(0) : sum;
}

}  // namespace

std::vector<int> CountUses(const KernelPlan& plan) {
  std::vector<int> uses(plan.insts.size(), 0);
  for (const Stage& s : plan.stages) {
    for (const PlanReduce& r : s.reduces) {
      for (int in : r.in) ++uses[static_cast<size_t>(in)];
    }
    for (const ColumnSum& sum : s.column_sums) {
      for (int in : sum.reduce.in) ++uses[static_cast<size_t>(in)];
    }
    for (const Store& st : s.stores) ++uses[static_cast<size_t>(st.value)];
  }
  for (size_t i = plan.insts.size(); i-- > 0;) {
    if (uses[i] == 0) continue;
    for (int in : plan.insts[i].in) {
      if (in >= 0) ++uses[static_cast<size_t>(in)];
    }
  }
  return uses;
}

void FormFma(KernelPlan* plan) {
  std::vector<int> uses = CountUses(*plan);
  auto is_product = [plan](int id) {
    return At(plan, id).kind == Inst::Kind::kOp && At(plan, id).op == ScalarOp::kMul;
  };
  for (size_t i = 0; i < plan->insts.size(); ++i) {
    Inst& add = plan->insts[i];
    if (uses[i] == 0 || add.kind != Inst::Kind::kOp || add.op != ScalarOp::kAdd ||
        !IsFloat(add.dtype))
      continue;
    int product = add.in[0], addend = add.in[1];
    if (!is_product(product)) std::swap(product, addend);
    if (!is_product(product) || is_product(addend) || uses[static_cast<size_t>(product)] != 1)
      continue;
    add.op = ScalarOp::kFma;
    add.in[0] = At(plan, product).in[0];
    add.in[1] = At(plan, product).in[1];
    add.in[2] = addend;
  }
}

PlanDraft Rebuild(const PlanDraft& draft) {
  const KernelPlan& old = draft.plan;
  std::vector<int> uses = CountUses(old);
  PlanDraft out;
  out.plan.params = old.params;
  out.plan.scalars = old.scalars;
  out.plan.scalar_values = old.scalar_values;
  out.plan.parallel = old.parallel;
  out.plan.inner = old.inner;
  out.plan.inner_bound = old.inner_bound;
  out.plan.block_rows = old.block_rows;
  out.plan.notes = old.notes;
  out.plan.scans = old.scans;
  out.plan.stages = old.stages;
  std::vector<int> to(old.insts.size(), -1);
  for (size_t i = 0; i < old.insts.size(); ++i) {
    if (uses[i] == 0) continue;
    Inst inst = old.insts[i];
    if (inst.kind == Inst::Kind::kIndex) {
      int position = inst.in[0] >= 0 ? to[static_cast<size_t>(inst.in[0])] : -1;
      to[i] = LowerIndex(&out, draft.index_exprs.at(inst.size), position);
      continue;
    }
    if (inst.access >= 0) inst.access = out.accesses.Add(draft.accesses.at(inst.access));
    if (inst.order >= 0) inst.order = out.accesses.Add(draft.accesses.at(inst.order));
    if (inst.kind == Inst::Kind::kSize) inst.size = out.sizes.Add(draft.sizes.at(inst.size));
    for (int& in : inst.in) {
      if (in < 0) continue;
      in = to[static_cast<size_t>(in)];
      if (inst.kind == Inst::Kind::kScan) in = out.AddElem(in);
    }
    to[i] = out.AddInst(inst, draft.avail[i]);
  }
  for (Stage& s : out.plan.stages) {
    for (PlanReduce& r : s.reduces) {
      for (int& in : r.in) in = out.AddElem(to[static_cast<size_t>(in)]);
    }
    for (ColumnSum& sum : s.column_sums) {
      for (int& in : sum.reduce.in) in = out.AddElem(to[static_cast<size_t>(in)]);
    }
    for (Store& st : s.stores) st.value = to[static_cast<size_t>(st.value)];
  }
  return out;
}

void DelayStores(KernelPlan* plan) {
  std::vector<Store> stores;
  for (Stage& s : plan->stages) {
    stores.insert(stores.end(), s.stores.begin(), s.stores.end());
    s.stores.clear();
  }
  plan->stages.back().stores = std::move(stores);
}

void PlaceRowInsts(PlanDraft* draft) {
  KernelPlan& plan = draft->plan;
  constexpr int kNever = std::numeric_limits<int>::max();
  std::vector<int> first(plan.insts.size(), kNever);  // the first stage that needs it
  auto need = [&first](int id, int stage) {
    first[static_cast<size_t>(id)] = std::min(first[static_cast<size_t>(id)], stage);
  };
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    for (const PlanReduce& r : plan.stages[s].reduces) {
      for (int in : r.in) need(in, static_cast<int>(s));
    }
    for (const ColumnSum& sum : plan.stages[s].column_sums) {
      for (int in : sum.reduce.in) need(in, static_cast<int>(s));
    }
    for (const Store& st : plan.stages[s].stores) need(st.value, static_cast<int>(s));
  }
  for (size_t i = plan.insts.size(); i-- > 0;) {
    if (first[i] == kNever) continue;
    // A row value made of a stage's results is computed right after that stage, so its operands are
    // needed there already.
    if (!plan.insts[i].elem && draft->avail[i] > 0) first[i] = draft->avail[i] - 1;
    for (int in : plan.insts[i].in) {
      if (in >= 0) need(in, first[i]);
    }
  }
  for (size_t i = 0; i < plan.insts.size(); ++i) {
    if (plan.insts[i].elem || first[i] == kNever) continue;
    Stage& s = plan.stages[static_cast<size_t>(first[i])];
    (draft->avail[i] > 0 ? s.row_insts_after : s.row_insts_before).push_back(static_cast<int>(i));
  }
}

int OffsetBits(const KernelPlan& plan, int if_symbolic) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  bool is_static = IsStatic(plan.parallel) && IsStatic(plan.inner);  // n * 0 would be constant, too
  if (is_static) {
    std::vector<int64_t> extents = EvalDims(plan.parallel, {});
    for (int64_t e : EvalDims(plan.inner, {})) extents.push_back(e);
    std::optional<int64_t> n = CheckedNumElements(extents);
    if (!n || *n > kMax) return 64;
  }
  bool wide = false;
  auto check = [&](const AccessMap& a) {
    std::optional<Range> r = OffsetRange(plan, a);
    if (!r) {
      is_static = false;
    } else if (r->hi > kMax || r->lo < -kMax) {
      wide = true;
    }
  };
  auto look = [&](const AccessMap& a) {
    check(a);
    for (const AccessMask& m : a.masks) {
      check({-1, m.linear, m.terms, {}, a.indirect});
      for (const SizeExpr& bound : {m.lo, m.hi}) {
        if (bound.IsConstant() && std::abs(bound.constant()) > kMax) wide = true;
      }
    }
  };
  for (const AccessMap& a : plan.accesses) look(a);
  for (const Stage& s : plan.stages) {
    for (const Store& st : s.stores) look(st.access);
  }
  if (wide) return 64;
  return is_static ? 32 : if_symbolic;
}

KernelPlan FinishDraft(PlanDraft draft, const Target& target, const PlanOptions& options) {
  FormFma(&draft.plan);
  SimplifyAxes(&draft, target.kind == TargetKind::kCuda);
  PlanDraft out = Rebuild(draft);
  if (!options.may_alias.empty()) DelayStores(&out.plan);
  PlaceRowInsts(&out);
  KernelPlan plan = std::move(out.plan);
  plan.accesses = std::move(out.accesses.values());
  plan.sizes = std::move(out.sizes.values());
  plan.offset_bits = OffsetBits(plan, options.offset_bits);
  if (plan.offset_bits == 64) plan.notes.push_back({-1, Reason::kOffsets64, ""});
  return plan;
}

}  // namespace jitfuse::internal
