#include "jit/cuda/dynlib.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ir/support/flags.h"
#include "ir/support/status.h"
#include "jit/cuda/build_tree.h"

namespace jitfuse::internal {
namespace {

std::vector<std::string> Glob(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> out;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
  // Newest version first: 12.10 before 12.9.
  std::sort(out.begin(), out.end(), [](const std::string& a, const std::string& b) {
    return strverscmp(a.c_str(), b.c_str()) > 0;
  });
  return out;
}

std::string Getenv(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void AddGlob(const std::string& pattern, std::vector<std::string>* out) {
  for (std::string& path : Glob(pattern)) {
    if (std::find(out->begin(), out->end(), path) == out->end()) out->push_back(std::move(path));
  }
}

// The error of the last dlopen, without the name that it starts with.
std::string DlError(const std::string& name) {
  const char* text = dlerror();
  std::string error = text == nullptr ? "unknown error" : text;
  const std::string prefix = name + ": ";
  return error.rfind(prefix, 0) == 0 ? error.substr(prefix.size()) : error;
}

struct Search {
  const LibrarySpec& spec;
  const AcceptLibrary& accept;
  std::vector<std::string>* searched;
  Dynlib found;

  void Note(std::string line) const {
    if (searched != nullptr) searched->push_back(std::move(line));
  }

  bool Try(const std::string& name, int flags) {
    void* handle = dlopen(name.c_str(), flags);
    if (handle == nullptr) {
      Note((flags & RTLD_NOLOAD) != 0 ? absl::StrCat(name, " (loaded in this process): no")
                                      : absl::StrCat(name, ": ", DlError(name)));
      return false;
    }
    Dynlib library(handle);
    absl::Status status = accept == nullptr ? absl::OkStatus() : accept(library);
    Note(absl::StrCat(library.path(), status.ok() ? ": taken" : ": ",
                      std::string(status.message())));
    if (!status.ok()) {
      dlclose(handle);
      return false;
    }
    found = std::move(library);
    return true;
  }

  bool TryMajor(int major, std::string_view pip) {
    const std::string name =
        major == 0 ? std::string(spec.stem) : absl::StrCat(ToAbsl(spec.stem), ".", major);
    if (Try(name, RTLD_NOW | RTLD_NOLOAD)) return true;
    std::vector<std::string> files;
    if (!pip.empty()) {
      for (const std::string& folder : PythonPackageFolders())
        AddGlob(absl::StrCat(folder, "/", ToAbsl(pip), "/", name), &files);
      if (files.empty())
        Note(absl::StrCat("<Python packages>/", ToAbsl(pip), "/", name, ": no such file"));
    }
    for (const std::string& folder : Glob("/usr/local/cuda*/lib64"))
      files.push_back(absl::StrCat(folder, "/", name));
    for (const std::string& file : files) {
      if (Try(file, RTLD_NOW | RTLD_LOCAL)) return true;
    }
    return Try(name, RTLD_NOW | RTLD_LOCAL);
  }
};

// The file of the code at hand: our shared library, or the program.
std::string OwnFile() {
  Dl_info info{};
  const bool found = dladdr(reinterpret_cast<const void*>(&PythonPackageFolders), &info) != 0;
  return found && info.dli_fname != nullptr ? info.dli_fname : "";
}

absl::Status Missing(const LibrarySpec& spec, const std::vector<std::string>& searched) {
  return NotFound(ToAbsl(spec.what), " was not found; searched: ", absl::StrJoin(searched, "; "),
                  ". To get it: ", ToAbsl(spec.remedy));
}

}  // namespace

Dynlib::Dynlib(void* handle) : handle_(handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr)
    path_ = map->l_name;
}

void* Dynlib::Symbol(const char* name) const { return dlsym(handle_, name); }

std::vector<std::string> PackageFoldersOfBuildTree(const std::string& file) {
  std::error_code failed;
  std::filesystem::path folder = std::filesystem::canonical(file, failed).parent_path();
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    if (std::filesystem::exists(folder / "CMakeCache.txt", failed))
      return Glob((folder.parent_path() / "venv/lib/python3*/site-packages").string());
  }
  return {};
}

std::vector<std::string> PythonPackageFolders() {
  std::vector<std::string> out;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string root = Getenv(variable); !root.empty())
      AddGlob(root + "/lib/python3*/site-packages", &out);
  }
  for (absl::string_view entry : absl::StrSplit(Getenv("PYTHONPATH"), ':', absl::SkipEmpty()))
    out.emplace_back(entry);
  for (std::string& folder : PackageFoldersOfBuildTree(OwnFile())) out.push_back(std::move(folder));
  if (const std::string home = Getenv("HOME"); !home.empty())
    AddGlob(home + "/.local/lib/python3*/site-packages", &out);
  AddGlob("/usr/local/lib/python3*/site-packages", &out);
  AddGlob("/usr/local/lib/python3*/dist-packages", &out);
  AddGlob("/usr/lib/python3*/site-packages", &out);
  AddGlob("/usr/lib/python3*/dist-packages", &out);
  AddGlob("/opt/*/lib/python3*/site-packages", &out);
  return out;
}

absl::StatusOr<Dynlib> OpenLibrary(const LibrarySpec& spec, int max_major,
                                   const AcceptLibrary& accept,
                                   std::vector<std::string>* searched) {
  std::vector<std::string> own;
  Search search{spec, accept, searched == nullptr ? &own : searched, {}};
  if (const std::string path = EnvString(spec.env); !path.empty()) {
    if (search.Try(path, RTLD_NOW | RTLD_LOCAL)) return search.found;
    search.searched->push_back(
        absl::StrCat("JITFUSE_", ToAbsl(spec.env), " is set, so nothing else"));
    return Missing(spec, *search.searched);
  }
  for (size_t i = 0; i < spec.majors.size(); ++i) {
    if (max_major != 0 && spec.majors[i] > max_major) {
      search.Note(absl::StrCat(ToAbsl(spec.stem), ".", spec.majors[i], ": newer than the driver"));
      continue;
    }
    if (search.TryMajor(spec.majors[i], i < spec.pip.size() ? spec.pip[i] : ""))
      return search.found;
  }
  return Missing(spec, *search.searched);
}

}  // namespace jitfuse::internal
