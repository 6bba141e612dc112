// What language bindings stand on: ops by name, dims and guards of a graph under construction, the
// signature of a function, results that the caller makes, word of work that takes long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/apply.h"
#include "api/inspect.h"
#include "api/jitfuse.h"

namespace jitfuse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;
using Dims = std::vector<DimSpec>;

CompileOptions OnCpu() {
  CompileOptions options;
  options.device = DeviceKind::kCpu;
  return options;
}

std::string TypeOf(const StatusOr<std::vector<Tensor>>& made) {
  return made.ok() ? made->at(0).type_string() : made.status().message();
}

TEST(ApplyNamedTest, DoesWhatTheFunctionsOfOpsDo) {
  Builder b("f");
  Tensor x = b.Input("x", DType::kF32, {"n", 6});
  EXPECT_EQ(TypeOf(ApplyNamed(b, "relu", {x}, {})), "f32[n,6]");
  EXPECT_EQ(TypeOf(ApplyNamed(b, "reshape", {x}, {{"shape", Ints{-1, 3}}})), "f32[n*2,3]");
  EXPECT_EQ(TypeOf(ApplyNamed(b, "reshape", {x}, {{"shape", Dims{"n", 2, 3}}})), "f32[n,2,3]");
  EXPECT_EQ(TypeOf(ApplyNamed(b, "reshape", {x}, {{"shape", Dims{"n", -1}}})), "f32[n,6]");
  EXPECT_EQ(TypeOf(ApplyNamed(b, "leaky_relu", {x}, {{"slope", std::int64_t{1}}})), "f32[n,6]");
  EXPECT_EQ(TypeOf(ApplyNamed(b, "cast", {x}, {{"dtype", DType::kBF16}})), "bf16[n,6]");
  EXPECT_EQ(TypeOf(ApplyNamed(b, "iota", {}, {{"shape", Dims{"n"}}, {"axis", std::int64_t{0}}})),
            "i64[n]");
  EXPECT_EQ(TypeOf(ApplyNamed(b, "layer_norm", {x, Tensor(), Tensor()}, {})), "f32[n,6]");
  StatusOr<std::vector<Tensor>> two = ApplyNamed(b, "max_sumexp", {x}, {{"axes", Ints{1}}});
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->size(), 2u);
  // The same graph as by the functions.
  EXPECT_EQ(b.ToText({Relu(x)}), b.ToText({ApplyNamed(b, "relu", {x}, {}).value()[0]}));
}

TEST(ApplyNamedTest, AnErrorLeavesTheBuilderAsItWas) {
  Builder b("f"), other;
  Tensor x = b.Input("x", DType::kF32, {2, 6});
  EXPECT_EQ(TypeOf(ApplyNamed(b, "rleu", {x}, {})), "there is no op 'rleu'");
  EXPECT_EQ(TypeOf(ApplyNamed(b, "input", {}, {})), "there is no op 'input'");
  EXPECT_THAT(TypeOf(ApplyNamed(b, "softmax", {x}, {{"axes", std::int64_t{1}}})),
              HasSubstr("softmax: there is no attribute 'axes'; it has axis"));
  EXPECT_THAT(TypeOf(ApplyNamed(b, "softmax", {x}, {{"axis", std::int64_t{2}}})),
              HasSubstr("softmax(f32[2,6])"));
  EXPECT_THAT(TypeOf(ApplyNamed(b, "broadcast", {x}, {{"shape", Dims{-1}}})), HasSubstr("-1"));
  EXPECT_THAT(TypeOf(ApplyNamed(b, "broadcast", {x}, {{"shape", Dims{-7}}})),
              HasSubstr("a dim is -7"));
  EXPECT_THAT(TypeOf(ApplyNamed(b, "layer_norm", {x, Tensor(), x}, {})),
              HasSubstr("layer_norm: operand 1 is left out"));
  EXPECT_THAT(TypeOf(ApplyNamed(other, "relu", {x}, {})),
              HasSubstr("relu: operand 0 belongs to another Builder"));
  Builder bad;
  Tensor invalid = bad.Input("y", DType::kF32, {-1});
  EXPECT_THAT(TypeOf(ApplyNamed(bad, "relu", {invalid}, {})), HasSubstr("is an invalid tensor"));
  EXPECT_THAT(TypeOf(ApplyNamed(b, "dropout", {}, {})), HasSubstr("dropout: expected at least 1"));
  EXPECT_TRUE(b.status().ok());
  EXPECT_TRUE(b.Compile({x}, OnCpu()).ok());
  Builder moved_to = std::move(b);
  EXPECT_THAT(TypeOf(ApplyNamed(b, "relu", {x}, {})),  // NOLINT(bugprone-use-after-move)
              HasSubstr("was moved from"));
}

TEST(ApplyNamedTest, RandomOpsReadTheSeedOfTheCall) {
  Builder b("f");
  Tensor x = b.Input("x", DType::kF32, {"n"});
  Tensor p = b.Scalar("p", DType::kF32);
  std::vector<Tensor> outs = {
      ApplyNamed(b, "dropout", {x}, {{"p", 0.5}}).value()[0],
      ApplyNamed(b, "dropout", {x, p}, {}).value()[0],
      ApplyNamed(b, "random_uniform", {}, {{"shape", Dims{"n"}}}).value()[0]};
  Builder c("f");
  Tensor cx = c.Input("x", DType::kF32, {"n"});
  Tensor cp = c.Scalar("p", DType::kF32);
  std::vector<Tensor> by_functions = {Dropout(cx, 0.5), Dropout(cx, cp), RandomUniform(c, {"n"})};
  EXPECT_EQ(b.ToText(outs), c.ToText(by_functions));
  Function f = b.Compile(outs, OnCpu()).value();
  EXPECT_EQ(f.num_inputs(), 2);
  EXPECT_EQ(NumRandomOps(f), 3);
  Builder none;
  EXPECT_EQ(NumRandomOps(none.Compile({none.Input("x", DType::kF32, {2})}, OnCpu()).value()), 0);
  EXPECT_EQ(NumRandomOps(Function()), 0);
}

TEST(BuilderTest, TellsDimsAndGuards) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"n", 4}), y = b.Input("y", DType::kF32, {"m", "k"});
  EXPECT_TRUE(b.Guards().empty());
  const auto text = [](const DimSpec& d) {
    return d.is_name() ? d.name() : std::to_string(d.size());
  };
  const Dims dims = Reshape(x, {-1}).dims();
  ASSERT_EQ(dims.size(), 1u);
  EXPECT_EQ(text(dims[0]), "n*4");
  ASSERT_TRUE(Add(x, y).valid());
  std::vector<std::string> guards;
  for (const auto& [p, q] : b.Guards()) guards.push_back(text(p) + "=" + text(q));
  EXPECT_THAT(guards, ElementsAre("n=m", "4=k"));
  EXPECT_TRUE(Tensor().dims().empty());
}

TEST(BuilderTest, TakeStatusForgetsTheError) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {2, 3});
  EXPECT_FALSE(Softmax(x, 7).valid());
  EXPECT_THAT(b.TakeStatus().message(), HasSubstr("softmax"));
  EXPECT_TRUE(b.status().ok());
  EXPECT_TRUE(b.TakeStatus().ok());
  EXPECT_TRUE(b.Compile({Softmax(x, 1)}, OnCpu()).ok());
}

TEST(InspectTest, TellsTheSignatureOfAFunction) {
  Builder b;
  Tensor x = b.Input("x", DType::kBF16, {"n", 4}), p = b.Scalar("p", DType::kF32);
  Function f = b.Compile({Dropout(x, p), Sum(x)}, OnCpu()).value();
  const std::vector<InputInfo> in = InputsOf(f), out = OutputsOf(f);
  ASSERT_EQ(in.size(), 2u);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(in[0].name, "x");
  EXPECT_FALSE(in[0].scalar);
  EXPECT_THAT(in[0].dims, ElementsAre("n", "4"));
  EXPECT_EQ(in[1].name, "p");
  EXPECT_TRUE(in[1].scalar);
  EXPECT_EQ(out[0].dtype, DType::kBF16);
  EXPECT_THAT(out[0].dims, ElementsAre("n", "4"));
  EXPECT_TRUE(out[1].dims.empty());
  EXPECT_TRUE(InputsOf(Function()).empty());
  EXPECT_TRUE(OutputsOf(Function()).empty());
}

TEST(InspectTest, TellsTypesAndDefaultsOfAttributes) {
  for (const OpInfo& op : ListOps()) {
    ASSERT_EQ(op.attrs.size(), op.attr_infos.size()) << op.name;
    for (std::size_t i = 0; i < op.attrs.size(); ++i) EXPECT_EQ(op.attrs[i], op.attr_infos[i].name);
    if (op.name == "max_sumexp") EXPECT_EQ(op.num_results, 2);
    if (op.name == "cast") EXPECT_TRUE(op.attr_infos[0].required);
    if (op.name != "sum") continue;
    EXPECT_EQ(op.attr_infos[0].type, "ints");
    EXPECT_EQ(op.attr_infos[1].type, "bool");
    EXPECT_EQ(std::get<bool>(op.attr_infos[1].fallback), false);
  }
}

// ---- Results that the caller makes.

class Maker : public ResultMaker {
 public:
  explicit Maker(std::size_t shift) : shift_(shift) {}
  StatusOr<Array> Make(int output, DType dtype, const Ints& dims, Device device) override {
    outputs.push_back(output);
    Array whole = Array::Empty(dtype, {1024}, device).value();
    keep.push_back(whole);
    return edit(Array::View(static_cast<char*>(whole.data()) + shift_, dtype, dims, {}, device));
  }
  std::vector<int> outputs;
  std::vector<Array> keep;
  std::function<StatusOr<Array>(Array)> edit = [](Array a) { return a; };

 private:
  std::size_t shift_;
};

Function TwoResults() {
  Builder b("two");
  Tensor x = b.Input("x", DType::kF32, {"n", 5});
  return b.Compile({x * 2.0, Sum(x, {1})}, OnCpu()).value();
}

TEST(ResultMakerTest, ItsArraysAreTheResults) {
  const Function f = TwoResults();
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const Array x = Array::FromValues(DType::kF32, {2, 5}, values).value();
  for (std::size_t shift : {0, 4, 64}) {  // aligned to items alone is enough
    Maker maker(shift);
    RunOptions options;
    options.results = &maker;
    StatusOr<std::vector<Array>> out = f.Run({x}, options);
    ASSERT_TRUE(out.ok()) << out.status().message();
    EXPECT_THAT(maker.outputs, ElementsAre(0, 1));
    EXPECT_EQ(out->at(1).data(), static_cast<char*>(maker.keep[1].data()) + shift);
    EXPECT_THAT(out->at(0).ToVector().value(), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16, 18, 20));
    EXPECT_THAT(out->at(1).ToVector().value(), ElementsAre(15, 40));
  }
}

TEST(ResultMakerTest, WhatIsNotAsAskedForIsAnError) {
  const Function f = TwoResults();
  const Array x = Array::Empty(DType::kF32, {2, 5}).value();
  const auto error = [&](std::function<StatusOr<Array>(Array)> edit, std::size_t shift = 0) {
    Maker maker(shift);
    maker.edit = std::move(edit);
    RunOptions options;
    options.results = &maker;
    return f.Run({x}, options).status().message();
  };
  const auto same = [](Array a) { return a; };
  EXPECT_EQ(error(same), "");
  EXPECT_THAT(error(same, 2), HasSubstr("two: RunOptions::results made an array for output 0"));
  EXPECT_THAT(error([](Array a) { return Array::View(a.data(), DType::kI32, a.dims()); }),
              HasSubstr("output 0"));
  EXPECT_THAT(error([](Array a) { return Array::View(a.data(), a.dtype(), {5, 2}); }),
              HasSubstr("output 0"));
  EXPECT_THAT(error([](Array a) { return Array::View(a.data(), a.dtype(), a.dims(), {1, 2}); }),
              HasSubstr("not contiguous"));
  EXPECT_THAT(
      error([](Array a) { return Array::View(static_cast<void*>(nullptr), a.dtype(), a.dims()); }),
      HasSubstr("output 0"));
  EXPECT_THAT(error([](const Array&) -> StatusOr<Array> {
                return Status(StatusCode::kResourceExhausted, "no more");
              }),
              "no more");
}

// ---- Word of long work.

class Recorder : public LongWork {
 public:
  void Begin() override {
    EXPECT_FALSE(inside);
    inside = true;
    ++count;
  }
  void End() override {
    EXPECT_TRUE(inside);
    inside = false;
  }
  bool inside = false;
  int count = 0;
};

TEST(LongWorkTest, IsCompilingAndLargeKernels) {
  const Function f = TwoResults();
  Recorder recorder;
  RunOptions options;
  options.long_work = &recorder;
  const Array small = Array::FromValues(DType::kF32, {2, 5}, std::vector<double>(10)).value();
  ASSERT_TRUE(f.Run({small}, options).ok());
  EXPECT_EQ(recorder.count, 1);  // compiled
  ASSERT_TRUE(f.Run({small}, options).ok());
  EXPECT_EQ(recorder.count, 1);
  const Array other = Array::FromValues(DType::kF32, {3, 5}, std::vector<double>(15)).value();
  ASSERT_TRUE(f.Run({other}, options).ok());
  EXPECT_EQ(recorder.count, 1);  // of the same class: bound, not compiled
  const Array large =
      Array::FromValues(DType::kF32, {100000, 5}, std::vector<double>(500000)).value();
  ASSERT_TRUE(f.Run({large}, options).ok());
  const int before = recorder.count;
  ASSERT_TRUE(f.Run({large}, options).ok());
  EXPECT_EQ(recorder.count, before + 1);  // runs long
  const Array narrow = Array::FromValues(DType::kF32, {2, 4}, std::vector<double>(8)).value();
  EXPECT_FALSE(f.Run({narrow}, options).ok());
  EXPECT_FALSE(recorder.inside);
  Recorder of_warm;
  options.long_work = &of_warm;
  const Function g = TwoResults();
  ASSERT_TRUE(g.Warm({small}, options).ok());
  EXPECT_EQ(of_warm.count, 1);
}

TEST(LongWorkTest, WaitingForAnotherThreadsCompilationIsLong) {
  // Each thread holds one lock but while its work is long, as Python's threads do: they all end.
  std::mutex lock;
  class Holder : public LongWork {
   public:
    explicit Holder(std::mutex* lock) : lock_(lock) {}
    void Begin() override { lock_->unlock(); }
    void End() override { lock_->lock(); }

   private:
    std::mutex* lock_;
  };
  const Function f = TwoResults();
  const Array x = Array::FromValues(DType::kF32, {2, 5}, std::vector<double>(10)).value();
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::lock_guard<std::mutex> held(lock);
      Holder holder(&lock);
      RunOptions options;
      options.long_work = &holder;
      good += f.Run({x}, options).ok() ? 1 : 0;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(good, 4);
  EXPECT_EQ(f.stats().compiles, 1);
}

}  // namespace
}  // namespace jitfuse
