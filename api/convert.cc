#include "api/convert.h"

#include "absl/strings/str_cat.h"
#include "api/runtime.h"
#include "ir/support/status.h"
#include "jit/host_copy.h"

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
  if (!dims.empty()) out.dims_ = std::make_shared<const std::vector<std::int64_t>>(std::move(dims));
  if (!strides.empty())
    out.strides_ = std::make_shared<const std::vector<std::int64_t>>(std::move(strides));
  out.device_ = device;
  out.owner_ = std::move(owner);
  return out;
}

Array ArrayAccess::Make(void* data, DType dtype,
                        std::shared_ptr<const std::vector<std::int64_t>> dims, Device device,
                        std::shared_ptr<void> owner) {
  Array out;
  out.data_ = data;
  out.dtype_ = dtype;
  out.dims_ = std::move(dims);
  out.device_ = device;
  out.owner_ = std::move(owner);
  return out;
}

}  // namespace v1

namespace internal {
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
  out.autotune = options.autotune;
  out.dynamic = static_cast<Dynamic>(options.dynamic);
  out.background = options.background;
  out.specialize_after = options.specialize_after;
  return out;
}

absl::Status CheckDType(v1::DType dtype) {
  if (IsDType(dtype)) return absl::OkStatus();
  return InvalidArgument("dtype number ", static_cast<int>(dtype), ", expected one below ",
                         kNumDTypes);
}

absl::StatusOr<HostTensor> ToHostTensor(const Array& array, StreamHandle stream) {
  if (absl::Status s = CheckDType(array.dtype()); !s.ok()) return Annotate(s, "an array");
  const Device device = array.device();
  if (device.kind == DeviceKind::kCpu) return GatherHost(ViewOf(array));
  if (device.kind != DeviceKind::kCuda)
    return InvalidArgument("arrays are on the CPU or on a GPU, not on ", DeviceName(device));
  JF_ASSIGN_OR_RETURN(const Backend* backend, GetBackend(device.kind, device.index));
  return CopyToHostTensor(*backend, ViewOf(array), stream);
}

absl::StatusOr<Array> NewArray(v1::DType dtype,
                               std::shared_ptr<const std::vector<std::int64_t>> dims,
                               std::int64_t bytes, Device device, Allocator* allocator,
                               StreamHandle stream) {
  const auto size = static_cast<std::size_t>(bytes);
  void* data = allocator->Allocate(size, stream);
  if (data == nullptr)
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for an array of ", bytes, " bytes on ", DeviceName(device)));
  std::shared_ptr<void> owner(
      data, [allocator, size, stream](void* p) { allocator->Free(p, size, stream); });
  return ArrayAccess::Make(data, dtype, std::move(dims), device, std::move(owner));
}

std::string DeviceName(Device device) {
  switch (device.kind) {
    case DeviceKind::kCpu:
      return "the CPU";
    case DeviceKind::kCuda:
      return absl::StrCat("GPU ", device.index);
    case DeviceKind::kInterpret:
      return "the interpreter";
    case DeviceKind::kAuto:
      return "any device";
  }
  return absl::StrCat("device kind ", static_cast<int>(device.kind));
}

Array FromHostTensor(HostTensor tensor) {
  auto owner = std::make_shared<HostTensor>(std::move(tensor));
  return ArrayAccess::Make(owner->bytes.data(), ToPublic(owner->dtype), owner->dims, {}, Device{},
                           owner);
}

}  // namespace internal
}  // namespace jitfuse
