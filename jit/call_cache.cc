#include "jit/call_cache.h"

#include <atomic>

#include "ir/support/status.h"
#include "jit/compile.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kMaxL1Entries = 4096;

using ExactKey = absl::InlinedVector<int64_t, 48>;
using L1 = absl::flat_hash_map<ExactKey, std::shared_ptr<const BoundCall>>;

L1& ThreadL1() {
  thread_local L1 cache;
  return cache;
}

uint64_t NextId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1);
}

int64_t AlignClass(const void* ptr) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(ptr) & 15);
}

void AppendView(const TensorView& view, ExactKey* key) {
  key->push_back(static_cast<int64_t>(view.dtype) | AlignClass(view.ptr) << 8 |
                 static_cast<int64_t>(view.dims.size()) << 16 |
                 static_cast<int64_t>(view.strides.size()) << 32);
  key->insert(key->end(), view.dims.begin(), view.dims.end());
  key->insert(key->end(), view.strides.begin(), view.strides.end());
}

struct Reach {
  uintptr_t lo, hi;
};

// The bytes a view may touch, without looking at whether it is dense.
Reach ReachOf(const TensorView& view) {
  // Unsigned, because nothing is checked yet: what wraps here is refused when the call is
  // classified.
  auto base = reinterpret_cast<uintptr_t>(view.ptr);
  uint64_t lo = 0, hi = 0, dense = 1;
  const bool strided = view.strides.size() == view.dims.size();
  for (size_t d = view.dims.size(); d-- > 0;) {
    if (view.dims[d] == 0) return {base, base};
    uint64_t reach = static_cast<uint64_t>(view.dims[d] - 1) *
                     (strided ? static_cast<uint64_t>(view.strides[d]) : dense);
    (static_cast<int64_t>(reach) < 0 ? lo : hi) += reach;
    dense *= static_cast<uint64_t>(view.dims[d]);
  }
  auto size = static_cast<uint64_t>(ItemSize(view.dtype));
  return {base + lo * size, base + (hi + 1) * size};
}

// Overlaps of outputs with inputs and each other are facts of the pointers, not of shapes: how far
// apart overlapping ones are enters the key.
void AppendOverlaps(absl::Span<const TensorView> inputs, absl::Span<const TensorView> outputs,
                    ExactKey* key) {
  absl::InlinedVector<Reach, 16> reach;
  for (const TensorView& v : inputs) reach.push_back(ReachOf(v));
  for (size_t o = 0; o < outputs.size(); ++o) {
    Reach mine = ReachOf(outputs[o]);
    for (size_t i = 0; i < reach.size(); ++i) {
      if (mine.lo >= reach[i].hi || reach[i].lo >= mine.hi) continue;
      const void* other = i < inputs.size() ? inputs[i].ptr : outputs[i - inputs.size()].ptr;
      key->push_back(static_cast<int64_t>(o << 32 | i));
      key->push_back(static_cast<const char*>(other) - static_cast<const char*>(outputs[o].ptr));
    }
    reach.push_back(mine);
  }
}

}  // namespace

CallCache::CallCache(Graph graph, const Options& options, const Backend* backend,
                     KernelCache* kernels)
    : id_(NextId()),
      graph_(std::move(graph)),
      facts_(ComputeShapeFacts(graph_)),
      options_(options),
      backend_(backend),
      kernels_(kernels) {}

absl::StatusOr<std::shared_ptr<const BoundCall>> CallCache::Find(
    absl::Span<const TensorView> inputs, absl::Span<const TensorView> outputs) {
  ExactKey key;
  key.push_back(static_cast<int64_t>(id_));
  key.push_back(static_cast<int64_t>(inputs.size() << 32 | outputs.size()));
  for (const TensorView& v : inputs) AppendView(v, &key);
  for (const TensorView& v : outputs) AppendView(v, &key);
  AppendOverlaps(inputs, outputs, &key);
  L1& l1 = ThreadL1();
  if (auto it = l1.find(key); it != l1.end()) return it->second;

  JF_ASSIGN_OR_RETURN(CallClass cls, ClassifyCall(graph_, facts_, inputs, outputs));
  JF_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable, FindClass(cls));
  JF_ASSIGN_OR_RETURN(std::shared_ptr<const BoundCall> bound,
                      Bind(std::move(executable), cls.symbols, cls.least_align));
  if (l1.size() >= kMaxL1Entries) l1.clear();
  l1.emplace(std::move(key), bound);
  return bound;
}

absl::StatusOr<std::shared_ptr<const Executable>> CallCache::FindClass(const CallClass& cls) {
  std::shared_ptr<Entry> entry;
  {
    std::unique_lock<std::mutex> lock(mu_);
    std::shared_ptr<Entry>& slot = classes_[cls.key];
    if (slot != nullptr) {
      entry = slot;
      made_.wait(lock, [&] { return entry->done; });
      if (!entry->status.ok()) return entry->status;
      ++stats_.l2_hits;
      return entry->executable;
    }
    slot = std::make_shared<Entry>();
    entry = slot;
    ++stats_.compiles;
  }
  absl::StatusOr<std::shared_ptr<const Executable>> made =
      Compile(graph_, cls, options_, *backend_, kernels_);
  std::lock_guard<std::mutex> lock(mu_);
  entry->done = true;
  entry->status = made.status();
  if (made.ok()) {
    entry->executable = *made;
    order_.push_back(*made);
  } else {
    classes_.erase(cls.key);
  }
  made_.notify_all();
  return made;
}

CallCache::Stats CallCache::stats() const {
  std::lock_guard<std::mutex> lock(mu_);
  return stats_;
}

std::vector<std::shared_ptr<const Executable>> CallCache::executables() const {
  std::lock_guard<std::mutex> lock(mu_);
  return order_;
}

}  // namespace jitfuse::internal
