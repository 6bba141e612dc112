// Ops by name, for bindings and tools that know the op and its attributes only at run time.
//
// ApplyNamed does what the functions of ops.h and random.h do, with the same checks; but an error
// comes back as a Status and leaves the Builder as it was, so that one who types graphs line by
// line may go on. Names of ops, operands and attributes are those of graph text (docs/ops.md).
// A list of numbers is given as such, also where it means sizes; of names, as DimSpecs. Trailing
// operands with a default may be left out. Of random ops, whose operands `seed` and `offset` come
// with each call, these two and the attribute `stream` are left out, as in random.h; where `stream`
// is given, so must they be.
#ifndef JITFUSE_API_APPLY_H_
#define JITFUSE_API_APPLY_H_

#include <string>
#include <vector>

#include "ops_support.h"
#include "status.h"
#include "tensor.h"

namespace jitfuse {
inline namespace v1 {

struct NamedValue {
  std::string name;
  detail::AttrArg value;
};

// All results of the op, whose operands must be of `builder`.
StatusOr<std::vector<Tensor>> ApplyNamed(const Builder& builder, const std::string& op,
                                         const std::vector<Tensor>& operands,
                                         const std::vector<NamedValue>& attrs);

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_APPLY_H_
