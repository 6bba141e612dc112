// FuzzCase: one random program with all that its run depends on, and its form as a .jf file.
//
// A case is a graph, how each input lies in memory and what is in it, the values of the symbols for
// one or more calls, and compile options. MakeCase(seed) draws one from the op tables: rows are
// chosen by kind, operands and attributes by the rows' own columns (domain, schema, example), so a
// new row is drawn without any change here. Inputs are functions of the spec alone, the same on
// every machine. CaseToText writes graph text whose head comments hold the rest; ParseCase reads it
// back, so that a case can be edited by hand. Must not know: back ends.
#ifndef JITFUSE_TESTS_GRAPH_FUZZ_FUZZ_CASE_H_
#define JITFUSE_TESTS_GRAPH_FUZZ_FUZZ_CASE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "ir/host_tensor.h"
#include "ir/options.h"

namespace jitfuse::internal {

// The library's distributions differ between implementations; these numbers do not.
class FuzzRng {
 public:
  explicit FuzzRng(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int Below(int64_t n) { return static_cast<int>(Next() % static_cast<uint64_t>(n)); }
  bool OneIn(int n) { return Below(n) == 0; }
  bool Percent(int p) { return Below(100) < p; }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }  // [0, 1)
  template <typename T>
  const T& Of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(Below(static_cast<int64_t>(choices.size())))];
  }

 private:
  uint64_t state_;
};

// kCounts: of integers, 0 to 12. kEnds: those of the range, and what is special between them.
enum class FuzzValues { kPlain, kWide, kSpecials, kSmallInts, kFullRange, kOnes, kCounts, kEnds };
inline constexpr int kNumFuzzValues = 8;

struct FuzzInput {
  // Strides: axes of memory from the outermost, each with a step: 0 repeats one element, -1 runs
  // backwards, 2 leaves gaps. Empty: row-major, dense.
  std::vector<int64_t> order, steps;
  int64_t shift = 0;  // elements by which the data begins after an aligned address
  FuzzValues values = FuzzValues::kPlain;
  uint64_t seed = 0;
};

struct FuzzCase {
  uint64_t seed = 0;
  Graph graph;
  std::vector<FuzzInput> inputs;            // by signature position
  std::vector<std::vector<int64_t>> sizes;  // symbol values, one vector a call
  Options options;
  bool strided_outputs = false;  // results go into buffers with gaps
};

FuzzCase MakeCase(uint64_t seed);

std::string CaseToText(const FuzzCase& c);
absl::StatusOr<FuzzCase> ParseCase(std::string_view text);

// An input of one call: the memory (with `first` the element at which coordinates 0 lie), and the
// same values as the evaluator takes them.
struct FuzzTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims, strides;  // strides in elements, empty if contiguous
  std::vector<uint8_t> bytes;
  int64_t first = 0;
  HostTensor logical;
};
FuzzTensor MakeTensor(DType dtype, const std::vector<int64_t>& dims, const FuzzInput& spec);
// Where elements lie for dims and spec: strides, first element, elements in all.
struct FuzzLayout {
  std::vector<int64_t> strides;
  int64_t first = 0, elements = 0;
  bool dense = true;
};
FuzzLayout LayoutFor(const std::vector<int64_t>& dims, const FuzzInput& spec);
// A linear index of a row-major tensor of these dims -> the element's place.
int64_t PlaceOf(const std::vector<int64_t>& dims, const FuzzLayout& layout, int64_t linear);

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_GRAPH_FUZZ_FUZZ_CASE_H_
