#include "python/bindings/command.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "python/bindings/borrow.h"
#include "python/bindings/errors.h"
#include "python/bindings/graph.h"
#include "tools/cli/main.h"

namespace jitfuse::python {
namespace {

using nb::literals::operator""_a;

template <typename T>
T Get(const nb::dict& from, const char* key) {
  return nb::cast<T>(from[key]);
}

// A copy in the CPU's memory, so that nothing is shared with Python.
Array CopyOf(const std::string& name, nb::handle object) {
  ArgName what;
  what.name = name.c_str();
  if (IsNumber(object.ptr()))
    ThrowTypeError("input '" + name + "': expected an array, got " + TypeName(object.ptr()));
  return Check(BorrowArray(object.ptr(), what).array.CopyTo(Device{}));
}

StatusOr<jitfuse_cli::Source> SourceOfEntry(const nb::object& trace,
                                            const jitfuse_cli::TraceRequest& request) {
  const auto made = nb::cast<nb::dict>(trace(request.entry, request.arguments, request.symbols,
                                             request.default_size, request.as_called));
  if (made.contains("error")) {
    const auto code =
        Get<bool>(made, "usage") ? StatusCode::kInvalidArgument : StatusCode::kFailedPrecondition;
    return Status(code, Get<std::string>(made, "error"));
  }
  jitfuse_cli::Source out;
  out.where = request.entry;
  out.text = Get<std::string>(made, "text");
  out.symbols = Get<jitfuse_cli::SymbolValues>(made, "symbols");
  for (auto [name, array] : Get<nb::dict>(made, "given")) {
    auto input = nb::cast<std::string>(name);
    Array copy = CopyOf(input, array);
    out.given.emplace(std::move(input), std::move(copy));
  }
  out.options = OptionsOf(Get<nb::dict>(made, "options"));
  return out;
}

int Command(const std::vector<std::string>& words, const nb::object& trace) {
  std::vector<const char*> argv = {"jitfuse"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  const jitfuse_cli::Tracer tracer =
      [&trace](const jitfuse_cli::TraceRequest& request) -> StatusOr<jitfuse_cli::Source> {
    const nb::gil_scoped_acquire gil;
    try {
      return SourceOfEntry(trace, request);
    } catch (const nb::python_error& e) {
      return Status(StatusCode::kInternal, request.entry + ": " + MessageOf(e));
    }
  };
  const nb::gil_scoped_release release;
  return jitfuse_cli::Main(static_cast<int>(argv.size()), argv.data(), tracer);
}

}  // namespace

void DefineCommand(nb::module_& m) {
  m.def("command", Command, "words"_a, "trace"_a,
        nb::sig("def command(words: collections.abc.Sequence[str], trace: "
                "collections.abc.Callable[[str, list[str], dict[str, int], int, bool], dict[str, "
                "typing.Any]]) -> int"),
        "The command jitfuse with these words; its exit code. Prints to the process's stdout.");
}

}  // namespace jitfuse::python
