#include "tests/graph_fuzz/fuzz_case.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ir/rng.h"
#include "ir/scalar_value.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

constexpr const char* kValueNames[kNumFuzzValues] = {"plain",      "wide", "specials", "small_ints",
                                                     "full_range", "ones", "counts",   "ends"};

double FloatValue(FuzzValues values, FuzzRng* rng) {
  switch (values) {
    case FuzzValues::kPlain:
    case FuzzValues::kCounts:
      break;
    case FuzzValues::kWide:
      return std::ldexp(rng->Uniform() * 2 - 1, rng->Below(40) - 20);
    case FuzzValues::kSpecials:
    case FuzzValues::kEnds: {
      static constexpr double kInf = std::numeric_limits<double>::infinity();
      static const std::vector<double> kSpecial = {
          kInf,   -kInf, std::numeric_limits<double>::quiet_NaN(),
          0.0,    -0.0,  1e-40,
          -3e-45, 65504, -3.4e38,
          1e-300, 1,     -1,
          0.5};
      if (rng->OneIn(4)) return rng->Of(kSpecial);
      break;
    }
    case FuzzValues::kSmallInts:
      return rng->Below(7) - 3;
    case FuzzValues::kFullRange:
      return std::ldexp(rng->Uniform() * 2 - 1, rng->Below(280) - 150);
    case FuzzValues::kOnes:
      return 1;
  }
  return rng->Uniform() * 4 - 2;
}

// Half of them numbers at which something happens; operands meet each other in all pairs.
ScalarValue IntAtAnEnd(DType dtype, FuzzRng* rng) {
  return OnType(dtype, [&](auto tag) {
    using T = decltype(tag);
    const T least = std::numeric_limits<T>::lowest(), most = std::numeric_limits<T>::max();
    const auto width = static_cast<T>(std::numeric_limits<T>::digits + (least < T{0} ? 1 : 0));
    const T special[] = {T(0),         T(0), T(1),        T(-1),        T(-1), least,      least,
                         T(least + 1), most, T(most - 1), T(width - 1), width, T(most / 2)};
    const uint64_t bits = rng->Next();
    if (rng->OneIn(2)) return Put<T>(special[rng->Below(std::size(special))]);
    return rng->OneIn(2) ? LoadScalar(dtype, &bits) : ScalarFromInt(dtype, int64_t(bits % 13));
  });
}

ScalarValue IntValue(DType dtype, FuzzValues values, FuzzRng* rng) {
  if (values == FuzzValues::kEnds) return IntAtAnEnd(dtype, rng);
  if (values == FuzzValues::kOnes) return ScalarFromInt(dtype, 1);
  if (values == FuzzValues::kFullRange || values == FuzzValues::kSpecials) {
    const uint64_t bits = rng->Next();
    switch (rng->Below(6)) {
      case 0:
        return ScalarFromInt(dtype, 0);
      case 1:  // the ends of the range
        return OnType(dtype, [&](auto tag) {
          using T = decltype(tag);
          return Put<T>((bits & 1) != 0 ? std::numeric_limits<T>::max()
                                        : std::numeric_limits<T>::lowest());
        });
      default:
        return LoadScalar(dtype, &bits);
    }
  }
  const int64_t least = IsSigned(dtype) && values != FuzzValues::kCounts ? -6 : 0;
  return ScalarFromInt(dtype, least + rng->Below(13));
}

ScalarValue OneValue(DType dtype, FuzzValues values, FuzzRng* rng) {
  if (dtype == DType::kBool) return ScalarFromInt(dtype, rng->Below(2));
  if (IsFloat(dtype)) return ScalarFromDouble(dtype, FloatValue(values, rng));
  return IntValue(dtype, values, rng);
}

std::string Ints(const std::vector<int64_t>& v) { return absl::StrJoin(v, ","); }

absl::StatusOr<std::vector<int64_t>> ParseInts(absl::string_view text) {
  std::vector<int64_t> out;
  if (text.empty()) return out;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    int64_t v = 0;
    if (!absl::SimpleAtoi(part, &v))
      return InvalidArgument("expected whole numbers with commas between, got '", text, "'");
    out.push_back(v);
  }
  return out;
}

absl::Status ParseInputLine(const std::vector<absl::string_view>& words, FuzzInput* spec) {
  for (size_t i = 3; i < words.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> kv =
        absl::StrSplit(words[i], absl::MaxSplits('=', 1));
    if (kv.first == "order") {
      JF_ASSIGN_OR_RETURN(spec->order, ParseInts(kv.second));
    } else if (kv.first == "steps") {
      JF_ASSIGN_OR_RETURN(spec->steps, ParseInts(kv.second));
    } else if (kv.first == "shift") {
      if (!absl::SimpleAtoi(kv.second, &spec->shift)) return InvalidArgument("shift ", kv.second);
    } else if (kv.first == "data") {
      if (!absl::SimpleAtoi(kv.second, &spec->seed)) return InvalidArgument("data ", kv.second);
    } else if (kv.first == "values") {
      for (int k = 0; k < kNumFuzzValues; ++k) {
        if (kv.second == kValueNames[k]) spec->values = static_cast<FuzzValues>(k);
      }
    } else {
      return InvalidArgument("unknown word '", words[i], "' of an input");
    }
  }
  return absl::OkStatus();
}

}  // namespace

FuzzLayout LayoutFor(const std::vector<int64_t>& dims, const FuzzInput& spec) {
  FuzzLayout out;
  const size_t rank = dims.size();
  out.strides.assign(rank, 0);
  out.dense = spec.order.size() != rank || spec.steps.size() != rank;
  int64_t extent = 1, last = 0;
  for (size_t k = rank; k-- > 0;) {
    const size_t axis = out.dense ? k : static_cast<size_t>(spec.order[k]);
    const int64_t step = out.dense ? 1 : spec.steps[axis];
    out.strides[axis] = step * extent;
    const int64_t reach = (std::max<int64_t>(dims[axis], 1) - 1) * step * extent;
    if (reach < 0) out.first -= reach;
    last += std::abs(reach);
    extent *= std::max<int64_t>(1, dims[axis] * std::abs(step));
  }
  out.first += spec.shift;
  out.elements = last + 1 + spec.shift;
  return out;
}

int64_t PlaceOf(const std::vector<int64_t>& dims, const FuzzLayout& layout, int64_t linear) {
  int64_t at = layout.first;
  for (size_t d = dims.size(); d-- > 0;) {
    at += linear % dims[d] * layout.strides[d];
    linear /= dims[d];
  }
  return at;
}

FuzzTensor MakeTensor(DType dtype, const std::vector<int64_t>& dims, const FuzzInput& spec) {
  const FuzzLayout layout = LayoutFor(dims, spec);
  FuzzTensor t;
  t.dtype = dtype;
  t.dims = dims;
  if (!layout.dense) t.strides = layout.strides;
  t.first = layout.first;
  const auto item = static_cast<size_t>(ItemSize(dtype));
  t.bytes.resize(static_cast<size_t>(layout.elements) * item);
  FuzzRng rng(spec.seed);
  for (int64_t i = 0; i < layout.elements; ++i)
    StoreScalar(dtype, OneValue(dtype, spec.values, &rng),
                t.bytes.data() + static_cast<size_t>(i) * item);
  t.logical = HostTensor::Make(dtype, dims);
  for (int64_t i = 0; i < t.logical.size(); ++i) {
    std::memcpy(t.logical.address(i),
                t.bytes.data() + static_cast<size_t>(PlaceOf(dims, layout, i)) * item, item);
  }
  return t;
}

std::string CaseToText(const FuzzCase& c) {
  std::string out = absl::StrCat(
      "# fuzz: seed=", c.seed, " fuse=", c.options.fuse, " rewrite=", c.options.rewrite,
      " gemm_library=", c.options.use_gemm_library, " strided_outputs=", c.strided_outputs, "\n");
  const std::vector<std::string>& names = c.graph.symbols().names;
  for (const std::vector<int64_t>& sizes : c.sizes) {
    absl::StrAppend(&out, "# call:");
    for (size_t s = 0; s < names.size(); ++s) absl::StrAppend(&out, " ", names[s], "=", sizes[s]);
    absl::StrAppend(&out, "\n");
  }
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const FuzzInput& in = c.inputs[i];
    absl::StrAppend(&out, "# input ", c.graph.input_name(static_cast<int>(i)),
                    " values=", kValueNames[static_cast<int>(in.values)], " data=", in.seed);
    if (!in.order.empty())
      absl::StrAppend(&out, " order=", Ints(in.order), " steps=", Ints(in.steps));
    if (in.shift != 0) absl::StrAppend(&out, " shift=", in.shift);
    absl::StrAppend(&out, "\n");
  }
  return absl::StrCat(out, GraphToString(c.graph));
}

absl::StatusOr<FuzzCase> ParseCase(std::string_view text) {
  FuzzCase c;
  JF_ASSIGN_OR_RETURN(c.graph, ParseGraph(text));
  c.inputs.resize(c.graph.inputs().size());
  const std::vector<std::string>& names = c.graph.symbols().names;
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    if (!absl::StartsWith(line, "# ")) continue;
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() < 2) continue;
    if (words[1] == "input" && words.size() > 2) {
      for (size_t i = 0; i < c.inputs.size(); ++i) {
        if (c.graph.input_name(static_cast<int>(i)) == words[2])
          JF_RETURN_IF_ERROR(ParseInputLine(words, &c.inputs[i]));
      }
    } else if (words[1] == "call:") {
      std::vector<int64_t> sizes(names.size(), 1);
      for (size_t w = 2; w < words.size(); ++w) {
        const std::pair<absl::string_view, absl::string_view> kv = absl::StrSplit(words[w], '=');
        for (size_t s = 0; s < names.size(); ++s) {
          if (kv.first == names[s] && !absl::SimpleAtoi(kv.second, &sizes[s]))
            return InvalidArgument("size '", words[w], "'");
        }
      }
      c.sizes.push_back(std::move(sizes));
    } else if (words[1] == "fuzz:") {
      for (size_t w = 2; w < words.size(); ++w) {
        const std::pair<absl::string_view, absl::string_view> kv = absl::StrSplit(words[w], '=');
        uint64_t v = 0;
        if (!absl::SimpleAtoi(kv.second, &v)) return InvalidArgument("option '", words[w], "'");
        if (kv.first == "seed") c.seed = v;
        if (kv.first == "fuse") c.options.fuse = v != 0;
        if (kv.first == "rewrite") c.options.rewrite = v != 0;
        if (kv.first == "gemm_library") c.options.use_gemm_library = v != 0;
        if (kv.first == "strided_outputs") c.strided_outputs = v != 0;
      }
    }
  }
  if (c.sizes.empty()) c.sizes.emplace_back(names.size(), 1);
  return c;
}

}  // namespace jitfuse::internal
