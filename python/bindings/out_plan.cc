#include "python/bindings/out_plan.h"

#include <string>

namespace jitfuse::python {
namespace {

nb::object BuildTuple(const OutPlan& plan, PyObject** results) {
  nb::object out = nb::steal(CheckNew(PyTuple_New(static_cast<Py_ssize_t>(plan.items.size()))));
  for (std::size_t i = 0; i < plan.items.size(); ++i)
    PyTuple_SetItem(out.ptr(), static_cast<Py_ssize_t>(i),
                    Build(plan.items[i], results).release().ptr());
  return out;
}

// Without calling __init__, as jitfuse._pytree does it.
nb::object BuildDataclass(const OutPlan& plan, PyObject** results) {
  static PyObject* const make =
      CheckNew(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__new__"));
  nb::object out =
      nb::steal(CheckNew(PyObject_CallFunctionObjArgs(make, plan.type.ptr(), nullptr)));
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    if (PyObject_GenericSetAttr(out.ptr(), plan.keys[i].ptr(),
                                Build(plan.items[i], results).ptr()) != 0)
      ThrowCurrent();
  }
  return out;
}

// Likewise.
nb::object BuildNamedTuple(const OutPlan& plan, PyObject** results) {
  static PyObject* const make =
      CheckNew(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyTuple_Type), "__new__"));
  const nb::object items = BuildTuple(plan, results);
  return nb::steal(
      CheckNew(PyObject_CallFunctionObjArgs(make, plan.type.ptr(), items.ptr(), nullptr)));
}

OutPlan::Kind KindOf(nb::handle type, nb::handle keys) {
  const auto is = [&](PyTypeObject& t) { return type.ptr() == reinterpret_cast<PyObject*>(&t); };
  if (is(PyTuple_Type)) return OutPlan::kTuple;
  if (is(PyList_Type)) return OutPlan::kList;
  if (is(PyDict_Type)) return OutPlan::kDict;
  if (PyCallable_Check(type.ptr()) == 0)
    ThrowTypeError("jit_add: expected a type in the structure, got " + TypeName(type.ptr()));
  if (keys.is_none()) return OutPlan::kNamedTuple;
  const bool is_dict =  // or what makes one of a defaultdict's kind
      !PyType_Check(type.ptr()) ||
      PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()), &PyDict_Type) != 0;
  if (is_dict) return OutPlan::kDictClass;
  return nb::hasattr(type, "__dataclass_fields__") ? OutPlan::kDataclass : OutPlan::kDictClass;
}

}  // namespace

nb::object Build(const OutPlan& plan, PyObject** results) {
  switch (plan.kind) {
    case OutPlan::kResult:
      return nb::borrow(results[plan.result]);
    case OutPlan::kConstant:
      return plan.constant;
    case OutPlan::kTuple:
      return BuildTuple(plan, results);
    case OutPlan::kNamedTuple:
      return BuildNamedTuple(plan, results);
    case OutPlan::kDataclass:
      return BuildDataclass(plan, results);
    case OutPlan::kDictClass: {
      nb::object out = plan.type();
      for (std::size_t i = 0; i < plan.items.size(); ++i)
        out[plan.keys[i]] = Build(plan.items[i], results);
      return out;
    }
    case OutPlan::kList: {
      nb::list out;
      for (const OutPlan& item : plan.items) out.append(Build(item, results));
      return out;
    }
    case OutPlan::kDict: {
      nb::dict out;
      for (std::size_t i = 0; i < plan.items.size(); ++i)
        out[plan.keys[i]] = Build(plan.items[i], results);
      return out;
    }
  }
  return nb::none();
}

OutPlan PlanOf(nb::handle structure, const std::vector<nb::object>& leaves, std::size_t* next) {
  OutPlan out;
  if (structure.is_none()) return out;
  if (nb::isinstance<nb::str>(structure)) {
    if (*next >= leaves.size()) ThrowValueError("jit_add: more leaves in the structure than given");
    const nb::object& leaf = leaves[(*next)++];
    if (nb::isinstance<nb::list>(leaf)) {
      out.constant = leaf[nb::int_(0)];
    } else {
      out.kind = OutPlan::kResult;
      out.result = nb::cast<std::size_t>(leaf);
    }
    return out;
  }
  const nb::object type = structure[nb::int_(0)], keys = structure[nb::int_(1)];
  out.kind = KindOf(type, keys);
  if (out.kind >= OutPlan::kNamedTuple) out.type = type;
  if (!keys.is_none()) {
    for (nb::handle key : nb::iter(keys)) out.keys.push_back(nb::borrow(key));
  }
  for (nb::handle child : nb::iter(structure[nb::int_(2)]))
    out.items.push_back(PlanOf(child, leaves, next));
  return out;
}

void CheckResults(const OutPlan& plan, std::size_t num_outputs) {
  if (plan.kind == OutPlan::kResult && plan.result >= num_outputs)
    ThrowValueError("jit_add: there is no output " + std::to_string(plan.result));
  for (const OutPlan& item : plan.items) CheckResults(item, num_outputs);
}

int VisitPlan(const OutPlan& plan, visitproc visit, void* arg) {
  Py_VISIT(plan.constant.ptr());
  Py_VISIT(plan.type.ptr());
  for (const nb::object& key : plan.keys) Py_VISIT(key.ptr());
  for (const OutPlan& item : plan.items) {
    if (const int stop = VisitPlan(item, visit, arg)) return stop;
  }
  return 0;
}

}  // namespace jitfuse::python
