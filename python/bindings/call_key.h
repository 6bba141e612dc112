// What of a Python call decides which compiled function it means: the nest of its arguments, the
// dtype, rank and kind of device of each array, the type of each number, the values of static
// arguments.
//
// In: the arguments as vectorcall gives them. Out: a key (integers; of objects in it the addresses,
// which `keep` holds on to where they are stored), and the leaves in order: positional arguments,
// then keywords as given, depth first through tuples, lists, dicts, namedtuples and dataclasses (as
// jitfuse._pytree goes through them). Static arguments are no leaves; None is none. Sizes are no
// part of the key. FlattenCall says no where it meets what only Python knows how to take (then the
// slow way names what is wrong): arrays that cannot be borrowed, nests too deep.
#ifndef JITFUSE_PYTHON_BINDINGS_CALL_KEY_H_
#define JITFUSE_PYTHON_BINDINGS_CALL_KEY_H_

#include <Python.h>

#include <cstdint>
#include <vector>

#include "python/bindings/borrow.h"
#include "python/bindings/errors.h"

namespace jitfuse::python {

struct CallLeaf {
  PyObject* object = nullptr;
  bool is_array = false;
  Loan loan;  // of an array
};

struct FlatCall {
  std::vector<std::int64_t> key;
  std::vector<CallLeaf> leaves;
  std::vector<Array> arrays;     // by leaf; where that is no array, anything
  std::vector<nb::object> held;  // what is inside of nests, which others may change meanwhile
  std::vector<PyObject*> named;  // objects whose addresses are in the key
  std::uint64_t Hash() const;
  void Clear();  // and keeps its memory, the views of `arrays` too
};

struct StaticArgs {
  std::vector<bool> positions;    // of positional arguments
  std::vector<nb::object> names;  // of keywords; interned
};

// `keywords` are the values that follow the `num_args` positional ones, as vectorcall has them;
// `out` is not among them.
bool FlattenCall(PyObject* const* args, std::size_t num_args, PyObject* const* names,
                 PyObject* const* values, std::size_t num_keywords, const StaticArgs& statics,
                 FlatCall* out);

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_CALL_KEY_H_
