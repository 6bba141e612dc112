// What the tests of codegen/fusion share: graph text in, a verified plan out, and short
// descriptions of it.
#ifndef JITFUSE_TESTS_NULL_FUSION_FUSION_KIT_H_
#define JITFUSE_TESTS_NULL_FUSION_FUSION_KIT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/fusion/partition.h"
#include "codegen/target.h"
#include "ir/expand.h"
#include "ir/rewrite/optimize.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse::internal {

// A library that multiplies f32 and bf16.
inline std::optional<Reason> FakeLibrary(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 ? std::nullopt
                                                       : std::optional<Reason>(Reason::kGemmDtype);
}

// ... and computes every epilogue that the target's table has.
inline std::optional<Reason> TakeEpilogues(DType, const GemmEpilogue&) { return std::nullopt; }

struct Setting {
  bool pads = false;  // products, where that pays on the target
  Options options;
  Target target = *TargetFor("sm_90");
  GemmSupportFn library = FakeLibrary;
  EpilogueSupportFn epilogues = nullptr;  // null: the library computes none
  std::vector<Layout> layouts;
  std::function<bool(DType)> gives_f32 = nullptr;  // of 16-bit operands; null: of none
};

struct Planned {
  Graph graph;  // lowered
  FusionPlan plan;

  std::string Text() const { return FusionPlanToString(graph, plan); }
  // "exp sum divide": the nodes of group g that are neither views nor sources.
  std::string Ops(size_t g) const {
    std::vector<std::string> names;
    for (NodeId id : plan.groups[g].nodes) {
      OpKind kind = graph.node(id).kind();
      if (kind == OpKind::kPointwise || kind == OpKind::kReduce || kind == OpKind::kMatMul ||
          kind == OpKind::kJoin || kind == OpKind::kGather || kind == OpKind::kScan ||
          kind == OpKind::kSort || kind == OpKind::kSegment)
        names.emplace_back(graph.node(id).def().name);
    }
    return absl::StrJoin(names, " ");
  }
  // "add relu | sum": all groups in order.
  std::string AllOps() const {
    std::vector<std::string> out;
    for (size_t g = 0; g < plan.groups.size(); ++g) out.push_back(Ops(g));
    return absl::StrJoin(out, " | ");
  }
  std::string Kinds() const {
    std::vector<std::string> out;
    for (const Group& g : plan.groups) {
      constexpr const char* kNames[] = {"loop", "gemm", "copy", "view", "sort"};
      out.emplace_back(kNames[static_cast<int>(g.kind)]);
    }
    return absl::StrJoin(out, " ");
  }
  // Reasons of borders between groups and to outputs, and of notes, without graph_input.
  std::multiset<std::string> Reasons() const {
    std::multiset<std::string> out;
    for (const Boundary& b : plan.boundaries) {
      if (b.reason != Reason::kGraphInput) out.emplace(ReasonName(b.reason));
    }
    for (const Note& n : plan.notes) out.emplace(ReasonName(n.reason));
    return out;
  }
  std::string Detail(Reason reason) const {
    for (const Boundary& b : plan.boundaries) {
      if (b.reason == reason) return b.detail;
    }
    for (const Note& n : plan.notes) {
      if (n.reason == reason) return n.detail;
    }
    return "no such reason";
  }
};

inline Planned PlanOf(const Graph& expanded, const Setting& setting = {}) {
  Planned out;
  const GemmLibrary library = {setting.library, setting.epilogues, setting.gives_f32};
  auto lowered = LowerMatMul(expanded, setting.options, library, setting.layouts,
                             setting.pads ? &setting.target : nullptr);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  if (!lowered.ok()) return out;
  auto plan = Partition(lowered->graph, setting.target, setting.options, library, setting.layouts);
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return out;
  AddLoweringNotes(*lowered, &*plan);
  out.graph = std::move(lowered->graph);
  out.plan = *std::move(plan);
  absl::Status legal = VerifyFusionPlan(out.graph, out.plan);
  if (out.graph.size() < 2000) {
    EXPECT_TRUE(legal.ok()) << legal << "\n" << out.Text();
  } else {
    EXPECT_TRUE(legal.ok()) << legal;
  }
  return out;
}

inline Graph Prepared(std::string_view text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return Graph();
  auto expanded = Expand(*graph);
  EXPECT_TRUE(expanded.ok()) << expanded.status();
  if (!expanded.ok()) return Graph();
  auto optimized = Optimize(*expanded);
  EXPECT_TRUE(optimized.ok()) << optimized.status();
  return optimized.ok() ? *std::move(optimized) : Graph();
}

inline Planned PlanOf(std::string_view text, const Setting& setting = {}) {
  return PlanOf(Prepared(text), setting);
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_NULL_FUSION_FUSION_KIT_H_
