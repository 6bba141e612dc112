#include "jit/cuda/cubin_info.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ir/support/elf.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr absl::string_view kSpillRemark = "spilled to local memory in function '";

// Entries of .nv.info: a form, an attribute, a size (form kSized) or a value of two bytes.
constexpr uint64_t kSized = 4;
constexpr uint64_t kFrameSize = 0x11, kStackSize = 0x12,  // {symbol, value}, four bytes each
    kRegisterCount = 0x2f;

// The value of `attribute` for the symbol `name`.
int64_t InfoOf(const ElfFile& cubin, uint64_t attribute, std::string_view name) {
  const ElfSection* info = cubin.Section(".nv.info");
  if (info == nullptr) return KernelResources::kUnknown;
  for (size_t at = 0; at + 4 <= info->bytes.size();) {
    const uint64_t size = ReadLittleEndian(info->bytes, at, 1) == kSized
                              ? ReadLittleEndian(info->bytes, at + 2, 2)
                              : 0;
    const uint64_t symbol = ReadLittleEndian(info->bytes, at + 4, 4);
    if (ReadLittleEndian(info->bytes, at + 1, 1) == attribute && size == 8 &&
        symbol < cubin.symbols().size() && cubin.symbols()[symbol].name == name)
      return static_cast<int64_t>(ReadLittleEndian(info->bytes, at + 8, 4));
    at += 4 + size;
  }
  return KernelResources::kUnknown;
}

int64_t LocalBytes(const ElfFile& cubin, std::string_view name) {
  return std::max<int64_t>({InfoOf(cubin, kFrameSize, name), InfoOf(cubin, kStackSize, name), 0});
}

// From sm_90 on what the system keeps of a block's shared memory is part of the section.
int64_t StaticSmem(const ElfFile& cubin, std::string_view name) {
  constexpr int64_t kReserved = 1024;
  const ElfSection* section = cubin.Section(absl::StrCat(".nv.shared.", ToAbsl(name)));
  if (section == nullptr) return 0;
  const auto size = static_cast<int64_t>(section->size);
  const bool reserves = cubin.Section(".nv.shared.reserved.0") != nullptr && size >= kReserved;
  return reserves ? size - kReserved : size;
}

// Lines "... in function 'name', 16 bytes spill stores, 24 bytes spill loads" of the kernel, and of
// functions of the compiler's own that it calls (division of f64), whose names begin with "__".
void ReadSpills(const std::string& log, std::string_view name, KernelResources* out) {
  out->spill_stores = out->spill_loads = 0;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    const size_t at = line.find(kSpillRemark);
    if (at == absl::string_view::npos) continue;
    const std::vector<absl::string_view> parts =
        absl::StrSplit(line.substr(at + kSpillRemark.size()), ", ");
    const absl::string_view of = absl::StripSuffix(parts[0], "'");
    if (of != ToAbsl(name) && !absl::StartsWith(of, "__")) continue;
    for (const absl::string_view part : parts) {
      int64_t bytes = 0;
      if (!absl::SimpleAtoi(part.substr(0, part.find(' ')), &bytes)) continue;
      (absl::StrContains(part, "stores") ? out->spill_stores : out->spill_loads) += bytes;
    }
  }
}

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
int64_t MaxBlocksPerSm(int sm) {
  switch (sm) {
    case 75:
    case 86:
    case 87:
    case 88:
      return 16;
    case 89:
    case 110:
    case 120:
    case 121:
      return 24;
    default:
      return 32;
  }
}

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

KernelResources ResourcesOfCubin(const KernelSource& source, const CompiledKernel& compiled,
                                 const Target& target) {
  KernelResources out;
  out.threads = source.threads;
  out.dynamic_smem = source.smem;
  out.max_threads_per_sm = target.max_threads_per_sm;
  const std::optional<ElfFile> cubin = ElfFile::Read(compiled.bytes);
  if (!cubin) return out;
  out.registers = InfoOf(*cubin, kRegisterCount, source.entry);
  if (out.registers < 0) return out;  // no kernel of this name
  out.local_bytes = LocalBytes(*cubin, source.entry);
  out.static_smem = StaticSmem(*cubin, source.entry);
  if (const ElfSection* code = cubin->Section(absl::StrCat(".text.", source.entry)))
    out.code_bytes = static_cast<int64_t>(code->size);
  ReadSpills(compiled.log, source.entry, &out);
  return out;
}

bool HasUnsaidLocalMemory(const CompiledKernel& compiled, std::string_view name) {
  if (absl::StrContains(compiled.log, kSpillRemark)) return false;
  const std::optional<ElfFile> cubin = ElfFile::Read(compiled.bytes);
  return cubin && LocalBytes(*cubin, name) > 0;
}

void AskDriver(const DriverApi& driver, CuFunction function, KernelResources* resources) {
  const auto ask = [&](CuFunctionAttribute attribute, int64_t* out) {
    int value = 0;
    if (driver.FuncGetAttribute(&value, attribute, function) == kCuSuccess) *out = value;
  };
  ask(kCuFuncNumRegs, &resources->registers);
  ask(kCuFuncLocalSizeBytes, &resources->local_bytes);
  ask(kCuFuncSharedSizeBytes, &resources->static_smem);
  int blocks = 0;
  if (driver.OccupancyMaxActiveBlocks(&blocks, function, static_cast<int>(resources->threads),
                                      static_cast<size_t>(resources->dynamic_smem)) == kCuSuccess)
    resources->blocks_per_sm = blocks;
}

// Registers are given to warps in units of 256, to each of a multiprocessor's four schedulers
// apart; shared memory to blocks in units of 128 bytes (256 before sm_80), of which the system
// keeps 1024 a block from sm_80 on.
int64_t BlocksPerSm(const KernelResources& r, const Target& target) {
  if (r.registers <= 0 || r.threads <= 0 || r.static_smem < 0) return KernelResources::kUnknown;
  constexpr int64_t kWarp = 32, kSchedulers = 4, kRegisterUnit = 256;
  const int64_t warps = (r.threads + kWarp - 1) / kWarp;
  const int64_t regs_of_warp = RoundUp(r.registers * kWarp, kRegisterUnit);
  const int64_t warps_by_regs = target.regs_per_sm / kSchedulers / regs_of_warp * kSchedulers;
  int64_t blocks = std::min(MaxBlocksPerSm(target.sm), target.max_threads_per_sm / kWarp / warps);
  blocks = std::min(blocks, warps_by_regs / warps);
  const bool old = target.sm < 80;
  const int64_t smem = RoundUp(r.static_smem + r.dynamic_smem + (old ? 0 : 1024), old ? 256 : 128);
  if (smem > 0) blocks = std::min(blocks, target.smem_per_sm / smem);
  return blocks;
}

}  // namespace jitfuse::internal
