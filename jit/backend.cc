#include "jit/backend.h"

#include "ir/support/status.h"

namespace jitfuse::internal {

absl::StatusOr<std::vector<std::shared_ptr<const PreparedGemm>>> Backend::GemmCandidates(
    const GemmProblem& problem, int) const {
  JF_ASSIGN_OR_RETURN(std::shared_ptr<const PreparedGemm> only, PrepareGemm(problem));
  return std::vector<std::shared_ptr<const PreparedGemm>>{std::move(only)};
}

absl::StatusOr<std::shared_ptr<const PreparedGemm>> Backend::PrepareGemmWith(
    const GemmProblem&, const std::string& algorithm) const {
  return absl::NotFoundError(
      absl::StrCat("the ", ToAbsl(name()), " back end has no algorithm '", algorithm, "'"));
}

absl::StatusOr<double> Backend::TimeOnDevice(absl::FunctionRef<absl::Status()>,
                                             StreamHandle) const {
  return Unimplemented("the ", ToAbsl(name()), " back end times nothing");
}

}  // namespace jitfuse::internal
