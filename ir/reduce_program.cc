#include "ir/reduce_program.h"

#include "ir/support/check.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr std::string_view kA[] = {"a0", "a1", "a2", "a3"};
constexpr std::string_view kB[] = {"b0", "b1", "b2", "b3"};

// `earlier`: types of the results r0 .. of the pass before; `results`: those of this pass.
absl::StatusOr<ReduceProgram> BuildPass(const ReducePass& pass, AccRule rule, int num_acc, DType in,
                                        const std::vector<DType>& earlier,
                                        const std::vector<DType>& results) {
  JF_CHECK(num_acc > 0 && num_acc <= 4);
  const auto k = static_cast<size_t>(num_acc);
  ReduceProgram p;
  p.acc = AccumulatorTypes(rule, num_acc, in);
  p.x = rule == AccRule::kSum ? p.acc[0] : ComputeType(in);
  p.n = IsFloat(p.acc[0]) ? p.acc[0] : DType::kI64;

  JF_ASSIGN_OR_RETURN(ScalarProgram init, BuildScalarProgram(pass.init, {}, {}, nullptr, p.acc));
  p.init.resize(k);
  EvalScalarProgram(init, nullptr, p.init.data());

  std::vector<std::string_view> names = {"x", "i", "r0", "r1"};
  std::vector<DType> types = {p.x, DType::kI64};
  types.insert(types.end(), earlier.begin(), earlier.end());
  names.resize(types.size());
  JF_ASSIGN_OR_RETURN(p.lift, BuildScalarProgram(pass.lift, names, types, nullptr, p.acc));

  names.assign(kA, kA + k);
  names.insert(names.end(), kB, kB + k);
  types = p.acc;
  types.insert(types.end(), p.acc.begin(), p.acc.end());
  JF_ASSIGN_OR_RETURN(p.combine, BuildScalarProgram(pass.combine, names, types, nullptr, p.acc));

  names.assign(kA, kA + k);
  names.push_back("n");
  types = p.acc;
  types.push_back(p.n);
  JF_ASSIGN_OR_RETURN(p.finalize,
                      BuildScalarProgram(pass.finalize, names, types, nullptr, results));
  return p;
}

}  // namespace

std::vector<DType> AccumulatorTypes(AccRule rule, int num_acc, DType in) {
  const DType compute = ComputeType(in);
  const auto k = static_cast<size_t>(num_acc);
  switch (rule) {
    case AccRule::kSum:
      return std::vector<DType>(k, SumType(compute));
    case AccRule::kSame:
      return std::vector<DType>(k, compute);
    case AccRule::kBool:
      return std::vector<DType>(k, DType::kBool);
    case AccRule::kValueIndex:
      break;
  }
  return {compute, DType::kI64};
}

absl::StatusOr<std::vector<ReduceProgram>> BuildReducePrograms(const Graph& graph, const Node& node,
                                                               bool two_pass) {
  const ReduceDef& def = *node.def().reduce;
  const DType in = graph.type(node.in[0]).dtype;
  std::vector<DType> results;
  for (const TensorType& type : node.types) results.push_back(ComputeType(type.dtype));
  std::vector<ReduceProgram> passes;
  if (def.num_passes == 0 || !two_pass) {
    JF_ASSIGN_OR_RETURN(ReduceProgram p,
                        BuildPass(def.one_pass, def.acc_rule, def.num_acc, in, {}, results));
    passes.push_back(std::move(p));
    return passes;
  }
  for (size_t i = 0; i < static_cast<size_t>(def.num_passes); ++i) {
    std::vector<DType> earlier(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(i));
    JF_ASSIGN_OR_RETURN(ReduceProgram p,
                        BuildPass(def.two_pass[i], def.acc_rule, def.two_pass[i].num_acc, in,
                                  earlier, {results[i]}));
    passes.push_back(std::move(p));
  }
  return passes;
}

}  // namespace jitfuse::internal
