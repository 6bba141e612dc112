#include "jit/verify_run.h"

#include "absl/strings/str_cat.h"
#include "ir/eval.h"
#include "ir/op_enum.h"
#include "ir/support/dump.h"
#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/host_copy.h"

namespace jitfuse::internal {
namespace {

double Elements(const TensorType& type, absl::Span<const int64_t> symbols) {
  double n = 1;
  for (const Dim& d : type.dims) n *= static_cast<double>(d.Eval(symbols));
  return n;
}

double WorkOf(const Graph& graph, const Node& node, absl::Span<const int64_t> symbols) {
  double work = Elements(node.types[0], symbols);
  if (node.kind() == OpKind::kMatMul) {
    const Shape& a = graph.type(node.in[0]).dims;
    if (a.size() < 2) return work;
    const bool transposed = node.Get<bool>("transpose_a");
    return work * static_cast<double>(a[a.size() - (transposed ? 2 : 1)].Eval(symbols));
  }
  for (Value v : node.in) work = std::max(work, Elements(graph.type(v), symbols));
  return work;
}

}  // namespace

double EvalWork(const Graph& graph, absl::Span<const int64_t> symbols) {
  double work = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.size()); ++id)
    work += WorkOf(graph, graph.node(id), symbols);
  return work;
}

bool RunVerifier::Wanted(const Graph& graph, const BoundCall& bound, StreamHandle stream,
                         bool every, bool* skipped) {
  using Verify = BoundCall::Verify;
  *skipped = false;
  if (!every && bound.verify.load(std::memory_order_relaxed) != Verify::kNotYet) return false;
  Verify now = bound.eval_work > kMaxEvalWork                   ? Verify::kTooMuch
               : bound.executable->backend->IsCapturing(stream) ? Verify::kCapturing
                                                                : Verify::kDone;
  // A captured call says nothing of the next one, which may be verified. Of threads that come here
  // at once, one goes on.
  Verify before = Verify::kNotYet;
  if (now != Verify::kCapturing &&
      !bound.verify.compare_exchange_strong(before, now, std::memory_order_relaxed) && !every)
    return false;
  *skipped = now != Verify::kDone;
  if (now == Verify::kTooMuch) {
    Log(1,
        absl::StrCat("JITFUSE_VERIFY: graph ", graph.name(), " is not verified: ", bound.eval_work,
                     " element operations of the evaluator, the limit is ", kMaxEvalWork));
  } else if (now == Verify::kCapturing) {
    Log(1, absl::StrCat("JITFUSE_VERIFY: graph ", graph.name(),
                        " is not verified: its stream is being captured"));
  }
  return now == Verify::kDone;
}

absl::StatusOr<RunVerifier> RunVerifier::Begin(const Graph& graph, const Backend& backend,
                                               absl::Span<const TensorView> inputs,
                                               absl::Span<const uint64_t> scalars,
                                               StreamHandle stream) {
  RunVerifier out(&graph, &backend, stream);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (graph.node(graph.inputs()[i]).kind() == OpKind::kScalar) {
      HostTensor t = HostTensor::Make(inputs[i].dtype, {});
      t.Set(0, ScalarValue::FromBits(scalars[i]));
      out.inputs_.push_back(std::move(t));
      continue;
    }
    absl::StatusOr<HostTensor> t = CopyToHostTensor(backend, inputs[i], stream);
    if (!t.ok())
      return Annotate(t.status(),
                      absl::StrCat("JITFUSE_VERIFY: graph ", graph.name(), ", input ", i, " '",
                                   graph.input_name(static_cast<int>(i)), "'"));
    out.inputs_.push_back(*std::move(t));
  }
  return out;
}

absl::Status RunVerifier::Finish(absl::Span<const TensorView> outputs) const {
  const std::string name = absl::StrCat("JITFUSE_VERIFY: graph ", graph_->name());
  absl::StatusOr<std::vector<WideTensor>> expected = EvalWide(*graph_, inputs_);
  if (!expected.ok()) return Annotate(expected.status(), name + ", the evaluator");
  for (size_t o = 0; o < outputs.size(); ++o) {
    absl::StatusOr<HostTensor> got = CopyToHostTensor(*backend_, outputs[o], stream_);
    if (!got.ok()) return Annotate(got.status(), absl::StrCat(name, ", output ", o));
    CompareResult result = Compare((*expected)[o], *got);
    if (result.ok) continue;
    const std::string path = WriteDump(graph_->name(), "jf", GraphToString(*graph_));
    return InternalError(name, " on ", ToAbsl(backend_->name()), ":", backend_->target().arch,
                         ": output ", o, ", ", result.text, "; the graph is ",
                         path.empty() ? "lost: no file could be written" : "in ", path);
  }
  return absl::OkStatus();
}

}  // namespace jitfuse::internal
