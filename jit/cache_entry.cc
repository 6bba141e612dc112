#include "jit/cache_entry.h"

#include <zstd.h>

#include <cctype>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/support/check.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr std::string_view kMagic = "JITFUSE\n";
constexpr size_t kHead = 8 + 8 + 8 + 8 + 16;  // magic, format, body's size, packed size, checksum
constexpr uint64_t kMaxBody = uint64_t{1} << 30;
constexpr int kLevel = 3;
constexpr char kOwnName = '\x01';  // stands for the kernel's name; no source has it

void PutInt(uint64_t v, std::string* out) {
  for (int i = 0; i < 8; ++i) out->push_back(static_cast<char>(v >> (8 * i)));
}

uint64_t GetInt(std::string_view bytes) {
  uint64_t v = 0;
  for (size_t i = 0; i < 8; ++i)
    v |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return v;
}

void PutString(std::string_view s, std::string* out) {
  PutInt(s.size(), out);
  out->append(s);
}

bool GetString(std::string_view* bytes, std::string* out) {
  if (bytes->size() < 8) return false;
  const uint64_t size = GetInt(*bytes);
  if (size > bytes->size() - 8) return false;
  *out = std::string(bytes->substr(8, size));
  bytes->remove_prefix(8 + size);
  return true;
}

// Over everything but itself.
std::string Checksum(std::string_view head, std::string_view packed) {
  const Hash128 hash = Hasher().String(head).String(packed).Finish();
  std::string out;
  PutInt(hash.lo, &out);
  PutInt(hash.hi, &out);
  return out;
}

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Copies a source without its comments and empty lines, with the kernel's name replaced.
class Canonizer {
 public:
  Canonizer(const KernelSource& source)
      : text_(source.text), entry_(source.entry), cuda_(source.lang == SourceLang::kCuda) {}

  std::string Run() {
    out_.reserve(text_.size());
    while (at_ < text_.size()) Step();
    EndLine();
    return std::move(out_);
  }

 private:
  bool At(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

  void Step() {
    const char c = text_[at_];
    if (c == '\n') {
      EndLine();
      ++at_;
    } else if (c == '"' || (cuda_ && c == '\'')) {
      CopyQuoted(c);
    } else if (At(cuda_ ? "//" : ";")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (cuda_ && At("/*")) {
      const size_t end = text_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? text_.size() : end + 2;
      out_.push_back(' ');
    } else if (IsWord(c)) {
      CopyWord();
    } else {
      out_.push_back(c);
      ++at_;
    }
  }

  void CopyQuoted(char quote) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += cuda_ && text_[end] == '\\' ? 2 : 1;
    end = std::min(end + 1, text_.size());
    out_.append(text_.substr(at_, end - at_));
    at_ = end;
  }

  void CopyWord() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsWord(text_[at_])) ++at_;
    std::string_view word = text_.substr(begin, at_ - begin);
    const bool own = !entry_.empty() && word.substr(0, entry_.size()) == entry_ &&
                     (word.size() == entry_.size() || word[entry_.size()] == '_');
    if (own) {
      out_.push_back(kOwnName);
      word.remove_prefix(entry_.size());
    }
    out_.append(word);
  }

  void EndLine() {
    while (!out_.empty() && (out_.back() == ' ' || out_.back() == '\t')) out_.pop_back();
    if (!out_.empty() && out_.back() != '\n') out_.push_back('\n');
  }

  const std::string_view text_, entry_;
  const bool cuda_;
  size_t at_ = 0;
  std::string out_;
};

absl::StatusOr<std::string> Unpack(std::string_view packed, uint64_t size) {
  std::string body(size, '\0');
  const size_t got = ZSTD_decompress(body.data(), body.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) != 0 || got != size)
    return absl::DataLossError("its body cannot be decompressed");
  return body;
}

}  // namespace

Hash128 CacheKey::Hash() const {
  return Hasher()
      .Int(kCacheFormat)
      .String(backend)
      .String(arch)
      .String(options)
      .String(toolchain)
      .String(source)
      .Finish();
}

std::string CanonicalSource(const KernelSource& source) { return Canonizer(source).Run(); }

CacheKey KeyOf(const KernelSource& source, std::string_view backend) {
  return {std::string(backend), source.arch, absl::StrJoin(source.options, " "), "",
          CanonicalSource(source)};
}

std::string ToolchainName(std::string_view compiler_id) {
  std::string out;
  for (char c : compiler_id) {
    const bool keep =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || (c == '.' && !out.empty());
    if (keep) {
      out.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    } else if (!out.empty() && out.back() != '-') {
      out.push_back('-');
    }
  }
  return out;
}

std::string FrameEntry(std::string_view body) {
  std::string packed(ZSTD_compressBound(body.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), body.data(), body.size(), kLevel);
  JF_CHECK(ZSTD_isError(size) == 0);
  packed.resize(size);
  std::string head(kMagic);
  PutInt(kCacheFormat, &head);
  PutInt(body.size(), &head);
  PutInt(packed.size(), &head);
  return absl::StrCat(head, Checksum(head, packed), packed);
}

std::string EncodeEntry(const CacheEntry& entry) {
  std::string body;
  for (const std::string* s :
       {&entry.key.backend, &entry.key.arch, &entry.key.options, &entry.key.toolchain,
        &entry.key.source, &entry.symbol, &entry.log, &entry.code})
    PutString(*s, &body);
  return FrameEntry(body);
}

absl::StatusOr<CacheEntry> DecodeEntry(std::string_view file) {
  if (file.size() < kHead) return absl::DataLossError("it is shorter than an entry's head");
  if (file.substr(0, kMagic.size()) != kMagic)
    return absl::DataLossError("it does not begin as an entry does");
  const std::string_view head = file.substr(0, kHead - 16), packed = file.substr(kHead);
  if (const uint64_t format = GetInt(head.substr(8)); format != kCacheFormat)
    return absl::DataLossError(
        absl::StrCat("it has format ", format, ", not ", kCacheFormat, " as is written here"));
  const uint64_t size = GetInt(head.substr(16));
  if (GetInt(head.substr(24)) != packed.size() || size > kMaxBody)
    return absl::DataLossError("its size is not what its head says");
  if (Checksum(head, packed) != file.substr(kHead - 16, 16))
    return absl::DataLossError("its checksum does not match");
  JF_ASSIGN_OR_RETURN(const std::string body, Unpack(packed, size));
  CacheEntry entry;
  std::string_view rest = body;
  for (std::string* s :
       {&entry.key.backend, &entry.key.arch, &entry.key.options, &entry.key.toolchain,
        &entry.key.source, &entry.symbol, &entry.log, &entry.code}) {
    if (!GetString(&rest, s)) return absl::DataLossError("its body is too short");
  }
  if (!rest.empty()) return absl::DataLossError("its body is too long");
  return entry;
}

}  // namespace jitfuse::internal
