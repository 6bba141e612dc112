#include "python/bindings/torch_state.h"

#include <optional>
#include <utility>

#include "python/bindings/borrow.h"
#include "python/bindings/random_state.h"
#include "python/bindings/torch_cxx.h"

namespace jitfuse::python {
namespace {

// The members of a module that is loaded, which live as long as it does; else null.
PyObject* MembersOf(PyObject* name) {
  PyObject* module = PyImport_GetModule(name);
  if (module == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  Py_DECREF(module);  // sys.modules has it
  return PyModule_GetDict(module);
}

nb::object InPython(const char* function) {
  return nb::module_::import_("jitfuse._torch_state").attr(function);
}

// Whether a TorchDispatchMode is on, make_fx's say.
bool InDispatchMode() {
  static PyObject* const name = PyUnicode_InternFromString("torch.utils._python_dispatch");
  static PyObject* const flag = PyUnicode_InternFromString("_is_in_torch_dispatch_mode");
  static PyObject* members = nullptr;
  if (members == nullptr) members = MembersOf(name);
  if (members == nullptr) return false;
  PyObject* found = PyDict_GetItemWithError(members, flag);
  if (found == nullptr) PyErr_Clear();
  return found == Py_True;
}

// Whether torch.jit.trace is recording.
bool InJitTrace() {
  if (const std::optional<bool> tracing = IsTracing()) [[likely]]
    return *tracing;
  static PyObject* is_tracing = nullptr;
  if (is_tracing == nullptr) {
    nb::object found = nb::module_::import_("torch");
    for (const char* part : {"_C", "_is_tracing"})
      found = found.is_none() ? found : nb::object(nb::getattr(found, part, nb::none()));
    is_tracing = found.release().ptr();
  }
  if (is_tracing == Py_None) return false;
  return nb::steal(CheckNew(PyObject_CallNoArgs(is_tracing))).is(nb::handle(Py_True));
}

// torch._C._dynamo.eval_frame.set_eval_frame, which returns what was there before; null where
// torch's compiler is not loaded.
PyObject* SetEvalFrame() {
  static PyObject* const name = PyUnicode_InternFromString("torch._dynamo.eval_frame");
  static PyObject* set = nullptr;
  if (set != nullptr) return set;
  if (MembersOf(name) == nullptr) return nullptr;
  nb::object at = nb::module_::import_("torch");
  for (const char* part : {"_C", "_dynamo", "eval_frame", "set_eval_frame"}) {
    at = nb::getattr(at, part, nb::none());
    if (at.is_none()) return nullptr;
  }
  return set = at.release().ptr();
}

// tensor.requires_grad.
bool AsksForGrad(PyObject* tensor) {
  if (const std::optional<bool> asks = TensorRequiresGrad(tensor)) [[likely]]
    return *asks;
  static PyObject* const name = PyUnicode_InternFromString("requires_grad");
  return nb::steal(CheckNew(PyObject_GetAttr(tensor, name))).is(nb::handle(Py_True));
}

// torch.autograd.graph.increment_version is Python, around a function that takes an iterable;
// before torch 2.6 that took one tensor.
void BumpInPython(PyObject* const* tensors, std::size_t count) {
  static PyObject* bump = nullptr;  // guarded by the GIL
  static bool takes_all = true;
  if (bump == nullptr)
    bump = nb::object(nb::module_::import_("torch").attr("_C").attr("_increment_version"))
               .release()
               .ptr();
  if (takes_all) {
    nb::object all = nb::steal(CheckNew(PyTuple_New(static_cast<Py_ssize_t>(count))));
    for (std::size_t i = 0; i < count; ++i)
      PyTuple_SetItem(all.ptr(), static_cast<Py_ssize_t>(i), Py_NewRef(tensors[i]));
    PyObject* const args[] = {all.ptr()};
    if (nb::steal(PyObject_Vectorcall(bump, args, 1, nullptr)).is_valid()) return;
    // torch checks that argument itself, with a RuntimeError.
    if (PyErr_ExceptionMatches(PyExc_RuntimeError) == 0 &&
        PyErr_ExceptionMatches(PyExc_TypeError) == 0)
      ThrowCurrent();
    PyErr_Clear();
    takes_all = false;
  }
  for (std::size_t i = 0; i < count; ++i)
    nb::steal(CheckNew(PyObject_Vectorcall(bump, &tensors[i], 1, nullptr)));
}

}  // namespace

bool RequiresGrad(PyObject* tensor) {
  if (!AsksForGrad(tensor)) [[likely]]
    return false;
  static PyObject* enabled = nullptr;
  if (enabled == nullptr)
    enabled = nb::object(nb::module_::import_("torch").attr("is_grad_enabled")).release().ptr();
  return nb::steal(CheckNew(PyObject_CallNoArgs(enabled))).is(nb::handle(Py_True));
}

bool IsNegative(PyObject* tensor) {
  const nb::object is_neg = nb::getattr(nb::handle(tensor), "is_neg", nb::none());
  return !is_neg.is_none() && is_neg().is(nb::handle(Py_True));
}

void BumpVersions(PyObject* const* tensors, std::size_t count) {
  std::size_t done = 0;
  while (done < count && BumpVersion(tensors[done])) ++done;
  if (done < count) BumpInPython(tensors + done, count - done);
}

bool MayHaveTangents() {
  static PyObject* const name = PyUnicode_InternFromString("torch.autograd.forward_ad");
  static PyObject* const level_name = PyUnicode_InternFromString("_current_level");
  static PyObject* members = nullptr;  // guarded by the GIL
  if (members == nullptr) members = MembersOf(name);
  if (members == nullptr) return false;  // none was loaded, and so none entered
  PyObject* level = PyDict_GetItemWithError(members, level_name);
  static PyObject* const none = CheckNew(PyLong_FromLong(-1));  // Python has one such object
  if (level == none) [[likely]]
    return false;
  const long value = level == nullptr ? -1 : PyLong_AsLong(level);
  if (level != nullptr && PyErr_Occurred() == nullptr) return value >= 0;
  PyErr_Clear();
  return true;  // torch calls it otherwise by now: the tensors are asked
}

bool HasTangent(PyObject* tensor) {
  const nb::object unpack = nb::module_::import_("torch.autograd.forward_ad").attr("unpack_dual");
  return !unpack(nb::handle(tensor)).attr("tangent").is_none();
}

void CheckNotRecorded(const std::string& function) {
  if (InDispatchMode() || InJitTrace()) [[unlikely]]
    InPython("check_not_recorded")(function);
}

void CheckNotTransformed(PyObject* tensor, const std::string& what) {
  InPython("check_tensor")(nb::handle(tensor), what);
}

bool IsCapturing() {
  const WithoutDynamo without_dynamo;
  return InPython("is_capturing")().is(nb::handle(Py_True));
}

DrawnRng DrawRng(PyObject* tensor, std::int64_t count) {
  if (tensor != nullptr && ThreadRandomStates().empty()) {
    const WithoutDynamo without_dynamo;
    static PyObject* const draw = InPython("draw").release().ptr();
    return DrawnOf(nb::handle(draw)(nb::handle(tensor), count));
  }
  DrawnRng drawn;
  drawn.rng = CurrentRandomState().Advance(count);
  return drawn;
}

nb::object TupleOf(const DrawnRng& drawn) {
  const nb::object state = drawn.state.is_valid() ? drawn.state : nb::none();
  return nb::make_tuple(drawn.rng.seed, drawn.rng.offset, state);
}

DrawnRng DrawnOf(nb::handle tuple) {
  if (!PyTuple_Check(tuple.ptr()) || PyTuple_Size(tuple.ptr()) != 3)
    ThrowTypeError("rng: expected a tuple (seed, offset, state)");
  DrawnRng drawn;
  drawn.rng.seed = nb::cast<std::uint64_t>(tuple[0]);
  drawn.rng.offset = nb::cast<std::uint64_t>(tuple[1]);
  const nb::object state = tuple[2];
  if (state.is_none()) return drawn;
  const ArgName what{"", "", 0, "rng state"};
  const Array words = BorrowArray(state.ptr(), what).array;
  if (words.dtype() != DType::kI64 || words.num_elements() != 2 || !words.strides().empty())
    ThrowTypeError("rng: expected a state of i64[2], got " + Describe(words));
  drawn.rng.device_state = words.data();
  drawn.state = state;
  return drawn;
}

WithoutDynamo::WithoutDynamo() {
  if (PyObject* set = SetEvalFrame(); set != nullptr)
    before_ = nb::steal(CheckNew(PyObject_CallFunctionObjArgs(set, Py_None, nullptr)));
}

WithoutDynamo::~WithoutDynamo() {
  if (!before_.is_valid() || before_.is_none()) return;
  const nb::error_scope scope;  // an error may be on its way
  PyObject* done = PyObject_CallFunctionObjArgs(SetEvalFrame(), before_.ptr(), nullptr);
  if (done == nullptr) PyErr_WriteUnraisable(SetEvalFrame());
  Py_XDECREF(done);
}

}  // namespace jitfuse::python
