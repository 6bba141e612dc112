// Compiling and loading: errors, the allow-list, levels, threads.
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "tests/cpu/backend/cpu_kit.h"

namespace jitfuse::internal {
namespace {

TEST(OrcCompile, MalformedTextIsAStatusWithTheDumpedPath) {
  for (const char* text :
       {"define void @f() { ret i32 0 }", "nonsense", "define void @f() { br label %nowhere }", "",
        R"(define float @f(float %x) {
             %y = fadd float %z, %x
             %z = fadd float %y, %x
             ret float %z
           })"}) {
    absl::StatusOr<std::string> bytes = CompileLlvm(text, "x86-64-v3", "");
    if (std::string(text).empty()) {
      EXPECT_TRUE(bytes.ok());
      continue;
    }
    ASSERT_FALSE(bytes.ok()) << text;
    std::string message(bytes.status().message());
    size_t at = message.find("text in ");
    ASSERT_NE(at, std::string::npos) << message;
    std::string path = message.substr(at + 8, message.rfind(')') - at - 8);
    std::ifstream file(path);
    EXPECT_TRUE(file.good()) << path;
    std::remove(path.c_str());
  }
}

TEST(OrcCompile, MalformedTextThatNoFileTakesSaysSo) {
  setenv("JITFUSE_DUMP_DIR", "/nowhere/at/all", 1);
  std::string message(CompileLlvm("nonsense", "x86-64-v3", "").status().message());
  unsetenv("JITFUSE_DUMP_DIR");
  EXPECT_NE(message.find("(text in no file: none could be written)"), std::string::npos) << message;
}

TEST(OrcCompile, UnknownCpuIsRefused) {
  absl::StatusOr<std::string> bytes =
      CompileLlvm("define void @f() { ret void }", "pentium-12", "");
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(std::string(bytes.status().message()).find("pentium-12"), std::string::npos);
}

// A library call that slipped in is an error when the code is loaded, though the process has the
// symbol.
TEST(OrcCompile, OnlyTheAllowListIsLinked) {
  std::string bytes = *CompileLlvm(
      "declare float @expf(float)\ndefine float @f(float %x) {\n  %y = call float @expf(float "
      "%x)\n  ret float %y\n}",
      "x86-64-v2", "");
  EXPECT_EQ(*UndefinedSymbols(bytes), std::vector<std::string>{"expf"});
  absl::StatusOr<std::shared_ptr<const LoadedObject>> loaded = LoadObject(bytes, {"f"});
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(std::string(loaded.status().message()).find("expf"), std::string::npos)
      << loaded.status();

  std::string copy = *CompileLlvm(
      "declare ptr @memcpy(ptr, ptr, i64)\ndefine void @f(ptr %a, ptr %b, i64 %n) {\n  %r = call "
      "ptr @memcpy(ptr %a, ptr %b, i64 %n)\n  ret void\n}",
      "x86-64-v2", "");
  loaded = LoadObject(copy, {"f"});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  char from[4] = "abc", to[4] = "";
  reinterpret_cast<void (*)(void*, const void*, int64_t)>((*loaded)->Address("f"))(to, from, 4);
  EXPECT_STREQ(to, "abc");
  EXPECT_EQ((*loaded)->Address("g"), nullptr);
}

TEST(OrcCompile, GarbageIsNoObject) {
  EXPECT_FALSE(LoadObject("this is no object file", {"f"}).ok());
  EXPECT_FALSE(UndefinedSymbols("this is no object file").ok());
  std::string bytes = *CompileLlvm("define void @f() { ret void }", "x86-64-v2", "");
  EXPECT_FALSE(LoadObject(bytes, {"g"}).ok());
  for (size_t size : {size_t{0}, size_t{10}, bytes.size() / 2, bytes.size() - 1})
    EXPECT_FALSE(LoadObject(bytes.substr(0, size), {"f"}).ok()) << size;
}

KernelPlan AddConstant(int which) {
  PlanKit k("add", {SizeExpr::Symbol(0)});
  int x = k.Input(DType::kF32), y = k.Output(DType::kF32);
  k.Store(k.Op(ScalarOp::kAdd, {k.Load(k.Strided(x, {1})), k.Const(DType::kF32, which)}),
          k.Strided(y, {1}));
  return Scheduled(k.plan, 8, 2);
}

// 64 threads compile, load, run and unload kernels of the same name, each its own and all the same
// one.
TEST(OrcConcurrency, ConcurrentCompileLoadRunUnload) {
  std::unique_ptr<Backend> backend = CreateCpuBackend();
  std::atomic<int> wrong{0};
  auto work = [&](int thread) {
    for (int turn = 0; turn < 4; ++turn) {
      int which = turn % 2 == 0 ? thread : 1000;
      absl::StatusOr<KernelSource> source = backend->Emit(AddConstant(which));
      if (!source.ok()) return void(++wrong);
      absl::StatusOr<CompiledKernel> compiled = backend->Compile(*source);
      if (!compiled.ok()) return void(++wrong);
      auto kernel = backend->Load(*source, *compiled);
      if (!kernel.ok()) return void(++wrong);
      std::vector<float> x(1000, 1), y(1000);
      std::vector<void*> buffers = {x.data(), y.data()};
      std::vector<int64_t> sizes;
      for (const SizeExpr& e : source->size_args) sizes.push_back(e.Eval({1000}));
      LaunchArgs args;
      args.buffers = buffers;
      args.sizes = sizes;
      args.rows = 1;
      args.cols = 1000;
      args.bytes_per_row = int64_t{1} << 40;  // so that it is split over threads
      if (!backend->Launch(**kernel, args).ok()) ++wrong;
      for (float v : y) wrong += v != static_cast<float>(which + 1);
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 64; ++t) threads.emplace_back(work, t);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace jitfuse::internal
