#include "jit/kernel_cache.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/support/dump.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

std::string KernelCache::KeyText(const KernelSource& source, const Backend& backend) {
  return absl::StrCat("jitfuse-kernel 1\n", ToAbsl(backend.name()), "\n", source.arch, "\n",
                      backend.CompilerId(), "\n", absl::StrJoin(source.options, " "), "\n",
                      source.entry, "\n", source.text);
}

absl::Status KernelCache::Make(const KernelSource& source, const Backend& backend, Entry* entry) {
  absl::StatusOr<CompiledKernel> compiled = backend.Compile(source);
  if (!compiled.ok()) return compiled.status();
  absl::StatusOr<std::shared_ptr<const Kernel>> kernel = backend.Load(source, *compiled);
  if (!kernel.ok()) return kernel.status();
  entry->kernel.kernel = *std::move(kernel);
  entry->kernel.compile_ms = compiled->compile_ms;
  return absl::OkStatus();
}

absl::StatusOr<CachedKernel> KernelCache::Get(const KernelSource& source, const Backend& backend) {
  // The interpreter's kernel is the plan that rides along in the source: nothing is compiled and
  // nothing can be shared.
  if (source.lang == SourceLang::kPlan) {
    Entry entry;
    JF_RETURN_IF_ERROR(Make(source, backend, &entry));
    return entry.kernel;
  }
  std::string key_text = KeyText(source, backend);
  Hash128 key = HashBytes(key_text.data(), key_text.size());
  std::shared_ptr<Entry> entry;
  bool mine = false;
  {
    std::unique_lock<std::mutex> lock(mu_);
    std::shared_ptr<Entry>& slot = entries_[key];
    mine = slot == nullptr;
    if (mine) {
      slot = std::make_shared<Entry>();
      slot->key_text = key_text;
      ++stats_.misses;
    } else {
      ++stats_.hits;
    }
    entry = slot;
    if (!mine) made_.wait(lock, [&] { return entry->done; });
  }
  if (!mine) {
    if (entry->key_text != key_text)
      return InternalError("two kernels share the key ", key.ToHex());
    if (!entry->status.ok()) return entry->status;
    CachedKernel found = entry->kernel;
    found.hit = true;
    return found;
  }
  absl::Status status = Make(source, backend, entry.get());
  Dump("cache", source.entry,
       absl::StrCat("miss ", key.ToHex(), " ", entry->kernel.compile_ms, " ms"));
  std::lock_guard<std::mutex> lock(mu_);
  entry->status = status;
  entry->done = true;
  if (!status.ok()) entries_.erase(key);
  made_.notify_all();
  if (!status.ok()) return status;
  return entry->kernel;
}

absl::StatusOr<std::vector<CachedKernel>> KernelCache::GetAll(
    absl::Span<const KernelSource> sources, const Backend& backend, int threads) {
  std::vector<absl::StatusOr<CachedKernel>> made(sources.size(),
                                                 absl::UnknownError("not compiled"));
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next.fetch_add(1); i < sources.size(); i = next.fetch_add(1))
      made[i] = Get(sources[i], backend);
  };
  std::vector<std::thread> pool;
  auto wanted = std::min(static_cast<size_t>(std::max(threads, 1)), sources.size());
  for (size_t t = 1; t < wanted; ++t) pool.emplace_back(work);
  work();
  for (std::thread& t : pool) t.join();
  std::vector<CachedKernel> out;
  for (absl::StatusOr<CachedKernel>& m : made) {
    if (!m.ok()) return m.status();
    out.push_back(*std::move(m));
  }
  return out;
}

KernelCache::Stats KernelCache::stats() const {
  std::lock_guard<std::mutex> lock(mu_);
  Stats out = stats_;
  out.entries = static_cast<int64_t>(entries_.size());
  return out;
}

}  // namespace jitfuse::internal
