#include "jit/host_copy.h"

#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "ir/shape.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

std::vector<int64_t> StridesOf(const TensorView& view) {
  if (view.strides.empty()) return ContiguousStrides(view.dims);
  std::vector<int64_t> strides(view.strides.begin(), view.strides.end());
  for (size_t d = 0; d < strides.size(); ++d) {
    if (view.dims[d] == 1) strides[d] = 0;  // it may be anything, and nobody takes it
  }
  return strides;
}

// Calls visit(offset in elements) for each element in row-major order; there is at least one.
template <typename Visit>
void ForEachOffset(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides, Visit visit) {
  std::vector<int64_t> at(dims.size(), 0);
  int64_t offset = 0;
  while (true) {
    visit(offset);
    size_t d = dims.size();
    while (d-- > 0) {
      offset += strides[d];
      if (++at[d] < dims[d]) break;
      offset -= at[d] * strides[d];
      at[d] = 0;
    }
    if (d == static_cast<size_t>(-1)) return;
  }
}

// A host tensor of this shape, or an error where it cannot be.
absl::StatusOr<HostTensor> Shaped(const TensorView& view) {
  for (int64_t d : view.dims) {
    if (d < 0) return InvalidArgument("an array has a dim of ", d, ", expected 0 or more");
  }
  std::optional<int64_t> elements = CheckedNumElements(view.dims);
  int64_t bytes = 0;
  if (!elements || __builtin_mul_overflow(*elements, int64_t{ItemSize(view.dtype)}, &bytes))
    return InvalidArgument("the size of an array overflows 64 bits");
  if (*elements > 0 && view.ptr == nullptr)
    return InvalidArgument("an array of ", *elements, " elements has no data");
  if (!view.strides.empty() && view.strides.size() != view.dims.size())
    return InvalidArgument("an array has ", view.dims.size(), " dims and ", view.strides.size(),
                           " strides");
  HostTensor out{view.dtype, std::vector<int64_t>(view.dims.begin(), view.dims.end()), {}};
  try {
    out.bytes.resize(static_cast<size_t>(bytes));
  } catch (const std::exception&) {
    return absl::ResourceExhaustedError(absl::StrCat("no host memory for ", bytes, " bytes"));
  }
  return out;
}

void Gather(const char* base, const TensorView& view, HostTensor* out) {
  const auto size = static_cast<size_t>(ItemSize(view.dtype));
  uint8_t* to = out->bytes.data();
  ForEachOffset(view.dims, StridesOf(view), [&](int64_t offset) {
    std::memcpy(to, base + offset * static_cast<int64_t>(size), size);
    to += size;
  });
}

}  // namespace

absl::StatusOr<HostTensor> GatherHost(const TensorView& view) {
  JF_ASSIGN_OR_RETURN(HostTensor out, Shaped(view));
  if (!out.bytes.empty()) Gather(static_cast<const char*>(view.ptr), view, &out);
  return out;
}

namespace {

// The memory from the first to the last element of a view of one element or more.
struct Range {
  bool dense = true;
  int64_t before = 0;  // bytes from its beginning to where the view points
  int64_t bytes = 0;
};

absl::StatusOr<Range> RangeOf(const TensorView& view) {
  const std::vector<int64_t> strides = StridesOf(view);
  Range out;
  int64_t low = 0, high = 0, expected = 1, elements = 0;
  bool overflow = false;
  for (size_t d = view.dims.size(); d-- > 0;) {
    out.dense = out.dense && (view.dims[d] == 1 || strides[d] == expected);
    expected *= view.dims[d];
    int64_t reach = 0;
    overflow |= __builtin_mul_overflow(view.dims[d] - 1, strides[d], &reach);
    overflow |= __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high);
  }
  overflow |= __builtin_sub_overflow(high, low, &elements);
  overflow |= __builtin_add_overflow(elements, int64_t{1}, &elements);
  overflow |= __builtin_mul_overflow(elements, int64_t{ItemSize(view.dtype)}, &out.bytes);
  if (overflow) return InvalidArgument("the strides of an array reach further than 64 bits");
  out.before = -low * ItemSize(view.dtype);
  return out;
}

absl::StatusOr<std::unique_ptr<char[]>> CopyRange(const Backend& backend, const TensorView& view,
                                                  const Range& range, StreamHandle stream) {
  std::unique_ptr<char[]> out(new (std::nothrow) char[static_cast<size_t>(range.bytes)]);
  if (out == nullptr)
    return absl::ResourceExhaustedError(absl::StrCat("no host memory for ", range.bytes, " bytes"));
  JF_RETURN_IF_ERROR(backend.CopyToHost(out.get(),
                                        static_cast<const char*>(view.ptr) - range.before,
                                        static_cast<size_t>(range.bytes), stream));
  return out;
}

}  // namespace

absl::StatusOr<HostTensor> CopyToHostTensor(const Backend& backend, const TensorView& view,
                                            StreamHandle stream) {
  JF_ASSIGN_OR_RETURN(HostTensor out, Shaped(view));
  if (out.bytes.empty()) return out;
  JF_ASSIGN_OR_RETURN(const Range range, RangeOf(view));
  if (range.dense) {
    JF_RETURN_IF_ERROR(backend.CopyToHost(out.bytes.data(), view.ptr, out.bytes.size(), stream));
    return out;
  }
  JF_ASSIGN_OR_RETURN(std::unique_ptr<char[]> bytes, CopyRange(backend, view, range, stream));
  Gather(bytes.get() + range.before, view, &out);
  return out;
}

absl::Status CopyFromHostTensor(const Backend& backend, const HostTensor& from,
                                const TensorView& view, StreamHandle stream) {
  if (from.dtype != view.dtype || absl::MakeSpan(from.dims) != view.dims)
    return InternalError("expected a tensor of the view's dtype and dims");
  if (from.bytes.empty()) return absl::OkStatus();
  JF_ASSIGN_OR_RETURN(const Range range, RangeOf(view));
  void* to = const_cast<void*>(view.ptr);
  if (range.dense) return backend.CopyFromHost(to, from.bytes.data(), from.bytes.size(), stream);
  JF_ASSIGN_OR_RETURN(std::unique_ptr<char[]> bytes, CopyRange(backend, view, range, stream));
  const auto size = static_cast<size_t>(ItemSize(view.dtype));
  const uint8_t* next = from.bytes.data();
  ForEachOffset(view.dims, StridesOf(view), [&](int64_t offset) {
    std::memcpy(bytes.get() + range.before + offset * static_cast<int64_t>(size), next, size);
    next += size;
  });
  return backend.CopyFromHost(static_cast<char*>(to) - range.before, bytes.get(),
                              static_cast<size_t>(range.bytes), stream);
}

}  // namespace jitfuse::internal
