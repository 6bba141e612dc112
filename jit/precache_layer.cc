// The files of a pre-cached layer: written, listed in its index, compared with what is wanted.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"
#include "ir/support/threads.h"
#include "jit/cache_files.h"
#include "jit/cache_list.h"
#include "jit/disk_cache.h"
#include "jit/kernel_cache.h"
#include "jit/precache.h"
#include "jit/tune_store.h"

namespace jitfuse::internal {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* kIndex = "index.json";
constexpr const char* kHead = "jitfuse_layer";
constexpr int kIndexVersion = 1;
constexpr size_t kShownFailures = 3;

// As a process that uses the layer looks for it; the error says what is wrong with what is there,
// NotFound that nothing is.
absl::Status Serves(const std::string& root, const CacheKey& key) {
  const std::string path = EntryPathOf(root, key);
  JF_ASSIGN_OR_RETURN(const CacheEntry entry, ReadEntryFile(path, Trust::kLayer));
  if (entry.key == key) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, ": it is of another key with the same hash"));
}

LayerKernel Describe(const CacheEntry& entry, const ReadFigures& figures) {
  LayerKernel out;
  out.file =
      absl::StrCat("v", kCacheFormat, "/", entry.key.toolchain, "/", entry.key.Hash().ToHex());
  out.kernel = entry.symbol;
  out.backend = entry.key.backend;
  out.arch = entry.key.arch;
  out.toolchain = entry.key.toolchain;
  out.code_bytes = static_cast<int64_t>(entry.code.size());
  if (figures) figures(entry, &out);
  return out;
}

// What is another's (root's, since it is trusted) is left as it is.
absl::Status MakeReadable(const std::string& path, mode_t mode) {
  struct stat s{};
  const bool found = stat(path.c_str(), &s) == 0;
  if (found && (s.st_uid != geteuid() || (s.st_mode & 07777) == mode)) return absl::OkStatus();
  if (found && chmod(path.c_str(), mode) == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot make ", path, " readable: ", std::generic_category().message(errno)));
}

absl::Status Delete(const std::string& path, const absl::Status& why) {
  if (unlink(path.c_str()) == 0) return absl::OkStatus();
  const std::string reason = std::generic_category().message(errno);
  return absl::UnavailableError(
      absl::StrCat("cannot delete an entry that is not used: ", reason, ": ", why.message()));
}

// A folder that holds something else is not made a layer, nor are files in it touched.
absl::Status CheckLayerOrEmpty(const std::string& dir) {
  const std::vector<std::string> folders = FoldersIn(dir);
  const std::vector<FileInfo> files = FilesIn(dir);
  const std::string index = absl::StrCat(dir, "/", kIndex);
  const std::string root = absl::StrCat("v", kCacheFormat);
  const bool layer =
      std::find(folders.begin(), folders.end(), root) != folders.end() ||
      std::any_of(files.begin(), files.end(), [&](const FileInfo& f) { return f.path == index; });
  if (layer || (folders.empty() && files.empty())) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      dir, " is not empty and is no layer; expected a new folder, or a layer to add to"));
}

// Of what processes that were ended left behind.
void RemoveTemporaries(const std::string& folder) {
  for (const FileInfo& file : FilesIn(folder)) {
    if (IsTemporary(file.path)) unlink(file.path.c_str());
  }
}

json KernelJson(const LayerKernel& k) {
  json out = {{"file", k.file}, {"kernel", k.kernel},      {"backend", k.backend},
              {"arch", k.arch}, {"compiler", k.toolchain}, {"code_bytes", k.code_bytes}};
  if (k.registers >= 0) out["registers"] = k.registers;
  if (k.local_bytes >= 0) out["local_bytes"] = k.local_bytes;
  if (k.spill_bytes >= 0) out["spill_bytes"] = k.spill_bytes;
  return out;
}

std::string IndexJson(const std::vector<LayerKernel>& kernels, const std::string& version) {
  std::map<std::string, std::set<std::string>> archs;  // by compiler
  json list = json::array();
  for (const LayerKernel& k : kernels) {
    archs[k.toolchain].insert(k.arch);
    list.push_back(KernelJson(k));
  }
  json compilers = json::array();
  for (const auto& [compiler, names] : archs)
    compilers.push_back({{"compiler", compiler}, {"archs", names}});
  const json out = {{kHead, kIndexVersion},
                    {"jitfuse", version},
                    {"cache_format", kCacheFormat},
                    {"compilers", std::move(compilers)},
                    {"kernels", std::move(list)}};
  return absl::StrCat(out.dump(1, ' ', false, json::error_handler_t::replace), "\n");
}

absl::Status Failures(const std::vector<std::string>& failed, size_t total) {
  std::vector<std::string> shown(
      failed.begin(),
      failed.begin() + static_cast<std::ptrdiff_t>(std::min(failed.size(), kShownFailures)));
  return InternalError(failed.size(), " of ", total,
                       " kernels could not be made: ", absl::StrJoin(shown, "\n"),
                       failed.size() > shown.size() ? "\n... (the others are there)" : "");
}

}  // namespace

LayerWriter::~LayerWriter() {
  if (lock_ >= 0) close(lock_);
}

absl::Status LayerWriter::Open(const std::string& dir) {
  dir_ = dir;
  // Folders above it are not the layer's own: whoever may read it has to come through them. Nobody
  // else may put another layer in its place.
  const size_t slash = dir.find_last_of('/');
  if (slash != std::string::npos && slash > 0)
    JF_RETURN_IF_ERROR(MakeCacheFolder(dir.substr(0, slash), 0755));
  JF_RETURN_IF_ERROR(MakeCacheFolder(dir));
  JF_RETURN_IF_ERROR(CheckLayerOrEmpty(dir));
  absl::Status usable = CheckLayerFolder(dir);
  if (!usable.ok()) return Annotate(usable, "a layer there would not be used");
  lock_ = open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0 && flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return absl::FailedPreconditionError(
        absl::StrCat("another process is writing to ", dir, "; wait for it, or write elsewhere"));
  return absl::OkStatus();
}

absl::StatusOr<LayerKernel> LayerWriter::Make(const WantedKernel& wanted,
                                              const ReadFigures& figures) const {
  const std::string path = EntryPathOf(CacheRootOf(dir_), wanted.key);
  const absl::StatusOr<CacheEntry> there = ReadEntryFile(path, Trust::kLayer);
  if (there.ok() && there->key == wanted.key) return Describe(*there, figures);
  absl::StatusOr<CompiledKernel> made = absl::UnknownError("not compiled");
  {
    const CompileGate gate;
    made = CompileWithStack(wanted.source, *wanted.backend);
  }
  JF_ASSIGN_OR_RETURN(CompiledKernel compiled, std::move(made));
  const CacheEntry entry{wanted.key, wanted.source.entry, std::move(compiled.bytes),
                         std::move(compiled.log)};
  const std::string bytes = EncodeEntry(entry);
  const size_t slash = path.rfind('/');
  JF_RETURN_IF_ERROR(WriteCacheFile(path.substr(0, slash), path.substr(slash + 1), bytes));
  LayerKernel out = Describe(entry, figures);
  out.file_bytes = static_cast<int64_t>(bytes.size());
  out.compile_ms = compiled.compile_ms;
  return out;
}

absl::StatusOr<std::vector<LayerKernel>> LayerWriter::Compile(
    absl::Span<const WantedKernel> kernels, const ReadFigures& figures,
    const std::function<void(const LayerProgress&)>& progress) {
  std::vector<absl::StatusOr<LayerKernel>> made(kernels.size(), absl::UnknownError("not made"));
  std::atomic<size_t> next{0};
  std::mutex mu;
  LayerProgress at;
  at.total = kernels.size();
  RunWithHelpers(static_cast<int>(std::min<size_t>(kernels.size(), INT_MAX)), [&] {
    for (size_t i = next.fetch_add(1); i < kernels.size(); i = next.fetch_add(1)) {
      made[i] = Make(kernels[i], figures);
      const std::lock_guard<std::mutex> lock(mu);
      ++at.done;
      at.compiled += made[i].ok() && made[i]->compile_ms >= 0 ? 1 : 0;
      at.last = &kernels[i].source;
      if (progress) progress(at);
    }
  });
  std::vector<LayerKernel> out;
  std::vector<std::string> failed;
  for (absl::StatusOr<LayerKernel>& m : made) {
    if (m.ok())
      out.push_back(*std::move(m));
    else
      failed.emplace_back(m.status().message());
  }
  if (!failed.empty()) return Failures(failed, kernels.size());
  return out;
}

absl::StatusOr<std::vector<std::string>> LayerWriter::Finish(const ReadFigures& figures,
                                                             const std::string& version) {
  const std::string root = CacheRootOf(dir_);
  RemoveTemporaries(dir_);
  std::vector<LayerKernel> kernels;
  std::vector<std::string> deleted;
  const std::vector<std::string> toolchains = FoldersIn(root);
  for (const std::string& toolchain : toolchains) {
    const std::string folder = absl::StrCat(root, "/", toolchain);
    RemoveTemporaries(folder);
    for (const FileInfo& file : FilesIn(folder)) {
      // As it is: with the mode below one that others may have written would be trusted.
      const absl::StatusOr<CacheEntry> entry = ReadEntryFile(file.path, Trust::kLayer);
      if (!entry.ok()) {  // damaged, or others may write to it, and not asked for now
        JF_RETURN_IF_ERROR(Delete(file.path, entry.status()));
        deleted.emplace_back(entry.status().message());
        continue;
      }
      JF_RETURN_IF_ERROR(MakeReadable(file.path, 0644));
      if (entry->key.backend != kTuneEntries)  // which are served, but are no kernels
        kernels.push_back(Describe(*entry, figures));
    }
    JF_RETURN_IF_ERROR(MakeReadable(folder, 0755));
  }
  JF_RETURN_IF_ERROR(WriteCacheFile(dir_, kIndex, IndexJson(kernels, version)));
  JF_RETURN_IF_ERROR(MakeReadable(absl::StrCat(dir_, "/", kIndex), 0644));
  if (!toolchains.empty()) JF_RETURN_IF_ERROR(MakeReadable(root, 0755));
  JF_RETURN_IF_ERROR(MakeReadable(dir_, 0755));
  return deleted;
}

LayerGaps GapsIn(const std::string& dir, absl::Span<const WantedKernel> kernels) {
  LayerGaps out;
  const absl::Status usable = CheckLayerFolder(dir);
  if (!usable.ok() && !absl::IsNotFound(usable)) out.refused = std::string(usable.message());
  const std::string root = CacheRootOf(dir);
  const std::vector<std::string> toolchains =
      usable.ok() ? FoldersIn(root) : std::vector<std::string>();
  for (const WantedKernel& wanted : kernels) {
    std::vector<std::string> unused;
    const bool found =
        std::any_of(toolchains.begin(), toolchains.end(), [&](const std::string& toolchain) {
          CacheKey key = wanted.key;
          const bool fits = key.toolchain.empty() ? wanted.backend->LoadsCodeOf(toolchain)
                                                  : key.toolchain == toolchain;
          if (!fits) return false;
          key.toolchain = toolchain;
          const absl::Status serves = Serves(root, key);
          if (!serves.ok() && !absl::IsNotFound(serves)) unused.emplace_back(serves.message());
          return serves.ok();
        });
    if (found) continue;
    out.missing.push_back(&wanted);
    out.unused.insert(out.unused.end(), unused.begin(), unused.end());
  }
  return out;
}

absl::StatusOr<std::vector<std::string>> ArchsOfLayer(const std::string& dir) {
  const std::string path = absl::StrCat(dir, "/", kIndex);
  JF_ASSIGN_OR_RETURN(const CacheFile file, ReadCacheFile(path, Trust::kLayer));
  const json index = json::parse(file.bytes, nullptr, /*allow_exceptions=*/false);
  std::set<std::string> out;
  if (index.is_object() && index.contains("kernels") && index["kernels"].is_array()) {
    for (const json& kernel : index["kernels"]) {
      if (!kernel.is_object() || !kernel.contains("arch") || !kernel["arch"].is_string()) continue;
      out.insert(kernel["arch"].get<std::string>());
    }
  }
  if (out.empty())
    return InvalidArgument(path, ": expected the index of a layer, which names architectures");
  return std::vector<std::string>(out.begin(), out.end());
}

}  // namespace jitfuse::internal
