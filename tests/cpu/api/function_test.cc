// The public API end to end on the CPU: chains built in C++, results, buffers, errors.
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/dlpack.h"
#include "api/inspect.h"
#include "api/jitfuse.h"

namespace jitfuse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Dims = std::vector<std::int64_t>;

CompileOptions Cpu() {
  CompileOptions o;
  o.device = DeviceKind::kCpu;
  return o;
}

Array F32(Dims dims, const std::vector<double>& values) {
  return *Array::FromValues(DType::kF32, std::move(dims), values);
}

std::vector<double> Iota(int n) {
  std::vector<double> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 0.0);
  return v;
}

Function ReluChain() {
  Builder b("chain");
  Tensor a = b.Input("a", DType::kF32, {"n"}), x = b.Input("b", DType::kF32, {"n"}),
         c = b.Input("c", DType::kF32, {"n"});
  return *b.Compile({Relu(a * x + c)}, Cpu());
}

TEST(FunctionTest, ReluOfAProductAndASum) {
  Function f = ReluChain();
  auto y = f.Run({F32({3}, {1, 2, 3}), F32({3}, {4, -5, 6}), F32({3}, {0.5, 0.5, 0.5})});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_THAT(*(*y)[0].ToVector(), ElementsAre(4.5, 0, 18.5));
}

TEST(FunctionTest, ANewBatchSizeCompilesNothing) {
  Function f = ReluChain();
  for (int n : {2, 5, 17, 1000, 4099}) {
    Array v = F32({n}, Iota(n));
    auto y = f.Run({v, v, v});
    ASSERT_TRUE(y.ok()) << y.status().message();
    EXPECT_EQ((*y)[0].ToVector()->back(), (n - 1.0) * (n - 1.0) + (n - 1.0));
  }
  EXPECT_EQ(f.stats().compiles, 1);
}

TEST(FunctionTest, EmptyAndSingleElementResults) {
  Function f = ReluChain();
  auto none = f.Run({F32({0}, {}), F32({0}, {}), F32({0}, {})});
  ASSERT_TRUE(none.ok()) << none.status().message();
  EXPECT_THAT((*none)[0].dims(), ElementsAre(0));
  EXPECT_THAT(*(*f.Run({F32({1}, {2}), F32({1}, {3}), F32({1}, {1})}))[0].ToVector(),
              ElementsAre(7));
}

TEST(FunctionTest, RunIntoStridedBuffersAndInPlace) {
  Function f = ReluChain();
  std::vector<float> storage(20, -1.0f);
  Array v = F32({5}, {1, 2, 3, 4, 5});
  Array backwards = Array::View(storage.data() + 16, DType::kF32, {5}, {-4});
  ASSERT_TRUE(f.RunInto({v, v, v}, {backwards}).ok());
  EXPECT_THAT(*backwards.ToVector(), ElementsAre(2, 6, 12, 20, 30));
  EXPECT_EQ(storage[1], -1.0f);
  Array in_place = F32({5}, {1, 2, 3, 4, 5});
  ASSERT_TRUE(f.RunInto({in_place, v, v}, {in_place}).ok());
  EXPECT_THAT(*in_place.ToVector(), ElementsAre(2, 6, 12, 20, 30));
}

TEST(FunctionTest, ViewsOfPlainDims) {
  std::vector<float> storage = {1, 9, 2, 9, 3, 9};
  const std::int64_t dims[] = {3, 2}, other[] = {2, 3}, backwards[] = {-2, 1};
  const Array dense = Array::ViewOf(storage.data(), DType::kF32, 2, dims);
  EXPECT_THAT(dense.dims(), ElementsAre(3, 2));
  EXPECT_THAT(*dense.ToVector(), ElementsAre(1, 9, 2, 9, 3, 9));
  EXPECT_THAT(Array::ViewOf(storage.data(), DType::kF32, 2, other).dims(), ElementsAre(2, 3));
  EXPECT_EQ(&Array::ViewOf(storage.data() + 1, DType::kF32, 2, dims).dims(), &dense.dims())
      << "made anew";
  EXPECT_THAT(*Array::ViewOf(storage.data() + 4, DType::kF32, 2, dims, backwards).ToVector(),
              ElementsAre(3, 9, 2, 9, 1, 9));
  EXPECT_THAT(*Array::ViewOf(storage.data() + 2, DType::kF32, 0, nullptr).ToVector(),
              ElementsAre(2));
  for (std::int64_t n = 0; n < 100; ++n) {  // more than are kept
    const std::int64_t one[] = {n};
    EXPECT_THAT(Array::ViewOf(nullptr, DType::kF32, 1, one).dims(), ElementsAre(n));
  }
  EXPECT_THAT(dense.dims(), ElementsAre(3, 2));
}

TEST(FunctionTest, AViewThatIsUsedAgain) {
  std::vector<float> storage = {1, 2, 3, 4, 5, 6};
  const std::int64_t dims[] = {2, 3}, other[] = {3, 2}, strides[] = {1, 3};
  Array a = Array::ViewOf(storage.data(), DType::kF32, 2, dims);
  const std::vector<std::int64_t>* kept = &a.dims();
  std::vector<std::int32_t> integers = {7, 8, 9, 10, 11, 12};
  a.ResetView(integers.data(), DType::kI32, 2, dims);
  EXPECT_EQ(&a.dims(), kept);
  EXPECT_EQ(a.dtype(), DType::kI32);
  EXPECT_THAT(*a.ToVector(), ElementsAre(7, 8, 9, 10, 11, 12));
  a.ResetView(storage.data(), DType::kF32, 2, other, strides);
  EXPECT_THAT(*a.ToVector(), ElementsAre(1, 4, 2, 5, 3, 6));
  a.ResetView(storage.data(), DType::kF32, 2, other);  // from a strided one of the same dims
  EXPECT_THAT(*a.ToVector(), ElementsAre(1, 2, 3, 4, 5, 6));
  a.ResetView(storage.data() + 1, DType::kF32, 0, nullptr);
  EXPECT_THAT(*a.ToVector(), ElementsAre(2));
  a.ResetView(storage.data(), DType::kF32, 1, dims);
  EXPECT_THAT(*a.ToVector(), ElementsAre(1, 2));
  a = *Array::FromValues(DType::kF32, {2, 3}, {0, 0, 0, 0, 0, 0});
  a.ResetView(storage.data(), DType::kF32, 2, dims);  // which gives up what it owned
  EXPECT_THAT(*a.ToVector(), ElementsAre(1, 2, 3, 4, 5, 6));
  a.ResetView(storage.data(), DType::kF32, 2, dims, nullptr, Device{DeviceKind::kCuda, 1});
  EXPECT_EQ(a.device(), (Device{DeviceKind::kCuda, 1}));
}

TEST(FunctionTest, InPlaceOnAStridedView) {
  Function f = ReluChain();
  std::vector<float> storage = {1, 9, 2, 9, 3, 9};
  Array every_other = Array::View(storage.data(), DType::kF32, {3}, {2}), one = F32({3}, {1, 1, 1});
  ASSERT_TRUE(f.RunInto({every_other, one, one}, {every_other}).ok());
  EXPECT_THAT(storage, ElementsAre(2, 9, 3, 9, 4, 9));
}

TEST(FunctionTest, InPlaceIsRefusedWhereItWouldShow) {
  Builder b("flip");
  Tensor x = b.Input("x", DType::kF32, {3, 3});
  Function f = *b.Compile({Transpose(x) + x}, Cpu());
  Array a = F32({3, 3}, Iota(9));
  Status s = f.RunInto({a}, {a});
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("input 0 'x'"));
}

TEST(FunctionTest, OldValueIsUsedWhenAnInputIsOverwritten) {
  Builder b("two");
  Tensor t0 = b.Input("t0", DType::kF32, {10, 2}), t1 = b.Input("t1", DType::kF32, {2, 10, 2});
  Function f = *b.Compile({Relu(t0), t0 + t1}, Cpu());
  Array a = F32({10, 2}, std::vector<double>(20, -1)),
        c = F32({2, 10, 2}, std::vector<double>(40, 3));
  Array out = *Array::Empty(DType::kF32, {2, 10, 2});
  Status s = f.RunInto({a, c}, {a, out});
  if (s.ok()) {
    EXPECT_THAT(*out.ToVector(), ::testing::Each(2.0));
  } else {
    EXPECT_THAT(s.message(), HasSubstr("buffer of its own"));
  }
}

TEST(FunctionTest, ScalarParametersCompileNothing) {
  Builder b("scale");
  Tensor x = b.Input("x", DType::kF32, {"n"}), lr = b.Scalar("lr", DType::kF32);
  Function f = *b.Compile({x * lr}, Cpu());
  for (double v : {0.5, 2.0, -1.0}) {
    EXPECT_THAT(*(*f.Run({F32({2}, {1, 2}), Array::Scalar(DType::kF32, v)}))[0].ToVector(),
                ElementsAre(v, 2 * v));
  }
  EXPECT_EQ(f.stats().compiles, 1);
}

TEST(FunctionTest, PromotionFollowsTheLattice) {
  Builder b("mixed");
  Tensor i = b.Input("i", DType::kI32, {2}), h = b.Input("h", DType::kF16, {2}),
         g = b.Input("g", DType::kBF16, {2});
  EXPECT_EQ((i + h).dtype(), DType::kF16);
  EXPECT_EQ((h + g).dtype(), DType::kF32);
  EXPECT_EQ((i * 2).dtype(), DType::kI32);
  EXPECT_EQ((h * 2.5).dtype(), DType::kF16);
  EXPECT_TRUE(b.status().ok()) << b.status().message();
}

TEST(FunctionTest, ErrorsSayWhatWasExpected) {
  Builder b("bad");
  Tensor x = b.Input("x", DType::kF32, {3, 4}), y = b.Input("y", DType::kF32, {5, 4});
  Tensor z = Relu(x + y);
  EXPECT_FALSE(z.valid());
  EXPECT_THAT(b.status().message(), HasSubstr("add(f32[3,4], f32[5,4])"));
  EXPECT_FALSE(b.Compile({z}).ok());

  Function f = ReluChain();
  Array v = F32({3}, {1, 2, 3}), w = F32({4}, {1, 2, 3, 4});
  EXPECT_EQ(f.Run({v, v, w}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(f.Run({v, v}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(
      f.Run({v, v, Array::View(static_cast<void*>(nullptr), DType::kF32, {3})}).status().message(),
      HasSubstr("no data"));
  EXPECT_THAT(f.Run({v, v, Array::View(v.data(), static_cast<DType>(55), {3})}).status().message(),
              HasSubstr("dtype number 55"));
  EXPECT_EQ(Function().Run({}).status().code(), StatusCode::kFailedPrecondition);
}

TEST(FunctionTest, ADTypeThatDoesNotExistIsAnError) {
  const auto none = static_cast<DType>(55);
  auto message = [](auto build) {
    Builder b("bad");
    build(b);
    return b.status().message();
  };
  EXPECT_THAT(message([&](Builder& b) { (void)b.Input("q", none, {"a"}); }),
              HasSubstr("input 'q': dtype number 55, expected one below 13"));
  EXPECT_THAT(message([&](Builder& b) { (void)b.Scalar("q", none); }), HasSubstr("number 55"));
  EXPECT_THAT(message([&](Builder& b) { (void)b.Constant(none, 1); }), HasSubstr("number 55"));
  EXPECT_THAT(message([&](Builder& b) { (void)Cast(b.Input("q", DType::kF32, {"a"}), none); }),
              HasSubstr("cast: attribute dtype: dtype number 55"));
  EXPECT_THAT(message([&](Builder& b) { (void)Iota(b, {3}, 0, none); }), HasSubstr("number 55"));
}

TEST(FunctionTest, ArraysOfADTypeThatDoesNotExist) {
  const auto none = static_cast<DType>(55);
  EXPECT_STREQ(DTypeName(none), "invalid");
  EXPECT_EQ(ItemSize(none), 0);
  EXPECT_EQ(Array::Empty(none, {2}).status().message(),
            "Array::Empty: dtype number 55, expected one below 13");
  EXPECT_THAT(Array::FromValues(none, {2}, {1, 2}).status().message(), HasSubstr("number 55"));
  std::vector<float> data(2);
  const Array view = Array::View(data.data(), none, {2});
  EXPECT_THAT(view.ToVector().status().message(), HasSubstr("number 55"));
  EXPECT_THAT(view.CopyTo({}).status().message(), HasSubstr("number 55"));
  Builder b("scaled");
  Tensor x = b.Input("x", DType::kF32, {"n"}), s = b.Scalar("s", DType::kF32);
  Function f = *b.Compile({x * s}, Cpu());
  for (const Array& scalar : {Array::Scalar(none, 1.5), Array::ScalarInt(none, 1)}) {
    EXPECT_EQ(scalar.data(), nullptr);
    EXPECT_THAT(f.Run({F32({2}, {1, 2}), scalar}).status().message(), HasSubstr("number 55"));
  }
}

// Sums of nothing, where only the sizes of a call say so: zeros, whatever was in the memory.
TEST(FunctionTest, ProductsOfNothingAreZeros) {
  Builder b("tail");
  Tensor x = b.Input("x", DType::kF32, {5, "n"}), w = b.Input("w", DType::kF32, {"n", 3}),
         bias = b.Input("bias", DType::kF32, {3});
  Tensor product = Matmul(Slice(x, {0, 2}), Slice(w, {2, 0}));
  Function f = *b.Compile({product, product + bias}, Cpu());
  const Array bias_of = F32({3}, {1, 2, 3});
  for (int n : {4, 2, 3}) {
    Array xs = F32({5, n}, Iota(5 * n)), ws = F32({n, 3}, Iota(3 * n));
    Array sums = F32({5, 3}, std::vector<double>(15, 77)),
          biased = F32({5, 3}, std::vector<double>(15, 77));
    Status s = f.RunInto({xs, ws, bias_of}, {sums, biased});
    ASSERT_TRUE(s.ok()) << n << ": " << s.message();
    for (int i = 0; i < 5; ++i) {
      for (int j = 0; j < 3; ++j) {
        double sum = 0;
        for (int k = 2; k < n; ++k) sum += (i * n + k) * (k * 3.0 + j);
        EXPECT_EQ((*sums.ToVector())[static_cast<size_t>(3 * i + j)], sum) << n;
        EXPECT_EQ((*biased.ToVector())[static_cast<size_t>(3 * i + j)], sum + j + 1) << n;
      }
    }
  }
  Array xs = F32({5, 2}, Iota(10)), ws = F32({2, 3}, Iota(6));
  EXPECT_THAT(*f.Explain({xs, ws, bias_of}), HasSubstr("sums of nothing, the result is zeros"));
}

TEST(FunctionTest, NamesOfRandomOpsAreNotForInputs) {
  for (const char* name : {"rng_seed", "rng_offset"}) {
    Builder b("bad");
    EXPECT_FALSE(b.Scalar(name, DType::kU64).valid());
    EXPECT_THAT(b.status().message(), HasSubstr("random ops read this one"));
    Builder c("bad");
    EXPECT_FALSE(c.Input(name, DType::kF32, {"n"}).valid());
  }
}

TEST(FunctionTest, RandomOpsDrawFromTheRngOfTheCall) {
  Builder b("random");
  Tensor x = b.Input("x", DType::kF32, {64});
  Tensor dropped = Dropout(x, 0.5), uniform = RandomUniform(b, {64});
  Tensor y = b.Input("y", DType::kF32, {64});
  Tensor normal = RandomNormal(b, {64}), again = RandomUniform(b, {64});
  const std::vector<Tensor> results = {dropped + y, uniform, normal, again};
  const Array ones = F32({64}, std::vector<double>(64, 1)),
              zeros = F32({64}, std::vector<double>(64));
  std::vector<std::vector<std::vector<double>>> by_backend;
  for (DeviceKind device : {DeviceKind::kCpu, DeviceKind::kInterpret}) {
    CompileOptions options;
    options.device = device;
    Function f = b.Compile(results, options).value();
    auto run = [&](std::uint64_t seed, std::uint64_t offset) {
      RunOptions run_options;
      run_options.rng = {seed, offset, nullptr};
      std::vector<std::vector<double>> out;
      const std::vector<Array> arrays = f.Run({ones, zeros}, run_options).value();
      for (const Array& a : arrays) out.push_back(a.ToVector().value());
      return out;
    };
    const auto first = run(1, 0);
    by_backend.push_back(first);
    EXPECT_EQ(run(1, 0), first);
    for (size_t r = 0; r < results.size(); ++r) {
      EXPECT_NE(run(2, 0)[r], first[r]) << r;
      EXPECT_NE(run(1, 4)[r], first[r]) << r;
    }
    EXPECT_NE(first[1], first[3]);  // another op, another stream
    for (double v : first[0]) EXPECT_TRUE(v == 0 || v == 2) << v;
    EXPECT_FALSE(f.Run({ones}).ok());
    EXPECT_FALSE(f.Run({ones, zeros, ones}).ok());
  }
  for (size_t r : {0, 1, 3}) EXPECT_EQ(by_backend[0][r], by_backend[1][r]) << r;
}

TEST(FunctionTest, ADeviceStateOnTheCpuIsHostMemoryReadWhenTheCallBegins) {
  for (DeviceKind device : {DeviceKind::kCpu, DeviceKind::kInterpret}) {
    Builder b("random");
    CompileOptions options;
    options.device = device;
    Function f = b.Compile({RandomUniform(b, {64})}, options).value();
    alignas(8) std::uint64_t state[2] = {5, 3};
    RunOptions from_state, by_value;
    from_state.rng.device_state = state;
    auto run = [&](const RunOptions& o) { return *f.Run({}, o).value()[0].ToVector(); };
    for (std::uint64_t offset : {3, 4}) {
      state[1] = offset;
      by_value.rng = {5, offset, nullptr};
      EXPECT_EQ(run(from_state), run(by_value));
    }
    EXPECT_EQ(f.stats().compiles, 1);
    from_state.rng.device_state = reinterpret_cast<char*>(state) + 1;
    EXPECT_EQ(f.Run({}, from_state).status().message(),
              "graph random: RunOptions::rng.device_state must be two 64-bit words {seed, offset} "
              "aligned to 8 bytes, got an address that is 1 modulo 8");
    // What only compiles does not read it.
    from_state.rng.device_state = reinterpret_cast<const void*>(std::uintptr_t{64});
    EXPECT_TRUE(f.Warm({}, from_state).ok());
  }
}

TEST(FunctionTest, AnUnknownBackendInTheEnvironmentIsAnError) {
  const char* before = std::getenv("JITFUSE_BACKEND");
  const std::string kept = before == nullptr ? "" : before;
  setenv("JITFUSE_BACKEND", "gpu", 1);
  StatusOr<Function> f =
      CompileText("graph g(%x: f32[n]) -> (f32[n]) { %0 = relu(%x) : f32[n] return %0 }");
  setenv("JITFUSE_BACKEND", kept.c_str(), 1);  // empty counts as not set
  EXPECT_EQ(f.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(f.status().message(), HasSubstr("unknown backend 'gpu'"));
}

TEST(FunctionTest, StrictNumericsIsNotBuiltYet) {
  Builder b("s");
  CompileOptions o = Cpu();
  o.numerics = Numerics::kStrict;
  EXPECT_EQ(b.Compile({Relu(b.Input("x", DType::kF32, {2}))}, o).status().code(),
            StatusCode::kUnimplemented);
}

TEST(FunctionTest, AValueOfATemporaryOutlivesIt) {
  Array a = F32({3}, {1, 2, 3});
  std::vector<double> seen;
  for (double v : a.ToVector().value()) seen.push_back(v);
  for (double v : *a.ToVector()) seen.push_back(v);
  EXPECT_EQ(seen, (std::vector<double>{1, 2, 3, 1, 2, 3}));
}

TEST(FunctionTest, WorkspaceIsUsedWhenLargeEnough) {
  Builder b("mm");
  Tensor x = b.Input("x", DType::kF32, {8, 16}), w = b.Input("w", DType::kF32, {16, 8});
  Function f = *b.Compile({Softmax(Matmul(x, w))}, Cpu());
  Array a = F32({8, 16}, Iota(128)), c = F32({16, 8}, std::vector<double>(128, 0.25));
  std::size_t bytes = *f.WorkspaceBytes({a, c});
  std::vector<Array> direct = *f.Run({a, c});
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  RunOptions o;
  o.workspace = memory;
  o.workspace_bytes = bytes;
  Array out = *Array::Empty(DType::kF32, {8, 8});
  EXPECT_TRUE(f.RunInto({a, c}, {out}, o).ok());
  EXPECT_EQ(*out.ToVector(), *direct[0].ToVector());
  if (bytes > 0) {
    o.workspace_bytes = bytes - 1;
    EXPECT_THAT(f.RunInto({a, c}, {out}, o).message(), HasSubstr("workspace"));
  }
  std::free(memory);
}

TEST(FunctionTest, SameTensorTwiceAndInputsReturned) {
  Builder b("twice");
  Tensor x = b.Input("x", DType::kF32, {3}), unused = b.Input("unused", DType::kF32, {2});
  Tensor y = x * x + x;
  Function f = *b.Compile({y, y, x}, Cpu());
  Array v = F32({3}, {1, 2, 3});
  auto r = f.Run({v, F32({2}, {0, 0})});
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_THAT(*(*r)[0].ToVector(), ElementsAre(2, 6, 12));
  EXPECT_THAT(*(*r)[1].ToVector(), ElementsAre(2, 6, 12));
  EXPECT_THAT(*(*r)[2].ToVector(), ElementsAre(1, 2, 3));
  EXPECT_NE((*r)[2].data(), v.data());
}

TEST(FunctionTest, ExplainNamesGroupsAndReasons) {
  Builder b("mlp");
  Tensor x = b.Input("x", DType::kF32, {"n", 16}), w = b.Input("w", DType::kF32, {16, 8}),
         c = b.Input("c", DType::kF32, {8});
  Function f = *b.Compile({Softmax(Relu(Matmul(x, w) + c))}, Cpu());
  std::vector<Array> in = {F32({4, 16}, Iota(64)), F32({16, 8}, Iota(128)), F32({8}, Iota(8))};
  std::string text = *f.Explain(in), json = *f.ExplainJson(in);
  EXPECT_THAT(text, HasSubstr("matmul"));
  EXPECT_THAT(text, HasSubstr("boundary"));
  EXPECT_THAT(text, HasSubstr("one kernel per op would move"));
  EXPECT_THAT(json, HasSubstr("\"version\": 2"));
  EXPECT_THAT(json, HasSubstr("\"reason\""));
}

// Addresses one element beyond what was promised.
class OddAllocator : public Allocator {
 public:
  void* Allocate(std::size_t bytes, void*) override {
    ++held;
    return static_cast<char*>(std::aligned_alloc(256, (bytes + 511) / 256 * 256)) + 16;
  }
  void Free(void* p, std::size_t, void*) override {
    --held;
    std::free(static_cast<char*>(p) - 16);
  }
  int held = 0;
};

TEST(FunctionTest, AllocatorsThatDoNotAlignAreNamed) {
  Builder b("mm");
  Tensor x = b.Input("x", DType::kF32, {8, 16}), w = b.Input("w", DType::kF32, {16, 8});
  Function f = *b.Compile({Softmax(Matmul(x, w))}, Cpu());
  Array a = F32({8, 16}, Iota(128)), c = F32({16, 8}, std::vector<double>(128, 0.25));
  OddAllocator odd;
  RunOptions o;
  o.allocator = &odd;
  Array out = *Array::Empty(DType::kF32, {8, 8});
  std::vector<Status> all = {f.Run({a, c}, o).status()};
  if (*f.WorkspaceBytes({a, c}) > 0) all.push_back(f.RunInto({a, c}, {out}, o));
  for (const Status& s : all) {
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(s.message(),
              "graph mm: the allocator gave an address that is 16 beyond a multiple of 256, "
              "expected one of those");
  }
  EXPECT_EQ(odd.held, 0);
}

TEST(FunctionTest, StridesOfExtentOneMayBeAnything) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  Array v = F32({3}, {1, 2, 3});
  for (std::int64_t odd : {kMost, -kMost - 1}) {
    Array row = Array::View(v.data(), DType::kF32, {1, 3, 1}, {odd, 1, odd});
    EXPECT_THAT(*row.ToVector(), ElementsAre(1, 2, 3));
    Builder b("row");
    Function f = *b.Compile({b.Input("x", DType::kF32, {"n", 3, 1}) + 1.0}, Cpu());
    auto y = f.Run({row});
    ASSERT_TRUE(y.ok()) << y.status().message();
    EXPECT_THAT(*(*y)[0].ToVector(), ElementsAre(2, 3, 4));
  }
}

TEST(FunctionTest, DLPackSizesAreChecked) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  auto view = [&](std::vector<std::int64_t> dims, std::vector<std::int64_t> strides) {
    DLTensor tensor{};
    tensor.data = data;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int>(dims.size());
    tensor.dtype = {kDLFloat, 32, 1};
    tensor.shape = dims.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
    return FromDLPackView(tensor);
  };
  EXPECT_THAT(*view({2, 3}, {})->ToVector(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(*view({1, 3}, {kMost, 2})->ToVector(), ElementsAre(0, 2, 4));
  EXPECT_EQ(view({2, -3}, {}).status().message(), "DLPack: expected sizes >= 0, got shape [2,-3]");
  EXPECT_THAT(view({kMost, 4}, {}).status().message(), HasSubstr("more bytes than fit in 64 bits"));
  EXPECT_THAT(view({2, 3}, {kMost / 2, 1}).status().message(),
              HasSubstr("shape [2,3] with strides [4611686018427387903,1] reaches beyond 64 bits"));
  EXPECT_THAT(view({kMost / 4, 0}, {kMost, kMost}).status().message(), "");
}

TEST(FunctionTest, DLPackWithoutAShapeIsAnError) {
  DLTensor tensor{};
  float data = 1;
  tensor.data = &data;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = 2;
  tensor.dtype = {kDLFloat, 32, 1};
  EXPECT_THAT(FromDLPackView(tensor).status().message(), HasSubstr("has no shape"));
}

TEST(FunctionTest, DLPackKeepsStridesAndOwnership) {
  Array v = F32({2, 3}, Iota(6));
  DLManagedTensor* managed = *ToDLPack(v);
  Array back = *FromDLPack(managed);
  EXPECT_EQ(back.data(), v.data());
  EXPECT_THAT(back.dims(), ElementsAre(2, 3));
  Function f = [] {
    Builder b("t");
    return *b.Compile({Transpose(b.Input("x", DType::kF32, {"n", "m"})) + 1.0}, Cpu());
  }();
  EXPECT_THAT(*(*f.Run({back}))[0].ToVector(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(FunctionConcurrencyTest, ManyThreadsCompileAndCallSameAndDifferentFunctions) {
  Function shared = ReluChain();
  constexpr int kThreads = 64;
  std::vector<std::thread> threads;
  std::vector<int> wrong(kThreads, 0);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Builder b("own");
      Tensor x = b.Input("x", DType::kF32, {"n"});
      auto own = b.Compile({Relu(x * static_cast<double>(t % 8) + 1.0)}, Cpu());
      for (int i = 0; i < 20; ++i) {
        int n = 3 + (t + i) % 7;
        Array v = F32({n}, Iota(n));
        auto y = shared.Run({v, v, v});
        auto z = own->Run({v});
        double last = n - 1.0;
        wrong[static_cast<std::size_t>(t)] += !y.ok() || !z.ok() ||
                                              (*y)[0].ToVector()->back() != last * last + last ||
                                              (*z)[0].ToVector()->back() != last * (t % 8) + 1.0;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_THAT(wrong, ::testing::Each(0));
  EXPECT_EQ(shared.stats().compiles, 1);
}

}  // namespace
}  // namespace jitfuse
