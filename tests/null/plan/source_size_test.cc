// No source is larger than 1 MB, and what is unrolled does not grow with sizes: wide kernels, odd
// rows, many operands, large windows, and the largest graphs that the fuzzer draws.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/runtime.h"
#include "bench/common/plan_chain.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/compile.h"
#include "tests/graph_fuzz/fuzz_case.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kMost = 1000000;
constexpr const char* kArchs[] = {"sm_90", "x86-64-v2", "x86-64-v4"};

// The bytes of the largest source of a graph, or what was wrong.
absl::StatusOr<size_t> LargestSource(const Graph& graph, const CallClass& call,
                                     const std::string& arch) {
  const auto kind = arch.substr(0, 3) == "sm_" ? DeviceKind::kCuda : DeviceKind::kCpu;
  JF_ASSIGN_OR_RETURN(auto backend, BackendForArch(kind, arch));
  JF_ASSIGN_OR_RETURN(PlannedGraph planned, PlanGraph(graph, call, Options{}, *backend));
  size_t largest = 0;
  for (const KernelPlan& plan : planned.plans) {
    JF_ASSIGN_OR_RETURN(KernelSource source, backend->Emit(plan));
    largest = std::max(largest, source.text.size());
  }
  return largest;
}

absl::StatusOr<size_t> LargestSource(const Graph& graph, const std::string& arch) {
  JF_ASSIGN_OR_RETURN(CallClass call, jitfuse_bench::DenseClass(graph));
  return LargestSource(graph, call, arch);
}

// 0 and a failure if there is none.
size_t SizeOf(const std::string& text, const std::string& arch) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << text;
  if (!graph.ok()) return 0;
  absl::StatusOr<size_t> size = LargestSource(*graph, arch);
  EXPECT_TRUE(size.ok()) << size.status() << text;
  return size.value_or(0);
}

std::string Concatenated(int operands) {
  std::vector<std::string> args, names;
  for (int i = 0; i < operands; ++i) {
    args.push_back(absl::StrCat("%x", i, ": f32[n,", 3 + i % 5, "]"));
    names.push_back(absl::StrCat("%x", i));
  }
  int width = 0;
  for (int i = 0; i < operands; ++i) width += 3 + i % 5;
  const std::string type = absl::StrCat("f32[n,", width, "]");
  return absl::StrCat("graph f(", absl::StrJoin(args, ", "), ") -> (", type,
                      ") {\n  %0 = concatenate(", absl::StrJoin(names, ", "), ") {axis=1} : ", type,
                      "\n  %1 = tanh(%0) : ", type, "\n  return %1\n}");
}

std::string Unary(const char* op, const std::string& type, const std::string& attrs) {
  return absl::StrCat("graph f(%x: ", type, ") -> (", type, ") {\n  %0 = ", op, "(%x) ", attrs,
                      " : ", type, "\n  return %0\n}");
}

TEST(SourceSize, WideKernelsAndManyOperands) {
  std::vector<std::string> texts;
  for (int operands : {2, 16, 100, 400}) texts.push_back(Concatenated(operands));
  for (int window : {2, 7, 15}) {
    texts.push_back(absl::StrCat("graph f(%x: f32[n,3,64,64]) -> (f32[n,3,", 65 - window, ",",
                                 65 - window, "]) {\n  %0 = max_pool(%x) {kernel=[", window, ",",
                                 window, "], stride=[1,1]} : f32[n,3,", 65 - window, ",",
                                 65 - window, "]\n  return %0\n}"));
  }
  for (const std::string& text : texts) {
    for (const char* arch : kArchs) {
      const size_t size = SizeOf(text, arch);
      EXPECT_GT(size, 0u);
      EXPECT_LT(size, kMost) << arch << "\n" << text.substr(0, 300);
    }
  }
}

// The same 200 ops as bench_compile's, but with a result in every tenth.
TEST(SourceSize, TwoHundredOpsInOneKernel) {
  constexpr Op kCheap[] = {Op::kAdd, Op::kMultiply, Op::kMaximum, Op::kSubtract, Op::kMinimum};
  constexpr Op kDear[] = {Op::kTanh, Op::kExp, Op::kGelu, Op::kSigmoid};
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
    Graph g;
    Value a = *g.AddInput("a", {dtype, {g.SymbolNamed("n")}}),
          b = *g.AddInput("b", {dtype, {g.SymbolNamed("n")}});
    for (size_t i = 0; i < 200; ++i) {
      Value c = i % 10 == 9 ? *g.Add(kDear[i / 10 % 4], {a}) : *g.Add(kCheap[i % 5], {a, b});
      b = a;
      a = c;
      if (i % 10 == 9) ASSERT_TRUE(g.AddOutput(a).ok());
    }
    for (const char* arch : kArchs) {
      absl::StatusOr<size_t> size = LargestSource(g, arch);
      ASSERT_TRUE(size.ok()) << size.status();
      EXPECT_LT(*size, kMost) << arch;
    }
  }
}

// Rows of any length, odd ones too, in registers or read again: loops, or as many copies of a body
// as registers hold, never as many as the row is long.
TEST(SourceSize, UnrollingIsCappedHoweverLongRowsAre) {
  for (const char* arch : kArchs) {
    for (const char* op : {"softmax", "log_softmax", "cumsum"}) {
      std::vector<size_t> sizes;
      for (int length : {1, 3, 31, 100, 1000, 1023, 4096, 4097, 8191, 16383, 65537, 1048573,
                         16777213, 268435399})
        sizes.push_back(SizeOf(Unary(op, absl::StrCat("f32[n,", length, "]"), "{axis=1}"), arch));
      EXPECT_LT(*std::max_element(sizes.begin(), sizes.end()), 256 * 1024u)
          << op << " for " << arch << ": " << absl::StrJoin(sizes, " ");
      // Where nothing is held any more, longer rows are the same code but for numbers.
      EXPECT_LT(sizes.back(), sizes[sizes.size() - 3] * 11 / 10)
          << op << " for " << arch << ": " << absl::StrJoin(sizes, " ");
    }
  }
}

TEST(SourceSize, LargestGraphsOfTheFuzzer) {
  int seen = 0;
  size_t largest = 0;
  for (uint64_t seed = 1; seed < 4000 && seen < 20; ++seed) {
    const FuzzCase c = MakeCase(seed);
    int ops = 0;
    for (NodeId id = 0; id < static_cast<NodeId>(c.graph.size()); ++id)
      ops +=
          c.graph.node(id).kind() != OpKind::kInput && c.graph.node(id).kind() != OpKind::kScalar;
    if (ops < 100) continue;
    ++seen;
    std::vector<std::vector<int64_t>> dims;
    std::vector<TensorView> views;
    for (NodeId id : c.graph.inputs())
      dims.push_back(EvalDims(c.graph.type({id, 0}).dims, c.sizes[0]));
    for (size_t i = 0; i < dims.size(); ++i)
      views.push_back({nullptr, c.graph.type({c.graph.inputs()[i], 0}).dtype, dims[i], {}});
    absl::StatusOr<CallClass> call = ClassifyCall(c.graph, ComputeShapeFacts(c.graph), views, {});
    ASSERT_TRUE(call.ok()) << seed << call.status();
    for (const char* arch : kArchs) {
      absl::StatusOr<size_t> size = LargestSource(c.graph, *call, arch);
      ASSERT_TRUE(size.ok()) << seed << ": " << size.status();
      EXPECT_LT(*size, kMost) << "seed " << seed << " for " << arch;
      largest = std::max(largest, *size);
    }
  }
  EXPECT_EQ(seen, 20) << "the fuzzer draws graphs of 100 to 200 ops";
  RecordProperty("largest", std::to_string(largest));
}

}  // namespace
}  // namespace jitfuse::internal
