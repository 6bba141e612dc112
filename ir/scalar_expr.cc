// The table as data, and what is done with whole programs: splicing, expanding, evaluating,
// printing.
#include "ir/scalar_expr.h"

#include <array>
#include <atomic>
#include <map>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/scalar_decomps.h"
#include "ir/scalar_decomps_trig.h"
#include "ir/scalar_functions.h"
#include "ir/scalar_value.h"
#include "ir/support/check.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr int kFirstRow = static_cast<int>(ScalarOp::kConst) + 1;

const ScalarOpDef kTable[] = {
#define JF_SCALAR(Name, ...) {ScalarOp::k##Name, __VA_ARGS__},
#include "ir/scalar_ops.inc"
#undef JF_SCALAR
};

std::string_view DecompText(const ScalarOpDef& def, DType operand) {
  if (!IsFloat(operand)) return def.decomp_int;
  return operand == DType::kF64 && !def.decomp_f64.empty() ? def.decomp_f64 : def.decomp_f32;
}

constexpr std::string_view kDecompArgs[] = {"a", "b", "c"};

// The row's decomp as a program, one level deep.
ScalarProgram BuildDecomp(const ScalarOpDef& def, DType operand) {
  const DType types[] = {operand, operand, operand};
  const auto arity = static_cast<size_t>(def.arity);
  const DType result = def.rule == ScalarTypeRule::kSame ? operand : DType::kBool;
  absl::StatusOr<ScalarProgram> program = BuildScalarProgram(
      DecompText(def, operand), absl::MakeConstSpan(kDecompArgs, arity),
      absl::MakeConstSpan(types, arity), nullptr, absl::MakeConstSpan(&result, 1));
  JF_CHECK(program.ok());  // a test parses every decomp of the table
  return *std::move(program);
}

// Cached for the life of the process. Two threads may build the same one; the first to publish
// wins.
const ScalarProgram& Decomp(ScalarOp op, DType operand) {
  static std::array<std::array<std::atomic<const ScalarProgram*>, kNumDTypes>,
                    static_cast<size_t>(ScalarOp::kCount)>
      cache;
  std::atomic<const ScalarProgram*>& entry =
      cache[static_cast<size_t>(op)][static_cast<size_t>(operand)];
  const ScalarProgram* known = entry.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  auto built = std::make_unique<const ScalarProgram>(BuildDecomp(GetScalarOp(op), operand));
  if (entry.compare_exchange_strong(known, built.get(), std::memory_order_acq_rel))
    known = built.release();
  return *known;
}

// Appends instructions to a program; equal ones share a register.
class Appender {
 public:
  explicit Appender(ScalarProgram* program) : program_(program) {}

  int16_t Append(const ScalarInst& inst) {
    Key key{static_cast<uint64_t>(inst.op) | static_cast<uint64_t>(inst.dtype) << 8 |
                static_cast<uint64_t>(static_cast<uint16_t>(inst.in[0])) << 16 |
                static_cast<uint64_t>(static_cast<uint16_t>(inst.in[1])) << 32 |
                static_cast<uint64_t>(static_cast<uint16_t>(inst.in[2])) << 48,
            inst.imm};
    auto [at, inserted] = known_.try_emplace(key, static_cast<int16_t>(program_->insts.size()));
    if (inserted) {
      JF_CHECK(program_->insts.size() < 32000);
      program_->insts.push_back(inst);
    }
    return at->second;
  }

 private:
  using Key = std::pair<uint64_t, uint64_t>;
  ScalarProgram* program_;
  std::map<Key, int16_t> known_;
};

// Copies callee's instructions through `append`, with its arguments replaced by args.
template <typename F>
std::vector<int16_t> Splice(const ScalarProgram& callee, absl::Span<const int16_t> args, F append) {
  std::vector<int16_t> map(callee.insts.size());
  for (size_t i = 0; i < callee.insts.size(); ++i) {
    ScalarInst inst = callee.insts[i];
    if (inst.op == ScalarOp::kArg) {
      map[i] = args[inst.imm];
      continue;
    }
    for (int16_t& in : inst.in) {
      if (in >= 0) in = map[static_cast<size_t>(in)];
    }
    map[i] = append(inst);
  }
  std::vector<int16_t> results;
  for (int16_t result : callee.results) results.push_back(map[static_cast<size_t>(result)]);
  return results;
}

bool NeedsExpansion(ScalarOp op, DType operand, CpuInstructions has) {
  if (op == ScalarOp::kFma) return !has.fma;
  if (op == ScalarOp::kScalePow2Raw) return !has.scale_pow2;
  return HasDecomp(op, operand);
}

// One level of expansion. Returns whether anything was expanded.
bool ExpandOnce(const ScalarProgram& from, CpuInstructions has, ScalarProgram* to) {
  bool expanded = false;
  Appender appender(to);
  auto append = [&appender](const ScalarInst& inst) { return appender.Append(inst); };
  to->num_args = from.num_args;
  std::vector<int16_t> map(from.insts.size());
  for (size_t i = 0; i < from.insts.size(); ++i) {
    ScalarInst inst = from.insts[i];
    for (int16_t& in : inst.in) {
      if (in >= 0) in = map[static_cast<size_t>(in)];
    }
    DType operand = inst.in[0] < 0 ? inst.dtype : OperandType(from, static_cast<int>(i));
    if (inst.in[0] >= 0 && NeedsExpansion(inst.op, operand, has)) {
      expanded = true;
      map[i] = Splice(Decomp(inst.op, operand), inst.in, append)[0];
    } else {
      map[i] = append(inst);
    }
  }
  for (int16_t result : from.results) to->results.push_back(map[static_cast<size_t>(result)]);
  return expanded;
}

// Registers of a program while it runs.
using Registers = absl::InlinedVector<ScalarValue, 96>;

std::string ConstantToString(DType dtype, ScalarValue v) {
  if (dtype == DType::kBool) return v.u != 0 ? "true" : "false";
  if (IsFloat(dtype))
    return absl::StrFormat("%.*g", dtype == DType::kF64 ? 17 : 9, ScalarToDouble(dtype, v));
  return IsSigned(dtype) ? absl::StrCat(v.i) : absl::StrCat(v.u);
}

}  // namespace

ScalarClass ClassOf(DType compute_type) {
  if (compute_type == DType::kBool) return ScalarClass::kBool;
  if (compute_type == DType::kF64) return ScalarClass::kF64;
  if (IsFloat(compute_type)) return ScalarClass::kF32;
  return IsSigned(compute_type) ? ScalarClass::kSigned : ScalarClass::kUnsigned;
}

const ScalarOpDef& GetScalarOp(ScalarOp op) {
  const int row = static_cast<int>(op) - kFirstRow;
  JF_CHECK(row >= 0 && op < ScalarOp::kCount);
  return kTable[row];
}

std::optional<ScalarOp> FindScalarOp(std::string_view name) {
  for (const ScalarOpDef& def : kTable) {
    if (def.name == name) return def.op;
  }
  return std::nullopt;
}

ScalarProgram For16BitTypes(ScalarProgram program) {
  static const auto* const kForms = [] {
    auto* forms = new std::array<ScalarOp, static_cast<size_t>(ScalarOp::kCount)>;
    for (size_t i = 0; i < forms->size(); ++i) (*forms)[i] = static_cast<ScalarOp>(i);
    for (const ScalarOpDef& def : kTable) {
      if (auto form = FindScalarOp(absl::StrCat(ToAbsl(def.name), "_16")))
        (*forms)[static_cast<size_t>(def.op)] = *form;
    }
    return forms;
  }();
  for (ScalarInst& inst : program.insts) inst.op = (*kForms)[static_cast<size_t>(inst.op)];
  return program;
}

DType OperandType(const ScalarProgram& program, int i) {
  const ScalarInst& inst = program.insts[static_cast<size_t>(i)];
  const int16_t in = inst.op == ScalarOp::kSelect ? inst.in[1] : inst.in[0];
  return ComputeType(program.insts[static_cast<size_t>(in)].dtype);
}

bool HasDecomp(ScalarOp op, DType operand) {
  if (op == ScalarOp::kArg || op == ScalarOp::kConst) return false;
  const ScalarOpDef& def = GetScalarOp(op);
  const DType type = ComputeType(operand);
  return def.llvm[static_cast<size_t>(ClassOf(type))].empty() && !DecompText(def, type).empty();
}

std::vector<int16_t> InlineProgram(const ScalarProgram& callee, absl::Span<const int16_t> args,
                                   ScalarProgram* program) {
  return Splice(callee, args, [program](const ScalarInst& inst) {
    JF_CHECK(program->insts.size() < 32000);
    program->insts.push_back(inst);
    return static_cast<int16_t>(program->insts.size() - 1);
  });
}

ScalarProgram ExpandDecomps(const ScalarProgram& program, CpuInstructions has) {
  ScalarProgram current = program;
  while (true) {
    ScalarProgram next;
    bool expanded = ExpandOnce(current, has, &next);
    if (!expanded) return current;
    current = std::move(next);
  }
}

ScalarValue EvalScalarInst(const ScalarInst& inst, const DType* in_types, const ScalarValue* in) {
  if (inst.op == ScalarOp::kConst) return ScalarValue::FromBits(inst.imm);
  if (inst.op == ScalarOp::kConvert) return ConvertScalar(in_types[0], inst.dtype, in[0]);
  const ScalarOpDef& def = GetScalarOp(inst.op);
  const DType operand = ComputeType(in_types[def.rule == ScalarTypeRule::kSelect ? 1 : 0]);
  if (def.eval != nullptr) return def.eval(operand, ComputeType(inst.dtype), in);
  ScalarValue out;
  EvalScalarProgram(Decomp(inst.op, operand), in, &out);
  return out;
}

void EvalScalarProgram(const ScalarProgram& program, const ScalarValue* args, ScalarValue* out) {
  Registers registers(program.insts.size());
  for (size_t i = 0; i < program.insts.size(); ++i) {
    const ScalarInst& inst = program.insts[i];
    if (inst.op == ScalarOp::kArg) {
      registers[i] = args[inst.imm];
      continue;
    }
    ScalarValue in[3];
    DType types[3] = {};
    for (size_t k = 0; k < 3 && inst.in[k] >= 0; ++k) {
      in[k] = registers[static_cast<size_t>(inst.in[k])];
      types[k] = program.insts[static_cast<size_t>(inst.in[k])].dtype;
    }
    registers[i] = EvalScalarInst(inst, types, in);
  }
  for (size_t i = 0; i < program.results.size(); ++i)
    out[i] = registers[static_cast<size_t>(program.results[i])];
}

std::string ScalarProgramToString(const ScalarProgram& program) {
  std::string text;
  for (size_t i = 0; i < program.insts.size(); ++i) {
    const ScalarInst& inst = program.insts[i];
    absl::StrAppend(&text, "%", i, " = ");
    if (inst.op == ScalarOp::kArg) {
      absl::StrAppend(&text, "arg ", inst.imm);
    } else if (inst.op == ScalarOp::kConst) {
      absl::StrAppend(&text, ConstantToString(inst.dtype, ScalarValue::FromBits(inst.imm)));
    } else {
      absl::StrAppend(&text, ToAbsl(GetScalarOp(inst.op).name));
      for (size_t k = 0; k < 3 && inst.in[k] >= 0; ++k)
        absl::StrAppend(&text, k == 0 ? " %" : ", %", inst.in[k]);
    }
    absl::StrAppend(&text, " : ", ToAbsl(DTypeName(inst.dtype)), "\n");
  }
  absl::StrAppend(&text, "return");
  for (size_t i = 0; i < program.results.size(); ++i)
    absl::StrAppend(&text, i == 0 ? " %" : ", %", program.results[i]);
  absl::StrAppend(&text, "\n");
  return text;
}

}  // namespace jitfuse::internal
