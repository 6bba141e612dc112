// Without the GIL while a call compiles or runs long.
#ifndef JITFUSE_PYTHON_BINDINGS_GIL_H_
#define JITFUSE_PYTHON_BINDINGS_GIL_H_

#include <Python.h>

#include "jitfuse/options.h"

namespace jitfuse::python {

class WithoutGil : public LongWork {
 public:
  void Begin() override { state_ = PyEval_SaveThread(); }
  void End() override { PyEval_RestoreThread(state_); }

 private:
  PyThreadState* state_ = nullptr;
};

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_GIL_H_
