// One matrix product of oneDNN: a primitive with its post-ops, made once, run on plain pointers.
//
// In: a GemmProblem that oneDNN can say as it is (gemm_onednn.h says which it cannot), and where C
// comes from. Out: a primitive from a bounded cache by problem, thread count and C. alpha, bias, C
// and the activation are bias and post-ops, in this order, in f32; D is rounded once. The one file
// that includes oneDNN's headers is behind this one; both APIs of oneDNN (2.x and 3.x) are spoken
// there. The primitive may choose how B lies (PackB makes it so), or take the choice of
// another. Thread-safe. Errors: Unimplemented is an answer that will be the same next
// time. Must not know: runs of several products, dense copies, which epilogues oneDNN gets right.
#ifndef JITFUSE_CPU_BACKEND_ONEDNN_PRIMITIVE_H_
#define JITFUSE_CPU_BACKEND_ONEDNN_PRIMITIVE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/fusion/group.h"
#include "ir/support/hash128.h"
#include "jit/backend.h"

namespace jitfuse::internal {

std::string OnednnVersion();                                // "2.6.3"; empty without oneDNN
std::string OnednnProblemText(const GemmProblem& problem);  // "matmul of f32 [1,2,3] by [1,3,4]"

#if JF_HAVE_ONEDNN

// Where the C of a problem's epilogue is when the primitive runs.
enum class OnednnC : uint8_t { kNone, kApart, kInD };
// kApart needs beta = 1, and D and C dense and alike: post-ops find C's elements where D's are.
OnednnC OnednnCOf(const GemmProblem& problem);

class OnednnPrimitive;
// How B lies: as the problem says, as the primitive chooses, or as `like`, of the same B, wants it.
struct OnednnB {
  bool packed = false;
  const OnednnPrimitive* like = nullptr;
};

class OnednnPrimitive {
 public:
  static absl::StatusOr<std::shared_ptr<const OnednnPrimitive>> Cached(const GemmProblem& problem,
                                                                       OnednnC c, OnednnB b = {});
  ~OnednnPrimitive();

  // buffers.workspace has scratch_bytes(). kInD: buffers.d holds C, buffers.c is not read.
  absl::Status Run(const GemmBuffers& buffers) const;
  size_t scratch_bytes() const;
  const std::string& implementation() const;
  // 0: B is read as the problem says it lies.
  size_t packed_b_bytes() const;
  // Whether both read one packed B, made of one B.
  bool SharesPackedB(const OnednnPrimitive& other) const;
  absl::Status PackB(const void* b, void* packed) const;

 private:
  struct Made;
  OnednnPrimitive(const GemmProblem& problem, OnednnC c, const Hash128& key);
  absl::Status Make(const OnednnB& b);

  const GemmProblem problem_;
  const OnednnC c_;
  const Hash128 key_;  // in the cache
  std::unique_ptr<Made> made_;
};

#endif

}  // namespace jitfuse::internal

#endif  // JITFUSE_CPU_BACKEND_ONEDNN_PRIMITIVE_H_
