#include "codegen/plan/plan_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/plan/access_map.h"
#include "ir/support/status.h"
#include "ir/support/writer.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

std::string Type(DType d) { return std::string(DTypeName(d)); }
std::string Literal(DType d, uint64_t bits) {
  return LiteralToString(d, ScalarValue::FromBits(bits));
}
std::string Percent(int id) { return absl::StrCat("%", id); }

std::string Role(ParamRole role) {
  return role == ParamRole::kInput ? "in" : role == ParamRole::kOutput ? "out" : "scratch";
}

// "a0 + b0" as "add(a0, b0)"; intermediate values are t<n>.
// (a0.. are what came before, b0.. what comes next.)
std::string CombineText(const ScalarProgram& p) {
  std::vector<std::string> names(p.insts.size()), lines;
  int half = p.num_args / 2, next = 0;
  for (size_t i = 0; i < p.insts.size(); ++i) {
    const ScalarInst& s = p.insts[i];
    if (s.op == ScalarOp::kArg) {
      int arg = static_cast<int>(s.imm);
      names[i] = arg < half ? absl::StrCat("a", arg) : absl::StrCat("b", arg - half);
      continue;
    }
    if (s.op == ScalarOp::kConst) {
      names[i] = Literal(s.dtype, s.imm);
      continue;
    }
    std::vector<std::string> in;
    for (int k = 0; k < GetScalarOp(s.op).arity; ++k)
      in.push_back(names[static_cast<size_t>(s.in[k])]);
    names[i] = absl::StrCat("t", next++);
    lines.push_back(absl::StrCat(names[i], " = ", ToAbsl(GetScalarOp(s.op).name), "(",
                                 absl::StrJoin(in, ", "), ")"));
  }
  std::vector<std::string> results;
  for (int16_t r : p.results) results.push_back(names[static_cast<size_t>(r)]);
  lines.push_back(absl::StrCat("{", absl::StrJoin(results, ", "), "}"));
  return absl::StrJoin(lines, "; ");
}

std::string ReduceText(const char* what, size_t index, const PlanReduce& r) {
  std::vector<std::string> in, init;
  for (size_t j = 0; j < r.in.size(); ++j) {
    in.push_back(absl::StrCat(Percent(r.in[j]), " ", Type(r.dtypes[j])));
    init.push_back(Literal(r.dtypes[j], r.init[j]));
  }
  return absl::StrCat(what, " ", index, " of ", absl::StrJoin(in, ", "), " from {",
                      absl::StrJoin(init, ", "), "}: ", CombineText(r.combine));
}

std::string ScanText(size_t index, const PlanScan& s) {
  std::vector<std::string> dtypes, init;
  for (size_t j = 0; j < s.dtypes.size(); ++j) {
    dtypes.push_back(Type(s.dtypes[j]));
    init.push_back(Literal(s.dtypes[j], s.init[j]));
  }
  return absl::StrCat(s.exclusive ? "exclusive " : "", "scan ", index, " ",
                      absl::StrJoin(dtypes, ", "), " from {", absl::StrJoin(init, ", "),
                      "}: ", CombineText(s.combine));
}

std::string StoreText(const Store& st) {
  return absl::StrCat("store ", AccessToString(st.access), " = ", Percent(st.value));
}

// The position of an indirect load.
std::string PositionText(const KernelPlan& plan, const Inst& load) {
  const AccessMap& a = plan.accesses[static_cast<size_t>(load.access)];
  if (!a.indirect) return "";
  return absl::StrCat(" at ", Percent(load.in[0]), " of ", a.indirect->ToString());
}

void WriteStage(const KernelPlan& plan, size_t s, Writer* w) {
  const Stage& stage = plan.stages[s];
  w->Line("stage ", s).Indent();
  for (int id : stage.row_insts_before) w->Line(InstToString(plan, id));
  w->Line(plan.IsRow() ? "for each inner point" : "for each point").Indent();
  for (int id : stage.elem_insts) w->Line(InstToString(plan, id));
  for (size_t r = 0; r < stage.reduces.size(); ++r)
    w->Line(ReduceText("reduce", r, stage.reduces[r]));
  for (size_t r = 0; r < stage.column_sums.size(); ++r) {
    const ColumnSum& sum = stage.column_sums[r];
    w->Line(ReduceText("column sum", r, sum.reduce), ", to p", absl::StrJoin(sum.params, ", p"));
  }
  for (const Store& st : stage.stores) {
    if (st.elem) w->Line(StoreText(st));
  }
  w->Dedent();
  for (int id : stage.row_insts_after) w->Line(InstToString(plan, id));
  for (const Store& st : stage.stores) {
    if (!st.elem) w->Line(StoreText(st));
  }
  w->Dedent();
}

std::string ScheduleText(const KernelPlan& plan) {
  if (std::holds_alternative<CpuSchedule>(plan.schedule)) {
    const CpuSchedule& s = plan.cpu();
    return absl::StrCat("cpu lanes ", s.lanes, " unroll ", s.unroll, " grain ", s.grain_bytes,
                        s.tile > 0 ? absl::StrCat(" tile ", s.tile, " of a", s.tile_axis) : "");
  }
  if (!std::holds_alternative<CudaSchedule>(plan.schedule)) return "none";
  const CudaSchedule& s = plan.cuda();
  std::string name, shape;
  switch (s.emitter) {
    case CudaEmitter::kFlat:
      name = "flat";
      break;
    case CudaEmitter::kTile:
      name = "tile";
      shape = absl::StrCat(" tile ", s.tile, " x ", s.tile, " of a", s.tile_axis);
      break;
    case CudaEmitter::kRow:
    case CudaEmitter::kColumn:
      name = s.emitter == CudaEmitter::kRow ? "row" : "column";
      shape = absl::StrCat(" threads_per_row ", s.threads_per_row, " rows_per_block ",
                           s.rows_per_block);
  }
  return absl::StrCat("cuda ", name, " threads ", s.threads, " vec ", s.vec, " items ", s.items,
                      shape, s.no_allocate ? " no_allocate" : "", s.window ? " window" : "",
                      s.sums_in_memory ? " sums_in_memory" : "");
}

std::string Extents(const char* what, int first, const Shape& extents) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < extents.size(); ++i)
    parts.push_back(absl::StrCat("a", first + static_cast<int>(i), "=", extents[i].ToString()));
  return absl::StrCat(what, " ", absl::StrJoin(parts, ", "));
}

}  // namespace

std::string InstToString(const KernelPlan& plan, int id) {
  const Inst& i = plan.insts[static_cast<size_t>(id)];
  std::string out = absl::StrCat(Percent(id), " ", Type(i.dtype), " = ");
  switch (i.kind) {
    case Inst::Kind::kLoad:
      return absl::StrCat(out, "load ",
                          AccessToString(plan.accesses[static_cast<size_t>(i.access)]),
                          PositionText(plan, i));
    case Inst::Kind::kConst:
      return absl::StrCat(out, Literal(i.dtype, i.bits));
    case Inst::Kind::kScalar:
      return absl::StrCat(out, "scalar ", i.scalar);
    case Inst::Kind::kIndex:
      return absl::StrCat(out, "index a", i.axis);
    case Inst::Kind::kSize:
      return absl::StrCat(out, "size ", plan.sizes[static_cast<size_t>(i.size)].ToString());
    case Inst::Kind::kResult:
      return absl::StrCat(out, "result ", i.which, " of reduce ", i.reduce);
    case Inst::Kind::kScan: {
      std::vector<std::string> lifted;
      for (int in : i.in) {
        if (in >= 0) lifted.push_back(Percent(in));
      }
      return absl::StrCat(out, "result ", i.which, " of scan ", i.scan, " of ",
                          absl::StrJoin(lifted, ", "));
    }
    case Inst::Kind::kSegment: {
      const AccessMap& order = plan.accesses[static_cast<size_t>(i.order)];
      return absl::StrCat(out, Percent(i.in[0]), " plus each ",
                          AccessToString(plan.accesses[static_cast<size_t>(i.access)]), " at ",
                          AccessToString(order), ", at from ", Percent(i.in[1]), " to ",
                          Percent(i.in[2]), order.indirect ? " of " : "",
                          order.indirect ? order.indirect->ToString() : "");
    }
    case Inst::Kind::kOp:
      break;
  }
  std::vector<std::string> in;
  for (int k = 0; k < GetScalarOp(i.op).arity; ++k) in.push_back(Percent(i.in[k]));
  return absl::StrCat(out, ToAbsl(GetScalarOp(i.op).name), " ", absl::StrJoin(in, ", "));
}

std::string PlanToString(const KernelPlan& plan) {
  Writer w;
  w.Line("plan ", plan.name, plan.IsRow() ? ": row" : ": flat", ", ", plan.offset_bits,
         "-bit offsets")
      .Indent();
  for (absl::string_view line : absl::StrSplit(plan.head, '\n', absl::SkipEmpty()))
    w.Line("# ", line);
  for (size_t p = 0; p < plan.params.size(); ++p) {
    const Param& param = plan.params[p];
    w.Line("p", p, " ", Role(param.role), " ", Type(param.dtype), " align ", param.align,
           param.may_alias ? " may_alias" : "");
  }
  for (size_t s = 0; s < plan.scalars.size(); ++s) w.Line("scalar ", s, " ", Type(plan.scalars[s]));
  w.Line(Extents("parallel", 0, plan.parallel));
  if (plan.IsRow())
    w.Line(Extents("inner", plan.num_parallel(), plan.inner),
           plan.inner_bound > 0 && !IsStatic(plan.inner)
               ? absl::StrCat(", at most ", plan.inner_bound, " points")
               : "");
  if (plan.HasColumnSums()) w.Line("blocks of ", plan.block_rows.ToString(), " rows");
  for (size_t s = 0; s < plan.scans.size(); ++s) w.Line(ScanText(s, plan.scans[s]));
  for (size_t s = 0; s < plan.stages.size(); ++s) WriteStage(plan, s, &w);
  if (!plan.keep.empty()) {
    w.Line("keep ", absl::StrJoin(plan.keep, ", ", [](std::string* out, int id) {
             absl::StrAppend(out, Percent(id));
           }));
  }
  w.Line("schedule ", ScheduleText(plan));
  for (const Note& n : plan.notes)
    w.Line("note ", ToAbsl(ReasonName(n.reason)), n.detail.empty() ? "" : ": ", n.detail);
  return w.Take();
}

}  // namespace jitfuse::internal
