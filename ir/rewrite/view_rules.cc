// Views: identities and chains of broadcasts, reshapes and transposes, and transposes that a matrix
// product can take in.
#include <numeric>

#include "ir/op_enum.h"
#include "ir/rewrite/rule.h"

namespace jitfuse::internal {
namespace {

using Perm = std::vector<int64_t>;

std::optional<Value> ViewOfUniform(RuleContext& c) {
  if (c.node().op == Op::kBroadcast && c.in_op(0) == Op::kConstant) return std::nullopt;
  std::optional<ScalarValue> value = c.Uniform(c.in(0));
  if (!value) return std::nullopt;
  return c.AddUniform(c.type(), *value);
}

std::optional<Value> SameTypeView(RuleContext& c) {
  if (!(c.graph().type(c.in(0)) == c.type())) return std::nullopt;
  return c.in(0);
}

std::optional<Value> IdentityTranspose(RuleContext& c) {
  const Perm& perm = c.node().Get<Perm>("perm");
  Perm identity(perm.size());
  std::iota(identity.begin(), identity.end(), 0);
  if (perm != identity) return std::nullopt;
  return c.in(0);
}

// reshape(reshape(x)) and broadcast(broadcast(x)): only the last shape counts.
std::optional<Value> SameViewTwice(RuleContext& c) {
  if (c.in_op(0) != c.node().op) return std::nullopt;
  return c.Add(c.node().op, {c.in_node(0).in[0]},
               {{"shape", std::vector<Dim>(c.type().dims.begin(), c.type().dims.end())}});
}

std::optional<Value> TransposeTwice(RuleContext& c) {
  if (c.in_op(0) != Op::kTranspose) return std::nullopt;
  const Perm& inner = c.in_node(0).Get<Perm>("perm");
  Perm both;
  for (int64_t p : c.node().Get<Perm>("perm")) both.push_back(inner[static_cast<size_t>(p)]);
  return c.Add(Op::kTranspose, {c.in_node(0).in[0]}, {{"perm", std::move(both)}});
}

// The transpose swaps the last two dims and nothing else.
bool SwapsMatrix(const Node& node) {
  if (node.op != Op::kTranspose) return false;
  Perm perm = node.Get<Perm>("perm");
  size_t rank = perm.size();
  if (rank < 2) return false;
  std::swap(perm[rank - 2], perm[rank - 1]);
  Perm identity(rank);
  std::iota(identity.begin(), identity.end(), 0);
  return perm == identity;
}

std::optional<Value> MatMulOfTranspose(RuleContext& c) {
  bool swap_a = SwapsMatrix(c.in_node(0));
  bool swap_b = SwapsMatrix(c.in_node(1));
  if (!swap_a && !swap_b) return std::nullopt;
  Value a = swap_a ? c.in_node(0).in[0] : c.in(0);
  Value b = swap_b ? c.in_node(1).in[0] : c.in(1);
  bool transpose_a = c.node().Get<bool>("transpose_a") != swap_a;
  bool transpose_b = c.node().Get<bool>("transpose_b") != swap_b;
  return c.Add(Op::kMatMul, {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

constexpr std::string_view kSameElements = "the same elements in the same order";

constexpr RewriteRule kRules[] = {
    {"broadcast_of_uniform", Op::kBroadcast, kAnyDType, nullptr, ViewOfUniform,
     "broadcast(view of constant) -> broadcast(constant)", "all elements are equal"},
    {"reshape_of_uniform", Op::kReshape, kAnyDType, nullptr, ViewOfUniform,
     "reshape(view of constant) -> broadcast(constant)", "all elements are equal"},
    {"transpose_of_uniform", Op::kTranspose, kAnyDType, nullptr, ViewOfUniform,
     "transpose(view of constant) -> broadcast(constant)", "all elements are equal"},
    {"broadcast_to_same", Op::kBroadcast, kAnyDType, nullptr, SameTypeView,
     "broadcast(x, shape of x) -> x", kSameElements},
    {"reshape_to_same", Op::kReshape, kAnyDType, nullptr, SameTypeView,
     "reshape(x, shape of x) -> x", kSameElements},
    {"transpose_identity", Op::kTranspose, kAnyDType, nullptr, IdentityTranspose,
     "transpose(x, [0,1,..]) -> x", kSameElements},
    {"broadcast_twice", Op::kBroadcast, kAnyDType, nullptr, SameViewTwice,
     "broadcast(broadcast(x, s), t) -> broadcast(x, t)", kSameElements},
    {"reshape_twice", Op::kReshape, kAnyDType, nullptr, SameViewTwice,
     "reshape(reshape(x, s), t) -> reshape(x, t)", kSameElements},
    {"transpose_twice", Op::kTranspose, kAnyDType, nullptr, TransposeTwice,
     "transpose(transpose(x, p), q) -> transpose(x, p[q])", kSameElements},
    {"matmul_of_transpose", Op::kMatMul, kAnyDType, nullptr, MatMulOfTranspose,
     "matmul(transpose(a), b) -> matmul(a, b, transpose_a), also of b",
     "the same products in the same order"},
};

}  // namespace

absl::Span<const RewriteRule> ViewRules() { return kRules; }

}  // namespace jitfuse::internal
