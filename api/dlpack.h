// DLPack in and out: arrays of other libraries, zero-copy.
//
// FromDLPack borrows the tensor and calls its deleter when the last copy of the Array goes away
// (the Array then owns the capsule's contents). ToDLPack hands out a DLManagedTensor that keeps the
// Array's data alive until its deleter is called. Strides are kept. bool is kDLBool (or 8-bit
// kDLUInt on old producers is u8). Null strides mean
// contiguous. Errors: dtypes with lanes != 1 or unknown codes, ranks above 8, negative sizes, sizes
// and strides beyond 64 bits, devices other than CPU and CUDA.
#ifndef JITFUSE_API_DLPACK_H_
#define JITFUSE_API_DLPACK_H_

#include "array.h"
#include "dlpack/dlpack.h"
#include "status.h"

namespace jitfuse {
inline namespace v1 {

StatusOr<Array> FromDLPack(DLManagedTensor* tensor);      // takes ownership, also on error
StatusOr<Array> FromDLPackView(const DLTensor& tensor);   // borrows; the caller keeps it alive
StatusOr<DLManagedTensor*> ToDLPack(const Array& array);  // the caller calls ->deleter

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_DLPACK_H_
