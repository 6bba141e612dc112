// fmod_raw: a loop of vectors, in a function of its own behind the kernel, which is called where
// some lane's quotient is too large for the decomposition of fmod.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cpu_backend/emit_llvm_internal.h"
#include "ir/scalar_decomps.h"
#include "ir/support/check.h"

namespace jitfuse::internal {
namespace {

// A body of ir/scalar_decomps.h; all of its primitives have templates.
ScalarProgram Build(std::string_view body, absl::Span<const DType> args,
                    absl::Span<const DType> results) {
  static constexpr std::string_view kNames[] = {"a", "b", "c"};
  absl::StatusOr<ScalarProgram> program =
      BuildScalarProgram(body, absl::MakeConstSpan(kNames, args.size()), args, nullptr, results);
  JF_CHECK(program.ok());
  return *std::move(program);
}

}  // namespace

// i1: some lane of a comparison holds. Lanes behind the end of a row may hold anything.
std::string LlvmEmitter::AnyLane(const std::string& lane, int lanes) {
  if (lanes == 1) return text_.Value("freeze i1 ", lane);
  const std::string bits = absl::StrCat("i", lanes);
  const std::string mask =
      text_.Value("bitcast ", RegisterType(DType::kBool, lanes), " ", lane, " to ", bits);
  return text_.Value("icmp ne ", bits, " ", text_.Value("freeze ", bits, " ", mask), ", 0");
}

// `call`: the template with its operands.
std::string LlvmEmitter::FmodRaw(DType operand, const std::string& call,
                                 absl::Span<const std::string> in, int lanes) {
  const std::string type = RegisterType(operand, lanes);
  const std::string own = absl::StrCat("@", plan_.name, "_");
  const std::string name = absl::StrCat(own, "fmod.", OverloadSuffix(operand, lanes));
  if (called_.insert(name).second) DefineFmod(operand, name, lanes);
  const std::string before = text_.NewLabel("before"), large = text_.NewLabel("large"),
                    joined = text_.NewLabel("joined");
  text_.Branch(before);
  text_.Label(before);
  // Not below the divisor, or NaN.
  text_.BranchIf(AnyLane(text_.Value("fcmp uge ", type, " ", in[0], ", ", in[1]), lanes), large,
                 joined);
  text_.Label(large);
  const std::string looped = text_.Value(absl::StrReplaceAll(call, {{"@jf_", own}}));
  text_.Branch(joined);
  text_.Label(joined);
  return text_.Value("phi ", type, " [ ", in[0], ", %", before, " ], [ ", looped, ", %", large,
                     " ]");
}

void LlvmEmitter::DefineFmod(DType operand, const std::string& name, int lanes) {
  const std::string type = RegisterType(operand, lanes);
  const DType t[] = {operand, operand, DType::kBool};
  Define(type, name, absl::StrCat(type, " %a, ", type, " %b"), [&] {
    const Values in = {text_.Value("freeze ", type, " %a"), text_.Value("freeze ", type, " %b")};
    const Values begun = Run(Build(decomp::kFmodBegin, {t[0], t[1]}, t), in, lanes);
    const std::string left = text_.Alloca(type, 64);
    text_.Line("store ", type, " ", begun[0], ", ptr ", left);
    const std::string step = text_.NewLabel("step"), done = text_.NewLabel("done");
    text_.Branch(step);
    text_.Label(step);
    const bool f64 = operand == DType::kF64;
    const ScalarProgram body =
        Build(f64 ? decomp::kFmodStepF64 : decomp::kFmodStepF32, {t[0], t[1]}, {t[0]});
    const std::string next =
        Run(body, {text_.Value("load ", type, ", ptr ", left), begun[1]}, lanes)[0];
    text_.Line("store ", type, " ", next, ", ptr ", left);
    const ScalarProgram above = Build("abs(a) >= b", {t[0], t[1]}, {t[2]});
    text_.BranchIf(AnyLane(Run(above, {next, begun[1]}, lanes)[0], lanes), step, done);
    text_.Label(done);
    return Run(Build(decomp::kFmodEnd, t, {t[0]}), {next, begun[1], begun[2]}, lanes)[0];
  });
}

}  // namespace jitfuse::internal
