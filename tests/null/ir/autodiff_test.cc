// Differentiation beyond one row's example: attributes, broadcasting, symbols, empty and single
// elements, shared values, ties, dtypes, second order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/autodiff.h"
#include "ir/expand.h"
#include "ir/op_enum.h"
#include "tests/test_util/autodiff_fixture.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Autodiff, Slices) {
  for (const char* slice : {
           "{starts=[1], stops=[6], steps=[1]} : f64[5]",
           "{starts=[1], stops=[8], steps=[3]} : f64[3]",
           "{starts=[0], stops=[9], steps=[4]} : f64[3]",
           "{starts=[-2], stops=[0], steps=[-1]} : f64[7]",
           "{starts=[8], stops=[0], steps=[-3]} : f64[3]",
           "{starts=[9223372036854775807], steps=[-2]} : f64[5]",
           "{starts=[5], stops=[5], steps=[1]} : f64[0]",
       })
    Check("%x: f64[9]", std::string(slice).substr(std::string(slice).rfind("f64")),
          absl::StrCat("  %r = slice(%x) ", slice));
  Check("%x: f64[6,7]", "f64[2,3]",
        "  %r = slice(%x) {starts=[1,6], stops=[6,0], steps=[3,-2]} : f64[2,3]");
  CheckSizes(
      "%x: f64[n]", "f64[max(max(n-2,0)-min(n,1),0)]",
      "  %r = slice(%x) {starts=[1], stops=[-2], steps=[1]} : f64[max(max(n-2,0)-min(n,1),0)]",
      {{0}, {2}, {3}, {7}});
}

TEST_F(Autodiff, SlicesOfSymbolsInSteps) {
  const Graph any = Body("%x: f64[n,2]", "f64[ceildiv(n,3),2]",
                         "  %r = slice(%x) {starts=[0,0], stops=[9223372036854775807,2], "
                         "steps=[3,1]} : f64[ceildiv(n,3),2]");
  for (int64_t n : {0, 1, 2, 3, 4, 7})
    ExpectGradient(any, RandomInputs(any, &rng_, -2, 2, {n}), &rng_, 1e-5);
}

TEST_F(Autodiff, OtherViews) {
  Check("%x: f64[3,4]", "f64[3,4]", "  %r = flip(%x) {axes=[0,1]} : f64[3,4]");
  Check("%x: f64[3,4]", "f64[3,4]", "  %r = roll(%x) {shifts=[2,-1], axes=[0,1]} : f64[3,4]");
  Check("%x: f64[3,4]", "f64[2,6,12]", "  %r = tile(%x) {reps=[2,2,3]} : f64[2,6,12]");
  Check("%x: f64[3,4]", "f64[0,4]", "  %r = tile(%x) {reps=[0,1]} : f64[0,4]");
  Check("%x: f64[3,4]", "f64[9,4]", "  %r = repeat(%x) {repeats=3, axis=0} : f64[9,4]");
  Check("%x: f64[]", "f64[3]", "  %r = broadcast(%x) {shape=[3]} : f64[3]");
  Check("%x: f64[1,4]", "f64[2,3,4]", "  %r = broadcast(%x) {shape=[2,3,4]} : f64[2,3,4]");
  Check("%x: f64[2,3,4]", "f64[4,2,3]", "  %r = transpose(%x) {perm=[2,0,1]} : f64[4,2,3]");
  Check("%x: f64[]", "f64[]", "  %r = transpose(%x) : f64[]");
  CheckSizes("%x: f64[n,m]", "f64[2*n,3*m]", "  %r = tile(%x) {reps=[2,3]} : f64[n*2,m*3]",
             {{2, 3}, {1, 1}, {0, 2}});
  CheckSizes("%x: f64[n,m]", "f64[n,3*m]", "  %r = repeat(%x) {repeats=3, axis=1} : f64[n,m*3]",
             {{2, 3}, {1, 0}});
}

TEST_F(Autodiff, Windows) {
  for (int64_t stride : {1, 2, 3, 5}) {
    for (int64_t dilation : {1, 2, 3}) {
      const int64_t count = (11 - (2 * dilation + 1)) / stride + 1;
      const std::string type = absl::StrCat("f64[2,", count, ",2,3]");
      Check("%x: f64[2,11,2]", type,
            absl::StrCat("  %r = windows(%x) {axis=1, size=3, stride=", stride,
                         ", dilation=", dilation, "} : ", type));
    }
  }
  Check("%x: f64[4]", "f64[4,1]", "  %r = windows(%x) {axis=0, size=1} : f64[4,1]");
  Check("%x: f64[2]", "f64[0,3]", "  %r = windows(%x) {axis=0, size=3} : f64[0,3]");
  CheckSizes("%x: f64[n]", "f64[max(n-2,0),3]",
             "  %r = windows(%x) {axis=0, size=3} : f64[max(n-2,0),3]", {{0}, {1}, {3}, {8}});
}

TEST_F(Autodiff, Joins) {
  Check("%x: f64[3,2], %y: f64[3,4], %z: f64[3,1]", "f64[3,9]",
        "  %r = concatenate(%x, %y, %z, %x) {axis=1} : f64[3,9]");
  CheckSizes("%x: f64[n,2], %y: f64[m,2], %z: f64[n,2]", "f64[2*n+m+3,2]",
             "  %c = constant {value=1.5} : f64[]\n"
             "  %w = broadcast(%c) {shape=[3,2]} : f64[3,2]\n"
             "  %r = concatenate(%x, %y, %w, %z) {axis=0} : f64[n*2+m+3,2]",
             {{2, 3}, {1, 0}, {0, 2}});
  Check("%x: f64[3,2]", "f64[6,3]", "  %r = pad(%x) {low=[1,0], high=[2,1], value=2} : f64[6,3]");
  CheckSizes("%x: f64[n], %y: f64[m]", "f64[n+m+2]",
             "  %p = pad(%x) {low=[m], high=[2]} : f64[n+m+2]\n"
             "  %s = sum(%y) : f64[]\n"
             "  %r = multiply(%p, %s) : f64[n+m+2]",
             {{2, 3}, {1, 0}, {0, 2}});
  Check("%x: f64[3,4]", "f64[3,2,4]",
        "  %y = exp(%x) : f64[3,4]\n  %r = stack(%x, %y) {axis=1} : f64[3,2,4]");
  for (const char* op : {"pad_reflect", "pad_edge", "pad_wrap"}) {
    Check("%x: f64[4,5]", "f64[7,8]",
          absl::StrCat("  %r = ", op, "(%x) {low=[1,3], high=[2,0]} : f64[7,8]"));
    CheckSizes("%x: f64[n]", "f64[n+3]",
               absl::StrCat("  %r = ", op, "(%x) {low=[1], high=[2]} : f64[n+3]"), {{3}, {6}});
  }
}

TEST_F(Autodiff, Gathers) {
  Check("%x: f64[4,3], %i: i64[2,3]", "f64[2,3,3]", "  %r = take(%x, %i) {axis=0} : f64[2,3,3]");
  Check("%x: f64[3,4], %i: i32[5]", "f64[3,5]", "  %r = take(%x, %i) {axis=1} : f64[3,5]");
  Check("%x: f64[4,3], %i: i32[2,3]", "f64[2,3]",
        "  %r = take_along_axis(%x, %i) {axis=0} : f64[2,3]");
  Check("%x: f64[4,3], %i: i64[2], %s: f64[2,3]", "f64[4,3]",
        "  %r = index_add(%x, %i, %s) {axis=0} : f64[4,3]");
  Check("%x: f64[4,3], %i: i64[6,3], %s: f64[6,3]", "f64[4,3]",
        "  %r = scatter_add(%x, %i, %s) {axis=0} : f64[4,3]");
  const std::string groups =
      "  %o, %b, %e = group_positions(%i) {axis=0, size=[4]} : i64[6,3], i64[4,3], i64[4,3]\n";
  Check("%x: f64[4,3], %i: i64[6,3], %s: f64[6,3]", "f64[4,3]",
        groups + "  %r = segment_add(%x, %s, %o, %b, %e) {axis=0} : f64[4,3]");
  Check("%i: i64[2,3], %w: f64[4,5]", "f64[2,3,5]", "  %r = embedding(%i, %w) : f64[2,3,5]");
  Check("%x: f64[0,3], %i: i64[0]", "f64[0,3]", "  %r = take(%x, %i) {axis=0} : f64[0,3]");
}

TEST_F(Autodiff, Pooling) {
  for (const char* op : {"max_pool", "avg_pool"}) {
    Check("%x: f64[2,7,8]", "f64[2,4,4]",
          absl::StrCat("  %r = ", op,
                       "(%x) {kernel=[3,2], stride=[2,2], padding=[1,0]} : f64[2,4,4]"));
    Check("%x: f64[2,7,3]", "f64[2,4,3]",
          absl::StrCat("  %r = ", op,
                       "(%x) {kernel=[2], ceil_mode=true, channels_last=true} : f64[2,4,3]"));
    CheckSizes("%x: f64[2,n]", "f64[2,max(n-1,0)]",
               absl::StrCat("  %r = ", op, "(%x) {kernel=[2], stride=[1]} : f64[2,max(n-1,0)]"),
               {{0}, {1}, {5}});
  }
  Check("%x: f64[2,7]", "f64[2,4]",
        "  %r = avg_pool(%x) {kernel=[3], stride=[2], padding=[1], count_include_pad=false} : "
        "f64[2,4]");
  Check("%x: f64[2,11]", "f64[2,6]",
        "  %r = max_pool(%x) {kernel=[3], stride=[2], padding=[2], dilation=[2]} : f64[2,6]");
}

TEST_F(Autodiff, Reductions) {
  for (const char* op : {"sum", "prod", "mean", "max", "min", "logsumexp", "var", "std"}) {
    Check("%x: f64[3,4,2]", "f64[4]", absl::StrCat("  %r = ", op, "(%x) {axes=[0,2]} : f64[4]"));
    Check("%x: f64[3,4]", "f64[3,1]",
          absl::StrCat("  %r = ", op, "(%x) {axes=[1], keepdims=true} : f64[3,1]"));
    Check("%x: f64[3,4]", "f64[]", absl::StrCat("  %r = ", op, "(%x) : f64[]"));
    CheckSizes("%x: f64[n,m]", "f64[n]", absl::StrCat("  %r = ", op, "(%x) {axes=[1]} : f64[n]"),
               {{2, 3}, {0, 2}, {3, 2}});
  }
  for (const char* op : {"sum", "prod", "mean", "max", "logsumexp"})
    Check("%x: f64[]", "f64[]", absl::StrCat("  %r = ", op, "(%x) : f64[]"));
  for (const char* op : {"var", "std"})
    Check("%x: f64[3,4]", "f64[3]",
          absl::StrCat("  %r = ", op, "(%x) {axes=[1], correction=1.5} : f64[3]"));
  for (const char* ord : {"0", "1", "2", "3", "0.5", "-1", "inf", "-inf", "1.5"})
    Check("%x: f64[3,4]", "f64[3]",
          absl::StrCat("  %r = vector_norm(%x) {axes=[1], ord=", ord, "} : f64[3]"));
}

TEST_F(Autodiff, ProductsWithZeros) {
  const Graph prod = Body("%x: f64[5]", "f64[]", "  %r = prod(%x) : f64[]");
  using D = std::vector<double>;
  EXPECT_EQ(Run(prod, {Numbers(DType::kF64, {5}, {2, 3, 1, 1, 4})})[0], (D{12, 8, 24, 24, 6}));
  EXPECT_EQ(Run(prod, {Numbers(DType::kF64, {5}, {2, 0, 3, 1, 4})})[0], (D{0, 24, 0, 0, 0}));
  EXPECT_EQ(Run(prod, {Numbers(DType::kF64, {5}, {2, 0, 3, 0, 4})})[0], (D{0, 0, 0, 0, 0}));
  // y = {2, 0, 0, 0}: d sum(y) = {1 + 0, 2 + 2*3 + 2*3*4, 0, 0}
  const Graph cumprod = Body("%x: f64[4]", "f64[4]", "  %r = cumprod(%x) {axis=0} : f64[4]");
  EXPECT_EQ(Run(cumprod, {Numbers(DType::kF64, {4}, {2, 0, 3, 4})})[0], (D{1, 32, 0, 0}));
  EXPECT_EQ(Run(cumprod, {Numbers(DType::kF64, {4}, {2, 0, 3, 0})})[0], (D{1, 8, 0, 0}));
}

TEST_F(Autodiff, Scans) {
  for (const char* op : {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"}) {
    for (const char* exclusive : {"false", "true"}) {
      // What an exclusive one begins with is not finite.
      if (std::string(exclusive) == "true" && std::string(op) != "cumsum" &&
          std::string(op) != "cumprod")
        continue;
      for (const char* reverse : {"false", "true"}) {
        Check("%x: f64[3,5]", "f64[3,5]",
              absl::StrCat("  %r = ", op, "(%x) {axis=1, exclusive=", exclusive,
                           ", reverse=", reverse, "} : f64[3,5]"));
      }
    }
    CheckSizes("%x: f64[n,2]", "f64[n,2]", absl::StrCat("  %r = ", op, "(%x) {axis=0} : f64[n,2]"),
               {{0}, {1}, {4}});
  }
  // The elements behind the first of an exclusive one are.
  for (const char* op : {"cummax", "cummin", "logcumsumexp"}) {
    for (const char* reverse : {"false", "true"}) {
      const bool back = std::string(reverse) == "true";
      Check("%x: f64[3,5]", "f64[3,4]",
            absl::StrCat("  %y = ", op, "(%x) {axis=1, exclusive=true, reverse=", reverse,
                         "} : f64[3,5]\n  %r = slice(%y) {starts=[0,", back ? 0 : 1, "], stops=[3,",
                         back ? 4 : 5, "], steps=[1,1]} : f64[3,4]"));
    }
  }
}

TEST_F(Autodiff, Products) {
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      const std::string a = ta ? "4,3" : "3,4", b = tb ? "2,4" : "4,2";
      const std::string attrs = absl::StrCat("{transpose_a=", ta ? "true" : "false",
                                             ", transpose_b=", tb ? "true" : "false", "}");
      const auto product = [&](const std::string& lead_a, const std::string& lead_b,
                               const std::string& lead) {
        Check(absl::StrCat("%a: f64[", lead_a, a, "], %b: f64[", lead_b, b, "]"),
              absl::StrCat("f64[", lead, "3,2]"),
              absl::StrCat("  %r = matmul(%a, %b) ", attrs, " : f64[", lead, "3,2]"));
      };
      product("", "", "");
      product("5,", "", "5,");
      product("", "5,", "5,");
      product("5,1,", "2,", "5,2,");
      product("2,3,", "2,3,", "2,3,");
    }
  }
  Check("%x: f64[2,3,4], %w: f64[5,4], %b: f64[5]", "f64[2,3,5]",
        "  %r = linear(%x, %w, %b) : f64[2,3,5]");
  Check("%x: f64[4], %w: f64[5,4], %b: f64[5]", "f64[5]", "  %r = linear(%x, %w, %b) : f64[5]");
  CheckSizes("%x: f64[n,4], %w: f64[5,4]", "f64[n,5]", "  %r = linear(%x, %w) : f64[n,5]",
             {{3}, {1}, {0}});
}

TEST_F(Autodiff, Norms) {
  Check("%x: f64[3,4,5], %w: f64[4,5], %b: f64[4,5]", "f64[3,4,5]",
        "  %r = layer_norm(%x, %w, %b) {norm_dims=2} : f64[3,4,5]");
  Check("%x: f64[3,5]", "f64[3,5]", "  %r = layer_norm(%x) : f64[3,5]");
  Check("%x: f64[5], %w: f64[5]", "f64[5]", "  %r = layer_norm(%x, %w) : f64[5]");
  Check("%x: f64[3,4,5], %w: f64[5]", "f64[3,4,5]", "  %r = rms_norm(%x, %w) : f64[3,4,5]");
  Check("%x: f64[2,6,3], %w: f64[6], %b: f64[6]", "f64[2,6,3]",
        "  %r = group_norm(%x, %w, %b) {groups=3} : f64[2,6,3]");
  Check("%x: f64[2,3,4], %w: f64[3], %b: f64[3]", "f64[2,3,4]",
        "  %r = instance_norm(%x, %w, %b) : f64[2,3,4]");
  Check("%x: f64[5,3,4], %m: f64[3], %v: f64[3], %w: f64[3], %b: f64[3]", "f64[5,3,4]",
        "  %r = batch_norm(%x, %m, %v, %w, %b) : f64[5,3,4]", 0.2, 2);
  Check("%x: f64[5,4,3], %m: f64[3], %v: f64[3], %w: f64[3], %b: f64[3]", "f64[5,4,3]",
        "  %r, %mean, %var, %rm, %rv = batch_norm_training(%x, %m, %v, %w, %b) {axis=2} : "
        "f64[5,4,3], f64[3], f64[3], f64[3], f64[3]");
  Check("%x: f64[3,4]", "f64[3,4]", "  %r = softmax(%x) {axis=0} : f64[3,4]");
  Check("%x: f64[3,4]", "f64[3,4]", "  %r = log_softmax(%x) {axis=0} : f64[3,4]");
  for (const char* op : {"softmax", "log_softmax"}) {
    const Graph graph = Body("%x: f64[]", "f64[]", absl::StrCat("  %r = ", op, "(%x) : f64[]"));
    EXPECT_EQ(Run(graph, {Numbers(DType::kF64, {}, {1.5})})[0], std::vector<double>{0});
  }
  CheckSizes("%x: f64[n,m], %w: f64[m], %b: f64[m]", "f64[n,m]",
             "  %r = layer_norm(%x, %w, %b) : f64[n,m]", {{2, 3}, {0, 2}, {1, 4}});
}

TEST_F(Autodiff, Losses) {
  for (const char* op : {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
                         "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div"}) {
    for (int reduction : {0, 1, 2}) {
      const std::string type = reduction == 0 ? "f64[3,4]" : "f64[]";
      Check("%x: f64[3,4], %y: f64[4]", type,
            absl::StrCat("  %r = ", op, "(%x, %y) {reduction=", reduction, "} : ", type), 0.1, 0.9);
    }
  }
  // Operands that lack what another has, of other ranks too.
  for (const char* op : {"mse_loss", "binary_cross_entropy", "kl_div"}) {
    Check("%x: f64[3,1,4], %y: f64[5,1]", "f64[]", absl::StrCat("  %r = ", op, "(%x, %y) : f64[]"),
          0.1, 0.9);
    Check("%x: f64[2,1,4], %y: f64[3,1]", "f64[2,3,4]",
          absl::StrCat("  %r = ", op, "(%y, %x) {reduction=0} : f64[2,3,4]"), 0.1, 0.9);
  }
  Check("%x: f64[3,4], %y: f64[3,4]", "f64[]",
        "  %r = kl_div(%x, %y) {log_target=true, reduction=3} : f64[]");
  Check("%x: f64[3,4], %y: f64[3,4], %w: f64[4], %p: f64[4]", "f64[]",
        "  %r = binary_cross_entropy_with_logits(%x, %y, %w, %p) : f64[]");
  Check("%x: f64[3,4], %y: f64[3,4], %w: f64[3,1]", "f64[]",
        "  %r = binary_cross_entropy(%x, %y, %w) : f64[]", 0.1, 0.9);
  for (const char* op : {"nll_loss", "cross_entropy"}) {
    for (int reduction : {0, 1, 2}) {
      const std::string type = reduction == 0 ? "f64[3,2]" : "f64[]";
      Check("%x: f64[3,5,2], %t: i64[3,2]", type,
            absl::StrCat("  %r = ", op, "(%x, %t) {reduction=", reduction,
                         ", ignore_index=2} : ", type));
      Check("%x: f64[3,5,2], %t: i64[3,2], %w: f64[5]", type,
            absl::StrCat("  %r = ", op, "(%x, %t, %w) {reduction=", reduction, "} : ", type), 0.1,
            2);
    }
  }
  // Weights that want a gradient, and constant ones.
  for (const char* weight : {"", ", %w", ", %v"})
    Check("%x: f64[3,5], %t: i32[3], %w: f64[5]", "f64[]",
          absl::StrCat("  %i = iota() {shape=[5], axis=0, dtype=f64} : f64[5]\n"
                       "  %v = sigmoid(%i) : f64[5]\n  %r = cross_entropy(%x, %t",
                       weight, ") {label_smoothing=0.2} : f64[]"),
          0.1, 2);
}

TEST_F(Autodiff, BroadcastingAndScalars) {
  Check("%x: f64[3,1], %y: f64[4], %s: f64[]", "f64[3,4]",
        "  %a = multiply(%x, %y) : f64[3,4]\n  %r = add(%a, %s) : f64[3,4]");
  Check("%x: f64[1,1], %y: f64[2,3]", "f64[2,3]", "  %r = divide(%y, %x) : f64[2,3]", 0.5, 2);
  CheckSizes("%x: f64[n,1], %y: f64[m]", "f64[n,m]", "  %r = multiply(%x, %y) : f64[n,m]",
             {{2, 3}, {1, 1}, {0, 3}, {2, 0}});
  Check("%p: bool[4], %x: f64[3,1], %y: f64[]", "f64[3,4]", "  %r = where(%p, %x, %y) : f64[3,4]");
  Check("%x: f64[0,3], %y: f64[3]", "f64[0,3]", "  %r = multiply(%x, %y) : f64[0,3]");
}

TEST_F(Autodiff, SharedValuesAndSeveralOutputs) {
  Check("%x: f64[3,4]", "f64[3,4]",
        "  %a = exp(%x) : f64[3,4]\n  %b = multiply(%a, %a) : f64[3,4]\n"
        "  %c = add(%b, %x) : f64[3,4]\n  %r = multiply(%c, %a) : f64[3,4]");
  const Graph graph = ParsedGraph(
      "graph f(%x: f64[3,4], %y: f64[4], %z: f64[2]) -> (f64[3], f64[3,4], f64[3,4], i64[3]) {\n"
      "  %a = multiply(%x, %y) : f64[3,4]\n  %s = sum(%a) {axes=[1]} : f64[3]\n"
      "  %e = tanh(%a) : f64[3,4]\n  %m = argmax(%a) {axes=[1]} : i64[3]\n"
      "  return %s, %e, %x, %m\n}\n");
  ExpectGradient(graph, RandomInputs(graph, &rng_, -1, 1), &rng_);
}

// Moments and max_sumexp as users of the table may have them, each result alone and together.
TEST_F(Autodiff, ResultsOfOneReduction) {
  for (const char* op : {"moments", "max_sumexp"}) {
    for (const char* result : {"%a", "%b"}) {
      Check("%x: f64[3,4]", "f64[3]",
            absl::StrCat("  %a, %b = ", op, "(%x) {axes=[1]} : f64[3], f64[3]\n  %r = negative(",
                         result, ") : f64[3]"));
    }
    Check("%x: f64[3,4]", "f64[3]",
          absl::StrCat("  %a, %b = ", op,
                       "(%x) {axes=[1]} : f64[3], f64[3]\n  %r = multiply(%a, %b) : f64[3]"));
  }
}

// PyTorch's numbers at ties and kinks.
TEST_F(Autodiff, TiesAndKinks) {
  using D = std::vector<double>;
  const auto of = [&](const std::string& body, const D& x) {
    return Run(Body(absl::StrCat("%x: f64[", x.size(), "]"), "f64[]", body),
               {Numbers(DType::kF64, {static_cast<int64_t>(x.size())}, x)})[0];
  };
  EXPECT_EQ(of("  %r = max(%x) : f64[]", {3, 1, 3, 2}), (D{0.5, 0, 0.5, 0}));
  EXPECT_EQ(of("  %r = min(%x) : f64[]", {1, 1, 3, 1}), (D{1. / 3, 1. / 3, 0, 1. / 3}));
  EXPECT_EQ(of("  %r = vector_norm(%x) {ord=inf} : f64[]", {3, 1, -3}), (D{0.5, 0, -0.5}));
  EXPECT_EQ(of("  %r = vector_norm(%x) : f64[]", {0, 0}), (D{0, 0}));
  EXPECT_EQ(of("  %r = std(%x) : f64[]", {2, 2}), (D{0, 0}));
  const auto each = [&](const std::string& op, const D& x) {
    const std::string type = absl::StrCat("f64[", x.size(), "]");
    return Run(Body("%x: " + type, type, absl::StrCat("  %r = ", op, " : ", type)),
               {Numbers(DType::kF64, {static_cast<int64_t>(x.size())}, x)})[0];
  };
  EXPECT_EQ(each("abs(%x)", {-2, 0, 3}), (D{-1, 0, 1}));
  EXPECT_EQ(each("relu(%x)", {-2, 0, 3}), (D{0, 0, 1}));
  EXPECT_EQ(each("clamp(%x) {min=-1, max=1}", {-2, -1, 0, 1, 2}), (D{0, 1, 1, 1, 0}));
  EXPECT_EQ(each("hardtanh(%x)", {-2, -1, 0, 1, 2}), (D{0, 0, 1, 0, 0}));
  EXPECT_EQ(each("cummax(%x) {axis=0}", {1, 3, 3, 2}), (D{1, 1, 2, 0}));
  // The first of equal elements of a window, as argmax.
  const Graph pool =
      Body("%x: f64[1,4]", "f64[1,1]", "  %r = max_pool(%x) {kernel=[4]} : f64[1,1]");
  EXPECT_EQ(Run(pool, {Numbers(DType::kF64, {1, 4}, {1, 3, 3, 2})})[0], (D{0, 1, 0, 0}));
  const Graph both = Body("%x: f64[3], %y: f64[3]", "f64[3]", "  %r = maximum(%x, %y) : f64[3]");
  const auto grads =
      Run(both, {Numbers(DType::kF64, {3}, {1, 2, 3}), Numbers(DType::kF64, {3}, {2, 2, 2})});
  EXPECT_EQ(grads[0], (D{0, 0.5, 1}));
  EXPECT_EQ(grads[1], (D{1, 0.5, 0}));
}

// The position that is returned takes all, which cotangents of positions do not change.
TEST_F(Autodiff, ExtremesWithPositions) {
  const Graph max =
      Body("%x: f64[2,4]", "f64[2]", "  %r, %i = max_with_index(%x) {axis=1} : f64[2], i64[2]");
  const double nan = std::nan("");
  EXPECT_EQ(Run(max, {Numbers(DType::kF64, {2, 4}, {1, 3, 3, 2, 0, nan, 5, nan})})[0],
            (std::vector<double>{0, 1, 0, 0, 0, 1, 0, 0}));
  CheckSizes("%x: f64[n,m]", "f64[1,m]",
             "  %r, %i = min_with_index(%x) {axis=0, keepdims=true} : f64[1,m], i64[1,m]",
             {{3, 4}, {1, 2}, {2, 0}});
  absl::StatusOr<Graph> gradient = Gradient(max, {0}, {.cotangents = Cotangents::kInputs});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_THAT(GraphToString(*gradient), Not(HasSubstr("sum(")));
  const Graph all = Body("%x: f64[4]", "f64[]", "  %r = max_of_all(%x) : f64[]");
  EXPECT_EQ(Run(all, {Numbers(DType::kF64, {4}, {1, nan, 3, nan})})[0],
            (std::vector<double>{0, 0.5, 0, 0.5}));
}

// The padding's row has none, by whichever index it was taken.
TEST_F(Autodiff, EmbeddingWithPadding) {
  const Graph graph = Body("%i: i64[4], %w: f64[3,2]", "f64[4,2]",
                           "  %r = embedding(%i, %w) {padding_idx=2} : f64[4,2]");
  const HostTensor w = Numbers(DType::kF64, {3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Run(graph, {Numbers(DType::kI64, {4}, {0, 2, -1, 0}), w})[0],
            (std::vector<double>{2, 2, 0, 0, 0, 0}));
}

// The closed forms where differentiating the expansion would lose everything.
TEST_F(Autodiff, FarFromZero) {
  const Graph logits =
      Body("%x: f64[2], %t: f64[2]", "f64[2]",
           "  %r = binary_cross_entropy_with_logits(%x, %t) {reduction=0} : f64[2]");
  const auto g =
      Run(logits, {Numbers(DType::kF64, {2}, {-40, 40}), Numbers(DType::kF64, {2}, {0, 1})});
  EXPECT_NEAR(g[0][0] / std::exp(-40), 1, 1e-12);
  const Graph bce = Body("%x: f64[2], %t: f64[2]", "f64[2]",
                         "  %r = binary_cross_entropy(%x, %t) {reduction=0} : f64[2]");
  const auto b = Run(bce, {Numbers(DType::kF64, {2}, {0, 1}), Numbers(DType::kF64, {2}, {0, 1})});
  EXPECT_EQ(b[0], (std::vector<double>{0, 0}));
  const Graph kl =
      Body("%x: f64[2], %t: f64[2]", "f64[2]", "  %r = kl_div(%x, %t) {reduction=0} : f64[2]");
  const auto k = Run(kl, {Numbers(DType::kF64, {2}, {-1, -2}), Numbers(DType::kF64, {2}, {0, 1})});
  EXPECT_EQ(k[1], (std::vector<double>{0, 3}));
}

TEST_F(Autodiff, DropoutHasTheSameMask) {
  const Graph graph = ParsedGraph(
      "graph f(%x: f64[64], %seed: u64[], %offset: u64[]) -> (f64[64]) {\n"
      "  %r = dropout(%x, %seed, %offset) {p=0.25, stream=3} : f64[64]\n  return %r\n}\n");
  std::vector<HostTensor> inputs = {RandomTensor(DType::kF64, {64}, &rng_, 1, 2),
                                    Numbers(DType::kU64, {}, {5}), Numbers(DType::kU64, {}, {9})};
  ExpectGradient(graph, inputs, &rng_);
  const std::vector<double> g = Run(graph, inputs)[0];
  EXPECT_GT(std::count(g.begin(), g.end(), 0.0), 5);
  EXPECT_LT(std::count(g.begin(), g.end(), 0.0), 30);
}

TEST_F(Autodiff, StopGradient) {
  const Graph graph = Body("%x: f64[2]", "f64[2]",
                           "  %s = stop_gradient(%x) : f64[2]\n  %r = multiply(%s, %x) : f64[2]");
  EXPECT_EQ(Run(graph, {Numbers(DType::kF64, {2}, {3, 5})})[0], (std::vector<double>{3, 5}));
}

// A gradient has the dtype of its input, whatever is computed in between.
TEST_F(Autodiff, DTypes) {
  for (const char* dtype : {"bf16", "f16", "f32"}) {
    const std::string type = absl::StrCat(dtype, "[3,8]"), row = absl::StrCat(dtype, "[8]");
    const Graph graph = ParsedGraph(absl::StrCat(
        "graph f(%x: ", type, ", %w: ", row,
        ", %b: f32[8]) -> (f32[]) {\n  %n = layer_norm(%x, %w) : ", type,
        "\n  %y = gelu(%n) : ", type, "\n  %z = add(%y, %x) : ", type,
        "\n  %c = cast(%z) {dtype=f32} : f32[3,8]\n  %d = multiply(%c, %b) : f32[3,8]\n"
        "  %r = sum(%d) : f32[]\n  return %r\n}\n"));
    absl::StatusOr<Graph> gradient = Gradient(graph, {0, 1, 2}, {.with_values = true});
    ASSERT_TRUE(gradient.ok()) << gradient.status();
    ASSERT_EQ(gradient->outputs().size(), 4u);
    EXPECT_EQ(gradient->TypeString(gradient->outputs()[0]), "f32[]");
    EXPECT_EQ(gradient->TypeString(gradient->outputs()[1]), type);
    EXPECT_EQ(gradient->TypeString(gradient->outputs()[2]), row);
    EXPECT_EQ(gradient->TypeString(gradient->outputs()[3]), "f32[8]");
  }
  // What is exact, or rounded but once, stays in the narrow type.
  const Graph relu = Body("%x: bf16[4], %y: bf16[4]", "bf16[4]",
                          "  %a = relu(%x) : bf16[4]\n  %r = multiply(%a, %y) : bf16[4]");
  absl::StatusOr<Graph> gradient = Gradient(relu, {0, 1}, {.cotangents = Cotangents::kInputs});
  ASSERT_TRUE(gradient.ok());
  EXPECT_THAT(GraphToString(*gradient), ::testing::Not(HasSubstr("f32")));
}

TEST_F(Autodiff, SecondOrder) {
  for (const char* op :
       {"exp(%x)", "tanh(%x)", "gelu(%x)", "silu(%x)", "sigmoid(%x)", "pow(%x, %x)", "lgamma(%x)",
        "softplus(%x)", "log1p(%x)", "sqrt(%x)", "softmax(%x)", "log_softmax(%x)", "layer_norm(%x)",
        "rms_norm(%x)", "cumprod(%x) {axis=1}", "logcumsumexp(%x) {axis=1}", "cumsum(%x) {axis=0}",
        "flip(%x)", "roll(%x) {shifts=[1], axes=[0]}"}) {
    const Graph graph =
        Body("%x: f64[3,4]", "f64[3,4]", absl::StrCat("  %r = ", op, " : f64[3,4]"));
    absl::StatusOr<Graph> first = Gradient(graph, {0}, {.cotangents = Cotangents::kInputs});
    ASSERT_TRUE(first.ok()) << first.status();
    ExpectGradient(*first, RandomInputs(*first, &rng_, 0.3, 1.7), &rng_, 2e-5);
  }
  const Graph prod = Body("%x: f64[4]", "f64[]", "  %r = prod(%x) : f64[]");
  absl::StatusOr<Graph> first = Gradient(prod, {0});
  ASSERT_TRUE(first.ok()) << first.status();
  ExpectGradient(*first, {Numbers(DType::kF64, {4}, {2, 0, 3, 1.5})}, &rng_);
  const Graph take = Body("%x: f64[4], %i: i64[3]", "f64[3]",
                          "  %s = square(%x) : f64[4]\n  %r = take(%s, %i) {axis=0} : f64[3]");
  absl::StatusOr<Graph> of_take = Gradient(take, {0}, {.cotangents = Cotangents::kInputs});
  ASSERT_TRUE(of_take.ok());
  ExpectGradient(*of_take, RandomInputs(*of_take, &rng_, -1, 1), &rng_);
  const Graph product = Body("%a: f64[2,3], %b: f64[3,2]", "f64[2,2]",
                             "  %m = matmul(%a, %b) : f64[2,2]\n  %r = exp(%m) : f64[2,2]");
  absl::StatusOr<Graph> of_product = Gradient(product, {0, 1}, {.cotangents = Cotangents::kInputs});
  ASSERT_TRUE(of_product.ok());
  ExpectGradient(*of_product, RandomInputs(*of_product, &rng_, -1, 1), &rng_);
}

TEST_F(Autodiff, ScalarLoss) {
  const Graph loss = Body("%x: f32[n,3], %u: f32[4]", "f32[]", "  %r = sum(%x) : f32[]");
  absl::StatusOr<Graph> gradient = Gradient(loss, {0, 1});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_EQ(gradient->inputs().size(), 2u);
  EXPECT_EQ(gradient->TypeString(gradient->outputs()[0]), "f32[n,3]");
  EXPECT_EQ(gradient->TypeString(gradient->outputs()[1]), "f32[4]");
}

}  // namespace
}  // namespace jitfuse::internal
