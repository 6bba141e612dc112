// From graph text to an Executable and its results, on the interpreter: steps, buffers, aliases,
// caches.
#include "jit/compile.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/call_cache.h"
#include "jit/executor.h"
#include "jit/interpret_backend.h"
#include "tests/test_util/idle_backend.h"

namespace jitfuse::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Dims = std::vector<int64_t>;

// One function on the interpreter, called with f32 vectors.
class Harness {
 public:
  explicit Harness(std::string_view text, const Options& options = {})
      : backend_(CreateInterpretBackend()),
        cache_(*ParseGraph(text), options, backend_.get(), &kernels_) {}

  struct Tensor {
    Dims dims;
    std::vector<float> data;
  };

  absl::StatusOr<std::vector<std::vector<float>>> Run(std::vector<Tensor> in) {
    std::vector<TensorView> views;
    std::vector<void*> pointers, results;
    for (Tensor& t : in) {
      views.push_back({nullptr, DType::kF32, t.dims, {}});
      pointers.push_back(t.data.data());
    }
    JF_ASSIGN_OR_RETURN(auto bound, cache_.Find(views, {}));
    std::vector<std::vector<float>> out;
    for (const auto& dims : bound->output_dims)
      out.emplace_back(static_cast<size_t>(*CheckedNumElements(*dims)));
    for (auto& o : out) results.push_back(o.data());
    std::vector<uint64_t> scalars(in.size(), 0);
    JF_RETURN_IF_ERROR(ExecuteWithAllocator(*bound, {pointers, scalars, results, nullptr, nullptr},
                                            backend_->allocator()));
    return out;
  }

  CallCache& cache() { return cache_; }

 private:
  std::unique_ptr<Backend> backend_;
  KernelCache kernels_;
  CallCache cache_;
};

TEST(CompileTest, ChainIsOneKernel) {
  Harness h(
      "graph f(%a: f32[n], %b: f32[n]) -> (f32[n]) {\n %0 = multiply(%a, %b) : f32[n]\n %1 = "
      "relu(%0) : f32[n]\n return %1\n}");
  EXPECT_THAT((*h.Run({{{3}, {1, -2, 3}}, {{3}, {2, 2, 2}}}))[0], ElementsAre(2, 0, 6));
  ASSERT_EQ(h.cache().executables().size(), 1u);
  EXPECT_EQ(h.cache().executables()[0]->steps.size(), 1u);
}

// Intermediate results lie in outputs that are written later, where those are as large, dense, and
// no input's.
TEST(CompileTest, OutputsLendTheirMemoryBeforeTheyAreWritten) {
  Options options;
  options.fuse = false;
  Harness h(
      "graph f(%a: f32[n]) -> (f32[n], f32[n]) {\n %0 = exp(%a) : f32[n]\n %1 = negative(%0) : "
      "f32[n]\n %2 = exp(%1) : f32[n]\n %3 = negative(%2) : f32[n]\n return %3, %1\n}",
      options);
  const auto out = *h.Run({{{2}, {0, 0}}});
  EXPECT_THAT(out[1], ElementsAre(-1, -1));
  EXPECT_FLOAT_EQ(out[0][0], -std::exp(-1.0f));
  const Executable& exe = *h.cache().executables()[0];
  ASSERT_EQ(exe.kernels.size(), 4u);
  // exp(a) lies in output 0, which is written last; exp(-exp(a)) has nothing left to lie in.
  EXPECT_EQ(exe.kernels[0].buffers.back().kind, BufferRef::Kind::kOutput);
  EXPECT_EQ(exe.kernels[0].buffers.back().index, 0);
  EXPECT_EQ(exe.kernels[2].buffers.back().kind, BufferRef::Kind::kArena);
  EXPECT_EQ(exe.memory.total_bytes.Eval({100}), 512);

  float a[2] = {0, 0}, negated[2];
  const Dims dims = {2};
  const TensorView in = {a, DType::kF32, dims, {}}, other = {negated, DType::kF32, dims, {}};
  const std::vector<TensorView> results = {in, other};  // output 0 over the input
  const auto bound = h.cache().Find({&in, 1}, results);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ((*bound)->executable->kernels[0].buffers.back().kind, BufferRef::Kind::kArena);
}

TEST(CompileTest, UnfusedTakesTheArenaAndGivesTheSame) {
  Options options;
  options.fuse = false;
  Harness h(
      "graph f(%a: f32[n], %b: f32[n]) -> (f32[n]) {\n %0 = multiply(%a, %b) : f32[n]\n %1 = "
      "relu(%0) : f32[n]\n return %1\n}",
      options);
  EXPECT_THAT((*h.Run({{{3}, {1, -2, 3}}, {{3}, {2, 2, 2}}}))[0], ElementsAre(2, 0, 6));
  EXPECT_EQ(h.cache().executables()[0]->steps.size(), 2u);
}

TEST(CompileTest, FastNumericsThatOfferNothingSaySo) {
  auto notes = [](Numerics numerics) {
    Options options;
    options.numerics = numerics;
    Harness h("graph f(%a: f32[n]) -> (f32[n]) {\n %0 = exp(%a) : f32[n]\n return %0\n}", options);
    EXPECT_TRUE(h.Run({{{2}, {0, 1}}}).ok());
    int found = 0;
    for (const Note& n : h.cache().executables().at(0)->fusion.notes)
      found += n.reason == Reason::kNumericsFastSame;
    return found;
  };
  EXPECT_EQ(notes(Numerics::kFast), 1);
  EXPECT_EQ(notes(Numerics::kDefault), 0);
}

TEST(CompileTest, SecondPassOverManySizesHitsTheFirstLevel) {
  Harness h(
      "graph f(%x: f32[n,m]) -> (f32[m]) {\n %0 = sum(%x) {axes=[0], keepdims=false} : f32[m]\n "
      "return %0\n}");
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t m = 8; m < 18; ++m) {
      std::vector<float> ones(static_cast<size_t>(16 * m), 1.0f);
      EXPECT_THAT((*h.Run({{{16, m}, ones}}))[0], ::testing::Each(16.0f));
    }
  }
  Counters s = h.cache().stats();
  EXPECT_EQ(s.compiles + s.l2_hits, 10);  // the second pass asked neither
}

TEST(CompileTest, CountersByReason) {
  const Counters before = ProcessCounters();
  Options options;
  options.numerics = Numerics::kFast;
  Harness h(
      "graph f(%x: f32[n]) -> (f32[n], f32[n]) {\n %0 = negative(%x) : f32[n]\n return %0, %x\n}",
      options);
  EXPECT_TRUE(h.Run({{{2}, {1, 2}}}).ok());
  EXPECT_TRUE(h.Run({{{3}, {1, 2, 3}}}).ok());
  auto of = [](const Counters::ByReason& by, Reason r) { return by[static_cast<size_t>(r)]; };
  const Counters mine = h.cache().stats(), after = ProcessCounters();
  EXPECT_EQ(mine.compiles, 1);
  EXPECT_EQ(mine.l2_hits, 1);
  EXPECT_EQ(of(mine.fallbacks, Reason::kNumericsFastSame), 1);
  EXPECT_EQ(of(mine.boundaries, Reason::kOutputCopy), 1);
  EXPECT_GE(of(after.fallbacks, Reason::kNumericsFastSame),
            1 + of(before.fallbacks, Reason::kNumericsFastSame));
  EXPECT_GE(after.compiles, 1 + before.compiles);
}

TEST(CompileTest, ExecutablesEndWithTheirFunctionAndTablesWithTheirThread) {
  std::weak_ptr<const Executable> executable;
  std::thread idle;
  std::atomic<bool> called{false}, done{false};
  {
    Harness h("graph f(%a: f32[n]) -> (f32[n]) {\n %0 = exp(%a) : f32[n]\n return %0\n}");
    EXPECT_TRUE(h.Run({{{2}, {0, 1}}}).ok());
    idle = std::thread([&] {  // a thread that has called once and lives on
      EXPECT_TRUE(h.Run({{{2}, {0, 1}}}).ok());
      called = true;
      while (!done) std::this_thread::yield();
    });
    while (!called) std::this_thread::yield();
    executable = h.cache().executables()[0];
    EXPECT_FALSE(executable.expired());
  }
  EXPECT_TRUE(executable.expired());
  done = true;
  idle.join();
}

TEST(CompileTest, WhatCannotBeCompiledIsNotCounted) {
  Harness h(
      "graph f(%x: f32[n,m]) -> (f32[n]) {\n %0 = max(%x) {axes=[1], keepdims=false} : f32[n]\n "
      "return %0\n}");
  const int64_t before = ProcessCounters().compiles;
  EXPECT_FALSE(h.Run({{{3, 0}, {}}}).ok());
  EXPECT_EQ(h.cache().stats().compiles, 0);
  EXPECT_EQ(ProcessCounters().compiles, before);
  EXPECT_TRUE(h.Run({{{1, 2}, {1, 2}}}).ok());
  EXPECT_EQ(h.cache().stats().compiles, 1);
}

// Beyond the number of functions at which a thread looks for tables of ended ones, with calls of
// one function after another.
TEST(CompileTest, ManyFunctionsLiveAndDead) {
  const char* text =
      "graph f(%a: f32[n]) -> (f32[n]) {\n %0 = negative(%a) : f32[n]\n return %0\n}";
  std::vector<std::unique_ptr<Harness>> alive;
  for (int i = 0; i < 600; ++i) {
    Harness dead(text);
    EXPECT_TRUE(dead.Run({{{1}, {1}}}).ok());
    alive.push_back(std::make_unique<Harness>(text));
    EXPECT_TRUE(alive.back()->Run({{{1}, {1}}}).ok());
  }
  for (auto& h : alive) {
    EXPECT_THAT((*h->Run({{{1}, {3}}}))[0], ElementsAre(-3));
    const Counters s = h->cache().stats();
    EXPECT_EQ(s.compiles + s.l2_hits, 1);  // the table of the first call is still there
  }
}

// Which kernels belong to which sort is not to be guessed from their numbers.
TEST(CompileTest, SortsOfUnlikeNumbersOfKernels) {
  class Sorting : public IdleBackend {
   public:
    std::string_view name() const override { return "sorting"; }
    std::string CompilerId() const override { return "none"; }
    absl::StatusOr<CompiledKernel> Compile(const KernelSource&) const override {
      return CompiledKernel{};
    }
    absl::StatusOr<std::vector<KernelSource>> EmitSort(DType dtype) const override {
      std::vector<KernelSource> out(dtype == DType::kI32 ? 1 : 4);
      for (size_t k = 0; k < out.size(); ++k) {
        out[k].lang = SourceLang::kCuda;
        out[k].entry = absl::StrCat(ToAbsl(DTypeName(dtype)), "_", k);
      }
      return out;
    }
  } backend;
  KernelCache kernels;
  CallCache cache(
      *ParseGraph(R"(graph f(%x: f32[9], %i: i32[n], %j: i64[n], %g: f32[n]) -> (f32[9], f32[9]) {
  %0 = index_add(%x, %i, %g) : f32[9]
  %1 = index_add(%x, %j, %g) : f32[9]
  return %0, %1
})"),
      Options(), &backend, &kernels);
  const Dims nine = {9}, n = {5};
  auto bound = cache.Find({{nullptr, DType::kF32, nine, {}},
                           {nullptr, DType::kI32, n, {}},
                           {nullptr, DType::kI64, n, {}},
                           {nullptr, DType::kF32, n, {}}},
                          {});
  ASSERT_TRUE(bound.ok()) << bound.status();
  std::vector<std::string> entries;
  for (const SortStep& sort : (*bound)->executable->sorts) {
    EXPECT_EQ(sort.loaded.size(), sort.kernels.size());
    for (const KernelStep& kernel : sort.kernels)
      entries.push_back(
          absl::StrCat(ToAbsl(DTypeName(sort.call.dtype)), ": ", kernel.source.entry));
  }
  EXPECT_THAT(entries, testing::UnorderedElementsAre("i32: i32_0", "i64: i64_0", "i64: i64_1",
                                                     "i64: i64_2", "i64: i64_3"));
}

TEST(CompileTest, OutputsThatAreInputsOrRepeatedAreCopied) {
  Harness h(
      "graph f(%x: f32[n]) -> (f32[n], f32[n], f32[n]) {\n %0 = negative(%x) : f32[n]\n return %0, "
      "%x, %0\n}");
  auto r = h.Run({{{2}, {1, 2}}});
  ASSERT_TRUE(r.ok()) << r.status();
  EXPECT_THAT((*r)[0], ElementsAre(-1, -2));
  EXPECT_THAT((*r)[1], ElementsAre(1, 2));
  EXPECT_THAT((*r)[2], ElementsAre(-1, -2));
  const Executable& exe = *h.cache().executables()[0];
  bool told = false;
  for (const Boundary& b : exe.fusion.boundaries) told |= b.reason == Reason::kOutputCopy;
  EXPECT_TRUE(told);
}

TEST(CompileTest, ViewsOfInputsComeBackAsDenseCopies) {
  Harness h(
      "graph f(%x: f32[2,3]) -> (f32[3,2], f32[6]) {\n %0 = transpose(%x) {perm=[1,0]} : "
      "f32[3,2]\n %1 = reshape(%x) {shape=[6]} : f32[6]\n return %0, %1\n}");
  auto r = h.Run({{{2, 3}, {0, 1, 2, 3, 4, 5}}});
  ASSERT_TRUE(r.ok()) << r.status();
  EXPECT_THAT((*r)[0], ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT((*r)[1], ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(CompileTest, EmptyResultsLaunchNothing) {
  Harness h(
      "graph f(%x: f32[n,m]) -> (f32[n], f32[n,m]) {\n %0 = sum(%x) {axes=[1], keepdims=false} : "
      "f32[n]\n %1 = exp(%x) : f32[n,m]\n return %0, %1\n}");
  auto no_rows = h.Run({{{0, 4}, {}}});
  ASSERT_TRUE(no_rows.ok()) << no_rows.status();
  EXPECT_TRUE((*no_rows)[0].empty());
  auto no_columns = h.Run({{{3, 0}, {}}});
  ASSERT_TRUE(no_columns.ok()) << no_columns.status();
  EXPECT_THAT((*no_columns)[0], ElementsAre(0, 0, 0));
}

TEST(CompileTest, AnEmptyMaximumIsAnErrorThatNamesTheOp) {
  Harness h(
      "graph f(%x: f32[n,m]) -> (f32[n]) {\n %0 = max(%x) {axes=[1], keepdims=false} : f32[n]\n "
      "return %0\n}");
  absl::Status s = h.Run({{{3, 0}, {}}}).status();
  EXPECT_EQ(s.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(s.message()), HasSubstr("max("));
}

}  // namespace
}  // namespace jitfuse::internal
