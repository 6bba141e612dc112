#include "entry.h"

#include <cctype>
#include <filesystem>
#include <system_error>

namespace jitfuse_cli {
namespace {

using jitfuse::Status;
using jitfuse::StatusCode;

// Letters, digits, underscores and dots, as in "package.module"; bytes above 127 are letters.
bool IsDottedName(const std::string& name) {
  bool starts = true;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = std::isalpha(byte) != 0 || c == '_' || byte > 127;
    if (starts ? !letter : !letter && std::isdigit(byte) == 0 && c != '.') return false;
    starts = c == '.';
  }
  return !starts;
}

}  // namespace

bool IsEntry(const std::string& file) {
  const std::size_t colon = file.rfind(':');
  std::error_code ignored;
  if (colon == std::string::npos || std::filesystem::exists(file, ignored)) return false;
  const std::string place = file.substr(0, colon);
  const bool is_file = place.size() > 3 && place.compare(place.size() - 3, 3, ".py") == 0;
  return (is_file || IsDottedName(place)) && IsDottedName(file.substr(colon + 1));
}

Status CheckEntry(const std::string& file, const std::vector<std::string>& arguments,
                  bool can_trace) {
  const bool is_entry = IsEntry(file);
  if (is_entry && !can_trace)
    return Status(StatusCode::kUnimplemented,
                  "'" + file +
                      "' is a Python function, which this program cannot trace; the Python "
                      "package's jitfuse can: pip install . in a clone (docs/python_install.md), "
                      "then run that jitfuse, or python -m jitfuse, with the same arguments");
  if (!is_entry && !arguments.empty())
    return Status(StatusCode::kInvalidArgument,
                  "--arg " + arguments[0] +
                      ": expected a Python function beside it, as in "
                      "module:function or file.py:function; '" +
                      file + "' is a file of graph text, whose inputs are in it");
  return Status();
}

jitfuse::StatusOr<Source> ReadSource(const TraceRequest& request, const Tracer& tracer) {
  if (IsEntry(request.entry)) return tracer(request);
  auto text = ReadFile(request.entry);
  if (!text.ok()) return text.status();
  Source out;
  out.text = *std::move(text);
  out.where = request.entry;
  out.symbols = request.symbols;
  return out;
}

}  // namespace jitfuse_cli
