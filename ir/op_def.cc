#include "ir/op_def.h"

#include <algorithm>

#include "ir/infer.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

std::string TypeToString(const TensorType& type, absl::Span<const std::string> symbol_names) {
  return std::string(DTypeName(type.dtype)) + ShapeToString(type.dims, symbol_names);
}

std::string InferContext::Where() const {
  return absl::StrCat(CallToString(def, in, symbol_names), ": ");
}

int OpDef::min_arity() const {
  auto optional = [](std::string_view name) { return name.back() == '?'; };
  return static_cast<int>(std::find_if(args.begin(), args.end(), optional) - args.begin());
}

int OpDef::num_results() const {
  const std::string_view names = example.substr(0, example.find('='));
  return 1 + static_cast<int>(std::count(names.begin(), names.end(), ','));
}

const AttrDef* OpDef::FindAttr(std::string_view attr_name) const {
  auto it = std::find_if(attrs.begin(), attrs.end(),
                         [&](const AttrDef& a) { return a.name == attr_name; });
  return it == attrs.end() ? nullptr : &*it;
}

}  // namespace jitfuse::internal
