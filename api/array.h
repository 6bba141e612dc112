// Array: a tensor's data, owned or borrowed, on the CPU or a CUDA device.
//
// An Array is a pointer, a dtype, dims, strides (in elements; any sign, 0 included) and a device.
// Copies share the data. Borrowed data must outlive its uses; owned data is freed with the last
// copy. On a GPU it is freed in the order of the stream that it was made with (Empty's, CopyTo's,
// or the RunOptions::stream of the call whose result it is). Hence two duties of the caller: that
// stream must not be destroyed before the last copy of the Array is gone, and work that uses the
// Array on another stream must come before that in the order of the first (cuStreamWaitEvent).
// nullptr, the default stream, is never destroyed. RunOptions::allocator must outlive the results
// that it gave memory to. Host scalars are rank-0 CPU Arrays (Array::Scalar). Nothing here checks
// what is in the memory. A DType of no dtype's number is an error where a Status can say so; what
// takes such an Array refuses it.
#ifndef JITFUSE_API_ARRAY_H_
#define JITFUSE_API_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "options.h"
#include "status.h"
#include "tensor.h"

namespace jitfuse {
inline namespace v1 {

struct Device {
  DeviceKind kind = DeviceKind::kCpu;  // kCpu or kCuda
  int index = 0;
  friend bool operator==(const Device& a, const Device& b) {
    return a.kind == b.kind && a.index == b.index;
  }
};

class Array {
 public:
  Array() = default;  // no data, rank 0

  // Borrows `data`. Empty strides: contiguous, row-major.
  static Array View(void* data, DType dtype, std::vector<std::int64_t> dims,
                    std::vector<std::int64_t> strides = {}, Device device = {});
  static Array View(const void* data, DType dtype, std::vector<std::int64_t> dims,
                    std::vector<std::int64_t> strides = {}, Device device = {});
  // As View, with dims and strides (null: contiguous) as `rank` numbers each, which are copied.
  // Makes no allocation for contiguous data where this thread has lately viewed other data of these
  // dims.
  static Array ViewOf(void* data, DType dtype, int rank, const std::int64_t* dims,
                      const std::int64_t* strides = nullptr, Device device = {});
  // Makes this array what ViewOf gives, for less where it is a contiguous view of these dims
  // already: then it counts no references.
  void ResetView(void* data, DType dtype, int rank, const std::int64_t* dims,
                 const std::int64_t* strides = nullptr, Device device = {});
  // Owned, contiguous, uninitialised; on a GPU made, and in the end freed, in the order of
  // `stream`, which must still be there then. kResourceExhausted if there is no memory,
  // kInvalidArgument for bad dims or a bad dtype.
  static StatusOr<Array> Empty(DType dtype, std::vector<std::int64_t> dims, Device device = {},
                               void* stream = nullptr);
  // Owned, on the CPU, a copy of `values` converted by the cast rules. values.size() must be the
  // product of dims.
  static StatusOr<Array> FromValues(DType dtype, std::vector<std::int64_t> dims,
                                    const std::vector<double>& values);
  // A host scalar, for Builder::Scalar inputs; without data if there is no such dtype.
  static Array Scalar(DType dtype, double value);
  static Array ScalarInt(DType dtype, std::int64_t value);

  void* data() const { return data_; }
  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& dims() const { return dims_ != nullptr ? *dims_ : None(); }
  const std::vector<std::int64_t>& strides() const {  // empty: contiguous
    return strides_ != nullptr ? *strides_ : None();
  }
  Device device() const { return device_; }
  std::int64_t num_elements() const;
  bool IsContiguous() const;

  // A contiguous copy on `device`, freed in the order of `stream` as Empty's. Synchronises with
  // `stream` where a GPU is involved. From a GPU, an array that is not contiguous, or on another
  // GPU than `device`, goes through host memory.
  StatusOr<Array> CopyTo(Device device, void* stream = nullptr) const;
  // All elements in row-major order as doubles (exact for everything but 64-bit integers beyond
  // 2^53). Synchronises.
  StatusOr<std::vector<double>> ToVector(void* stream = nullptr) const;

 private:
  friend struct ArrayAccess;
  void* data_ = nullptr;
  DType dtype_ = DType::kF32;
  static const std::vector<std::int64_t>& None();
  std::shared_ptr<const std::vector<std::int64_t>> dims_, strides_;  // null: none
  Device device_;
  std::shared_ptr<void> owner_;
};

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_ARRAY_H_
