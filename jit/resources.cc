#include "jit/resources.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace jitfuse::internal {

std::optional<Note> NoteOfResources(int group, const std::string& kernel,
                                    const KernelResources& r) {
  const std::string local = r.local_bytes > 0
                                ? absl::StrCat(r.local_bytes, " bytes of local memory a thread")
                                : std::string();
  if (r.spill_stores > 0 || r.spill_loads > 0) {
    return Note{group, Reason::kRegisterSpill,
                absl::StrCat(kernel, ": ", r.spill_stores, " bytes of spill stores and ",
                             r.spill_loads, " of spill loads", local.empty() ? "" : "; ", local)};
  }
  if (r.local_bytes > 0)
    return Note{group, Reason::kLocalMemory, absl::StrCat(kernel, ": ", local)};
  return std::nullopt;
}

std::string ResourcesToString(const KernelResources& r) {
  std::vector<std::string> parts;
  const auto add = [&](int64_t value, const char* what) {
    if (value >= 0) parts.push_back(absl::StrCat(value, what));
  };
  add(r.registers, " registers");
  add(r.local_bytes, " bytes of local memory");
  if (r.spill_stores > 0 || r.spill_loads > 0)
    parts.push_back(absl::StrCat("spills ", r.spill_stores, " + ", r.spill_loads, " bytes"));
  if (r.static_smem >= 0 && r.dynamic_smem >= 0)
    parts.push_back(absl::StrCat(r.static_smem, " + ", r.dynamic_smem,
                                 " bytes of shared memory (static + dynamic)"));
  if (r.blocks_per_sm >= 0)
    parts.push_back(absl::StrFormat("%d blocks of %d threads a multiprocessor, occupancy %.0f%%",
                                    r.blocks_per_sm, r.threads, 100 * r.occupancy()));
  add(r.stack_bytes, " bytes of stack");
  add(r.code_bytes, " bytes of code");
  return absl::StrJoin(parts, ", ");
}

}  // namespace jitfuse::internal
