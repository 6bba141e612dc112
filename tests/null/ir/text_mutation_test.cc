// Thousands of damaged texts: none may crash, hang or break the round trip. The same check runs
// under libFuzzer (tests/fuzz).
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "gtest/gtest.h"
#include "tests/fuzz/text_fuzz.h"
#include "tests/test_util/golden.h"

namespace jitfuse::internal {
namespace {

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> Corpus() {
  std::vector<std::string> corpus;
  for (const auto& entry : std::filesystem::directory_iterator(TestDataPath("examples"))) {
    if (entry.path().extension() == ".jf") corpus.push_back(ReadFile(entry.path()));
  }
  std::sort(corpus.begin(), corpus.end());
  corpus.push_back(
      R"(graph g<n, m>(%x: f32[n,m*2], %m: bf16[m], %i: i64[3,4], %p: bool[n+1], %s: scalar f64) -> (i64[ceildiv(n,8)*0+12]) {
  %0 = reshape(%i) {shape=[-1]} : i64[12]
  %c = constant {value=-9223372036854775808} : i64[]
  %1 = maximum(%0, %c) : i64[12]
  %2 = maximum(%1, 0x10) : i64[12]
  %3, %4 = moments(%x) {axes=[0], keepdims=true} : f32[1,m*2], f32[1,m*2]
  %5 = clamp(%3) {min=-inf, max=0x1.8p-3} : f32[1,m*2]
  %6 = transpose(%x) {perm=[1,0]} : f32[m*2,n]
  %7 = matmul(%x, %6) {transpose_a=false} : f32[n,n]
  return %2
}
)");
  return corpus;
}

const char* const kPieces[] = {"graph",
                               "return",
                               "%",
                               "(",
                               ")",
                               "[",
                               "]",
                               "{",
                               "}",
                               ",",
                               ":",
                               "=",
                               "->",
                               "#",
                               "\n",
                               "*",
                               "+",
                               "-",
                               "n",
                               "m",
                               "ceildiv(",
                               "max(",
                               "f32[",
                               "i8[",
                               "bool",
                               "scalar",
                               "constant",
                               "0",
                               "-1",
                               "1e999",
                               "nan",
                               "9223372036854775808",
                               "4611686018427387904",
                               "0x",
                               "inf",
                               "axes=[",
                               "shape=[",
                               "\t",
                               "\xff",
                               "\0x"};

std::string Mutate(std::string text, const std::vector<std::string>& corpus, std::mt19937* rng) {
  auto below = [&](size_t n) { return static_cast<size_t>((*rng)() % n); };
  for (size_t edits = 1 + below(4); edits > 0; --edits) {
    size_t pos = below(text.size() + 1);
    size_t length = std::min(text.size() - pos, below(12));
    switch (below(6)) {
      case 0:
        text.erase(pos, length);
        break;
      case 1:
        text.insert(pos, kPieces[below(std::size(kPieces))]);
        break;
      case 2:
        text.replace(pos, length, kPieces[below(std::size(kPieces))]);
        break;
      case 3:
        text.insert(pos, text.substr(below(text.size() + 1), below(60)));
        break;
      case 4: {
        const std::string& other = corpus[below(corpus.size())];
        text.insert(pos, other.substr(below(other.size()), below(80)));
        break;
      }
      default:
        if (pos < text.size()) text[pos] = static_cast<char>((*rng)());
    }
  }
  return text;
}

TEST(TextMutation, DamagedTextsGiveErrorsOrRoundTrip) {
  std::vector<std::string> corpus = Corpus();
  ASSERT_GE(corpus.size(), 5u);
  for (const std::string& text : corpus) {
    ASSERT_TRUE(ParseGraph(text).ok()) << ParseGraph(text).status();
    ASSERT_EQ(CheckOneText(text), "");
  }
  std::mt19937 rng(20240607);
  int parsed = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = Mutate(corpus[rng() % corpus.size()], corpus, &rng);
    ASSERT_EQ(CheckOneText(text), "") << text;
    parsed += ParseGraph(text).ok() ? 1 : 0;
  }
  EXPECT_GT(parsed, 100);  // else the mutations are too coarse to test the printer
}

// Shapes of attack that grow without bound; each must be answered at once.
TEST(TextMutation, HostileTextsAreAnsweredFast) {
  auto repeat = [](std::string_view s, size_t n) {
    std::string out;
    for (size_t i = 0; i < n; ++i) out += s;
    return out;
  };
  std::vector<std::string> texts = {
      "graph f(%x: f32[" + repeat("(", 1000000),
      "graph f(%x: f32[" + repeat("ceildiv(", 1000000),
      "graph f(%n: f32[n], %x: f32[" + repeat("-", 1000000),
      "graph f(%n: f32[n,m,k], %x: f32[" + repeat("(n+m+k)*", 100) + "1]",
      "graph f(%n: f32[n,m,k], %x: f32[" + repeat("(n+1)*", 100) + "1]",
      "graph f(%n: f32[n], %x: f32[" + repeat("n+", 1000000) + "1]",
      "graph f(%n: f32[n,m], %x: f32[" + repeat("max(n,m)+ceildiv(m,n)*", 2000) + "1]",
      "graph f(%x: f32[" + repeat("4000000000000000000*", 10) + "1]",
      "graph f(%x: f32[" + repeat("4000000000,", 7) + "1]",
      "graph f(%x: f32[" + repeat("1,", 100000) + "1]",
      "graph f(" + repeat("%x: f32[1],", 100000),
      "graph f(%" + repeat("x", 1000000) + ": f32[1])",
      "graph f(%x: f32[4]) -> (f32[4]) { %y = add(%x, 0." + repeat("1", 1000000),
      "graph f(%x: f32[4]) -> (f32[4]) { %y = add(" + repeat("%x,", 1000000),
      "graph f(%x: f32[4]) -> (f32[4]) { %y = sum(%x) {axes=[" + repeat("0,", 1000000),
      "graph f(%x: f32[4]) -> (f32[4]) { " + repeat("%y,", 1000000),
      repeat("#", 1000000),
      repeat("\n", 1000000) + "?",
      std::string(1000000, '\0'),
  };
  for (const std::string& text : texts) {
    std::clock_t start = std::clock();
    absl::StatusOr<Graph> graph = ParseGraph(text);
    double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_FALSE(graph.ok()) << text.substr(0, 60);
    EXPECT_LT(graph.status().message().size(), 1000u) << text.substr(0, 60);
    EXPECT_LT(took, 2.0) << text.substr(0, 60);
  }
}

}  // namespace
}  // namespace jitfuse::internal
