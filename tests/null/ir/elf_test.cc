// ElfFile: a small file built here, and everything that can be wrong with one.
#include "ir/support/elf.h"

#include <string>

#include "gtest/gtest.h"

namespace jitfuse::internal {
namespace {

void Put(uint64_t value, size_t size, std::string* out) {
  for (size_t i = 0; i < size; ++i) out->push_back(static_cast<char>(i < 8 ? value >> (8 * i) : 0));
}

struct Row {
  std::string name;
  uint64_t type = 1;  // SHT_PROGBITS
  std::string bytes;
  uint64_t size = 0;  // of those without bytes
  uint64_t link = 0;
};

// Header, contents, section table; names are in section 1.
std::string Elf(std::vector<Row> rows) {
  std::string names(1, '\0');
  std::vector<size_t> name_at;
  for (const Row& row : rows) {
    name_at.push_back(names.size());
    names += row.name + '\0';
  }
  rows[1].bytes = names;
  std::string contents;
  std::string table;
  for (size_t i = 0; i < rows.size(); ++i) {
    Put(name_at[i], 4, &table);
    Put(rows[i].type, 4, &table);
    Put(0, 16, &table);
    Put(64 + contents.size(), 8, &table);
    Put(rows[i].bytes.empty() ? rows[i].size : rows[i].bytes.size(), 8, &table);
    Put(rows[i].link, 4, &table);
    Put(0, 20, &table);
    contents += rows[i].bytes;
  }
  std::string out(
      "\x7f"
      "ELF\x02\x01",
      6);
  out.resize(40);
  Put(64 + contents.size(), 8, &out);
  out.resize(58);
  Put(64, 2, &out);
  Put(rows.size(), 2, &out);
  Put(1, 2, &out);
  return out + contents + table;
}

std::string Symbol(uint64_t name, uint64_t size) {
  std::string out;
  Put(name, 4, &out);
  out.resize(16);
  Put(size, 8, &out);
  return out;
}

std::string Example() {
  return Elf({{"", 0, "", 0, 0},
              {".shstrtab", 3, "", 0, 0},
              {".text.k", 1, "code", 0, 0},
              {".nv.shared.k", 8, "", 1280, 0},
              {".symtab", 2, Symbol(0, 0) + Symbol(1, 77), 0, 5},
              {".strtab", 3, std::string("\0kernel\0", 8), 0, 0}});
}

TEST(ElfFile, SectionsAndSymbols) {
  const std::string bytes = Example();
  const std::optional<ElfFile> file = ElfFile::Read(bytes);
  ASSERT_TRUE(file.has_value());
  ASSERT_NE(file->Section(".text.k"), nullptr);
  EXPECT_EQ(file->Section(".text.k")->bytes, "code");
  EXPECT_EQ(file->Section(".nv.shared.k")->size, 1280u);
  EXPECT_TRUE(file->Section(".nv.shared.k")->bytes.empty());
  EXPECT_EQ(file->Section(".data"), nullptr);
  ASSERT_NE(file->Symbol("kernel"), nullptr);
  EXPECT_EQ(file->Symbol("kernel")->size, 77u);
  EXPECT_EQ(file->Symbol("other"), nullptr);
}

TEST(ElfFile, WhatIsNoElfIsNothing) {
  const std::string bytes = Example();
  EXPECT_FALSE(ElfFile::Read("").has_value());
  EXPECT_FALSE(
      ElfFile::Read("not an ELF file, but longer than the header of one is: 64 bytes").has_value());
  for (const auto& [at, value] : {std::pair<size_t, char>{4, 1}, {5, 2}, {58, 63}, {62, 9}}) {
    std::string wrong = bytes;
    wrong[at] = value;
    EXPECT_FALSE(ElfFile::Read(wrong).has_value()) << at;
  }
}

// Whatever the bytes are, what is pointed to lies inside of them.
TEST(ElfFile, EveryTruncationAndEveryFlippedByteIsRead) {
  const std::string bytes = Example();
  const auto check = [](const std::string& file) {
    const std::optional<ElfFile> read = ElfFile::Read(file);
    if (!read) return;
    for (const ElfSection& s : read->sections()) {
      if (s.bytes.empty()) continue;
      EXPECT_GE(s.bytes.data(), file.data());
      EXPECT_LE(s.bytes.data() + s.bytes.size(), file.data() + file.size());
    }
  };
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(ElfFile::Read(std::string_view(bytes).substr(0, n)).has_value()) << n;
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[n] = static_cast<char>(changed[n] ^ flip);
      check(changed);
    }
  }
}

TEST(ElfFile, NumbersBeyondTheEndAreZero) {
  EXPECT_EQ(ReadLittleEndian("\x01\x02", 0, 2), 0x201u);
  EXPECT_EQ(ReadLittleEndian("\x01\x02", 1, 2), 0u);
  EXPECT_EQ(ReadLittleEndian("\x01\x02", 9, 1), 0u);
}

}  // namespace
}  // namespace jitfuse::internal
