// SimplifyAxes: parallel axes put into the output's order, neighbours merged, flat plans flattened.
// Declared in plan_finish.h.
#include <algorithm>
#include <numeric>

#include "codegen/plan/plan_finish.h"
#include "codegen/plan/streams.h"

namespace jitfuse::internal {
namespace {

// A run of old axes that become one: walked by the last of them.
struct Merged {
  int axis;  // the minor old axis
  SizeExpr extent;
};

// Everything in a draft that speaks of axes.
struct Users {
  std::vector<AccessMap*> accesses;
  std::vector<IndexExpr*> indices;
  std::vector<const AccessMap*> stores;
};

Users CollectUsers(PlanDraft* draft) {
  Users u;
  std::vector<int> uses = CountUses(draft->plan);
  std::vector<bool> access_live(draft->accesses.values().size(), false),
      index_live(draft->index_exprs.values().size(), false);
  for (size_t i = 0; i < uses.size(); ++i) {
    const Inst& inst = draft->plan.insts[i];
    if (uses[i] == 0) continue;
    if (inst.kind == Inst::Kind::kLoad) access_live[static_cast<size_t>(inst.access)] = true;
    if (inst.kind == Inst::Kind::kSegment) {
      access_live[static_cast<size_t>(inst.access)] = true;
      access_live[static_cast<size_t>(inst.order)] = true;
    }
    if (inst.kind == Inst::Kind::kIndex) index_live[static_cast<size_t>(inst.size)] = true;
  }
  for (size_t i = 0; i < access_live.size(); ++i) {
    if (access_live[i]) u.accesses.push_back(&draft->accesses.values()[i]);
  }
  for (size_t i = 0; i < index_live.size(); ++i) {
    if (index_live[i]) u.indices.push_back(&draft->index_exprs.values()[i]);
  }
  for (Stage& s : draft->plan.stages) {
    for (Store& st : s.stores) {
      u.accesses.push_back(&st.access);
      u.stores.push_back(&st.access);
    }
  }
  return u;
}

template <typename Fn>
bool AllAffines(const Users& u, Fn fn) {
  auto terms_ok = [&fn](const std::vector<IndexTerm>& terms) {
    return std::all_of(terms.begin(), terms.end(),
                       [&fn](const IndexTerm& t) { return fn(t.linear); });
  };
  // The plain terms of an index are one affine together.
  auto index_ok = [&](const IndexExpr& e) {
    Affine plain;
    for (const IndexTerm& t : e.terms) {
      if (t.IsPlain()) {
        AddScaled(&plain, t.linear, t.coef);
      } else if (!fn(t.linear)) {
        return false;
      }
    }
    return fn(plain);
  };
  auto access_ok = [&](const AccessMap* a) {
    return fn(a->linear) && terms_ok(a->terms) &&
           std::all_of(a->masks.begin(), a->masks.end(),
                       [&](const AccessMask& m) { return fn(m.linear) && terms_ok(m.terms); });
  };
  return std::all_of(u.accesses.begin(), u.accesses.end(), access_ok) &&
         std::all_of(u.indices.begin(), u.indices.end(),
                     [&](const IndexExpr* e) { return index_ok(*e); });
}

// The order in which the reference output lies in memory: greatest stride first. Axes it does not
// walk evenly go to the front.
std::vector<int> ParallelOrder(const PlanDraft& draft, const Users& users) {
  std::vector<int> order(draft.plan.parallel.size());
  std::iota(order.begin(), order.end(), 0);
  if (users.stores.empty()) return order;
  const AccessMap& reference = *users.stores.front();
  constexpr int64_t kLarge = int64_t{1} << 60;
  auto weight = [&reference](int axis) {
    std::optional<SizeExpr> stride = StrideAlong(reference, axis);
    if (!stride || stride->Is(0) || !stride->IsConstant()) return kLarge;
    return std::abs(stride->constant());
  };
  std::stable_sort(order.begin(), order.end(),
                   [&weight](int a, int b) { return weight(a) > weight(b); });
  return order;
}

std::vector<Merged> MergeRuns(const PlanDraft& draft, const Users& users,
                              absl::Span<const int> order) {
  std::vector<Merged> out;
  for (int axis : order) {
    const SizeExpr& extent = draft.plan.extent(axis);
    bool joins = !out.empty() && AllAffines(users, [&](const Affine& a) {
      return CoefOf(a, out.back().axis) == CoefOf(a, axis) * extent;
    });
    if (joins) {
      out.back() = {axis, out.back().extent * extent};
    } else {
      out.push_back({axis, extent});
    }
  }
  return out;
}

Affine Remap(const Affine& a, const std::vector<int>& to) {
  Affine out;
  out.constant = a.constant;
  for (const auto& [axis, coef] : a.coefs) {
    int now = axis == kIndirectAxis ? axis : to[static_cast<size_t>(axis)];
    if (now >= 0) AddTo(&out, now, coef);
  }
  return out;
}

void RemapTerms(std::vector<IndexTerm>* terms, const std::vector<int>& to) {
  for (IndexTerm& t : *terms) t.linear = Remap(t.linear, to);
}

// Old axes that are no run's minor axis vanish; the others get their run's number.
void ApplyMerge(PlanDraft* draft, const Users& users, const std::vector<Merged>& parallel,
                const std::vector<Merged>& inner) {
  std::vector<int> to(draft->plan.parallel.size() + draft->plan.inner.size(), -1);
  int next = 0;
  for (const auto* runs : {&parallel, &inner}) {
    for (const Merged& m : *runs) to[static_cast<size_t>(m.axis)] = next++;
  }
  for (AccessMap* a : users.accesses) {
    a->linear = Remap(a->linear, to);
    RemapTerms(&a->terms, to);
    for (AccessMask& m : a->masks) {
      m.linear = Remap(m.linear, to);
      RemapTerms(&m.terms, to);
    }
  }
  for (IndexExpr* e : users.indices) {
    // A plain term may hold only a part of a run (the major axis in one term, the minor in
    // another): gather them first.
    Affine plain;
    for (const IndexTerm& t : e->terms) {
      if (t.IsPlain()) AddScaled(&plain, t.linear, t.coef);
    }
    std::erase_if(e->terms, [](const IndexTerm& t) { return t.IsPlain(); });
    RemapTerms(&e->terms, to);
    plain = Remap(plain, to);
    e->constant = e->constant + plain.constant;
    plain.constant = 0;
    if (!plain.coefs.empty()) e->terms.push_back({plain, 1, 0, 1});
  }
  draft->plan.parallel.clear();
  draft->plan.inner.clear();
  for (const Merged& m : parallel) draft->plan.parallel.push_back(m.extent);
  for (const Merged& m : inner) draft->plan.inner.push_back(m.extent);
}

// ---- Flattening.
bool IsDense(const KernelPlan& plan, const AccessMap& a) {
  if (!a.terms.empty()) return false;
  Shape strides = ContiguousStrides(plan.parallel);
  for (int axis = 0; axis < plan.num_parallel(); ++axis) {
    if (!(CoefOf(a.linear, axis) == strides[static_cast<size_t>(axis)])) return false;
  }
  return true;
}

int WidestItem(const KernelPlan& plan) {
  int bytes = 1;
  for (const Param& p : plan.params) bytes = std::max(bytes, ItemSize(p.dtype));
  return bytes;
}

// Worth it where rows break vectors; possible where outputs are dense and inputs have no div or mod
// yet.
bool CanFlatten(const PlanDraft& draft, const Users& users) {
  const KernelPlan& plan = draft.plan;
  if (!draft.IsFlat() || plan.parallel.size() < 2 || !users.indices.empty()) return false;
  // A division by a run-time size for each element costs more than scalar rows.
  if (!IsStatic(absl::MakeConstSpan(plan.parallel).subspan(1))) return false;
  if (NumElements(plan.parallel).Is(0)) return false;  // and by 0 makes no sense
  if (plan.parallel.back().KnownDivisor() % (16 / std::min(16, WidestItem(plan))) == 0)
    return false;
  // Operands that lie along another axis are taken in tiles, which need the axes.
  auto is_long = [&plan](int axis) {
    return !plan.extent(axis).IsConstant() || plan.extent(axis).constant() >= kShortTileAxis;
  };
  const int last = plan.num_parallel() - 1;
  auto transposed = [&](const AccessMap* a) {
    const SizeExpr step = CoefOf(a->linear, last);
    if (step.Is(0) || step.Is(1) || !is_long(last)) return false;
    return std::any_of(a->linear.coefs.begin(), a->linear.coefs.end(), [&](const auto& c) {
      return c.second.Is(1) && c.first != kIndirectAxis && is_long(c.first);
    });
  };
  if (std::any_of(users.accesses.begin(), users.accesses.end(), transposed)) return false;
  auto divides = [](const AccessMap* a) {
    return !a->terms.empty() || std::any_of(a->masks.begin(), a->masks.end(),
                                            [](const AccessMask& m) { return !m.terms.empty(); });
  };
  return std::all_of(users.stores.begin(), users.stores.end(),
                     [&](const AccessMap* a) { return IsDense(plan, *a); }) &&
         std::none_of(users.accesses.begin(), users.accesses.end(), divides);
}

void Flatten(PlanDraft* draft, const Users& users) {
  KernelPlan& plan = draft->plan;
  Shape strides = ContiguousStrides(plan.parallel);
  IndexSpace whole{{NumElements(plan.parallel)}};
  auto flatten = [&](Affine* linear, std::vector<IndexTerm>* terms) {
    Affine old = std::move(*linear);
    *linear = Affine{};
    linear->constant = old.constant;
    for (const auto& [axis, coef] : old.coefs) {
      if (axis == kIndirectAxis) {
        AddTo(linear, axis, coef);
        continue;
      }
      IndexTerm t;
      AddTo(&t.linear, 0, 1);
      t.div = strides[static_cast<size_t>(axis)];
      t.mod = axis == 0 ? SizeExpr(0) : plan.parallel[static_cast<size_t>(axis)];
      t.coef = coef;
      terms->push_back(std::move(t));
    }
    SimplifyTerms(whole, linear, terms);
  };
  for (AccessMap* a : users.accesses) {
    flatten(&a->linear, &a->terms);
    for (AccessMask& m : a->masks) flatten(&m.linear, &m.terms);
  }
  plan.parallel = whole.extents;
}

}  // namespace

void SimplifyAxes(PlanDraft* draft, bool flatten) {
  Users users = CollectUsers(draft);
  std::vector<int> inner(draft->plan.inner.size());
  std::iota(inner.begin(), inner.end(), draft->plan.num_parallel());
  std::vector<Merged> parallel_runs = MergeRuns(*draft, users, ParallelOrder(*draft, users));
  std::vector<Merged> inner_runs = MergeRuns(*draft, users, inner);
  ApplyMerge(draft, users, parallel_runs, inner_runs);
  if (flatten && CanFlatten(*draft, users)) Flatten(draft, users);
  if (draft->plan.parallel.empty()) {
    // A new first axis of extent 1: the inner ones move up by one.
    auto shift = [](Affine* f) {
      for (auto& c : f->coefs) c.first += c.first == kIndirectAxis ? 0 : 1;
    };
    auto shift_all = [&shift](Affine* linear, std::vector<IndexTerm>* terms) {
      shift(linear);
      for (IndexTerm& t : *terms) shift(&t.linear);
    };
    for (AccessMap* a : users.accesses) {
      shift_all(&a->linear, &a->terms);
      for (AccessMask& m : a->masks) shift_all(&m.linear, &m.terms);
    }
    for (IndexExpr* e : users.indices) {
      for (IndexTerm& t : e->terms) shift(&t.linear);
    }
    draft->plan.parallel.push_back(1);
  }
}

}  // namespace jitfuse::internal
