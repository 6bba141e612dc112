// Manifests as JSON: what is read, what is refused and how, and that writing is reading's inverse.
#include "jit/manifest.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace jitfuse::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<Manifest> Entries(const std::string& entries) {
  return ParseManifest("{\"jitfuse_manifest\": 1, \"entries\": [" + entries + "]}", "m.json");
}

std::string ErrorOf(const std::string& entries) {
  return std::string(Entries(entries).status().message());
}

constexpr const char* kFull = R"({
  "python": "model.py:layer", "args": ["x:$T[n,8]", "axis=1"],
  "dtypes": {"T": ["f32", "bf16"]},
  "options": {"numerics": "fast", "fuse": false, "rewrite": true, "use_gemm_library": false,
              "max_fusions": 3, "dynamic": "all"},
  "bound": ["w"],
  "calls": [
    {"sizes": {"n": [1, 3, {"from": 4, "to": 6}, {"from": 8, "to": 40, "times": 2}], "m": 7}},
    {"sizes": {"n": {"from": 0, "to": 10, "step": 5}},
     "inputs": {"x": {"strides": [1, -16], "align": 4}},
     "outputs": {"1": {"alias": ["x", "y"]}}}]})";

TEST(ManifestTest, AllThatAnEntryHasIsRead) {
  const auto manifest = Entries(kFull);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  ASSERT_EQ(manifest->entries.size(), 1u);
  const ManifestEntry& e = manifest->entries[0];
  EXPECT_EQ(e.source, ManifestSource::kPython);
  EXPECT_EQ(e.what, "model.py:layer");
  EXPECT_THAT(e.args, ElementsAre("x:$T[n,8]", "axis=1"));
  EXPECT_THAT(e.dtypes.at("T"), ElementsAre("f32", "bf16"));
  EXPECT_EQ(e.numerics, Numerics::kFast);
  EXPECT_EQ(e.fuse, false);
  EXPECT_EQ(e.rewrite, true);
  EXPECT_EQ(e.use_gemm_library, false);
  EXPECT_EQ(e.max_fusions, 3);
  EXPECT_EQ(e.dynamic, Dynamic::kAll);
  EXPECT_THAT(e.bound, ElementsAre("w"));
  ASSERT_EQ(e.calls.size(), 2u);
  EXPECT_THAT(e.calls[0].sizes.at("n"), ElementsAre(1, 3, 4, 5, 6, 8, 16, 32));
  EXPECT_THAT(e.calls[0].sizes.at("m"), ElementsAre(7));
  EXPECT_EQ(e.calls[0].where, "m.json: /entries/0/calls/0");
  EXPECT_THAT(e.calls[1].sizes.at("n"), ElementsAre(0, 5, 10));
  EXPECT_THAT(e.calls[1].inputs.at("x").strides, ElementsAre(1, -16));
  EXPECT_EQ(e.calls[1].inputs.at("x").align, 4);
  EXPECT_THAT(e.calls[1].outputs.at(1).alias, ElementsAre("x", "y"));
}

TEST(ManifestTest, WhatIsLeftOutHasDefaults) {
  const auto manifest = Entries(R"({"graph": "f.jf"}, {"text": ["a", "b"]}, {"text": "a b"})");
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  const ManifestEntry& e = manifest->entries[0];
  EXPECT_EQ(e.source, ManifestSource::kFile);
  EXPECT_EQ(e.calls.size(), 1u);
  EXPECT_TRUE(e.calls[0].sizes.empty());
  EXPECT_FALSE(e.numerics || e.fuse || e.dynamic);
  EXPECT_EQ(manifest->entries[1].what, "a\nb\n");
  EXPECT_EQ(manifest->entries[2].what, "a b");
}

TEST(ManifestTest, WritingIsReadingsInverse) {
  const auto manifest =
      Entries(std::string(kFull) + R"(, {"graph": "a b.jf"}, {"text": ["l1", "", "l3"]})");
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  const std::string json = ManifestToJson(*manifest);
  const auto again = ParseManifest(json, "again.json");
  ASSERT_TRUE(again.ok()) << again.status() << json;
  ASSERT_EQ(again->entries.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(SameButCalls(again->entries[i], manifest->entries[i])) << i;
    ASSERT_EQ(again->entries[i].calls.size(), manifest->entries[i].calls.size());
    for (size_t c = 0; c < manifest->entries[i].calls.size(); ++c)
      EXPECT_TRUE(SameCall(again->entries[i].calls[c], manifest->entries[i].calls[c]));
  }
  EXPECT_EQ(ManifestToJson(*again), json);
}

TEST(ManifestTest, ErrorsSayWhereAndWhatWasExpected) {
  const auto error = [](const char* json) {
    return std::string(ParseManifest(json, "m.json").status().message());
  };
  EXPECT_THAT(error("{"), HasSubstr("m.json: expected JSON: parse error at line 1, column 2"));
  EXPECT_THAT(error("[]"), HasSubstr("m.json: the whole: expected an object with "
                                     "\"jitfuse_manifest\": 1, got a list of 0"));
  EXPECT_THAT(error(R"({"jitfuse_manifest": 2, "entries": []})"),
              HasSubstr("m.json: /jitfuse_manifest: expected version 1, which this Jitfuse reads, "
                        "got 2"));
  EXPECT_THAT(error(R"({"jitfuse_manifest": 1, "entry": []})"),
              HasSubstr("unknown key 'entry'; known: jitfuse_manifest, entries"));
  EXPECT_THAT(error(R"({"jitfuse_manifest": 1, "entries": [], "entries": []})"),
              HasSubstr("m.json: an object has the key 'entries' twice"));
  EXPECT_THAT(error("{\"jitfuse_manifest\": 1e999}"), HasSubstr("m.json: expected JSON"));
  EXPECT_THAT(error("\xff"), HasSubstr("m.json: expected JSON"));
}

TEST(ManifestTest, ErrorsInEntriesHaveTheirPointer) {
  EXPECT_THAT(ErrorOf("3"), HasSubstr("m.json: /entries/0: expected an object, got 3"));
  EXPECT_THAT(ErrorOf(R"({"graph": "f", "text": "g"})"),
              HasSubstr("/entries/0: expected one of \"graph\", \"text\" and \"python\", got 2"));
  EXPECT_THAT(ErrorOf(R"({"graph": ""})"),
              HasSubstr("/entries/0/graph: expected a string that is not empty, got \"\""));
  EXPECT_THAT(ErrorOf(R"({"graph": "a\u0000b"})"),
              HasSubstr("/entries/0/graph: expected the name of a file, got \"a\\u0000b\""));
  for (const char* python : {"model.py", "missing function", ":f", "m:", "a..b:f", "..:f", "m:f.",
                             "m\\u0000:f", "model.py:"}) {
    EXPECT_THAT(ErrorOf(absl::StrCat(R"({"python": ")", python, "\"}")),
                HasSubstr(absl::StrCat("/entries/0/python: expected a Python function, "
                                       "\"module:function\" or \"FILE.py:function\", got \"",
                                       python, "\"")));
  }
  EXPECT_THAT(ErrorOf(R"({"graph": "f", "args": []})"),
              HasSubstr("/entries/0/args: only Python functions have arguments"));
  EXPECT_THAT(ErrorOf(R"({"graph": "f", "dtypes": {"T": ["f31"]}})"),
              HasSubstr("/entries/0/dtypes/T/0: expected one of bool, u8"));
  EXPECT_THAT(ErrorOf(R"({"graph": "f", "dtypes": {"a/b~": ["f32"]}})"),
              HasSubstr("/entries/0/dtypes/a~1b~0: expected letters"));
  EXPECT_THAT(ErrorOf(R"({"graph": "f", "options": {"numerics": "strict"}})"),
              HasSubstr("/options/numerics: expected \"default\" or \"fast\", got \"strict\""));
  EXPECT_THAT(ErrorOf(R"({"graph": "f", "options": {"fuse": 1}})"),
              HasSubstr("/options/fuse: expected true or false, got 1"));
  EXPECT_THAT(ErrorOf(R"({"graph": "f", "calls": []})"),
              HasSubstr("/entries/0/calls: expected a list of calls that is not empty"));
}

TEST(ManifestTest, ErrorsInCallsHaveTheirPointer) {
  const auto error = [](const std::string& call) {
    return ErrorOf(R"({"graph": "f", "calls": [{}, )" + call + "]}");
  };
  const std::string here = "m.json: /entries/0/calls/1";
  EXPECT_THAT(error(R"({"sizes": {"n": -1}})"),
              HasSubstr(here + "/sizes/n: expected a size from 0 to 281474976710656, got -1"));
  EXPECT_THAT(error(R"({"sizes": {"n": 1.5}})"), HasSubstr("expected a size from 0"));
  EXPECT_THAT(error(R"({"sizes": {"n": 18446744073709551615}})"), HasSubstr("expected a size"));
  EXPECT_THAT(error(R"({"sizes": {"n": []}})"), HasSubstr("list of them that is not empty"));
  EXPECT_THAT(error(R"({"sizes": {"n": {"from": 3, "to": 2}}})"),
              HasSubstr("/sizes/n/to: expected a size from 3"));
  EXPECT_THAT(error(R"({"sizes": {"n": {"from": 3}}})"), HasSubstr("expected a range with"));
  EXPECT_THAT(error(R"({"sizes": {"n": {"from": 1, "to": 2, "step": 1, "times": 2}}})"),
              HasSubstr("at most one of \"step\" and \"times\""));
  EXPECT_THAT(error(R"({"sizes": {"n": {"from": 0, "to": 2, "times": 2}}})"),
              HasSubstr("/from: expected a size from 1"));
  EXPECT_THAT(error(R"({"sizes": {"n": {"from": 1, "to": 100000}}})"),
              HasSubstr("expected at most 65536 sizes"));
  EXPECT_THAT(error(R"({"sizes": {"n": {"from": 1, "to": 1000}, "m": {"from": 1, "to": 1000}}})"),
              HasSubstr("expected at most 65536 combinations of sizes"));
  EXPECT_THAT(error(R"({"inputs": {"x": {"align": 3}}})"),
              HasSubstr("a power of two from 1 to 16"));
  EXPECT_THAT(error(R"({"inputs": {"x": {"alias": ["y"]}}})"), HasSubstr("unknown key 'alias'"));
  EXPECT_THAT(error(R"({"outputs": {"01": {}}})"),
              HasSubstr("expected the number of an output, got '01'"));
}

// Many small ranges would fill memory.
TEST(ManifestTest, AllSizesTogetherAreBounded) {
  std::string calls;
  for (int i = 0; i < 70; ++i)
    calls += std::string(i > 0 ? "," : "") + R"({"sizes": {"n": {"from": 0, "to": 65535}}})";
  EXPECT_THAT(ErrorOf(R"({"graph": "f", "calls": [)" + calls + "]}"),
              HasSubstr("/entries/0/calls/64/sizes/n: expected at most 4194304 sizes"));
}

TEST(ManifestTest, NestingDoesNotOverflowTheStack) {
  const size_t depth = 1 << 20;
  EXPECT_FALSE(ParseManifest(std::string(depth, '['), "m.json").ok());
  EXPECT_FALSE(ParseManifest(std::string(depth, '[') + std::string(depth, ']'), "m.json").ok());
}

TEST(ManifestTest, DTypesStandForTheirNames) {
  EXPECT_EQ(WithDTypes("%x: $T[n], $Tx[$n] $", {{"T", "f32"}}), "%x: f32[n], $Tx[$n] $");
  ManifestEntry entry;
  EXPECT_EQ(DTypeCombinations(entry).size(), 1u);
  entry.dtypes = {{"A", {"f32", "f64"}}, {"B", {"i8", "i16", "i32"}}};
  EXPECT_EQ(DTypeCombinations(entry).size(), 6u);
}

// Whatever bytes a manifest has: an error that names the file, or a manifest that survives writing.
TEST(ManifestTest, MutatedBytes) {
  const std::string json = ManifestToJson(*Entries(kFull));
  std::mt19937_64 rng(1);
  for (int i = 0; i < 3000; ++i) {
    std::string mutated = json;
    for (uint64_t k = 0; k <= rng() % 3; ++k)
      mutated[rng() % mutated.size()] = static_cast<char>(rng());
    const auto manifest = ParseManifest(mutated, "m.json");
    if (!manifest.ok()) {
      EXPECT_THAT(std::string(manifest.status().message()), testing::StartsWith("m.json: "));
      continue;
    }
    const std::string written = ManifestToJson(*manifest);
    const auto again = ParseManifest(written, "w.json");
    ASSERT_TRUE(again.ok()) << again.status() << written;
    EXPECT_EQ(ManifestToJson(*again), written);
  }
}

}  // namespace
}  // namespace jitfuse::internal
