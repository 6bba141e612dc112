#include "ir/wide_scalar.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "ir/scalar_functions.h"
#include "ir/scalar_value.h"

namespace jitfuse::internal {
namespace {

using Wide = long double;

constexpr Wide kInf = std::numeric_limits<Wide>::infinity();

struct Format {
  int digits;        // significant bits
  int min_exponent;  // of the smallest normal number
  int max_exponent;  // 2^max_exponent is the first power of two that overflows
};

Format FormatOf(DType dtype) {
  if (dtype == DType::kF16) return {11, -14, 16};
  if (dtype == DType::kBF16) return {8, -126, 128};
  if (dtype == DType::kF64) return {53, -1022, 1024};
  return {24, -126, 128};
}

// Values from here on round to infinity: halfway between the largest number and the next power of
// two.
Wide OverflowThreshold(DType dtype) {
  const Format f = FormatOf(dtype);
  return std::ldexp(Wide{1}, f.max_exponent) - std::ldexp(Wide{1}, f.max_exponent - f.digits - 1);
}

// How far `other` may be from the reported value `center`.
Wide Deviation(Wide center, Wide other) {
  if (center == 0 && other == 0)
    return std::signbit(center) == std::signbit(other) ? 0 : kSignOfZero;
  if (center == other || (std::isnan(center) && std::isnan(other))) return 0;
  const Wide d = std::fabs(center - other);
  return std::isnan(d) ? kInf : d;
}

// Truncation, saturation, NaN to 0, for a number that no register of a float type holds.
Wide ToInteger(DType to, Wide v) {
  return OnType(to, [v](auto tag) -> Wide {
    using T = decltype(tag);
    if (std::isnan(v)) return 0;
    if constexpr (std::is_same_v<T, bool>) {
      return v != 0;
    } else {
      return std::clamp(std::trunc(v), static_cast<Wide>(std::numeric_limits<T>::lowest()),
                        static_cast<Wide>(std::numeric_limits<T>::max()));
    }
  });
}

ScalarValue ToRegister(DType dtype, Wide v) {
  if (IsFloat(dtype))
    return dtype == DType::kF64 ? Put<double>(static_cast<double>(v))
                                : Put<float>(static_cast<float>(v));
  return ScalarFromLongDouble(dtype, v);
}

using PointList = absl::InlinedVector<Wide, 5>;

// The points at which an operand is tried: its value (a NaN with both signs), both ends of its
// range (whole numbers within the type for integers), and 0 if that lies between, from either side:
// quotients, signs and atan2's half turn jump there.
PointList Points(DType dtype, const WideElem& e) {
  if (std::isnan(e.value)) return {e.value, -e.value};  // its sign is no part of the contract
  if (e.exact()) return {e.value};
  if (IsFloat(dtype) && std::fabs(e.value) <= e.bound)
    return {e.value, e.value - e.bound, e.value + e.bound, 0.0L, -0.0L};
  if (IsFloat(dtype)) return {e.value, e.value - e.bound, e.value + e.bound};
  return {e.value, ToInteger(dtype, e.value - e.bound), ToInteger(dtype, e.value + e.bound)};
}

class Machine {
 public:
  Machine(const ScalarProgram& program, const WideElem* args)
      : program_(program), registers_(program.insts.size()) {
    for (size_t i = 0; i < program.insts.size(); ++i) registers_[i] = Run(program.insts[i], args);
  }

  const WideElem& operator[](int16_t id) const { return registers_[static_cast<size_t>(id)]; }

 private:
  DType TypeOf(int16_t id) const {
    return ComputeType(program_.insts[static_cast<size_t>(id)].dtype);
  }

  WideElem Run(const ScalarInst& inst, const WideElem* args) const {
    if (inst.op == ScalarOp::kArg) return args[inst.imm];
    if (inst.op == ScalarOp::kConst)
      return {ScalarToLongDouble(inst.dtype, ScalarValue::FromBits(inst.imm)), 0};
    if (inst.op == ScalarOp::kConvert)
      return ConvertWide(TypeOf(inst.in[0]), inst.dtype, (*this)[inst.in[0]]);
    if (inst.op == ScalarOp::kSelect) return Select(inst);
    const ScalarOpDef& def = GetScalarOp(inst.op);
    const DType operand = TypeOf(inst.in[0]);
    bool exact = true, known = true;
    for (int k = 0; k < def.arity; ++k) {
      exact = exact && (*this)[inst.in[k]].exact();
      known = known && std::isfinite((*this)[inst.in[k]].bound);
    }
    for (int k = 0; k < def.arity && known && operand == DType::kF64; ++k) {
      const WideElem& e = (*this)[inst.in[k]];
      known = !(std::fabs(e.value) + e.bound > def.range_f64) || std::isinf(e.value);
    }
    for (int k = 0; k < def.arity && exact && def.wide != nullptr; ++k)
      exact = !std::isnan((*this)[inst.in[k]].value);
    // What is between the ends of its operands' ranges: of integers, nobody knows where `beyond`
    // would.
    const bool ranged = def.wide != nullptr && (def.beyond == nullptr || IsFloat(operand));
    if (!known || (!exact && !ranged && operand != DType::kBool)) {
      return {0, inst.dtype == DType::kBool ? 1 : kInf};
    }
    if (def.rule == ScalarTypeRule::kCompare)
      return exact ? Exactly(inst) : CompareRanges(inst, def);
    if (!IsFloat(operand)) return exact ? Exactly(inst) : Corners(inst, def, operand);
    const double max_ulp = operand == DType::kF64 ? def.max_ulp_f64 : def.max_ulp_f32;
    if (exact && max_ulp <= 0.5) return inst.op == ScalarOp::kMul ? Product(inst) : Exactly(inst);
    WideElem e = Corners(inst, def, operand);
    if (!exact && def.beyond != nullptr) {
      WideElem in[3];
      for (int k = 0; k < def.arity; ++k) in[k] = (*this)[inst.in[k]];
      def.beyond(in, &e);
    }
    if (!IsFloat(inst.dtype) || !std::isfinite(e.value)) return e;
    if (max_ulp == 0 || (exact && e.value == 0))
      return e;  // tanh(0), log(1): no implementation misses those
    e.bound += max_ulp * ErrorUnit(def, operand, std::fabs(e.value) + e.bound) +
               std::fabs(e.value) * 0x1p-62L;
    const WideElem settled = SettleRange(operand, e);
    // A product that overflows may go into an fma whose result does not.
    return inst.op == ScalarOp::kMul && std::isinf(settled.value) ? WideElem{settled.value, kInf}
                                                                  : settled;
  }

  ScalarValue Declared(const ScalarInst& inst) const {
    ScalarValue in[3];
    DType types[3] = {};
    for (size_t k = 0; k < 3 && inst.in[k] >= 0; ++k) {
      types[k] = TypeOf(inst.in[k]);
      in[k] = ToRegister(types[k], (*this)[inst.in[k]].value);
    }
    return EvalScalarInst(inst, types, in);
  }

  // Exact operands and a correctly rounded result: every executor agrees.
  WideElem Exactly(const ScalarInst& inst) const {
    return {ScalarToLongDouble(inst.dtype, Declared(inst)), 0};
  }

  // A product may be rounded, or go unrounded into an fma.
  WideElem Product(const ScalarInst& inst) const {
    const Wide rounded = ScalarToLongDouble(inst.dtype, Declared(inst));
    const Wide a = (*this)[inst.in[0]].value, b = (*this)[inst.in[1]].value;
    const Wide product = a * b;  // exact for f32
    if (!std::isfinite(rounded)) return {rounded, std::isfinite(product) ? kInf : 0};
    if (inst.dtype == DType::kF64 ? std::fma(a, b, -rounded) == 0 : product == rounded)
      return {rounded, 0};
    return SettleRange(inst.dtype,
                       {product, UlpOf(inst.dtype, product) / 2 + std::fabs(product) * 0x1p-62L});
  }

  Wide At(const ScalarInst& inst, const ScalarOpDef& def, DType operand, const Wide* in) const {
    if (IsFloat(operand)) return def.wide(in);
    ScalarValue registers[3];
    for (int k = 0; k < def.arity; ++k) registers[k] = ToRegister(operand, in[k]);
    return ScalarToLongDouble(inst.dtype, def.eval(operand, inst.dtype, registers));
  }

  WideElem Corners(const ScalarInst& inst, const ScalarOpDef& def, DType operand) const {
    PointList points[3];
    for (int k = 0; k < def.arity; ++k) points[k] = Points(operand, (*this)[inst.in[k]]);
    for (int k = def.arity; k < 3; ++k) points[k] = {0};
    WideElem e;
    bool first = true;
    for (Wide a : points[0]) {
      for (Wide b : points[1]) {
        for (Wide c : points[2]) {
          const Wide in[3] = {a, b, c};
          const Wide v = At(inst, def, operand, in);
          if (first) e.value = v;
          first = false;
          e.bound = std::max(e.bound, Deviation(e.value, v));
        }
      }
    }
    return e;
  }

  // Where the ranges touch, either outcome may be seen.
  WideElem CompareRanges(const ScalarInst& inst, const ScalarOpDef& def) const {
    const WideElem& a = (*this)[inst.in[0]];
    const WideElem& b = (*this)[inst.in[1]];
    const Wide in[2] = {a.value, b.value};
    return {def.wide(in), std::fabs(a.value - b.value) <= a.bound + b.bound ? 1.0L : 0.0L};
  }

  WideElem Select(const ScalarInst& inst) const {
    const WideElem& condition = (*this)[inst.in[0]];
    const WideElem& yes = (*this)[inst.in[1]];
    const WideElem& no = (*this)[inst.in[2]];
    const WideElem& chosen = condition.value != 0 ? yes : no;
    if (condition.exact()) return chosen;
    const WideElem& other = condition.value != 0 ? no : yes;
    return {chosen.value,
            std::max(chosen.bound, Deviation(chosen.value, other.value) + other.bound)};
  }

  const ScalarProgram& program_;
  absl::InlinedVector<WideElem, 48> registers_;
};

}  // namespace

long double UlpOf(DType dtype, long double v) {
  const Format f = FormatOf(dtype);
  int exponent = f.min_exponent;
  if (v != 0 && std::isfinite(v)) exponent = std::max(exponent, std::ilogb(v));
  return std::ldexp(Wide{1}, std::min(exponent, f.max_exponent - 1) - (f.digits - 1));
}

long double ErrorUnit(const ScalarOpDef& def, DType operand, long double result) {
  const long double floor = operand == DType::kF64 ? def.ulp_floor_f64 : 0;
  return UlpOf(operand, std::max(std::fabs(result), floor));
}

long double EpsOf(DType dtype) { return std::ldexp(Wide{1}, -FormatOf(dtype).digits); }

WideElem SettleRange(DType dtype, WideElem e) {
  if (!std::isfinite(e.value)) return e;
  const Wide threshold = OverflowThreshold(dtype);
  const Wide magnitude = std::fabs(e.value);
  if (magnitude - e.bound >= threshold) return {std::copysign(kInf, e.value), 0};
  if (magnitude + e.bound >= threshold) return {e.value, kInf};
  return e;
}

WideElem ConvertWide(DType from, DType to, WideElem e) {
  const DType type = ComputeType(to);
  if (e.exact())
    return {ScalarToLongDouble(type, ConvertScalar(from, to, ToRegister(from, e.value))), 0};
  if (IsFloat(to)) {
    const Format a = FormatOf(from), b = FormatOf(to);
    if (!std::isfinite(e.value) || !std::isfinite(e.bound)) return e;
    if (IsFloat(from) && b.digits >= a.digits && b.min_exponent <= a.min_exponent) return e;
    e.bound += UlpOf(to, std::fabs(e.value) + e.bound) / 2;
    return SettleRange(to, e);
  }
  if (!std::isfinite(e.bound)) return {0, to == DType::kBool ? 1 : kInf};
  const bool wraps = IsInt(from) && to != DType::kBool;
  auto convert = [&](Wide v) {
    return wraps ? ScalarToLongDouble(to,
                                      ConvertScalar(from, to, ToRegister(from, ToInteger(from, v))))
                 : ToInteger(to, v);
  };
  const Wide center = convert(e.value);
  Wide bound = std::max(Deviation(center, convert(e.value - e.bound)),
                        Deviation(center, convert(e.value + e.bound)));
  // To bool: an interval around 0 contains it, whatever its ends are.
  if (to == DType::kBool && std::fabs(e.value) <= e.bound) bound = 1;
  return {center, bound};
}

WideElem MaybeStored(DType dtype, WideElem e) {
  if (dtype != DType::kF16 && dtype != DType::kBF16) return e;
  if (!std::isfinite(e.value) || !std::isfinite(e.bound)) return e;
  if (e.exact() && ConvertWide(DType::kF32, dtype, e).value == e.value) return e;
  e.bound += UlpOf(dtype, std::fabs(e.value) + e.bound) / 2;
  // Stored, a value this large is an infinity; kept in a register until its next use, it is not.
  // Either may be.
  const WideElem stored = SettleRange(dtype, e);
  return std::isfinite(stored.value) ? stored : WideElem{e.value, kInf};
}

namespace beyond {

// Slope and curvature are at most 1.
void Wave(const WideElem* in, WideElem* result) {
  const Wide b = in[0].bound;
  result->bound = std::min({result->bound + b * b, b, 1 + std::fabs(result->value)});
}

// Monotone between its poles.
void Tan(const WideElem* in, WideElem* result) {
  const Wide half_turns = 0x1.921fb54442d1846ap+1L;
  if (std::floor((in[0].value - in[0].bound) / half_turns + 0.5L) !=
      std::floor((in[0].value + in[0].bound) / half_turns + 0.5L))
    result->bound = kInf;
}

// A pole within the range, or the bend (the second derivative is below 2 + 2 / d^2 at a distance d
// from the next pole).
void Lgamma(const WideElem* in, WideElem* result) {
  const Wide low = in[0].value - in[0].bound, high = in[0].value + in[0].bound;
  const Wide to_pole = low > 0 ? low : std::min(low - std::floor(low), std::ceil(high) - high);
  if ((low <= 0 && std::floor(low) != std::floor(high)) || !(to_pole > 0)) {
    result->bound = kInf;
  } else if (!(low > 2)) {
    result->bound += in[0].bound * in[0].bound * (2 + 2 / (to_pole * to_pole));
  }
}

// A whole exponent between others gives numbers where they give NaN.
void Pow(const WideElem* in, WideElem* result) {
  if (!in[1].exact() && !(in[0].value - in[0].bound > 0)) result->bound = kInf;
}

// A sawtooth: linear where the whole part of the quotient is one for all of the range.
void Fmod(const WideElem* in, WideElem* result) {
  if (std::isnan(result->value)) return;  // a is no number, or b is 0
  const Wide x = std::fabs(in[0].value), y = std::fabs(in[1].value);
  if (!(y > in[1].bound)) {
    result->bound = kInf;
    return;
  }
  const Wide most = std::min(x + in[0].bound, y + in[1].bound);
  const Wide low = (x - in[0].bound) / (y + (x < in[0].bound ? -in[1].bound : in[1].bound));
  const Wide high = (x + in[0].bound) / (y - in[1].bound);
  result->bound = std::trunc(low) == std::trunc(high) ? result->bound + most * 0x1p-60L
                                                      : most + std::fabs(result->value);
}

}  // namespace beyond

void EvalWideProgram(const ScalarProgram& program, const WideElem* args, WideElem* out) {
  const Machine machine(program, args);
  for (size_t i = 0; i < program.results.size(); ++i) out[i] = machine[program.results[i]];
}

}  // namespace jitfuse::internal
