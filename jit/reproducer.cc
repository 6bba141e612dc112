#include "jit/reproducer.h"

#include <array>
#include <cctype>
#include <cstdint>
#include <new>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/support/dump.h"
#include "ir/support/status.h"
#include "ir/text.h"

namespace jitfuse::internal {
namespace {

uint32_t Crc32(std::string_view data, uint32_t crc) {
  static const auto table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = (c & 1) != 0 ? 0xedb88320u ^ (c >> 1) : c >> 1;
      t[i] = c;
    }
    return t;
  }();
  crc = ~crc;
  for (char c : data) crc = table[(crc ^ static_cast<uint8_t>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

void Put(std::string* out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

std::string_view DescrOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "|b1";
    case DType::kI8:
      return "|i1";
    case DType::kU8:
      return "|u1";
    case DType::kI16:
      return "<i2";
    case DType::kU16:
      return "<u2";
    case DType::kI32:
      return "<i4";
    case DType::kU32:
      return "<u4";
    case DType::kI64:
      return "<i8";
    case DType::kU64:
      return "<u8";
    case DType::kF16:
      return "<f2";
    case DType::kBF16:
      return "|V2";
    case DType::kF32:
      return "<f4";
    case DType::kF64:
      break;
  }
  return "<f8";
}

// The head of a .npy file, of a multiple of 64 bytes.
std::string NpyHead(const HostTensor& t) {
  std::string header =
      absl::StrCat("{'descr': '", ToAbsl(DescrOf(t.dtype)), "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(t.dims, ", "), t.dims.size() == 1 ? ",), }" : "), }");
  constexpr size_t kBefore = 10;
  header.append(63 - (kBefore + header.size()) % 64, ' ');
  header.push_back('\n');
  std::string out("\x93NUMPY\x01\x00", 8);
  Put(&out, header.size(), 2);
  return out + header;
}

// Version, flags, method 0, date (1980-01-01), CRC, sizes, length of the name, none of more fields.
void PutEntry(std::string* out, uint32_t crc, uint64_t size, const std::string& name) {
  Put(out, 20, 2);
  Put(out, 0, 4);
  Put(out, 0, 2);
  Put(out, 0x21, 2);
  Put(out, crc, 4);
  Put(out, size, 4);
  Put(out, size, 4);
  Put(out, name.size(), 2);
  Put(out, 0, 2);
}

std::string ShellWord(const std::string& word) {
  bool plain = !word.empty();
  for (char c : word)
    plain = plain && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '_' ||
                      c == '-' || c == '.');
  if (plain) return word;
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

absl::StatusOr<std::string> WriteInputs(const Graph& graph, absl::Span<const HostTensor> inputs) {
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) names.push_back(graph.input_name(static_cast<int>(i)));
  try {
    JF_ASSIGN_OR_RETURN(const std::string bytes, EncodeNpz(names, inputs));
    std::string path = WriteDump(graph.name(), "npz", bytes);
    if (path.empty()) return absl::UnavailableError("no file could be written");
    return path;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("no memory to write them with");
  }
}

}  // namespace

absl::StatusOr<std::string> EncodeNpz(absl::Span<const std::string> names,
                                      absl::Span<const HostTensor> arrays, uint64_t limit) {
  uint64_t total = 22;
  for (size_t i = 0; i < arrays.size(); ++i)
    total += arrays[i].bytes.size() + 512 + 2 * names[i].size() + 32 * arrays[i].dims.size();
  if (total > limit)
    return absl::OutOfRangeError(
        absl::StrCat("they have some ", total, " bytes, a zip file at most ", limit));
  std::string out, directory;
  out.reserve(total);
  for (size_t i = 0; i < arrays.size(); ++i) {
    const std::string name = names[i] + ".npy", head = NpyHead(arrays[i]);
    const std::string_view data(reinterpret_cast<const char*>(arrays[i].bytes.data()),
                                arrays[i].bytes.size());
    const uint32_t crc = Crc32(data, Crc32(head, 0));
    const uint64_t size = head.size() + data.size(), at = out.size();
    Put(&out, 0x04034b50, 4);
    PutEntry(&out, crc, size, name);
    out += name;
    out += head;
    out += data;
    Put(&directory, 0x02014b50, 4);
    Put(&directory, 20, 2);
    PutEntry(&directory, crc, size, name);
    Put(&directory, 0, 6);  // no comment, disk 0, no attributes
    Put(&directory, 0, 4);
    Put(&directory, at, 4);
    directory += name;
  }
  const uint64_t at = out.size();
  out += directory;
  Put(&out, 0x06054b50, 4);
  Put(&out, 0, 4);
  Put(&out, arrays.size(), 2);
  Put(&out, arrays.size(), 2);
  Put(&out, directory.size(), 4);
  Put(&out, at, 4);
  Put(&out, 0, 2);
  return out;
}

Reproducer WriteReproducer(const Graph& graph, absl::Span<const HostTensor> inputs,
                           absl::Span<const std::string> head, std::string_view options) {
  Reproducer out;
  std::string text;
  for (const std::string& line : head) absl::StrAppend(&text, "# ", line, "\n");
  out.graph_path = WriteDump(graph.name(), "jf", text + GraphToString(graph));
  if (out.graph_path.empty()) {
    out.text = "it cannot be reproduced from files: none could be written";
    return out;
  }
  absl::StatusOr<std::string> path = WriteInputs(graph, inputs);
  if (!path.ok()) {
    out.text = absl::StrCat("the graph is in ", out.graph_path,
                            "; its inputs are lost: ", path.status().message());
    return out;
  }
  out.inputs_path = *std::move(path);
  out.command = absl::StrCat("jitfuse run ", ShellWord(out.graph_path), " --inputs ",
                             ShellWord(out.inputs_path), options.empty() ? "" : " ",
                             ToAbsl(options), " --check");
  out.text = "reproduce it with: " + out.command;
  return out;
}

}  // namespace jitfuse::internal
