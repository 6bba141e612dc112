#include "jit/kernel_cache.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/support/dump.h"
#include "ir/support/fork.h"
#include "ir/support/stack.h"
#include "ir/support/status.h"
#include "ir/support/threads.h"
#include "ir/support/trace.h"
#include "jit/disk_cache.h"

namespace jitfuse::internal {

absl::StatusOr<CompiledKernel> CompileWithStack(const KernelSource& source,
                                                const Backend& backend) {
  absl::StatusOr<CompiledKernel> made = absl::UnknownError("not compiled");
  const bool ran = RunWithStack([&] {
    TraceSpan span("compile", absl::StrCat("compiler ", ToAbsl(backend.name())));
    span.Add("kernel", source.entry);
    made = backend.Compile(source);
  });
  if (ran) return made;
  return absl::ResourceExhaustedError(absl::StrCat(
      "compiling ", source.entry, ": no thread with a stack large enough for a compiler"));
}

std::string KernelCache::KeyText(const KernelSource& source, const Backend& backend) {
  return absl::StrCat("jitfuse-kernel 1\n", ToAbsl(backend.name()), "\n", source.arch, "\n",
                      backend.compiler().clue, "\n", absl::StrJoin(source.options, " "), "\n",
                      source.entry, "\n", source.text);
}

absl::Status KernelCache::Load(const KernelSource& source, const Backend& backend, Entry* entry) {
  TimedSpan span("compile", "load", &entry->kernel.times.load_ms);
  span.span().Add("kernel", source.entry);
  const Code& code = *entry->code;
  if (code.symbol == source.entry) {
    JF_ASSIGN_OR_RETURN(entry->kernel.kernel, backend.Load(source, code.compiled));
    return absl::OkStatus();
  }
  KernelSource named = source;
  named.entry = code.symbol;
  JF_ASSIGN_OR_RETURN(entry->kernel.kernel, backend.Load(named, code.compiled));
  return absl::OkStatus();
}

absl::Status KernelCache::MakeAnew(const KernelSource& source, const Backend& backend,
                                   std::string key_text, const Code* refused, Entry* entry) {
  JF_ASSIGN_OR_RETURN(CompiledKernel compiled, CompileWithStack(source, backend));
  if (refused != nullptr && refused->compiled.bytes == compiled.bytes)
    return InternalError("its code cannot be loaded");
  entry->kernel.times.compile_ms = compiled.compile_ms;
  entry->kernel.origin = CodeOrigin::kCompiled;
  entry->code =
      std::make_shared<Code>(Code{std::move(key_text), std::move(compiled), source.entry});
  return Load(source, backend, entry);
}

absl::Status KernelCache::Make(const KernelSource& source, const Backend& backend,
                               std::string key_text, Entry* entry) {
  CompileGate gate;
  if (entry->code != nullptr) {
    entry->kernel.times.compile_ms = entry->code->compiled.compile_ms;
    entry->kernel.origin = CodeOrigin::kMemory;
    return Load(source, backend, entry);
  }
  if (disk_ == nullptr || source.lang == SourceLang::kPlan)
    return MakeAnew(source, backend, std::move(key_text), nullptr, entry);

  DiskCache::Lookup lookup;
  {
    TimedSpan span("compile", "look on disk", &entry->kernel.times.find_ms);
    lookup = disk_->Find(source, backend);
    span.span().Add("found", lookup.found ? lookup.found->path : "nothing");
  }
  absl::Status loaded;
  if (lookup.found) {
    entry->kernel.origin = lookup.found->origin;
    entry->code = std::make_shared<Code>(
        Code{key_text, std::move(lookup.found->compiled), std::move(lookup.found->symbol)});
    loaded = Load(source, backend, entry);
    if (loaded.ok() || disk_->required()) return loaded;
  } else {
    JF_RETURN_IF_ERROR(disk_->CheckMiss(source, backend));
  }
  // Where code from disk could not be loaded, what the compiler makes now says whose fault that is:
  // the entry's, or the device's.
  const std::shared_ptr<const Code> refused = entry->code;
  absl::Status made = MakeAnew(source, backend, std::move(key_text), refused.get(), entry);
  if (!made.ok()) return loaded.ok() ? made : loaded;
  if (lookup.found) disk_->Drop(*lookup.found);
  entry->kernel.healed = lookup.healed || lookup.found.has_value();
  disk_->Store(source, backend, entry->code->compiled);
  return absl::OkStatus();
}

// What another thread has made, or found that it cannot.
absl::StatusOr<CachedKernel> KernelCache::Wait(const Hash128& key, const std::string& key_text,
                                               const Entry& entry) const {
  if (!entry.status.ok()) return entry.status;
  if (entry.code->key_text != key_text)
    return InternalError("two kernels share the key ", key.ToHex());
  CachedKernel found = entry.kernel;
  found.origin = CodeOrigin::kMemory;
  found.times.find_ms = found.times.load_ms = 0;
  found.healed = false;
  return found;
}

absl::StatusOr<CachedKernel> KernelCache::Get(const KernelSource& source, const Backend& backend) {
  // The interpreter's kernel is the plan that rides along in the source: nothing is compiled and
  // nothing can be shared.
  if (source.lang == SourceLang::kPlan) {
    Entry entry;
    JF_RETURN_IF_ERROR(Make(source, backend, "", &entry));
    return entry.kernel;
  }
  std::string key_text = KeyText(source, backend);
  const Hash128 hash = HashBytes(key_text.data(), key_text.size());
  const Key key{hash, &backend};
  auto entry = std::make_shared<Entry>();
  entry->generation = ForkGeneration();
  {
    std::unique_lock<std::mutex> lock(LockOf(ForkLock::kCaches));
    std::shared_ptr<Entry> there = entries_[key];
    while (there != nullptr && !there->done && there->generation == ForkGeneration())
      WaitForCaches(&lock);
    if (there != nullptr && there->done) {
      ++stats_.hits;
      return Wait(hash, key_text, *there);
    }
    if (auto code = codes_.find(hash); code != codes_.end()) {
      if (code->second->key_text != key_text)
        return InternalError("two kernels share the key ", hash.ToHex());
      entry->code = code->second;
    }
    ++(entry->code == nullptr ? stats_.misses : stats_.hits);
    entries_[key] = entry;
  }
  absl::Status status = Make(source, backend, key_text, entry.get());
  Dump("cache", source.entry,
       absl::StrCat(ToAbsl(CodeOriginName(entry->kernel.origin)), " ", hash.ToHex(), " ",
                    entry->kernel.times.compile_ms, " ms"));
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kCaches));
  entry->status = status;
  entry->done = true;
  if (entry->code != nullptr) codes_.try_emplace(hash, entry->code);
  if (!status.ok()) entries_.erase(key);
  NotifyCaches();
  if (!status.ok()) return status;
  return entry->kernel;
}

absl::StatusOr<std::vector<CachedKernel>> KernelCache::GetAll(
    absl::Span<const KernelSource> sources, const Backend& backend) {
  std::vector<absl::StatusOr<CachedKernel>> made(sources.size(),
                                                 absl::UnknownError("not compiled"));
  std::atomic<size_t> next{0};
  RunWithHelpers(static_cast<int>(std::min<size_t>(sources.size(), INT_MAX)), [&] {
    for (size_t i = next.fetch_add(1); i < sources.size(); i = next.fetch_add(1))
      made[i] = Get(sources[i], backend);
  });
  std::vector<CachedKernel> out;
  for (absl::StatusOr<CachedKernel>& m : made) {
    if (!m.ok()) return m.status();
    out.push_back(*std::move(m));
  }
  return out;
}

bool KernelCache::MayHaveGeneral(const Backend& backend) const {
  return disk_ != nullptr && !backend.GeneralBackends().empty() && disk_->HasLayersFor(backend);
}

bool KernelCache::HasAll(absl::Span<const KernelSource> sources, const Backend& backend,
                         bool layers_only) const {
  return std::all_of(sources.begin(), sources.end(), [&](const KernelSource& source) {
    const std::string key_text = KeyText(source, backend);
    const Hash128 hash = HashBytes(key_text.data(), key_text.size());
    {
      std::lock_guard<std::mutex> lock(LockOf(ForkLock::kCaches));
      if (codes_.contains(hash)) return true;
    }
    return disk_ != nullptr && disk_->Has(source, backend, layers_only);
  });
}

KernelCache::Stats KernelCache::stats() const {
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kCaches));
  Stats out = stats_;
  out.entries = static_cast<int64_t>(entries_.size());
  return out;
}

}  // namespace jitfuse::internal
