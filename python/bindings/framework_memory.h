// Results and scratch memory of a GPU call from the framework whose arrays went in: torch's caching
// allocator through its exchange table, CuPy's pool through cupy.empty.
//
// Untested where there is no GPU (the exchange table's part runs on the CPU in tests). One object
// per call, on its stack; Release hands the results over after the call.
#ifndef JITFUSE_PYTHON_BINDINGS_FRAMEWORK_MEMORY_H_
#define JITFUSE_PYTHON_BINDINGS_FRAMEWORK_MEMORY_H_

#include <Python.h>

#include <mutex>
#include <vector>

#include "dlpack/dlpack.h"
#include "jitfuse/array.h"
#include "jitfuse/options.h"

namespace jitfuse::python {

// Through a DLPack exchange table. Needs no GIL.
class ExchangeMemory : public ResultMaker, public Allocator {
 public:
  ExchangeMemory(const DLPackExchangeAPI& api, Device device) : api_(api), device_(device) {}
  ~ExchangeMemory() override;
  StatusOr<Array> Make(int output, DType dtype, const std::vector<std::int64_t>& dims,
                       Device device) override;
  void* Allocate(std::size_t bytes, void* stream) override;
  void Free(void* ptr, std::size_t bytes, void* stream) override;
  // New references to the results as Python arrays; needs the GIL. Throws.
  void Release(PyObject** results);

 private:
  StatusOr<DLManagedTensorVersioned*> New(DType dtype, const std::vector<std::int64_t>& dims,
                                          Device device);
  const DLPackExchangeAPI& api_;
  const Device device_;
  std::vector<DLManagedTensorVersioned*> results_, scratch_;
};

// Through a module with empty(shape, dtype=...); needs the GIL.
class ModuleMemory : public ResultMaker {
 public:
  explicit ModuleMemory(PyObject* module) : module_(module) {}
  ~ModuleMemory() override;
  StatusOr<Array> Make(int output, DType dtype, const std::vector<std::int64_t>& dims,
                       Device device) override;
  void Release(PyObject** results);

 private:
  PyObject* module_;
  std::vector<PyObject*> results_;
};

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_FRAMEWORK_MEMORY_H_
