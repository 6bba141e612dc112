// What a jitted call returns, made from the results of its function.
//
// PlanOf reads a structure of jitfuse._pytree: "*", None, or (type, keys, children), whose leaves
// are the numbers of results or constants in lists; CheckResults says whether all numbers are
// there; Build makes the nest, as jitfuse._pytree.unflatten does. All of it needs the GIL.
#ifndef JITFUSE_PYTHON_BINDINGS_OUT_PLAN_H_
#define JITFUSE_PYTHON_BINDINGS_OUT_PLAN_H_

#include <Python.h>

#include <cstddef>
#include <vector>

#include "python/bindings/errors.h"

namespace jitfuse::python {

// What a call returns: a nest of results, constants and None.
struct OutPlan {
  enum Kind {
    kResult,
    kConstant,
    kTuple,
    kList,
    kDict,
    kNamedTuple,
    kDictClass,
    kDataclass
  } kind = kConstant;
  std::size_t result = 0;
  nb::object constant = nb::none();
  nb::object type;               // of the last three
  std::vector<nb::object> keys;  // of a dict, or the names of fields
  std::vector<OutPlan> items;
};

nb::object Build(const OutPlan& plan, PyObject** results);
OutPlan PlanOf(nb::handle structure, const std::vector<nb::object>& leaves, std::size_t* next);
void CheckResults(const OutPlan& plan, std::size_t num_outputs);
// For the garbage collector.
int VisitPlan(const OutPlan& plan, visitproc visit, void* arg);

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_OUT_PLAN_H_
