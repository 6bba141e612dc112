#include "python/bindings/graph.h"

#include <nanobind/stl/vector.h>

#include <type_traits>
#include <utility>
#include <vector>

#include "jitfuse/apply.h"
#include "jitfuse/function.h"
#include "python/bindings/errors.h"
#include "python/bindings/function.h"
#include "python/bindings/gradient.h"

namespace jitfuse::python {
namespace {

using nb::literals::operator""_a;

// The name is an error if it is none of those listed.
template <typename Enum, std::size_t N>
Enum OneOf(const char* what, const std::string& got,
           const std::pair<const char*, Enum> (&names)[N]) {
  std::string expected;
  for (const auto& [name, value] : names) {
    if (got == name) return value;
    expected += (expected.empty() ? "" : ", ") + std::string(name);
  }
  ThrowValueError(std::string(what) + " is '" + got + "'; expected one of " + expected);
}

constexpr std::pair<const char*, DeviceKind> kDevices[] = {{"auto", DeviceKind::kAuto},
                                                           {"cpu", DeviceKind::kCpu},
                                                           {"cuda", DeviceKind::kCuda},
                                                           {"interpret", DeviceKind::kInterpret}};
constexpr std::pair<const char*, Numerics> kNumerics[] = {
    {"default", Numerics::kDefault}, {"strict", Numerics::kStrict}, {"fast", Numerics::kFast}};
constexpr std::pair<const char*, VerifyAction> kVerifyActions[] = {
    {"error", VerifyAction::kError}, {"fallback", VerifyAction::kFallback}};
constexpr std::pair<const char*, Dynamic> kDynamics[] = {
    {"leading", Dynamic::kLeading}, {"all", Dynamic::kAll}, {"none", Dynamic::kNone}};

std::int64_t IntOf(nb::handle object) {
  nb::object index = nb::steal(CheckNew(PyNumber_Index(object.ptr())));
  const long long value = PyLong_AsLongLong(index.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) ThrowCurrent();
  return value;
}

std::vector<DimSpec> DimsOf(nb::handle sequence) {
  std::vector<DimSpec> out;
  for (nb::handle d : nb::iter(sequence)) {
    if (nb::isinstance<nb::str>(d))
      out.emplace_back(nb::cast<std::string>(d));
    else
      out.emplace_back(IntOf(d));
  }
  return out;
}

nb::object DimToPython(const DimSpec& d) {
  return d.is_name() ? nb::object(nb::str(d.name().c_str())) : nb::object(nb::int_(d.size()));
}

nb::tuple DimsToPython(const std::vector<DimSpec>& dims) {
  nb::list out;
  for (const DimSpec& d : dims) out.append(DimToPython(d));
  return nb::tuple(out);
}

// An attribute: bool, int, float, the name of a dtype, or a list of numbers and names of sizes.
detail::AttrArg AttrOf(const std::string& op, const std::string& name, nb::handle value) {
  if (PyBool_Check(value.ptr())) return value.is(nb::handle(Py_True));
  const std::string type = TypeName(value.ptr());
  if (type == "numpy.bool" || type == "numpy.bool_") return PyObject_IsTrue(value.ptr()) == 1;
  const bool is_list = nb::hasattr(value, "__len__") && !nb::isinstance<nb::str>(value) &&
                       nb::cast<std::size_t>(nb::getattr(value, "ndim", nb::int_(1))) > 0;
  if (!is_list && PyIndex_Check(value.ptr()) != 0) {
    nb::object index = nb::steal(CheckNew(PyNumber_Index(value.ptr())));
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    if (overflow == 0) return std::int64_t{number};
    const unsigned long long large = PyLong_AsUnsignedLongLong(index.ptr());
    if (PyErr_Occurred() != nullptr) ThrowCurrent();
    return std::uint64_t{large};
  }
  if (!is_list && PyNumber_Check(value.ptr()) != 0) return nb::cast<double>(nb::float_(value));
  if (nb::isinstance<nb::str>(value)) return DTypeOfName(nb::cast<std::string>(value));
  if (is_list) {
    std::vector<DimSpec> dims = DimsOf(value);
    std::vector<std::int64_t> ints;
    for (const DimSpec& d : dims) {
      if (d.is_name()) return dims;
      ints.push_back(d.size());
    }
    return ints;
  }
  ThrowTypeError(op + ": attribute " + name +
                 ": expected a bool, a number, the name of a dtype or a " + "list of sizes, got " +
                 TypeName(value.ptr()));
}

nb::object Wrap(nb::handle builder, Tensor tensor) {
  return nb::cast(PyTensor{std::move(tensor), nb::borrow(builder)});
}

// A tensor of one step of the Builder, whose error is taken out of it.
nb::object WrapStep(nb::handle self, Tensor tensor) {
  Check(nb::cast<Builder&>(self).TakeStatus());
  return Wrap(self, std::move(tensor));
}

nb::object MakeConstant(nb::handle self, const std::string& dtype_name, nb::handle value) {
  auto& builder = nb::cast<Builder&>(self);
  const DType dtype = DTypeOfName(dtype_name);
  if (PyIndex_Check(value.ptr()) == 0)
    return WrapStep(self, builder.Constant(dtype, nb::cast<double>(nb::float_(value))));
  nb::object index = nb::steal(CheckNew(PyNumber_Index(value.ptr())));
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow == 0) return WrapStep(self, builder.ConstantInt(dtype, number));
  const unsigned long long bits = PyLong_AsUnsignedLongLong(index.ptr());
  if (PyErr_Occurred() == nullptr && dtype == DType::kU64) {  // the cast wraps
    Tensor wide = builder.ConstantInt(DType::kI64, static_cast<std::int64_t>(bits));
    return Wrap(self, Check(ApplyNamed(builder, "cast", {wide}, {{"dtype", dtype}}))[0]);
  }
  PyErr_Clear();
  return WrapStep(self, builder.Constant(dtype, nb::cast<double>(nb::float_(index))));
}

nb::tuple Apply(nb::handle self, const std::string& op, nb::handle operands,
                const nb::dict& attrs) {
  const auto& builder = nb::cast<const Builder&>(self);
  const std::vector<Tensor> in = TensorsOf(operands);
  std::vector<NamedValue> named;
  for (auto [key, value] : attrs) {
    std::string name = nb::cast<std::string>(nb::str(key));
    detail::AttrArg arg = AttrOf(op, name, value);
    named.push_back({std::move(name), std::move(arg)});
  }
  nb::list out;
  for (Tensor& t : Check(ApplyNamed(builder, op, in, named))) out.append(Wrap(self, std::move(t)));
  return nb::tuple(out);
}

PyFunction Compile(const Builder& builder, nb::handle outputs, const nb::kwargs& options) {
  const CompileOptions made = OptionsOf(options);
  return PyFunction(Check(builder.Compile(TensorsOf(outputs), made)), InBackground(made));
}

template <typename T>
T ValueOf(const std::string& name, nb::handle value, const char* type) {
  T out{};
  if (nb::try_cast(value, out, /*convert=*/false)) return out;
  if (std::is_same_v<T, long long> && PyLong_CheckExact(value.ptr()))
    ThrowValueError("the option " + name + " is " + TextOf(value) +
                    ", expected a number from -2**63 to 2**63 - 1");
  ThrowTypeError("the option " + name + " is a " + type + ", not a " +
                 nb::cast<std::string>(value.type().attr("__name__")));
}

// Whether there is an option of this name; then it is set.
bool SetSwitch(const std::string& name, nb::handle value, CompileOptions* out) {
  const std::pair<const char*, bool*> switches[] = {
      {"fuse", &out->fuse},
      {"rewrite", &out->rewrite},
      {"use_gemm_library", &out->use_gemm_library},
      {"batch_invariant", &out->batch_invariant},
      {"autotune", &out->autotune},
      {"background", &out->background},
  };
  for (const auto& [known, target] : switches) {
    if (name != known) continue;
    *target = ValueOf<bool>(name, value, "bool");
    return true;
  }
  return false;
}

bool SetNumber(const std::string& name, nb::handle value, CompileOptions* out) {
  const std::pair<const char*, long long*> numbers[] = {
      {"max_fusions", &out->max_fusions},
      {"verify", &out->verify},
      {"specialize_after", &out->specialize_after},
  };
  for (const auto& [known, target] : numbers) {
    if (name != known) continue;
    *target = ValueOf<long long>(name, value, "int");
    return true;
  }
  return false;
}

bool SetWord(const std::string& name, nb::handle value, CompileOptions* out) {
  const auto word = [&] { return ValueOf<std::string>(name, value, "str"); };
  if (name == "device") {
    out->device = OneOf("device", word(), kDevices);
  } else if (name == "numerics") {
    out->numerics = OneOf("numerics", word(), kNumerics);
  } else if (name == "verify_action") {
    out->verify_action = OneOf("verify_action", word(), kVerifyActions);
  } else if (name == "dynamic") {
    out->dynamic = OneOf("dynamic", word(), kDynamics);
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::vector<Tensor> TensorsOf(nb::handle sequence) {
  std::vector<Tensor> out;
  for (nb::handle t : nb::iter(sequence))
    out.push_back(t.is_none() ? Tensor() : nb::cast<const PyTensor&>(t).tensor);
  return out;
}

nb::tuple WrapSteps(nb::handle builder, std::vector<Tensor> tensors) {
  Check(nb::cast<Builder&>(builder).TakeStatus());
  nb::list out;
  for (Tensor& t : tensors) out.append(Wrap(builder, std::move(t)));
  return nb::tuple(out);
}

DType DTypeOfName(const std::string& name) {
  std::string expected;
  for (int d = 0; d <= static_cast<int>(DType::kF64); ++d) {
    const char* known = DTypeName(static_cast<DType>(d));
    if (name == known) return static_cast<DType>(d);
    expected += (d == 0 ? "" : ", ") + std::string(known);
  }
  ThrowValueError("there is no dtype '" + name + "'; expected one of " + expected);
}

CompileOptions OptionsOf(const nb::dict& options) {
  CompileOptions out;
  for (auto [key, value] : options) {
    const auto name = nb::cast<std::string>(key);
    if (!SetSwitch(name, value, &out) && !SetNumber(name, value, &out) &&
        !SetWord(name, value, &out))
      ThrowTypeError("there is no option '" + name + "' of compiling");
  }
  return out;
}

DeviceKind DeviceKindOfName(const std::string& name) { return OneOf("device", name, kDevices); }

const char* DeviceKindName(DeviceKind kind) {
  for (const auto& [name, value] : kDevices) {
    if (value == kind) return name;
  }
  return "none";
}

namespace {

void DefineTensor(nb::module_& m) {
  nb::class_<PyTensor>(m, "Tensor", "A value of a graph under construction.")
      .def_prop_ro("dtype",
                   [](const PyTensor& t) { return std::string(DTypeName(t.tensor.dtype())); })
      .def_prop_ro(
          "dims", [](const PyTensor& t) { return DimsToPython(t.tensor.dims()); },
          nb::sig("def dims(self) -> tuple[int | str, ...]"))
      .def_prop_ro("ndim", [](const PyTensor& t) { return t.tensor.rank(); })
      .def_prop_ro(
          "builder", [](const PyTensor& t) { return t.builder; },
          nb::sig("def builder(self) -> Builder"))
      .def("__repr__", [](const PyTensor& t) {
        return "<jitfuse._core.Tensor " + t.tensor.type_string() + ">";
      });
}

void DefineCompile(nb::class_<Builder>& builder) {
  builder.def("compile", Compile, "outputs"_a, "options"_a,
              nb::sig("def compile(self, outputs: collections.abc.Sequence[Tensor], "
                      "*, " JF_PY_OPTIONS ") -> Function"));
}

}  // namespace

void DefineGraph(nb::module_& m) {
  DefineTensor(m);
  nb::class_<Builder> builder(m, "Builder", "One graph under construction.");
  builder
      .def(
          "__init__",
          [](Builder* self, const std::string& name) {
            Builder made(name);
            Check(made.TakeStatus());
            new (self) Builder(std::move(made));
          },
          "name"_a = "f")
      .def(
          "input",
          [](nb::handle self, const std::string& name, const std::string& dtype, nb::handle dims) {
            return WrapStep(self,
                            nb::cast<Builder&>(self).Input(name, DTypeOfName(dtype), DimsOf(dims)));
          },
          "name"_a, "dtype"_a, "dims"_a,
          nb::sig(
              "def input(self, name: str, dtype: str, dims: collections.abc.Sequence[int | str])"
              " -> Tensor"),
          "An array that each call passes; a dim is a size, or the name of one.")
      .def(
          "scalar",
          [](nb::handle self, const std::string& name, const std::string& dtype) {
            return WrapStep(self, nb::cast<Builder&>(self).Scalar(name, DTypeOfName(dtype)));
          },
          "name"_a, "dtype"_a, nb::sig("def scalar(self, name: str, dtype: str) -> Tensor"),
          "A number that each call passes: changing it compiles nothing.")
      .def("constant", MakeConstant, "dtype"_a, "value"_a,
           nb::sig("def constant(self, dtype: str, value: bool | int | float) -> Tensor"))
      .def("apply", Apply, "op"_a, "operands"_a, "attrs"_a = nb::dict(),
           nb::sig("def apply(self, op: str, operands: collections.abc.Sequence[Tensor | None], "
                   "attrs: dict[str, typing.Any] = {}) -> tuple[Tensor, ...]"),
           "All results of an op of the table (list_ops), with its names as in graph text. None "
           "stands for an operand left out. Random ops need no seed, offset and stream.")
      .def(
          "to_text",
          [](Builder& b, nb::handle outputs) {
            const std::vector<Tensor> tensors = TensorsOf(outputs);
            std::string text = b.ToText(tensors);
            if (text.empty()) Check(b.Compile(tensors).status());  // which says why
            return text;
          },
          "outputs"_a,
          nb::sig("def to_text(self, outputs: collections.abc.Sequence[Tensor]) -> str"))
      .def(
          "guards",
          [](const Builder& b) {
            nb::list out;
            for (const auto& [x, y] : b.Guards())
              out.append(nb::make_tuple(DimToPython(x), DimToPython(y)));
            return out;
          },
          nb::sig("def guards(self) -> list[tuple[int | str, int | str]]"),
          "Pairs of sizes that each call's arrays must make equal, beyond what their dims say.");
  DefineCompile(builder);
  DefineGradients(m, builder);
}

}  // namespace jitfuse::python
