// The reported faults on a GPU.
#include "api/options.h"
constexpr jitfuse::DeviceKind kFaultsDevice = jitfuse::DeviceKind::kCuda;
#include "tests/support/reported_faults_shapes.h"
#include "tests/support/reported_faults_values.h"

#include "tests/gpu/driver_function.h"

namespace jitfuse_test {

TEST_F(ReportedFaults, Case59_TheSeedOfACapturedCallIsReadAtEachReplay) {
  Builder b;
  const Tensor x = b.Input("x", DType::kF32, {"n"});
  const Function f =
      Compile(b, {Dropout(x, 0.5), jitfuse::RandomUniform(b, {1000}), Dropout(x, 0.3)});
  const StreamOfGpu0 stream;
  Values ones(4099, 1);
  const std::vector<Array> in = {Make(DType::kF32, {4099}, ones)};
  const Array state = *Array::Empty(DType::kU64, {2}, TheDevice());
  auto copy = DriverFunction<int (*)(std::uintptr_t, const void*, size_t)>("cuMemcpyHtoD_v2");
  ASSERT_NE(copy, nullptr);
  auto set = [&](std::uint64_t seed, std::uint64_t offset) {
    const std::uint64_t words[2] = {seed, offset};
    ASSERT_EQ(copy(reinterpret_cast<std::uintptr_t>(state.data()), words, sizeof words), 0);
  };
  auto eager = [&](std::uint64_t seed, std::uint64_t offset) {
    jitfuse::RunOptions options;
    options.rng = {seed, offset, nullptr};
    std::vector<Values> out;
    const std::vector<Array> results = f.Run(in, options).value();
    for (const Array& a : results) out.push_back(*a.ToVector());
    return out;
  };
  const std::vector<std::vector<Values>> want = {eager(7, 0), eager(7, 3), eager(8, 3)};
  for (size_t r = 0; r < 3; ++r) {
    EXPECT_NE(want[0][r], want[1][r]);
    EXPECT_NE(want[1][r], want[2][r]);
  }

  jitfuse::RunOptions options;
  options.stream = stream.get();
  options.rng.device_state = state.data();
  const std::vector<Array> out = {Make(DType::kF32, {4099}, ones),
                                  Make(DType::kF32, {1000}, Values(1000)),
                                  Make(DType::kF32, {4099}, ones)};
  ASSERT_TRUE(f.Warm(in, options).ok());
  const long long compiled = f.stats().compiles;
  void* instance = Captured(stream.get(), [&] {
    const jitfuse::Status s = f.RunInto(in, out, options);
    EXPECT_TRUE(s.ok()) << s.message();
  });
  EXPECT_EQ(f.stats().compiles, compiled);
  const std::uint64_t states[3][2] = {{7, 0}, {7, 3}, {8, 3}};
  for (size_t replay = 0; replay < 3; ++replay) {
    set(states[replay][0], states[replay][1]);
    Replay(instance, stream.get());
    for (size_t r = 0; r < 3; ++r)
      EXPECT_EQ(*out[r].ToVector(), want[replay][r]) << "replay " << replay << ", result " << r;
  }
}

}  // namespace jitfuse_test
