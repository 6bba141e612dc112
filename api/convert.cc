#include "api/convert.h"

#include <cstring>

#include "ir/support/status.h"

namespace jitfuse {
inline namespace v1 {

static_assert(static_cast<int>(DType::kF64) == static_cast<int>(internal::DType::kF64));
static_assert(static_cast<int>(DType::kBF16) == static_cast<int>(internal::DType::kBF16));
static_assert(static_cast<int>(DType::kI8) == static_cast<int>(internal::DType::kI8));
static_assert(static_cast<int>(DType::kU8) == static_cast<int>(internal::DType::kU8));
static_assert(static_cast<int>(Numerics::kFast) == static_cast<int>(internal::Numerics::kFast));
static_assert(static_cast<int>(StatusCode::kUnauthenticated) ==
              static_cast<int>(absl::StatusCode::kUnauthenticated));
static_assert(static_cast<int>(StatusCode::kUnimplemented) ==
              static_cast<int>(absl::StatusCode::kUnimplemented));

Array ArrayAccess::Make(void* data, DType dtype, std::vector<std::int64_t> dims,
                        std::vector<std::int64_t> strides, Device device,
                        std::shared_ptr<void> owner) {
  Array out;
  out.data_ = data;
  out.dtype_ = dtype;
  out.dims_ = std::move(dims);
  out.strides_ = std::move(strides);
  out.device_ = device;
  out.owner_ = std::move(owner);
  return out;
}

}  // namespace v1

namespace internal {
namespace {

// Calls visit(offset in elements) for each element in row-major order.
template <typename Visit>
void ForEachOffset(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides, Visit visit) {
  for (int64_t d : dims) {
    if (d == 0) return;
  }
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

}  // namespace

Status ToPublic(const absl::Status& status) {
  if (status.ok()) return Status();
  return Status(static_cast<StatusCode>(status.code()), std::string(status.message()));
}

Options FromPublic(const CompileOptions& options) {
  Options out;
  out.numerics = static_cast<Numerics>(options.numerics);
  out.batch_invariant = options.batch_invariant;
  out.fuse = options.fuse;
  out.rewrite = options.rewrite;
  out.use_gemm_library = options.use_gemm_library;
  out.max_fusions = options.max_fusions;
  return out;
}

TensorView ViewOf(const Array& array) {
  return {array.data(), FromPublic(array.dtype()), array.dims(), array.strides()};
}

absl::StatusOr<HostTensor> ToHostTensor(const Array& array) {
  if (array.device().kind != DeviceKind::kCpu)
    return InvalidArgument("expected an array on the CPU, got one on a GPU");
  HostTensor out;
  out.dtype = FromPublic(array.dtype());
  out.dims = array.dims();
  auto size = static_cast<size_t>(ItemSize(out.dtype));
  out.bytes.resize(static_cast<size_t>(array.num_elements()) * size);
  if (out.bytes.empty()) return out;
  if (array.data() == nullptr)
    return InvalidArgument("an array of ", array.num_elements(), " elements has no data");
  std::vector<int64_t> strides = array.strides().empty()
                                     ? ContiguousStrides(absl::MakeConstSpan(array.dims()))
                                     : array.strides();
  uint8_t* to = out.bytes.data();
  ForEachOffset(array.dims(), strides, [&](int64_t offset) {
    std::memcpy(to, static_cast<const char*>(array.data()) + offset * static_cast<int64_t>(size),
                size);
    to += size;
  });
  return out;
}

Array FromHostTensor(HostTensor tensor) {
  auto owner = std::make_shared<HostTensor>(std::move(tensor));
  return ArrayAccess::Make(owner->bytes.data(), ToPublic(owner->dtype), owner->dims, {}, Device{},
                           owner);
}

}  // namespace internal
}  // namespace jitfuse
