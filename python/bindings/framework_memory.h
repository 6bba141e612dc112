// Results and scratch memory of a GPU call from the framework whose arrays went in: torch's caching
// allocator, CuPy's pool, or that of an exchange table.
//
// One object per call, on its stack, made while the framework's device and stream are those of the
// call; Release hands the results over after the call. What of it torch is asked for runs on the
// CPU in tests too. Scratch memory is given back when the call has been enqueued: the framework
// hands it out again in the order of the same stream.
#ifndef JITFUSE_PYTHON_BINDINGS_FRAMEWORK_MEMORY_H_
#define JITFUSE_PYTHON_BINDINGS_FRAMEWORK_MEMORY_H_

#include <Python.h>

#include <utility>
#include <vector>

#include "dlpack/dlpack.h"
#include "jitfuse/array.h"
#include "jitfuse/options.h"

namespace jitfuse::python {

class FrameworkMemory : public ResultMaker, public Allocator {
 public:
  // New references to the results as Python arrays; needs the GIL. Throws.
  virtual void Release(PyObject** results) = 0;
};

// Through a DLPack exchange table. Needs no GIL but in Release.
class ExchangeMemory : public FrameworkMemory {
 public:
  ExchangeMemory(const DLPackExchangeAPI& api, Device device) : api_(api), device_(device) {}
  ~ExchangeMemory() override;
  StatusOr<Array> Make(int output, DType dtype, const std::vector<std::int64_t>& dims,
                       Device device) override;
  void* Allocate(std::size_t bytes, void* stream) override;
  void Free(void* ptr, std::size_t bytes, void* stream) override;
  void Release(PyObject** results) override;

 protected:
  const DLPackExchangeAPI& api() const { return api_; }

 private:
  StatusOr<DLManagedTensorVersioned*> New(DType dtype, const std::vector<std::int64_t>& dims,
                                          Device device);
  const DLPackExchangeAPI& api_;
  const Device device_;
  std::vector<DLManagedTensorVersioned*> results_, scratch_;
};

// Results that torch itself makes, not wrapped: record_stream knows no memory that came in through
// DLPack, and would do nothing. Make needs the GIL.
class TorchMemory : public ExchangeMemory {
 public:
  // `results`: where Release is to put them; nothing there is anyone's before.
  TorchMemory(const DLPackExchangeAPI& api, Device device, PyObject** results)
      : ExchangeMemory(api, device), results_(results) {}
  ~TorchMemory() override;
  StatusOr<Array> Make(int output, DType dtype, const std::vector<std::int64_t>& dims,
                       Device device) override;
  void Release(PyObject** results) override;

 private:
  PyObject** const results_;
  std::size_t made_ = 0;  // so many there are this object's
};

// Of CuPy's pool. Needs the GIL.
class CupyMemory : public FrameworkMemory {
 public:
  ~CupyMemory() override;
  StatusOr<Array> Make(int output, DType dtype, const std::vector<std::int64_t>& dims,
                       Device device) override;
  void* Allocate(std::size_t bytes, void* stream) override;
  void Free(void* ptr, std::size_t bytes, void* stream) override;
  void Release(PyObject** results) override;

 private:
  std::vector<PyObject*> results_;
  std::vector<std::pair<void*, PyObject*>> scratch_;  // address, cupy.cuda.MemoryPointer
};

}  // namespace jitfuse::python

#endif  // JITFUSE_PYTHON_BINDINGS_FRAMEWORK_MEMORY_H_
