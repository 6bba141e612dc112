// Tuning records in the disk cache: a process that tunes finds what another has timed; what is
// damaged, of something else, or refused by the library is timed anew; records that users give are
// checked.
#include "jit/tune_store.h"

#include <algorithm>
#include <filesystem>
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

// The bytes of an entry with other text in its record.
std::string WithText(const std::string& bytes, const std::string& from, const std::string& to) {
  CacheEntry entry = *DecodeEntry(bytes);
  EXPECT_THAT(entry.code, HasSubstr(from));
  entry.code = absl::StrReplaceAll(entry.code, {{from, to}});
  return EncodeEntry(entry);
}

// A library that does not know algorithm a77, and has none of number 2 for 77 rows.
void Refusing(TimedBackend* backend) {
  backend->unknown = {"a77"};
  backend->unfit = {{77, 2}};
}

// Damaged bytes; no record; one of another graph under this key.
TEST(TuneStore, WhatIsWrongIsTimedAnewAndWrittenOver) {
  const TempFolder folder;
  EXPECT_GT(Fresh(In(folder.path), 2).timings, 0);
  const std::string file = RecordFile(folder.path), good = ReadFile(file);
  for (const std::string& bad :
       {good.substr(0, good.size() / 2), std::string("x"),
        WithText(good, "jitfuse tuning 1", "a tune"), WithText(good, "chosen 0", "chosen 7"),
        WithText(good, "graph ", "graph 0")}) {
    WriteFile(file, bad);
    const Seen seen = Fresh(In(folder.path), 2);
    EXPECT_GT(seen.timings, 0);
    EXPECT_EQ(seen.healed, 1);
    EXPECT_THAT(seen.ran, ElementsAre(2));
    EXPECT_EQ(ReadFile(file), good);
    EXPECT_EQ(Fresh(In(folder.path), 1).timings, 0);
  }
}

// It is whole, and may hold for other sizes of the key.
TEST(TuneStore, WhatTheLibraryRefusesStays) {
  const TempFolder folder;
  EXPECT_GT(Fresh(In(folder.path), 2).timings, 0);
  const std::string file = RecordFile(folder.path), good = ReadFile(file);
  const Seen captured = Fresh(In(folder.path), 1, 77, [](TimedBackend* b) {
    Refusing(b);
    b->capturing = true;  // nothing can be timed
  });
  EXPECT_EQ(captured.timings, 0);
  EXPECT_EQ(captured.healed, 0);
  EXPECT_EQ(ReadFile(file), good);
  EXPECT_THAT(Fresh(In(folder.path), 1, 100, Refusing).ran, ElementsAre(2));

  for (const auto& [bytes, n] :
       {std::pair(good, 77), std::pair(WithText(good, " a2 ", " a77 "), 100)}) {
    for (const std::string& beside : EntryFiles(folder.path)) std::filesystem::remove(beside);
    WriteFile(file, bytes);
    const Seen seen = Fresh(In(folder.path), 1, n, Refusing);
    EXPECT_GT(seen.timings, 0);
    EXPECT_EQ(seen.healed, 0);
    EXPECT_THAT(seen.ran, ElementsAre(1));
    const Seen next = Fresh(In(folder.path), 0, n, Refusing);
    EXPECT_EQ(next.timings, 0);
    EXPECT_THAT(next.ran, ElementsAre(1));
    EXPECT_EQ(ReadFile(file), bytes);
  }
}

// Neither of two sizes of a key takes what the other needs: each is timed once, whichever process
// comes next.
TEST(TuneStore, SizesThatRefuseEachOthersRecordHaveOneEach) {
  const TempFolder folder;
  const auto refusing = [](TimedBackend* b) { b->unfit = {{77, 2}, {100, 1}}; };
  const auto run = [&](int64_t n, int best) { return Fresh(In(folder.path), best, n, refusing); };
  EXPECT_GT(run(100, 2).timings, 0);
  EXPECT_GT(run(77, 1).timings, 0);
  EXPECT_THAT(EntryFiles(folder.path), SizeIs(2));
  for (int i = 0; i < 3; ++i) {
    for (const auto& [n, chosen] : {std::pair(100, 2), std::pair(77, 1)}) {
      const Seen seen = run(n, 0);
      EXPECT_EQ(seen.timings, 0) << n;
      EXPECT_EQ(seen.found, 1) << n;
      EXPECT_EQ(seen.healed, 0) << n;
      EXPECT_THAT(seen.ran, ElementsAre(chosen)) << n;
    }
  }
  // A size that takes the key's record has no need of its own.
  EXPECT_THAT(run(90, 0).ran, ElementsAre(2));
  EXPECT_THAT(EntryFiles(folder.path), SizeIs(2));
}

// A library that refuses the record for all sizes, as on another device of the architecture: what
// is timed for the first of them serves the others, and the first device goes on with its own.
TEST(TuneStore, WhatIsRefusedForAllSizesIsTimedOnce) {
  const TempFolder folder;
  EXPECT_GT(Fresh(In(folder.path), 2).timings, 0);
  const auto other = [](TimedBackend* b) {
    for (int64_t m = 65; m <= 128; ++m) b->unfit.insert({m, 2});
  };
  EXPECT_GT(Fresh(In(folder.path), 1, 101, other).timings, 0);
  for (const int64_t n : {65, 102, 103, 128}) {
    const Seen seen = Fresh(In(folder.path), 0, n, other);
    EXPECT_EQ(seen.timings, 0) << n;
    EXPECT_THAT(seen.ran, ElementsAre(1)) << n;
  }
  EXPECT_THAT(Fresh(In(folder.path), 0).ran, ElementsAre(2));
  EXPECT_THAT(EntryFiles(folder.path), SizeIs(2));
}

// Each goes to the first place that is free in the own cache, whatever layers have; a place in the
// middle may become free, as when the cache was too large; when there is none, the last is taken.
TEST(TuneStore, PlacesOfAKey) {
  const TempFolder layer, own;
  TuneRecord record = *Harness(kProduct).Tune(Product(100)).value();
  const auto keep = [&](const std::string& folder, int place, double us) {
    DiskCache disk(In(folder));
    record.plans[0].us = us;
    KeepTuneRecord(&disk, record, "f", place);
  };
  const auto found = [&](int* next) {
    DiskCacheOptions options = In(own.path);
    options.layers = {layer.path};
    DiskCache disk(options);
    std::vector<double> out;
    const KeptRecords kept = FindTuneRecords(&disk, record);
    for (const KeptRecord& one : kept.records) out.push_back(one.record->plans[0].us);
    EXPECT_FALSE(kept.healed);
    *next = kept.next_place;
    return out;
  };
  int next = -1;
  EXPECT_THAT(found(&next), IsEmpty());
  EXPECT_EQ(next, 0);
  keep(layer.path, 0, 1);
  EXPECT_THAT(found(&next), ElementsAre(1));
  EXPECT_EQ(next, 0);
  std::vector<std::string> second;
  for (int place = 0; place < kTunePlaces; ++place) {
    found(&next);
    EXPECT_EQ(next, place);
    const std::vector<std::string> before = EntryFiles(own.path);
    keep(own.path, next, 10 + place);
    if (place == 1) {
      for (const std::string& file : EntryFiles(own.path)) {
        if (std::find(before.begin(), before.end(), file) == before.end()) second.push_back(file);
      }
    }
  }
  EXPECT_THAT(found(&next), ElementsAre(1, 10, 11, 12, 13));
  EXPECT_EQ(next, kTunePlaces - 1);
  ASSERT_THAT(second, SizeIs(1));
  std::filesystem::remove(second[0]);
  EXPECT_THAT(found(&next), ElementsAre(1, 10, 12, 13));
  EXPECT_EQ(next, 1);
}

// A layer's entry that is no record, or whose algorithm is refused, does not hide what this user's
// processes have timed.
TEST(TuneStore, WhatALayerHasInVainIsTimedOnce) {
  const TempFolder layer;
  EXPECT_GT(Fresh(In(layer.path), 2).timings, 0);
  const std::string file = RecordFile(layer.path), good = ReadFile(file);
  for (const std::string& bad :
       {WithText(good, "jitfuse tuning 1", "a tune"), WithText(good, "graph ", "graph 0"),
        WithText(good, " a2 ", " a77 ")}) {
    const TempFolder own;
    DiskCacheOptions options = In(own.path);
    options.layers = {layer.path};
    WriteFile(file, bad);
    EXPECT_GT(Fresh(options, 1, 100, Refusing).timings, 0);
    const Seen second = Fresh(options, 2, 100, Refusing);
    EXPECT_EQ(second.timings, 0);
    EXPECT_EQ(second.healed, 0);
    EXPECT_EQ(second.found, 1);
    EXPECT_THAT(second.ran, ElementsAre(1));
    EXPECT_THAT(second.explained, HasSubstr(RecordFile(own.path)));
    EXPECT_EQ(ReadFile(file), bad);
    // One that holds comes before it.
    WriteFile(file, good);
    EXPECT_THAT(Fresh(options, 1, 100, Refusing).ran, ElementsAre(2));
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
    const KeptRecords kept = FindTuneRecords(&disk, key);
    ASSERT_TRUE(kept.records.empty() && kept.healed) << i;
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
