#include "codegen/fusion/gemm_padding.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace jitfuse::internal {
namespace {

// As measured with cuBLASLt 13.1 on an H100, at 4096 x 4096 x 4096 with one of k and n changed.
struct Kernels {
  int64_t multiple;       // elements in 16 bytes
  double slowdown, odd;   // of the kernels for other sizes, and of those for odd sizes
  double flops_per_byte;  // what the fast kernels do while memory moves a byte
};
constexpr Kernels kHalf = {8, 2.8, 5.8, 256};
constexpr Kernels kTf32 = {4, 3.1, 3.1, 128};
constexpr double kLaunch = 8 << 20;  // bytes that memory moves while a small kernel starts

const Kernels* KernelsOf(DType dtype, Numerics numerics) {
  if (dtype == DType::kF16 || dtype == DType::kBF16) return &kHalf;
  return dtype == DType::kF32 && numerics == Numerics::kFast ? &kTf32 : nullptr;
}

struct Extents {
  int64_t rows, n, k;  // rows of all batches
  double a, b;         // elements of the operands
  bool k_in_rows;      // rows of an operand, as it is stored, are k long
};

double Elements(const Shape& dims, double otherwise) {
  const SizeExpr all = NumElements(dims);
  return all.IsConstant() ? static_cast<double>(all.constant()) : otherwise;
}

std::optional<Extents> ExtentsOf(const Graph& graph, const Node& product) {
  const Shape &out = product.types[0].dims, &a = graph.type(product.in[0]).dims,
              &b = graph.type(product.in[1]).dims;
  const bool ta = product.Get<bool>("transpose_a"), tb = product.Get<bool>("transpose_b");
  const Dim &n = out.back(), &k = a[a.size() - (ta ? 2 : 1)];
  if (!n.IsConstant() || !k.IsConstant()) return std::nullopt;
  const SizeExpr rows = NumElements(Shape(out.begin(), out.end() - 1));
  Extents e;
  e.rows = rows.IsConstant() ? rows.constant() : kAssumedRows;
  e.n = n.constant();
  e.k = k.constant();
  e.a = Elements(a, static_cast<double>(e.rows * e.k));
  e.b = Elements(b, static_cast<double>(e.n * e.k));
  e.k_in_rows = !ta || tb;
  return e;
}

int64_t Missing(int64_t extent, int64_t multiple) {
  return (multiple - extent % multiple) % multiple;
}

// In bytes that memory moves meanwhile.
double Saved(const Extents& e, const GemmPad& pad, const Kernels& kernels) {
  const bool odd = (pad.k != 0 && e.k % 2 != 0) || (pad.n != 0 && e.n % 2 != 0);
  const double flops =
      2.0 * static_cast<double>(e.rows) * static_cast<double>(e.n) * static_cast<double>(e.k);
  return ((odd ? kernels.odd : kernels.slowdown) - 1) * flops / kernels.flops_per_byte;
}

double Cost(const Extents& e, const GemmPad& pad, int64_t item_size) {
  double elements = 2 * e.b, launches = 1;
  if (pad.k != 0) {
    elements += 2 * e.a;
    ++launches;
  }
  if (pad.n != 0) {  // what reads the result might be part of the product otherwise
    elements += 2.0 * static_cast<double>(e.rows) * static_cast<double>(e.n);
    ++launches;
  }
  return elements * static_cast<double>(item_size) + launches * kLaunch;
}

}  // namespace

std::optional<GemmPad> PaddingOf(const Graph& graph, const Node& product, DType dtype,
                                 const Target& target, Numerics numerics) {
  const Kernels* kernels = KernelsOf(dtype, numerics);
  if (target.kind != TargetKind::kCuda || kernels == nullptr) return std::nullopt;
  const std::optional<Extents> e = ExtentsOf(graph, product);
  if (!e) return std::nullopt;
  GemmPad pad;
  pad.k = e->k_in_rows ? Missing(e->k, kernels->multiple) : 0;
  pad.n = Missing(e->n, kernels->multiple);
  if (pad.k == 0 && pad.n == 0) return std::nullopt;
  if (Saved(*e, pad, *kernels) <= Cost(*e, pad, ItemSize(dtype))) return std::nullopt;
  return pad;
}

std::string PaddingToString(const GemmPad& pad, int64_t k, int64_t n) {
  std::vector<std::string> parts;
  if (pad.k != 0) parts.push_back(absl::StrCat("k from ", k, " to ", k + pad.k));
  if (pad.n != 0) parts.push_back(absl::StrCat("n from ", n, " to ", n + pad.n));
  return absl::StrJoin(parts, ", ");
}

}  // namespace jitfuse::internal
