// A compiled function as the bindings hold it, and one call of it.
//
// Call borrows the arguments, runs, and gives results of the kind that went in: that of the first
// array which is not NumPy's, else NumPy's. `outs`, one array per result or none at all, are
// written instead. Before anything runs, arguments are compared with the signature, so that errors
// name the argument, what was got and what was expected: TypeError for a kind or dtype, ValueError
// for a rank, shape, device, or an `out` that is read-only or overlaps what it must not. The GIL is
// held but around LongWork (api/options.h).
//
// On a GPU a call goes to the current stream of the framework whose array comes first, arguments
// before outs. Where arrays of another framework are among them, its stream is waited for before
// the call, and the call's own after it.
#ifndef JITFUSE_PYTHON_BINDINGS_FUNCTION_H_
#define JITFUSE_PYTHON_BINDINGS_FUNCTION_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jitfuse/function.h"
#include "jitfuse/inspect.h"
#include "python/bindings/borrow.h"

namespace jitfuse::python {

// What a bound function keeps of its bound arrays: they stay alive, and count where a call's own
// arrays say neither what kind its results have nor which stream it is for.
struct BoundObjects {
  std::map<std::string, nb::object> objects;  // by input
  std::map<std::string, std::vector<std::shared_ptr<void>>> owners;
  std::vector<std::pair<std::string, PyObject*>> of_torch;  // the tensors of torch among `objects`
  const TypeInfo* like = nullptr;                           // as those of CallInputs
  PyObject* like_object = nullptr;
  const TypeInfo* gpu_type = nullptr;
  Device gpu_device;
};

struct PyFunction {
  // `background`: its code may be compiled by another thread, for which the function's end waits.
  explicit PyFunction(Function f, bool background = false);
  ~PyFunction();  // waits without the GIL, which that thread's log may want
  PyFunction(const PyFunction&) = default;
  PyFunction(PyFunction&&) = default;
  PyFunction& operator=(const PyFunction&) = default;
  PyFunction& operator=(PyFunction&&) = default;
  Function function;
  bool background = false;
  BoundObjects bound;
  std::string name;
  std::vector<InputInfo> inputs, outputs;
  std::int64_t random_ops = 0;
};

// The arrays that results are written into, checked.
struct CallOutputs {
  std::vector<Array> arrays;
  std::vector<std::shared_ptr<void>> owners;
  const TypeInfo* gpu_type = nullptr;  // CallInputs', else that of the first out on a GPU
  Device gpu_device;
  std::vector<void*> other_streams;  // as CallInputs'
  std::vector<PyObject*> of_torch;

  void Clear();  // and keeps its memory, the views of `arrays` too
};

// The arguments of a call as arrays, in the order of the signature.
struct CallInputs {
  std::vector<Array> arrays;
  std::vector<std::shared_ptr<void>> owners;  // of capsules and buffers
  const TypeInfo* like = nullptr;             // the kind that results have
  PyObject* like_object = nullptr;
  const TypeInfo* gpu_type = nullptr;  // that of the first array on a GPU
  Device gpu_device;                   // where that is
  std::vector<void*> other_streams;    // of arrays on a GPU that are of another framework than that
  PyObject* torch_tensor = nullptr;    // the first one of torch's
  int requires_grad = -1;              // the first argument of which torch would record the use
  int dual_level = -1;                 // 1: tensors may have tangents; -1: there were none
  CallOutputs outs;                    // Execute's

  void Reserve(std::size_t n) { arrays.reserve(n); }
  void Clear();  // and keeps its memory
  // Takes what came with an argument on that device; the caller adds the array.
  void Add(PyObject* object, Device device, Loan&& loan);
};

struct CallOptions {
  PyObject* const* outs = nullptr;  // null: results are allocated
  std::size_t num_outs = 0;
  Rng rng;
  // Results and scratch memory from torch's allocator on the CPU too, as they are on a GPU.
  bool framework_memory = false;
};

// Borrows argument `i` and compares it with the signature.
void AddArg(const PyFunction& f, std::size_t i, PyObject* object, CallInputs* in);
// Takes what came with argument `i`, an array that is borrowed already and has the right dtype and
// rank; the caller adds the array.
void AddLoan(const PyFunction& f, std::size_t i, PyObject* object, Device device, Loan&& loan,
             CallInputs* in);
CallInputs BorrowArgs(const PyFunction& f, PyObject* const* args, std::size_t num_args);
// ValueError where an argument requires grad: what is called alone records nothing.
void CheckNoGrad(const PyFunction& f, const CallInputs& in);

// New references to the results (of `outs`: to these), one per output, into `results`.
void Execute(const PyFunction& f, CallInputs& in, const CallOptions& options, PyObject** results);
void Call(const PyFunction& f, PyObject* const* args, std::size_t num_args,
          const CallOptions& options, PyObject** results);

// Function::Tune on the current stream of the arguments' framework.
std::string Tune(const PyFunction& f, PyObject* const* args, std::size_t num_args);
// Function::Bind of these arrays or numbers. ValueError where torch would record their use.
PyFunction BindArrays(const PyFunction& f, const std::vector<std::string>& names,
                      PyObject* const* arrays);

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_FUNCTION_H_
