#include "jit/disk_cache.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/support/dump.h"
#include "ir/support/flags.h"
#include "ir/support/status.h"
#include "jit/cache_miss.h"

namespace jitfuse::internal {
namespace {

constexpr int64_t kNoteUseAfterS = 3600;  // a use is noted to the hour
constexpr int64_t kStaleAfterS = 3600;    // then a temporary file's writer is taken for dead
constexpr std::string_view kWritten = "written";   // the file with the sizes of entries
constexpr std::string_view kCounted = "counted ";  // its beginning
constexpr size_t kMaxWritten = 64 * 1024;          // of that file; then it is counted anew

int64_t Now() { return static_cast<int64_t>(std::time(nullptr)); }

std::string NameOf(const CacheKey& key) { return key.Hash().ToHex(); }

std::string FolderOf(const std::string& root, const CacheKey& key) {
  return absl::StrCat(root, "/", key.toolchain);
}

std::string Getenv(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A home folder: HOME, else that of the user database, which need not know the user.
std::string HomeFolder() {
  if (std::string home = Getenv("HOME"); !home.empty()) return home;
  char buffer[4096];
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer, sizeof(buffer), &found) != 0 || found == nullptr)
    return "";
  return found->pw_dir == nullptr ? "" : found->pw_dir;
}

// The compiler that another process found by the same clue, if its file is still the same one.
// "id\nfile\nstamp".
std::string RememberedPath(const std::string& root, const std::string& clue) {
  return absl::StrCat(root, "/compiler-", HashBytes(clue.data(), clue.size()).ToHex());
}

std::string RecallCompiler(const std::string& root, const std::string& clue) {
  absl::StatusOr<CacheFile> file = ReadCacheFile(RememberedPath(root, clue), Trust::kOwn);
  if (!file.ok()) return "";
  const std::vector<std::string> lines = absl::StrSplit(file->bytes, '\n');
  if (lines.size() != 3 || lines[2].empty() || StampOf(lines[1]) != lines[2]) return "";
  return lines[0];
}

void RememberCompiler(const std::string& root, const Backend::Compiler& compiler) {
  if (compiler.file.empty() || compiler.id.empty()) return;
  if (RecallCompiler(root, compiler.clue) == compiler.id) return;
  const std::string path = RememberedPath(root, compiler.clue);
  (void)WriteCacheFile(
      root, ToStd(absl::string_view(path).substr(root.size() + 1)),
      absl::StrCat(compiler.id, "\n", compiler.file, "\n", StampOf(compiler.file)));
}

}  // namespace

DiskCacheOptions DiskCacheOptionsFromEnv() {
  DiskCacheOptions out;
  out.enabled = EnvInt("NO_CACHE", 0) == 0;
  out.require = EnvInt("REQUIRE_CACHE", 0) != 0;
  out.max_bytes = EnvBytes("CACHE_SIZE", out.max_bytes);
  out.layers = EnvPaths("CACHE_PATH");
  out.dir = EnvPath("CACHE_DIR");
  if (!out.dir.empty()) return out;
  if (const std::string xdg = Getenv("XDG_CACHE_HOME"); !xdg.empty() && xdg[0] == '/') {
    out.dir = xdg + "/jitfuse";
  } else if (const std::string home = HomeFolder(); !home.empty() && home[0] == '/') {
    out.dir = home + "/.cache/jitfuse";
  } else {
    out.no_dir_reason = "HOME is not set and the user has no home folder";
  }
  return out;
}

DiskCache::Places DiskCache::OpenPlaces() const {
  Places out;
  if (!options_.enabled) {
    out.problems.emplace_back("JITFUSE_NO_CACHE is set");
    return out;
  }
  for (const std::string& dir : options_.layers) {
    if (absl::Status status = CheckLayerFolder(dir); !status.ok()) {
      const std::string why = absl::StrCat("cache layer left out: ", status.message());
      WarnOnce(why);
      out.problems.push_back(why);
      continue;
    }
    out.layers.push_back({CacheRootOf(dir), FoldersIn(CacheRootOf(dir))});
    // The newest compiler's code first.
    std::reverse(out.layers.back().toolchains.begin(), out.layers.back().toolchains.end());
  }
  absl::StatusOr<std::string> own = absl::UnavailableError(options_.no_dir_reason);
  if (!options_.dir.empty()) own = OpenOwnFolder(options_.dir);
  if (own.ok()) {
    out.own = CacheRootOf(*own);
    return out;
  }
  const std::string why =
      absl::StrCat("kernels are compiled anew in every process, as the cache cannot be used: ",
                   own.status().message(),
                   " (JITFUSE_CACHE_DIR sets its folder, "
                   "JITFUSE_NO_CACHE=1 turns it off)");
  // With layers alone nothing is meant to be written.
  if (!options_.require || out.layers.empty()) WarnOnce(why);
  out.problems.push_back(why);
  return out;
}

const DiskCache::Places& DiskCache::places() {
  std::call_once(opened_, [this] { places_ = OpenPlaces(); });
  return places_;
}

std::vector<DiskCache::Root> DiskCache::roots() {
  std::vector<Root> out;
  for (const Layer& layer : places().layers) out.push_back({layer.root, true});
  if (!places().own.empty()) out.push_back({places().own, false});
  return out;
}

const std::vector<std::string>& DiskCache::problems() { return places().problems; }

std::optional<DiskCache::Found> DiskCache::Read(const std::string& root, const CacheKey& key,
                                                CodeOrigin origin, bool* healed) {
  const Trust trust = origin == CodeOrigin::kLayer ? Trust::kLayer : Trust::kOwn;
  const std::string path = EntryPathOf(root, key);
  absl::StatusOr<CacheFile> file = ReadCacheFile(path, trust);
  if (absl::IsNotFound(file.status())) return std::nullopt;
  if (!file.ok()) {
    WarnOnce(absl::StrCat("cache entry left out: ", file.status().message()));
    return std::nullopt;
  }
  absl::StatusOr<CacheEntry> entry = DecodeEntry(file->bytes);
  if (entry.ok() && entry->key != key)
    entry = absl::DataLossError("it is of another kernel than its name says");
  if (!entry.ok()) {
    Log(1, absl::StrCat("cache entry ", path, ": ", entry.status().message(),
                        origin == CodeOrigin::kDisk ? "; it is deleted" : ""));
    *healed = true;
    if (origin == CodeOrigin::kDisk) unlink(path.c_str());
    return std::nullopt;
  }
  if (origin == CodeOrigin::kDisk && Now() - file->modified_s > kNoteUseAfterS) MarkUsed(path);
  Found found;
  found.compiled.bytes = std::move(entry->code);
  found.compiled.log = std::move(entry->log);
  found.symbol = std::move(entry->symbol);
  found.origin = origin;
  found.path = path;
  return found;
}

// By the compiler that is known to be here; else by the one that is opened now; and where there is
// none at all, by any whose code can be loaded.
std::optional<DiskCache::Found> DiskCache::ReadOwn(CacheKey key, const Backend& backend,
                                                   bool* healed) {
  const std::string& root = places().own;
  const Backend::Compiler compiler = backend.compiler();
  std::string id = compiler.id.empty() ? RecallCompiler(root, compiler.clue) : compiler.id;
  std::optional<Found> found;
  if (!id.empty()) {
    key.toolchain = ToolchainName(id);
    found = Read(root, key, CodeOrigin::kDisk, healed);
  }
  if (found || !compiler.id.empty()) return found;
  const std::string opened = backend.CompilerId();
  if (!opened.empty()) {
    RememberCompiler(root, backend.compiler());
    if (opened == id) return std::nullopt;
    key.toolchain = ToolchainName(opened);
    return Read(root, key, CodeOrigin::kDisk, healed);
  }
  std::vector<std::string> toolchains = FoldersIn(root);
  for (size_t i = toolchains.size(); i-- > 0 && !found;) {
    key.toolchain = toolchains[i];
    if (backend.LoadsCodeOf(key.toolchain)) found = Read(root, key, CodeOrigin::kDisk, healed);
  }
  return found;
}

// Whether `visit` is true of the root of any layer with `key` for one of its compilers.
bool DiskCache::AnyInLayers(const std::vector<Layer>& layers, const Backend& backend, CacheKey* key,
                            absl::FunctionRef<bool(const std::string& root)> visit) {
  for (const Layer& layer : layers) {
    for (const std::string& toolchain : layer.toolchains) {
      key->toolchain = toolchain;
      if (backend.LoadsCodeOf(toolchain) && visit(layer.root)) return true;
    }
  }
  return false;
}

DiskCache::Lookup DiskCache::Find(const KernelSource& source, const Backend& backend) {
  Lookup out;
  const Places& where = places();
  if (where.layers.empty() && where.own.empty()) return out;
  // These are made while a kernel is compiled: asking for them means compiling it.
  if (DumpEnabled("ptx") || DumpEnabled("sass")) return out;
  CacheKey key = KeyOf(source, backend.name());
  const bool found = AnyInLayers(where.layers, backend, &key, [&](const std::string& root) {
    out.found = Read(root, key, CodeOrigin::kLayer, &out.healed);
    return out.found.has_value();
  });
  if (found) return out;
  if (!where.own.empty()) out.found = ReadOwn(std::move(key), backend, &out.healed);
  return out;
}

bool DiskCache::Has(const KernelSource& source, const Backend& backend, bool layers_only) {
  const Places& where = places();
  if (DumpEnabled("ptx") || DumpEnabled("sass")) return false;  // as Find
  CacheKey key = KeyOf(source, backend.name());
  const auto readable = [&](const std::string& root, Trust trust) {
    return ReadCacheFile(absl::StrCat(FolderOf(root, key), "/", NameOf(key)), trust).ok();
  };
  if (AnyInLayers(where.layers, backend, &key,
                  [&](const std::string& root) { return readable(root, Trust::kLayer); }))
    return true;
  if (layers_only || where.own.empty()) return false;
  const Backend::Compiler compiler = backend.compiler();
  const std::string id =
      compiler.id.empty() ? RecallCompiler(where.own, compiler.clue) : compiler.id;
  key.toolchain = ToolchainName(id);
  return !id.empty() && readable(where.own, Trust::kOwn);
}

bool DiskCache::HasLayersFor(const Backend& backend) {
  CacheKey key;
  return AnyInLayers(places().layers, backend, &key, [](const std::string&) { return true; });
}

void DiskCache::Store(const KernelSource& source, const Backend& backend,
                      const CompiledKernel& compiled) {
  const std::string& root = places().own;
  const Backend::Compiler compiler = backend.compiler();
  if (root.empty() || compiler.id.empty() || !writable_.load(std::memory_order_relaxed)) return;
  CacheEntry entry{KeyOf(source, backend.name()), source.entry, compiled.bytes, compiled.log};
  entry.key.toolchain = ToolchainName(compiler.id);
  if (StoreEntry(entry)) RememberCompiler(root, compiler);
}

bool DiskCache::StoreEntry(const CacheEntry& entry) {
  const std::string& root = places().own;
  const std::string bytes = EncodeEntry(entry);
  const auto size = static_cast<int64_t>(bytes.size());
  if (size > options_.max_bytes) return false;
  absl::Status status = WriteCacheFile(FolderOf(root, entry.key), NameOf(entry.key), bytes);
  if (!status.ok()) {
    writable_.store(false, std::memory_order_relaxed);
    if (!options_.require)  // with it no kernel is compiled, and a layer need be all that there is
      WarnOnce(absl::StrCat("kernels are compiled, but not kept for other processes: ",
                            status.message()));
    return false;
  }
  Bound(root, size);
  return true;
}

DiskCache::Values DiskCache::FindValues(const CacheKey& key) {
  Values out;
  for (const Root& root : roots()) {
    const CodeOrigin origin = root.layer ? CodeOrigin::kLayer : CodeOrigin::kDisk;
    std::optional<Found> found = Read(root.path, key, origin, &out.healed);
    if (found) out.found.push_back(*std::move(found));
  }
  return out;
}

void DiskCache::StoreValue(const CacheEntry& entry) {
  if (!places().own.empty() && writable_.load(std::memory_order_relaxed)) StoreEntry(entry);
}

void DiskCache::Drop(const Found& found) {
  Log(1, absl::StrCat("cache entry ", found.path, ": it cannot be used",
                      found.origin == CodeOrigin::kDisk ? "; it is deleted" : ""));
  if (found.origin == CodeOrigin::kDisk) unlink(found.path.c_str());
}

// A line for each entry written since somebody counted, after one with what was there then.
void DiskCache::Bound(const std::string& root, int64_t written) {
  const std::string path = absl::StrCat(root, "/", ToAbsl(kWritten));
  AppendToCacheFile(path, absl::StrCat(written, "\n"));
  if (sweeping_.exchange(true)) return;
  absl::StatusOr<CacheFile> lines = ReadCacheFile(path, Trust::kOwn);
  int64_t total = 0, bytes = 0;
  bool counted = lines.ok() && absl::StartsWith(lines->bytes, ToAbsl(kCounted)) &&
                 lines->bytes.size() < kMaxWritten;
  if (counted) {
    for (absl::string_view line : absl::StrSplit(
             absl::string_view(lines->bytes).substr(kCounted.size()), '\n', absl::SkipEmpty())) {
      if (absl::SimpleAtoi(line, &bytes)) total += bytes;
    }
  }
  if (!counted || total > options_.max_bytes) {
    total = SweepCache(root, options_.max_bytes);
    (void)WriteCacheFile(root, kWritten, absl::StrCat(ToAbsl(kCounted), total, "\n"));
  }
  sweeping_ = false;
}

absl::Status DiskCache::CheckMiss(const KernelSource& source, const Backend& backend) {
  if (!options_.require) return absl::OkStatus();
  CacheKey key = KeyOf(source, backend.name());
  const std::string id = backend.CompilerId();
  key.toolchain = id.empty() ? "none" : ToolchainName(id);
  std::vector<std::string> general;
  if (HasLayersFor(backend)) {
    for (const Backend* other : backend.GeneralBackends()) general.push_back(other->target().arch);
  }
  return MissError(*this, source, key, general);
}

DiskCache* SharedDiskCache() {
  static auto* cache = new DiskCache(DiskCacheOptionsFromEnv());
  return cache;
}

std::string CacheRootOf(const std::string& dir) { return absl::StrCat(dir, "/v", kCacheFormat); }

std::string EntryPathOf(const std::string& root, const CacheKey& key) {
  return absl::StrCat(FolderOf(root, key), "/", NameOf(key));
}

std::vector<FileInfo> EntriesBelow(const std::string& root) {
  std::vector<FileInfo> out;
  for (const std::string& toolchain : FoldersIn(root)) {
    for (FileInfo& file : FilesIn(absl::StrCat(root, "/", toolchain)))
      out.push_back(std::move(file));
  }
  return out;
}

int64_t SweepCache(const std::string& root, int64_t max_bytes) {
  std::vector<FileInfo> entries;
  int64_t total = 0;
  std::vector<FileInfo> files = EntriesBelow(root);
  for (FileInfo& file : FilesIn(root)) {
    if (IsTemporary(file.path)) files.push_back(std::move(file));
  }
  for (FileInfo& file : files) {
    if (IsTemporary(file.path)) {
      if (Now() - file.modified_ns / 1000000000 > kStaleAfterS) unlink(file.path.c_str());
      continue;
    }
    total += file.bytes;
    entries.push_back(std::move(file));
  }
  if (total <= max_bytes) return total;
  std::sort(entries.begin(), entries.end(), [](const FileInfo& a, const FileInfo& b) {
    return std::pair(a.modified_ns, a.path) < std::pair(b.modified_ns, b.path);
  });
  // Some more than it must, so that the next entry does not sweep again.
  const int64_t goal = max_bytes - max_bytes / 8;
  for (const FileInfo& file : entries) {
    if (total <= goal) break;
    if (unlink(file.path.c_str()) == 0) total -= file.bytes;
  }
  return total;
}

}  // namespace jitfuse::internal
