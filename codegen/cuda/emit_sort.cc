#include "codegen/cuda/emit_sort.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/cuda/emit_context.h"
#include "codegen/cuda/prelude.h"
#include "ir/support/int_math.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kTile = kThreads * 8;  // pairs of a block, as in codegen/cuda/prelude/sort.cuh
constexpr int kDigitBits = 4;
constexpr int64_t kDigits = int64_t{1} << kDigitBits;

struct SortKernel {
  std::string_view name;
  std::vector<std::string_view> buffers;  // their types; T: of the indices
  int sizes;
};
enum SortKernelNumber : size_t { kKeys, kCount, kScan, kMove, kOrder, kBounds };

const std::vector<SortKernel>& SortKernels() {
  constexpr std::string_view kKey = "unsigned long long*", kIn = "const unsigned long long*",
                             kValue = "long long*", kValueIn = "const long long*";
  static const auto* kernels = new std::vector<SortKernel>{
      {"keys", {"const T*", kKey, kValue}, 4},
      {"count", {kIn, kKey}, 2},
      {"scan", {kKey}, 1},
      {"move", {kIn, kValueIn, kIn, kKey, kValue}, 2},
      {"order", {kValueIn, kValue}, 3},
      {"bounds", {kIn, kValue, kValue}, 4},
  };
  return *kernels;
}

// All kernels but the first are the same for all dtypes.
std::string Body(const SortKernel& kernel, const std::string& entry, DType indices) {
  std::vector<std::string> params, args;
  for (size_t k = 0; k < kernel.buffers.size(); ++k) {
    std::string type(kernel.buffers[k]);
    if (type == "const T*") type = absl::StrCat("const ", ToAbsl(CudaStoredType(indices)), "*");
    params.push_back(absl::StrCat(type, " p", k));
    args.push_back(absl::StrCat("p", k));
  }
  for (int k = 0; k < kernel.sizes; ++k) {
    params.push_back(absl::StrCat("long long z", k));
    args.push_back(absl::StrCat("z", k));
  }
  return absl::StrCat("extern \"C\" __global__ void __launch_bounds__(", kThreads, ")\n", entry,
                      "(", absl::StrJoin(params, ", "), ") {\n  jf_sort_", ToAbsl(kernel.name), "(",
                      absl::StrJoin(args, ", "), ");\n}\n");
}

}  // namespace

std::vector<KernelSource> EmitCudaSort(DType indices, const Target& target) {
  std::vector<KernelSource> out;
  for (size_t k = 0; k < SortKernels().size(); ++k) {
    const SortKernel& kernel = SortKernels()[k];
    KernelSource source;
    source.lang = SourceLang::kCuda;
    source.entry = absl::StrCat("k_sort_", ToAbsl(kernel.name));
    if (k == kKeys) absl::StrAppend(&source.entry, "_", ToAbsl(DTypeName(indices)));
    source.arch = target.arch;
    source.options = {"--fmad=false"};
    source.size_args.resize(static_cast<size_t>(kernel.sizes));
    source.threads = kThreads;
    const std::string body = Body(kernel, source.entry, indices);
    source.text =
        absl::StrCat("// Jitfuse kernel ", source.entry, " for ", target.arch,
                     ": a stable sort of positions by index\n", PreludeFor(body), "\n", body);
    out.push_back(std::move(source));
  }
  return out;
}

int CudaSortPasses(const SortProblem& p) {
  const auto keys = static_cast<uint64_t>(p.lines() * std::max<int64_t>(p.groups, 1));
  if (p.indices() == 0 || keys <= 1) return 0;
  return (std::bit_width(keys - 1) + kDigitBits - 1) / kDigitBits;
}

// Two lists of keys, two of values, and a count for each digit of each tile.
int64_t CudaSortWorkspaceBytes(const SortProblem& p) {
  return 8 * (4 * p.indices() + kDigits * CeilDiv(p.indices(), kTile));
}

absl::Status ForEachSortLaunch(const SortProblem& p, absl::Span<void* const> buffers,
                               void* workspace, SortLaunchFn launch) {
  const int64_t n = p.indices(), tiles = CeilDiv(n, kTile), blocks = CeilDiv(n, kThreads);
  auto* base = static_cast<uint64_t*>(workspace);
  void *keys = base, *values = base + n, *other_keys = base + 2 * n, *other_values = base + 3 * n,
       *totals = base + 4 * n;
  auto run = [&](size_t kernel, std::initializer_list<void*> args,
                 std::initializer_list<int64_t> sizes, int64_t grid) {
    return grid == 0 ? absl::OkStatus()
                     : launch(kernel, absl::MakeConstSpan(args.begin(), args.size()),
                              absl::MakeConstSpan(sizes.begin(), sizes.size()), grid);
  };
  JF_RETURN_IF_ERROR(
      run(kKeys, {buffers[0], keys, values}, {p.positions, p.inner, p.groups, n}, blocks));
  for (int pass = 0; pass < CudaSortPasses(p); ++pass) {
    const int64_t shift = int64_t{kDigitBits} * pass;
    JF_RETURN_IF_ERROR(run(kCount, {keys, totals}, {shift, n}, tiles));
    JF_RETURN_IF_ERROR(run(kScan, {totals}, {kDigits * tiles}, 1));
    JF_RETURN_IF_ERROR(
        run(kMove, {keys, values, totals, other_keys, other_values}, {shift, n}, tiles));
    std::swap(keys, other_keys);
    std::swap(values, other_values);
  }
  JF_RETURN_IF_ERROR(run(kOrder, {values, buffers[1]}, {p.positions, p.inner, n}, blocks));
  return run(kBounds, {keys, buffers[2], buffers[3]}, {p.positions, p.inner, p.groups, p.bounds()},
             CeilDiv(p.bounds(), kThreads));
}

}  // namespace jitfuse::internal
