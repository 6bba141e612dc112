// Finding libraries: the order of places, refusals, and what is said when nothing is found.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/support/status.h"
#include "jit/cuda/build_tree.h"
#include "jit/cuda/cuda_backends.h"
#include "jit/cuda/dynlib.h"
#include "jit/cuda/nvrtc_api.h"

namespace jitfuse::internal {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class ScopedEnv {
 public:
  ScopedEnv(const char* name, const std::string& value) : name_(name) {
    const char* old = std::getenv(name);
    had_ = old != nullptr;
    if (had_) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedEnv() { had_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  bool had_;
  std::string old_;
};

LibrarySpec Spec() {
  return {.what = "the thing",
          .env = "TEST_THING_PATH",
          .stem = "libm.so",
          .majors = {99, 6},
          .pip = {"nvidia/thing/lib"},
          .remedy = "make one"};
}

TEST(Dynlib, NewestFirstThenTheOneThatIsThere) {
  std::vector<std::string> searched;
  absl::StatusOr<Dynlib> lib = OpenLibrary(Spec(), 0, nullptr, &searched);
  ASSERT_TRUE(lib.ok()) << lib.status();
  EXPECT_THAT(lib->path(), HasSubstr("libm.so.6"));
  EXPECT_NE(lib->Symbol("cos"), nullptr);
  EXPECT_EQ(lib->Symbol("no_such_function"), nullptr);
  EXPECT_THAT(searched, Contains(HasSubstr("libm.so.99")));
  EXPECT_THAT(searched.back(), HasSubstr(": taken"));
}

TEST(Dynlib, NoNewerThanTheLimit) {
  std::vector<std::string> searched;
  ASSERT_TRUE(OpenLibrary(Spec(), 6, nullptr, &searched).ok());
  EXPECT_EQ(searched[0], "libm.so.99: newer than the driver");
  EXPECT_TRUE(absl::IsNotFound(OpenLibrary(Spec(), 5, nullptr).status()));
}

TEST(Dynlib, RefusedCandidatesAreListed) {
  absl::Status status =
      OpenLibrary(Spec(), 0, [](const Dynlib&) { return absl::NotFoundError("too old"); }).status();
  EXPECT_TRUE(absl::IsNotFound(status));
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("the thing was not found; searched: "));
  EXPECT_THAT(message, HasSubstr("libm.so.6: too old"));
  EXPECT_THAT(message, HasSubstr("<Python packages>/nvidia/thing/lib/libm.so.99: no such file"));
  EXPECT_THAT(message, HasSubstr("To get it: make one"));
}

TEST(Dynlib, TheVariableIsTheOnlyPlace) {
  ScopedEnv env("JITFUSE_TEST_THING_PATH", "/nowhere/libthing.so");
  absl::Status status = OpenLibrary(Spec(), 0, nullptr).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("/nowhere/libthing.so: cannot open shared object file"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("JITFUSE_TEST_THING_PATH is set, so nothing else"));
  ScopedEnv good("JITFUSE_TEST_THING_PATH", "libm.so.6");
  EXPECT_TRUE(OpenLibrary(Spec(), 0, nullptr).ok());
}

TEST(Dynlib, PythonPackages) {
  const std::string root = testing::TempDir() + "jf_dynlib_env";
  std::filesystem::create_directories(root + "/lib/python3.11/site-packages/nvidia/thing/lib");
  std::ofstream(root + "/lib/python3.11/site-packages/nvidia/thing/lib/libm.so.99") << "no library";
  ScopedEnv env("VIRTUAL_ENV", root);
  EXPECT_THAT(PythonPackageFolders(), Contains(root + "/lib/python3.11/site-packages"));
  std::vector<std::string> searched;
  ASSERT_TRUE(OpenLibrary(Spec(), 0, nullptr, &searched).ok());
  EXPECT_THAT(searched,
              Contains(HasSubstr(
                  "nvidia/thing/lib/libm.so.99: ")));  // found, and no library: the search went on
  std::filesystem::remove_all(root);
}

TEST(Dynlib, TheEnvironmentBesideABuildTreeIsSearched) {
  const std::string root = std::filesystem::canonical(testing::TempDir()).string() + "/jf_tree";
  const std::string packages = root + "/build/venv/lib/python3.11/site-packages";
  const std::string library = root + "/build/dev/lib/libjitfuse.so";
  std::filesystem::create_directories(packages);
  std::filesystem::create_directories(root + "/build/dev/lib");
  std::ofstream(library) << "no library";
  EXPECT_TRUE(PackageFoldersOfBuildTree(library).empty());  // not of a build tree
  std::ofstream(root + "/build/dev/CMakeCache.txt") << "";
  EXPECT_THAT(PackageFoldersOfBuildTree(library), testing::ElementsAre(packages));
  EXPECT_TRUE(PackageFoldersOfBuildTree("no_such_file").empty());
  std::filesystem::remove_all(root);
}

// A Python that a distribution manages (PEP 668) refuses `pip install`.
TEST(Dynlib, MissingLibrariesAreGotIntoAnEnvironment) {
  ScopedEnv nvrtc("JITFUSE_NVRTC_PATH", "/nowhere"), lt("JITFUSE_CUBLASLT_PATH", "/nowhere");
  ScopedEnv path("PATH", "/nowhere");
  for (const LibraryFinding& f : CudaFindings()) {
    if (f.found || (f.what != "NVRTC" && f.what != "cuBLASLt" && f.what != "nvdisasm")) continue;
    EXPECT_THAT(f.remedy, HasSubstr("python3 -m venv VENV; VENV/bin/pip install")) << f.what;
  }
}

TEST(Dynlib, NewerIsByNumber) {
  const std::string root = testing::TempDir() + "jf_dynlib_versions";
  for (const char* version : {"python3.9", "python3.10", "python3.11"})
    std::filesystem::create_directories(root + "/lib/" + version + "/site-packages");
  ScopedEnv env("VIRTUAL_ENV", root);
  std::vector<std::string> ours;
  for (const std::string& folder : PythonPackageFolders()) {
    if (folder.rfind(root, 0) == 0) ours.push_back(folder.substr(root.size()));
  }
  EXPECT_THAT(ours,
              testing::ElementsAre("/lib/python3.11/site-packages", "/lib/python3.10/site-packages",
                                   "/lib/python3.9/site-packages"));
  std::filesystem::remove_all(root);
}

TEST(Dynlib, NoDriverSaysWhatWasSearched) {
  ScopedEnv env("JITFUSE_CUDA_PATH", "/nowhere/libcuda.so.1");
  absl::StatusOr<std::unique_ptr<Backend>> backend = CreateCudaBackend();
  if (backend.ok()) GTEST_SKIP() << "a driver is loaded already";
  EXPECT_TRUE(absl::IsNotFound(backend.status()));
  EXPECT_THAT(
      std::string(backend.status().message()),
      HasSubstr("the CUDA driver (libcuda.so.1) was not found; searched: /nowhere/libcuda.so.1"));
  EXPECT_THAT(std::string(backend.status().message()), HasSubstr("install NVIDIA's driver"));
}

TEST(Dynlib, FindingsCoverTheCudaSide) {
  std::vector<std::string> names;
  for (const LibraryFinding& f : CudaFindings()) {
    names.push_back(f.what);
    EXPECT_FALSE(f.where.empty()) << f.what;
    EXPECT_EQ(f.found, f.remedy.empty()) << f.what;
    EXPECT_EQ(f.found, !f.version.empty()) << f.what;
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"CUDA driver", "NVRTC", "cuBLASLt", "nvdisasm"}));
}

}  // namespace
}  // namespace jitfuse::internal
