// The plans that the planner makes of graphs.
#include <algorithm>
#include <bit>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "codegen/plan/build_plan.h"
#include "codegen/plan/verify_plan.h"
#include "gtest/gtest.h"
#include "ir/text.h"
#include "tests/support/plan_cases.h"
#include "tests/test_util/run_plan.h"

namespace jitfuse::internal {
namespace {

struct GraphCase {
  const char* text;
  std::vector<int64_t> symbols;
};

const GraphCase kGraphs[] = {
    {"graph chain(%a: f32[n,768], %b: f32[n,768], %c: f32[n,768]) -> (f32[n,768]) {"
     " %0 = multiply(%a, %b) : f32[n,768] %1 = add(%0, %c) : f32[n,768] %2 = relu(%1) : f32[n,768] "
     "return %2 }",
     {5}},
    {"graph bias_gelu(%x: bf16[n,256], %b: bf16[256]) -> (bf16[n,256]) {"
     " %0 = add(%x, %b) : bf16[n,256] %1 = gelu(%0) : bf16[n,256] return %1 }",
     {7}},
    {"graph odd_bias(%x: f16[6,77], %b: f16[77], %s: scalar f32) -> (f16[6,77], f32[6,77]) {"
     " %0 = add(%x, %b) : f16[6,77] %1 = cast(%0) {dtype=f32} : f32[6,77] %2 = multiply(%1, %s) : "
     "f32[6,77] return %0, %2 }",
     {}},
    {"graph transposed(%x: f32[n,6], %b: f32[6]) -> (f32[6,n]) {"
     " %0 = add(%x, %b) : f32[n,6] %1 = transpose(%0) : f32[6,n] %2 = exp(%1) : f32[6,n] return %2 "
     "}",
     {37}},
    {"graph head_split(%x: bf16[2,n,96]) -> (bf16[2,4,n,24]) {"
     " %0 = reshape(%x) {shape=[2,n,4,24]} : bf16[2,n,4,24] %1 = transpose(%0) {perm=[0,2,1,3]} : "
     "bf16[2,4,n,24]"
     " %2 = multiply(%1, 0.5) : bf16[2,4,n,24] return %2 }",
     {9}},
    {"graph softmax_rows(%x: bf16[n,1024]) -> (bf16[n,1024]) { %0 = softmax(%x) : bf16[n,1024] "
     "return %0 }",
     {3}},
    {"graph softmax_odd(%x: f32[n,333]) -> (f32[n,333]) { %0 = softmax(%x) : f32[n,333] return %0 "
     "}",
     {5}},
    {"graph softmax_long(%x: f32[2,40000]) -> (f32[2,40000]) { %0 = softmax(%x) : f32[2,40000] "
     "return %0 }",
     {}},
    {"graph softmax_any(%x: f32[n,m]) -> (f32[n,m]) { %0 = softmax(%x) : f32[n,m] return %0 }",
     {3, 501}},
    {"graph norm_odd(%x: bf16[n,m], %r: bf16[n,m], %w: bf16[m], %b: bf16[m]) -> (bf16[n,m], "
     "bf16[n,m]) { %0 = add(%x, %r) : bf16[n,m] %1 = layer_norm(%0, %w, %b) : bf16[n,m] return %0, "
     "%1 }",
     {6, 1001}},
    {"graph norm_wide(%x: f16[5,1001], %w: f32[1001]) -> (f32[5,1001]) { %0 = cast(%x) {dtype=f32} "
     ": f32[5,1001] %1 = rms_norm(%0, %w) : f32[5,1001] return %1 }",
     {}},
    {"graph max_within(%x: f32[n,335]) -> (f32[n]) { %0 = slice(%x) {starts=[0,3]} : f32[n,332] %1 "
     "= max(%0) {axes=[1]} : f32[n] return %1 }",
     {6}},
    {"graph bias_any(%x: bf16[n,m], %b: bf16[m]) -> (bf16[n,m]) { %0 = add(%x, %b) : bf16[n,m] %1 "
     "= gelu(%0) : bf16[n,m] return %1 }",
     {7, 77}},
    {"graph bias_short(%x: bf16[n,m], %b: bf16[m]) -> (bf16[n,m]) { %0 = add(%x, %b) : bf16[n,m] "
     "return %0 }",
     {37, 3}},
    {"graph softmax_middle(%x: f64[2,n,3]) -> (f64[2,n,3]) { %0 = softmax(%x) {axis=1} : "
     "f64[2,n,3] return %0 }",
     {41}},
    {"graph log_softmax_f16(%x: f16[n,128]) -> (f16[n,128]) { %0 = log_softmax(%x) : f16[n,128] "
     "return %0 }",
     {9}},
    {"graph norm(%x: f32[m,320], %r: f32[m,320], %w: f32[320], %b: f32[320]) -> (f32[m,320], "
     "f32[m,320]) {"
     " %0 = add(%x, %r) : f32[m,320] %1 = layer_norm(%0, %w, %b) : f32[m,320] %2 = tanh(%1) : "
     "f32[m,320] return %0, %2 }",
     {6}},
    {"graph norm_bf16(%x: bf16[m,4096], %w: bf16[4096], %b: bf16[4096]) -> (bf16[m,4096]) {"
     " %0 = layer_norm(%x, %w, %b) : bf16[m,4096] return %0 }",
     {3}},
    {"graph rms(%x: f16[m,768], %w: f16[768]) -> (f16[m,768]) { %0 = rms_norm(%x, %w) : f16[m,768] "
     "return %0 }",
     {5}},
    {"graph causal(%x: f32[3,2,8]) -> (f32[2,3,8]) {"
     " %0 = transpose(%x) {perm=[1,0,2]} : f32[2,3,8] %1 = iota() {shape=[3,8], axis=0} : i64[3,8]"
     " %2 = iota() {shape=[3,8], axis=1} : i64[3,8] %3 = less_equal(%2, %1) : bool[3,8] %4 = "
     "where(%3, %0, -inf) : f32[2,3,8]"
     " %5 = softmax(%4) : f32[2,3,8] return %5 }",
     {}},
    {"graph argmax_rows(%x: f32[n,300]) -> (i64[n]) { %0 = argmax(%x) {axes=[1]} : i64[n] return "
     "%0 }",
     {4}},
    {"graph argmin_all(%x: i32[4,5,60]) -> (i64[]) { %0 = argmin(%x) : i64[] return %0 }", {}},
    {"graph column_mean(%x: f32[512,64]) -> (f32[64]) { %0 = mean(%x) {axes=[0]} : f32[64] return "
     "%0 }",
     {}},
    {"graph softmax_columns(%x: bf16[n,88]) -> (bf16[n,88]) { %0 = softmax(%x) {axis=0} : "
     "bf16[n,88] return %0 }",
     {37}},
    {"graph softmax_columns_f32(%x: f32[2,37,40], %b: f32[40]) -> (f32[2,37,40]) { %0 = add(%x, "
     "%b) : f32[2,37,40] %1 = softmax(%0) {axis=1} : f32[2,37,40] return %1 }",
     {}},
    {"graph column_argmax(%x: f32[n,36]) -> (i64[36], f32[36]) { %0 = argmax(%x) {axes=[0]} : "
     "i64[36] %1 = max(%x) {axes=[0]} : f32[36] return %0, %1 }",
     {300}},
    {"graph column_var(%x: f64[3,n,10]) -> (f64[3,10], f64[3,10]) { %0 = var(%x) {axes=[1]} : "
     "f64[3,10] %1 = mean(%x) {axes=[1]} : f64[3,10] %2 = exp(%1) : f64[3,10] return %0, %2 }",
     {2100}},
    {"graph column_any(%x: f32[n,24]) -> (bool[24]) { %p = greater(%x, 2.9) : bool[n,24] %0 = "
     "any(%p) {axes=[0]} : bool[24] return %0 }",
     {70}},
    {"graph column_norm(%x: f16[n,9,12], %w: f16[12]) -> (f16[n,9,12]) { %0 = mean(%x) {axes=[1], "
     "keepdims=true} : f16[n,1,12] %1 = subtract(%x, %0) : f16[n,9,12] %2 = multiply(%1, %w) : "
     "f16[n,9,12] return %2 }",
     {5}},
    {"graph column_joined(%x: i32[n,16], %y: i32[5,16]) -> (i64[16]) { %0 = concatenate(%x, %y) : "
     "i32[n+5,16] %1 = sum(%0) {axes=[0]} : i64[16] return %1 }",
     {37}},
    {"graph column_padded(%x: f32[n,9]) -> (f32[20]) { %0 = pad(%x) {low=[1,4], high=[1,7]} : "
     "f32[n+2,20] %1 = sum(%0) {axes=[0]} : f32[20] return %1 }",
     {37}},
    {"graph column_picked(%x: f32[13,24], %i: i64[n]) -> (f32[24]) { %0 = remainder(%i, 13) : "
     "i64[n] %1 = take(%x, %0) : f32[n,24] %2 = sum(%1) {axes=[0]} : f32[24] return %2 }",
     {29}},
    {"graph column_of_any(%x: u8[n,m]) -> (u64[m], u8[m]) { %0 = sum(%x) {axes=[0]} : u64[m] %1 = "
     "max(%x) {axes=[0]} : u8[m] return %0, %1 }",
     {70, 33}},
    {"graph column_flipped(%x: f32[n,24]) -> (f32[24]) { %0 = flip(%x) {axes=[0]} : f32[n,24] %1 = "
     "square(%0) : f32[n,24] %2 = sum(%1) {axes=[0]} : f32[24] return %2 }",
     {70}},
    {"graph chunks_of_all(%x: f32[99999], %y: f32[99999]) -> (f32[], f32[]) { %0 = multiply(%x, "
     "%y) : f32[99999] %1 = sum(%0) : f32[] %2 = max(%x) : f32[] %3 = exp(%2) : f32[] return %1, "
     "%3 }",
     {}},
    {"graph chunks_of_rows(%x: bf16[3,65536], %b: bf16[3]) -> (bf16[3]) { %0 = logsumexp(%x) "
     "{axes=[1]} : bf16[3] %1 = add(%0, %b) : bf16[3] return %1 }",
     {}},
    {"graph chunk_argmin(%x: i32[2,n]) -> (i64[2]) { %0 = argmin(%x) {axes=[1]} : i64[2] return %0 "
     "}",
     {70001}},
    {"graph chunk_var(%x: f64[n]) -> (f64[], f64[]) { %0 = var(%x) : f64[] %1 = mean(%x) : f64[] "
     "return %0, %1 }",
     {66000}},
    {"graph chunk_columns(%x: f32[n,40]) -> (f32[40]) { %0 = mean(%x) {axes=[0]} : f32[40] return "
     "%0 }",
     {5003}},
    {"graph chunk_outer(%x: f16[3001,2,24]) -> (f32[2]) { %0 = cast(%x) {dtype=f32} : "
     "f32[3001,2,24] %1 = sum(%0) {axes=[0,2]} : f32[2] return %1 }",
     {}},
    {"graph chunk_bools(%x: bool[2,50000]) -> (bool[2], i64[2]) { %0 = all(%x) {axes=[1]} : "
     "bool[2] %1 = count_nonzero(%x) {axes=[1]} : i64[2] return %0, %1 }",
     {}},
    {"graph chunk_joined(%x: f32[40000], %y: f32[n]) -> (f32[]) { %0 = concatenate(%x, %y) : "
     "f32[n+40000] %1 = sum(%0) : f32[] return %1 }",
     {33333}},
    {"graph tiles(%x: f32[70,130], %y: f32[130,70], %b: f32[70]) -> (f32[130,70]) { %0 = "
     "transpose(%x) : f32[130,70] %1 = multiply(%0, %y) : f32[130,70] %2 = add(%1, %b) : "
     "f32[130,70] return %2 }",
     {}},
    {"graph tiles_of_any(%x: u8[n,m], %y: i16[n,m]) -> (i16[m,n]) { %0 = cast(%x) {dtype=i16} : "
     "i16[n,m] %1 = add(%0, %y) : i16[n,m] %2 = transpose(%1) : i16[m,n] return %2 }",
     {65, 33}},
    {"graph tiles_batched(%x: f64[3,n,2,32]) -> (f64[3,32,2,n]) { %0 = transpose(%x) "
     "{perm=[0,3,2,1]} : f64[3,32,2,n] %1 = abs(%0) : f64[3,32,2,n] return %1 }",
     {77}},
    {"graph tiles_masked(%x: bf16[n,40]) -> (bf16[48,n], i64[48,n]) { %0 = pad(%x) {low=[0,3], "
     "high=[0,5], value=2} : bf16[n,48] %1 = transpose(%0) : bf16[48,n] %2 = iota() "
     "{shape=[48,n], axis=1} : i64[48,n] return %1, %2 }",
     {100}},
    {"graph tiles_flipped(%x: f32[n,64]) -> (f32[64,n]) { %0 = transpose(%x) : f32[64,n] %1 = "
     "flip(%0) {axes=[1]} : f32[64,n] return %1 }",
     {70}},
    {"graph sum_some(%x: i32[4,5,6]) -> (i64[5]) { %0 = sum(%x) {axes=[0,2]} : i64[5] return %0 }",
     {}},
    {"graph any_all(%x: f32[3,70]) -> (bool[3]) {"
     " %p = greater(%x, 2.5) : bool[3,70] %0 = any(%p) {axes=[1]} : bool[3] return %0 }",
     {}},
    {"graph total(%x: f32[70000]) -> (f32[]) { %0 = sum(%x) : f32[] return %0 }", {}},
    {"graph bias_grad(%g: bf16[n,72], %x: bf16[n,72], %b: bf16[72]) -> (bf16[n,72], bf16[72]) { %0 "
     "= add(%x, %b) : bf16[n,72] %1 = tanh(%0) : bf16[n,72] %2 = multiply(%g, %1) : bf16[n,72] %3 "
     "= "
     "sum(%2) {axes=[0]} : bf16[72] return %2, %3 }",
     {4133}},
    {"graph bias_grad_odd(%g: f32[4200,67], %x: f32[4200,67]) -> (f32[4200,67], f32[67], f32[67]) "
     "{ %p = greater(%x, 0.5) : bool[4200,67] %1 = where(%p, %g, 0) : f32[4200,67] %2 = sum(%1) "
     "{axes=[0]} : f32[67] %3 = multiply(%1, %x) : f32[4200,67] %4 = sum(%3) {axes=[0]} : f32[67] "
     "return %1, %2, %4 }",
     {}},
    {"graph total_and_each(%x: f16[70003]) -> (f16[70003], f32[]) { %0 = square(%x) : f16[70003] "
     "%1 = cast(%0) {dtype=f32} : f32[70003] %2 = sum(%1) : f32[] return %0, %2 }",
     {}},
    {"graph norm_grad(%g: bf16[n,4104], %x: bf16[n,4104]) -> (bf16[n,4104], bf16[4104]) { %0 = "
     "square(%x) : bf16[n,4104] %1 = sum(%0) {axes=[1], keepdims=true} : bf16[n,1] %2 = "
     "divide(%0, %1) : bf16[n,4104] %3 = add(%g, %2) : bf16[n,4104] %4 = sum(%2) {axes=[0]} : "
     "bf16[4104] %5 = negative(%4) : bf16[4104] return %3, %5 }",
     {9}},
    {"graph norm_grad_warps(%x: f32[100,96]) -> (f32[100,96], f32[96]) { %0 = square(%x) : "
     "f32[100,96] %1 = sum(%0) {axes=[1], keepdims=true} : f32[100,1] %2 = divide(%0, %1) : "
     "f32[100,96] %3 = sum(%2) {axes=[0]} : f32[96] return %2, %3 }",
     {}},
    {"graph norm_grad_odd(%g: f32[3,n,101], %x: f32[3,n,101]) -> (f32[3,n,101], f32[101]) { %0 = "
     "square(%x) : f32[3,n,101] %1 = sum(%0) {axes=[2], keepdims=true} : f32[3,n,1] %2 = max(%g) "
     "{axes=[2], keepdims=true} : f32[3,n,1] %3 = divide(%0, %1) : f32[3,n,101] %4 = add(%3, %2) : "
     "f32[3,n,101] %5 = max(%4) {axes=[2], keepdims=true} : f32[3,n,1] %6 = divide(%4, %5) : "
     "f32[3,n,101] %7 = sum(%6) {axes=[0,1]} : f32[101] return %6, %7 }",
     {17}},
    {"graph squares(%x: bf16[n,2048]) -> (bf16[n]) {"
     " %0 = square(%x) : bf16[n,2048] %1 = sum(%0) {axes=[1]} : bf16[n] return %1 }",
     {3}},
    {"graph joined(%x: f32[n,64], %y: f32[n,32]) -> (f32[n,96]) { %0 = exp(%x) : f32[n,64] %1 = "
     "concatenate(%0, %y) {axis=1} : f32[n,96] %2 = relu(%1) : f32[n,96] return %2 }",
     {7}},
    {"graph joined_odd(%x: bf16[n,13], %y: bf16[n,8]) -> (bf16[n,21]) { %0 = concatenate(%x, %y) "
     "{axis=1} : bf16[n,21] %1 = negative(%0) : bf16[n,21] return %1 }",
     {7}},
    {"graph joined_rows(%x: f16[n,8], %y: f16[3,8]) -> (f16[n+3,8]) { %0 = concatenate(%x, %y) : "
     "f16[n+3,8] return %0 }",
     {5}},
    {"graph joined_softmax(%x: f32[n,64], %y: f32[n,9]) -> (f32[n,73]) { %0 = concatenate(%x, %y) "
     "{axis=1} : f32[n,73] %1 = softmax(%0) : f32[n,73] return %1 }",
     {5}},
    {"graph padded(%x: f32[6,n]) -> (f32[8,n+8]) { %0 = pad(%x) {low=[1,4], high=[1,4], value=2} : "
     "f32[8,n+8] return %0 }",
     {9}},
    {"graph padded_u8(%x: u8[6,16]) -> (u8[7,48]) { %0 = pad(%x) {low=[1,16], high=[0,16]} : "
     "u8[7,48] return %0 }",
     {}},
    {"graph flipped(%x: f32[12,n], %y: f32[12,n]) -> (f32[12,n]) { %0 = flip(%x) : f32[12,n] %1 = "
     "add(%0, %y) : f32[12,n] return %1 }",
     {40}},
    {"graph rolled(%x: i16[n,10]) -> (i16[n,10]) { %0 = roll(%x) {shifts=[3,-2], axes=[1,0]} : "
     "i16[n,10] return %0 }",
     {7}},
    {"graph stepped(%x: f64[9,40]) -> (f64[5,20]) { %0 = slice(%x) {starts=[8,1], "
     "stops=[9223372036854775807,9223372036854775807], steps=[-2,2]} : f64[5,20] return %0 }",
     {}},
    {"graph picked(%x: f32[13,64], %i: i32[n]) -> (f32[n,64]) { %0 = remainder(%i, 13) : i32[n] %1 "
     "= "
     "subtract(%0, 6) : i32[n] %2 = take(%x, %1) : f32[n,64] %3 = exp(%2) : f32[n,64] return %3 }",
     {11}},
    {"graph picked_last(%x: bf16[n,13], %i: i64[24]) -> (bf16[n,24]) { %0 = remainder(%i, 13) : "
     "i64[24] %1 = take(%x, %0) {axis=1} : bf16[n,24] return %1 }",
     {11}},
    {"graph picked_along(%x: f32[n,13], %i: u8[n,16]) -> (f32[n]) { %0 = remainder(%i, 13) : "
     "u8[n,16] "
     "%1 = take_along_axis(%x, %0) {axis=1} : f32[n,16] %2 = sum(%1) {axes=[1]} : f32[n] return %2 "
     "}",
     {11}},
    {"graph picked_norm(%t: f16[13,256], %i: i32[n]) -> (f16[n,256]) { %0 = remainder(%i, 13) : "
     "i32[n] "
     "%1 = embedding(%0, %t) : f16[n,256] %2 = rms_norm(%1) : f16[n,256] return %2 }",
     {5}},
    {"graph pooled(%x: f32[n,2,9,8]) -> (f32[n,2,5,4]) { %0 = max_pool(%x) {kernel=[3,3], "
     "stride=[2,2], padding=[1,1]} : f32[n,2,5,4] return %0 }",
     {3}},
    {"graph pooled_mean(%x: bf16[n,9,8,2]) -> (bf16[n,5,4,2]) { %0 = avg_pool(%x) {kernel=[3,3], "
     "stride=[2,2], padding=[1,1], count_include_pad=false, channels_last=true} : bf16[n,5,4,2] "
     "return %0 }",
     {3}},
    {"graph running_sum(%x: bf16[n,1000]) -> (bf16[n,1000]) { %0 = relu(%x) : bf16[n,1000] %1 = "
     "cumsum(%0) {axis=1} : bf16[n,1000] %2 = exp(%1) : bf16[n,1000] return %2 }",
     {5}},
    {"graph running_max(%x: f32[n,200]) -> (f32[n,200], f32[200]) { %0 = cummax(%x) {axis=0} : "
     "f32[n,200] %1 = max(%0) {axes=[0]} : f32[200] return %0, %1 }",
     {37}},
    {"graph running_columns(%x: i32[20,5000]) -> (i64[20,5000]) { %0 = cumsum(%x) {axis=0, "
     "exclusive=true} : i64[20,5000] return %0 }",
     {}},
    {"graph running_short(%x: f64[n,17]) -> (f64[n,17]) { %0 = cumprod(%x) {axis=1} : f64[n,17] "
     "return %0 }",
     {300}},
    {"graph running_logsumexp(%x: f32[3,n]) -> (f32[3,n]) { %0 = logcumsumexp(%x) {axis=1, "
     "exclusive=true} : f32[3,n] return %0 }",
     {700}},
    {"graph running_share(%x: f32[n,300]) -> (f32[n,300]) { %0 = cumsum(%x) {axis=1} : f32[n,300] "
     "%1 = max(%0) {axes=[1], keepdims=true} : f32[n,1] %2 = subtract(%0, %1) : f32[n,300] return "
     "%2 }",
     {4}},
    {"graph none(%a: f32[0,6], %s: scalar f32) -> (f32[0,6]) { %0 = multiply(%a, %s) : f32[0,6] "
     "return %0 }",
     {}},
    {"graph no_columns(%x: f32[3,0]) -> (f32[3]) { %0 = sum(%x) {axes=[1]} : f32[3] return %0 }",
     {}},
    {"graph zero_rank(%a: f64[], %s: scalar f64) -> (f64[]) { %0 = divide(%a, %s) : f64[] return "
     "%0 }",
     {}},
};

PlanCase CaseOf(const Graph& graph, const KernelPlan& plan, const std::vector<int64_t>& symbols) {
  PlanCase c{plan, {}, symbols};
  for (const Param& p : plan.params) {
    int64_t elements = 1;
    if (p.role == ParamRole::kScratch) {
      elements = p.scratch_bytes.Eval(symbols) / ItemSize(p.dtype);
    } else {
      for (int64_t d : EvalDims(graph.type(p.value).dims, symbols)) elements *= d;
    }
    c.elements.push_back(elements);
  }
  c.scalars.assign(plan.scalars.size(), 0.75);
  return c;
}

bool IsSoftmax(const Graph& graph) {
  const Node& result = graph.node(graph.outputs()[0].node);
  return graph.outputs().size() == 1 && result.op == Op::kSoftmax &&
         graph.node(result.in[0].node).kind() == OpKind::kInput;
}

}  // namespace

std::vector<PlanCase> PlannedCases(const Target& target) {
  std::vector<PlanCase> cases;
  for (const GraphCase& g : kGraphs) {
    for (int64_t kept : {target.max_row_bytes_kept, int64_t{16}}) {
      Target t = target;
      t.max_row_bytes_kept = kept;
      const Graph graph = Parsed(g.text);
      PlanOptions options;
      options.offset_bits = kept == 16 ? 64 : 32;
      // Long rows are cut where a bound says that they are long.
      const bool is_long =
          std::any_of(g.symbols.begin(), g.symbols.end(), [](int64_t s) { return s >= 4096; });
      for (size_t k = 0; k < g.symbols.size() && is_long; ++k)
        options.symbol_bounds.push_back(
            static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(g.symbols[k]))));
      absl::StatusOr<std::vector<KernelPlan>> plans =
          BuildPlan(graph, WholeGroup(graph), {}, t, options);
      EXPECT_TRUE(plans.ok()) << g.text << "\n" << plans.status();
      if (!plans.ok()) continue;
      for (const KernelPlan& plan : *plans) {
        EXPECT_TRUE(VerifyPlan(plan).ok()) << g.text;
        cases.push_back(CaseOf(graph, plan, g.symbols));
        if (plans->size() == 1 && IsSoftmax(*ParseGraph(g.text))) cases.back().op = Op::kSoftmax;
        cases.back().plan.name = absl::StrCat(graph.name(), "_", cases.size() - 1);
      }
    }
  }
  return cases;
}

}  // namespace jitfuse::internal
