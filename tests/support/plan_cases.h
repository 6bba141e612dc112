// Plans with sizes and inputs, to run on whatever runs kernels (the emulator, a GPU) and to compare
// with the plan interpreter.
//
// The sets cover what the CUDA emitter does: vectors, items, tails and guards; layouts; rows in
// registers and read again, by few threads and many; windows of rows with gaps between them, in
// place too; conversions; every scalar primitive; and plans of graphs as the planner makes them,
// each once with rows kept and 32-bit offsets, once without and with 64-bit ones. Names within a
// set differ.
#ifndef JITFUSE_TESTS_SUPPORT_PLAN_CASES_H_
#define JITFUSE_TESTS_SUPPORT_PLAN_CASES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/target.h"
#include "ir/op_enum.h"

namespace jitfuse::internal {

struct PlanCase {
  KernelPlan plan;
  std::vector<int64_t> elements;  // of each parameter's buffer
  std::vector<int64_t> symbols;
  std::vector<double> scalars = {};
  bool in_place = false;  // the output that is parameter 1 has the buffer of input 0
  // The op that the plan is all of, whose stated bound holds for each result, however small.
  std::optional<Op> op = std::nullopt;
};

std::vector<PlanCase> FlatCases();
std::vector<PlanCase> LayoutCases();
std::vector<PlanCase> RowCases();
std::vector<PlanCase> WindowCases();
std::vector<PlanCase> ConversionCases();
std::vector<PlanCase> PrimitiveCases();
std::vector<PlanCase> PlannedCases(const Target& target);

// Runs the kernel on host buffers of the given sizes: inputs are filled, outputs are to be. Buffers
// may be the same.
using PlanRunner =
    std::function<absl::Status(absl::Span<void* const> buffers, absl::Span<const size_t> bytes,
                               absl::Span<const uint64_t> scalars)>;
// Random inputs from fixed seeds, the runner's outputs against the interpreter's, within what the
// op's bound lets two of its results be apart, else within the rounding of the outputs' types (of
// 1, for results that are less: sums may cancel).
void CheckCase(const PlanCase& c, const PlanRunner& run);

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_SUPPORT_PLAN_CASES_H_
