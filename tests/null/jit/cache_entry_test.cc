// Entries of the disk cache as bytes: what keys depend on, what a file keeps, and that no damage
// passes.
#include "jit/cache_entry.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/test_util/cache_kit.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;

KernelSource Source(SourceLang lang, const std::string& text, const std::string& entry) {
  KernelSource s;
  s.lang = lang;
  s.text = text;
  s.entry = entry;
  s.arch = "sm_90";
  s.options = {"--fmad=false", "-w"};
  return s;
}

CacheEntry Example() {
  CacheEntry e{KeyOf(Source(SourceLang::kCuda, "void f() { 1; }", "f"), "cuda"), "f", "", "log"};
  e.key.toolchain = "nvrtc-13.0";
  for (int i = 0; i < 1000; ++i) e.code += absl::StrCat("code ", i * i);
  return e;
}

TEST(CacheKeyTest, CommentsBlankLinesAndTheKernelsNameDoNotCount) {
  const auto cuda = [](const char* text, const char* entry) {
    return CanonicalSource(Source(SourceLang::kCuda, text, entry));
  };
  const std::string plain =
      cuda("float f_sum(float a);\nvoid f(float* p) { p[0] = 1.0f / 2; }", "f");
  EXPECT_EQ(plain, cuda("// made of g\n\nfloat g_sum(float a);  // sums\nvoid g(float* p) { p[0] = "
                        "1.0f / 2; }\n",
                        "g"));
  EXPECT_NE(plain, cuda("float f_sum(float a);\nvoid f(float* p) { p[0] = 1.0f * 2; }", "f"));
  EXPECT_NE(plain, cuda("float g_sum(float a);\nvoid f(float* p) { p[0] = 1.0f / 2; }", "f"));
  EXPECT_EQ(cuda("a /* b\n // c */ d", "k"), cuda("a   d", "k"));
  // Not every slash begins a comment, and not every f is the function.
  EXPECT_EQ(cuda("asm(\"// f \\\" f\"); ff(f2, xf_);", "f"),
            "asm(\"// f \\\" f\"); ff(f2, xf_);\n");
  EXPECT_EQ(cuda("x = '\"'; // y", "f"), "x = '\"';\n");
  const auto llvm = [](const char* text, const char* entry) {
    return CanonicalSource(Source(SourceLang::kLlvm, text, entry));
  };
  EXPECT_EQ(llvm("; of f\ndefine void @f(ptr %p) nounwind {  ; rows\n}", "f"),
            llvm("define void @g(ptr %p) nounwind {\n}\n; end", "g"));
  EXPECT_NE(llvm("call void @f(\"a;b\")", "f"), llvm("call void @f(\"a;c\")", "f"));
}

// Unclosed comments and strings end with the text.
TEST(CacheKeyTest, AnyTextHasACanonicalForm) {
  std::mt19937 random(7);
  const std::string alphabet = "f_/*\"'\\;\n a1";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (size_t n = random() % 24; n > 0; --n) text.push_back(alphabet[random() % alphabet.size()]);
    for (SourceLang lang : {SourceLang::kCuda, SourceLang::kLlvm}) {
      const std::string once = CanonicalSource(Source(lang, text, "f"));
      EXPECT_LE(once.size(), text.size() + 1);
    }
  }
}

// Stored on disk and compared by other processes and machines: if this number changes, so must
// kCacheFormat.
TEST(CacheKeyTest, HashesAreTheSameEverywhere) {
  EXPECT_EQ(Example().key.Hash().ToHex(), "dbbdb31a4503913aad3d2d93ecf4f4c8");
}

TEST(CacheKeyTest, AMillionKeysHaveAMillionHashes) {
  CacheKey key = Example().key;
  std::vector<Hash128> hashes;
  for (int i = 0; i < 1000000; ++i) {
    key.source = absl::StrCat("x = ", i, ";");
    hashes.push_back(key.Hash());
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
}

TEST(CacheKeyTest, EveryFieldCounts) {
  const CacheKey key = Example().key;
  std::vector<CacheKey> others(5, key);
  others[0].backend += "x";
  others[1].arch += "x";
  others[2].options += "x";
  others[3].toolchain += "x";
  others[4].source += "x";
  for (const CacheKey& other : others) EXPECT_NE(other.Hash(), key.Hash());
  EXPECT_EQ(ToolchainName("nvrtc 13.0"), "nvrtc-13.0");
  EXPECT_EQ(ToolchainName("../LLVM  19.1.7/"), "llvm-19.1.7-");
}

TEST(CacheEntryTest, AFileKeepsKeyAndCodeAndIsTheSameForTheSame) {
  const CacheEntry entry = Example();
  const std::string file = EncodeEntry(entry);
  EXPECT_LT(file.size(), entry.code.size());
  EXPECT_EQ(file, EncodeEntry(entry));
  const auto read = DecodeEntry(file);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->key, entry.key);
  EXPECT_EQ(read->symbol, "f");
  EXPECT_EQ(read->code, entry.code);
  EXPECT_EQ(read->log, "log");
}

TEST(CacheEntryTest, TenThousandDamagedFilesAreAllRefused) {
  const std::string file = EncodeEntry(Example());
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    std::string bad = file;
    switch (random() % 4) {
      case 0:
        bad.resize(random() % file.size());
        break;
      case 1:
        bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
        break;
      case 2:
        for (size_t at = random() % bad.size(), n = 1 + random() % 64; n > 0; --n)
          bad[(at + n) % bad.size()] = static_cast<char>(random());
        break;
      default:
        bad.append(1 + random() % 64, static_cast<char>(random()));
    }
    if (bad != file) {
      EXPECT_FALSE(DecodeEntry(bad).ok()) << i;
    }
  }
}

TEST(CacheEntryTest, OtherFormatsAreNamed) {
  std::string file = EncodeEntry(Example());
  EXPECT_THAT(DecodeEntry("text").status().message(), HasSubstr("shorter"));
  EXPECT_THAT(DecodeEntry(std::string(200, 'x')).status().message(), HasSubstr("begin"));
  file[8] = 99;
  EXPECT_THAT(DecodeEntry(file).status().message(),
              HasSubstr(absl::StrCat("format 99, not ", kCacheFormat)));
}

// What whoever can write a checksum can write: any body, in a frame that is right. It is an entry
// that gives the same body again, or an error.
TEST(CacheEntryTest, AnyBodyInARightFrameIsReadOrRefused) {
  std::mt19937 random(2);
  int read = 0;
  for (int i = 0; i < 10000; ++i) {
    std::string body;
    for (int s = 0; s < 8; ++s) {
      const uint64_t size = random() % 16;
      const bool lie = random() % 64 == 0;
      const uint64_t told =
          lie ? (random() % 2 == 0 ? ~uint64_t{0} - random() % 32 : random() % 99) : size;
      for (int b = 0; b < 8; ++b) body.push_back(static_cast<char>(told >> (8 * b)));
      for (uint64_t b = 0; b < size; ++b) body.push_back(static_cast<char>(random()));
    }
    if (random() % 8 == 0) body.resize(random() % (body.size() + 1));
    const std::string file = FrameEntry(body);
    const auto entry = DecodeEntry(file);
    if (!entry.ok()) continue;
    ++read;
    EXPECT_EQ(EncodeEntry(*entry), file);
  }
  EXPECT_GT(read, 5000);
  EXPECT_LT(read, 10000);
}

}  // namespace
}  // namespace jitfuse::internal
