// Scalar programs and table templates as instructions on vectors (or scalars: one lane).
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "cpu_backend/emit_llvm_internal.h"
#include "ir/support/check.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

struct TemplateArgs {
  absl::Span<const std::string> in;
  std::string result_type, operand_type, suffix, bool_type;
};

// $0 $1 $2 operands, $t result type, $s operand type, $m intrinsic suffix of $s, $b bool type of
// the same width.
std::string Substitute(std::string_view text, const TemplateArgs& args) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out.push_back(text[i]);
      continue;
    }
    switch (char c = text[++i]) {
      case '0':
      case '1':
      case '2':
        out += args.in[static_cast<size_t>(c - '0')];
        break;
      case 't':
        out += args.result_type;
        break;
      case 's':
        out += args.operand_type;
        break;
      case 'm':
        out += args.suffix;
        break;
      case 'b':
        out += args.bool_type;
        break;
      default:
        JF_CHECK(false && "unknown placeholder in an LLVM template");
    }
  }
  return out;
}

// The op alone, on arguments.
ScalarProgram ProgramOf(ScalarOp op, DType result, absl::Span<const DType> operands) {
  ScalarProgram program;
  program.num_args = static_cast<int>(operands.size());
  ScalarInst call{.op = op, .dtype = result};
  for (size_t k = 0; k < operands.size(); ++k) {
    program.insts.push_back({.op = ScalarOp::kArg, .dtype = ComputeType(operands[k]), .imm = k});
    call.in[k] = static_cast<int16_t>(k);
  }
  program.insts.push_back(call);
  program.results.push_back(static_cast<int16_t>(operands.size()));
  return program;
}

}  // namespace

// `operand`: the type by which the template is chosen (of operand 1 for select; the source type for
// convert).
std::string LlvmEmitter::Apply(ScalarOp op, DType result, DType operand,
                               absl::Span<const std::string> in, int lanes) {
  if (op == ScalarOp::kConvert) return Convert(operand, result, in[0], lanes);
  if (cpu_.avx512 && IsFloat(operand) && lanes * ItemSize(ComputeType(operand)) == 64) {
    if (std::string value = ApplyAvx512(op, operand, in, lanes); !value.empty()) return value;
  }
  if (op == ScalarOp::kScalePow2Raw) {  // was kept for full registers only
    return Run(Expanded(op, result, operand, {operand, operand}), in, lanes)[0];
  }
  const ScalarOpDef& def = GetScalarOp(op);
  std::string_view text = def.llvm[static_cast<int>(ClassOf(ComputeType(operand)))];
  if (text.empty()) {
    error_.Update(InternalError("no LLVM template for ", ToAbsl(def.name), " of ",
                                ToAbsl(DTypeName(operand))));
    return in[0];
  }
  const std::string value = Substitute(text, {.in = in,
                                              .result_type = RegisterType(result, lanes),
                                              .operand_type = RegisterType(operand, lanes),
                                              .suffix = OverloadSuffix(operand, lanes),
                                              .bool_type = RegisterType(DType::kBool, lanes)});
  return op == ScalarOp::kFmodRaw ? FmodRaw(operand, value, in, lanes) : text_.Value(value);
}

// Single instructions of AVX-512 for what a template would spend many on; empty: there is none. The
// bits are those of the template or the decomposition, NaN apart.
std::string LlvmEmitter::ApplyAvx512(ScalarOp op, DType operand, absl::Span<const std::string> in,
                                     int lanes) {
  const DType dtype = ComputeType(operand);
  const std::string type = RegisterType(dtype, lanes);
  const std::string_view kind = dtype == DType::kF64 ? "pd" : "ps";
  const std::string all = absl::StrCat("i", lanes, " -1, i32 4");  // every lane, default rounding
  auto call = [&](std::string_view name, const std::string& a, const std::string& b,
                  std::string_view more) {
    return text_.Value("call ", type, " @llvm.x86.avx512.mask.", ToAbsl(name), ".", ToAbsl(kind),
                       ".512(", type, " ", a, ", ", type, " ", b, ", ", ToAbsl(more), type,
                       " zeroinitializer, ", all, ")");
  };
  if (op == ScalarOp::kScalePow2Raw) {
    const double biased_zero = dtype == DType::kF64 ? 0x1.8p+52 : 0x1.8p+23;
    const std::string zero = ConstantOf(dtype, ScalarFromDouble(dtype, biased_zero).u, lanes);
    return call("scalef", in[0], text_.Value("fsub ", type, " ", in[1], ", ", zero), "");
  }
  if (op != ScalarOp::kMinimum && op != ScalarOp::kMaximum) return "";
  // vrange orders -0 below +0, but prefers a number to a NaN.
  const std::string number =
      call("range", in[0], in[1], op == ScalarOp::kMaximum ? "i32 5, " : "i32 4, ");
  const std::string nan = text_.Value("fadd ", type, " ", in[0], ", ", in[1]);
  const std::string unordered = text_.Value("fcmp uno ", type, " ", in[0], ", ", in[1]);
  return text_.Value("select ", RegisterType(DType::kBool, lanes), " ", unordered, ", ", type, " ",
                     nan, ", ", type, " ", number);
}

std::vector<std::string> LlvmEmitter::Run(const ScalarProgram& program,
                                          absl::Span<const std::string> args, int lanes) {
  std::vector<std::string> registers(program.insts.size());
  for (size_t i = 0; i < program.insts.size(); ++i) {
    const ScalarInst& inst = program.insts[i];
    if (inst.op == ScalarOp::kArg) {
      registers[i] = args[inst.imm];
    } else if (inst.op == ScalarOp::kConst) {
      registers[i] = ConstantOf(inst.dtype, inst.imm, lanes);
    } else {
      absl::InlinedVector<std::string, 3> in;
      for (int k = 0; k < GetScalarOp(inst.op).arity; ++k)
        in.push_back(registers[static_cast<size_t>(inst.in[k])]);
      registers[i] =
          Apply(inst.op, inst.dtype, OperandType(program, static_cast<int>(i)), in, lanes);
    }
  }
  std::vector<std::string> results;
  for (int16_t r : program.results) results.push_back(registers[static_cast<size_t>(r)]);
  return results;
}

// The decomposition of an op, made once per (op, types).
const ScalarProgram& LlvmEmitter::Expanded(ScalarOp op, DType result, DType operand,
                                           absl::Span<const DType> operands) {
  auto [it, inserted] = expanded_.try_emplace(
      {static_cast<int>(op), static_cast<int>(operand), static_cast<int>(result)});
  if (inserted) {
    it->second = ExpandDecomps(
        ProgramOf(op, result, operands),
        {.fma = cpu_.fma, .scale_pow2 = cpu_.avx512 && op != ScalarOp::kScalePow2Raw});
  }
  return it->second;
}

// An op of the plan: its template, or its decomposition.
std::string LlvmEmitter::ApplyPlanOp(const Inst& inst, absl::Span<const std::string> in,
                                     int lanes) {
  DType operand = TypeOf(inst.in[inst.op == ScalarOp::kSelect ? 1 : 0]);
  bool expand_fma = inst.op == ScalarOp::kFma && !cpu_.fma;
  if (inst.op == ScalarOp::kConvert || (!HasDecomp(inst.op, ComputeType(operand)) && !expand_fma)) {
    return Apply(inst.op, inst.dtype, operand, in, lanes);
  }
  absl::InlinedVector<DType, 3> types;
  for (size_t k = 0; k < in.size(); ++k) types.push_back(TypeOf(inst.in[k]));
  const ScalarProgram& program = Expanded(inst.op, inst.dtype, operand, types);
  // Without an instruction for fma each is some thirty, and a long kernel of dear ops megabytes.
  constexpr size_t kWorthACall = 200;
  if (!cpu_.fma && program.insts.size() >= kWorthACall && inst.dtype != DType::kBool)
    return CallExpanded(inst, program, in, lanes);
  return Run(program, in, lanes)[0];
}

// Writes a function behind the kernel; `body` gives its value.
void LlvmEmitter::Define(const std::string& result, const std::string& name,
                         const std::string& params, absl::FunctionRef<std::string()> body) {
  LlvmText kernel = std::exchange(text_, LlvmText());
  const std::string value = body();
  absl::StrAppend(&helpers_,
                  text_.Finish("\n",
                               absl::StrCat("define internal ", result, " ", name, "(", params,
                                            ") noinline nounwind willreturn memory(none)"),
                               absl::StrCat(result, " ", value)));
  text_ = std::move(kernel);
}

// A function of its own, written once per types and lanes (and kernel: some share a module). Calls
// of it are values like others: they are merged and moved out of loops.
std::string LlvmEmitter::CallExpanded(const Inst& inst, const ScalarProgram& program,
                                      absl::Span<const std::string> in, int lanes) {
  const std::string result = RegisterType(inst.dtype, lanes);
  std::string name = absl::StrCat("@", plan_.name, "_", ToAbsl(GetScalarOp(inst.op).name), "_",
                                  ToAbsl(DTypeName(inst.dtype)), "_", lanes);
  std::string params, args;
  std::vector<std::string> inside;
  for (size_t k = 0; k < in.size(); ++k) {
    const DType dtype = TypeOf(inst.in[k]);
    absl::StrAppend(&name, "_", ToAbsl(DTypeName(dtype)));
    const std::string type = RegisterType(dtype, lanes);
    inside.push_back(absl::StrCat("%a", k));
    absl::StrAppend(&params, k == 0 ? "" : ", ", type, " ", inside.back());
    absl::StrAppend(&args, k == 0 ? "" : ", ", type, " ", in[k]);
  }
  if (called_.insert(name).second)
    Define(result, name, params, [&] { return Run(program, inside, lanes)[0]; });
  return text_.Value("call ", result, " ", name, "(", args, ")");
}

}  // namespace jitfuse::internal
