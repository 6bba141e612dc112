#include "jit/manifest.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "ir/dtype.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

using nlohmann::json;

constexpr const char* kHead = "jitfuse_manifest";
constexpr size_t kMaxShown = 60;  // of what is there, in a message

std::string Shown(const json& j) {
  if (j.is_object()) return "an object";
  if (j.is_array()) return absl::StrCat("a list of ", j.size());
  std::string text = j.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() <= kMaxShown) return text;
  return absl::StrCat(text.substr(0, kMaxShown), "...");
}

struct Context {
  std::string_view file;
  size_t sizes_left = kMaxAllSizes;
};

// A value, and where it is.
struct Place {
  const json& value;
  std::string pointer;  // RFC 6901
  Context* context;

  Place At(const std::string& key) const {
    const std::string step = absl::StrReplaceAll(key, {{"~", "~0"}, {"/", "~1"}});
    return {value.at(key), absl::StrCat(pointer, "/", step), context};
  }
  Place At(size_t i) const { return {value.at(i), absl::StrCat(pointer, "/", i), context}; }
  bool Has(const char* key) const { return value.contains(key); }
  std::string where() const {
    return absl::StrCat(ToAbsl(context->file), ": ", pointer.empty() ? "the whole" : pointer);
  }
  absl::Status Wrong(const std::string& expected) const {
    return InvalidArgument(where(), ": expected ", expected, ", got ", Shown(value));
  }
};

absl::Status CheckObject(const Place& p, const std::vector<std::string>& keys) {
  if (!p.value.is_object()) return p.Wrong("an object");
  for (const auto& item : p.value.items()) {
    if (std::find(keys.begin(), keys.end(), item.key()) == keys.end())
      return InvalidArgument(p.where(), ": unknown key '", item.key().substr(0, kMaxShown),
                             "'; known: ", absl::StrJoin(keys, ", "));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadString(const Place& p) {
  if (!p.value.is_string() || p.value.get_ref<const std::string&>().empty())
    return p.Wrong("a string that is not empty");
  return p.value.get<std::string>();
}

// Numbers beyond i64 come as u64 or double.
absl::StatusOr<int64_t> ReadInt(const Place& p, int64_t least, int64_t most,
                                const std::string& what) {
  const bool whole = p.value.is_number_integer() &&
                     (!p.value.is_number_unsigned() ||
                      p.value.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()});
  if (!whole || p.value.get<int64_t>() < least || p.value.get<int64_t>() > most)
    return p.Wrong(absl::StrCat(what, " from ", least, " to ", most));
  return p.value.get<int64_t>();
}

template <typename T, typename Read>
absl::StatusOr<std::vector<T>> ReadList(const Place& p, const char* what, Read read) {
  if (!p.value.is_array()) return p.Wrong(absl::StrCat("a list of ", what));
  std::vector<T> out;
  for (size_t i = 0; i < p.value.size(); ++i) {
    JF_ASSIGN_OR_RETURN(T item, read(p.At(i)));
    out.push_back(std::move(item));
  }
  return out;
}

absl::StatusOr<std::vector<std::string>> ReadStrings(const Place& p) {
  return ReadList<std::string>(p, "strings", ReadString);
}

absl::StatusOr<bool> ReadBool(const Place& p) {
  if (!p.value.is_boolean()) return p.Wrong("true or false");
  return p.value.get<bool>();
}

absl::Status AddSize(const Place& p, int64_t size, std::vector<int64_t>* out) {
  if (out->size() == kMaxSizes) return p.Wrong(absl::StrCat("at most ", kMaxSizes, " sizes"));
  if (p.context->sizes_left-- == 0)
    return p.Wrong(absl::StrCat("at most ", kMaxAllSizes, " sizes in a manifest"));
  out->push_back(size);
  return absl::OkStatus();
}

// {"from": 1, "to": 64, "step": 1} or {"from": 1, "to": 64, "times": 2}; both ends included.
absl::Status AddRange(const Place& p, std::vector<int64_t>* out) {
  JF_RETURN_IF_ERROR(CheckObject(p, {"from", "to", "step", "times"}));
  if (!p.Has("from") || !p.Has("to") || (p.Has("step") && p.Has("times")))
    return p.Wrong("a range with \"from\", \"to\" and at most one of \"step\" and \"times\"");
  const bool times = p.Has("times");
  JF_ASSIGN_OR_RETURN(const int64_t from, ReadInt(p.At("from"), times ? 1 : 0, kMaxSize, "a size"));
  JF_ASSIGN_OR_RETURN(const int64_t to, ReadInt(p.At("to"), from, kMaxSize, "a size"));
  int64_t by = 1;
  if (times) {
    JF_ASSIGN_OR_RETURN(by, ReadInt(p.At("times"), 2, 1024, "a factor"));
  } else if (p.Has("step")) {
    JF_ASSIGN_OR_RETURN(by, ReadInt(p.At("step"), 1, kMaxSize, "a step"));
  }
  for (int64_t size = from; size <= to; size = times ? size * by : size + by)
    JF_RETURN_IF_ERROR(AddSize(p, size, out));
  return absl::OkStatus();
}

absl::Status AddSizes(const Place& p, std::vector<int64_t>* out) {
  if (p.value.is_object()) return AddRange(p, out);
  JF_ASSIGN_OR_RETURN(const int64_t size, ReadInt(p, 0, kMaxSize, "a size"));
  return AddSize(p, size, out);
}

absl::StatusOr<std::vector<int64_t>> ReadSizes(const Place& p) {
  std::vector<int64_t> out;
  const size_t n = p.value.is_array() ? p.value.size() : 1;
  if (n == 0) return p.Wrong("a size, a range or a list of them that is not empty");
  for (size_t i = 0; i < n; ++i)
    JF_RETURN_IF_ERROR(AddSizes(p.value.is_array() ? p.At(i) : p, &out));
  // Each once, where it is first named.
  std::set<int64_t> seen;
  out.erase(std::remove_if(out.begin(), out.end(),
                           [&](int64_t size) { return !seen.insert(size).second; }),
            out.end());
  return out;
}

absl::StatusOr<ManifestLayout> ReadLayout(const Place& p, bool is_output) {
  std::vector<std::string> keys = {"strides", "align"};
  if (is_output) keys.emplace_back("alias");
  JF_RETURN_IF_ERROR(CheckObject(p, keys));
  ManifestLayout out;
  if (p.Has("strides")) {
    JF_ASSIGN_OR_RETURN(out.strides,
                        ReadList<int64_t>(p.At("strides"), "strides", [](const Place& stride) {
                          return ReadInt(stride, -kMaxSize, kMaxSize, "a stride in elements");
                        }));
  }
  if (p.Has("align")) {
    JF_ASSIGN_OR_RETURN(const int64_t align, ReadInt(p.At("align"), 1, 16, "a power of two"));
    if ((align & (align - 1)) != 0) return p.At("align").Wrong("a power of two from 1 to 16");
    out.align = static_cast<int>(align);
  }
  if (p.Has("alias")) {
    JF_ASSIGN_OR_RETURN(out.alias, ReadStrings(p.At("alias")));
  }
  return out;
}

absl::Status ReadLayouts(const Place& p, ManifestCall* out) {
  if (p.Has("inputs")) {
    const Place inputs = p.At("inputs");
    if (!inputs.value.is_object()) return inputs.Wrong("an object of layouts by input");
    for (const auto& item : inputs.value.items()) {
      JF_ASSIGN_OR_RETURN(out->inputs[item.key()],
                          ReadLayout(inputs.At(item.key()), /*is_output=*/false));
    }
  }
  if (!p.Has("outputs")) return absl::OkStatus();
  const Place outputs = p.At("outputs");
  if (!outputs.value.is_object()) return outputs.Wrong("an object of layouts by output's number");
  for (const auto& item : outputs.value.items()) {
    int number = -1;
    if (!absl::SimpleAtoi(item.key(), &number) || number < 0 || item.key() != absl::StrCat(number))
      return InvalidArgument(outputs.where(), ": expected the number of an output, got '",
                             item.key().substr(0, kMaxShown), "'");
    JF_ASSIGN_OR_RETURN(out->outputs[number],
                        ReadLayout(outputs.At(item.key()), /*is_output=*/true));
  }
  return absl::OkStatus();
}

absl::StatusOr<ManifestCall> ReadCall(const Place& p) {
  JF_RETURN_IF_ERROR(CheckObject(p, {"sizes", "inputs", "outputs"}));
  ManifestCall out;
  out.where = p.where();
  size_t combinations = 1;
  if (p.Has("sizes")) {
    const Place sizes = p.At("sizes");
    if (!sizes.value.is_object()) return sizes.Wrong("an object of sizes by symbol");
    for (const auto& item : sizes.value.items()) {
      JF_ASSIGN_OR_RETURN(std::vector<int64_t> values, ReadSizes(sizes.At(item.key())));
      combinations *= values.size();
      if (combinations > kMaxSizes)
        return InvalidArgument(sizes.where(), ": expected at most ", kMaxSizes,
                               " combinations of sizes; calls of one class share their kernels, so "
                               "a few of each kind are enough, as of a range with \"times\": 2");
      out.sizes[item.key()] = std::move(values);
    }
  }
  JF_RETURN_IF_ERROR(ReadLayouts(p, &out));
  return out;
}

bool IsIdentifier(const std::string& name) {
  const auto is_word = [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), is_word);
}

absl::Status ReadDTypes(const Place& p, ManifestEntry* out) {
  if (!p.value.is_object()) return p.Wrong("an object of lists of dtypes by name");
  size_t combinations = 1;
  for (const auto& item : p.value.items()) {
    const Place place = p.At(item.key());
    if (!IsIdentifier(item.key())) return place.Wrong("letters, digits and _ as its name");
    JF_ASSIGN_OR_RETURN(std::vector<std::string> names, ReadStrings(place));
    for (size_t i = 0; i < names.size(); ++i) {
      if (ParseDType(names[i])) continue;
      std::vector<std::string> known;
      for (int d = 0; d < kNumDTypes; ++d) known.emplace_back(DTypeName(static_cast<DType>(d)));
      return place.At(i).Wrong(absl::StrCat("one of ", absl::StrJoin(known, ", ")));
    }
    combinations *= names.size();
    if (combinations == 0 || combinations > kMaxSizes)
      return place.Wrong(absl::StrCat("from 1 to ", kMaxSizes, " combinations of dtypes"));
    out->dtypes[item.key()] = std::move(names);
  }
  return absl::OkStatus();
}

absl::Status ReadOptions(const Place& p, ManifestEntry* out) {
  JF_RETURN_IF_ERROR(CheckObject(
      p, {"numerics", "fuse", "rewrite", "use_gemm_library", "max_fusions", "dynamic"}));
  if (p.Has("numerics")) {
    const json& name = p.value.at("numerics");
    if (name != "default" && name != "fast")
      return p.At("numerics").Wrong("\"default\" or \"fast\"");
    out->numerics = name == "fast" ? Numerics::kFast : Numerics::kDefault;
  }
  if (p.Has("dynamic")) {
    const json& name = p.value.at("dynamic");
    if (name != "leading" && name != "all" && name != "none")
      return p.At("dynamic").Wrong("\"leading\", \"all\" or \"none\"");
    out->dynamic = name == "all"    ? Dynamic::kAll
                   : name == "none" ? Dynamic::kNone
                                    : Dynamic::kLeading;
  }
  for (auto [key, flag] : {std::pair("fuse", &out->fuse), std::pair("rewrite", &out->rewrite),
                           std::pair("use_gemm_library", &out->use_gemm_library)}) {
    if (!p.Has(key)) continue;
    JF_ASSIGN_OR_RETURN(*flag, ReadBool(p.At(key)));
  }
  if (p.Has("max_fusions")) {
    JF_ASSIGN_OR_RETURN(out->max_fusions,
                        ReadInt(p.At("max_fusions"), -1, kMaxSize, "a number of fusions"));
  }
  return absl::OkStatus();
}

// Text is a string, or a list of its lines.
absl::StatusOr<std::string> ReadText(const Place& p) {
  if (!p.value.is_array()) return ReadString(p);
  std::string out;
  for (size_t i = 0; i < p.value.size(); ++i) {
    if (!p.value[i].is_string()) return p.At(i).Wrong("a line of graph text");
    absl::StrAppend(&out, p.value[i].get_ref<const std::string&>(), "\n");
  }
  if (out.empty()) return p.Wrong("graph text");
  return out;
}

bool IsDotted(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '.');
  return std::none_of(parts.begin(), parts.end(), [](const std::string& p) { return p.empty(); });
}

// A system call would take the part before the NUL.
absl::StatusOr<std::string> ReadName(const Place& p, const char* expected) {
  JF_ASSIGN_OR_RETURN(std::string name, ReadString(p));
  if (name.find('\0') != std::string::npos) return p.Wrong(expected);
  return name;
}

// Names of modules and functions need not be ASCII.
absl::StatusOr<std::string> ReadEntryPoint(const Place& p) {
  constexpr const char* kExpected =
      "a Python function, \"module:function\" or \"FILE.py:function\"";
  JF_ASSIGN_OR_RETURN(std::string name, ReadName(p, kExpected));
  const size_t colon = name.rfind(':');
  if (colon == std::string::npos) return p.Wrong(kExpected);
  const std::string place = name.substr(0, colon);
  const bool file = absl::EndsWith(place, ".py");
  if ((!file && !IsDotted(place)) || !IsDotted(name.substr(colon + 1))) return p.Wrong(kExpected);
  return name;
}

absl::Status ReadSource(const Place& p, ManifestEntry* out) {
  const int given = static_cast<int>(p.Has("graph")) + static_cast<int>(p.Has("text")) +
                    static_cast<int>(p.Has("python"));
  if (given != 1)
    return InvalidArgument(p.where(), ": expected one of \"graph\", \"text\" and \"python\", got ",
                           given, " of them");
  if (p.Has("args") && !p.Has("python"))
    return InvalidArgument(p.At("args").where(),
                           ": only Python functions have arguments here; "
                           "the inputs of a graph are in its text");
  if (p.Has("text")) {
    out->source = ManifestSource::kText;
    JF_ASSIGN_OR_RETURN(out->what, ReadText(p.At("text")));
    return absl::OkStatus();
  }
  out->source = p.Has("python") ? ManifestSource::kPython : ManifestSource::kFile;
  JF_ASSIGN_OR_RETURN(out->what, p.Has("python") ? ReadEntryPoint(p.At("python"))
                                                 : ReadName(p.At("graph"), "the name of a file"));
  if (p.Has("args")) {
    JF_ASSIGN_OR_RETURN(out->args, ReadStrings(p.At("args")));
  }
  return absl::OkStatus();
}

size_t Combinations(const std::map<std::string, std::vector<std::string>>& dtypes) {
  size_t out = 1;
  for (const auto& [name, list] : dtypes) out *= list.size();
  return out;
}

size_t Combinations(const ManifestCall& call) {
  size_t out = 1;
  for (const auto& [symbol, sizes] : call.sizes) out *= sizes.size();
  return out;
}

absl::Status CheckCombinations(const ManifestEntry& entry) {
  for (const ManifestCall& call : entry.calls) {
    if (Combinations(entry.dtypes) * Combinations(call) > kMaxSizes)
      return InvalidArgument(call.where, ": expected at most ", kMaxSizes,
                             " combinations of sizes and dtypes");
  }
  return absl::OkStatus();
}

absl::StatusOr<ManifestEntry> ReadEntry(const Place& p) {
  JF_RETURN_IF_ERROR(
      CheckObject(p, {"graph", "text", "python", "args", "dtypes", "options", "bound", "calls"}));
  ManifestEntry out;
  out.where = p.where();
  JF_RETURN_IF_ERROR(ReadSource(p, &out));
  if (p.Has("dtypes")) JF_RETURN_IF_ERROR(ReadDTypes(p.At("dtypes"), &out));
  if (p.Has("options")) JF_RETURN_IF_ERROR(ReadOptions(p.At("options"), &out));
  if (p.Has("bound")) {
    JF_ASSIGN_OR_RETURN(out.bound, ReadStrings(p.At("bound")));
  }
  out.calls.emplace_back().where = out.where;
  if (p.Has("calls")) {
    JF_ASSIGN_OR_RETURN(out.calls, ReadList<ManifestCall>(p.At("calls"), "calls", ReadCall));
    if (out.calls.empty()) return p.At("calls").Wrong("a list of calls that is not empty");
  }
  JF_RETURN_IF_ERROR(CheckCombinations(out));
  return out;
}

// JSON, in which no object names a key twice. Errors say line and column.
absl::StatusOr<json> ParseJson(std::string_view text, std::string_view file) {
  std::vector<std::set<std::string>> open;
  std::string twice;
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(parsed).second && twice.empty())
      twice = parsed.get<std::string>();
    return true;
  };
  try {
    json out = json::parse(text, watch);
    if (!twice.empty())
      return InvalidArgument(ToAbsl(file), ": an object has the key '", twice.substr(0, kMaxShown),
                             "' twice");
    return out;
  } catch (const json::exception& e) {  // "[json.exception.parse_error.101] parse error at ..."
    const std::string what = e.what();
    const size_t end = what.find("] ");
    return InvalidArgument(
        ToAbsl(file), ": expected JSON: ", end == std::string::npos ? what : what.substr(end + 2));
  }
}

}  // namespace

bool SameCall(const ManifestCall& a, const ManifestCall& b) {
  return a.sizes == b.sizes && a.inputs == b.inputs && a.outputs == b.outputs;
}

bool SameButCalls(const ManifestEntry& a, const ManifestEntry& b) {
  return a.source == b.source && a.what == b.what && a.args == b.args && a.dtypes == b.dtypes &&
         a.numerics == b.numerics && a.fuse == b.fuse && a.rewrite == b.rewrite &&
         a.use_gemm_library == b.use_gemm_library && a.max_fusions == b.max_fusions &&
         a.dynamic == b.dynamic && a.bound == b.bound;
}

absl::StatusOr<Manifest> ParseManifest(std::string_view text, std::string_view file) {
  if (text.size() > kMaxManifestBytes)
    return InvalidArgument(ToAbsl(file), ": expected at most ", kMaxManifestBytes, " bytes, got ",
                           text.size());
  JF_ASSIGN_OR_RETURN(const json parsed, ParseJson(text, file));
  Context context{file};
  const Place whole{parsed, "", &context};
  if (!parsed.is_object() || !parsed.contains(kHead))
    return whole.Wrong(absl::StrCat("an object with \"", kHead, "\": ", kManifestVersion));
  const Place version = whole.At(kHead);
  if (version.value != kManifestVersion)
    return version.Wrong(absl::StrCat("version ", kManifestVersion, ", which this Jitfuse reads"));
  JF_RETURN_IF_ERROR(CheckObject(whole, {kHead, "entries"}));
  if (!whole.Has("entries")) return whole.Wrong("\"entries\" in it");
  Manifest out;
  JF_ASSIGN_OR_RETURN(out.entries,
                      ReadList<ManifestEntry>(whole.At("entries"), "entries", ReadEntry));
  return out;
}

std::string WithDTypes(std::string_view text, const std::map<std::string, std::string>& dtypes) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '$') {
      while (end < text.size() &&
             (text[end] == '_' || std::isalnum(static_cast<unsigned char>(text[end])) != 0))
        ++end;
      const auto found = dtypes.find(std::string(text.substr(at + 1, end - at - 1)));
      if (found != dtypes.end()) {
        absl::StrAppend(&out, found->second);
        at = end;
        continue;
      }
    }
    out.append(text.substr(at, end - at));
    at = end;
  }
  return out;
}

std::vector<std::map<std::string, std::string>> DTypeCombinations(const ManifestEntry& entry) {
  std::vector<std::map<std::string, std::string>> out(1);
  for (const auto& [name, dtypes] : entry.dtypes) {
    std::vector<std::map<std::string, std::string>> longer;
    for (const auto& combination : out) {
      for (const std::string& dtype : dtypes) {
        longer.push_back(combination);
        longer.back()[name] = dtype;
      }
    }
    out = std::move(longer);
  }
  return out;
}

}  // namespace jitfuse::internal
