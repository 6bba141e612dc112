// Products and what stands behind them, in every form that codegen/fusion/gemm_epilogue.h takes or
// must tell from it.
#include <string>
#include <utility>
#include <vector>

#include "tests/support/graph_sweep.h"

namespace jitfuse_test {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

struct Form {
  const char* name;
  const char* text;  // $T: the dtype; $A: an activation's op
  std::vector<Sizes> sizes;
};

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Odd, a multiple of 16 bytes, one row, one column.
const std::vector<Sizes> kSizes = {{{"n", 5}, {"k", 7}, {"o", 9}},
                                   {{"n", 33}, {"k", 64}, {"o", 24}},
                                   {{"n", 1}, {"k", 16}, {"o", 40}},
                                   {{"n", 3}, {"k", 1}, {"o", 1}}};

const std::vector<Form> kActivated = {
    {"linear",
     "graph f(%x: $T[n,k], %w: $T[o,k], %b: $T[o]) -> ($T[n,o]) {\n %0 = linear(%x, %w, %b) : "
     "$T[n,o]\n %1 = $A(%0) : $T[n,o]\n return %1\n}",
     kSizes},
    {"product_residual",
     "graph f(%x: $T[n,k], %w: $T[k,o], %b: $T[o], %r: $T[n,o]) -> ($T[n,o]) {\n %0 = matmul(%x, "
     "%w) : $T[n,o]\n %1 = add(%0, %b) : $T[n,o]\n %2 = add(%r, %1) : $T[n,o]\n %3 = $A(%2) : "
     "$T[n,o]\n return %3\n}",
     kSizes},
    {"linear_3d",
     "graph f(%x: $T[3,n,k], %w: $T[o,k], %b: $T[o]) -> ($T[3,n,o]) {\n %0 = linear(%x, %w, %b) : "
     "$T[3,n,o]\n %1 = $A(%0) : $T[3,n,o]\n return %1\n}",
     kSizes}};

const std::vector<Form> kForms = {
    {"addmm",
     "graph f(%x: $T[n,k], %w: $T[k,o], %c: $T[n,o]) -> ($T[n,o]) {\n %0 = matmul(%x, %w) : "
     "$T[n,o]\n %h = constant {value=0.5} : $T[]\n %1 = multiply(%0, %h) : $T[n,o]\n %q = constant "
     "{value=-1.25} : $T[]\n %2 = multiply(%q, %c) : $T[n,o]\n %3 = add(%1, %2) : $T[n,o]\n %4 = "
     "relu(%3) : $T[n,o]\n return %4\n}",
     kSizes},
    {"two_products",
     "graph f(%x: $T[n,k], %w: $T[k,o], %y: $T[n,k], %b: $T[o]) -> ($T[n,o]) {\n %0 = matmul(%x, "
     "%w) : $T[n,o]\n %1 = matmul(%y, %w) : $T[n,o]\n %2 = add(%0, %1) : $T[n,o]\n %3 = add(%2, "
     "%b) : $T[n,o]\n %4 = relu(%3) : $T[n,o]\n return %4\n}",
     kSizes},
    {"scaled_and_plain",  // 0.5 * (x w) + (y v + b), whichever product comes first
     "graph f(%x: $T[n,k], %w: $T[k,o], %y: $T[n,k], %v: $T[k,o], %b: $T[o]) -> ($T[n,o], "
     "$T[n,o]) {\n %h = constant {value=0.5} : $T[]\n %0 = matmul(%x, %w) : $T[n,o]\n %1 = "
     "multiply(%0, %h) : $T[n,o]\n %2 = matmul(%y, %v) : $T[n,o]\n %3 = add(%2, %b) : $T[n,o]\n "
     "%4 = add(%1, %3) : $T[n,o]\n %5 = matmul(%y, %w) : $T[n,o]\n %6 = add(%5, %b) : $T[n,o]\n "
     "%7 = matmul(%x, %v) : $T[n,o]\n %8 = multiply(%7, %h) : $T[n,o]\n %9 = add(%8, %6) : "
     "$T[n,o]\n return %4, %9\n}",
     kSizes},
    {"low_rank",
     "graph f(%x: $T[n,k], %a: $T[k,2], %c: $T[2,o], %w: $T[k,o], %b: $T[o]) -> ($T[n,o]) {\n %h = "
     "constant {value=0.5} : $T[]\n %0 = matmul(%x, %a) : $T[n,2]\n %1 = matmul(%0, %c) : "
     "$T[n,o]\n %2 = multiply(%h, %1) : $T[n,o]\n %3 = matmul(%x, %w) : $T[n,o]\n %4 = add(%3, "
     "%b) : $T[n,o]\n %5 = add(%2, %4) : $T[n,o]\n return %5\n}",
     kSizes},
    {"gelu_written_out",
     "graph f(%x: $T[n,k], %w: $T[o,k], %b: $T[o]) -> ($T[n,o]) {\n %z = linear(%x, %w, %b) : "
     "$T[n,o]\n %1 = multiply(%z, %z) : $T[n,o]\n %2 = multiply(%1, %z) : $T[n,o]\n %a = constant "
     "{value=0.044715} : $T[]\n %3 = multiply(%a, %2) : $T[n,o]\n %4 = add(%z, %3) : $T[n,o]\n %c "
     "= constant {value=0.7978845608028654} : $T[]\n %5 = multiply(%c, %4) : $T[n,o]\n %6 = "
     "tanh(%5) : $T[n,o]\n %d = constant {value=1.0} : $T[]\n %7 = add(%d, %6) : $T[n,o]\n %h = "
     "constant {value=0.5} : $T[]\n %8 = multiply(%h, %z) : $T[n,o]\n %9 = multiply(%8, %7) : "
     "$T[n,o]\n return %9\n}",
     kSizes},
    {"bias_of_a_row",
     "graph f(%x: $T[n,k], %w: $T[k,o], %b: $T[n,1]) -> ($T[n,o]) {\n %0 = matmul(%x, %w) : "
     "$T[n,o]\n %1 = add(%0, %b) : $T[n,o]\n %2 = relu(%1) : $T[n,o]\n return %2\n}",
     kSizes},
    {"square",
     "graph f(%x: $T[n,n], %w: $T[n,n], %b: $T[n], %c: $T[n,1]) -> ($T[n,n], $T[n,n]) {\n %0 = "
     "matmul(%x, %w) : $T[n,n]\n %1 = add(%0, %b) : $T[n,n]\n %2 = relu(%1) : $T[n,n]\n %3 = "
     "matmul(%x, %w) {transpose_b=true} : $T[n,n]\n %4 = add(%3, %c) : $T[n,n]\n %5 = relu(%4) : "
     "$T[n,n]\n return %2, %5\n}",
     {{{"n", 7}}, {{"n", 32}}, {{"n", 1}}}},
    {"batched",
     "graph f(%x: $T[3,n,k], %w: $T[3,k,o], %b: $T[o], %r: $T[3,n,o]) -> ($T[3,n,o], $T[3,n,o]) "
     "{\n "
     "%0 = matmul(%x, %w) : $T[3,n,o]\n %1 = add(%0, %b) : $T[3,n,o]\n %2 = relu(%1) : "
     "$T[3,n,o]\n %t = transpose(%x) {perm=[0,2,1]} : $T[3,k,n]\n %3 = matmul(%t, %w) "
     "{transpose_a=true} : $T[3,n,o]\n %4 = add(%3, %r) : $T[3,n,o]\n return %2, %4\n}",
     kSizes},
    {"rows_of_batches",
     "graph f(%x: $T[3,n,k], %w: $T[k,o], %b: $T[o], %r: $T[3,n,o]) -> ($T[3,n,o]) {\n %0 = "
     "matmul(%x, %w) : $T[3,n,o]\n %1 = add(%0, %b) : $T[3,n,o]\n %2 = add(%1, %r) : $T[3,n,o]\n "
     "%3 = relu(%2) : $T[3,n,o]\n return %3\n}",
     kSizes},
    {"residual_behind_activation",
     "graph f(%x: $T[n,k], %w: $T[o,k], %b: $T[o], %r: $T[n,o]) -> ($T[n,o]) {\n %0 = linear(%x, "
     "%w, "
     "%b) : $T[n,o]\n %1 = relu(%0) : $T[n,o]\n %2 = add(%1, %r) : $T[n,o]\n return %2\n}",
     kSizes},
    {"read_twice",
     "graph f(%x: $T[n,k], %w: $T[o,k], %b: $T[o]) -> ($T[n,o], $T[n,o], $T[o,n]) {\n %0 = "
     "linear(%x, %w, %b) : $T[n,o]\n %1 = relu(%0) : $T[n,o]\n %2 = transpose(%1) {perm=[1,0]} : "
     "$T[o,n]\n return %0, %1, %2\n}",
     kSizes},
    {"layers",
     "graph f(%x: $T[n,k], %w: $T[o,k], %b: $T[o], %v: $T[k,o], %c: $T[k]) -> ($T[n,k]) {\n %0 = "
     "linear(%x, %w, %b) : $T[n,o]\n %1 = relu(%0) : $T[n,o]\n %2 = linear(%1, %v, %c) : "
     "$T[n,k]\n %3 = add(%x, %2) : $T[n,k]\n %4 = layer_norm(%3) {norm_dims=1, eps=1e-05} : "
     "$T[n,k]\n return %4\n}",
     kSizes}};

void Add(const Form& form, const std::string& name, const std::string& text, bool specials,
         std::vector<SweepCase>* out) {
  for (const std::string dtype : {"f32", "bf16", "f16", "f64"}) {
    out->push_back({"gemm_" + name + "_" + dtype, Replace(text, "$T", dtype), form.sizes});
    out->back().both_values = specials;
  }
}

}  // namespace

void AddGemmEpilogues(std::vector<SweepCase>* out) {
  for (const Form& form : kActivated) {
    for (const std::string act : {"relu", "gelu_tanh", "gelu", "silu"})
      Add(form, std::string(form.name) + "_" + act, Replace(form.text, "$A", act), true, out);
  }
  for (const Form& form : kForms) Add(form, form.name, form.text, true, out);
}

}  // namespace jitfuse_test
