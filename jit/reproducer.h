// A call that gave wrong results, as files and the command that repeats it.
//
// In: the graph, its inputs on the host, and words for the head of the file. Out: FILE.jf (graph
// text, with those words as comments) and FILE.npz (an array for each input by its name, as
// numpy.savez writes them; bf16 as raw 16-bit items, the seed and the offset of random ops as u64)
// where WriteDump puts them, and the command `jitfuse run FILE.jf --inputs FILE.npz --check`.
// Inputs are dense there, whatever their strides were. Zip files end at 4 GiB: above that there is
// the graph alone. Must not know: what was wrong.
#ifndef JITFUSE_JIT_REPRODUCER_H_
#define JITFUSE_JIT_REPRODUCER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"
#include "ir/host_tensor.h"

namespace jitfuse::internal {

inline constexpr uint64_t kMaxNpzBytes = 0xffff0000;  // sizes and offsets have 32 bits
// The bytes of an .npz file. kOutOfRange where they might be more than the limit.
absl::StatusOr<std::string> EncodeNpz(absl::Span<const std::string> names,
                                      absl::Span<const HostTensor> arrays,
                                      uint64_t limit = kMaxNpzBytes);

struct Reproducer {
  std::string graph_path, inputs_path;  // empty where a file could not be written
  std::string command;                  // empty without both
  // "reproduce it with: jitfuse run ...", or what is lost and why.
  std::string text;
};
// `options` follow the command's file: "--backend cpu --no-fuse".
Reproducer WriteReproducer(const Graph& graph, absl::Span<const HostTensor> inputs,
                           absl::Span<const std::string> head, std::string_view options);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_REPRODUCER_H_
