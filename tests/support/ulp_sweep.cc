#include "tests/support/ulp_sweep.h"

#include <cstring>
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

// The op on these operands; results as registers. Stored dtypes are those of the kernel.
std::vector<ScalarValue> RunOp(const std::string& op, int arity, DType dtype, DeviceKind kind,
                               const std::vector<ScalarValue> (&in)[2]) {
  const std::string t(jitfuse::internal::DTypeName(dtype));
  const std::string args = arity == 1 ? "%x0" : "%x0, %x1";
  const std::string text = "graph f(%x0: " + t + "[n]" + (arity == 1 ? "" : ", %x1: " + t + "[n]") +
                           ") -> (" + t + "[n]) {\n %0 = " + op + "(" + args + ") : " + t +
                           "[n]\n return %0\n}";
  jitfuse::CompileOptions options;
  options.device = kind;
  auto f = jitfuse::CompileText(text, options);
  EXPECT_TRUE(f.ok()) << text << f.status().message();
  if (!f.ok()) return {};
  const auto size = static_cast<std::size_t>(jitfuse::internal::ItemSize(dtype));
  const Device device{kind == DeviceKind::kCuda ? kind : DeviceKind::kCpu, 0};
  std::vector<Array> inputs;
  for (int k = 0; k < arity; ++k) {
    Array host = *Array::Empty(static_cast<jitfuse::DType>(dtype),
                               {static_cast<std::int64_t>(in[k].size())});
    for (std::size_t i = 0; i < in[k].size(); ++i)
      jitfuse::internal::StoreScalar(dtype, in[k][i], static_cast<char*>(host.data()) + i * size);
    inputs.push_back(*host.CopyTo(device));
  }
  auto results = f->Run(inputs);
  EXPECT_TRUE(results.ok()) << text << results.status().message();
  if (!results.ok()) return {};
  const Array back = *(*results)[0].CopyTo(Device{});
  std::vector<ScalarValue> out;
  for (std::size_t i = 0; i < in[0].size(); ++i)
    out.push_back(
        jitfuse::internal::LoadScalar(dtype, static_cast<const char*>(back.data()) + i * size));
  return out;
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
  const std::vector<ScalarValue> out = RunOp(op, def.arity, dtype, kind, in);
  if (out.empty()) return;
  SweepJudge judge(def.op, dtype);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const ScalarValue p[2] = {in[0][i], in[1][i]};
    judge.See(p, out[i]);
  }
  const SweepResult& r = judge.result();
  EXPECT_EQ(r.wrong_kind, 0) << r.where;
  EXPECT_LE(r.max_ulp, dtype == DType::kF64 ? def.max_ulp_f64 : def.max_ulp_f32) << r.where;
  testing::Test::RecordProperty(op + "_" + std::string(DTypeName(dtype)),
                                std::to_string(static_cast<double>(r.max_ulp)));
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
  const std::vector<ScalarValue> out = RunOp(op, 1, dtype, kind, in);
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

void SweepEveryHalf(DeviceKind kind) {
  ForEachRoundedOp([&](const ScalarOpDef& def, const std::string& op) {
    if (def.arity != 1) return;
    SweepHalfOp(def, op, DType::kF16, kind);
    SweepHalfOp(def, op, DType::kBF16, kind);
  });
}

}  // namespace jitfuse_test
