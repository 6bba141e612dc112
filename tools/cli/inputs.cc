#include "inputs.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <system_error>

#include "jitfuse/inspect.h"
#include "npz.h"

namespace jitfuse_cli {
namespace {

using jitfuse::Array;
using jitfuse::DType;
using jitfuse::Status;
using jitfuse::StatusCode;
using jitfuse::StatusOr;

constexpr std::int64_t kMaxRandomBytes = std::int64_t{1} << 34;

Status Bad(const std::string& what) { return Status(StatusCode::kInvalidArgument, what); }

bool IsFloat(DType d) {
  return d == DType::kF16 || d == DType::kBF16 || d == DType::kF32 || d == DType::kF64;
}
bool IsUnsigned(DType d) {
  return d == DType::kU8 || d == DType::kU16 || d == DType::kU32 || d == DType::kU64;
}

// mt19937_64 is specified bit for bit; the library's distributions are not, so the mapping is
// written out.
double RandomValue(DType dtype, std::mt19937_64* rng) {
  std::uint64_t bits = (*rng)();
  if (IsFloat(dtype)) return static_cast<double>(bits >> 11) * 0x1p-51 - 2.0;
  if (dtype == DType::kBool) return static_cast<double>(bits >> 63);
  return static_cast<double>(bits >> 61) + (IsUnsigned(dtype) || (bits & 1) == 0 ? 0.0 : -8.0);
}

// Symbols of the signature, found in its dims, that have no value yet get the default.
SymbolValues WithDefaults(const std::vector<jitfuse::InputInfo>& infos, SymbolValues symbols) {
  for (const jitfuse::InputInfo& info : infos) {
    for (const std::string& dim : info.dims) {
      bool name =
          !dim.empty() && (std::isalpha(static_cast<unsigned char>(dim[0])) || dim[0] == '_');
      for (char c : dim) name = name && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
      if (name) symbols.emplace(dim, kDefaultSize);
    }
  }
  return symbols;
}

StatusOr<Array> RandomArray(const jitfuse::InputInfo& info, const std::vector<std::int64_t>& dims,
                            std::mt19937_64* rng) {
  unsigned __int128 bytes = static_cast<unsigned>(jitfuse::ItemSize(info.dtype));
  for (std::int64_t d : dims) {
    bytes *= static_cast<std::uint64_t>(d);
    if (bytes > static_cast<unsigned __int128>(kMaxRandomBytes))
      return Bad(
          "input '" + info.name +
          "': more than 16 GiB of random data; --set gives a smaller size, --inputs FILE.npz "
          "arrays of any");
  }
  if (info.scalar) return Array::Scalar(info.dtype, RandomValue(info.dtype, rng));
  std::vector<double> values(static_cast<std::size_t>(bytes) /
                             static_cast<std::size_t>(jitfuse::ItemSize(info.dtype)));
  for (double& v : values) v = RandomValue(info.dtype, rng);
  return Array::FromValues(info.dtype, dims, values);
}

// An array that holds one integer from 0 to 2^64 - 1; nothing where the file has none of that name.
StatusOr<std::optional<std::uint64_t>> Whole(const std::map<std::string, Array>& file,
                                             const std::string& path, const char* name) {
  auto it = file.find(name);
  if (it == file.end()) return std::optional<std::uint64_t>();
  const Array& a = it->second;
  if (a.num_elements() == 1 && a.dtype() == DType::kU64)
    return std::optional(*static_cast<const std::uint64_t*>(a.data()));
  if (a.num_elements() == 1 && a.dtype() == DType::kI64) {
    const auto v = *static_cast<const std::int64_t*>(a.data());
    if (v >= 0) return std::optional(static_cast<std::uint64_t>(v));
  }
  return Bad(path + ": array '" + name +
             "': expected one integer from 0 to 2^64 - 1, of type u64 or i64");
}

std::string Listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

// What no parameter takes is most often a name that was meant to be one.
void WarnOfOthers(const std::map<std::string, Array>& file, const std::vector<std::string>& inputs,
                  const std::string& path) {
  for (const auto& [name, array] : file) {
    if (name == "rng_seed" || name == "rng_offset") continue;
    if (std::find(inputs.begin(), inputs.end(), name) != inputs.end()) continue;
    std::fprintf(stderr, "jitfuse: warning: %s: array '%s' is not used; the graph's inputs: %s\n",
                 path.c_str(), name.c_str(), Listed(inputs).c_str());
  }
}

StatusOr<Inputs> FromNpz(const std::vector<jitfuse::InputInfo>& infos, const std::string& path,
                         const std::map<std::string, Array>& given) {
  auto file = LoadNpz(path);
  if (!file.ok()) return file.status();
  Inputs out;
  std::vector<std::string> inputs, arrays;
  for (const jitfuse::InputInfo& info : infos) inputs.push_back(info.name);
  for (const auto& [name, array] : *file) arrays.push_back(name);
  for (const std::string& input : inputs) {
    auto it = file->find(input);
    if (auto known = given.find(input); it == file->end() && known != given.end()) {
      out.arrays.push_back(known->second);
      continue;
    }
    if (it == file->end())
      return Bad(path + ": expected an array named '" + input + "'; the graph's inputs: " +
                 Listed(inputs) + "; the file's arrays: " + Listed(arrays));
    out.arrays.push_back(it->second);
  }
  WarnOfOthers(*file, inputs, path);
  auto seed = Whole(*file, path, "rng_seed"), offset = Whole(*file, path, "rng_offset");
  if (!seed.ok()) return seed.status();
  if (!offset.ok()) return offset.status();
  out.seed = *seed;
  out.offset = *offset;
  return out;
}

bool IsRandom(const std::string& source) { return source.rfind("random:", 0) == 0; }

// Of "random:SEED"; "" is random:0.
StatusOr<std::uint64_t> SeedOf(const std::string& source) {
  std::uint64_t seed = 0;
  if (source.empty()) return seed;
  const char* end = source.data() + source.size();
  auto [at, error] = std::from_chars(source.data() + 7, end, seed);
  if (error == std::errc() && at == end) return seed;
  return Bad("--inputs " + source +
             ": expected random:SEED with a whole number from 0 to 2^64 - 1, as in random:7");
}

}  // namespace

StatusOr<std::string> ReadFile(const std::string& path) {
  auto failed = [&path] {
    return Status(StatusCode::kNotFound,
                  "cannot read " + path + ": " + std::generic_category().message(errno));
  };
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return failed();
  std::error_code ignored;  // a directory opens, and its first read throws
  if (std::filesystem::is_directory(path, ignored))
    return Status(StatusCode::kNotFound, "cannot read " + path + ": it is a directory");
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (stream.bad()) return failed();
  return text;
}

StatusOr<SymbolValues> ParseSets(const std::vector<std::string>& sets) {
  SymbolValues out;
  for (const std::string& set : sets) {
    std::size_t eq = set.find('=');
    std::int64_t value = -1;
    const char* end = set.data() + set.size();
    bool whole = eq != std::string::npos && eq > 0;
    if (whole) {
      auto [at, error] = std::from_chars(set.data() + eq + 1, end, value);
      whole = error == std::errc() && at == end && value >= 0;
    }
    if (!whole)
      return Bad("--set " + set +
                 ": expected NAME=SIZE with a whole number from 0 to 2^63 - 1, as in n=1000");
    const auto [before, first] = out.emplace(set.substr(0, eq), value);
    if (!first)
      return Bad("--set " + set + ": " + before->first + " is given twice (" +
                 std::to_string(before->second) + " before); expected one size for each symbol");
  }
  return out;
}

StatusOr<std::uint64_t> ParseWhole(const std::string& option, const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && at == end) return value;
  return Bad(option + " " + text + ": expected a whole number from 0 to 2^64 - 1, as in 7");
}

Status CheckSource(const std::string& source, const SymbolValues& symbols) {
  if (source.empty() || IsRandom(source)) return SeedOf(source).status();
  if (symbols.empty()) return Status();
  return Bad("--set " + symbols.begin()->first + ": sizes come from the arrays of --inputs " +
             source + "; leave --set out");
}

StatusOr<Inputs> MakeInputs(const std::string& text, const std::string& source,
                            const SymbolValues& symbols,
                            const std::map<std::string, Array>& given) {
  auto infos = jitfuse::ParseInputs(text);
  if (!infos.ok()) return infos.status();
  if (!source.empty() && !IsRandom(source)) return FromNpz(*infos, source, given);
  auto seed = SeedOf(source);
  if (!seed.ok()) return seed.status();
  auto dims = jitfuse::InputDims(text, WithDefaults(*infos, symbols));
  if (!dims.ok()) return dims.status();
  std::mt19937_64 rng(*seed);
  Inputs out;
  for (std::size_t i = 0; i < infos->size(); ++i) {
    if (auto known = given.find((*infos)[i].name); known != given.end()) {
      out.arrays.push_back(known->second);
      continue;
    }
    auto array = RandomArray((*infos)[i], (*dims)[i], &rng);
    if (!array.ok()) return array.status();
    out.arrays.push_back(*std::move(array));
  }
  return out;
}

StatusOr<std::vector<Array>> MakeShapes(const std::string& text, const SymbolValues& symbols) {
  auto infos = jitfuse::ParseInputs(text);
  if (!infos.ok()) return infos.status();
  auto dims = jitfuse::InputDims(text, WithDefaults(*infos, symbols));
  if (!dims.ok()) return dims.status();
  std::vector<Array> out;
  for (std::size_t i = 0; i < infos->size(); ++i) {
    out.push_back(Array::View(static_cast<void*>(nullptr), (*infos)[i].dtype, (*dims)[i]));
  }
  return out;
}

}  // namespace jitfuse_cli
