#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ir/rng.h"
#include "ir/text.h"
#include "tests/graph_fuzz/case_examples.h"
#include "tests/support/graph_sweep.h"

namespace jitfuse_test {
namespace {

using namespace jitfuse::internal;
using Sizes = std::map<std::string, std::int64_t>;

enum Layout { kDense, kStrided, kMisaligned, kRepeated, kReordered, kNumLayouts };
constexpr const char* kLayoutNames[] = {"dense", "strided", "misaligned", "repeated", "reordered"};

FuzzInput SpecFor(std::size_t input, std::size_t rank, int layout, FuzzValues values) {
  FuzzInput spec;
  spec.values = values;
  spec.seed = input * 131 + static_cast<std::size_t>(layout) * 7 + rank;
  const auto place = static_cast<std::int64_t>(input);
  if (layout == kMisaligned) spec.shift = 1 + place % 3;
  if (layout == kDense || layout == kMisaligned || rank == 0) return spec;
  for (std::size_t d = 0; d < rank; ++d) spec.order.push_back(static_cast<std::int64_t>(d));
  spec.steps.assign(rank, 1);
  if (layout == kStrided) {  // gaps; every other input also backwards
    spec.steps.assign(rank, 2);
    if (place % 2 == 0) spec.steps[0] = -2;
  } else if (layout == kRepeated) {
    spec.steps[static_cast<std::size_t>(place) % rank] = 0;
  } else {
    std::rotate(spec.order.begin(), spec.order.begin() + 1, spec.order.end());
    if (place % 2 == 1) spec.steps[rank - 1] = -1;
  }
  return spec;
}

// What inputs may hold: positions must be in range, seeds are any number.
std::vector<FuzzValues> ValuesFor(const Graph& graph, bool specials) {
  std::vector<FuzzValues> out(graph.inputs().size(),
                              specials ? FuzzValues::kEnds : FuzzValues::kPlain);
  auto position = [&](Value v) {
    for (std::size_t i = 0; i < graph.inputs().size(); ++i)
      if (graph.inputs()[i] == v.node) return static_cast<int>(i);
    return -1;
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    for (std::size_t k = 0; k < node.in.size(); ++k) {
      const int i = position(node.in[k]);
      if (i < 0) continue;
      FuzzValues& values = out[static_cast<std::size_t>(i)];
      const std::string_view name = ArgName(node.def(), k);
      const bool integer = IsInt(graph.type(node.in[k]).dtype);
      if (name == "indices") values = FuzzValues::kPlain;
      if (name == "target" && integer) values = FuzzValues::kCounts;
      if (name == "p_scalar") values = FuzzValues::kPlain;
      if (RngRoleOf(graph, static_cast<std::size_t>(i)) != RngRole::kNone)
        values = FuzzValues::kFullRange;
    }
  }
  return out;
}

std::int64_t Elements(const FuzzCall& call) {
  std::int64_t n = 0;
  for (const FuzzTensor& t : call.inputs) n += t.logical.size();
  for (const WideTensor& t : call.expect) n += static_cast<std::int64_t>(t.value.size());
  return n;
}

// The share of an output's elements in calls with ordinary values that have a finite bound.
std::vector<double> HeldShares(const std::vector<SweepCall>& calls,
                               const std::vector<FuzzCall>& prepared) {
  std::vector<double> held, all;
  for (std::size_t k = 0; k < calls.size(); ++k) {
    if (calls[k].specials) continue;
    held.resize(prepared[k].expect.size());
    all.resize(held.size());
    for (std::size_t o = 0; o < held.size(); ++o) {
      const std::vector<long double>& bound = prepared[k].expect[o].bound;
      held[o] += static_cast<double>(
          std::count_if(bound.begin(), bound.end(), [](long double b) { return !std::isinf(b); }));
      all[o] += static_cast<double>(bound.size());
    }
  }
  for (std::size_t o = 0; o < held.size(); ++o) held[o] = all[o] > 0 ? held[o] / all[o] : 1;
  return held;
}

}  // namespace

std::vector<SweepCall> SweepCalls(const SweepCase& c) {
  std::vector<SweepCall> out;
  absl::StatusOr<Graph> graph = ParseGraph(c.text);
  EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << c.text;
  if (!graph.ok()) return out;
  FuzzCase base;
  base.options.use_gemm_library = c.gemm_library;
  base.graph = *graph;
  for (const bool specials : {false, true}) {
    if (!c.both_values && specials != c.specials) continue;
    const std::vector<FuzzValues> values = ValuesFor(*graph, specials);
    for (std::size_t s = 0; s < c.sizes.size(); ++s) {
      for (int layout = kDense; layout < kNumLayouts; ++layout) {
        if (s > 0 && layout > (c.both_values ? kDense : kMisaligned)) continue;
        SweepCall call{base, s, kLayoutNames[layout], specials};
        call.made.strided_outputs = layout == kReordered;
        for (std::size_t i = 0; i < graph->inputs().size(); ++i) {
          const Node& node = graph->node(graph->inputs()[i]);
          FuzzInput spec = SpecFor(i, node.types[0].dims.size(), layout, values[i]);
          if (node.kind() == OpKind::kScalar) spec.shift = 0;
          call.made.inputs.push_back(std::move(spec));
        }
        call.made.sizes.emplace_back();
        for (const std::string& symbol : graph->symbols().names)
          call.made.sizes[0].push_back(c.sizes[s].at(symbol));
        out.push_back(std::move(call));
      }
    }
  }
  return out;
}

void RunSweepCase(const SweepCase& c, const std::vector<std::string>& executors) {
  const std::vector<SweepCall> calls = SweepCalls(c);
  ASSERT_FALSE(calls.empty());
  std::vector<FuzzCall> prepared;
  for (const SweepCall& call : calls) {
    absl::StatusOr<std::vector<FuzzCall>> one = PrepareCalls(call.made);
    ASSERT_TRUE(one.ok()) << c.name << ", " << call.layout << ": " << one.status() << "\n"
                          << CaseToText(call.made);
    prepared.push_back(std::move((*one)[0]));
  }
  const std::vector<double> held = HeldShares(calls, prepared);
  for (std::size_t o = 0; o < held.size(); ++o)
    EXPECT_GE(held[o], 0.3) << c.name << ": output " << o << " is held to nothing\n" << c.text;
  for (const std::string& executor : executors) {
    for (const bool strided_outputs : {false, true}) {
      std::vector<FuzzCall> run;
      std::vector<const SweepCall*> of;
      for (std::size_t k = 0; k < calls.size(); ++k) {
        if (calls[k].made.strided_outputs != strided_outputs) continue;
        // The interpreter takes a microsecond an instruction.
        if (executor == "interpret" && Elements(prepared[k]) > 20000) continue;
        run.push_back(prepared[k]);
        of.push_back(&calls[k]);
      }
      if (run.empty()) continue;
      const Outcome outcome = RunCalls(of[0]->made, run, executor);
      if (outcome.verdict == Verdict::kOk) continue;
      const SweepCall& failed = *of[static_cast<std::size_t>(std::max(outcome.call, 0))];
      ADD_FAILURE() << c.name << " on " << executor << ", " << failed.layout << ": "
                    << VerdictName(outcome.verdict) << ", " << outcome.text << "\n"
                    << CaseToText(failed.made);
    }
  }
}

}  // namespace jitfuse_test
