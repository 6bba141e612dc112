// Options that change what is compiled (they enter every key), and when; api/options.h mirrors
// them.
//
// numerics: kDefault is the contract of the semantics page. kStrict and batch_invariant are asked
// for but not built yet: compile returns Unimplemented. kFast may reassociate and use approximate
// transcendentals; until it does something it equals kDefault and explain() says so. dynamic: how
// far the values of the graph's symbols tell classes of calls apart (jit/call_class.h).
// `background` and `specialize_after` say when code is made, not which, and are in no key
// (jit/background.h). `products` is no option of a caller: jit/call_cache.h sets it where an
// algorithm is missing, or where timing has shown what is faster.
#ifndef JITFUSE_IR_OPTIONS_H_
#define JITFUSE_IR_OPTIONS_H_

#include <cstdint>
#include <vector>

#include "ir/support/hash128.h"

namespace jitfuse::internal {

enum class Numerics : uint8_t { kDefault = 0, kStrict, kFast };

// kLeading: inner sizes by what vectors and rows gain from knowing of them, others not at all.
// kAll: as little as can be, so that few kernels serve all sizes. kNone: every size is a constant.
enum class Dynamic : uint8_t { kLeading = 0, kAll, kNone };

// What is taken out of the planner's hands at one matrix product.
struct ProductChoice {
  // What of the nodes behind it its library computes: all that it can, sums and factors without an
  // activation, or nothing.
  enum class Epilogue : uint8_t { kAll, kSums, kNone };
  enum class Padding : uint8_t { kByCost, kNever };
  Epilogue epilogue = Epilogue::kAll;
  bool no_algorithm = false;  // kNone because the library has no algorithm; else it was timed
  Padding padding = Padding::kByCost;
  friend bool operator==(const ProductChoice&, const ProductChoice&) = default;
};

struct Options {
  Numerics numerics = Numerics::kDefault;
  bool batch_invariant = false;
  bool fuse = true;              // false: one kernel per op (for comparisons and bisection)
  bool rewrite = true;           // false: Optimize is skipped
  bool use_gemm_library = true;  // false: every matmul becomes a loop group
  int64_t max_fusions = -1;      // bisect: stop fusing after so many merges (JITFUSE_MAX_FUSIONS)
  bool autotune = false;         // the first call of a key times what it may choose from
  Dynamic dynamic = Dynamic::kLeading;
  bool background = false;       // first calls run what is there while theirs is compiled
  int64_t specialize_after = 0;  // calls of one shape before it gets code of its own; 0: never
  std::vector<ProductChoice> products;  // by product, in the graph's order; beyond its end: {}

  ProductChoice ChoiceOf(size_t product) const {
    return product < products.size() ? products[product] : ProductChoice();
  }
  Hash128 Key() const {
    Hasher hasher;
    for (const ProductChoice& p : products)
      hasher.Int(static_cast<int64_t>(p.epilogue))
          .Int(p.no_algorithm)
          .Int(static_cast<int64_t>(p.padding));
    return hasher.Int(static_cast<int64_t>(numerics))
        .Int(batch_invariant)
        .Int(fuse)
        .Int(rewrite)
        .Int(use_gemm_library)
        .Int(max_fusions)
        .Int(autotune)
        .Int(static_cast<int64_t>(dynamic))
        .Finish();
  }
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_OPTIONS_H_
