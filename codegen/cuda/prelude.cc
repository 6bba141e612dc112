#include "codegen/cuda/prelude.h"

#include <cctype>
#include <cstddef>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

struct Part {
  std::vector<std::string> names;
  std::string text;
};

struct Prelude {
  std::vector<Part> parts;
  absl::flat_hash_map<std::string, size_t> by_name;
};

constexpr std::string_view kFiles[] = {
#define JF_PRELUDE(name, text) text,
#include "codegen/cuda/prelude_sources.inc"
#undef JF_PRELUDE
};

void AddFile(std::string_view file, Prelude* prelude) {
  Part* part = nullptr;
  for (absl::string_view line : absl::StrSplit(ToAbsl(file), '\n')) {
    if (absl::string_view names = line; names.substr(0, 4) == "//: ") {
      part = &prelude->parts.emplace_back();
      for (absl::string_view name : absl::StrSplit(names.substr(4), ' ', absl::SkipEmpty()))
        part->names.emplace_back(name);
    } else if (part != nullptr && !line.empty() && line.substr(0, 2) != "//") {
      absl::StrAppend(&part->text, line, "\n");
    }
  }
}

const Prelude& ThePrelude() {
  static const Prelude* const prelude = [] {
    auto* p = new Prelude;
    for (std::string_view file : kFiles) AddFile(file, p);
    for (size_t i = 0; i < p->parts.size(); ++i) {
      for (const std::string& name : p->parts[i].names) p->by_name[name] = i;
    }
    return p;
  }();
  return *prelude;
}

bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Calls fn for each identifier of the text that names a part.
template <typename Fn>
void ForEachPartNamed(std::string_view text, const Prelude& prelude, Fn fn) {
  for (size_t i = 0; i < text.size();) {
    if (!IsWordChar(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && IsWordChar(text[end])) ++end;
    // All names of the prelude start alike; a test holds this.
    if (text[i] == 'j' || text[i] == 'J') {
      auto it = prelude.by_name.find(absl::string_view(text.data() + i, end - i));
      if (it != prelude.by_name.end()) fn(it->second);
    }
    i = end;
  }
}

void Emit(size_t index, const Prelude& prelude, std::vector<bool>* done, std::string* out) {
  if ((*done)[index]) return;
  (*done)[index] = true;
  const Part& part = prelude.parts[index];
  ForEachPartNamed(part.text, prelude, [&](size_t used) { Emit(used, prelude, done, out); });
  absl::StrAppend(out, part.text);
}

}  // namespace

std::string PreludeFor(std::string_view text) {
  const Prelude& prelude = ThePrelude();
  std::vector<bool> done(prelude.parts.size());
  std::string out;
  ForEachPartNamed(text, prelude, [&](size_t used) { Emit(used, prelude, &done, &out); });
  return out;
}

std::vector<std::string> PreludeNames() {
  std::vector<std::string> out;
  for (const Part& part : ThePrelude().parts)
    out.insert(out.end(), part.names.begin(), part.names.end());
  return out;
}

}  // namespace jitfuse::internal
