#include "jit/cuda/cubin_info.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace jitfuse::internal {
namespace {

// ELF for 64 bits, little-endian.
constexpr size_t kHeader = 64, kSection = 64, kSymbol = 24;
constexpr uint32_t kSymbolTable = 2;
// Attributes of the section .nv.info: one byte of form, one of kind, two of a value or a size.
constexpr uint8_t kSized = 4;  // the form: so many bytes follow
constexpr uint8_t kFrameSize = 0x11, kRegisterCount = 0x2f;

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  size_t size() const { return bytes_.size(); }
  // 0 beyond the end.
  template <typename T>
  T At(uint64_t at) const {
    T out = 0;
    if (at <= size() && sizeof(T) <= size() - at) std::memcpy(&out, bytes_.data() + at, sizeof(T));
    return out;
  }
  Bytes Slice(uint64_t at, uint64_t length) const {
    if (at > size()) return Bytes("");
    return Bytes(bytes_.substr(at, length));
  }
  std::string_view StringAt(uint64_t at) const {
    if (at >= size()) return "";
    const std::string_view rest = bytes_.substr(at);
    return rest.substr(0, rest.find('\0'));
  }

 private:
  std::string_view bytes_;
};

struct Section {
  std::string_view name;
  uint32_t type = 0, link = 0;
  Bytes bytes{""};
};

std::vector<Section> SectionsOf(const Bytes& file) {
  std::vector<Section> out;
  const auto table = file.At<uint64_t>(40);
  const uint16_t count = file.At<uint16_t>(60), names_at = file.At<uint16_t>(62);
  const auto header = [&](uint64_t i) { return table + i * kSection; };
  if (file.At<uint32_t>(0) != 0x464c457f || file.size() < kHeader || table > file.size())
    return out;
  const Bytes names = file.Slice(file.At<uint64_t>(header(names_at) + 24),
                                 file.At<uint64_t>(header(names_at) + 32));
  for (uint16_t i = 0; i < count; ++i) {
    const uint64_t at = header(i);
    out.push_back({names.StringAt(file.At<uint32_t>(at)), file.At<uint32_t>(at + 4),
                   file.At<uint32_t>(at + 40),
                   file.Slice(file.At<uint64_t>(at + 24), file.At<uint64_t>(at + 32))});
  }
  return out;
}

// The number of a symbol in the cubin's symbol table.
std::optional<uint32_t> SymbolNamed(const std::vector<Section>& sections, std::string_view name) {
  for (const Section& section : sections) {
    if (section.type != kSymbolTable || section.link >= sections.size()) continue;
    const Bytes& strings = sections[section.link].bytes;
    for (uint64_t at = 0; at + kSymbol <= section.bytes.size(); at += kSymbol) {
      if (strings.StringAt(section.bytes.At<uint32_t>(at)) == name)
        return static_cast<uint32_t>(at / kSymbol);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<CubinInfo> ReadCubinInfo(std::string_view cubin, std::string_view kernel) {
  const std::vector<Section> sections = SectionsOf(Bytes(cubin));
  const std::optional<uint32_t> symbol = SymbolNamed(sections, kernel);
  if (!symbol) return std::nullopt;
  CubinInfo out;
  bool found = false;
  for (const Section& section : sections) {
    if (section.name != ".nv.info") continue;
    for (uint64_t at = 0; at + 4 <= section.bytes.size();) {
      const auto form = section.bytes.At<uint8_t>(at), kind = section.bytes.At<uint8_t>(at + 1);
      const uint64_t size = form == kSized ? section.bytes.At<uint16_t>(at + 2) : 0;
      if (size == 8 && section.bytes.At<uint32_t>(at + 4) == *symbol) {
        const auto value = static_cast<int>(section.bytes.At<uint32_t>(at + 8));
        if (kind == kRegisterCount) out.registers = value;
        if (kind == kFrameSize) out.local_bytes = value;
        found = found || kind == kRegisterCount;
      }
      at += 4 + size;
    }
  }
  return found ? std::optional(out) : std::nullopt;
}

}  // namespace jitfuse::internal
