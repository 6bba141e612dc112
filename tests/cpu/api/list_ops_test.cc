// ListOps: the op table as tools see it.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "api/inspect.h"

namespace jitfuse {
namespace {

TEST(ListOps, NamesTheKinds) {
  std::map<std::string, std::string> kinds;
  for (const OpInfo& op : ListOps()) kinds[op.name] = op.kind;
  const std::map<std::string, std::string> expected = {
      {"input", "input"},         {"scalar", "scalar"},       {"constant", "constant"},
      {"add", "pointwise"},       {"reshape", "view"},        {"pad", "join"},
      {"take", "gather"},         {"iota", "iota"},           {"sum", "reduce"},
      {"matmul", "matmul"},       {"softmax", "composite"},   {"group_positions", "sort"},
      {"segment_add", "segment"}, {"index_add", "composite"},
  };
  for (const auto& [name, kind] : expected) EXPECT_EQ(kinds[name], kind) << name;
}

}  // namespace
}  // namespace jitfuse
