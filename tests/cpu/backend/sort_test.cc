// Grouping positions by index: the CPU's counting sort and the GPU's radix sort, whose kernels run
// on the host, against the op's rule.
#include "cpu_backend/sort.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "codegen/cuda/emit_sort.h"
#include "gtest/gtest.h"
#include "ir/scalar_value.h"
#include "ir/support/status.h"
#include "tests/support/cuda_on_host.h"
#include "tests/test_util/run_plan.h"

namespace jitfuse::internal {
namespace {

struct SortCase {
  SortProblem problem;
  std::vector<char> indices;
  std::vector<int64_t> order, begin, end;  // what is expected
};

// Indices in range, from both ends, and some beyond, which count as the border's.
SortCase MakeCase(const SortProblem& p, uint32_t seed) {
  SortCase c{p, std::vector<char>(static_cast<size_t>(p.indices() * ItemSize(p.dtype))),
             std::vector<int64_t>(static_cast<size_t>(p.indices())),
             std::vector<int64_t>(static_cast<size_t>(p.bounds())),
             std::vector<int64_t>(static_cast<size_t>(p.bounds()))};
  std::mt19937_64 rng(seed);
  const int64_t n = std::max<int64_t>(p.groups, 1);
  for (int64_t line = 0; line < p.lines(); ++line) {
    auto at = [&](int64_t length, int64_t i) {
      return static_cast<size_t>((line / p.inner * length + i) * p.inner + line % p.inner);
    };
    std::vector<std::pair<int64_t, int64_t>> sorted;
    for (int64_t i = 0; i < p.positions; ++i) {
      int64_t index = static_cast<int64_t>(rng() % static_cast<uint64_t>(2 * n + 3)) - n - 1;
      if (!IsSigned(p.dtype)) index = index < 0 ? index + n + 1 : index;
      if (p.dtype == DType::kU64 && i % 7 == 0) index = -1;  // the largest
      StoreScalar(p.dtype, ScalarFromInt(p.dtype, index),
                  c.indices.data() + at(p.positions, i) * static_cast<size_t>(ItemSize(p.dtype)));
      const ScalarValue stored = LoadScalar(
          p.dtype, c.indices.data() + at(p.positions, i) * static_cast<size_t>(ItemSize(p.dtype)));
      index =
          !IsSigned(p.dtype) && stored.u > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : stored.i;
      if (index < 0) index += n;
      sorted.emplace_back(std::clamp<int64_t>(index, 0, n - 1), i);
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (int64_t i = 0; i < p.positions; ++i)
      c.order[at(p.positions, i)] = sorted[static_cast<size_t>(i)].second;
    for (int64_t g = 0; g < p.groups; ++g) {
      auto less = [&](int64_t bound) {
        return std::count_if(sorted.begin(), sorted.end(),
                             [&](const auto& s) { return s.first < bound; });
      };
      c.begin[at(p.groups, g)] = less(g);
      c.end[at(p.groups, g)] = less(g + 1);
    }
  }
  return c;
}

std::vector<SortProblem> Problems() {
  std::vector<SortProblem> out;
  auto add = [&](int64_t outer, int64_t positions, int64_t inner, int64_t groups, DType dtype) {
    out.push_back({outer, positions, inner, groups, dtype});
  };
  for (DType d : {DType::kU8, DType::kU16, DType::kU32, DType::kU64, DType::kI8, DType::kI16,
                  DType::kI32, DType::kI64})
    add(2, 33, 3, 17, d);
  add(1, 1, 1, 1, DType::kI32);
  add(1, 3000, 1, 1, DType::kI32);
  add(1, 5000, 1, 7, DType::kI64);
  add(1, 300, 1, 70000, DType::kI32);
  add(40, 50, 1, 9, DType::kI32);
  add(1, 50, 40, 9, DType::kI32);
  add(2, 0, 3, 4, DType::kI32);
  add(2, 5, 3, 0, DType::kI32);
  add(0, 5, 3, 4, DType::kI32);
  add(1, 2049, 1, 16, DType::kI16);
  return out;
}

TEST(SortTest, CountingOnTheCpu) {
  uint32_t seed = 1;
  for (const SortProblem& p : Problems()) {
    SortCase c = MakeCase(p, seed++);
    SCOPED_TRACE(seed);
    std::vector<int64_t> order(c.order.size(), -9), begin(c.begin.size(), -9),
        end(c.end.size(), -9);
    GroupPositions(p, {c.indices.data(), order.data(), begin.data(), end.data()});
    EXPECT_EQ(order, c.order);
    EXPECT_EQ(begin, c.begin);
    EXPECT_EQ(end, c.end);
  }
}

// Many lines, more than one thread's.
TEST(SortTest, ManyLinesInParallel) {
  SortCase c = MakeCase({64, 5000, 1, 300, DType::kI32}, 5);
  std::vector<int64_t> order(c.order.size()), begin(c.begin.size()), end(c.end.size());
  GroupPositions(c.problem, {c.indices.data(), order.data(), begin.data(), end.data()});
  EXPECT_EQ(order, c.order);
  EXPECT_EQ(begin, c.begin);
  EXPECT_EQ(end, c.end);
}

TEST(SortTest, RadixOfTheGpu) {
  const Target target = *TargetFor("sm_90");
  uint32_t seed = 1;
  for (const SortProblem& p : Problems()) {
    SCOPED_TRACE(seed);
    absl::StatusOr<CudaOnHost> host =
        CudaOnHost::CompileSources(EmitCudaSort(p.dtype, target), {3, 2, 1, 5, 2, 3});
    if (absl::IsUnavailable(host.status())) GTEST_SKIP() << host.status();
    ASSERT_TRUE(host.ok()) << host.status();
    SortCase c = MakeCase(p, seed++);
    auto bytes = [](const auto& v) { return v.size() * sizeof(v[0]); };
    GuardedBuffer indices(bytes(c.indices), 8), order(bytes(c.order), 8), begin(bytes(c.begin), 8),
        end(bytes(c.end), 8), workspace(static_cast<size_t>(CudaSortWorkspaceBytes(p)), 8);
    std::copy(c.indices.begin(), c.indices.end(), indices.data());
    void* const buffers[] = {indices.data(), order.data(), begin.data(), end.data()};
    int launches = 0;
    absl::Status status = ForEachSortLaunch(p, buffers, workspace.data(),
                                            [&](size_t kernel, absl::Span<void* const> args,
                                                absl::Span<const int64_t> sizes, int64_t grid) {
                                              ++launches;
                                              return host->Launch(kernel, args, sizes, grid);
                                            });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_LE(launches, 3 + 3 * CudaSortPasses(p));
    auto same = [&](const std::vector<int64_t>& want, GuardedBuffer& got) {
      return std::equal(want.begin(), want.end(), reinterpret_cast<int64_t*>(got.data()));
    };
    EXPECT_TRUE(same(c.order, order));
    EXPECT_TRUE(same(c.begin, begin));
    EXPECT_TRUE(same(c.end, end));
  }
}

TEST(SortTest, PassesFollowTheKeys) {
  auto passes = [](int64_t lines, int64_t positions, int64_t groups) {
    return CudaSortPasses({lines, positions, 1, groups, DType::kI32});
  };
  EXPECT_EQ(passes(1, 100, 1), 0);
  EXPECT_EQ(passes(1, 100, 16), 1);
  EXPECT_EQ(passes(1, 100, 17), 2);
  EXPECT_EQ(passes(16, 100, 16), 2);
  EXPECT_EQ(passes(1, 100, 50000), 4);
  EXPECT_EQ(passes(1, 0, 50000), 0);
  EXPECT_EQ(passes(3, 5, 0), 1);
}

// A kernel of segments against the plan interpreter, bit for bit; order, begin and end beyond the
// axis touch no memory outside the buffers.
TEST(SortTest, SegmentsOfTheGpu) {
  const Target target = *TargetFor("sm_90");
  std::vector<KernelPlan> plans;
  for (const char* t : {"f32", "bf16", "i8", "f64", "u16"}) {
    for (const char* shape : {"9,6", "9,1"}) {
      const std::string x = absl::StrCat(t, "[", shape, "]");
      const std::string rows = absl::StrCat("[", 40, std::string(shape).substr(1), "]");
      const std::string bounds = absl::StrCat("i64[", shape, "]");
      Graph graph = *Expand(*ParseGraph(
          absl::StrCat("graph f(%x: ", x, ", %s: ", t, rows, ", %o: i64", rows, ", %b: ", bounds,
                       ", %e: ", bounds, ") -> (", x,
                       ") { %0 = segment_add(%x, %s, %o, %b, %e) {axis=0} : ", x, " return %0 }")));
      std::vector<KernelPlan> made = *BuildPlan(graph, WholeGroup(graph), {}, target, {});
      made[0].name = absl::StrCat("segments_", plans.size());
      plans.push_back(made[0]);
    }
  }
  absl::StatusOr<CudaOnHost> host = CudaOnHost::Compile(plans, target);
  if (absl::IsUnavailable(host.status())) GTEST_SKIP() << host.status();
  ASSERT_TRUE(host.ok()) << host.status();
  for (size_t k = 0; k < plans.size(); ++k) {
    for (bool wild : {false, true}) {
      SCOPED_TRACE(PlanToString(plans[k]));
      std::mt19937_64 rng(k);
      std::vector<GuardedBuffer> buffers;
      std::vector<void*> pointers;
      for (size_t p = 0; p < plans[k].params.size(); ++p) {
        const DType dtype = plans[k].params[p].dtype;
        const int64_t columns = k % 2 == 0 ? 6 : 1, n = (p == 1 || p == 2 ? 40 : 9) * columns;
        buffers.emplace_back(static_cast<size_t>(n * ItemSize(dtype)), 16);
        for (int64_t i = 0; i < n; ++i) {
          int64_t v = static_cast<int64_t>(rng() % 40);
          if (p == 3) v = i / columns * 4;
          if (p == 4) v = i / columns * 4 + static_cast<int64_t>(rng() % 5);
          if (wild && p >= 2)
            v = static_cast<int64_t>(rng() >> (1 + rng() % 63)) * (rng() % 2 ? 1 : -1);
          if (wild && p == 4) v = std::min<int64_t>(v, 1000);
          StoreScalar(dtype, ConvertScalar(DType::kI64, dtype, ScalarFromInt(DType::kI64, v)),
                      buffers[p].data() + i * ItemSize(dtype));
        }
        pointers.push_back(buffers[p].data());
      }
      ASSERT_TRUE(host->Run(k, pointers, {}, {}).ok());
      if (wild) continue;
      const std::string got(buffers[5].data(), buffers[5].size());
      std::fill_n(buffers[5].data(), buffers[5].size(), 0x5a);
      absl::Status status = InterpretPlan(plans[k], pointers, {}, {});
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(got, std::string(buffers[5].data(), buffers[5].size()));
    }
  }
}

}  // namespace
}  // namespace jitfuse::internal
