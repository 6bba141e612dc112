// Runs groups and whole fusion plans on host memory through BuildPlan, VerifyPlan and
// InterpretPlan; for tests.
//
// In: graph text or a graph, tensors by value. Out: the outputs' tensors. WholeGroup puts a graph
// into one loop group by hand (domain and reduced axes from its first reduction, else from its
// first output; sums over all other axes are column sums), for tests that must not depend on the
// partition.
#ifndef JITFUSE_TESTS_TEST_UTIL_RUN_PLAN_H_
#define JITFUSE_TESTS_TEST_UTIL_RUN_PLAN_H_

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "codegen/fusion/group.h"
#include "codegen/fusion/partition.h"
#include "codegen/plan/access_map.h"
#include "codegen/plan/build_plan.h"
#include "codegen/plan/interpret_plan.h"
#include "codegen/plan/plan_text.h"
#include "codegen/plan/verify_plan.h"
#include "gtest/gtest.h"
#include "ir/expand.h"
#include "ir/host_tensor.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse::internal {

// ---- Tensors on the host.
struct StridedTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims, strides;  // strides in elements
  std::vector<char> bytes;
  int64_t first = 0;  // element at which coordinates 0 lie

  static StridedTensor Make(DType dtype, std::vector<int64_t> dims) {
    StridedTensor t;
    t.dtype = dtype;
    t.strides = ContiguousStrides(absl::MakeConstSpan(dims));
    t.dims = std::move(dims);
    t.bytes.resize(static_cast<size_t>(t.size() * ItemSize(dtype)));
    return t;
  }
  // Any strides, 0 and negative included.
  static StridedTensor Strided(DType dtype, std::vector<int64_t> dims,
                               std::vector<int64_t> strides) {
    StridedTensor t;
    t.dtype = dtype;
    int64_t last = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t end = (dims[d] - 1) * strides[d];
      (end < 0 ? t.first : last) += end < 0 ? -end : end;
    }
    t.dims = std::move(dims);
    t.strides = std::move(strides);
    t.bytes.resize(static_cast<size_t>((t.first + last + 1) * ItemSize(dtype)));
    return t;
  }
  int64_t size() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
  char* data() { return bytes.data() + first * ItemSize(dtype); }
  const char* data() const { return bytes.data() + first * ItemSize(dtype); }
  int64_t Offset(int64_t linear) const {
    int64_t offset = 0;
    for (size_t d = dims.size(); d-- > 0;) {
      offset += linear % dims[d] * strides[d];
      linear /= dims[d];
    }
    return offset;
  }
  ScalarValue At(int64_t linear) const {
    return LoadScalar(dtype, data() + Offset(linear) * ItemSize(dtype));
  }
  double Number(int64_t linear) const { return ScalarToDouble(ComputeType(dtype), At(linear)); }
  void Set(int64_t linear, ScalarValue v) {
    StoreScalar(dtype, v, data() + Offset(linear) * ItemSize(dtype));
  }
  StridedTensor& Fill(const std::function<double(int64_t)>& f) {
    for (int64_t i = 0; i < size(); ++i) Set(i, ScalarFromDouble(dtype, f(i)));
    return *this;
  }
  StridedTensor& Random(uint32_t seed, double lo = -2, double hi = 2) {
    std::mt19937 rng(seed);
    std::uniform_real_distribution<double> d(lo, hi);
    return Fill([&](int64_t) {
      return IsFloat(dtype)          ? d(rng)
             : dtype == DType::kBool ? static_cast<double>(d(rng) > (lo + hi) / 2)
                                     : std::floor(d(rng));
    });
  }
};

using TestValues = absl::flat_hash_map<Value, StridedTensor>;

// ---- Graphs and groups.
inline Graph Parsed(std::string_view text, bool expand = true) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  if (graph.ok() && expand) graph = Expand(*graph);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

inline Group WholeGroup(const Graph& graph) {
  Group group;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind() == OpKind::kInput || node.kind() == OpKind::kScalar) {
      group.inputs.push_back({id, 0});
    } else {
      group.nodes.push_back(id);
    }
    if (node.kind() == OpKind::kReduce) {
      std::vector<int> axes;
      for (int64_t a : node.Get<std::vector<int64_t>>("axes")) axes.push_back(static_cast<int>(a));
      if (group.domain.empty()) {
        group.domain = graph.type(node.in[0]).dims;
        group.reduce_axes = axes;
      } else if (node.op == Op::kSum &&
                 axes.size() + group.reduce_axes.size() == group.domain.size() &&
                 std::none_of(axes.begin(), axes.end(), [&](int a) {
                   return std::find(group.reduce_axes.begin(), group.reduce_axes.end(), a) !=
                          group.reduce_axes.end();
                 })) {
        group.column_sums.push_back(id);
      }
    }
    if (node.kind() == OpKind::kScan && group.domain.empty()) {
      group.domain = graph.type(node.in[0]).dims;
      group.reduce_axes.push_back(static_cast<int>(node.Get<int64_t>("axis")));
    }
  }
  group.outputs.assign(graph.outputs().begin(), graph.outputs().end());
  if (group.domain.empty()) group.domain = graph.type(group.outputs[0]).dims;
  return group;
}

inline Value InputNamed(const Graph& graph, std::string_view name) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (graph.input_name(static_cast<int>(i)) == name) return {graph.inputs()[i], 0};
  }
  ADD_FAILURE() << "no input " << name;
  return {};
}

inline EdgeLayouts LayoutsFor(const Group& group, const TestValues& values) {
  EdgeLayouts layouts;
  auto layout = [](const StridedTensor& t) {
    Layout l;
    for (int64_t s : t.strides) l.strides.push_back(s);
    l.align = std::min(16, ItemSize(t.dtype) * 2);
    return l;
  };
  for (Value v : group.inputs) {
    auto it = values.find(v);
    if (it != values.end() &&
        it->second.strides != ContiguousStrides(absl::MakeConstSpan(it->second.dims)))
      layouts.reads[v] = layout(it->second);
  }
  return layouts;
}

// ---- Running.
// Outputs of one group appended to `values`. Every plan is verified first.
inline absl::Status RunSort(const Graph& graph, const Group& group,
                            absl::Span<const int64_t> symbols, TestValues* values) {
  const SortProblem p = Concrete(*group.sort, symbols);
  const StridedTensor& indices = values->at(group.inputs[0]);
  StridedTensor results[3];
  for (size_t r = 0; r < 3; ++r) {
    results[r] =
        StridedTensor::Make(DType::kI64, EvalDims(graph.type(group.outputs[r]).dims, symbols));
  }
  for (int64_t line = 0; line < p.lines(); ++line) {
    auto at = [&](int64_t length, int64_t i) {
      return (line / p.inner * length + i) * p.inner + line % p.inner;
    };
    std::vector<std::vector<int64_t>> members(static_cast<size_t>(p.groups));
    for (int64_t i = 0; i < p.positions; ++i) {
      int64_t index = indices.At(at(p.positions, i)).i;
      if (index < -p.groups || index >= p.groups)
        return InvalidArgument("index ", index, " is out of range");
      members[static_cast<size_t>(index < 0 ? index + p.groups : index)].push_back(i);
    }
    int64_t next = 0;
    for (int64_t g = 0; g < p.groups; ++g) {
      results[1].Set(at(p.groups, g), ScalarFromInt(DType::kI64, next));
      for (int64_t i : members[static_cast<size_t>(g)])
        results[0].Set(at(p.positions, next++), ScalarFromInt(DType::kI64, i));
      results[2].Set(at(p.groups, g), ScalarFromInt(DType::kI64, next));
    }
  }
  for (size_t r = 0; r < 3; ++r) (*values)[group.outputs[r]] = std::move(results[r]);
  return absl::OkStatus();
}

inline absl::Status RunGroup(const Graph& graph, const Group& group, const Target& target,
                             absl::Span<const int64_t> symbols, TestValues* values) {
  if (group.kind == GroupKind::kSort) return RunSort(graph, group, symbols, values);
  EdgeLayouts layouts = LayoutsFor(group, *values);
  PlanOptions options;
  JF_ASSIGN_OR_RETURN(std::vector<KernelPlan> plans,
                      BuildPlan(graph, group, layouts, target, options));
  std::map<int, std::vector<char>> scratch;
  for (const KernelPlan& plan : plans) {
    auto fail = [&](const absl::Status& s) {
      return s.ok() ? s : InternalError(std::string(s.message()), "\n", PlanToString(plan));
    };
    JF_RETURN_IF_ERROR(fail(VerifyPlan(plan)));
    JF_RETURN_IF_ERROR(fail(VerifyAccesses(plan, graph, layouts)));
    std::vector<StridedTensor> outputs(plan.params.size());
    std::vector<void*> buffers;
    for (size_t p = 0; p < plan.params.size(); ++p) {
      const Param& param = plan.params[p];
      if (param.role == ParamRole::kInput) {
        buffers.push_back(values->at(param.value).data());
      } else if (param.role == ParamRole::kScratch) {
        auto bytes = static_cast<size_t>(param.scratch_bytes.Eval(symbols));
        auto [it, is_new] = scratch.try_emplace(param.scratch, bytes, '\x5a');
        if (it->second.size() != bytes) return fail(InternalError("scratch of two sizes"));
        buffers.push_back(it->second.data());
      } else {
        outputs[p] =
            StridedTensor::Make(param.dtype, EvalDims(graph.type(param.value).dims, symbols));
        std::fill(outputs[p].bytes.begin(), outputs[p].bytes.end(), char{0x5a});
        buffers.push_back(outputs[p].bytes.data());
      }
    }
    std::vector<uint64_t> scalars;
    for (Value v : plan.scalar_values) scalars.push_back(values->at(v).At(0).bits());
    JF_RETURN_IF_ERROR(fail(InterpretPlan(plan, buffers, scalars, symbols)));
    for (size_t p = 0; p < plan.params.size(); ++p) {
      if (plan.params[p].role == ParamRole::kOutput)
        (*values)[plan.params[p].value] = std::move(outputs[p]);
    }
  }
  return absl::OkStatus();
}

// Whether the stores of a static plan write each element of each output exactly once (brute force,
// contiguous outputs).
inline absl::Status CheckCoverage(const KernelPlan& plan, const Graph& graph) {
  std::vector<int64_t> parallel = EvalDims(plan.parallel, {}), inner = EvalDims(plan.inner, {});
  for (const Stage& stage : plan.stages) {
    for (const Store& st : stage.stores) {
      std::vector<int64_t> extents = parallel;
      if (st.elem) extents.insert(extents.end(), inner.begin(), inner.end());
      std::vector<int64_t> axes(parallel.size() + inner.size(), 0);
      int64_t points = *CheckedNumElements(extents);
      int64_t size =
          NumElements(graph.type(plan.params[static_cast<size_t>(st.access.param)].value).dims)
              .constant();
      std::vector<int> times(static_cast<size_t>(size), 0);
      for (int64_t i = 0; i < points; ++i) {
        int64_t rest = i;
        for (size_t d = extents.size(); d-- > 0;) {
          axes[d] = rest % extents[d];
          rest /= extents[d];
        }
        int64_t offset = EvalAccess(st.access, axes, {});
        if (offset < 0 || offset >= size)
          return InternalError("store beyond the output: ", AccessToString(st.access));
        ++times[static_cast<size_t>(offset)];
      }
      if (std::any_of(times.begin(), times.end(), [](int t) { return t != 1; }))
        return InternalError("not one to one: ", AccessToString(st.access));
    }
  }
  return absl::OkStatus();
}

// ---- Whole graphs.
inline StridedTensor FromHost(const HostTensor& t) {
  StridedTensor out = StridedTensor::Make(t.dtype, t.dims);
  std::copy(t.bytes.begin(), t.bytes.end(), out.bytes.begin());
  return out;
}
inline HostTensor ToHost(const StridedTensor& t) {
  HostTensor out = HostTensor::Make(t.dtype, t.dims);
  for (int64_t i = 0; i < t.size(); ++i) out.Set(i, t.At(i));
  return out;
}

// A graph by Expand, LowerMatMul and Partition, every group by BuildPlan and the plan interpreter.
// `inputs`: by signature position.
inline absl::StatusOr<std::vector<HostTensor>> RunGraphByPlans(const Graph& graph,
                                                               absl::Span<const HostTensor> inputs,
                                                               const Target& target,
                                                               const Options& options = {}) {
  JF_ASSIGN_OR_RETURN(Graph expanded, Expand(graph));
  GemmSupportFn no_library = [](DType) { return std::optional<Reason>(Reason::kGemmNoLibrary); };
  JF_ASSIGN_OR_RETURN(LoweredGraph lowered, LowerMatMul(expanded, options, no_library));
  const Graph& g = lowered.graph;
  JF_ASSIGN_OR_RETURN(FusionPlan fusion, Partition(g, target, options, no_library));
  JF_RETURN_IF_ERROR(VerifyFusionPlan(g, fusion));
  std::vector<std::vector<int64_t>> dims;
  TestValues values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[Value{g.inputs()[i], 0}] = FromHost(inputs[i]);
    dims.push_back(inputs[i].dims);
  }
  JF_ASSIGN_OR_RETURN(std::vector<int64_t> symbols, g.BindSymbols(dims));
  for (const Group& group : fusion.groups) {
    absl::Status ok = RunGroup(g, group, target, symbols, &values);
    if (!ok.ok())
      return InternalError(std::string(ok.message()), "\nin\n", FusionPlanToString(g, fusion));
  }
  std::vector<HostTensor> out;
  for (Value v : g.outputs()) out.push_back(ToHost(values.at(v)));
  return out;
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_RUN_PLAN_H_
