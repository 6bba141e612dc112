// Tensors of any strides and device as dense host tensors.
//
// In: a view whose pointer is on the back end's device (or in host memory, for a back end whose
// memory that is). Out: a copy in row-major order. On a GPU the bytes from the first to the last
// element are copied and picked apart here, so this waits for the stream and is for tools, checks
// and Array::CopyTo, not for speed. Must not know: arrays of the API.
#ifndef JITFUSE_JIT_HOST_COPY_H_
#define JITFUSE_JIT_HOST_COPY_H_

#include "absl/status/statusor.h"
#include "ir/host_tensor.h"
#include "jit/backend.h"
#include "jit/call_class.h"

namespace jitfuse::internal {

// Of memory that this process can read.
absl::StatusOr<HostTensor> GatherHost(const TensorView& view);
absl::StatusOr<HostTensor> CopyToHostTensor(const Backend& backend, const TensorView& view,
                                            StreamHandle stream);
// The other way: the elements of `from` into the view, of the same dtype and dims. On a GPU the
// bytes between the elements of a strided view are written too, with what they held.
absl::Status CopyFromHostTensor(const Backend& backend, const HostTensor& from,
                                const TensorView& view, StreamHandle stream);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_HOST_COPY_H_
