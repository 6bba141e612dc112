#include "npz.h"

#include <zlib.h>

#include <cstring>
#include <vector>

#include "inputs.h"

namespace jitfuse_cli {
namespace {

using jitfuse::Array;
using jitfuse::DType;
using jitfuse::Status;
using jitfuse::StatusCode;
using jitfuse::StatusOr;

Status Bad(const std::string& where, const std::string& what) {
  return Status(StatusCode::kInvalidArgument, where + ": " + what);
}

// Little-endian integers at a checked place.
class Bytes {
 public:
  explicit Bytes(const std::string& data) : data_(data) {}
  bool Has(std::size_t at, std::size_t size) const {
    return at <= data_.size() && size <= data_.size() - at;
  }
  std::uint32_t U16(std::size_t at) const { return Byte(at) | Byte(at + 1) << 8; }
  std::uint32_t U32(std::size_t at) const { return U16(at) | U16(at + 2) << 16; }

 private:
  std::uint32_t Byte(std::size_t at) const { return static_cast<unsigned char>(data_[at]); }
  const std::string& data_;
};

StatusOr<std::string> Inflate(const std::string& where, const char* data, std::size_t size,
                              std::size_t expected) {
  std::string out(expected, '\0');
  z_stream z{};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return Bad(where, "zlib could not be set up");
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data));
  z.avail_in = static_cast<uInt>(size);
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(expected);
  int code = inflate(&z, Z_FINISH);
  inflateEnd(&z);
  if (code != Z_STREAM_END || z.avail_out != 0) return Bad(where, "its compressed data is damaged");
  return out;
}

StatusOr<DType> ParseDescr(const std::string& where, const std::string& descr) {
  static const std::pair<const char*, DType> kRows[] = {
      {"|b1", DType::kBool}, {"|u1", DType::kU8},  {"<u2", DType::kU16},  {"<u4", DType::kU32},
      {"<u8", DType::kU64},  {"|i1", DType::kI8},  {"<i2", DType::kI16},  {"<i4", DType::kI32},
      {"<i8", DType::kI64},  {"<f2", DType::kF16}, {"<V2", DType::kBF16}, {"|V2", DType::kBF16},
      {"<f4", DType::kF32},  {"<f8", DType::kF64}};
  for (const auto& row : kRows) {
    if (descr == row.first) return row.second;
  }
  return Bad(where, "its dtype '" + descr + "' has no counterpart here");
}

std::string Quoted(const std::string& header, const std::string& key) {
  std::size_t at = header.find("'" + key + "':");
  if (at == std::string::npos) return "";
  std::size_t open = header.find('\'', at + key.size() + 3), close = header.find('\'', open + 1);
  return open == std::string::npos || close == std::string::npos
             ? ""
             : header.substr(open + 1, close - open - 1);
}

// That the header is a dict with the keys and quotes that NumPy writes.
Status CheckHeader(const std::string& where, const std::string& header) {
  for (const char* key : {"'descr': ", "'fortran_order': ", "'shape': ("}) {
    if (header.find(key) == std::string::npos)
      return Bad(where,
                 "its header is not what NumPy writes; expected {'descr': '<f4', 'fortran_order': "
                 "False, 'shape': (4,)} with single quotes");
  }
  if (header.find("'descr': [") != std::string::npos)
    return Bad(where, "its dtype is structured; expected numbers of one type");
  return Status();
}

StatusOr<std::vector<std::int64_t>> ParseShape(const std::string& where,
                                               const std::string& header) {
  std::size_t at = header.find("'shape': (");
  if (at == std::string::npos) return Bad(where, "its header has no shape");
  std::vector<std::int64_t> dims;
  const char* p = header.c_str() + at + 10;
  while (*p != ')' && *p != '\0') {
    char* end = nullptr;
    long long d = std::strtoll(p, &end, 10);
    if (end == p || d < 0 || dims.size() >= 8)
      return Bad(where, "its header's shape is malformed or of more than 8 dims");
    dims.push_back(d);
    for (p = end; *p == ',' || *p == ' ';) ++p;
  }
  return dims;
}

// An owned contiguous array from Fortran-ordered bytes.
void CopyFortran(const char* from, Array* to) {
  auto size = static_cast<std::size_t>(jitfuse::ItemSize(to->dtype()));
  const std::vector<std::int64_t>& dims = to->dims();
  for (std::int64_t i = 0; i < to->num_elements(); ++i) {
    std::int64_t rest = i, offset = 0, stride = to->num_elements();
    std::vector<std::int64_t> coords(dims.size());
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d]) coords[d] = rest % dims[d];
    for (std::size_t d = dims.size(); d-- > 0;) {
      stride /= dims[d];
      offset += coords[d] * stride;
    }
    std::memcpy(static_cast<char*>(to->data()) + static_cast<std::size_t>(i) * size,
                from + static_cast<std::size_t>(offset) * size, size);
  }
}

StatusOr<Array> ParseNpy(const std::string& where, const std::string& data) {
  Bytes bytes(data);
  if (!bytes.Has(0, 12) || data.compare(0, 6, "\x93NUMPY") != 0)
    return Bad(where, "expected .npy data");
  const int version = static_cast<unsigned char>(data[6]);
  if (version < 1 || version > 3)
    return Bad(where, "its .npy version is " + std::to_string(version) + ", expected 1, 2 or 3");
  bool v1 = version == 1;
  std::size_t header_at = v1 ? 10 : 12, header_size = v1 ? bytes.U16(8) : bytes.U32(8);
  if (!bytes.Has(header_at, header_size)) return Bad(where, "its header is cut off");
  std::string header = data.substr(header_at, header_size);
  if (Status s = CheckHeader(where, header); !s.ok()) return s;
  auto dtype = ParseDescr(where, Quoted(header, "descr"));
  if (!dtype.ok()) return dtype.status();
  auto dims = ParseShape(where, header);
  if (!dims.ok()) return dims.status();
  std::size_t at = header_at + header_size, have = data.size() - at;
  unsigned __int128 expected = static_cast<unsigned>(
      jitfuse::ItemSize(*dtype));  // checked before anything of that size is allocated
  for (std::int64_t d : *dims) {
    expected *= static_cast<std::uint64_t>(d);
    if (expected > (static_cast<unsigned __int128>(1) << 62))
      return Bad(where, "its shape is too large");
  }
  if (have != expected) return Bad(where, "its data does not fit its shape");
  auto array = Array::Empty(*dtype, *dims);
  if (!array.ok() || have == 0) return array;
  if (header.find("'fortran_order': True") != std::string::npos) {
    CopyFortran(data.data() + at, &*array);
  } else {
    std::memcpy(array->data(), data.data() + at, have);
  }
  return array;
}

// Where the central directory of a zip file starts and how many members it has.
struct Directory {
  std::size_t at = 0, members = 0;
};

StatusOr<Directory> FindDirectory(const std::string& path, const std::string& file) {
  constexpr std::size_t kEndSize = 22;
  Bytes bytes(file);
  for (std::size_t back = kEndSize; back <= file.size() && back <= kEndSize + 65535; ++back) {
    std::size_t at = file.size() - back;
    if (bytes.U32(at) == 0x06054b50u) return Directory{bytes.U32(at + 16), bytes.U16(at + 10)};
  }
  return Bad(path, "expected a .npz (zip) file");
}

struct Member {
  std::string name;
  std::string data;
  std::size_t next = 0;  // of the next directory entry
};

Status CheckCrc(const std::string& where, const std::string& data, std::uint32_t expected) {
  uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size());
  if (crc == expected) return Status();
  return Bad(where, "its data is damaged (its CRC-32 is not the one that is stored)");
}

StatusOr<Member> ReadMember(const std::string& path, const std::string& file, std::size_t at) {
  Bytes bytes(file);
  if (!bytes.Has(at, 46) || bytes.U32(at) != 0x02014b50u)
    return Bad(path, "its directory is damaged");
  std::size_t flags = bytes.U16(at + 8), method = bytes.U16(at + 10), packed = bytes.U32(at + 20),
              size = bytes.U32(at + 24);
  std::size_t name_size = bytes.U16(at + 28), extra = bytes.U16(at + 30),
              comment = bytes.U16(at + 32), local = bytes.U32(at + 42);
  if (!bytes.Has(at + 46, name_size + extra + comment))
    return Bad(path, "its directory is cut off");
  Member out;
  out.name = file.substr(at + 46, name_size);
  out.next = at + 46 + name_size + extra + comment;
  std::string where = path + "[" + out.name + "]";
  if ((flags & 1) != 0 || packed == 0xffffffffu || size == 0xffffffffu)
    return Bad(where, "encrypted and zip64 members are not supported");
  if (!bytes.Has(local, 30) || bytes.U32(local) != 0x04034b50u)
    return Bad(where, "it is not where the directory says");
  std::size_t data_at = local + 30 + bytes.U16(local + 26) + bytes.U16(local + 28);
  if (!bytes.Has(data_at, packed)) return Bad(where, "its data is cut off");
  const std::uint32_t crc = bytes.U32(at + 16);
  if (method == 0 && packed == size) {
    out.data = file.substr(data_at, size);
    if (Status s = CheckCrc(where, out.data, crc); !s.ok()) return s;
    return out;
  }
  if (method != 8 || size > 1032 * packed + 64)
    return Bad(where, "its compression is unknown or its sizes are damaged");
  auto inflated = Inflate(where, file.data() + data_at, packed, size);
  if (!inflated.ok()) return inflated.status();
  out.data = *std::move(inflated);
  if (Status s = CheckCrc(where, out.data, crc); !s.ok()) return s;
  return out;
}

}  // namespace

StatusOr<std::map<std::string, Array>> LoadNpz(const std::string& path) {
  auto read = ReadFile(path);
  if (!read.ok()) return read.status();
  const std::string& file = *read;
  auto directory = FindDirectory(path, file);
  if (!directory.ok()) return directory.status();
  std::map<std::string, Array> out;
  std::size_t at = directory->at;
  for (std::size_t i = 0; i < directory->members; ++i) {
    auto member = ReadMember(path, file, at);
    if (!member.ok()) return member.status();
    at = member->next;
    std::string name = member->name;
    if (name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0)
      name.resize(name.size() - 4);
    auto array = ParseNpy(path + "[" + name + "]", member->data);
    if (!array.ok()) return array.status();
    out[name] = *std::move(array);
  }
  return out;
}

}  // namespace jitfuse_cli
