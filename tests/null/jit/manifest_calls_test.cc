// Calls of a manifest as classes of calls, and classes described as such calls.
#include "jit/manifest_calls.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "jit/recorder.h"
#include "tests/test_util/cache_kit.h"

namespace jitfuse::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const Graph> Parsed(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return std::make_shared<const Graph>(*std::move(graph));
}

std::shared_ptr<const Graph> Softmax() {
  return Parsed("graph f(%x: f32[n,m]) -> (f32[n,m]) { %0 = softmax(%x) : f32[n,m] return %0 }");
}

std::shared_ptr<const Graph> Sum() {
  return Parsed(
      "graph f(%x: f32[n,m], %y: f32[n,m], %k: scalar f32) -> (f32[n,m]) {\n"
      "  %0 = add(%x, %y) : f32[n,m]\n  %1 = multiply(%0, %k) : f32[n,m]\n  return %1 }");
}

ManifestCall Sizes(std::map<std::string, std::vector<int64_t>> sizes) {
  ManifestCall out;
  out.sizes = std::move(sizes);
  out.where = "m.json: /entries/0/calls/0";
  return out;
}

std::string ErrorOf(const std::shared_ptr<const Graph>& graph, const ManifestCall& call,
                    const std::vector<std::string>& bound = {}) {
  return std::string(ClassesOf(graph, call, bound).status().message());
}

TEST(ManifestCallsTest, EachClassOnce) {
  // 1 is a class of its own; rows of 64 and 48 are bounded by 64 and divide by 16, 50 by 2 alone.
  const auto classes =
      ClassesOf(Softmax(), Sizes({{"n", {1, 2, 3, 100}}, {"m", {64, 48, 50}}}), {});
  ASSERT_TRUE(classes.ok()) << classes.status();
  EXPECT_EQ(classes->size(), 4u);
  const auto constant =
      ClassesOf(Softmax(), Sizes({{"n", {2, 3, 100}}, {"m", {64, 48, 50}}}), {}, Dynamic::kNone);
  EXPECT_EQ(constant->size(), 9u);
}

TEST(ManifestCallsTest, ErrorsSayWhere) {
  EXPECT_THAT(ErrorOf(Softmax(), Sizes({{"n", {2}}})),
              HasSubstr("m.json: /entries/0/calls/0: graph f: expected sizes for its symbol 'm'"));
  EXPECT_THAT(ErrorOf(Softmax(), Sizes({{"n", {2}}, {"m", {2}}, {"k", {2}}})),
              HasSubstr("graph f has no symbol 'k'; its symbols: n, m"));
  EXPECT_THAT(ErrorOf(Softmax(), Sizes({{"n", {2, int64_t{1} << 40}}, {"m", {1 << 20}}})),
              HasSubstr("with n=1099511627776, m=1048576"));
  ManifestCall call = Sizes({{"n", {2}}, {"m", {4}}});
  call.inputs["z"] = {};
  EXPECT_THAT(ErrorOf(Sum(), call), HasSubstr("graph f has no input 'z'; its inputs: x, y, k"));
  call.inputs = {{"k", {}}};
  EXPECT_THAT(ErrorOf(Sum(), call), HasSubstr("input 'k' is passed by value"));
  call.inputs = {{"x", {{1}, 16, {}}}};
  EXPECT_THAT(ErrorOf(Sum(), call), HasSubstr("input 'x': expected 2 strides, got 1"));
  call.inputs.clear();
  call.outputs[1] = {};
  EXPECT_THAT(ErrorOf(Sum(), call), HasSubstr("graph f has 1 outputs"));
  call.outputs = {{0, {{0, 1}, 16, {}}}};
  EXPECT_THAT(ErrorOf(Sum(), call), HasSubstr("stride 0"));
  EXPECT_THAT(ErrorOf(Sum(), Sizes({{"n", {2}}, {"m", {4}}}), {"w"}),
              HasSubstr("graph f has no input 'w'"));
}

// What a recorder writes of a class gives that class again.
void ExpectDescribed(const Graph& graph, const CallClass& cls,
                     Dynamic dynamic = Dynamic::kLeading) {
  ManifestCall call = DescribeCall(graph, cls);
  const auto again =
      ClassesOf(std::make_shared<const Graph>(graph), call, BoundNames(graph, cls), dynamic);
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_EQ(again->size(), 1u);
  EXPECT_EQ((*again)[0].cls.key, cls.key);
  EXPECT_EQ((*again)[0].cls.bound_inputs, cls.bound_inputs);
}

TEST(ManifestCallsTest, ClassesAreDescribed) {
  const auto graph = Sum();
  const GraphShapeFacts facts = ComputeShapeFacts(*graph);
  alignas(16) char memory[4096];
  const std::vector<int64_t> dims = {3, 4}, dense = {4, 1}, turned = {1, 3}, wide = {20, 1},
                             back = {-4, 1}, once = {0, 1};
  for (const auto& strides : {dense, turned, wide, back, once}) {
    for (int offset : {0, 4, 8}) {
      const TensorView x{memory + 1024 + offset, DType::kF32, dims, strides};
      const TensorView y{memory + 2048, DType::kF32, dims, {}};
      const TensorView k{nullptr, DType::kF32, {}, {}};
      for (Dynamic dynamic : {Dynamic::kLeading, Dynamic::kAll, Dynamic::kNone}) {
        const auto cls = ClassifyCall(*graph, facts, {x, y, k}, {}, dynamic);
        ASSERT_TRUE(cls.ok()) << cls.status();
        ExpectDescribed(*graph, *cls, dynamic);
        if (strides == once) continue;
        const auto in_place = ClassifyCall(*graph, facts, {x, y, k}, {x}, dynamic);
        ASSERT_TRUE(in_place.ok()) << in_place.status();
        ExpectDescribed(*graph, *in_place, dynamic);
      }
    }
  }
}

TEST(ManifestCallsTest, BoundInputsDecideSizes) {
  const auto graph = Parsed(
      "graph f(%x: f32[n,k], %w: f32[k,m]) -> (f32[n,m]) {\n"
      "  %0 = matmul(%x, %w) : f32[n,m]\n  return %0 }");
  const auto classes =
      ClassesOf(graph, Sizes({{"n", {2, 3}}, {"k", {8, 16}}, {"m", {4}}}), {{"w"}});
  ASSERT_TRUE(classes.ok()) << classes.status();
  ASSERT_EQ(classes->size(), 2u);
  EXPECT_THAT(GraphToString(*(*classes)[0].graph), HasSubstr("%w: f32[8,4]"));
  EXPECT_THAT((*classes)[0].cls.bound_inputs, ElementsAre(false, true));
  for (const ClassOfCalls& c : *classes) ExpectDescribed(*c.graph, c.cls);
}

TEST(RecorderTest, AFileGrowsByWhatItLacks) {
  const TempFolder folder;
  const std::string path = folder / "m.json";
  ManifestEntry entry;
  entry.source = ManifestSource::kText;
  entry.what = "graph f\n";
  entry.calls.push_back(Sizes({{"n", {2}}}));
  ASSERT_TRUE(AddToManifest(path, entry).ok());
  const std::string once = ReadFile(path);
  ASSERT_TRUE(AddToManifest(path, entry).ok());
  EXPECT_EQ(ReadFile(path), once);
  entry.calls[0].sizes["n"] = {3};
  ASSERT_TRUE(AddToManifest(path, entry).ok());
  entry.fuse = false;
  ASSERT_TRUE(AddToManifest(path, entry).ok());
  const auto manifest = ParseManifest(ReadFile(path), path);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  ASSERT_EQ(manifest->entries.size(), 2u);
  EXPECT_EQ(manifest->entries[0].calls.size(), 2u);
  WriteFile(path, "not JSON");
  EXPECT_THAT(std::string(AddToManifest(path, entry).message()), HasSubstr("expected JSON"));
  EXPECT_EQ(ReadFile(path), "not JSON");
}

TEST(RecorderTest, ALinkIsRefusedAndStaysOne) {
  const TempFolder folder;
  const std::string link = folder / "link.json";
  std::filesystem::create_symlink("real.json", link);
  WriteFile(folder / "real.json", ManifestToJson(Manifest()));
  ManifestEntry entry;
  entry.source = ManifestSource::kText;
  entry.what = "graph f\n";
  entry.calls.push_back(Sizes({}));
  EXPECT_EQ(std::string(AddToManifest(link, entry).message()),
            link + " is a symbolic link; expected the file itself");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(ReadFile(folder / "real.json"), ManifestToJson(Manifest()));
}

// Code for more sizes and for hot shapes is of classes that the function's options do not say.
TEST(RecorderTest, AClassIsRecordedAsItWasClassified) {
  const TempFolder folder;
  const std::string path = folder / "m.json";
  const auto graph = Softmax();
  const std::vector<int64_t> dims = {7, 50};
  const TensorView x{nullptr, DType::kF32, dims, {}};
  std::vector<std::string> keys;
  setenv("JITFUSE_RECORD", path.c_str(), 1);
  for (Dynamic dynamic : {Dynamic::kLeading, Dynamic::kAll, Dynamic::kNone}) {
    const auto cls = ClassifyCall(*graph, ComputeShapeFacts(*graph), {x}, {}, dynamic);
    ASSERT_TRUE(cls.ok()) << cls.status();
    keys.push_back(cls->key);
    RecordClass(*graph, *cls, Options());
  }
  unsetenv("JITFUSE_RECORD");
  const auto manifest = ParseManifest(ReadFile(path), path);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  std::vector<std::string> again;
  for (const ManifestEntry& entry : manifest->entries) {
    const auto classes = ClassesOf(Parsed(entry.what), entry.calls[0], {},
                                   entry.dynamic.value_or(Dynamic::kLeading));
    ASSERT_TRUE(classes.ok()) << classes.status();
    for (const ClassOfCalls& c : *classes) again.push_back(c.cls.key);
  }
  EXPECT_EQ(again, keys);
}

TEST(RecorderTest, ProcessesShareAFile) {
  const TempFolder folder;
  const std::string path = folder / "m.json";
  std::vector<pid_t> children;
  for (int child = 0; child < 8; ++child) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    ManifestEntry entry;
    entry.source = ManifestSource::kText;
    entry.what = "graph f\n";
    bool ok = true;
    for (int i = 0; i < 10; ++i) {
      entry.calls = {Sizes({{"n", {100 * child + i}}})};
      ok = ok && AddToManifest(path, entry).ok();
    }
    _exit(ok ? 0 : 1);
  }
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const auto manifest = ParseManifest(ReadFile(path), path);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  ASSERT_EQ(manifest->entries.size(), 1u);
  EXPECT_EQ(manifest->entries[0].calls.size(), 80u);
}

}  // namespace
}  // namespace jitfuse::internal
