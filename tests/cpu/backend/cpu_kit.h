// Runs kernel plans as CPU code, beside the plan interpreter; for tests of the emitter.
//
// CpuModule emits plans for one target, compiles them as ONE module, checks that it needs no symbol
// from elsewhere, and loads it where this CPU can run it. Data holds a plan's buffers. Compare runs
// a plan both ways on the same data.
#ifndef JITFUSE_TESTS_CPU_BACKEND_CPU_KIT_H_
#define JITFUSE_TESTS_CPU_BACKEND_CPU_KIT_H_

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/plan/interpret_plan.h"
#include "cpu_backend/cpu_backend.h"
#include "cpu_backend/emit_llvm.h"
#include "cpu_backend/orc_compile.h"
#include "gtest/gtest.h"
#include "ir/support/status.h"
#include "tests/support/plan_kit.h"

namespace jitfuse::internal {

inline std::vector<Target> CpuTargets() {
  return {*CpuTargetFor("x86-64-v2"), *CpuTargetFor("x86-64-v3"), *CpuTargetFor("x86-64-v4"),
          *CpuTargetFor("host")};
}

// Whether code for the target runs here (host and v2 always do in our tests).
inline bool RunsHere(const Target& target) {
  auto backend = *CreateCpuBackendFor(target.features.empty() ? target.arch : "host");
  KernelSource source;
  source.lang = SourceLang::kLlvm;
  source.arch = target.arch;
  source.entry = "nothing";
  if (!target.features.empty()) source.options = {absl::StrJoin(target.features, ",")};
  CompiledKernel compiled;
  compiled.bytes = *CompileLlvm("define void @nothing() { ret void }", target.arch, "");
  return backend->Load(source, compiled).ok();
}

inline KernelPlan Scheduled(KernelPlan plan, int lanes, int unroll) {
  CpuSchedule schedule;
  schedule.lanes = lanes;
  schedule.unroll = unroll;
  plan.schedule = schedule;
  return plan;
}

// Lanes that fill the target's registers with the plan's widest type.
inline KernelPlan Scheduled(KernelPlan plan, const Target& target, int unroll = 2) {
  int size = 4;
  for (const Inst& inst : plan.insts) size = std::max(size, ItemSize(inst.dtype));
  return Scheduled(std::move(plan), target.vec_bits / 8 / size, unroll);
}

class CpuModule {
 public:
  CpuModule(const Target& target, const std::vector<KernelPlan>& plans) {
    std::string text;
    std::vector<std::string> entries;
    for (const KernelPlan& plan : plans) {
      absl::StatusOr<KernelSource> source = EmitLlvm(plan, target);
      if (!source.ok()) {
        ADD_FAILURE() << source.status();
        return;
      }
      text += source->text;
      entries.push_back(source->entry);
      sources.push_back(*std::move(source));
    }
    absl::StatusOr<std::string> bytes =
        CompileLlvm(text, target.arch, absl::StrJoin(target.features, ","));
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    if (!bytes.ok()) return;
    std::vector<std::string> undefined = *UndefinedSymbols(*bytes);
    EXPECT_TRUE(undefined.empty()) << target.arch << " needs " << absl::StrJoin(undefined, ", ");
    if (!RunsHere(target)) return;
    absl::StatusOr<std::shared_ptr<const LoadedObject>> loaded = LoadObject(*bytes, entries);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    if (loaded.ok()) object = *loaded;
  }

  // The rows in `pieces` parts, and the columns in `pieces` parts, as threads would take them.
  void Run(size_t plan, const std::vector<void*>& buffers, const std::vector<uint64_t>& scalars,
           const std::vector<int64_t>& symbols, int64_t pieces = 1) const {
    const KernelSource& source = sources[plan];
    std::vector<int64_t> sizes;
    for (const SizeExpr& e : source.size_args) sizes.push_back(e.Eval(symbols));
    auto entry =
        reinterpret_cast<void (*)(void* const*, const uint64_t*, const int64_t*, int64_t, int64_t,
                                  int64_t, int64_t)>(object->Address(source.entry));
    int64_t rows = source.rows.Eval(symbols), cols = source.cols.Eval(symbols);
    int64_t row_step = std::max<int64_t>(1, (rows + pieces - 1) / pieces);
    int64_t col_step =
        std::max<int64_t>(1, (cols + pieces - 1) / pieces + source.col_multiple - 1) /
        source.col_multiple * source.col_multiple;
    col_step = std::max<int64_t>(col_step, source.col_multiple);
    for (int64_t r = 0; r < rows; r += row_step) {
      for (int64_t c = 0; c < cols; c += col_step) {
        entry(buffers.data(), scalars.data(), sizes.data(), r, std::min(r + row_step, rows), c,
              std::min(c + col_step, cols));
      }
    }
  }

  std::vector<KernelSource> sources;
  std::shared_ptr<const LoadedObject> object;  // null where this CPU cannot run the code
};

// Values that find errors: zeros, infinities, NaN, the ends of each type, halves, and numbers
// around them.
inline std::vector<double> SpecialDoubles() {
  double inf = INFINITY;
  std::vector<double> v = {0.0,
                           -0.0,
                           1,
                           -1,
                           0.5,
                           -0.5,
                           1.5,
                           2.5,
                           -2.5,
                           3,
                           7,
                           100.7,
                           -100.7,
                           127,
                           128,
                           129,
                           -128,
                           -129,
                           255,
                           256,
                           300,
                           32767,
                           32768,
                           -32769,
                           65503,
                           65504,
                           65519,
                           65520,
                           65535,
                           65536,
                           -65520,
                           131072,
                           2147483647,
                           2147483648.0,
                           -2147483648.0,
                           -2147483649.0,
                           4294967295.0,
                           4294967296.0,
                           9.2233720368547748e18,
                           9.2233720368547758e18,
                           -9.2233720368547758e18,
                           1.8446744073709552e19,
                           1e30,
                           -1e30,
                           3.4028234e38,
                           3.4028235677973366e38,
                           1e39,
                           -1e39,
                           1e300,
                           inf,
                           -inf,
                           NAN,
                           1e-30,
                           1e-40,
                           -1e-45,
                           1e-300,
                           5e-324,
                           6.1035156e-05,
                           6.0976e-05,
                           5.9604645e-08,
                           2.9802322e-08,
                           2.98023224e-08,
                           8.9e-8,
                           1.00390625,
                           1.001953125,
                           1.0019531250001,
                           1.00585937499999,
                           88.7,
                           88.8,
                           -87.3,
                           -103.97,
                           709.7,
                           -745.2};
  return v;
}

inline void FillRandom(DType dtype, void* data, int64_t count, uint32_t seed, bool special,
                       double low = -4, double high = 4) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> specials = SpecialDoubles();
  for (int64_t i = 0; i < count; ++i) {
    ScalarValue value;
    uint64_t pick = rng();
    if (special && pick % 3 == 0) {
      value = ConvertScalar(DType::kF64, dtype,
                            ScalarFromDouble(DType::kF64, specials[rng() % specials.size()]));
    } else if (special && pick % 3 == 1 && !IsFloat(dtype) && dtype != DType::kBool) {
      value =
          ConvertScalar(DType::kI64, dtype,
                        ScalarFromInt(DType::kI64, static_cast<int64_t>(rng() >> (rng() % 64))));
    } else if (special && pick % 3 == 1 && IsFloat(dtype)) {
      value = ScalarFromDouble(dtype, std::ldexp(uniform(rng), static_cast<int>(rng() % 160) - 80));
    } else {
      value = ConvertScalar(
          DType::kF64, dtype,
          ScalarFromDouble(DType::kF64,
                           dtype == DType::kBool ? std::floor(uniform(rng) / 2) : uniform(rng)));
    }
    StoreScalar(dtype, value, static_cast<char*>(data) + i * ItemSize(dtype));
  }
}

// Buffers of a plan, one per param, of given element counts, with `skew` elements before each first
// element.
struct Data {
  std::vector<std::vector<char>> bytes;
  std::vector<void*> buffers;

  Data(const KernelPlan& plan, const std::vector<int64_t>& counts, uint32_t seed, bool special,
       int64_t skew = 0, double low = -4, double high = 4) {
    for (size_t p = 0; p < plan.params.size(); ++p) {
      DType dtype = plan.params[p].dtype;
      bytes.emplace_back(static_cast<size_t>((counts[p] + skew) * ItemSize(dtype)) + 64, '\x5a');
      void* data = bytes[p].data() + skew * ItemSize(dtype);
      if (plan.params[p].role == ParamRole::kInput)
        FillRandom(dtype, data, counts[p], seed + static_cast<uint32_t>(p), special, low, high);
      buffers.push_back(data);
    }
  }
  Data(const Data& other) { *this = other; }
  Data& operator=(const Data& other) {
    bytes = other.bytes;
    buffers.clear();
    for (size_t p = 0; p < bytes.size(); ++p) {
      buffers.push_back(bytes[p].data() +
                        (static_cast<char*>(other.buffers[p]) - other.bytes[p].data()));
    }
    return *this;
  }
};

// Elements equal bit for bit, NaNs alike; the bytes around the elements must be untouched, so whole
// buffers are compared. tolerance: allowed difference relative to max(1, |expected|), 0: none.
inline void ExpectSame(const KernelPlan& plan, const Data& expected, const Data& actual,
                       const std::vector<int64_t>& counts, double tolerance,
                       const std::string& where) {
  for (size_t p = 0; p < plan.params.size(); ++p) {
    DType dtype = plan.params[p].dtype, compute = ComputeType(dtype);
    int size = ItemSize(dtype);
    auto first =
        static_cast<size_t>(static_cast<char*>(expected.buffers[p]) - expected.bytes[p].data());
    size_t last = first + static_cast<size_t>(counts[p] * size);
    for (size_t i = 0; i < expected.bytes[p].size(); ++i) {
      if (i >= first && i < last) continue;
      ASSERT_EQ(expected.bytes[p][i], actual.bytes[p][i])
          << where << ": param " << p << " written outside its elements at byte "
          << static_cast<int64_t>(i) - static_cast<int64_t>(first);
    }
    int bad = 0;
    for (int64_t i = 0; i < counts[p]; ++i) {
      const char* a = static_cast<const char*>(expected.buffers[p]) + i * size;
      const char* b = static_cast<const char*>(actual.buffers[p]) + i * size;
      if (std::memcmp(a, b, static_cast<size_t>(size)) == 0) continue;
      double x = ScalarToDouble(compute, LoadScalar(dtype, a)),
             y = ScalarToDouble(compute, LoadScalar(dtype, b));
      if (IsFloat(dtype) && std::isnan(x) && std::isnan(y)) continue;
      if (IsFloat(dtype) && tolerance > 0 &&
          std::abs(x - y) <= tolerance * std::max(1.0, std::abs(x)))
        continue;
      if (++bad <= 5) {
        std::string inputs;
        for (size_t q = 0; q < plan.params.size(); ++q) {
          if (plan.params[q].role != ParamRole::kInput || counts[q] != counts[p]) continue;
          const char* in =
              static_cast<const char*>(expected.buffers[q]) + i * ItemSize(plan.params[q].dtype);
          absl::StrAppend(&inputs, " ",
                          ScalarToDouble(ComputeType(plan.params[q].dtype),
                                         LoadScalar(plan.params[q].dtype, in)));
        }
        ADD_FAILURE() << where << ": " << plan.name << " param " << p << "[" << i << "] expected "
                      << x << " got " << y << " (inputs" << inputs << ")";
      }
    }
    ASSERT_EQ(bad, 0) << where;
  }
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_CPU_BACKEND_CPU_KIT_H_
