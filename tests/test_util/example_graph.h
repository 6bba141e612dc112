// The example of a row of the op table as a graph, whose outputs are all of its results; for tests.
#ifndef JITFUSE_TESTS_TEST_UTIL_EXAMPLE_GRAPH_H_
#define JITFUSE_TESTS_TEST_UTIL_EXAMPLE_GRAPH_H_

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ir/op_def.h"
#include "ir/text.h"

namespace jitfuse::internal {

// With `dtype` for the floats, but for rows without float operands, which say theirs otherwise.
inline Graph ExampleGraph(const OpDef& def, const std::string& dtype) {
  const std::string line(def.example);
  const std::string text = absl::StrCat(
      "graph f(%x: f32[4,8], %y: f32[4,8], %i: i32[4,8], %j: i32[4,8], %p: bool[4,8], %q: "
      "bool[4,8], %m: f32[16,8],\n"
      "    %w: f32[8], %b: f32[8], %c: f32[16], %z: f32[4,1], %t: f32[2,4,8], %k: i64[4], %u: "
      "u64[]) -> (",
      line.substr(line.rfind(" : ") + 3), ") {\n  ", line, "\n  return ",
      line.substr(0, line.find(" = ")), "\n}\n");
  absl::StatusOr<Graph> graph =
      ParseGraph(absl::StrReplaceAll(text, {{"bf16", dtype}, {"f32", dtype}}));
  if (!graph.ok()) graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  return graph.ok() ? *std::move(graph) : Graph();
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_EXAMPLE_GRAPH_H_
