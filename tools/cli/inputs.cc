#include "inputs.h"

#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "jitfuse/inspect.h"
#include "npz.h"

namespace jitfuse_cli {
namespace {

using jitfuse::Array;
using jitfuse::DType;
using jitfuse::Status;
using jitfuse::StatusCode;
using jitfuse::StatusOr;

constexpr std::int64_t kDefaultSymbol = 64;
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
      if (name) symbols.emplace(dim, kDefaultSymbol);
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
      return Bad("input '" + info.name + "': more than 16 GiB of random data");
  }
  if (info.scalar) return Array::Scalar(info.dtype, RandomValue(info.dtype, rng));
  std::vector<double> values(static_cast<std::size_t>(bytes) /
                             static_cast<std::size_t>(jitfuse::ItemSize(info.dtype)));
  for (double& v : values) v = RandomValue(info.dtype, rng);
  return Array::FromValues(info.dtype, dims, values);
}

StatusOr<std::vector<Array>> FromNpz(const std::vector<jitfuse::InputInfo>& infos,
                                     const std::string& path) {
  auto file = LoadNpz(path);
  if (!file.ok()) return file.status();
  std::vector<Array> out;
  for (const jitfuse::InputInfo& info : infos) {
    auto it = file->find(info.name);
    if (it == file->end()) return Bad(path + ": expected an array named '" + info.name + "'");
    out.push_back(it->second);
  }
  return out;
}

}  // namespace

StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return Status(StatusCode::kNotFound, "cannot read " + path);
  std::error_code ignored;  // a directory opens, and its first read throws
  if (std::filesystem::is_directory(path, ignored))
    return Status(StatusCode::kNotFound, "cannot read " + path + ": it is a directory");
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (stream.bad()) return Status(StatusCode::kNotFound, "cannot read " + path);
  return text;
}

StatusOr<SymbolValues> ParseSets(const std::vector<std::string>& sets) {
  SymbolValues out;
  for (const std::string& set : sets) {
    std::size_t eq = set.find('=');
    char* end = nullptr;
    long long value = eq == std::string::npos ? -1 : std::strtoll(set.c_str() + eq + 1, &end, 10);
    if (eq == 0 || eq == std::string::npos || end == set.c_str() + eq + 1 || *end != '\0' ||
        value < 0) {
      return Bad("--set " + set + ": expected NAME=SIZE, as in n=1000");
    }
    out[set.substr(0, eq)] = value;
  }
  return out;
}

StatusOr<std::vector<Array>> MakeInputs(const std::string& text, const std::string& source,
                                        const SymbolValues& symbols) {
  auto infos = jitfuse::ParseInputs(text);
  if (!infos.ok()) return infos.status();
  std::uint64_t seed = 0;
  if (source.rfind("random:", 0) == 0) {
    const char* end = source.data() + source.size();
    auto [at, error] = std::from_chars(source.data() + 7, end, seed);
    if (error != std::errc() || at != end)
      return Bad("--inputs " + source +
                 ": expected random:SEED with a whole number from 0 to 2^64 - 1, as in random:7");
  } else if (!source.empty()) {
    if (!symbols.empty())
      return Bad("--set " + symbols.begin()->first + ": sizes come from the arrays of --inputs " +
                 source + "; leave --set out");
    return FromNpz(*infos, source);
  }
  auto dims = jitfuse::InputDims(text, WithDefaults(*infos, symbols));
  if (!dims.ok()) return dims.status();
  std::mt19937_64 rng(seed);
  std::vector<Array> out;
  for (std::size_t i = 0; i < infos->size(); ++i) {
    auto array = RandomArray((*infos)[i], (*dims)[i], &rng);
    if (!array.ok()) return array.status();
    out.push_back(*std::move(array));
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
