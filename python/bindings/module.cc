// The module jitfuse._core: what the Python sources of jitfuse stand on. No part of it is a public
// interface; jitfuse's own names are.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "jitfuse/context.h"
#include "jitfuse/inspect.h"
#include "jitfuse/trace.h"
#include "python/bindings/array_object.h"
#include "python/bindings/borrow.h"
#include "python/bindings/command.h"
#include "python/bindings/errors.h"
#include "python/bindings/function.h"
#include "python/bindings/graph.h"
#include "python/bindings/jit_function.h"
#include "python/bindings/random_state.h"
#include "python/bindings/results.h"
#include "python/bindings/torch_state.h"

namespace jitfuse::python {
namespace {

using nb::literals::operator""_a;

// The elements of a tuple or list as the calls take them, kept alive.
struct Items {
  explicit Items(nb::handle sequence)
      : items(nb::steal(CheckNew(PySequence_Tuple(sequence.ptr())))) {
    for (nb::handle item : nb::borrow<nb::tuple>(items)) pointers.push_back(item.ptr());
  }
  nb::object items;
  std::vector<PyObject*> pointers;
};

nb::tuple CallFunction(const PyFunction& f, nb::handle args, nb::handle outs, nb::handle rng) {
  const Items in(args);
  const Items out(outs.is_none() ? nb::handle(nb::tuple()) : outs);
  CallOptions options;
  DrawnRng drawn;
  if (!rng.is_none()) drawn = DrawnOf(rng);
  options.rng = drawn.rng;
  if (!outs.is_none()) {
    options.outs = out.pointers.data();
    options.num_outs = out.pointers.size();
    static PyObject* const none[] = {nullptr};
    if (options.outs == nullptr) options.outs = none;
  }
  std::vector<PyObject*> results(f.outputs.size());
  Call(f, in.pointers.data(), in.pointers.size(), options, results.data());
  nb::object made = nb::steal(CheckNew(PyTuple_New(static_cast<Py_ssize_t>(results.size()))));
  for (std::size_t i = 0; i < results.size(); ++i)
    PyTuple_SetItem(made.ptr(), static_cast<Py_ssize_t>(i), results[i]);
  return nb::borrow<nb::tuple>(made);
}

// For tests, where there is no GPU: what a call on one does with torch's allocator.
nb::tuple CallInFrameworkMemory(const PyFunction& f, nb::handle args) {
  const Items in(args);
  CallOptions options;
  options.framework_memory = true;
  std::vector<PyObject*> results(f.outputs.size());
  Call(f, in.pointers.data(), in.pointers.size(), options, results.data());
  nb::list out;
  for (PyObject* result : results) out.append(nb::steal(result));
  return nb::tuple(out);
}

nb::dict ReportOf(const VerifyReport& r) {
  nb::dict out;
  out["executable"] = r.executable;
  out["backend"] = r.backend;
  out["arch"] = r.arch;
  out["verified"] = r.verified;
  out["sampled"] = r.sampled;
  out["skipped"] = r.skipped;
  out["skip_reason"] = r.skip_reason;
  out["mismatches"] = r.mismatches;
  out["first_mismatch"] = r.first_mismatch;
  out["reproducers"] = r.reproducers;
  out["fallback"] = r.fallback;
  out["fallback_calls"] = r.fallback_calls;
  nb::list outputs;
  for (const VerifyOutput& o : r.outputs) {
    nb::dict d;
    d["elements"] = o.elements;
    d["compared"] = o.compared;
    d["max_difference"] = o.max_difference;
    d["mean_difference"] = o.mean_difference;
    d["max_of_bound"] = o.max_of_bound;
    d["mean_of_bound"] = o.mean_of_bound;
    d["checksums"] = o.checksums;
    outputs.append(d);
  }
  out["outputs"] = outputs;
  return out;
}

nb::dict StatsOf(const Stats& s) {
  nb::dict out;
  out["class_hits"] = s.class_hits;
  out["compiles"] = s.compiles;
  out["compiled"] = s.compiled;
  out["memory_hits"] = s.memory_hits;
  out["disk_hits"] = s.disk_hits;
  out["layer_hits"] = s.layer_hits;
  out["healed"] = s.healed;
  out["compile_ms"] = s.compile_ms;
  out["kernels"] = s.kernels;
  out["verified"] = s.verified;
  out["mismatches"] = s.mismatches;
  out["tuned"] = s.tuned;
  out["prepared"] = s.prepared;
  out["fallbacks"] = s.fallbacks;
  out["boundaries"] = s.boundaries;
  nb::list verify;
  for (const VerifyReport& report : s.verify) verify.append(ReportOf(report));
  out["verify"] = verify;
  return out;
}

nb::list SignatureOf(const std::vector<InputInfo>& infos) {
  nb::list out;
  for (const InputInfo& i : infos) {
    nb::dict d;
    d["name"] = i.name;
    d["dtype"] = DTypeName(i.dtype);
    d["scalar"] = i.scalar;
    d["dims"] = nb::tuple(nb::cast(i.dims));
    out.append(d);
  }
  return out;
}

// Text of calls like this one; without the GIL, since it may compile.
template <typename Method>
auto WithArgs(const PyFunction& f, nb::handle args, Method method) {
  const Items items(args);
  const CallInputs in = BorrowArgs(f, items.pointers.data(), items.pointers.size());
  auto run = [&] {
    nb::gil_scoped_release release;
    return method(in.arrays);
  };
  return run();
}

// What is known of a compiled function for arguments like these, and how that is changed.
void DefineWhatIsKnown(nb::class_<PyFunction>* function) {
  function
      ->def(
          "explain",
          [](const PyFunction& f, nb::handle args) {
            return Check(WithArgs(f, args, [&](auto& a) { return f.function.Explain(a); }));
          },
          "args"_a, nb::sig("def explain(self, args: collections.abc.Sequence[typing.Any]) -> str"))
      .def(
          "explain_json",
          [](const PyFunction& f, nb::handle args) {
            return Check(WithArgs(f, args, [&](auto& a) { return f.function.ExplainJson(a); }));
          },
          "args"_a,
          nb::sig("def explain_json(self, args: collections.abc.Sequence[typing.Any]) -> str"))
      .def(
          "warm",
          [](const PyFunction& f, nb::handle args) {
            Check(WithArgs(f, args, [&](auto& a) { return f.function.Warm(a); }));
          },
          "args"_a, nb::sig("def warm(self, args: collections.abc.Sequence[typing.Any]) -> None"))
      .def(
          "tune",
          [](const PyFunction& f, nb::handle args) {
            const Items items(args);
            return Tune(f, items.pointers.data(), items.pointers.size());
          },
          "args"_a, nb::sig("def tune(self, args: collections.abc.Sequence[typing.Any]) -> str"),
          "Times what such calls may choose from; the record as text, '' if there is nothing.")
      .def(
          "use_tuning",
          [](const PyFunction& f, nb::handle args, const std::string& record) {
            Check(WithArgs(f, args, [&](auto& a) { return f.function.UseTuning(a, record); }));
          },
          "args"_a, "record"_a,
          nb::sig("def use_tuning(self, args: collections.abc.Sequence[typing.Any], record: str) "
                  "-> None"),
          "As if tune had found this record.")
      .def(
          "stats", [](const PyFunction& f) { return StatsOf(f.function.stats()); },
          nb::sig("def stats(self) -> dict[str, typing.Any]"));
}

void DefineFunction(nb::module_& m) {
  nb::class_<PyFunction> function(m, "Function", "A compiled graph.");
  function
      .def("call", CallFunction, "args"_a, "outs"_a = nb::none(), nb::kw_only(),
           "rng"_a = nb::none(),
           nb::sig("def call(self, args: collections.abc.Sequence[typing.Any], outs: "
                   "collections.abc.Sequence[typing.Any] | None = None, *, rng: tuple[int, int, "
                   "typing.Any] | None = None) -> tuple[typing.Any, ...]"),
           "Runs on arrays and numbers, one per input in the order they were declared. Results are "
           "of the kind that went in, or are written into `outs`. rng: as rng_draw gives it.")
      .def(
          "bind",
          [](const PyFunction& f, const std::vector<std::string>& names, nb::handle arrays) {
            const Items items(arrays);
            if (items.pointers.size() != names.size())
              ThrowValueError("bind: expected an array for each name");
            return BindArrays(f, names, items.pointers.data());
          },
          "names"_a, "arrays"_a,
          nb::sig("def bind(self, names: collections.abc.Sequence[str], arrays: "
                  "collections.abc.Sequence[typing.Any]) -> Function"),
          "The function of the other inputs, with these fixed.")
      .def_prop_ro("num_inputs", [](const PyFunction& f) { return f.inputs.size(); })
      .def_prop_ro("num_outputs", [](const PyFunction& f) { return f.outputs.size(); })
      .def_prop_ro("random_ops", [](const PyFunction& f) { return f.random_ops; })
      .def_prop_ro("name", [](const PyFunction& f) { return f.name; })
      .def_prop_ro(
          "inputs", [](const PyFunction& f) { return SignatureOf(f.inputs); },
          nb::sig("def inputs(self) -> list[dict[str, typing.Any]]"))
      .def_prop_ro(
          "outputs", [](const PyFunction& f) { return SignatureOf(f.outputs); },
          nb::sig("def outputs(self) -> list[dict[str, typing.Any]]"))
      .def_prop_ro("device",
                   [](const PyFunction& f) { return DeviceKindName(f.function.device()); })
      .def("to_text", [](const PyFunction& f) { return f.function.ToText(); });
  DefineWhatIsKnown(&function);
}

nb::object ValueOf(const detail::AttrArg& value) {
  return std::visit(
      [](const auto& v) -> nb::object {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, DType>) {
          return nb::str(DTypeName(v));
        } else if constexpr (std::is_same_v<T, std::vector<DimSpec>>) {
          nb::list out;
          for (const DimSpec& d : v) out.append(d.size());
          return nb::object(out);
        } else {
          return nb::cast(v);
        }
      },
      value);
}

// Dicts of name, type, doc, required and, where it is not required, default.
nb::list AttrInfosOf(const OpInfo& op) {
  nb::list out;
  for (const AttrInfo& a : op.attr_infos) {
    nb::dict d;
    d["name"] = a.name;
    d["type"] = a.type;
    d["doc"] = a.doc;
    d["required"] = a.required;
    if (!a.required) d["default"] = ValueOf(a.fallback);
    out.append(d);
  }
  return out;
}

void DefineRandom(nb::module_& m) {
  m.def(
      "rng_state",
      [] {
        const RandomState& s = CurrentRandomState();
        return nb::make_tuple(s.seed, s.offset);
      },
      nb::sig("def rng_state() -> tuple[int, int]"));
  m.def(
      "rng_set",
      [](std::uint64_t seed, std::uint64_t offset) {
        CurrentRandomState().seed = seed;
        CurrentRandomState().offset = offset;
      },
      "seed"_a, "offset"_a = 0);
  m.def(
      "rng_enter",
      [](std::uint64_t seed, std::uint64_t offset) {
        ThreadRandomStates().push_back(RandomState{seed, offset});
      },
      "seed"_a, "offset"_a = 0,
      "A stream of this thread's own, which its calls draw from until rng_leave.");
  m.def(
      "rng_leave",
      [] {
        if (ThreadRandomStates().empty())
          throw nb::value_error("rng_leave: this thread has no stream of its own");
        ThreadRandomStates().pop_back();
      },
      "Back to the stream that was in force before rng_enter.");
  m.def(
      "rng_draw",
      [](nb::handle args, std::int64_t count) {
        const Items items(args);
        for (PyObject* object : items.pointers) {
          if (TypeInfoOf(object).is_torch) return TupleOf(DrawRng(object, count));
        }
        return TupleOf(DrawRng(nullptr, count));
      },
      "args"_a, "count"_a,
      nb::sig("def rng_draw(args: collections.abc.Sequence[typing.Any], count: int) -> tuple[int, "
              "int, typing.Any]"),
      "Seed, offset, and None or a tensor in place of both, for a call on these arguments of a "
      "function with so many random ops.");
}

// The sink is called on whatever thread logs, with the GIL; never once Python ends.
void SetPythonLog(int level, nb::object sink) {
  if (sink.is_none()) return SetLog(level);
  std::shared_ptr<PyObject> keep(sink.release().ptr(), [](PyObject* p) {
    if (Py_IsInitialized() == 0) return;
    nb::gil_scoped_acquire gil;
    Py_DECREF(p);
  });
  static const bool at_exit = [] {
    nb::module_::import_("atexit").attr("register")(nb::cpp_function([] { SetLog(0); }));
    return true;
  }();
  (void)at_exit;
  SetLog(level, [keep](int of_message, const std::string& message) {
    if (Py_IsInitialized() == 0) return;
    nb::gil_scoped_acquire gil;
    try {
      nb::handle(keep.get())(of_message, message);
    } catch (nb::python_error& e) {
      e.discard_as_unraisable("jitfuse's log");
    }
  });
}

// For the signature alone.
CompileOptions ForInterpreter() {
  CompileOptions options;
  options.device = DeviceKind::kInterpret;
  return options;
}

nb::tuple EvaluateText(const std::string& text, nb::handle args, std::uint64_t seed,
                       std::uint64_t offset) {
  const auto f = PyFunction(Check(CompileText(text, ForInterpreter())));
  const Items items(args);
  CallInputs in = BorrowArgs(f, items.pointers.data(), items.pointers.size());
  CheckNoGrad(f, in);
  Rng rng;
  rng.seed = seed;
  rng.offset = offset;
  StatusOr<std::vector<Array>> made = Status();
  {
    nb::gil_scoped_release release;
    made = Evaluate(text, in.arrays, rng);
  }
  nb::list out;
  for (Array& a : Check(std::move(made)))
    out.append(nb::steal(WrapResult(std::move(a), nullptr, nullptr)));
  return nb::tuple(out);
}

nb::list OpRows() {
  nb::list out;
  for (const OpInfo& op : ListOps()) {
    nb::dict d;
    d["name"] = op.name;
    d["kind"] = op.kind;
    d["doc"] = op.doc;
    d["example"] = op.example;
    d["args"] = op.args;
    d["attrs"] = op.attrs;
    d["attr_infos"] = AttrInfosOf(op);
    d["num_results"] = op.num_results;
    out.append(d);
  }
  return out;
}

void DefineInspection(nb::module_& m) {
  m.def("call_in_framework_memory", CallInFrameworkMemory, "function"_a, "args"_a,
        nb::sig("def call_in_framework_memory(function: Function, args: "
                "collections.abc.Sequence[typing.Any]) -> tuple[typing.Any, ...]"),
        "For tests: results and scratch memory from torch's allocator, as on a GPU.");
  m.def(
      "compile_text",
      [](const std::string& text, const nb::kwargs& options) {
        const CompileOptions made = OptionsOf(options);
        return PyFunction(Check(CompileText(text, made)), InBackground(made));
      },
      "text"_a, "options"_a,
      nb::sig("def compile_text(text: str, *, " JF_PY_OPTIONS ") -> Function"));
  m.def(
      "evaluate", EvaluateText, "text"_a, "args"_a, nb::kw_only(), "seed"_a = 0, "offset"_a = 0,
      nb::sig("def evaluate(text: str, args: collections.abc.Sequence[typing.Any], *, seed: int = "
              "0, offset: int = 0) -> tuple[typing.Any, ...]"),
      "The reference evaluator on CPU arrays: slow, exact meaning.");
  m.def(
      "parse_inputs", [](const std::string& text) { return SignatureOf(Check(ParseInputs(text))); },
      "text"_a, nb::sig("def parse_inputs(text: str) -> list[dict[str, typing.Any]]"));
  m.def("format_text", [](const std::string& text) { return Check(FormatText(text)); }, "text"_a);
  m.def(
      "source_of",
      [](const std::string& text, nb::handle args, const std::string& stage,
         const std::string& arch, const nb::kwargs& given) {
        const auto f = PyFunction(Check(CompileText(text, ForInterpreter())));
        const CompileOptions options = OptionsOf(given);
        return Check(
            WithArgs(f, args, [&](auto& a) { return SourceOf(text, a, stage, arch, options); }));
      },
      "text"_a, "args"_a, "stage"_a, "arch"_a = "", "options"_a,
      nb::sig("def source_of(text: str, args: object, stage: str, arch: str = '', "
              "*, " JF_PY_OPTIONS ") -> str"),
      "What is made of a graph: stage is graph, groups, plan, cuda, llvm, ptx, sass or resources.");
  m.def("list_ops", OpRows, nb::sig("def list_ops() -> list[dict[str, typing.Any]]"));
}

void DefineSurroundings(nb::module_& m) {
  m.def(
      "doctor",
      [] {
        nb::list out;
        for (const Finding& f : Doctor()) {
          nb::dict d;
          d["what"] = f.what;
          d["found"] = f.found;
          d["version"] = f.version;
          d["where"] = f.where;
          d["remedy"] = f.remedy;
          out.append(d);
        }
        return out;
      },
      nb::sig("def doctor() -> list[dict[str, typing.Any]]"));
  m.def(
      "describe_array",
      [](nb::handle object) {
        const Array array = BorrowArray(object.ptr(), ArgName{}).array;
        nb::list dims;
        for (std::int64_t d : array.dims()) dims.append(d);
        return nb::make_tuple(DTypeName(array.dtype()), nb::tuple(dims));
      },
      "object"_a, nb::sig("def describe_array(object: object) -> tuple[str, tuple[int, ...]]"),
      "The dtype's name and the shape of an array, as DLPack or the buffer protocol gives them.");
  m.def("default_device", [] { return DeviceKindName(Check(DefaultDevice())); });
  m.def(
      "device_error",
      [](const std::string& device) { return DeviceStatus(DeviceKindOfName(device)).message(); },
      "device"_a, "Why nothing runs on this kind of device; empty if it does.");
  m.def("set_log", SetPythonLog, "level"_a, "sink"_a.none(),
        nb::sig("def set_log(level: int, sink: collections.abc.Callable[[int, str], typing.Any] | "
                "None) -> None"),
        "Calls sink(level, message) for what the library logs; level as in JITFUSE_LOG. None: "
        "stderr.");
  m.def(
      "total_stats", [] { return StatsOf(TotalStats()); },
      nb::sig("def total_stats() -> dict[str, typing.Any]"));
  m.def(
      "start_trace",
      [](const nb::bytes& path) { Check(StartTrace(std::string(path.c_str(), path.size()))); },
      "path"_a);
  m.def("stop_trace", [] {
    Status stopped;
    {
      nb::gil_scoped_release release;  // a device may be waited for
      stopped = StopTrace();
    }
    Check(stopped);
  });
  m.attr("version") = Version();
}

}  // namespace
}  // namespace jitfuse::python

NB_MODULE(_core, m) {
  nanobind::set_leak_warnings(
      false);  // others' objects outlive the interpreter's end: torch's hooks
  jitfuse::python::DefineArray(m);
  jitfuse::python::DefineGraph(m);
  jitfuse::python::DefineFunction(m);
  jitfuse::python::DefineJitFunction(m);
  jitfuse::python::DefineRandom(m);
  jitfuse::python::DefineInspection(m);
  jitfuse::python::DefineSurroundings(m);
  jitfuse::python::DefineCommand(m);
}
