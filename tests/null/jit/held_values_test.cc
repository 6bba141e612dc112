// What a bound function computes once: on a back end that packs and counts.
#include "jit/held_values.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/call_cache.h"
#include "jit/executor.h"
#include "tests/test_util/packing_backend.h"

namespace jitfuse::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Dims = std::vector<int64_t>;

struct Tensor {
  Dims dims;
  std::vector<float> data;
};

// f32 functions of several tensors, of which some are bound.
class Harness {
 public:
  Harness(std::string_view text, std::vector<Tensor> inputs, std::vector<bool> bound,
          int64_t layouts = 1, const Options& options = {}, const Target* target = nullptr)
      : backend(layouts), inputs_(std::move(inputs)) {
    backend.planned_for = target;
    HeldInputs held;
    held.bound = std::move(bound);
    held.bits.assign(inputs_.size(), 0);
    for (size_t i = 0; i < inputs_.size(); ++i)
      held.data.push_back(held.bound[i] ? inputs_[i].data.data() : nullptr);
    cache = std::make_unique<CallCache>(*ParseGraph(text), options, &backend, &kernels_,
                                        VerifyPolicy{}, std::move(held));
  }

  absl::StatusOr<std::vector<float>> Run() { return RunWith(inputs_[0]); }
  // With another first input.
  absl::StatusOr<std::vector<float>> RunWith(Tensor first) {
    std::vector<TensorView> views;
    std::vector<void*> pointers;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Tensor& t = i == 0 ? first : inputs_[i];
      views.push_back({t.data.data(), DType::kF32, t.dims, {}});
      pointers.push_back(t.data.data());
    }
    JF_ASSIGN_OR_RETURN(auto bound, cache->Find(views, {}));
    std::vector<float> out(static_cast<size_t>(*CheckedNumElements(*bound->output_dims[0])));
    void* result = out.data();
    const std::vector<uint64_t> scalars(inputs_.size(), 0);
    JF_RETURN_IF_ERROR(ExecuteWithAllocator(
        *bound, {pointers, scalars, {&result, 1}, nullptr, nullptr}, backend.allocator()));
    return out;
  }
  Tensor& input(size_t i) { return inputs_[i]; }

  PackingBackend backend;
  std::unique_ptr<CallCache> cache;

 private:
  std::vector<Tensor> inputs_;
  KernelCache kernels_;
};

constexpr char kLinear[] =
    "graph f(%x: f32[m,2], %w: f32[3,2]) -> (f32[m,3]) {\n %0 = matmul(%x, %w) "
    "{transpose_b=true} : f32[m,3]\n return %0\n}";
constexpr char kScaled[] =
    "graph f(%x: f32[m,2], %w: f32[2,2], %s: f32[2]) -> (f32[m,2]) {\n %0 = multiply(%w, %s) : "
    "f32[2,2]\n %1 = exp(%0) : f32[2,2]\n %2 = matmul(%x, %1) : f32[m,2]\n return %2\n}";

int64_t Interpreted(const Counters& counted) {
  return counted.fallbacks[static_cast<size_t>(Reason::kBackgroundInterpreted)];
}

TEST(HeldValuesTest, TheRightOperandIsPackedOnce) {
  Harness h(kLinear, {{{1, 2}, {1, 10}}, {{3, 2}, {1, 2, 3, 4, 5, 6}}}, {false, true});
  for (int i = 0; i < 3; ++i) EXPECT_THAT(*h.Run(), ElementsAre(21, 43, 65));
  EXPECT_THAT(*h.RunWith({{2, 2}, {1, 0, 0, 1}}), ElementsAre(1, 3, 5, 2, 4, 6));
  EXPECT_THAT(*h.RunWith({{3, 2}, {1, 0, 0, 1, 1, 1}}), ElementsAre(1, 3, 5, 2, 4, 6, 3, 7, 11));
  EXPECT_EQ(h.backend.packs, 1);
  EXPECT_EQ(h.backend.packed_products, 5);
  EXPECT_EQ(h.backend.products, 0);
  EXPECT_EQ(h.cache->stats().prepared, 1);
}

TEST(HeldValuesTest, NothingIsPackedOfWhatIsNotBound) {
  Harness h(kLinear, {{{1, 2}, {1, 10}}, {{3, 2}, {1, 2, 3, 4, 5, 6}}}, {true, false});
  EXPECT_THAT(*h.Run(), ElementsAre(21, 43, 65));
  EXPECT_EQ(h.backend.packs, 0);
  EXPECT_EQ(h.backend.products, 1);
}

TEST(HeldValuesTest, EachLayoutIsPackedOnce) {
  Harness h(kLinear, {{{2, 2}, {1, 0, 0, 1}}, {{3, 2}, {1, 2, 3, 4, 5, 6}}}, {false, true},
            /*layouts=*/2);
  for (int64_t m : {2, 3, 4, 5, 6}) {
    Tensor x{{m, 2}, std::vector<float>(static_cast<size_t>(2 * m), 1)};
    EXPECT_EQ((*h.RunWith(x))[0], 3) << m;
  }
  EXPECT_EQ(h.backend.packs, 2);
}

TEST(HeldValuesTest, WhatReadsBoundInputsAloneIsComputedOnceForAllClasses) {
  Harness h(kScaled, {{{1, 2}, {1, 1}}, {{2, 2}, {0, 0, 0, 0}}, {{2}, {1, 1}}},
            {false, true, true});
  EXPECT_THAT(*h.Run(), ElementsAre(2, 2));
  EXPECT_THAT(*h.RunWith({{2, 2}, {1, 0, 0, 1}}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(*h.RunWith({{3, 2}, {1, 0, 0, 1, 2, 2}}), ElementsAre(1, 1, 1, 1, 4, 4));
  EXPECT_EQ(h.cache->executables().size(), 2u);  // a batch of 1 is a class of its own
  EXPECT_EQ(h.backend.launches, 1);
  EXPECT_EQ(h.backend.packs, 1);
  EXPECT_EQ(h.cache->stats().prepared, 2);
  EXPECT_EQ(h.cache->executables()[0]->held.size(), 1u);
}

// Not by what runs while code is compiled: that would be other bits, for the life of the function.
TEST(HeldValuesTest, WhatIsComputedOnceIsNotInterpretedWhereCodeIsCompiledInTheBackground) {
  Options options;
  options.background = true;
  options.specialize_after = 1;
  const absl::StatusOr<Target> cpu = TargetFor("x86-64-v3");
  ASSERT_TRUE(cpu.ok());
  const int64_t interpreted = Interpreted(ProcessCounters());
  Harness h(kScaled, {{{1, 2}, {1, 1}}, {{2, 2}, {0, 0, 0, 0}}, {{2}, {1, 1}}}, {false, true, true},
            1, options, &*cpu);
  EXPECT_THAT(*h.Run(), ElementsAre(2, 2));
  EXPECT_EQ(h.backend.launches, 1);
  EXPECT_EQ(Interpreted(ProcessCounters()), interpreted);
}

// Its bits depend on what is bound alone: not on how the arguments of the first call lie, nor on
// what is tuned.
TEST(HeldValuesTest, IsComputedInTheSameWayWhicheverCallIsFirst) {
  struct Seen : public PackingBackend {
    mutable std::vector<GemmProblem> asked;
    absl::StatusOr<std::shared_ptr<const PreparedGemm>> PrepareGemm(
        const GemmProblem& p) const override {
      asked.push_back(p);
      return PackingBackend::PrepareGemm(p);
    }
  };
  const auto graph = ParseGraph(
      "graph f(%x: f32[m,2], %u: f32[2,3], %v: f32[3,2]) -> (f32[m,2]) {\n"
      " %0 = matmul(%u, %v) : f32[2,2]\n %1 = matmul(%x, %0) : f32[m,2]\n return %1\n}");
  alignas(16) float u[8] = {1, 2, 3, 4, 5, 6}, v[8] = {1, 1, 1, 1, 1, 1};
  alignas(16) float x[12] = {};
  const Dims du = {2, 3}, dv = {3, 2};
  std::vector<std::vector<GemmProblem>> seen;
  for (const auto& [m, first] : {std::pair{1, 0}, {2, 0}, {2, 1}, {5, 3}}) {
    Seen backend;
    KernelCache kernels;
    HeldInputs held{{false, true, true}, {nullptr, u, v}, {0, 0, 0}, {}};
    Options options;
    options.products.resize(2);
    options.products[0].epilogue = ProductChoice::Epilogue(m % 2);
    CallCache cache(*graph, options, &backend, &kernels, {}, std::move(held));
    const Dims dx = {m, 2};
    const std::vector<TensorView> in = {
        {x + first, DType::kF32, dx, {}}, {u, DType::kF32, du, {}}, {v, DType::kF32, dv, {}}};
    const auto bound = cache.Find(in, {});
    ASSERT_TRUE(bound.ok()) << bound.status();
    EXPECT_EQ((*bound)->executable->steps.size(), 1u);
    const auto* held_value = static_cast<const float*>((*bound)->held[0]->data());
    EXPECT_THAT(std::vector<float>(held_value, held_value + 4), ElementsAre(6, 6, 15, 15));
    seen.push_back(backend.asked);
  }
  for (const std::vector<GemmProblem>& asked : seen) {
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_EQ(asked[0].Key(), seen[0][0].Key());
    EXPECT_EQ(asked[0].align, 16);
  }
}

// Bound arrays are read where they lie, also where that is not densely.
TEST(HeldValuesTest, OfStridedArrays) {
  PackingBackend backend;
  KernelCache kernels;
  float w[] = {0, 9, 1, 9, 2, 9, 3, 9}, x[] = {1, 0, 0, 1};
  HeldInputs held{{false, true}, {nullptr, w}, {0, 0}, {{}, {4, 2}}};
  CallCache cache(*ParseGraph("graph f(%x: f32[m,2], %w: f32[2,2]) -> (f32[m,2]) {\n"
                              " %0 = negative(%w) : f32[2,2]\n"
                              " %1 = matmul(%x, %0) : f32[m,2]\n return %1\n}"),
                  Options{}, &backend, &kernels, {}, std::move(held));
  const Dims square = {2, 2}, strides = {4, 2};
  const std::vector<TensorView> in = {{x, DType::kF32, square, {}},
                                      {w, DType::kF32, square, strides}};
  const auto bound = cache.Find(in, {});
  ASSERT_TRUE(bound.ok()) << bound.status();
  const auto* value = static_cast<const float*>((*bound)->held[0]->data());
  EXPECT_THAT(std::vector<float>(value, value + 4), ElementsAre(0, -1, -2, -3));
}

TEST(HeldValuesTest, WhatReadsAnArgumentIsComputedInEachCall) {
  Harness h(kScaled, {{{1, 2}, {1, 1}}, {{2, 2}, {0, 0, 0, 0}}, {{2}, {1, 1}}},
            {false, true, false});
  for (int i = 0; i < 3; ++i) EXPECT_THAT(*h.Run(), ElementsAre(2, 2));
  EXPECT_EQ(h.backend.launches, 3);
  EXPECT_EQ(h.backend.packs, 0);
}

// A result has to be written in each call.
TEST(HeldValuesTest, WhatIsReturnedIsComputedInEachCall) {
  Harness h("graph f(%x: f32[m], %w: f32[2]) -> (f32[2]) {\n %0 = exp(%w) : f32[2]\n return %0\n}",
            {{{1}, {1}}, {{2}, {0, 0}}}, {false, true});
  for (int i = 0; i < 2; ++i) EXPECT_THAT(*h.Run(), ElementsAre(1, 1));
  EXPECT_EQ(h.backend.launches, 2);
  EXPECT_EQ(h.cache->stats().prepared, 0);
}

TEST(HeldValuesTest, AStreamThatIsCapturedIsToldToWarm) {
  Harness h(kScaled, {{{1, 2}, {1, 1}}, {{2, 2}, {0, 0, 0, 0}}, {{2}, {1, 1}}},
            {false, true, true});
  h.backend.capturing = true;
  const auto refused = h.Run();
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("call Function::Warm"));
  h.backend.capturing = false;
  ASSERT_TRUE(h.Run().ok());
  h.backend.capturing = true;
  EXPECT_THAT(*h.Run(), ElementsAre(2, 2));
}

TEST(HeldValuesTest, AResultInABoundBufferIsAnError) {
  Harness h(
      "graph f(%x: f32[2], %w: f32[2]) -> (f32[2]) {\n %0 = add(%x, %w) : f32[2]\n return %0\n}",
      {{{2}, {1, 1}}, {{2}, {0, 0}}}, {false, true});
  const std::vector<TensorView> in = {{h.input(0).data.data(), DType::kF32, h.input(0).dims, {}},
                                      {h.input(1).data.data(), DType::kF32, h.input(1).dims, {}}};
  EXPECT_TRUE(h.cache->Find(in, {&in[0], 1}).ok());
  const auto refused = h.cache->Find(in, {&in[1], 1});
  EXPECT_THAT(refused.status().message(), HasSubstr("buffer of input 1 'w', which is bound"));
}

TEST(HeldValuesConcurrencyTest, ManyThreadsMakeItOnce) {
  Harness h(kScaled, {{{1, 2}, {1, 1}}, {{2, 2}, {0, 0, 0, 0}}, {{2}, {1, 1}}},
            {false, true, true});
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t m = 1; m < 6; ++m) {
        const auto size = static_cast<size_t>(2 * m);
        const auto y = h.RunWith({{m, 2}, std::vector<float>(size, static_cast<float>(t))});
        right += y.ok() && *y == std::vector<float>(size, 2 * static_cast<float>(t)) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 40);
  EXPECT_EQ(h.backend.launches, 1);
  EXPECT_EQ(h.backend.packs, 1);
}

// ---- Products of one matrix.

constexpr char kThree[] =
    R"(graph f(%x: f32[m,2], %q: f32[2,2], %k: f32[2,2], %v: f32[1,2]) -> (f32[m,2]) {
  %0 = matmul(%x, %q) {transpose_b=true} : f32[m,2]
  %1 = matmul(%x, %k) {transpose_b=true} : f32[m,2]
  %2 = matmul(%x, %v) {transpose_b=true} : f32[m,1]
  %3 = multiply(%0, %1) : f32[m,2]
  %4 = add(%3, %2) : f32[m,2]
  return %4
})";
std::vector<Tensor> ThreeInputs() {
  return {{{2, 2}, {1, 0, 0, 1}}, {{2, 2}, {1, 2, 3, 4}}, {{2, 2}, {5, 6, 7, 8}}, {{1, 2}, {1, 2}}};
}

int64_t Count(const Harness& h, Reason reason) {
  return h.cache->stats().fallbacks[static_cast<size_t>(reason)];
}

TEST(GroupProductsTest, BoundOnesAreOneProduct) {
  Harness h(kThree, ThreeInputs(), {false, true, true, true});
  EXPECT_THAT(*h.Run(), ElementsAre(6, 22, 14, 34));
  EXPECT_EQ(h.backend.packed_products, 1);
  EXPECT_EQ(h.backend.products, 0);
  EXPECT_EQ(h.backend.launches, 2);  // side by side, once; what follows
  EXPECT_EQ(Count(h, Reason::kGemmGrouped), 1);
  ASSERT_TRUE(h.Run().ok());
  EXPECT_EQ(h.backend.launches, 3);
}

TEST(GroupProductsTest, ThoseThatAreNotBoundStayApart) {
  Harness h(kThree, ThreeInputs(), {false, true, false, true});
  EXPECT_THAT(*h.Run(), ElementsAre(6, 22, 14, 34));
  EXPECT_EQ(h.backend.packed_products, 1);  // of the two that are bound
  EXPECT_EQ(h.backend.products, 1);
  Harness none(kThree, ThreeInputs(), {false, false, false, false});
  EXPECT_THAT(*none.Run(), ElementsAre(6, 22, 14, 34));
  EXPECT_EQ(none.backend.products, 3);
  EXPECT_EQ(Count(none, Reason::kGemmApart), 1);
}

TEST(GroupProductsTest, NotWhereCopiesWouldBeAsMany) {
  Harness h(R"(graph f(%x: f32[m,2], %q: f32[2,2], %k: f32[1,2]) -> (f32[m,2], f32[m,1]) {
  %0 = matmul(%x, %q) {transpose_b=true} : f32[m,2]
  %1 = matmul(%x, %k) {transpose_b=true} : f32[m,1]
  return %0, %1
})",
            {{{2, 2}, {1, 0, 0, 1}}, {{2, 2}, {1, 2, 3, 4}}, {{1, 2}, {5, 6}}},
            {false, true, true});
  std::vector<TensorView> in;
  for (size_t i = 0; i < 3; ++i)
    in.push_back({h.input(i).data.data(), DType::kF32, h.input(i).dims, {}});
  ASSERT_TRUE(h.cache->Find(in, {}).ok());
  EXPECT_EQ(Count(h, Reason::kGemmApart), 1);
  EXPECT_EQ(h.cache->executables()[0]->gemms.size(), 2u);
}

// A dim of two symbols is decided by calls, though the array is bound.
TEST(GroupProductsTest, NotWhereASizeOfABoundOneIsASymbolsStill) {
  Harness h(R"(graph f(%x: f32[2,2], %a: f32[i], %b: f32[j], %q: f32[2,i+j], %k: f32[2,i+j]) ->
    (f32[2,i+j]) {
  %0 = matmul(%x, %q) : f32[2,i+j]
  %1 = matmul(%x, %k) : f32[2,i+j]
  %2 = multiply(%0, %1) : f32[2,i+j]
  return %2
})",
            {{{2, 2}, {1, 0, 0, 1}},
             {{2}, {0, 0}},
             {{3}, {0, 0, 0}},
             {{2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
             {{2, 5}, {1, 1, 1, 1, 1, 2, 2, 2, 2, 2}}},
            {false, false, false, true, true});
  EXPECT_THAT(*h.Run(), ElementsAre(1, 2, 3, 4, 5, 12, 14, 16, 18, 20));
  EXPECT_EQ(h.backend.packed_products, 2);
}

TEST(GroupProductsTest, BoundBiasesAreOneToo) {
  Harness h(
      R"(graph f(%x: f32[m,2], %q: f32[1,2], %k: f32[1,2], %b: f32[1], %c: f32[1]) -> (f32[m,1]) {
  %0 = linear(%x, %q, %b) : f32[m,1]
  %1 = linear(%x, %k, %c) : f32[m,1]
  %2 = multiply(%0, %1) : f32[m,1]
  return %2
})",
      {{{2, 2}, {1, 0, 0, 1}}, {{1, 2}, {1, 2}}, {{1, 2}, {5, 6}}, {{1}, {1}}, {{1}, {2}}},
      {false, true, true, true, true});
  EXPECT_THAT(*h.Run(), ElementsAre(14, 24));
  EXPECT_EQ(h.backend.packed_products, 1);
  EXPECT_EQ(Count(h, Reason::kGemmGrouped), 1);
}

}  // namespace
}  // namespace jitfuse::internal
