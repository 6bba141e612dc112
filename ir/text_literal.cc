// Literals of graph text: reading one as a given dtype, and printing the shortest one that reads
// back to the same bits.
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

bool TakePrefix(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

bool TakeHexPrefix(std::string_view* text) {
  return TakePrefix(text, "0x") || TakePrefix(text, "0X");
}

// All of `text` as an unsigned number by from_chars; its error else.
template <typename T, typename Format>
std::errc Scan(std::string_view text, Format format, T* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out, format);
  if (error != std::errc()) return error;
  return end == text.data() + text.size() ? std::errc() : std::errc::invalid_argument;
}

absl::StatusOr<double> ReadDouble(std::string_view text) {
  std::string_view rest = text;
  bool negative = TakePrefix(&rest, "-");
  double v = 0;
  if (rest == "inf") {
    v = std::numeric_limits<double>::infinity();
  } else if (rest == "nan") {
    v = std::numeric_limits<double>::quiet_NaN();
  } else {
    auto format = TakeHexPrefix(&rest) ? std::chars_format::hex : std::chars_format::general;
    bool begins = !rest.empty() && (std::isxdigit(static_cast<unsigned char>(rest[0])) ||
                                    rest[0] == '.');  // no "infinity"
    std::errc error = begins ? Scan(rest, format, &v) : std::errc::invalid_argument;
    if (error == std::errc::result_out_of_range) {
      return InvalidArgument("'", ToAbsl(text),
                             "' is beyond what f64 holds; write 0, inf or -inf if that is meant");
    }
    if (error != std::errc()) return InvalidArgument("'", ToAbsl(text), "' is no number");
  }
  return negative ? std::copysign(v, -1.0) : v;
}

struct IntRange {
  int64_t lowest;
  uint64_t highest;
};

IntRange RangeOf(DType dtype) {
  int bits = 8 * ItemSize(dtype);
  if (IsUnsigned(dtype)) return {0, ~uint64_t{0} >> (64 - bits)};
  uint64_t highest = ~uint64_t{0} >> (65 - bits);
  return {-static_cast<int64_t>(highest) - 1, highest};
}

absl::StatusOr<ScalarValue> ReadInt(DType dtype, std::string_view text) {
  std::string_view rest = text;
  bool negative = TakePrefix(&rest, "-");
  int base = TakeHexPrefix(&rest) ? 16 : 10;
  uint64_t magnitude = 0;
  std::errc error = Scan(rest, base, &magnitude);
  if (error == std::errc::invalid_argument) {
    return InvalidArgument("expected an integer for ", ToAbsl(DTypeName(dtype)), ", found '",
                           ToAbsl(text), "'");
  }
  IntRange range = RangeOf(dtype);
  uint64_t limit = negative ? uint64_t{0} - static_cast<uint64_t>(range.lowest) : range.highest;
  if (error != std::errc() || magnitude > limit) {
    return InvalidArgument("'", ToAbsl(text), "' does not fit ", ToAbsl(DTypeName(dtype)),
                           ", which holds ", range.lowest, " to ", range.highest);
  }
  return ScalarFromInt(dtype, static_cast<int64_t>(negative ? uint64_t{0} - magnitude : magnitude));
}

absl::StatusOr<ScalarValue> ReadFloat(DType dtype, std::string_view text) {
  JF_ASSIGN_OR_RETURN(double v, ReadDouble(text));
  ScalarValue value = ScalarFromDouble(dtype, v);
  if (std::isfinite(v) && !std::isfinite(ScalarToDouble(dtype, value))) {
    return InvalidArgument("'", ToAbsl(text), "' is beyond what ", ToAbsl(DTypeName(dtype)),
                           " holds; write inf or -inf if that is meant");
  }
  return value;
}

// The text of a finite float with `format`'s digits, always recognisable as a float.
template <typename T, typename... Precision>
std::string FloatText(T v, Precision... precision) {
  char buffer[64];
  auto result = std::to_chars(buffer, buffer + sizeof(buffer), v, precision...);
  std::string out(buffer, result.ptr);
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

bool ReadsBack(DType dtype, ScalarValue value, const std::string& text) {
  auto read = ReadFloat(dtype, text);
  return read.ok() && read->bits() == value.bits();
}

}  // namespace

absl::StatusOr<ScalarValue> ParseLiteral(DType dtype, std::string_view text) {
  if (dtype == DType::kBool) {
    if (text == "true" || text == "false") return ScalarFromInt(dtype, text == "true" ? 1 : 0);
    return InvalidArgument("expected true or false for bool, found '", ToAbsl(text), "'");
  }
  return IsFloat(dtype) ? ReadFloat(dtype, text) : ReadInt(dtype, text);
}

std::string LiteralToString(DType dtype, ScalarValue value) {
  if (dtype == DType::kBool) return value.b ? "true" : "false";
  if (IsUnsigned(dtype)) return absl::StrCat(value.u);
  if (IsInt(dtype)) return absl::StrCat(value.i);
  double v = ScalarToDouble(dtype, value);
  if (std::isnan(v)) return std::signbit(v) ? "-nan" : "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  if (dtype == DType::kF64) return FloatText(v);
  if (dtype == DType::kF32) {
    if (std::string text = FloatText(value.f32); ReadsBack(dtype, value, text)) return text;
  } else {
    for (int digits = 1; digits <= 9; ++digits) {
      if (std::string text = FloatText(v, std::chars_format::general, digits);
          ReadsBack(dtype, value, text))
        return text;
    }
  }
  return FloatText(v);  // exact as f64, so it rounds to itself
}

}  // namespace jitfuse::internal
