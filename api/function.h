// Function: a compiled chain. Call it with arrays; ask it what it fused and why.
//
// A Function is made by Builder::Compile or CompileText. The first call of a class compiles
// (milliseconds); every later one, also with another batch size of the class, only binds and
// launches. Classes: docs/explain.md; a batch of 1 is one of its own.
// Safe to call from any number of threads. Copies share everything. On a GPU a call uses the CUDA
// context that is current on its thread, if that is one of the device where the inputs are, else
// that device's primary context; it leaves the thread's context as it was. In the child of a fork()
// a function on the CPU goes on to work, one on a GPU fails. Errors: kInvalidArgument names the
// input or output, its shape and what was expected; kFailedPrecondition/kNotFound name a library
// that is missing and what was searched.
#ifndef JITFUSE_API_FUNCTION_H_
#define JITFUSE_API_FUNCTION_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "array.h"
#include "options.h"
#include "stats.h"
#include "status.h"

namespace jitfuse {
inline namespace v1 {

namespace detail {
struct FunctionState;
}

class Function {
 public:
  Function() = default;  // empty; every call fails

  // Results are allocated: contiguous, on the function's device. On a GPU they are ready when
  // `options.stream` has passed the call.
  StatusOr<std::vector<Array>> Run(const std::vector<Array>& inputs,
                                   const RunOptions& options = {}) const;
  // Into the caller's buffers, of any strides. An output may be the very buffer of an input where
  // that is safe (same element map for every use); any other overlap is an error.
  Status RunInto(const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                 const RunOptions& options = {}) const;

  // Compiles for calls with the shapes of these arrays and with these options, runs nothing. Data
  // pointers count only by their alignment. Of the options only rng.device_state matters, here and
  // below: on a GPU kernels that read seed and offset from memory are others than those that get
  // their values, so warm with it what will be captured with it.
  Status Warm(const std::vector<Array>& inputs, const RunOptions& options = {}) const;
  // Bytes of scratch memory that are enough for such a call into outputs of any strides, aligned or
  // not, of their own or in place of inputs (compiles if needed). What runs in the meantime
  // (CompileOptions::background) counts for neither of them. Ask again where a call says that it
  // needs more: specialize_after, Tune, UseTuning, and autotune when it times a call, may do that.
  StatusOr<std::size_t> WorkspaceBytes(const std::vector<Array>& inputs,
                                       const RunOptions& options = {}) const;

  // Times what calls like this one may choose from: algorithms of the matrix library, and what of
  // the ops behind a product it computes. From now on calls of this key (CompileOptions::autotune)
  // run what was the fastest; until then they run what is planned without timing, whose results
  // may differ in the last bits. Reads these inputs; results and scratch lie in memory of the
  // library's own. Waits for options.stream; kFailedPrecondition while that is captured. Gives the
  // record of what was tried as text, to keep for UseTuning; "" where there was nothing to choose
  // from, as on the CPU.
  StatusOr<std::string> Tune(const std::vector<Array>& inputs,
                             const RunOptions& options = {}) const;
  // As if Tune had found this record, which is of the same graph, options, key, kind of device and
  // version of the matrix library; else kInvalidArgument says which of these differs. So it is if
  // the library refuses an algorithm of the record for these inputs.
  Status UseTuning(const std::vector<Array>& inputs, const std::string& record,
                   const RunOptions& options = {}) const;

  // What was fused and why not more, for calls like this one: groups, what each contains, bytes
  // moved against unfused, the reason of every boundary and fallback, kernels and their compile
  // times. Text for people; JSON with a "version" for programs (docs/explain.md).
  StatusOr<std::string> Explain(const std::vector<Array>& inputs,
                                const RunOptions& options = {}) const;
  StatusOr<std::string> ExplainJson(const std::vector<Array>& inputs,
                                    const RunOptions& options = {}) const;

  // The function of the remaining inputs, in their order, with these fixed: weights, say. A new
  // Function; this one stays as it is, and compiled kernels are shared. What depends on bound
  // arrays alone is computed at the first call (or Warm) of a kind and kept, also a copy of a
  // matrix product's right operand in the layout that the library likes best; sizes that the arrays
  // decide become constants. explain() lists it.
  //   * The array's memory is borrowed, or shared where the Array owns it, and must not change
  //     while it is bound: some of what calls read was made of it before. After a change, Rebind.
  //   * On a GPU the array must be ready when the stream of the first call reaches it; that call
  //     waits for its stream once, and cannot be part of a capture: Warm before one. What was
  //     prepared hangs on no stream: it goes with the last copy of the Function, which waits for
  //     the device then. Keep the Function as long as graphs that were captured of its calls.
  //   * Errors name the input: unknown, already bound, another dtype, rank, device or size than
  //     expected, sizes at odds with those of other bound arrays.
  StatusOr<Function> Bind(const std::string& input, const Array& array) const;
  StatusOr<Function> Bind(const std::vector<std::pair<std::string, Array>>& arrays) const;
  // A Function with other arrays, or these arrays with other contents, for bound inputs. All that
  // is computed once is computed anew. This Function goes on as it was.
  StatusOr<Function> Rebind(const std::vector<std::pair<std::string, Array>>& arrays) const;
  // The Function that takes these inputs again; none named: the Function of all inputs.
  StatusOr<Function> Unbind(const std::vector<std::string>& inputs = {}) const;
  std::vector<std::string> BoundInputs() const;

  DeviceKind device() const;  // kCpu, kCuda or kInterpret
  int num_inputs() const;     // those that calls take: without what is bound
  int num_outputs() const;
  std::string ToText() const;  // the graph, with bound inputs among its own

  using Stats = ::jitfuse::v1::Stats;
  Stats stats() const;

 private:
  friend struct FunctionAccess;
  std::shared_ptr<detail::FunctionState> state_;
};

// Compiles graph text (docs/text.md). Errors carry line, column and what was expected.
StatusOr<Function> CompileText(const std::string& text, const CompileOptions& options = {});

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_FUNCTION_H_
