// Gradients of pointwise rows and of reductions that say theirs as a scalar body: the body's
// instructions become ops. Declared in autodiff_rules.h.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "ir/autodiff_rules.h"
#include "ir/op_enum.h"
#include "ir/pointwise.h"
#include "ir/scalar_expr.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

struct SameMeaning {
  ScalarOp scalar;
  Op op;
};
// Rows of the two tables that mean the same. Convert is a cast; what is missing appears in no
// gradient.
constexpr SameMeaning kSameMeaning[] = {
    {ScalarOp::kAdd, Op::kAdd},           {ScalarOp::kSub, Op::kSubtract},
    {ScalarOp::kMul, Op::kMultiply},      {ScalarOp::kDiv, Op::kDivide},
    {ScalarOp::kFma, Op::kFma},           {ScalarOp::kNeg, Op::kNegative},
    {ScalarOp::kAbs, Op::kAbs},           {ScalarOp::kSign, Op::kSign},
    {ScalarOp::kCopySign, Op::kCopySign}, {ScalarOp::kMinimum, Op::kMinimum},
    {ScalarOp::kMaximum, Op::kMaximum},   {ScalarOp::kEq, Op::kEqual},
    {ScalarOp::kNe, Op::kNotEqual},       {ScalarOp::kLt, Op::kLess},
    {ScalarOp::kLe, Op::kLessEqual},      {ScalarOp::kGt, Op::kGreater},
    {ScalarOp::kGe, Op::kGreaterEqual},   {ScalarOp::kIsNan, Op::kIsNan},
    {ScalarOp::kIsInf, Op::kIsInf},       {ScalarOp::kIsFinite, Op::kIsFinite},
    {ScalarOp::kAnd, Op::kBitwiseAnd},    {ScalarOp::kOr, Op::kBitwiseOr},
    {ScalarOp::kXor, Op::kBitwiseXor},    {ScalarOp::kNot, Op::kBitwiseNot},
    {ScalarOp::kSelect, Op::kWhere},      {ScalarOp::kFloor, Op::kFloor},
    {ScalarOp::kCeil, Op::kCeil},         {ScalarOp::kTrunc, Op::kTrunc},
    {ScalarOp::kRoundEven, Op::kRound},   {ScalarOp::kSqrt, Op::kSqrt},
    {ScalarOp::kRsqrt, Op::kRsqrt},       {ScalarOp::kReciprocal, Op::kReciprocal},
    {ScalarOp::kExp, Op::kExp},           {ScalarOp::kExp2, Op::kExp2},
    {ScalarOp::kExpm1, Op::kExpm1},       {ScalarOp::kLog, Op::kLog},
    {ScalarOp::kLog2, Op::kLog2},         {ScalarOp::kLog10, Op::kLog10},
    {ScalarOp::kLog1p, Op::kLog1p},       {ScalarOp::kSin, Op::kSin},
    {ScalarOp::kCos, Op::kCos},           {ScalarOp::kTan, Op::kTan},
    {ScalarOp::kAsin, Op::kAsin},         {ScalarOp::kAcos, Op::kAcos},
    {ScalarOp::kAtan, Op::kAtan},         {ScalarOp::kAtan2, Op::kAtan2},
    {ScalarOp::kSinh, Op::kSinh},         {ScalarOp::kCosh, Op::kCosh},
    {ScalarOp::kTanh, Op::kTanh},         {ScalarOp::kAsinh, Op::kAsinh},
    {ScalarOp::kAcosh, Op::kAcosh},       {ScalarOp::kAtanh, Op::kAtanh},
    {ScalarOp::kErf, Op::kErf},           {ScalarOp::kErfc, Op::kErfc},
    {ScalarOp::kLgamma, Op::kLgamma},     {ScalarOp::kPow, Op::kPow},
    {ScalarOp::kFmod, Op::kFloatFmod},  // of floats
};

std::optional<Op> TensorOp(ScalarOp op) {
  for (const SameMeaning& pair : kSameMeaning) {
    if (pair.scalar == op) return pair.op;
  }
  return std::nullopt;
}

bool IsZero(const ScalarProgram& program, int16_t reg) {
  const ScalarInst& inst = program.insts[static_cast<size_t>(reg)];
  return inst.op == ScalarOp::kConst && inst.imm == 0;
}

// By register, whether a result that is asked for needs it.
std::vector<bool> Live(const ScalarProgram& program, absl::Span<const int16_t> results) {
  std::vector<bool> live(program.insts.size(), false);
  for (int16_t r : results) live[static_cast<size_t>(r)] = true;
  for (size_t i = program.insts.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (int16_t in : program.insts[i].in) {
      if (in >= 0) live[static_cast<size_t>(in)] = true;
    }
  }
  return live;
}

// Whether the results rounded to `dtype`, 16 bits wide, are the same if every instruction is:
// nothing is rounded but results themselves.
bool RoundsOnce(const ScalarProgram& program, const std::vector<bool>& live, DType dtype) {
  for (size_t i = 0; i < program.insts.size(); ++i) {
    const ScalarInst& inst = program.insts[i];
    if (!live[i] || inst.op == ScalarOp::kArg || inst.dtype == DType::kBool) continue;
    if (inst.op == ScalarOp::kConst) {
      const ScalarValue v = ScalarValue::FromBits(inst.imm);
      if (ConvertScalar(inst.dtype, dtype, v).bits() != v.bits()) return false;
      continue;
    }
    const double ulp = GetScalarOp(inst.op).max_ulp_f32;
    if (ulp == 0) continue;
    if (ulp > 0.5 || inst.op == ScalarOp::kFma || inst.op == ScalarOp::kConvert) return false;
    for (const ScalarInst& user : program.insts) {
      const bool used = std::find(user.in, user.in + 3, static_cast<int16_t>(i)) != user.in + 3;
      if (used && live[static_cast<size_t>(&user - program.insts.data())]) return false;
    }
  }
  return true;
}

// The registers as values of the graph; `args` in the types that the program takes, but floats of
// 16 bits where `narrow` says that all of it is computed in them.
class Translation {
 public:
  Translation(GradRule* r, const ScalarProgram& program, std::vector<bool> live,
              std::optional<DType> narrow)
      : r_(r), program_(program), live_(std::move(live)), narrow_(narrow) {}

  void Run(absl::Span<const Value> args) {
    for (size_t i = 0; i < program_.insts.size(); ++i) {
      values_.emplace_back();
      if (live_[i]) values_.back() = Make(program_.insts[i], args);
    }
  }
  Value At(int16_t reg) const { return values_[static_cast<size_t>(reg)]; }

 private:
  DType TypeOf(DType dtype) const { return narrow_ && dtype == DType::kF32 ? *narrow_ : dtype; }

  Value Make(const ScalarInst& inst, absl::Span<const Value> args) {
    if (inst.op == ScalarOp::kArg) return r_->Cast(args[inst.imm], TypeOf(inst.dtype));
    if (inst.op == ScalarOp::kConst)
      return r_->graph()->AddConstantBits(TypeOf(inst.dtype), ScalarValue::FromBits(inst.imm));
    if (inst.op == ScalarOp::kConvert) return r_->Cast(At(inst.in[0]), inst.dtype);
    const std::optional<Op> op = TensorOp(inst.op);
    if (!op) {
      r_->Fail(InternalError("gradient of ", ToAbsl(r_->node().def().name), ": no op means ",
                             ToAbsl(GetScalarOp(inst.op).name)));
      return {};
    }
    const int arity = GetScalarOp(inst.op).arity;
    if (arity == 1) return r_->Apply(*op, {At(inst.in[0])});
    if (arity == 2) return r_->Apply(*op, {At(inst.in[0]), At(inst.in[1])});
    return r_->Apply(*op, {At(inst.in[0]), At(inst.in[1]), At(inst.in[2])});
  }

  GradRule* r_;
  const ScalarProgram& program_;
  std::vector<bool> live_;
  std::optional<DType> narrow_;
  std::vector<Value> values_;
};

// Results of the program that are wanted are given to the operands of their numbers.
void GiveResults(GradRule& r, const ScalarProgram& program, absl::Span<const Value> args) {
  std::vector<int16_t> wanted;
  for (size_t i = 0; i < program.results.size(); ++i) {
    if (r.Wants(i) && !IsZero(program, program.results[i])) wanted.push_back(program.results[i]);
  }
  if (wanted.empty()) return;
  std::vector<bool> live = Live(program, wanted);
  const DType dtype = r.node().types[0].dtype;
  std::optional<DType> narrow;
  if (Is16BitFloat(dtype) && RoundsOnce(program, live, dtype)) narrow = dtype;
  Translation translation(&r, program, std::move(live), narrow);
  translation.Run(args);
  for (size_t i = 0; i < program.results.size(); ++i) {
    if (r.Wants(i) && !IsZero(program, program.results[i]))
      r.Give(i, translation.At(program.results[i]));
  }
}

// The reverse of a program, appended to it: registers that hold the gradients of its arguments.
class Reverse {
 public:
  explicit Reverse(ScalarProgram* program) : program_(program) {}

  absl::StatusOr<std::vector<int16_t>> Run(int16_t result, int16_t g, int args) {
    const auto size = static_cast<int16_t>(program_->insts.size());
    gradient_.assign(static_cast<size_t>(size), int16_t{-1});
    gradient_[static_cast<size_t>(result)] = g;
    std::vector<int16_t> of_args(static_cast<size_t>(args), int16_t{-1});
    for (int16_t i = size; i-- > 0;) {
      const ScalarInst inst = program_->insts[static_cast<size_t>(i)];
      const int16_t here = gradient_[static_cast<size_t>(i)];
      if (here < 0 || inst.op == ScalarOp::kConst) continue;
      if (inst.op != ScalarOp::kArg) {
        JF_RETURN_IF_ERROR(Back(inst, i, here));
      } else if (inst.imm < static_cast<uint64_t>(args)) {
        of_args[inst.imm] = here;
      }
    }
    return of_args;
  }

 private:
  DType TypeOf(int16_t reg) const { return program_->insts[static_cast<size_t>(reg)].dtype; }

  int16_t Push(ScalarInst inst) {
    program_->insts.push_back(inst);
    return static_cast<int16_t>(program_->insts.size() - 1);
  }

  void Contribute(int16_t to, int16_t g) {
    int16_t& sum = gradient_[static_cast<size_t>(to)];
    sum = sum < 0 ? g : Push({ScalarOp::kAdd, TypeOf(to), {sum, g, -1}, 0});
  }

  absl::Status Back(const ScalarInst& inst, int16_t y, int16_t g) {
    if (inst.op == ScalarOp::kConvert) {
      if (IsFloat(TypeOf(inst.in[0]))) {
        const DType to = TypeOf(inst.in[0]);
        Contribute(inst.in[0],
                   to == TypeOf(g) ? g : Push({ScalarOp::kConvert, to, {g, -1, -1}, 0}));
      }
      return absl::OkStatus();
    }
    const ScalarOpDef& def = GetScalarOp(inst.op);
    if (!IsFloat(inst.dtype)) return absl::OkStatus();
    if (def.grad.empty()) return Unimplemented(ToAbsl(def.name), " has no gradient");
    std::vector<std::string_view> names = {"g", "y", "a", "b", "c"};
    names.resize(2 + static_cast<size_t>(def.arity));
    std::vector<int16_t> args = {g, y};
    std::vector<DType> types = {TypeOf(g), TypeOf(y)}, results;
    for (int k = 0; k < def.arity; ++k) {
      args.push_back(inst.in[k]);
      types.push_back(TypeOf(inst.in[k]));
      results.push_back(inst.dtype);
    }
    JF_ASSIGN_OR_RETURN(ScalarProgram rule,
                        BuildScalarProgram(def.grad, names, types, nullptr, results));
    const std::vector<int16_t> grads = InlineProgram(rule, args, program_);
    for (size_t k = 0; k < grads.size(); ++k) {
      if (IsFloat(TypeOf(inst.in[k])) && !IsZero(rule, rule.results[k]))
        Contribute(inst.in[k], grads[k]);
    }
    return absl::OkStatus();
  }

  ScalarProgram* program_;
  std::vector<int16_t> gradient_;
};

AttrLookup AttrsOf(const Node& node) {
  return [&node](std::string_view name) { return AttrNumber(node, name); };
}

}  // namespace

void GradByText(GradRule& r) {
  const Node& node = r.node();
  std::vector<std::string_view> names(node.def().args.begin(),
                                      node.def().args.begin() + static_cast<long>(node.in.size()));
  std::vector<DType> types, results;
  std::vector<Value> args(node.in.begin(), node.in.end());
  const DType compute = ComputeType(node.types[0].dtype);
  for (Value v : node.in) {
    types.push_back(ComputeType(r.Type(v).dtype));
    results.push_back(compute);
  }
  for (const auto& [name, value] : {std::pair("g", r.RawG()), std::pair("out", r.RawOut())}) {
    names.emplace_back(name);
    types.push_back(compute);
    args.push_back(value);
  }
  absl::StatusOr<ScalarProgram> program =
      BuildScalarProgram(node.def().grad, names, types, AttrsOf(node), results);
  if (!program.ok()) return r.Fail(program.status());
  GiveResults(r, *program, args);
}

void GradByBody(GradRule& r) {
  const Node& node = r.node();
  std::vector<DType> types;
  for (Value v : node.in) types.push_back(ComputeType(r.Type(v).dtype));
  absl::StatusOr<ScalarProgram> program = PointwiseProgram(node, types, BodyForm::kDeclared);
  if (!program.ok()) return r.Fail(program.status());
  const auto arity = static_cast<int>(node.in.size());
  const int16_t result = program->results[0];
  program->insts.push_back({ScalarOp::kArg,
                            ComputeType(node.types[0].dtype),
                            {-1, -1, -1},
                            static_cast<uint64_t>(arity)});
  program->num_args = arity + 1;
  const auto g = static_cast<int16_t>(program->insts.size() - 1);
  absl::StatusOr<std::vector<int16_t>> grads = Reverse(&*program).Run(result, g, arity);
  if (!grads.ok()) return r.Fail(grads.status());
  // An argument that the body does not pass gradients to gets a constant 0, which is none.
  program->insts.push_back({ScalarOp::kConst, DType::kF32, {-1, -1, -1}, 0});
  const auto zero = static_cast<int16_t>(program->insts.size() - 1);
  for (int16_t& reg : *grads) reg = reg < 0 ? zero : reg;
  program->results = *grads;
  std::vector<Value> args(node.in.begin(), node.in.end());
  args.push_back(r.RawG());
  GiveResults(r, *program, args);
}

// As for pointwise rows, of one element; g and out are broadcast back, n is the number of elements.
void GradReduceByText(GradRule& r) {
  const Node& node = r.node();
  const auto& axes = node.Get<std::vector<int64_t>>("axes");
  Shape kept = r.Type(node.in[0]).dims;
  for (int64_t axis : axes) kept[static_cast<size_t>(axis)] = Dim(1);
  Value x = r.In(0), n = r.Count(x, axes, true);
  Value g = r.Reshape(r.G(), kept), out = r.Reshape(r.Out(), kept);
  if (!r.ok()) return;
  const DType type = r.compute();
  absl::StatusOr<ScalarProgram> program = BuildScalarProgram(
      node.def().grad, {"x", "g", "out", "n"}, {type, type, type, type}, AttrsOf(node), {type});
  if (!program.ok()) return r.Fail(program.status());
  Translation translation(&r, *program, Live(*program, program->results), std::nullopt);
  translation.Run({x, g, out, n});
  r.Give(0, r.Apply(Op::kBroadcast, {translation.At(program->results[0])},
                    {{"shape", std::vector<Dim>(r.Dims(x).begin(), r.Dims(x).end())}}));
}

}  // namespace jitfuse::internal
