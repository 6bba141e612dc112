#include "ir/support/elf.h"

#include <algorithm>

namespace jitfuse::internal {
namespace {

// Offsets of the ELF64 structures (System V ABI, chapters 4 and 5).
constexpr std::string_view kMagic =
    "\x7f"
    "ELF\x02\x01";  // 64 bits, little-endian
constexpr size_t kHeaderSize = 64, kSectionSize = 64, kSymbolSize = 24;
constexpr uint64_t kSymbolTable = 2, kNoBits = 8;  // sh_type
constexpr size_t kMaxSections = 65280;             // beyond, the count is kept elsewhere

struct RawSection {
  uint64_t name = 0, type = 0, offset = 0, size = 0, link = 0;
};

std::string_view Part(std::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return bytes.substr(offset, size);
}

std::string_view TextAt(std::string_view table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest = table.substr(offset);
  return rest.substr(0, std::min(rest.find('\0'), rest.size()));
}

RawSection SectionAt(std::string_view table, size_t i) {
  const std::string_view row = table.substr(i * kSectionSize, kSectionSize);
  return {ReadLittleEndian(row, 0, 4), ReadLittleEndian(row, 4, 4), ReadLittleEndian(row, 24, 8),
          ReadLittleEndian(row, 32, 8), ReadLittleEndian(row, 40, 4)};
}

std::vector<ElfSymbol> SymbolsOf(std::string_view table, std::string_view names) {
  std::vector<ElfSymbol> out;
  for (size_t at = 0; at + kSymbolSize <= table.size(); at += kSymbolSize)
    out.push_back(
        {TextAt(names, ReadLittleEndian(table, at, 4)), ReadLittleEndian(table, at + 16, 8)});
  return out;
}

template <typename T>
const T* Named(const std::vector<T>& all, std::string_view name) {
  const auto it = std::find_if(all.begin(), all.end(), [&](const T& t) { return t.name == name; });
  return it == all.end() ? nullptr : &*it;
}

}  // namespace

uint64_t ReadLittleEndian(std::string_view bytes, size_t offset, size_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return 0;
  uint64_t v = 0;
  for (size_t i = size; i-- > 0;) v = v << 8 | static_cast<unsigned char>(bytes[offset + i]);
  return v;
}

std::optional<ElfFile> ElfFile::Read(std::string_view bytes) {
  if (bytes.size() < kHeaderSize || bytes.substr(0, kMagic.size()) != kMagic) return std::nullopt;
  const uint64_t at = ReadLittleEndian(bytes, 40, 8), count = ReadLittleEndian(bytes, 60, 2),
                 names_index = ReadLittleEndian(bytes, 62, 2);
  const std::string_view table = Part(bytes, at, count * kSectionSize);
  if (ReadLittleEndian(bytes, 58, 2) != kSectionSize || count == 0 || count > kMaxSections ||
      names_index >= count || table.empty())
    return std::nullopt;
  std::vector<RawSection> raw;
  for (size_t i = 0; i < count; ++i) raw.push_back(SectionAt(table, i));
  const auto contents = [&](const RawSection& s) {
    return s.type == kNoBits ? std::string_view() : Part(bytes, s.offset, s.size);
  };
  const std::string_view names = contents(raw[names_index]);
  ElfFile out;
  for (const RawSection& s : raw) {
    out.sections_.push_back({TextAt(names, s.name), contents(s), s.size});
    if (s.type == kSymbolTable && s.link < count)
      out.symbols_ = SymbolsOf(contents(s), contents(raw[s.link]));
  }
  return out;
}

const ElfSection* ElfFile::Section(std::string_view name) const { return Named(sections_, name); }
const ElfSymbol* ElfFile::Symbol(std::string_view name) const { return Named(symbols_, name); }

}  // namespace jitfuse::internal
