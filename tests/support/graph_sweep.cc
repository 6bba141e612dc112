#include "tests/support/graph_sweep.h"

#include <iterator>
#include <utility>

#include "tests/support/op_sweep.h"

namespace jitfuse_test {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

const std::vector<std::string> kFloats = {"f32", "f64", "f16", "bf16"};
const std::vector<std::string> kInts = {"i32", "i64", "u8", "i8", "i16", "u16", "u32", "u64"};
const std::vector<std::string> kNumbers = {"f32", "f64", "f16", "bf16", "i32", "i64",
                                           "u8",  "i8",  "i16", "u16",  "u32", "u64"};

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// `text` with T for a dtype and S for the dtype its sums have.
void AddFor(const std::vector<std::string>& dtypes, const std::string& name,
            const std::string& text, std::vector<Sizes> sizes, bool specials,
            std::vector<SweepCase>* out) {
  for (const std::string& t : dtypes) {
    std::string sum = t[0] == 'u' ? "u64" : t[0] == 'i' || t == "bool" ? "i64" : t;
    out->push_back({name + "_" + t, Replace(Replace(text, "$S", sum), "$T", t), sizes, specials});
  }
}

const std::vector<Sizes> kLines = {{{"n", 1}}, {{"n", 0}}, {{"n", 37}}, {{"n", 4099}}};
const std::vector<Sizes> kPlanes = {{{"n", 3}, {"m", 5}},
                                    {{"n", 1}, {"m", 257}},
                                    {{"n", 17}, {"m", 128}},
                                    {{"n", 2}, {"m", 1000}},
                                    {{"n", 0}, {"m", 4}}};
const std::vector<Sizes> kRows = {{{"n", 3}, {"m", 7}},     {{"n", 1}, {"m", 1}},
                                  {{"n", 9}, {"m", 128}},   {{"n", 2}, {"m", 4096}},
                                  {{"n", 2}, {"m", 20011}}, {{"n", 0}, {"m", 4}}};

const std::vector<std::string> kAll = {"f32", "f64", "f16", "bf16", "i32", "i64", "u8",
                                       "i8",  "i16", "u16", "u32",  "u64", "bool"};

// Views, joins, gathers, pooling. Integer inputs are -6..6 or 0..12: positions of an axis of 13.
void AddViews(std::vector<SweepCase>* out) {
  AddFor(kAll, "slices",
         "graph f(%a: $T[n,m]) -> ($T[n,m], $T[n,m], $T[ceildiv(n,2),m]) {\n %0 = flip(%a) "
         "{axes=[1]} : $T[n,m]\n %1 = roll(%a) {shifts=[1,-3], axes=[0,1]} : $T[n,m]\n %2 = "
         "slice(%a) {steps=[-2,1]} : $T[ceildiv(n,2),m]\n return %0, %1, %2\n}",
         kPlanes, true, out);
  AddFor(kAll, "repeats",
         "graph f(%a: $T[n,m]) -> ($T[n,m*2], $T[n*2,m]) {\n %0 = tile(%a) {reps=[1,2]} : "
         "$T[n,m*2]\n %1 = repeat(%a) {repeats=2} : $T[n*2,m]\n return %0, %1\n}",
         kPlanes, true, out);
  AddFor(kAll, "joins",
         "graph f(%a: $T[n,m], %b: $T[n,8], %c: $T[2,m]) -> ($T[n,m+8], $T[n+2,m], $T[n,m,2]) {\n "
         "%0 = concatenate(%a, %b) {axis=1} : $T[n,m+8]\n %1 = concatenate(%a, %c) : $T[n+2,m]\n "
         "%2 = stack(%a, %a) {axis=2} : $T[n,m,2]\n return %0, %1, %2\n}",
         kPlanes, true, out);
  AddFor(kAll, "pads",
         "graph f(%a: $T[n,20]) -> ($T[n,36], $T[n+1,21], $T[n,24]) {\n %0 = pad(%a) {low=[0,8], "
         "high=[0,8], value=1} : $T[n,36]\n %1 = pad(%a) {low=[1,0], high=[0,1]} : $T[n+1,21]\n %2 "
         "= pad_reflect(%a) {low=[0,3], high=[0,1]} : $T[n,24]\n return %0, %1, %2\n}",
         kLines, true, out);
  for (const char* index : {"i32", "i64", "u8", "i16"}) {
    AddFor(index == std::string("i32") ? kAll : std::vector<std::string>{"f32", "bf16"},
           std::string("gathers_") + index,
           Replace("graph f(%a: $T[13,m], %b: $T[n,13], %i: $I[n], %j: $I[n,4]) -> ($T[n,m], "
                   "$T[n,4], $T[n,4,n]) {\n %0 = take(%a, %i) : $T[n,m]\n %1 = take_along_axis(%b, "
                   "%j) {axis=1} : $T[n,4]\n %2 = transpose(%b) : $T[13,n]\n %3 = take(%2, %j) : "
                   "$T[n,4,n]\n return %0, %1, %3\n}",
                   "$I", index),
           kPlanes, true, out);
  }
  AddFor(kFloats, "rotary",
         "graph f(%q: $T[2,n,16], %k: $T[n,16], %c: $T[n,16], %s: $T[n,16]) -> ($T[2,n,16], "
         "$T[n,16]) {\n %0 = slice(%q) {starts=[0,0,8]} : $T[2,n,8]\n %1 = negative(%0) : "
         "$T[2,n,8]\n %2 = slice(%q) {stops=[2,9223372036854775807,8]} : $T[2,n,8]\n %3 = "
         "concatenate(%1, %2) {axis=2} : $T[2,n,16]\n %4 = multiply(%q, %c) : $T[2,n,16]\n %5 = "
         "multiply(%3, %s) : $T[2,n,16]\n %6 = add(%4, %5) : $T[2,n,16]\n %7 = multiply(%k, %c) : "
         "$T[n,16]\n return %6, %7\n}",
         kLines, false, out);
  AddFor(kFloats, "embedding_norm",
         "graph f(%i: i64[n], %t: $T[13,m], %w: $T[m]) -> ($T[n,m]) {\n %0 = embedding(%i, %t) : "
         "$T[n,m]\n %1 = rms_norm(%0, %w) : $T[n,m]\n return %1\n}",
         kRows, false, out);
  AddFor(kFloats, "cat_softmax",
         "graph f(%a: $T[n,m], %b: $T[n,5]) -> ($T[n,m+5]) {\n %0 = concatenate(%a, %b) {axis=1} : "
         "$T[n,m+5]\n %1 = softmax(%0) : $T[n,m+5]\n return %1\n}",
         kRows, false, out);
  AddFor(kNumbers, "max_pool",
         "graph f(%a: $T[n,2,9,12], %b: $T[n,9,12,2]) -> ($T[n,2,5,6], $T[n,5,6,2]) {\n %0 = "
         "max_pool(%a) {kernel=[3,3], stride=[2,2], padding=[1,1]} : $T[n,2,5,6]\n %1 = "
         "max_pool(%b) {kernel=[3,3], stride=[2,2], padding=[1,1], channels_last=true} : "
         "$T[n,5,6,2]\n return %0, %1\n}",
         {{{"n", 1}}, {{"n", 3}}, {{"n", 0}}}, false, out);
  AddFor(
      kFloats, "avg_pool",
      "graph f(%a: $T[n,2,9,12], %b: $T[n,m]) -> ($T[n,2,5,6], $T[n,m]) {\n %0 = avg_pool(%a) "
      "{kernel=[3,3], stride=[2,2], padding=[1,1], count_include_pad=false} : $T[n,2,5,6]\n %1 = "
      "avg_pool(%b) {kernel=[3], stride=[1], padding=[1]} : $T[n,m]\n return %0, %1\n}",
      {{{"n", 1}, {"m", 40}}, {{"n", 3}, {"m", 7}}}, false, out);
}

// Sums by index: positions of an axis of 13, as for gathers.
void AddScatters(std::vector<SweepCase>* out) {
  const std::vector<Sizes> sizes = {{{"n", 3}, {"m", 5}},    {{"n", 1}, {"m", 1}},
                                    {{"n", 400}, {"m", 17}}, {{"n", 5000}, {"m", 1}},
                                    {{"n", 0}, {"m", 4}},    {{"n", 4}, {"m", 0}}};
  for (const char* index : {"i32", "i64", "u8", "i16", "i8", "u16", "u32", "u64"}) {
    AddFor(index == std::string("i32") ? kNumbers : std::vector<std::string>{"f32"},
           std::string("scatters_") + index,
           Replace("graph f(%a: $T[13,m], %s: $T[n,m], %i: $I[n], %j: $I[n,m], %b: $T[m,13], %c: "
                   "$T[m,n]) -> ($T[13,m], $T[13,m], $T[m,13]) {\n %0 = index_add(%a, %i, %s) : "
                   "$T[13,m]\n %1 = scatter_add(%a, %j, %s) {axis=0} : $T[13,m]\n %2 = "
                   "index_add(%b, %i, %c) {axis=1} : $T[m,13]\n return %0, %1, %2\n}",
                   "$I", index),
           sizes, index == std::string("i32"), out);
  }
  AddFor(kFloats, "embedding_step",
         "graph f(%t: $T[13,m], %i: i64[n,2], %g: $T[n,2,m], %h: $T[13,m]) -> ($T[13,m], $T[13]) "
         "{\n %0 = multiply(%g, 0.5) : $T[n,2,m]\n %1 = index_add(%h, %i, %0) : $T[13,m]\n %2 = "
         "multiply(%1, -0.125) : $T[13,m]\n %3 = add(%t, %2) : $T[13,m]\n %4 = sum(%1) {axes=[1]} "
         ": $T[13]\n return %3, %4\n}",
         {{{"n", 3}, {"m", 5}}, {{"n", 70}, {"m", 64}}, {{"n", 0}, {"m", 3}}}, false, out);
  out->push_back({"histogram",
                  "graph f(%i: i32[n]) -> (i32[13]) {\n %z = constant {value=0} : i32[]\n %o = "
                  "constant {value=1} : i32[]\n %0 = broadcast(%z) {shape=[13]} : i32[13]\n %1 = "
                  "broadcast(%o) {shape=[n]} : i32[n]\n %2 = index_add(%0, %i, %1) : i32[13]\n "
                  "return %2\n}",
                  kLines, false});
  AddFor(kNumbers, "segments",
         "graph f(%a: $T[13,m], %s: $T[n,m], %i: i32[n,m]) -> ($T[13,m]) {\n %0, %1, %2 = "
         "group_positions(%i) {axis=0, size=[13]} : i64[n,m], i64[13,m], i64[13,m]\n %3 = "
         "segment_add(%a, %s, %0, %1, %2) {axis=0} : $T[13,m]\n return %3\n}",
         sizes, true, out);
  out->push_back({"group_positions",
                  "graph f(%i: i16[n,m]) -> (i64[n,m], i64[13,m], i64[13,m]) {\n %0, %1, %2 = "
                  "group_positions(%i) {axis=0, size=[13]} : i64[n,m], i64[13,m], i64[13,m]\n "
                  "return %0, %1, %2\n}",
                  sizes, false});
}

// Along the contiguous axis and the other one, with what comes before and after.
void AddScans(std::vector<SweepCase>* out) {
  const std::vector<Sizes> planes = {{{"n", 3}, {"m", 7}},    {{"n", 1}, {"m", 1}},
                                     {{"n", 9}, {"m", 257}},  {{"n", 2}, {"m", 4099}},
                                     {{"n", 130}, {"m", 40}}, {{"n", 0}, {"m", 4}},
                                     {{"n", 5}, {"m", 0}},    {{"n", 4099}, {"m", 3}}};
  AddFor(kAll, "running_sums",
         "graph f(%a: $T[n,m]) -> ($S[n,m], $S[n,m], $S[n,m]) {\n %0 = cumsum(%a) {axis=1} : "
         "$S[n,m]\n %1 = cumsum(%a) {axis=0, exclusive=true} : $S[n,m]\n %2 = cumsum(%a) {axis=1, "
         "reverse=true} : $S[n,m]\n return %0, %1, %2\n}",
         planes, true, out);
  AddFor(kNumbers, "running_extremes",
         "graph f(%a: $T[n,m]) -> ($T[n,m], $T[n,m], $T[n,m]) {\n %0 = cummax(%a) {axis=1} : "
         "$T[n,m]\n %1 = cummin(%a) {axis=0, reverse=true} : $T[n,m]\n %2 = cummax(%a) {axis=1, "
         "exclusive=true, reverse=true} : $T[n,m]\n return %0, %1, %2\n}",
         planes, true, out);
  AddFor(
      kNumbers, "running_products",
      "graph f(%a: $T[n,m]) -> ($S[n,m], $S[n,m]) {\n %0 = cumprod(%a) {axis=1} : $S[n,m]\n %1 = "
      "cumprod(%a) {axis=0, exclusive=true} : $S[n,m]\n return %0, %1\n}",
      planes, false, out);
  AddFor(
      kFloats, "running_logsumexp",
      "graph f(%a: $T[n,m]) -> ($T[n,m], $T[n,m]) {\n %0 = logcumsumexp(%a) {axis=1} : $T[n,m]\n "
      "%1 = logcumsumexp(%a) {axis=0, exclusive=true} : $T[n,m]\n return %0, %1\n}",
      planes, true, out);
  AddFor(
      kFloats, "scan_chain",
      "graph f(%a: $T[n,m], %b: $T[m]) -> ($T[n,m], $T[n], $T[n,m]) {\n %0 = add(%a, %b) : "
      "$T[n,m]\n %1 = relu(%0) : $T[n,m]\n %2 = cumsum(%1) {axis=1} : $T[n,m]\n %3 = exp(%0) : "
      "$T[n,m]\n %4 = subtract(%2, %3) : $T[n,m]\n %5 = max(%2) {axes=[1]} : $T[n]\n %6 = "
      "flip(%4) {axes=[1]} : $T[n,m]\n %7 = cummax(%6) {axis=1} : $T[n,m]\n return %4, %5, %7\n}",
      {{{"n", 3}, {"m", 7}}, {{"n", 9}, {"m", 257}}, {{"n", 2}, {"m", 4099}}}, false, out);
  AddFor(
      kFloats, "scan_of_softmax",
      "graph f(%a: $T[n,m]) -> ($T[n,m], bool[n,m]) {\n %0 = softmax(%a) {axis=1} : $T[n,m]\n %1 "
      "= cumsum(%0) {axis=1, exclusive=true} : $T[n,m]\n %2 = less(%1, 0.9) : bool[n,m]\n return "
      "%1, %2\n}",
      {{{"n", 3}, {"m", 7}}, {{"n", 4}, {"m", 1000}}}, false, out);
}

// Reductions of axes that are not the contiguous one, few long rows, transposed operands.
void AddEmitters(std::vector<SweepCase>* out) {
  const std::vector<Sizes> planes = {{{"n", 3}, {"m", 7}},    {{"n", 1}, {"m", 1}},
                                     {{"n", 130}, {"m", 64}}, {{"n", 5}, {"m", 0}},
                                     {{"n", 600}, {"m", 9}},  {{"n", 37}, {"m", 129}}};
  AddFor(kNumbers, "columns",
         "graph f(%a: $T[n,m]) -> ($S[m], $T[m], i64[m]) {\n %0 = sum(%a) {axes=[0]} : "
         "$S[m]\n %1 = max(%a) {axes=[0]} : $T[m]\n %2 = argmin(%a) {axes=[0]} : i64[m]\n return "
         "%0, %1, %2\n}",
         planes, false, out);
  std::vector<Sizes> with_empty = planes;
  with_empty.push_back({{"n", 0}, {"m", 40}});
  AddFor(kAll, "column_sums",
         "graph f(%a: $T[n,m]) -> ($S[m], i64[m]) {\n %0 = sum(%a) {axes=[0]} : $S[m]\n %1 = "
         "count_nonzero(%a) {axes=[0]} : i64[m]\n return %0, %1\n}",
         with_empty, false, out);
  AddFor(kFloats, "column_norms",
         "graph f(%a: $T[n,m], %w: $T[m]) -> ($T[n,m], $T[n,m], $T[m]) {\n %0 = softmax(%a) "
         "{axis=0} : $T[n,m]\n %1 = multiply(%0, %w) : $T[n,m]\n %2 = mean(%a) {axes=[0], "
         "keepdims=true} : $T[1,m]\n %3 = subtract(%a, %2) : $T[n,m]\n %4 = var(%a) {axes=[0]} : "
         "$T[m]\n return %1, %3, %4\n}",
         {{{"n", 3}, {"m", 7}},
          {{"n", 130}, {"m", 40}},
          {{"n", 2}, {"m", 1025}},
          {{"n", 1030}, {"m", 33}}},
         false, out);
  AddFor({"f32", "bf16", "i8"}, "middle_axis",
         "graph f(%a: $T[3,n,m]) -> ($T[3,m], bool[3,m]) {\n %0 = max(%a) {axes=[1]} : $T[3,m]\n "
         "%1 = cast(%a) {dtype=bool} : bool[3,n,m]\n %2 = all(%1) {axes=[1]} : bool[3,m]\n return "
         "%0, %2\n}",
         planes, true, out);
  AddFor(
      {"f32", "bf16", "i16"}, "long_rows",
      "graph f(%a: $T[2,n]) -> ($S[2], $T[2], i64[2], $S[]) {\n %0 = sum(%a) {axes=[1]} : $S[2]\n "
      "%1 = max(%a) {axes=[1]} : $T[2]\n %2 = argmax(%a) {axes=[1]} : i64[2]\n %3 = sum(%a) : "
      "$S[]\n return %0, %1, %2, %3\n}",
      {{{"n", 140001}}}, false, out);
  AddFor({"f32"}, "long_norms",
         "graph f(%a: $T[2,n]) -> ($T[2], $T[2], $T[]) {\n %0 = var(%a) {axes=[1]} : $T[2]\n %1 = "
         "logsumexp(%a) {axes=[1]} : $T[2]\n %2 = vector_norm(%a) : $T[]\n return %0, %1, %2\n}",
         {{{"n", 140001}}}, false, out);
  AddFor(
      {"f32", "f64", "f16", "bf16", "i32", "u8"}, "long_columns",
      "graph f(%a: $T[n,24]) -> ($S[24], $T[24], i64[24]) {\n %0 = sum(%a) {axes=[0]} : $S[24]\n "
      "%1 = max(%a) {axes=[0]} : $T[24]\n %2 = argmin(%a) {axes=[0]} : i64[24]\n return %0, %1, "
      "%2\n}",
      {{{"n", 4203}}}, false, out);
  AddFor(kAll, "transposes",
         "graph f(%a: $T[n,m], %b: $T[m,n], %d: bool[m,n], %c: $T[2,m,3,n]) -> ($T[m,n], "
         "$T[2,n,3,m]) {\n %0 = transpose(%a) : $T[m,n]\n %1 = where(%d, %0, %b) : $T[m,n]\n %2 = "
         "transpose(%c) {perm=[0,3,2,1]} : $T[2,n,3,m]\n return %1, %2\n}",
         {{{"n", 3}, {"m", 7}},
          {{"n", 1}, {"m", 1}},
          {{"n", 0}, {"m", 40}},
          {{"n", 70}, {"m", 33}},
          {{"n", 64}, {"m", 64}}},
         true, out);
}

}  // namespace

namespace {
// What the table's rows cannot show by themselves: sources, ranks 0 and 8.
void AddSources(std::vector<SweepCase>* out) {
  const std::string sources =
      "graph f(%p: bool[n], %q: bool[], %a: $T[n], %s: scalar $T) -> ($T[n], $T[n], $T[]) {\n %k = "
      "constant {value=$1} : $T[]\n %0 = where(%p, %a, %s) : $T[n]\n %1 = where(%p, %k, %a) : "
      "$T[n]\n %2 = where(%q, %s, %k) : $T[]\n return %0, %1, %2\n}";
  AddFor(kNumbers, "sources", Replace(sources, "$1", "1"), kLines, true, out);
  AddFor({"bool"}, "sources", Replace(sources, "$1", "true"), kLines, true, out);
  AddFor(kAll, "rank_0",
         "graph f(%a: $T[], %b: $T[1]) -> ($S[], $T[2,3], $T[1], bool[], $T[]) {\n %0 = sum(%a) : "
         "$S[]\n %1 = broadcast(%a) {shape=[2,3]} : $T[2,3]\n %2 = reshape(%a) {shape=[1]} : "
         "$T[1]\n %3 = any(%a) : bool[]\n %4 = squeeze(%b) {axes=[0]} : $T[]\n return %0, %1, %2, "
         "%3, %4\n}",
         {{}, {}}, true, out);
  AddFor(kAll, "rank_8",
         "graph f(%a: $T[n,1,2,1,m,2,1,3], %b: $T[m,1,2,1]) -> (bool[n,1,2,1,m,2,2,3], "
         "$S[n,2,1,2,1], $T[3,1,2,m,1,2,1,n], $T[n,1,2,1,m,2,1,3]) {\n %0 = equal(%a, %b) : "
         "bool[n,1,2,1,m,2,2,3]\n %1 = sum(%a) {axes=[1,4,7]} : $S[n,2,1,2,1]\n %2 = transpose(%a) "
         ": $T[3,1,2,m,1,2,1,n]\n %3 = flip(%a) {axes=[0,4,7]} : $T[n,1,2,1,m,2,1,3]\n return %0, "
         "%1, %2, %3\n}",
         {{{"n", 2}, {"m", 5}}, {{"n", 1}, {"m", 1}}, {{"n", 0}, {"m", 3}}}, true, out);
}
}  // namespace

std::vector<SweepCase> SweepCases() {
  std::vector<SweepCase> out;
  AddFor(kFloats, "relu_chain",
         "graph f(%a: $T[n], %b: $T[n], %c: $T[n]) -> ($T[n]) {\n %0 = multiply(%a, %b) : $T[n]\n "
         "%1 = add(%0, %c) : $T[n]\n %2 = relu(%1) : $T[n]\n return %2\n}",
         kLines, true, &out);
  AddFor(kFloats, "minmax",
         "graph f(%a: $T[n], %b: $T[n]) -> ($T[n], $T[n], $T[n], bool[n]) {\n %0 = minimum(%a, %b) "
         ": $T[n]\n %1 = maximum(%a, %b) : $T[n]\n %2 = clamp(%a) {min=-1, max=0.5} : $T[n]\n %3 = "
         "less(%a, %b) : bool[n]\n return %0, %1, %2, %3\n}",
         kLines, true, &out);
  AddFor(kFloats, "activations",
         "graph f(%a: $T[n]) -> ($T[n], $T[n], $T[n], $T[n], $T[n], $T[n]) {\n %0 = gelu(%a) : "
         "$T[n]\n %1 = gelu_tanh(%a) : $T[n]\n %2 = silu(%a) : $T[n]\n %3 = sigmoid(%a) : $T[n]\n "
         "%4 = softplus(%a) : $T[n]\n %5 = tanh(%a) : $T[n]\n return %0, %1, %2, %3, %4, %5\n}",
         kLines, false, &out);
  AddFor(
      kFloats, "transcendentals",
      "graph f(%a: $T[n]) -> ($T[n], $T[n], $T[n], $T[n], $T[n], $T[n]) {\n %0 = exp(%a) : $T[n]\n "
      "%1 = abs(%a) : $T[n]\n %2 = log(%1) : $T[n]\n %3 = sqrt(%1) : $T[n]\n %4 = rsqrt(%1) : "
      "$T[n]\n %5 = erf(%a) : $T[n]\n %6 = erfc(%a) : $T[n]\n return %0, %2, %3, %4, %5, %6\n}",
      kLines, false, &out);
  AddFor(kFloats, "bias_gelu",
         "graph f(%a: $T[n,m], %b: $T[m]) -> ($T[n,m]) {\n %0 = add(%a, %b) : $T[n,m]\n %1 = "
         "gelu(%0) : $T[n,m]\n return %1\n}",
         kPlanes, false, &out);
  AddFor(kFloats, "column_bias",
         "graph f(%a: $T[n,m], %b: $T[n,1]) -> ($T[n,m]) {\n %0 = subtract(%a, %b) : $T[n,m]\n "
         "return %0\n}",
         kPlanes, true, &out);
  AddFor(kFloats, "transpose_add",
         "graph f(%a: $T[n,m], %b: $T[m,n]) -> ($T[m,n]) {\n %0 = transpose(%a) {perm=[1,0]} : "
         "$T[m,n]\n %1 = add(%0, %b) : $T[m,n]\n return %1\n}",
         kPlanes, true, &out);
  AddFor(kFloats, "softmax",
         "graph f(%a: $T[n,m]) -> ($T[n,m], $T[n,m]) {\n %0 = softmax(%a) {axis=1} : $T[n,m]\n %1 "
         "= log_softmax(%a) {axis=1} : $T[n,m]\n return %0, %1\n}",
         kRows, false, &out);
  AddFor(kFloats, "softmax_columns",
         "graph f(%a: $T[n,m]) -> ($T[n,m]) {\n %0 = softmax(%a) {axis=0} : $T[n,m]\n return %0\n}",
         {{{"n", 5}, {"m", 33}}, {{"n", 130}, {"m", 4}}}, false, &out);
  AddFor(kFloats, "layer_norm_relu",
         "graph f(%a: $T[n,m], %w: $T[m], %b: $T[m]) -> ($T[n,m]) {\n %0 = layer_norm(%a, %w, %b) "
         "{norm_dims=1, eps=1e-05} : $T[n,m]\n %1 = relu(%0) : $T[n,m]\n return %1\n}",
         kRows, false, &out);
  AddFor(kFloats, "residual_rms_norm",
         "graph f(%a: $T[n,m], %r: $T[n,m], %w: $T[m]) -> ($T[n,m], $T[n,m]) {\n %0 = add(%a, %r) "
         ": $T[n,m]\n %1 = rms_norm(%0, %w) {norm_dims=1, eps=1e-06} : $T[n,m]\n return %0, %1\n}",
         kRows, false, &out);
  AddFor(kFloats, "sums",
         "graph f(%a: $T[n,m]) -> ($T[n], $T[m], $T[], $T[n], i64[n]) {\n %0 = sum(%a) {axes=[1]} "
         ": $T[n]\n %1 = sum(%a) {axes=[0]} : $T[m]\n %2 = mean(%a) : $T[]\n %3 = max(%a) "
         "{axes=[1]} : $T[n]\n %4 = argmax(%a) {axes=[1]} : i64[n]\n return %0, %1, %2, %3, %4\n}",
         {{{"n", 3}, {"m", 7}}, {{"n", 40}, {"m", 300}}, {{"n", 1}, {"m", 9000}}}, false, &out);
  AddFor(kFloats, "max_specials",
         "graph f(%a: $T[n,m]) -> ($T[n], $T[n], i64[n], i64[n]) {\n %0 = max(%a) {axes=[1]} : "
         "$T[n]\n %1 = min(%a) {axes=[1]} : $T[n]\n %2 = argmax(%a) {axes=[1]} : i64[n]\n %3 = "
         "argmin(%a) {axes=[1]} : i64[n]\n return %0, %1, %2, %3\n}",
         {{{"n", 60}, {"m", 3}}, {{"n", 8}, {"m", 70}}}, true, &out);
  AddFor(kFloats, "matmul_tail",
         "graph f(%a: $T[n,m], %b: $T[m,24], %c: $T[24]) -> ($T[n,24]) {\n %0 = matmul(%a, %b) : "
         "$T[n,24]\n %1 = add(%0, %c) : $T[n,24]\n %2 = relu(%1) : $T[n,24]\n return %2\n}",
         {{{"n", 5}, {"m", 16}},
          {{"n", 1}, {"m", 33}},
          {{"n", 0}, {"m", 8}},
          {{"n", 3}, {"m", 0}},
          {{"n", 70}, {"m", 48}}},
         false, &out);
  AddFor({"f32", "bf16", "i32"}, "batched_matmul",
         "graph f(%a: $T[3,n,m], %b: $T[3,8,m]) -> ($T[3,n,8]) {\n %0 = matmul(%a, %b) "
         "{transpose_b=true} : $T[3,n,8]\n return %0\n}",
         {{{"n", 5}, {"m", 16}}, {{"n", 2}, {"m", 7}}}, false, &out);
  AddFor(kInts, "int_divisions",
         "graph f(%a: $T[n], %b: $T[n]) -> ($T[n], $T[n], $T[n], $T[n], f32[n], bool[n]) {\n %0 = "
         "floor_divide(%a, %b) : $T[n]\n %1 = remainder(%a, %b) : $T[n]\n %2 = trunc_divide(%a, "
         "%b) : $T[n]\n %3 = fmod(%a, %b) : $T[n]\n %4 = cast(%a) {dtype=f32} : f32[n]\n %5 = "
         "cast(%b) {dtype=bool} : bool[n]\n return %0, %1, %2, %3, %4, %5\n}",
         kLines, false, &out);
  AddFor(kInts, "int_sums",
         "graph f(%a: $T[n,m]) -> ($S[n], $S[m], $T[n], i64[n]) {\n %0 = sum(%a) {axes=[1]} : "
         "$S[n]\n %1 = sum(%a) {axes=[0]} : $S[m]\n %2 = max(%a) {axes=[1]} : $T[n]\n %3 = "
         "argmax(%a) {axes=[1]} : i64[n]\n return %0, %1, %2, %3\n}",
         {{{"n", 3}, {"m", 7}}, {{"n", 5}, {"m", 700}}}, false, &out);
  for (const char* to : {"i8", "u8", "i16", "i32", "i64", "f16", "bf16", "f64", "bool"}) {
    AddFor(
        kFloats, std::string("cast_") + to,
        Replace("graph f(%a: $T[n]) -> ($U[n]) {\n %0 = cast(%a) {dtype=$U} : $U[n]\n return %0\n}",
                "$U", to),
        kLines, true, &out);
  }
  AddViews(&out);
  AddScans(&out);
  AddEmitters(&out);
  AddScatters(&out);
  AddSources(&out);
  out.push_back({"round_trip",
                 "graph f(%a: f32[n]) -> (f32[n], f32[n]) {\n %0 = cast(%a) {dtype=bf16} : "
                 "bf16[n]\n %1 = cast(%0) {dtype=f32} : f32[n]\n %2 = cast(%a) {dtype=f16} : "
                 "f16[n]\n %3 = cast(%2) {dtype=f32} : f32[n]\n return %1, %3\n}",
                 kLines, true});
  out.push_back({"scalar_parameter",
                 "graph f(%a: f32[n], %s: scalar f32) -> (f32[n]) {\n %0 = multiply(%a, %s) : "
                 "f32[n]\n return %0\n}",
                 kLines, true});
  out.push_back({"where_bool",
                 "graph f(%c: bool[n], %a: f32[n], %b: f32[n]) -> (f32[n], bool[n]) {\n %0 = "
                 "where(%c, %a, %b) : f32[n]\n %1 = logical_not(%c) : bool[n]\n return %0, %1\n}",
                 kLines, true});
  out.push_back(
      {"heads",
       "graph f(%a: f32[n,24], %b: f32[4,6]) -> (f32[4,n,6]) {\n %0 = reshape(%a) {shape=[n,4,6]} "
       ": f32[n,4,6]\n %1 = add(%0, %b) : f32[n,4,6]\n %2 = transpose(%1) {perm=[1,0,2]} : "
       "f32[4,n,6]\n %3 = relu(%2) : f32[4,n,6]\n return %3\n}",
       {{{"n", 1}}, {{"n", 7}}, {{"n", 0}}},
       true});
  out.push_back(
      {"random",
       "graph f(%a: f32[n,7], %rng_seed: scalar u64, %rng_offset: scalar u64, %p: scalar f32) -> "
       "(f32[n,7], f32[n,7], f32[n,7], f64[n,7], f32[n,7], f16[n,7]) {\n"
       " %0 = dropout(%a, %rng_seed, %rng_offset) {p=0.25, stream=0} : f32[n,7]\n"
       " %1 = dropout(%a, %rng_seed, %rng_offset) {p=0.0001, stream=1} : f32[n,7]\n"
       " %2 = dropout(%a, %rng_seed, %rng_offset, %p) {stream=2} : f32[n,7]\n"
       " %3 = random_uniform(%rng_seed, %rng_offset) {shape=[n,7], stream=3, dtype=f64} : "
       "f64[n,7]\n"
       " %4 = random_normal(%rng_seed, %rng_offset) {shape=[n,7], stream=4} : f32[n,7]\n"
       " %5 = random_uniform(%rng_seed, %rng_offset) {shape=[n,7], stream=5, dtype=f16} : "
       "f16[n,7]\n"
       " return %0, %1, %2, %3, %4, %5\n}",
       {{{"n", 1}}, {{"n", 5}}, {{"n", 200}}},
       false});
  AddFor(kFloats, "losses",
         "graph f(%a: $T[n,m], %b: $T[n,m], %k: i32[n]) -> ($T[], $T[], $T[n], $T[n]) {\n"
         " %0 = mse_loss(%a, %b) : $T[]\n %1 = cross_entropy(%a, %k) {reduction=1} : $T[]\n"
         " %2 = cross_entropy(%a, %k) {reduction=0, label_smoothing=0.1} : $T[n]\n"
         " %3 = vector_norm(%b) {axes=[1]} : $T[n]\n return %0, %1, %2, %3\n}",
         {{{"n", 3}, {"m", 13}}, {{"n", 40}, {"m", 300}}}, false, &out);
  AddFor(kFloats, "weighted_losses",
         "graph f(%a: $T[n,m], %k: i64[n], %w: $T[m]) -> ($T[], $T[n], $T[]) {\n"
         " %0 = nll_loss(%a, %k, %w) {reduction=1} : $T[]\n"
         " %1 = nll_loss(%a, %k, %w) {reduction=0, ignore_index=3} : $T[n]\n"
         " %2 = cross_entropy(%a, %k, %w) {reduction=2} : $T[]\n return %0, %1, %2\n}",
         {{{"n", 3}, {"m", 13}}, {{"n", 40}, {"m", 130}}}, false, &out);
  AddFor(kFloats, "channel_norms",
         "graph f(%a: $T[n,6,m], %w: $T[6], %b: $T[6]) -> ($T[n,6,m], $T[n,6,m], $T[n,6,m], $T[6], "
         "$T[6]) {\n %0 = group_norm(%a, %w, %b) {groups=2} : $T[n,6,m]\n"
         " %1 = instance_norm(%a, %w, %b) : $T[n,6,m]\n"
         " %y, %mean, %var, %rm, %rv = batch_norm_training(%a, %w, %b) : $T[n,6,m], $T[6], $T[6], "
         "$T[6], $T[6]\n return %0, %1, %y, %mean, %rv\n}",
         {{{"n", 3}, {"m", 5}}, {{"n", 2}, {"m", 200}}}, false, &out);
  std::vector<SweepCase> table = TableCases();
  std::move(table.begin(), table.end(), std::back_inserter(out));
  AddGemmEpilogues(&out);
  return out;
}

}  // namespace jitfuse_test
