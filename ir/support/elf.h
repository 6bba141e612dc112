// ElfFile: the sections and symbols of a 64-bit little-endian ELF file: a cubin, or an object that
// LLVM wrote.
//
// In: bytes of any origin; they must outlive the ElfFile, which points into them. Out: nullopt
// unless its tables lie inside the bytes; sections whose own contents do not are empty. Reads what
// is there and relocates nothing. Must not know: what is in the sections.
#ifndef JITFUSE_IR_SUPPORT_ELF_H_
#define JITFUSE_IR_SUPPORT_ELF_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace jitfuse::internal {

struct ElfSection {
  std::string_view name;
  std::string_view bytes;  // none of those that take no room in the file
  uint64_t size = 0;
};
struct ElfSymbol {
  std::string_view name;
  uint64_t size = 0;
};

class ElfFile {
 public:
  static std::optional<ElfFile> Read(std::string_view bytes);

  const std::vector<ElfSection>& sections() const { return sections_; }
  const std::vector<ElfSymbol>& symbols() const { return symbols_; }  // by index, 0 is none
  const ElfSection* Section(std::string_view name) const;             // null: there is none
  const ElfSymbol* Symbol(std::string_view name) const;

 private:
  std::vector<ElfSection> sections_;
  std::vector<ElfSymbol> symbols_;
};

// The first bytes as a little-endian number; 0 where there are too few.
uint64_t ReadLittleEndian(std::string_view bytes, size_t offset, size_t size);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUPPORT_ELF_H_
