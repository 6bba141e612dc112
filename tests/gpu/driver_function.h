// What the tests on a GPU need of the driver besides jit/cuda/driver_api's table: its functions by
// name, and a captured call as a graph that can be launched.
//
// The driver is loaded already, and a context is current. A failure is a failed expectation.
#ifndef JITFUSE_TESTS_GPU_DRIVER_FUNCTION_H_
#define JITFUSE_TESTS_GPU_DRIVER_FUNCTION_H_

#include <dlfcn.h>

#include "gtest/gtest.h"
#include "jit/cuda/driver_api.h"

namespace jitfuse_test {

// nullptr where there is no such function.
template <typename Fn>
Fn DriverFunction(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<Fn>(dlsym(library, name));
}

// The primary context of GPU 0, current while this lives, with a stream that does not wait for the
// default one.
class StreamOfGpu0 {
 public:
  StreamOfGpu0() {
    const jitfuse::internal::DriverApi& driver = **jitfuse::internal::LoadDriverApi();
    jitfuse::internal::CuContext context;
    EXPECT_EQ(driver.DevicePrimaryCtxRetain(&context, 0), jitfuse::internal::kCuSuccess);
    EXPECT_EQ(driver.CtxPushCurrent(context), jitfuse::internal::kCuSuccess);
    auto create = DriverFunction<int (*)(jitfuse::internal::CuStream*, unsigned)>("cuStreamCreate");
    if (create == nullptr || create(&stream_, 1) != 0) ADD_FAILURE() << "no stream";
  }
  ~StreamOfGpu0() {
    if (stream_ != nullptr)
      DriverFunction<int (*)(jitfuse::internal::CuStream)>("cuStreamDestroy_v2")(stream_);
    jitfuse::internal::CuContext popped;
    (*jitfuse::internal::LoadDriverApi())->CtxPopCurrent(&popped);
  }
  StreamOfGpu0(const StreamOfGpu0&) = delete;
  StreamOfGpu0& operator=(const StreamOfGpu0&) = delete;
  jitfuse::internal::CuStream get() const { return stream_; }

 private:
  jitfuse::internal::CuStream stream_ = nullptr;
};

// What `enqueue` puts on the stream, recorded and not run; null after a failure.
template <typename Enqueue>
void* Captured(jitfuse::internal::CuStream stream, Enqueue enqueue) {
  using jitfuse::internal::CuStream;
  auto begin = DriverFunction<int (*)(CuStream, int)>("cuStreamBeginCapture_v2");
  auto end = DriverFunction<int (*)(CuStream, void**)>("cuStreamEndCapture");
  auto instantiate =
      DriverFunction<int (*)(void**, void*, unsigned long long)>("cuGraphInstantiateWithFlags");
  if (begin == nullptr || end == nullptr || instantiate == nullptr) {
    ADD_FAILURE() << "the driver cannot capture";
    return nullptr;
  }
  void *graph = nullptr, *instance = nullptr;
  EXPECT_EQ(begin(stream, 0), 0);
  enqueue();
  EXPECT_EQ(end(stream, &graph), 0) << "what was enqueued is not legal under capture";
  if (graph != nullptr) EXPECT_EQ(instantiate(&instance, graph, 0), 0);
  return instance;
}

inline void Replay(void* instance, jitfuse::internal::CuStream stream) {
  auto launch = DriverFunction<int (*)(void*, jitfuse::internal::CuStream)>("cuGraphLaunch");
  auto wait = DriverFunction<int (*)(jitfuse::internal::CuStream)>("cuStreamSynchronize");
  ASSERT_TRUE(launch != nullptr && wait != nullptr && instance != nullptr);
  ASSERT_EQ(launch(instance, stream), 0);
  ASSERT_EQ(wait(stream), 0);
}

}  // namespace jitfuse_test

#endif  // JITFUSE_TESTS_GPU_DRIVER_FUNCTION_H_
