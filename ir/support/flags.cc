#include "ir/support/flags.h"

#include <cstdlib>

namespace jitfuse::internal {

std::string EnvString(std::string_view name, std::string_view fallback) {
  std::string key = "JITFUSE_" + std::string(name);
  const char* value = std::getenv(key.c_str());
  return value != nullptr ? value : std::string(fallback);
}

int64_t EnvInt(std::string_view name, int64_t fallback) {
  std::string text = EnvString(name);
  if (text.empty()) return fallback;
  char* end = nullptr;
  long long value = std::strtoll(text.c_str(), &end, 10);
  return *end == '\0' ? value : fallback;
}

}  // namespace jitfuse::internal
