// Tuning records in the disk cache: a process that tunes finds what another has timed; what is
// damaged, of something else, or refused by the library is timed anew; records that users give are
// checked.
#include "jit/tune_store.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "api/explain.h"
#include "tests/null/jit/tune_kit.h"
#include "tests/test_util/cache_kit.h"

namespace jitfuse::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

int64_t Fallbacks(Harness& h, Reason reason) {
  return h.cache().stats().fallbacks[static_cast<size_t>(reason)];
}

// What a new process sees: one call of a function that tunes, on a device where algorithm `best` is
// the fastest.
struct Seen {
  int64_t timings = 0, tuned = 0, found = 0, healed = 0;
  std::vector<int> ran;
  std::string explained;
};
Seen Fresh(
    const DiskCacheOptions& options, int best, int64_t n = 100,
    const std::function<void(TimedBackend*)>& set = [](TimedBackend*) {}) {
  DiskCache disk(options);
  TimedBackend backend;
  backend.cost = Best(best);
  set(&backend);
  Harness h(kProduct, /*autotune=*/true, &backend, &disk);
  const auto bound = h.Run(Product(n));
  EXPECT_TRUE(bound.ok()) << bound.status();
  if (!bound.ok()) return {};
  return {backend.timings,
          h.cache().stats().tuned,
          Fallbacks(h, Reason::kTuneFound),
          h.cache().stats().healed,
          backend.ran,
          ExplainText(**bound, {})};
}

// Entries of records: there are no kernels in these functions.
std::string RecordFile(const std::string& folder) {
  const std::vector<std::string> files = EntryFiles(folder);
  EXPECT_THAT(files, SizeIs(1));
  return files.empty() ? "" : files[0];
}

TEST(TuneStore, AFreshProcessTimesNothing) {
  const TempFolder folder;
  const Seen first = Fresh(In(folder.path), 2);
  EXPECT_GT(first.timings, 0);
  EXPECT_THAT(first.ran, ElementsAre(2));
  EXPECT_THAT(RecordFile(folder.path), HasSubstr("/tuning-timed-1/"));
  const Seen second = Fresh(In(folder.path), 1, 120);  // of the same power of two
  EXPECT_EQ(second.timings, 0);
  EXPECT_EQ(second.tuned, 1);
  EXPECT_EQ(second.found, 1);
  EXPECT_THAT(second.ran, ElementsAre(2));
  EXPECT_THAT(second.explained, AllOf(HasSubstr("tuned by timing:"), HasSubstr("note tune_found: "),
                                      HasSubstr(RecordFile(folder.path))));
  // Even where nothing may be timed.
  const Seen captured =
      Fresh(In(folder.path), 1, 100, [](TimedBackend* b) { b->capturing = true; });
  EXPECT_THAT(captured.ran, ElementsAre(2));
}

TEST(TuneStore, OfAnotherPowerOfTwoLibraryOrFunctionItIsNotTaken) {
  const TempFolder folder;
  EXPECT_GT(Fresh(In(folder.path), 2).timings, 0);
  EXPECT_GT(Fresh(In(folder.path), 1, 129).timings, 0);
  const Seen newer =
      Fresh(In(folder.path), 1, 100, [](TimedBackend* b) { b->library = "timed 2"; });
  EXPECT_GT(newer.timings, 0);
  EXPECT_THAT(newer.ran, ElementsAre(1));
  EXPECT_THAT(EntryFiles(folder.path), SizeIs(3));
  EXPECT_EQ(Fresh(In(folder.path), 1).timings, 0);
}

// Without autotune nothing is timed, and nothing looked for: calls do not depend on what is on
// disk.
TEST(TuneStore, WhoDoesNotAskGetsTheHeuristics) {
  const TempFolder folder;
  EXPECT_GT(Fresh(In(folder.path), 2).timings, 0);
  DiskCache disk(In(folder.path));
  Harness h(kProduct, /*autotune=*/false, nullptr, &disk);
  ASSERT_TRUE(h.Run(Product(100)).ok());
  EXPECT_THAT(h.backend().ran, ElementsAre(0));
}

TEST(TuneStore, OnRequestItIsTimedAndKept) {
  const TempFolder folder;
  EXPECT_GT(Fresh(In(folder.path), 2).timings, 0);
  DiskCache disk(In(folder.path));
  TimedBackend backend;
  backend.cost = Best(1);
  Harness h(kProduct, false, &backend, &disk);
  ASSERT_TRUE(h.Tune(Product(100)).ok());
  EXPECT_GT(backend.timings, 0);
  EXPECT_THAT(Fresh(In(folder.path), 2).ran, ElementsAre(1));
}

TEST(TuneStore, LayersServeAndAreNotWritten) {
  const TempFolder layer, own;
  EXPECT_GT(Fresh(In(layer.path), 2).timings, 0);
  DiskCacheOptions options = In(own.path);
  options.layers = {layer.path};
  EXPECT_EQ(Fresh(options, 1).timings, 0);
  const std::string file = RecordFile(layer.path);
  WriteFile(file, "damage");
  const Seen healed = Fresh(options, 1);
  EXPECT_GT(healed.timings, 0);
  EXPECT_EQ(healed.healed, 1);
  EXPECT_EQ(ReadFile(file), "damage");
  EXPECT_EQ(Fresh(options, 2).timings, 0);
  EXPECT_THAT(EntryFiles(own.path), SizeIs(1));
}

// Damaged bytes; no record; one of another graph under this key; one whose algorithm does not fit,
// or is no algorithm.
TEST(TuneStore, WhatIsWrongIsTimedAnewAndWrittenOver) {
  const TempFolder folder;
  EXPECT_GT(Fresh(In(folder.path), 2).timings, 0);
  const std::string file = RecordFile(folder.path), good = ReadFile(file);
  const CacheEntry entry = *DecodeEntry(good);
  const auto with = [&](const std::string& from, const std::string& to) {
    CacheEntry other = entry;
    EXPECT_THAT(other.code, HasSubstr(from));
    other.code = absl::StrReplaceAll(other.code, {{from, to}});
    return EncodeEntry(other);
  };
  for (const std::string& bad :
       {good.substr(0, good.size() / 2), std::string("x"), with("jitfuse tuning 1", "a tune"),
        with("chosen 0", "chosen 7"), with("graph ", "graph 0"), with(" a2 ", " a77 ")}) {
    WriteFile(file, bad);
    const Seen seen = Fresh(In(folder.path), 2, 100, [](TimedBackend* b) { b->unknown = {"a77"}; });
    EXPECT_GT(seen.timings, 0);
    EXPECT_EQ(seen.healed, 1);
    EXPECT_THAT(seen.ran, ElementsAre(2));
    EXPECT_EQ(ReadFile(file), good);
    EXPECT_EQ(Fresh(In(folder.path), 1).timings, 0);
  }
}

TEST(TuneStore, TenThousandDamagesAreNeverARecord) {
  const TempFolder folder;
  EXPECT_GT(Fresh(In(folder.path), 2).timings, 0);
  const std::string file = RecordFile(folder.path), good = ReadFile(file);
  TuneRecord key = *ParseTuneRecord(DecodeEntry(good)->code);
  key.plans.clear();
  DiskCache disk(In(folder.path));
  std::mt19937 random(5);
  for (int i = 0; i < 10000; ++i) {
    std::string bad = good;
    if (i % 2 == 0) {
      bad.resize(random() % good.size());
    } else {
      bad[random() % bad.size()] ^= static_cast<char>(1 + random() % 255);
    }
    WriteFile(file, bad);
    const KeptRecord kept = FindTuneRecord(&disk, key);
    ASSERT_TRUE(kept.record == nullptr && kept.healed) << i;
  }
}

// A record by hand: refused when it is given, or, for a size of its key that it does not fit, left
// aside for that size.
TEST(TuneStore, AlgorithmsThatTheLibraryRefuses) {
  Harness h(kProduct);
  h.backend().cost = Best(2);
  const auto record = h.Tune(Product(100));
  ASSERT_TRUE(record.ok()) << record.status();
  TimedBackend backend;
  backend.unknown = {"a77"};
  backend.unfit = {{77, 2}};
  Harness user(kProduct, false, &backend);
  TuneRecord wrong = **record;
  wrong.plans[0].products[0].tried[2].id = "a77";
  const absl::Status refused = user.UseRecord(Product(100), wrong);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(),
              HasSubstr("graph f: timed 1 refuses what the tuning record has for product 0: 'a77' "
                        "is no algorithm"));
  ASSERT_TRUE(user.Run(Product(100)).ok());
  EXPECT_THAT(backend.ran, ElementsAre(0));
  EXPECT_THAT(user.UseRecord(Product(77), **record).message(), HasSubstr("a2 does not fit m = 77"));
  ASSERT_TRUE(user.UseRecord(Product(100), **record).ok());
  ASSERT_TRUE(user.Run(Product(100)).ok());
  EXPECT_THAT(backend.ran, ElementsAre(2));
  EXPECT_EQ(Fallbacks(user, Reason::kTuneRefused), 0);
  for (int i = 0; i < 2; ++i) {
    const auto bound = user.Run(Product(77));
    ASSERT_TRUE(bound.ok()) << bound.status();
    EXPECT_THAT(backend.ran, ElementsAre(0));
    EXPECT_THAT(ExplainText(**bound, {}), HasSubstr("(product 0: a2 does not fit m = 77)"));
  }
  EXPECT_EQ(Fallbacks(user, Reason::kTuneRefused), 1);
}

// Where layers have all kernels nothing need be written: that it cannot be is no news.
TEST(TuneStore, WithRequireWhatCannotBeKeptIsNotWarnedOf) {
  for (const bool require : {false, true}) {
    const TempFolder folder;
    DiskCacheOptions options = In(folder.path);
    options.require = require;
    std::filesystem::create_directories(CacheRootOf(folder.path));
    WriteFile(CacheRootOf(folder.path) + "/tuning-timed-1", "in the way of the records' folder");
    const Warnings warnings;
    EXPECT_GT(Fresh(options, 2).timings, 0);
    EXPECT_EQ(warnings.said.empty(), require);
  }
}

// The nearest entry of a kernel that is missing is no record.
TEST(TuneStore, RecordsAreNoKernels) {
  const TempFolder folder;
  EXPECT_GT(Fresh(In(folder.path), 2).timings, 0);
  DiskCacheOptions options = In(folder.path);
  options.require = true;
  ToyBackend backend;
  EXPECT_THAT(GetOnce(options, ToySource("1"), backend).status().message(),
              HasSubstr("(0 entries)"));
}

}  // namespace
}  // namespace jitfuse::internal
