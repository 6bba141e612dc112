// Borrowing the arrays of a call: from a Python object to a jitfuse::Array, without a copy.
//
// What is borrowed points into the object, which the caller keeps alive; where a producer hands
// out a capsule or a buffer instead, the Loan holds it until it goes. Errors name what was got
// and, through `what` ("f: argument 1 'w'"), where. All of it needs the GIL.
#ifndef JITFUSE_PYTHON_BINDINGS_BORROW_H_
#define JITFUSE_PYTHON_BINDINGS_BORROW_H_

#include <Python.h>

#include <memory>
#include <string>

#include "jitfuse/array.h"
#include "python/bindings/array_types.h"

namespace jitfuse::python {

// Names an argument in errors; made into text only when there is one.
struct ArgName {
  const char* function = "";
  const char* role = "argument";  // or "out"
  int index = 0;
  const char* name = "";  // "" where it has none
  std::string Text() const;
};

// What comes with an array that is borrowed.
struct Loan {
  const TypeInfo* type = nullptr;
  bool readonly = false;
  std::shared_ptr<void> owner;  // of a capsule or a buffer; else null
};

struct Borrowed {
  Array array;
  Loan loan;
};

// TypeInfoOf, whose TypeErrors get the argument's name.
const TypeInfo& TypeInfoOf(PyObject* object, const ArgName& what);

// Of an array. TypeError for what is none or has a dtype that Jitfuse has not, ValueError for
// layouts that it cannot read.
Borrowed BorrowArray(PyObject* object, const ArgName& what);
// As BorrowArray, of an object whose type was looked at; for less where `array` is a view of the
// same dims before.
Loan BorrowInto(PyObject* object, const TypeInfo& type, const ArgName& what, Array* array);

// bool, int, float, NumPy scalars and the like.
bool IsNumber(PyObject* object);
// The number as a rank-0 array of that dtype. TypeError where it is of another kind (a float for an
// integer), ValueError where it does not fit.
Array NumberAs(PyObject* object, DType dtype, const ArgName& what);

// "f32[2,3]".
std::string Describe(const Array& array);

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_BORROW_H_
