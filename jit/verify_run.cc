#include "jit/verify_run.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/eval.h"
#include "ir/eval_sample.h"
#include "ir/op_enum.h"
#include "ir/support/dump.h"
#include "ir/support/hash128.h"
#include "ir/support/status.h"
#include "jit/host_copy.h"
#include "jit/reproducer.h"

namespace jitfuse::internal {
namespace {

// False for what most calls come to once the first ones are over.
bool MayBeWanted(const CheckedCall& call) {
  const int64_t env = call.cache->verify_env();
  const auto seen = call.bound->verify.load(std::memory_order_relaxed);
  return env > 1 || (env == 1 && seen == BoundCall::Verify::kNotYet) ||
         call.bound->executable->verify->HasLeft(call.cache->verify_policy().calls);
}

using Reference = std::vector<WideTensor>;

class Checker {
 public:
  explicit Checker(const CheckedCall& call)
      : call_(call),
        graph_(call.cache->graph()),
        backend_(call.cache->backend()),
        policy_(call.cache->verify_policy()),
        log_(*call.bound->executable->verify),
        where_(absl::StrCat("verify: graph ", graph_.name(), " on ", ToAbsl(backend_.name()), ":",
                            call.bound->executable->backend->target().arch)) {}

  absl::Status Run(absl::FunctionRef<absl::Status()> enqueue) {
    if (log_.fallen_back()) return AnswerByEvaluator();
    if (!Wanted()) return enqueue();  // another thread was first, or it cannot be
    std::vector<HostTensor> inputs;
    {
      const Watched watched(call_.watcher);
      JF_ASSIGN_OR_RETURN(inputs, CopyInputs());
    }
    if (absl::Status status = enqueue(); !status.ok()) {
      if (claimed_) log_.GiveBack();
      return status;
    }
    const Watched watched(call_.watcher);
    return Compare(inputs);
  }

 private:
  using Verify = BoundCall::Verify;

  // Whether this call is to be compared; if it should be and cannot, that is said.
  bool Wanted() {
    const BoundCall& bound = *call_.bound;
    const int64_t env = call_.cache->verify_env();
    if (backend_.IsCapturing(call_.stream)) {  // which says nothing of the next call
      Skip("its stream is being captured");
      return false;
    }
    claimed_ = log_.Claim(policy_.calls);
    // Of threads that come here at once, one goes on for JITFUSE_VERIFY=1.
    Verify before = Verify::kNotYet;
    const bool mine =
        bound.verify.compare_exchange_strong(before, Verify::kDone, std::memory_order_relaxed);
    asked_by_env_ = env > 1 || (env == 1 && mine);
    if (!claimed_ && !asked_by_env_) return false;
    if (before != Verify::kTooMuch) return true;
    Skip(TooMuch());
    return false;
  }

  void Skip(const std::string& why) {
    log_.AddSkipped(why);
    call_.cache->Count(VerifyEvent::kSkipped);
    Log(1, absl::StrCat(where_, " is not compared: ", why));
  }

  std::string TooMuch() const {
    return absl::StrFormat(
        "%.3g element operations of the evaluator, the limit is %.3g, and no sample of rows is "
        "within %.3g",
        call_.bound->eval_work, kMaxEvalWork, kMaxSampleWork);
  }

  absl::StatusOr<std::vector<HostTensor>> CopyInputs() const {
    std::vector<HostTensor> out;
    for (size_t i = 0; i < call_.inputs.size(); ++i) {
      const TensorView& view = call_.inputs[i];
      if (graph_.node(graph_.inputs()[i]).kind() == OpKind::kScalar) {
        HostTensor t = HostTensor::Make(view.dtype, {});
        t.Set(0, ScalarValue::FromBits(call_.scalars[i]));
        out.push_back(std::move(t));
        continue;
      }
      absl::StatusOr<HostTensor> t = CopyToHostTensor(backend_, view, call_.stream);
      if (!t.ok())
        return Annotate(t.status(), absl::StrCat(where_, ", input ", i, " '",
                                                 graph_.input_name(static_cast<int>(i)), "'"));
      out.push_back(*std::move(t));
    }
    return out;
  }

  // Nothing where it would take too long.
  absl::StatusOr<std::optional<Reference>> Evaluate(absl::Span<const HostTensor> inputs,
                                                    bool* sampled) const {
    const double work = call_.bound->eval_work;
    const Numerics numerics = call_.cache->options().numerics;
    *sampled = false;
    if (work > (asked_by_env_ ? kMaxEvalWork : kMaxSampleWork)) {
      JF_ASSIGN_OR_RETURN(std::optional<Reference> some,
                          EvalWideSample(graph_, inputs, kMaxSampleWork, numerics));
      *sampled = some.has_value();
      if (some || work > kMaxEvalWork) return some;
    }
    JF_ASSIGN_OR_RETURN(Reference all, EvalWide(graph_, inputs, numerics));
    return std::optional(std::move(all));
  }

  absl::Status Compare(const std::vector<HostTensor>& inputs) {
    VerifiedCall found;
    absl::StatusOr<std::optional<Reference>> expected = Evaluate(inputs, &found.sampled);
    if (!expected.ok()) return Annotate(expected.status(), where_ + ", the evaluator");
    if (!*expected) {
      call_.bound->verify.store(Verify::kTooMuch, std::memory_order_relaxed);
      Skip(TooMuch());
      return absl::OkStatus();
    }
    std::string wrong;
    for (size_t o = 0; o < call_.outputs.size(); ++o) {
      absl::StatusOr<HostTensor> got = CopyToHostTensor(backend_, call_.outputs[o], call_.stream);
      if (!got.ok()) return Annotate(got.status(), absl::StrCat(where_, ", output ", o));
      const CompareResult result = internal::Compare((**expected)[o], *got);
      if (!result.ok && wrong.empty()) wrong = Words(o, result, got->size());
      found.mismatch = found.mismatch || !result.ok;
      found.outputs.push_back(
          {result, got->size(), HashBytes(got->bytes.data(), got->bytes.size()).ToHex()});
    }
    Note(found);
    return found.mismatch ? Mismatch(inputs, wrong) : absl::OkStatus();
  }

  static std::string Words(size_t o, const CompareResult& r, int64_t elements) {
    std::string out = absl::StrCat("output ", o, ", ", r.text);
    if (r.compared > 0)
      absl::StrAppend(&out, "; ", r.beyond, " of ", r.compared,
                      " elements are beyond their bounds");
    if (r.compared > 0 && r.compared < elements)
      absl::StrAppend(&out, " (", r.compared, " of ", elements, " were compared)");
    return out;
  }

  // What was found is counted, kept and logged.
  void Note(const VerifiedCall& found) const {
    log_.AddCall(found);
    call_.cache->Count(VerifyEvent::kVerified);
    if (found.sampled) call_.cache->Count(VerifyEvent::kSampled);
    if (found.mismatch) call_.cache->Count(VerifyEvent::kMismatch);
    if (!LogEnabled(1)) return;
    for (size_t o = 0; o < found.outputs.size(); ++o) {
      const VerifiedCall::Output& out = found.outputs[o];
      const double n = static_cast<double>(std::max<int64_t>(out.result.compared, 1));
      Log(1, absl::StrCat(
                 where_, ", output ", o, ": ",
                 absl::StrFormat("difference at most %.3g (%.3g of the bound), on average %.3g "
                                 "(%.3g of it)",
                                 out.result.max_error, out.result.max_ratio,
                                 out.result.sum_error / n, out.result.sum_ratio / n),
                 ", ", out.result.compared, " of ", out.elements,
                 found.sampled ? " elements compared (a sample of rows)" : " elements compared",
                 ", checksum ", out.checksum));
    }
  }

  // What the command needs to make the same of the graph, and what files do not hold of the call.
  std::string CommandOptions() const {
    const Options& options = call_.cache->options();
    std::string out;
    if (backend_.name() == "cpu" || backend_.name() == "cuda" || backend_.name() == "interpret")
      absl::StrAppend(&out, " --backend ", ToAbsl(backend_.name()));
    if (!options.fuse) out += " --no-fuse";
    if (!options.rewrite) out += " --no-rewrite";
    if (!options.use_gemm_library) out += " --no-gemm-library";
    if (options.numerics == Numerics::kFast) out += " --numerics fast";
    if (options.autotune) out += " --autotune";
    return out.empty() ? out : out.substr(1);
  }

  static std::string Layout(const char* what, size_t i, const TensorView& view) {
    std::string out = absl::StrCat(what, " ", i, ": dims [", absl::StrJoin(view.dims, ","), "]");
    if (!view.strides.empty())
      absl::StrAppend(&out, ", strides [", absl::StrJoin(view.strides, ","), "]");
    return absl::StrCat(out, ", address modulo 256: ", reinterpret_cast<uintptr_t>(view.ptr) % 256);
  }

  std::vector<std::string> Head(const std::string& wrong) const {
    std::vector<std::string> out = {where_ + ": " + wrong};
    for (size_t i = 0; i < call_.inputs.size(); ++i)
      out.push_back(Layout("input", i, call_.inputs[i]));
    for (size_t o = 0; o < call_.outputs.size(); ++o) {
      out.push_back(Layout("output", o, call_.outputs[o]));
      for (size_t i = 0; i < call_.inputs.size(); ++i) {
        if (call_.inputs[i].ptr != nullptr && call_.inputs[i].ptr == call_.outputs[o].ptr)
          absl::StrAppend(&out.back(), ", the buffer of input ", i);
      }
    }
    return out;
  }

  absl::Status Mismatch(const std::vector<HostTensor>& inputs, const std::string& wrong) {
    const Reproducer files = WriteReproducer(graph_, inputs, Head(wrong), CommandOptions());
    log_.AddMismatch(wrong, files.command);
    const std::string message = absl::StrCat(where_, ": ", wrong, "; ", files.text);
    if (!policy_.fallback) return InternalError(message);
    log_.FallBack();
    Log(0, absl::StrCat(message,
                        "; from now on calls of this kind are answered by the reference evaluator "
                        "(verify_fallback), which is right and slow"));
    return Answer(inputs);
  }

  absl::Status AnswerByEvaluator() {
    if (backend_.IsCapturing(call_.stream))
      return absl::FailedPreconditionError(
          absl::StrCat(where_,
                       ": its calls are answered by the evaluator, since results differed "
                       "(verify_fallback); such a call cannot be captured into a graph"));
    const Watched watched(call_.watcher);
    JF_ASSIGN_OR_RETURN(const std::vector<HostTensor> inputs, CopyInputs());
    return Answer(inputs);
  }

  absl::Status Answer(const std::vector<HostTensor>& inputs) {
    absl::StatusOr<std::vector<HostTensor>> results = EvalDeclared(graph_, inputs);
    if (!results.ok()) return Annotate(results.status(), where_ + ", the evaluator");
    for (size_t o = 0; o < results->size(); ++o) {
      absl::Status status =
          CopyFromHostTensor(backend_, (*results)[o], call_.outputs[o], call_.stream);
      if (!status.ok()) return Annotate(status, absl::StrCat(where_, ", output ", o));
    }
    log_.AddFallbackCall();
    call_.cache->Count(VerifyEvent::kFallbackCall);
    return absl::OkStatus();
  }

  const CheckedCall& call_;
  const Graph& graph_;
  const Backend& backend_;
  const VerifyPolicy policy_;
  VerifyLog& log_;
  const std::string where_;
  bool claimed_ = false, asked_by_env_ = false;
};

}  // namespace

double EvalWork(const Graph& graph, absl::Span<const int64_t> symbols) {
  return EvalCost(graph).Of(symbols);
}

absl::Status RunChecked(const CheckedCall& call, absl::FunctionRef<absl::Status()> enqueue) {
  const bool checked = call.bound->executable->verify->fallen_back() || MayBeWanted(call);
  return checked ? Checker(call).Run(enqueue) : enqueue();
}

}  // namespace jitfuse::internal
