#include "tests/support/ulp_sweep.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "api/inspect.h"
#include "api/jitfuse.h"
#include "ir/op_def.h"
#include "tests/test_util/scalar_sweep.h"

namespace jitfuse_test {
namespace {

using jitfuse::Array;
using jitfuse::Device;
using jitfuse::DeviceKind;
using jitfuse::internal::DType;
using jitfuse::internal::ScalarOp;
using jitfuse::internal::ScalarOpDef;
using jitfuse::internal::ScalarValue;

// Every primitive that is rounded, and the tensor op of its name (add, exp, pow ...).
template <typename F>
void ForEachRoundedOp(F f) {
  using namespace jitfuse::internal;
  for (int i = static_cast<int>(ScalarOp::kConst) + 1; i < static_cast<int>(ScalarOp::kCount);
       ++i) {
    const ScalarOpDef& def = GetScalarOp(static_cast<ScalarOp>(i));
    std::string_view name = def.name;
    if (name == "sub") name = "subtract";
    if (name == "mul") name = "multiply";
    if (name == "div") name = "divide";
    const OpDef* op = FindOp(name);
    if (def.rule == ScalarTypeRule::kSame && def.wide != nullptr && def.max_ulp_f32 > 0 &&
        def.arity <= 2 && op != nullptr && op->kind == OpKind::kPointwise)
      f(def, std::string(name));
  }
}

// The op of that name, compiled; results as registers. Stored dtypes are those of the kernel.
class CompiledOp {
 public:
  CompiledOp(const std::string& op, int arity, DType dtype, DeviceKind kind)
      : arity_(arity), dtype_(dtype), kind_(kind) {
    const std::string t(jitfuse::internal::DTypeName(dtype));
    const std::string args = arity == 1 ? "%x0" : "%x0, %x1";
    text_ = "graph f(%x0: " + t + "[n]" + (arity == 1 ? "" : ", %x1: " + t + "[n]") + ") -> (" + t +
            "[n]) {\n %0 = " + op + "(" + args + ") : " + t + "[n]\n return %0\n}";
    jitfuse::CompileOptions options;
    options.device = kind;
    auto f = jitfuse::CompileText(text_, options);
    EXPECT_TRUE(f.ok()) << text_ << f.status().message();
    if (f.ok()) function_ = *f;
  }

  std::vector<ScalarValue> Run(const std::vector<ScalarValue> (&in)[2]) const {
    if (!function_.has_value()) return {};
    const auto size = static_cast<std::size_t>(jitfuse::internal::ItemSize(dtype_));
    const Device device{kind_ == DeviceKind::kCuda ? kind_ : DeviceKind::kCpu, 0};
    std::vector<Array> inputs;
    for (int k = 0; k < arity_; ++k) {
      Array host = *Array::Empty(static_cast<jitfuse::DType>(dtype_),
                                 {static_cast<std::int64_t>(in[k].size())});
      for (std::size_t i = 0; i < in[k].size(); ++i)
        jitfuse::internal::StoreScalar(dtype_, in[k][i],
                                       static_cast<char*>(host.data()) + i * size);
      inputs.push_back(*host.CopyTo(device));
    }
    auto results = function_->Run(inputs);
    EXPECT_TRUE(results.ok()) << text_ << results.status().message();
    if (!results.ok()) return {};
    const Array back = *(*results)[0].CopyTo(Device{});
    std::vector<ScalarValue> out;
    for (std::size_t i = 0; i < in[0].size(); ++i)
      out.push_back(
          jitfuse::internal::LoadScalar(dtype_, static_cast<const char*>(back.data()) + i * size));
    return out;
  }

 private:
  int arity_;
  DType dtype_;
  DeviceKind kind_;
  std::string text_;
  std::optional<jitfuse::Function> function_;
};

void ExpectWithinBound(const ScalarOpDef& def, const std::string& op, DType dtype,
                       const jitfuse::internal::SweepResult& r) {
  EXPECT_EQ(r.wrong_kind, 0) << r.where;
  EXPECT_LE(r.max_ulp, dtype == DType::kF64 ? def.max_ulp_f64 : def.max_ulp_f32) << r.where;
  testing::Test::RecordProperty(op + "_" + std::string(DTypeName(dtype)),
                                std::to_string(static_cast<double>(r.max_ulp)));
}

void SweepOp(const ScalarOpDef& def, const std::string& op, DType dtype, DeviceKind kind,
             std::int64_t points) {
  using namespace jitfuse::internal;
  SweepPoints source(dtype);
  std::vector<ScalarValue> in[2];
  for (std::int64_t i = 0; i < points; ++i) {
    ScalarValue p[2];
    source.At(i, points, p);
    in[0].push_back(p[0]);
    in[1].push_back(p[1]);
  }
  const std::vector<ScalarValue> out = CompiledOp(op, def.arity, dtype, kind).Run(in);
  if (out.empty()) return;
  SweepJudge judge(def.op, dtype);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const ScalarValue p[2] = {in[0][i], in[1][i]};
    judge.See(p, out[i]);
  }
  ExpectWithinBound(def, op, dtype, judge.result());
}

// Every step-th float: one of each `step` neighbours, which of them differing from place to place.
// see(arguments, results), a million at a time.
template <typename See>
void ForFloatsByStep(const CompiledOp& compiled, std::uint32_t step, See see) {
  using namespace jitfuse::internal;
  constexpr std::uint64_t kAll = std::uint64_t{1} << 32;
  std::uint64_t bits = 0;
  while (bits < kAll) {
    std::vector<ScalarValue> in[2];
    for (; bits < kAll && in[0].size() < (std::size_t{1} << 20); bits += step) {
      const std::uint64_t mixed = (bits + 1) * 0x9e3779b97f4a7c15u;
      const auto pattern = static_cast<std::uint32_t>(bits + (mixed >> 32) % step);
      in[0].push_back(Put<float>(std::bit_cast<float>(pattern)));
    }
    see(in[0], compiled.Run(in));
  }
}

void SweepFloatsOfOp(const ScalarOpDef& def, const std::string& op, DeviceKind kind,
                     std::uint32_t step) {
  using namespace jitfuse::internal;
  SweepJudge judge(def.op, DType::kF32);
  ForFloatsByStep(CompiledOp(op, 1, DType::kF32, kind), step,
                  [&](const std::vector<ScalarValue>& in, const std::vector<ScalarValue>& out) {
                    for (std::size_t i = 0; i < out.size(); ++i) {
                      const ScalarValue p[2] = {in[i], {}};
                      judge.See(p, out[i]);
                    }
                  });
  ExpectWithinBound(def, op, DType::kF32, judge.result());
}

// How far a result of gelu is from its exact value, in ulp of that; infinity where it is wrong in
// kind.
long double GeluError(DType dtype, float x, float got) {
  using namespace jitfuse::internal;
  constexpr long double kSqrtHalf = 0.707106781186547524400844362104849039L;
  const long double want = x * (std::erfc(-x * kSqrtHalf) / 2);
  const bool same_kind = std::isnan(got) == std::isnan(want) &&
                         std::isinf(got) == std::isinf(want) &&
                         (want != 0 || std::signbit(got) == std::signbit(want));
  if (!same_kind) return std::numeric_limits<long double>::infinity();
  return std::isfinite(want) ? std::fabs(got - want) / UlpOf(dtype, want) : 0;
}

// Results in f16 and bf16 come from f32 and are rounded once more: correctly rounded, or (where the
// f32 result is within its error of a tie) the neighbour.
void SweepHalfOp(const ScalarOpDef& def, const std::string& op, DType dtype, DeviceKind kind) {
  using namespace jitfuse::internal;
  std::vector<ScalarValue> in[2];
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto stored = static_cast<std::uint16_t>(bits);
    in[0].push_back(LoadScalar(dtype, &stored));
  }
  const std::vector<ScalarValue> out = CompiledOp(op, 1, dtype, kind).Run(in);
  // Ops on these types may stand on a primitive of their own, good enough for them (erfc_16).
  const std::optional<ScalarOp> own = FindScalarOp(std::string(def.name) + "_16");
  const double ulp = own ? GetScalarOp(*own).max_ulp_f32 : def.max_ulp_f32;
  const long double slack =
      0.5L + static_cast<long double>(ulp) * (dtype == DType::kF16 ? 0x1p-13L : 0x1p-16L);
  int wrong = 0;
  for (std::size_t i = 0; i < out.size() && wrong < 3; ++i) {
    const long double x = in[0][i].f32, got = out[i].f32, want = def.wide(&x);
    const WideElem settled = SettleRange(dtype, {want, slack * UlpOf(dtype, want)});
    const bool either = std::isinf(settled.bound);  // next to the largest number
    const bool good = std::isnan(want)            ? std::isnan(got)
                      : std::isinf(settled.value) ? got == settled.value
                      : either && std::isinf(got)
                          ? true
                          : std::fabs(got - want) <= slack * UlpOf(dtype, want);
    if (good) continue;
    ++wrong;
    ADD_FAILURE() << op << " " << DTypeName(dtype) << " at " << static_cast<double>(x) << ": got "
                  << static_cast<double>(got) << ", exact " << static_cast<double>(want);
  }
}

}  // namespace

void SweepFloats(DeviceKind kind, std::int64_t points_f32, std::int64_t points_f64) {
  int ops = 0;
  ForEachRoundedOp([&](const ScalarOpDef& def, const std::string& op) {
    ++ops;
    SweepOp(def, op, DType::kF32, kind, points_f32);
    SweepOp(def, op, DType::kF64, kind, points_f64);
  });
  EXPECT_GE(ops, 31);
}

void SweepFloatsByStep(DeviceKind kind, std::uint32_t step) {
  ASSERT_TRUE(step > 0 && (step & (step - 1)) == 0) << "no power of two: " << step;
  int ops = 0;
  ForEachRoundedOp([&](const ScalarOpDef& def, const std::string& op) {
    if (def.arity != 1) return;
    ++ops;
    SweepFloatsOfOp(def, op, kind, step);
  });
  EXPECT_GE(ops, 24);
}

void SweepEveryHalf(DeviceKind kind) {
  ForEachRoundedOp([&](const ScalarOpDef& def, const std::string& op) {
    if (def.arity != 1) return;
    SweepHalfOp(def, op, DType::kF16, kind);
    SweepHalfOp(def, op, DType::kBF16, kind);
  });
}

void SweepGelu(DeviceKind kind, std::uint32_t step) {
  using namespace jitfuse::internal;
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    long double worst = 0;
    float at = 0;
    auto see = [&](const std::vector<ScalarValue>& in, const std::vector<ScalarValue>& out) {
      for (std::size_t i = 0; i < out.size(); ++i) {
        const long double error = GeluError(dtype, in[i].f32, out[i].f32);
        if (error > worst) at = in[i].f32;
        worst = std::max(worst, error);
      }
    };
    const CompiledOp gelu("gelu", 1, dtype, kind);
    const double ulp = FindOp("gelu")->max_ulp_f32;
    double bound = ulp;
    if (dtype == DType::kF32) {
      ForFloatsByStep(gelu, step, see);
    } else {
      std::vector<ScalarValue> in[2];
      for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const auto stored = static_cast<std::uint16_t>(bits);
        in[0].push_back(LoadScalar(dtype, &stored));
      }
      see(in[0], gelu.Run(in));
      const double of_tail = GetScalarOp(ScalarOp::kNormalTail16).max_ulp_f32;
      bound = 0.5 + (of_tail + ulp) * (dtype == DType::kF16 ? 0x1p-13 : 0x1p-16);
    }
    EXPECT_LE(worst, bound) << "gelu " << DTypeName(dtype) << " at " << std::hexfloat << at;
    testing::Test::RecordProperty("gelu_" + std::string(DTypeName(dtype)),
                                  std::to_string(static_cast<double>(worst)));
  }
}

}  // namespace jitfuse_test
