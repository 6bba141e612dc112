// Every scalar primitive and every conversion, as vector code for each CPU level, against the
// interpreter: equal bit for bit.
#include "tests/cpu/backend/cpu_kit.h"
#include "tests/test_util/fmod_points.h"

namespace jitfuse::internal {
namespace {

constexpr int64_t kCount = 997;  // full bodies and a rest at every lane count

std::vector<DType> TypesIn(DTypeSet set) {
  std::vector<DType> types;
  for (int i = 0; i < kNumDTypes; ++i) {
    if (IsIn(static_cast<DType>(i), set)) types.push_back(static_cast<DType>(i));
  }
  return types;
}

void RunAll(const std::vector<KernelPlan>& plans, bool special, double low, double high) {
  std::vector<Data> inputs, expected;
  for (size_t i = 0; i < plans.size(); ++i) {
    inputs.emplace_back(plans[i], std::vector<int64_t>(plans[i].params.size(), kCount),
                        static_cast<uint32_t>(i), special, 1, low, high);
    expected.push_back(inputs.back());
    ASSERT_EQ(InterpretPlan(plans[i], expected.back().buffers, {}, {}), absl::OkStatus())
        << plans[i].name;
  }
  for (const Target& target : CpuTargets()) {
    std::vector<KernelPlan> scheduled;
    for (const KernelPlan& plan : plans) scheduled.push_back(Scheduled(plan, target, 1));
    CpuModule module(target, scheduled);
    if (module.object == nullptr) continue;
    for (size_t i = 0; i < plans.size(); ++i) {
      Data actual = inputs[i];
      module.Run(i, actual.buffers, {}, {});
      ExpectSame(plans[i], expected[i], actual,
                 std::vector<int64_t>(plans[i].params.size(), kCount), 0, target.arch);
    }
  }
}

KernelPlan OpPlan(const ScalarOpDef& def, DType dtype) {
  PlanKit k(absl::StrCat(ToAbsl(def.name), "_", ToAbsl(DTypeName(dtype))), {kCount});
  std::vector<int> in;
  for (int i = 0; i < def.arity; ++i) {
    bool flag = def.rule == ScalarTypeRule::kSelect && i == 0;
    in.push_back(k.Load(k.Dense(k.Input(flag ? DType::kBool : dtype))));
  }
  int value;
  DType result = dtype;
  if (def.rule == ScalarTypeRule::kBitcast) {
    result = dtype == DType::kF32   ? DType::kI32
             : dtype == DType::kI32 ? DType::kF32
             : dtype == DType::kF64 ? DType::kI64
                                    : DType::kF64;
    value = k.Convert(in[0], result);
    k.plan.insts.back().op = def.op;
  } else {
    value = k.Op(def.op, in);
    result = k.plan.insts[static_cast<size_t>(value)].dtype;
  }
  k.Store(value, k.Dense(k.Output(result)));
  return k.plan;
}

// The rows of the table whose names end in _raw have preconditions and are reached through the
// others.
std::vector<KernelPlan> OpPlans() {
  std::vector<KernelPlan> plans;
  for (int i = static_cast<int>(ScalarOp::kConst) + 1; i < static_cast<int>(ScalarOp::kCount);
       ++i) {
    const ScalarOpDef& def = GetScalarOp(static_cast<ScalarOp>(i));
    if (def.op == ScalarOp::kConvert || std::string(def.name).find("_raw") != std::string::npos)
      continue;
    for (DType dtype : TypesIn(def.domain)) plans.push_back(OpPlan(def, dtype));
  }
  return plans;
}

TEST(EmitLlvmOps, EqualTheInterpreterOnSpecialValues) { RunAll(OpPlans(), true, -4, 4); }
TEST(EmitLlvmOps, EqualTheInterpreterOnPlainValues) { RunAll(OpPlans(), false, -20, 20); }

// Vectors of which some lanes need the loop, and those of which none does.
TEST(EmitLlvmOps, FmodIsExact) {
  for (DType dtype : {DType::kF32, DType::kF64}) {
    const KernelPlan plan = OpPlan(GetScalarOp(ScalarOp::kFmod), dtype);
    const std::vector<int64_t> counts(3, kCount);
    Data inputs(plan, counts, 0, false);
    FmodPoints points(dtype);
    for (int64_t i = 0; i < kCount; ++i) {
      const auto [x, y] = points.Next();
      const auto at = [&](size_t p) {
        return static_cast<char*>(inputs.buffers[p]) + i * ItemSize(dtype);
      };
      StoreScalar(dtype, ScalarFromDouble(dtype, i % 64 < 32 ? x : 7.5), at(0));
      StoreScalar(dtype, ScalarFromDouble(dtype, i % 64 < 32 ? y : 2), at(1));
    }
    Data expected = inputs;
    ASSERT_TRUE(InterpretPlan(plan, expected.buffers, {}, {}).ok());
    for (const Target& target : CpuTargets()) {
      for (int lanes : {1, 2, 8, 64}) {
        CpuModule module(target, {Scheduled(plan, lanes, 2)});
        EXPECT_NE(module.sources[0].text.find("_fmod."), std::string::npos);
        if (module.object == nullptr) continue;
        Data actual = inputs;
        module.Run(0, actual.buffers, {}, {});
        ExpectSame(plan, expected, actual, counts, 0, target.arch);
      }
    }
  }
}

// Where a register is full, AVX-512 has these in one instruction or few. That they mean the same is
// held above on CPUs that have them.
TEST(EmitLlvmOps, Avx512ScalesAndOrdersInSingleInstructions) {
  for (auto [op, name] :
       {std::pair(ScalarOp::kExp, "mask.scalef"), std::pair(ScalarOp::kExp2, "mask.scalef"),
        std::pair(ScalarOp::kErfc, "mask.scalef"), std::pair(ScalarOp::kMaximum, "mask.range"),
        std::pair(ScalarOp::kMinimum, "mask.range")}) {
    for (DType dtype : {DType::kF32, DType::kF64}) {
      for (const Target& target : {*CpuTargetFor("x86-64-v3"), *CpuTargetFor("x86-64-v4")}) {
        KernelPlan plan = Scheduled(OpPlan(GetScalarOp(op), dtype), target, 1);
        const std::string text = (*EmitLlvm(plan, target)).text;
        EXPECT_EQ(text.find(name) != std::string::npos, target.arch == "x86-64-v4") << plan.name;
      }
    }
  }
}

std::vector<KernelPlan> ConversionPlans(bool twice) {
  std::vector<KernelPlan> plans;
  for (DType from : TypesIn(kAnyDType)) {
    for (DType to : TypesIn(kAnyDType)) {
      PlanKit k(absl::StrCat(twice ? "register_" : "store_", ToAbsl(DTypeName(from)), "_",
                             ToAbsl(DTypeName(to))),
                {kCount});
      int value = k.Load(k.Dense(k.Input(from)));
      if (twice) value = k.Convert(value, to);
      k.Store(
          value,
          k.Dense(k.Output(twice && (to == DType::kF16 || to == DType::kBF16) ? DType::kF32 : to)));
      plans.push_back(k.plan);
    }
  }
  return plans;
}

TEST(EmitLlvmOps, StoresConvert) {
  RunAll(ConversionPlans(false), true, -300, 300);
  RunAll(ConversionPlans(false), false, -5, 5);
}
TEST(EmitLlvmOps, RegistersConvert) {
  RunAll(ConversionPlans(true), true, -300, 300);
  RunAll(ConversionPlans(true), false, -70000, 70000);
}

// All f16 and bf16 values in, all roundings out.
TEST(EmitLlvmOps, SixteenBitFloatsExhaustively) {
  constexpr int64_t kAll = 65536;
  std::vector<KernelPlan> plans;
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    PlanKit up(absl::StrCat("up_", ToAbsl(DTypeName(dtype))), {kAll});
    up.Store(up.Load(up.Dense(up.Input(dtype))), up.Dense(up.Output(DType::kF32)));
    plans.push_back(up.plan);
    PlanKit down(absl::StrCat("down_", ToAbsl(DTypeName(dtype))), {kAll});
    down.Store(down.Load(down.Dense(down.Input(DType::kF32))), down.Dense(down.Output(dtype)));
    plans.push_back(down.plan);
  }
  std::vector<int64_t> counts = {kAll, kAll};
  for (const Target& target : CpuTargets()) {
    std::vector<KernelPlan> scheduled;
    for (const KernelPlan& plan : plans) scheduled.push_back(Scheduled(plan, target, 2));
    CpuModule module(target, scheduled);
    if (module.object == nullptr) continue;
    for (size_t i = 0; i < plans.size(); ++i) {
      for (uint32_t low = 0; low < 3; ++low) {  // f32 bits just below, at and just above the ties
        Data expected(plans[i], counts, 0, false);
        for (uint32_t v = 0; v < kAll; ++v) {
          if (plans[i].params[0].dtype == DType::kF32) {
            uint32_t bits = plans[i].params[1].dtype == DType::kBF16
                                ? (v << 16) + 0x7fff + low
                                : ((v << 15) | 0x38000000u * (v & 1)) + 0xfff + low;
            reinterpret_cast<uint32_t*>(expected.buffers[0])[v] = bits;
          } else {
            reinterpret_cast<uint16_t*>(expected.buffers[0])[v] = static_cast<uint16_t>(v);
          }
        }
        Data actual = expected;
        ASSERT_TRUE(InterpretPlan(plans[i], expected.buffers, {}, {}).ok());
        module.Run(i, actual.buffers, {}, {});
        ExpectSame(plans[i], expected, actual, counts, 0, target.arch);
      }
    }
  }
}

}  // namespace
}  // namespace jitfuse::internal
