#include "api/dlpack.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/convert.h"
#include "ir/support/status.h"

namespace jitfuse {
inline namespace v1 {
namespace {

absl::StatusOr<DType> DTypeOf(const DLDataType& t) {
  if (t.lanes != 1) return internal::InvalidArgument("DLPack: expected lanes == 1, got ", t.lanes);
  struct Row {
    int code, bits;
    DType dtype;
  };
  static constexpr Row kRows[] = {
      {kDLBool, 8, DType::kBool},  {kDLUInt, 8, DType::kU8},      {kDLUInt, 16, DType::kU16},
      {kDLUInt, 32, DType::kU32},  {kDLUInt, 64, DType::kU64},    {kDLInt, 8, DType::kI8},
      {kDLInt, 16, DType::kI16},   {kDLInt, 32, DType::kI32},     {kDLInt, 64, DType::kI64},
      {kDLFloat, 16, DType::kF16}, {kDLBfloat, 16, DType::kBF16}, {kDLFloat, 32, DType::kF32},
      {kDLFloat, 64, DType::kF64}};
  for (const Row& row : kRows) {
    if (row.code == t.code && row.bits == t.bits) return row.dtype;
  }
  return internal::InvalidArgument("DLPack: no dtype here has type code ", static_cast<int>(t.code),
                                   " with ", static_cast<int>(t.bits), " bits");
}

DLDataType DLTypeOf(DType dtype) {
  internal::DType d = internal::FromPublic(dtype);
  int code = d == internal::DType::kBool   ? kDLBool
             : d == internal::DType::kBF16 ? kDLBfloat
             : internal::IsFloat(d)        ? kDLFloat
             : internal::IsSigned(d)       ? kDLInt
                                           : kDLUInt;
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(8 * ItemSize(dtype)), 1};
}

absl::StatusOr<Device> DeviceOf(const DLDevice& d) {
  if (d.device_type == kDLCPU || d.device_type == kDLCUDAHost) return Device{DeviceKind::kCpu, 0};
  if (d.device_type == kDLCUDA || d.device_type == kDLCUDAManaged)
    return Device{DeviceKind::kCuda, d.device_id};
  return internal::InvalidArgument("DLPack: expected a CPU or CUDA tensor, got device type ",
                                   static_cast<int>(d.device_type));
}

// Sizes and reach of a tensor fit 64 bits. Strides of extents below 2 say nothing.
absl::Status CheckSizes(const std::vector<std::int64_t>& dims,
                        const std::vector<std::int64_t>& strides, std::int64_t item) {
  const std::string shape = absl::StrCat("[", absl::StrJoin(dims, ","), "]");
  std::vector<std::int64_t> bytes = dims;
  bytes.push_back(item);
  for (std::int64_t d : dims) {
    if (d < 0) return internal::InvalidArgument("DLPack: expected sizes >= 0, got shape ", shape);
  }
  const auto total = internal::CheckedNumElements(bytes);
  if (total == 0) return absl::OkStatus();
  if (!total)
    return internal::InvalidArgument("DLPack: shape ", shape,
                                     " has more bytes than fit in 64 bits");
  bool overflow = false;
  std::int64_t low = 0, high = item;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (dims[d] < 2) continue;
    std::int64_t reach = 0;
    overflow |= __builtin_mul_overflow(dims[d] - 1, strides[d], &reach);
    overflow |= __builtin_mul_overflow(reach, item, &reach);
    std::int64_t& end = reach < 0 ? low : high;
    overflow |= __builtin_add_overflow(end, reach, &end);
  }
  if (!overflow) return absl::OkStatus();
  return internal::InvalidArgument("DLPack: shape ", shape, " with strides [",
                                   absl::StrJoin(strides, ","), "] reaches beyond 64 bits");
}

StatusOr<Array> Borrow(const DLTensor& t, std::shared_ptr<void> owner) {
  JF_API_ASSIGN_OR_RETURN(DType dtype, DTypeOf(t.dtype));
  JF_API_ASSIGN_OR_RETURN(Device device, DeviceOf(t.device));
  if (t.ndim < 0 || t.ndim > internal::kMaxRank) {
    return Status(StatusCode::kInvalidArgument, absl::StrCat("DLPack: expected a rank of 0 to ",
                                                             internal::kMaxRank, ", got ", t.ndim));
  }
  if (t.ndim > 0 && t.shape == nullptr)
    return Status(StatusCode::kInvalidArgument,
                  absl::StrCat("DLPack: a tensor of rank ", t.ndim, " has no shape"));
  std::vector<std::int64_t> dims(t.shape, t.shape + t.ndim), strides;
  if (t.strides != nullptr) strides.assign(t.strides, t.strides + t.ndim);
  JF_API_RETURN_IF_ERROR(CheckSizes(dims, strides, ItemSize(dtype)));
  void* data = t.data == nullptr ? nullptr : static_cast<char*>(t.data) + t.byte_offset;
  return ArrayAccess::Make(data, dtype, std::move(dims), std::move(strides), device,
                           std::move(owner));
}

// The storage behind an exported tensor: the Array, and the arrays DLTensor points into.
struct Export {
  DLManagedTensor managed;
  Array array;
  std::vector<std::int64_t> dims, strides;
};

}  // namespace

StatusOr<Array> FromDLPack(DLManagedTensor* tensor) {
  if (tensor == nullptr) return Status(StatusCode::kInvalidArgument, "DLPack: the tensor is null");
  std::shared_ptr<void> owner(tensor, [](void* p) {
    auto* t = static_cast<DLManagedTensor*>(p);
    if (t->deleter != nullptr) t->deleter(t);
  });
  return Borrow(tensor->dl_tensor, std::move(owner));
}

StatusOr<Array> FromDLPackView(const DLTensor& tensor) { return Borrow(tensor, nullptr); }

StatusOr<DLManagedTensor*> ToDLPack(const Array& array) {
  auto out = std::make_unique<Export>();
  out->array = array;
  out->dims = array.dims();
  out->strides = array.strides().empty()
                     ? internal::ContiguousStrides(absl::MakeConstSpan(array.dims()))
                     : array.strides();
  DLTensor& t = out->managed.dl_tensor;
  t.data = array.data();
  t.device = {array.device().kind == DeviceKind::kCuda ? kDLCUDA : kDLCPU, array.device().index};
  t.ndim = static_cast<int>(out->dims.size());
  t.dtype = DLTypeOf(array.dtype());
  t.shape = out->dims.data();
  t.strides = out->strides.data();
  t.byte_offset = 0;
  out->managed.manager_ctx = out.get();
  out->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<Export*>(self->manager_ctx);
  };
  return &out.release()->managed;
}

}  // namespace v1
}  // namespace jitfuse
