#include "python/bindings/gradient.h"

#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "jitfuse/gradient.h"
#include "jitfuse/inspect.h"
#include "python/bindings/errors.h"
#include "python/bindings/function.h"
#include "python/bindings/graph.h"

namespace jitfuse::python {
namespace {

using nb::literals::operator""_a;

// A computation and its gradient: jitfuse::ForwardBackward with functions for Python.
struct PySplit {
  nb::object forward, backward;
  std::vector<SavedTensor> saved;
  std::vector<int> cotangents;
  std::string decisions;
};

PySplit MakeSplit(Function forward, Function backward, std::vector<SavedTensor> saved,
                  std::vector<int> cotangents, std::string decisions, bool background) {
  return {nb::cast(PyFunction(std::move(forward), background)),
          nb::cast(PyFunction(std::move(backward), background)), std::move(saved),
          std::move(cotangents), std::move(decisions)};
}

// Of `builder` all.
std::vector<Tensor> TensorsOf(nb::handle builder, const char* what, nb::handle sequence) {
  std::size_t i = 0;
  for (nb::handle t : nb::iter(sequence)) {
    if (!t.is_none() && !nb::cast<const PyTensor&>(t).builder.is(builder))
      ThrowValueError(std::string(what) + " " + std::to_string(i) + " belongs to another Builder");
    ++i;
  }
  return python::TensorsOf(sequence);
}

PySplit Split(nb::handle self, nb::handle outputs, nb::handle wrt, const nb::kwargs& options) {
  const std::vector<Tensor> out = TensorsOf(self, "split: output", outputs);
  const std::vector<Tensor> in = TensorsOf(self, "split: wrt", wrt);
  const CompileOptions of_both = OptionsOf(options);
  ForwardBackward made = Check(SplitForwardBackward(out, in, of_both));
  return MakeSplit(std::move(made.forward), std::move(made.backward), std::move(made.saved),
                   std::move(made.cotangents), std::move(made.decisions), InBackground(of_both));
}

PySplit SplitText(const std::string& text, const std::vector<std::string>& wrt,
                  const nb::kwargs& given) {
  const CompileOptions options = OptionsOf(given);
  ForwardBackwardText made = Check(SplitForwardBackwardText(text, wrt));
  return MakeSplit(Check(CompileText(made.forward, options)),
                   Check(CompileText(made.backward, options)), std::move(made.saved),
                   std::move(made.cotangents), std::move(made.decisions), InBackground(options));
}

nb::list SavedOf(const PySplit& split) {
  nb::list out;
  for (const SavedTensor& s : split.saved) out.append(nb::make_tuple(s.is_input, s.index));
  return out;
}

void DefineSplit(nb::module_& m) {
  nb::class_<PySplit>(m, "Split", "A computation, its gradient, and what passes between the two.")
      .def_prop_ro(
          "forward", [](const PySplit& s) { return s.forward; },
          nb::sig("def forward(self) -> Function"),
          "Gives the outputs, then what is kept for `backward`.")
      .def_prop_ro(
          "backward", [](const PySplit& s) { return s.backward; },
          nb::sig("def backward(self) -> Function"),
          "Takes `saved`, then `cotangents`; gives the gradients.")
      .def_prop_ro("saved", SavedOf, nb::sig("def saved(self) -> list[tuple[bool, int]]"),
                   "Arguments of `forward` (True, number), or its results (False, number).")
      .def_prop_ro(
          "cotangents", [](const PySplit& s) { return s.cotangents; },
          "The outputs whose cotangents `backward` takes.")
      .def_prop_ro("decisions", [](const PySplit& s) { return s.decisions; });
  m.def(
      "gradient_text",
      [](const std::string& text, const std::vector<std::string>& wrt) {
        GradientTextOptions options;
        options.cotangents = true;
        return Check(GradientText(text, wrt, options));
      },
      "text"_a, "wrt"_a,
      "The gradients as graph text: of the graph's inputs, then a cotangent for each float "
      "output.");
  m.def("split_text", SplitText, "text"_a, "wrt"_a, "options"_a,
        nb::sig("def split_text(text: str, wrt: collections.abc.Sequence[str], "
                "*, " JF_PY_OPTIONS ") -> Split"),
        "Builder.split of graph text; wrt are names of inputs.");
}

}  // namespace

void DefineGradients(nb::module_& m, nb::class_<Builder>& builder) {
  DefineSplit(m);
  builder
      .def(
          "vjp",
          [](nb::handle self, nb::handle outputs, nb::handle cotangents, nb::handle wrt) {
            const std::vector<Tensor> out = TensorsOf(self, "vjp: output", outputs);
            const std::vector<Tensor> given = TensorsOf(self, "vjp: cotangent", cotangents);
            return WrapSteps(self, Vjp(out, given, TensorsOf(self, "vjp: wrt", wrt)));
          },
          "outputs"_a, "cotangents"_a, "wrt"_a,
          nb::sig("def vjp(self, outputs: collections.abc.Sequence[Tensor], cotangents: "
                  "collections.abc.Sequence[Tensor | None], wrt: "
                  "collections.abc.Sequence[Tensor]) -> tuple[Tensor, ...]"),
          "The sum over outputs of cotangent (None: zero) times d output / d wrt, for each of wrt.")
      .def(
          "gradient_root",
          [](nb::handle self, const PyTensor& x) {
            if (!x.builder.is(self))
              ThrowValueError("gradient_root: the tensor belongs to another Builder");
            return nb::object(WrapSteps(self, {GradientRoot(x.tensor)})[0]);
          },
          "x"_a, nb::sig("def gradient_root(self, x: Tensor) -> Tensor"),
          "x itself as a tensor of its own, of which nothing was made yet.")
      .def(
          "custom_gradient",
          [](nb::handle self, nb::handle inputs, nb::handle outputs, nb::handle cotangents,
             nb::handle gradients) {
            const std::vector<Tensor> in = TensorsOf(self, "custom_gradient: input", inputs);
            const std::vector<Tensor> out = TensorsOf(self, "custom_gradient: output", outputs);
            const std::vector<Tensor> ct =
                TensorsOf(self, "custom_gradient: cotangent", cotangents);
            return WrapSteps(
                self, CustomGradient(in, out, ct,
                                     TensorsOf(self, "custom_gradient: gradient", gradients)));
          },
          "inputs"_a, "outputs"_a, "cotangents"_a, "gradients"_a,
          nb::sig("def custom_gradient(self, inputs: collections.abc.Sequence[Tensor], outputs: "
                  "collections.abc.Sequence[Tensor], cotangents: "
                  "collections.abc.Sequence[Tensor], gradients: collections.abc.Sequence[Tensor | "
                  "None]) -> tuple[Tensor, ...]"),
          "The outputs with a gradient of their own: `gradients` of inputs (None: zero), made of "
          "`cotangents` of the float outputs.")
      .def("split", Split, "outputs"_a, "wrt"_a, "options"_a,
           nb::sig("def split(self, outputs: collections.abc.Sequence[Tensor], wrt: "
                   "collections.abc.Sequence[Tensor], *, " JF_PY_OPTIONS ") -> Split"),
           "The outputs and the gradients of wrt, which are inputs, as two functions.");
}

}  // namespace jitfuse::python
