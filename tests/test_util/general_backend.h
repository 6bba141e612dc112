// A toy CPU with more general ones beside it: for tests of which target's code is taken from
// caches.
#ifndef JITFUSE_TESTS_TEST_UTIL_GENERAL_BACKEND_H_
#define JITFUSE_TESTS_TEST_UTIL_GENERAL_BACKEND_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/plan/plan_text.h"
#include "tests/test_util/cache_kit.h"

namespace jitfuse::internal {

// Plans for `level` and says that it is `arch`; a kernel's source is its plan. With `general`: the
// levels of back ends beside it.
class GeneralBackend : public ToyBackend {
 public:
  GeneralBackend(const std::string& level, const std::string& arch,
                 const std::vector<std::string>& general = {})
      : target_(*TargetFor(level)) {
    target_.arch = arch;
    for (const std::string& name : general) {
      owned_.push_back(std::make_unique<GeneralBackend>(name, name));
      general_.push_back(owned_.back().get());
    }
  }
  const Target& target() const override { return target_; }
  absl::StatusOr<KernelSource> Emit(const KernelPlan& plan) const override {
    KernelSource source;
    source.lang = SourceLang::kLlvm;
    source.text = PlanToString(plan);
    source.entry = plan.name;
    source.arch = target_.arch;
    return source;
  }
  absl::Span<const Backend* const> GeneralBackends() const override { return general_; }
  const GeneralBackend& general(size_t i) const { return *owned_[i]; }

 private:
  Target target_;
  std::vector<std::unique_ptr<GeneralBackend>> owned_;
  std::vector<const Backend*> general_;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_GENERAL_BACKEND_H_
