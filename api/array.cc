#include "api/array.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "api/convert.h"
#include "api/runtime.h"
#include "ir/scalar_expr.h"
#include "ir/support/status.h"

namespace jitfuse {
inline namespace v1 {

const char* DTypeName(DType dtype) {
  return internal::DTypeName(internal::FromPublic(dtype)).data();
}
int ItemSize(DType dtype) { return internal::ItemSize(internal::FromPublic(dtype)); }

Array Array::View(void* data, DType dtype, std::vector<std::int64_t> dims,
                  std::vector<std::int64_t> strides, Device device) {
  return ArrayAccess::Make(data, dtype, std::move(dims), std::move(strides), device, nullptr);
}

Array Array::View(const void* data, DType dtype, std::vector<std::int64_t> dims,
                  std::vector<std::int64_t> strides, Device device) {
  return View(const_cast<void*>(data), dtype, std::move(dims), std::move(strides), device);
}

namespace {

// Dims that the calling thread has used, by hash: a call of small arrays would else spend a good
// part of its time on allocating them.
const std::shared_ptr<const std::vector<std::int64_t>>& SharedDims(int rank,
                                                                   const std::int64_t* dims) {
  constexpr std::size_t kSlots = 16;
  thread_local std::array<std::shared_ptr<const std::vector<std::int64_t>>, kSlots> slots;
  std::uint64_t hash = 0;
  for (int d = 0; d < rank; ++d)
    hash = (hash ^ static_cast<std::uint64_t>(dims[d])) * 0x9e3779b97f4a7c15u;
  auto& slot = slots[hash >> 60];
  if (slot == nullptr || !std::equal(slot->begin(), slot->end(), dims, dims + rank))
    slot = std::make_shared<const std::vector<std::int64_t>>(dims, dims + rank);
  return slot;
}

}  // namespace

Array Array::ViewOf(void* data, DType dtype, int rank, const std::int64_t* dims,
                    const std::int64_t* strides, Device device) {
  if (rank <= 0) return View(data, dtype, {}, {}, device);
  if (strides == nullptr)
    return ArrayAccess::Make(data, dtype, SharedDims(rank, dims), device, nullptr);
  return View(data, dtype, {dims, dims + rank}, {strides, strides + rank}, device);
}

void Array::ResetView(void* data, DType dtype, int rank, const std::int64_t* dims,
                      const std::int64_t* strides, Device device) {
  const std::vector<std::int64_t>& own = this->dims();
  const bool same = owner_ == nullptr && strides_ == nullptr && strides == nullptr &&
                    own.size() == static_cast<std::size_t>(rank) &&
                    std::equal(own.begin(), own.end(), dims);
  if (!same) {
    *this = ViewOf(data, dtype, rank, dims, strides, device);
    return;
  }
  data_ = data;
  dtype_ = dtype;
  device_ = device;
}

StatusOr<Array> Array::Empty(DType dtype, std::vector<std::int64_t> dims, Device device,
                             void* stream) {
  if (absl::Status s = internal::CheckDType(dtype); !s.ok())
    return internal::ToPublic(internal::Annotate(s, "Array::Empty"));
  for (std::int64_t d : dims) {
    if (d < 0)
      return Status(StatusCode::kInvalidArgument,
                    absl::StrCat("Array::Empty: a dim is ", d, "; expected 0 or more"));
  }
  if (device.kind != DeviceKind::kCpu && device.kind != DeviceKind::kCuda)
    return Status(StatusCode::kInvalidArgument,
                  absl::StrCat("Array::Empty: arrays are on the CPU or on a GPU, not on ",
                               internal::DeviceName(device)));
  auto elements = internal::CheckedNumElements(dims);
  std::int64_t bytes = 0;
  if (!elements || __builtin_mul_overflow(*elements, std::int64_t{ItemSize(dtype)}, &bytes)) {
    return Status(StatusCode::kInvalidArgument, "Array::Empty: the size overflows 64 bits");
  }
  auto shared = std::make_shared<const std::vector<std::int64_t>>(std::move(dims));
  if (bytes == 0) return ArrayAccess::Make(nullptr, dtype, std::move(shared), device, nullptr);
  JF_API_ASSIGN_OR_RETURN(const internal::Backend* backend,
                          internal::GetBackend(device.kind, device.index));
  return internal::ToPublic(
      internal::NewArray(dtype, std::move(shared), bytes, device, backend->allocator(), stream));
}

StatusOr<Array> Array::FromValues(DType dtype, std::vector<std::int64_t> dims,
                                  const std::vector<double>& values) {
  StatusOr<Array> out = Empty(dtype, std::move(dims));
  if (!out.ok()) return out;
  if (out->num_elements() != static_cast<std::int64_t>(values.size())) {
    return Status(StatusCode::kInvalidArgument,
                  absl::StrCat("Array::FromValues: expected ", out->num_elements(),
                               " values for these dims, got ", values.size()));
  }
  internal::DType d = internal::FromPublic(dtype);
  auto* to = static_cast<char*>(out->data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    internal::StoreScalar(d, internal::ScalarFromDouble(d, values[i]),
                          to + i * static_cast<std::size_t>(ItemSize(dtype)));
  }
  return out;
}

Array Array::Scalar(DType dtype, double value) {
  if (!internal::CheckDType(dtype).ok()) return View(static_cast<void*>(nullptr), dtype, {});
  internal::HostTensor t{internal::FromPublic(dtype), {}, std::vector<std::uint8_t>(8)};
  internal::StoreScalar(t.dtype, internal::ScalarFromDouble(t.dtype, value), t.bytes.data());
  return internal::FromHostTensor(std::move(t));
}

Array Array::ScalarInt(DType dtype, std::int64_t value) {
  if (!internal::CheckDType(dtype).ok()) return View(static_cast<void*>(nullptr), dtype, {});
  internal::HostTensor t{internal::FromPublic(dtype), {}, std::vector<std::uint8_t>(8)};
  internal::StoreScalar(t.dtype, internal::ScalarFromInt(t.dtype, value), t.bytes.data());
  return internal::FromHostTensor(std::move(t));
}

std::int64_t Array::num_elements() const {
  return internal::CheckedNumElements(dims()).value_or(0);
}

const std::vector<std::int64_t>& Array::None() {
  static const auto* none = new std::vector<std::int64_t>;
  return *none;
}

bool Array::IsContiguous() const {
  if (strides().empty()) return true;
  std::vector<std::int64_t> dense = internal::ContiguousStrides(absl::MakeConstSpan(dims()));
  for (std::size_t d = 0; d < dims().size(); ++d) {
    if (dims()[d] == 0) return true;
    if (dims()[d] != 1 && strides()[d] != dense[d]) return false;
  }
  return true;
}

StatusOr<Array> Array::CopyTo(Device device, void* stream) const {
  StatusOr<Array> out = Empty(dtype_, dims(), device, stream);
  if (!out.ok() || num_elements() == 0) return out;
  auto bytes =
      static_cast<std::size_t>(num_elements()) * static_cast<std::size_t>(ItemSize(dtype_));
  if (device_ == device && device.kind == DeviceKind::kCuda && IsContiguous()) {
    JF_API_ASSIGN_OR_RETURN(const internal::Backend* backend,
                            internal::GetBackend(device.kind, device.index));
    JF_API_RETURN_IF_ERROR(backend->CopyOnDevice(out->data(), data_, bytes, stream));
    return out;
  }
  JF_API_ASSIGN_OR_RETURN(internal::HostTensor host, internal::ToHostTensor(*this, stream));
  JF_API_ASSIGN_OR_RETURN(const internal::Backend* to,
                          internal::GetBackend(device.kind, device.index));
  JF_API_RETURN_IF_ERROR(to->CopyFromHost(out->data(), host.bytes.data(), bytes, stream));
  return out;
}

StatusOr<std::vector<double>> Array::ToVector(void* stream) const {
  JF_API_ASSIGN_OR_RETURN(internal::HostTensor t, internal::ToHostTensor(*this, stream));
  std::vector<double> out;
  auto size = static_cast<std::size_t>(ItemSize(dtype_));
  for (std::size_t at = 0; at < t.bytes.size(); at += size) {
    out.push_back(
        internal::ScalarToDouble(t.dtype, internal::LoadScalar(t.dtype, t.bytes.data() + at)));
  }
  return out;
}

}  // namespace v1
}  // namespace jitfuse
