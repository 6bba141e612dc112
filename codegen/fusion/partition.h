// Partition: which nodes become one kernel or one library call.
//
// In: an expanded, optimised graph (kinds input, scalar, constant, pointwise with operands of its
// own shape, view, iota, reduce, matmul ...), a target's budgets, options, and what the matrix
// library takes. Out: a FusionPlan that obeys codegen/fusion/group.h, with a Reason for every
// border. LowerMatMul comes first: it rewrites products that no library takes as multiply and sum
// over k, so that they are fused like anything else. How (codegen/fusion/sweep.h has the details):
// one forward sweep lets each node join the groups it reads, groups of one level at a time, so that
// no cycle can arise; a backward sweep sinks groups into their only reader; groups that read the
// same input side by side are joined; budgets split what is too large. Pure, deterministic,
// near-linear; nothing recurses. Must not know: plans, schedules, devices.
#ifndef JITFUSE_CODEGEN_FUSION_PARTITION_H_
#define JITFUSE_CODEGEN_FUSION_PARTITION_H_

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/fusion/group.h"
#include "codegen/target.h"
#include "ir/graph.h"
#include "ir/options.h"

namespace jitfuse::internal {

// nullopt: the library multiplies this dtype. Else why not (gemm_dtype, gemm_no_library).
using GemmSupportFn = std::function<std::optional<Reason>(DType)>;
// The same for an epilogue that the target's table has.
using EpilogueSupportFn = std::function<std::optional<Reason>(DType, const GemmEpilogue&)>;
struct GemmLibrary {
  // Of a product's function alone, too.
  template <typename Fn>
    requires std::is_invocable_r_v<std::optional<Reason>, Fn, DType>
  GemmLibrary(Fn p, EpilogueSupportFn e = nullptr,  // NOLINT(*-explicit-*)
              std::function<bool(DType)> f = nullptr)
      : product(std::move(p)), epilogue(std::move(e)), gives_f32(std::move(f)) {}
  GemmSupportFn product;
  EpilogueSupportFn epilogue;  // null: none
  // Whether a product of operands of this 16-bit type, which it takes, may have an f32 result;
  // null: none.
  std::function<bool(DType)> gives_f32;
};

struct LoweredMatMul {
  NodeId node = -1;  // in the lowered graph: the sum over k; of what is padded, the padded operand
  Reason reason;
  std::string detail;
};
struct LoweredGraph {
  Graph graph;
  std::vector<LoweredMatMul> lowered;
};
// Every matmul that `options` or `library` keeps from the library, or that has an extent of 0,
// as multiply and sum over k (accumulated in f32 for f16 and bf16; integers wrap as their own type
// does). What sorts and segment sums read of numbers and of strided inputs becomes a value of its
// own, which lies in memory. Where the library gives f32 results of 16-bit operands, f32 operands
// that are casts of such, maybe behind views, become casts in front of the product. Products that
// the library has slow kernels for are given zeros behind k and n where that pays on `target`
// (gemm_padding.h; null: nowhere). Without such nodes the graph comes back as it is.
// `input_layouts`: by signature position, as in CallClass; empty, or empty strides: contiguous. The
// same for Partition; matters for matrix operands only.
absl::StatusOr<LoweredGraph> LowerMatMul(const Graph& graph, const Options& options,
                                         const GemmLibrary& library,
                                         absl::Span<const Layout> input_layouts = {},
                                         const Target* target = nullptr);
// A Note for each lowered product, and each padded operand, in the group that now computes it.
void AddLoweringNotes(const LoweredGraph& lowered, FusionPlan* plan);

absl::StatusOr<FusionPlan> Partition(const Graph& graph, const Target& target,
                                     const Options& options, const GemmLibrary& library,
                                     absl::Span<const Layout> input_layouts = {});

// Checks a plan against its graph, by a pull like BuildPlan's: every output made once and storable,
// inputs available before they are read, reductions met at one map over the parallel axes. Used by
// tests and under JITFUSE_VERIFY=1.
absl::Status VerifyFusionPlan(const Graph& graph, const FusionPlan& plan);
// One group of it, by itself.
absl::Status VerifyGroup(const Graph& graph, const Group& group);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_FUSION_PARTITION_H_
