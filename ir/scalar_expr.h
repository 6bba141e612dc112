// Scalar programs: what happens to one element, written with the closed set of primitives of
// scalar_ops.inc.
//
// A ScalarProgram is a straight line of instructions in SSA form (instruction i may read only
// instructions before i). Registers have compute types: f16 and bf16 live in f32 registers; the one
// instruction that yields dtype f16/bf16 is Convert, whose result is an f32 register rounded to
// that grid. Integer registers have their exact width and wrap. Bool registers hold 0 or 1. Bodies
// in the tables are text in a small expression language ("x * select(x >= 0, 1 - h, h)", statements
// "h = ...;" before the result, several results "{m, s}"); BuildScalarProgram parses (once per
// text, cached) and instantiates it for given types. Literals and attributes are weak: they take
// the type of what they meet. ExpandDecomps rewrites every primitive that has no LLVM template but
// a `decomp` body (polynomials for exp, tanh ...; guarded divisions for the integer ops): the CPU
// emitter, the declared evaluator and the plan interpreter all use it. Must not know: tensors,
// graphs, back ends (the CUDA and LLVM columns are only text here).
#ifndef JITFUSE_IR_SCALAR_EXPR_H_
#define JITFUSE_IR_SCALAR_EXPR_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/dtype.h"

namespace jitfuse::internal {

// kArg (imm = argument number) and kConst (imm = bits of a ScalarValue) come first, then the rows
// of the table.
enum class ScalarOp : uint8_t {
  kArg,
  kConst,
#define JF_SCALAR(Name, ...) k##Name,
#include "ir/scalar_ops.inc"
#undef JF_SCALAR
  kCount,
};

// One register's content. The member in use follows from the dtype: bool b; u* u (zero-extended);
// i* i (sign-extended); f16, bf16, f32: f32; f64: f64. The rest of the 8 bytes is zero, so that
// equal values have equal bits().
union ScalarValue {
  uint64_t u;
  int64_t i;
  bool b;
  float f32;
  double f64;
  ScalarValue() : u(0) {}
  static ScalarValue FromBits(uint64_t bits);
  uint64_t bits() const { return u; }
};
// A number as a register of `dtype`: rounded / truncated to it by the cast rules of the semantics
// page.
ScalarValue ScalarFromDouble(DType dtype, double v);
ScalarValue ScalarFromInt(DType dtype, int64_t v);
double ScalarToDouble(DType dtype, ScalarValue v);
// Memory <-> register, for any stored dtype.
ScalarValue LoadScalar(DType dtype, const void* address);
void StoreScalar(DType dtype, ScalarValue v, void* address);
// The cast rules (ir/support/float_bits.h, semantics.md "Casts"); `to` may be f16/bf16 (an f32
// register on that grid).
ScalarValue ConvertScalar(DType from, DType to, ScalarValue v);

struct ScalarInst {
  ScalarOp op = ScalarOp::kConst;
  DType dtype = DType::kF32;  // of the result register
  int16_t in[3] = {-1, -1, -1};
  uint64_t imm = 0;
  friend bool operator==(const ScalarInst&, const ScalarInst&) = default;
};

struct ScalarProgram {
  int num_args = 0;
  std::vector<ScalarInst> insts;
  std::vector<int16_t> results;
};

// Register types: what the `domain` column is made of.
inline constexpr DTypeSet kComputeFloats = Bit(DType::kF32) | Bit(DType::kF64);
inline constexpr DTypeSet kComputeNumeric = kInts | kComputeFloats;
inline constexpr DTypeSet kComputeAny = kComputeNumeric | kBools;

// How operand and result types hang together.
enum class ScalarTypeRule : uint8_t {
  kSame,       // all operands and the result have one type
  kCompare,    // two operands of one type -> bool
  kPredicate,  // one operand -> bool
  kSelect,     // bool, T, T -> T
  kConvert,    // any -> any
  kBitcast,    // f32 <-> i32, f64 <-> i64: same width, bits kept
};

// Columns of templates are indexed by the class of the operand type (of operand 1 for select).
enum class ScalarClass : uint8_t { kF32, kF64, kSigned, kUnsigned, kBool };
inline constexpr int kNumScalarClasses = 5;
ScalarClass ClassOf(DType compute_type);

inline constexpr double kAnyRange = std::numeric_limits<double>::infinity();
struct WideElem;

// A row of scalar_ops.inc. Templates: $0 $1 $2 operands (names or literals; may be used several
// times), $t result type, $s operand type (of operand 1 for select), as the back end spells them;
// the LLVM emitter passes vector types. Further,
//   CUDA: $u  the unsigned type in which integers wrap: unsigned int up to 32 bits,
//             else unsigned long long
//         $w  the width of $s in bits: 8, 16, 32 or 64 (so "$wu" becomes "32u")
//   LLVM: $m  the suffix of an intrinsic overloaded on $s: "v16f32", "f32", "v4i64"
//         $b  the bool type of the same width: "<16 x i1>" or "i1"
// The CUDA value is to be assigned to a variable of type $t. CUDA templates cover the whole domain
// (Convert apart, whose pairs the emitters own); an empty LLVM template means: use the decomp
// (HasDecomp, ExpandDecomps).
struct ScalarOpDef {
  ScalarOp op;
  std::string_view name;  // as in bodies and dumps: "add"
  int arity;
  ScalarTypeRule rule;
  DTypeSet domain;                           // operand types (compute types)
  std::string_view cuda[kNumScalarClasses];  // a C++ expression
  std::string_view llvm[kNumScalarClasses];  // one instruction: what follows "%r = "
  std::string_view decomp_f32;               // body text; args a, b, c
  std::string_view decomp_f64;               // body text for f64; empty: as decomp_f32
  std::string_view decomp_int;               // body text for integers and bool
  std::string_view grad;  // body text of the gradients {da, db, dc} from g, a, b, c, y; "" if none
  bool commutative;
  int cost;                         // issue slots, roughly; add is 1, exp 8
  double max_ulp_f32, max_ulp_f64;  // on any back end, against the exact result, in ulps of it;
                                    // 0.5: correctly rounded; 0: exact
  long double (*wide)(const long double* in);  // float meaning at the evaluator's precision (0 or 1
                                               // for bool results); null for integer-only rows
  ScalarValue (*eval)(DType operand, DType result,
                      const ScalarValue* in);  // meaning in the declared type; null: the decomp
                                               // is the meaning (and Convert: ConvertScalar)
  std::string_view doc;
  // f64 errors are in ulps of this number where the result is smaller: lgamma next to its zeros.
  double ulp_floor_f64 = 0;
  // Larger f64 operands give anything: NaN on the CPU (sin, cos, tan).
  double range_f64 = kAnyRange;
  // What the wide evaluator adds to the bound that the ends of the operands' ranges give; null:
  // nothing, the function being monotone between them.
  void (*beyond)(const WideElem* in, WideElem* result) = nullptr;
};
// The unit in which the row's error at a result of that size is stated.
long double ErrorUnit(const ScalarOpDef& def, DType operand, long double result);

const ScalarOpDef& GetScalarOp(ScalarOp op);
std::optional<ScalarOp> FindScalarOp(std::string_view name);

using AttrLookup = std::function<std::optional<double>(std::string_view name)>;

// Parses `body` and instantiates it. `arg_names[i]` names argument i, whose register type is
// arg_types[i]; other identifiers are attributes, asked from `attr`. Errors (unknown name, type
// mismatch) are bugs of a table row and name the text and the column. result_types[i] (if given) is
// the dtype of result i: a weak result takes it (else the type of argument 0, else f32), any other
// must have that compute type. The language:
//   body   = { name "=" expr ";" } ( expr | "{" expr { "," expr } "}" )
//   expr   = operators as in C with C's precedence (|| && | ^ & == != < <= > >= + - * / and
//            unary - ! ~), and c ? a : b; calls; literals
//   calls  = name(args) of a row of the table; cast_f32(x) ... cast_<dtype>(x);
//            cast(x): to result_types[0], also f16/bf16; bitcast_int(x), bitcast_float(x)
//   weak   = 1, 0.5, 0x1.8p+1, true, false, inf, nan, pi, width (bits of the type it takes), zero,
//            lowest, highest (-inf, inf for floats); of the type of result 0, f16 and bf16 too:
//            epsilon (1 to the next number), smallest (subnormal), largest (finite)
// Operations on weak values alone are done in long double, then rounded to the type they meet. A
// select whose condition compares two such values is one of its branches. "/" is for floats only.
absl::StatusOr<ScalarProgram> BuildScalarProgram(std::string_view body,
                                                 absl::Span<const std::string_view> arg_names,
                                                 absl::Span<const DType> arg_types,
                                                 const AttrLookup& attr = nullptr,
                                                 absl::Span<const DType> result_types = {});

// As above, spliced into an existing list: args are registers of `program`; returns the result
// registers. (Used to apply a body to values that a program already holds.)
std::vector<int16_t> InlineProgram(const ScalarProgram& callee, absl::Span<const int16_t> args,
                                   ScalarProgram* program);

// What a CPU has instructions for. Without one for fma (x86-64-v2) llvm.fma would call a library.
struct CpuInstructions {
  bool fma = true;
  bool scale_pow2 = false;
};
// Leaves only primitives that have an LLVM template, or an instruction.
ScalarProgram ExpandDecomps(const ScalarProgram& program, CpuInstructions has = {});
// The form a pointwise body takes where its result is f16 or bf16: primitives that have a row of
// the same name with "_16" behind it are replaced by that row, which is good enough for such a
// result.
ScalarProgram For16BitTypes(ScalarProgram program);
// True if `op` on operands of `operand` type has no LLVM template but a decomposition, so that
// ExpandDecomps rewrites it.
bool HasDecomp(ScalarOp op, DType operand);
// The type by which templates and decomps of instruction i are chosen: that of operand 0, of
// operand 1 for select.
DType OperandType(const ScalarProgram& program, int i);

// One instruction, in its declared type, correctly defined for every input (no traps, no undefined
// behaviour). in[k] are the operand registers, in_types their types. For ops with a float decomp
// this evaluates the decomposition.
ScalarValue EvalScalarInst(const ScalarInst& inst, const DType* in_types, const ScalarValue* in);
// A whole program (results.size() values are written to out).
void EvalScalarProgram(const ScalarProgram& program, const ScalarValue* args, ScalarValue* out);

std::string ScalarProgramToString(const ScalarProgram& program);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SCALAR_EXPR_H_
