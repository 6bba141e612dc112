// Reported faults: where it lies (shapes, strides, aliasing, offsets, large graphs). See
// reported_faults.h.
#ifndef JITFUSE_TESTS_SUPPORT_REPORTED_FAULTS_SHAPES_H_
#define JITFUSE_TESTS_SUPPORT_REPORTED_FAULTS_SHAPES_H_

#include "tests/support/reported_faults.h"

namespace jitfuse_test {

// Offsets beyond 2^31 through strides, stores and loads: on the CPU only a few pages are touched.
TEST_F(ReportedFaults, Case20_OffsetsBeyond32Bits) {
  constexpr size_t kBytes = (size_t{1} << 33) + 4096;
  void* pages = nullptr;
  Array memory;
  if (kFaultsDevice == DeviceKind::kCuda) {
    auto made = Array::Empty(DType::kI8, {static_cast<int64_t>(kBytes)}, TheDevice());
    if (!made.ok()) GTEST_SKIP() << made.status().message();
    memory = *made;
  } else {
    pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) GTEST_SKIP() << "no room for 8 GiB of addresses";
    memory = Array::View(pages, DType::kI8, {static_cast<int64_t>(kBytes)});
  }
  const int64_t far = (int64_t{1} << 31) + 9;
  Values values(280);
  for (size_t i = 0; i < 280; ++i) values[i] = static_cast<int8_t>(i);
  Builder b0, b1;
  Function plus = Compile(b0, {b0.Input("x", DType::kI8, {"n", "m"}) + 1.0});
  Function times = Compile(b1, {b1.Input("x", DType::kI8, {"n", "m"}) * 3.0});
  for (bool rows_outer : {true, false}) {
    const Dims dims = rows_outer ? Dims{4, 70} : Dims{70, 4};
    const Array spread = Array::View(memory.data(), DType::kI8, dims,
                                     rows_outer ? Dims{far, 1} : Dims{1, far}, memory.device());
    const jitfuse::Status stored = plus.RunInto({Make(DType::kI8, dims, values)}, {spread});
    ASSERT_TRUE(stored.ok()) << stored.message();
    const Values y = Run1(times, {spread});
    ASSERT_EQ(y.size(), 280u);
    for (size_t i = 0; i < 280; ++i)
      ASSERT_EQ(y[i], static_cast<int8_t>((static_cast<int8_t>(values[i]) + 1) * 3)) << i;
  }
  if (pages != nullptr) munmap(pages, kBytes);
}

TEST_F(ReportedFaults, Case23_EmptyBroadcasts) {
  auto run = [](Dims a, Dims c, const Dims& want, DType dtype) {
    Builder b;
    std::vector<jitfuse::DimSpec> da(a.begin(), a.end()), dc(c.begin(), c.end());
    Tensor x = b.Input("a", dtype, da), y = b.Input("c", dtype, dc);
    Function f = Compile(b, {x + y});
    auto count = [](const Dims& d) {
      return static_cast<size_t>(
          std::accumulate(d.begin(), d.end(), int64_t{1}, std::multiplies<int64_t>()));
    };
    auto r = f.Run({Make(dtype, a, Values(count(a), 1)), Make(dtype, c, Values(count(c), 2))});
    ASSERT_TRUE(r.ok()) << r.status().message();
    EXPECT_EQ((*r)[0].dims(), want);
    EXPECT_EQ((*r)[0].dtype(), dtype);
  };
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kI64}) {
    run({1, 0}, {0, 0}, {0, 0}, dtype);
    run({0, 1}, {0, 5}, {0, 5}, dtype);
    run({3, 0}, {1, 0}, {3, 0}, dtype);
    run({}, {0}, {0}, dtype);
  }
}

TEST_F(ReportedFaults, Case23_ExpandedToNothing) {
  Builder b;
  Tensor x = b.Input("a", DType::kF32, {1, "n"});
  Function f = Compile(b, {Broadcast(x, {0, "n"}) + b.Constant(DType::kF32, 1),
                           jitfuse::Concatenate({x, Broadcast(x, {0, "n"})}), Repeat(x, 0, 0)});
  auto r = f.Run({Make(DType::kF32, {1, 0}, {})});
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ((*r)[0].dims(), (Dims{0, 0}));
  EXPECT_EQ((*r)[1].dims(), (Dims{1, 0}));
  EXPECT_EQ((*r)[2].dims(), (Dims{0, 0}));
}

TEST_F(ReportedFaults, Case26_UnitDimsOnOneFunction) {
  Builder b;
  Tensor a = b.Input("a", DType::kF32, {"n", 3}), c = b.Input("c", DType::kF32, {3});
  Function f = Compile(b, {a + c});
  auto ones = [](Dims d) {
    return Make(DType::kF32, d, Values(static_cast<size_t>(d.size() == 1 ? d[0] : d[0] * d[1]), 1));
  };
  auto by_text = [&](const std::string& dims) {
    jitfuse::CompileOptions options;
    options.device = kFaultsDevice;
    auto g = jitfuse::CompileText("graph f(%a: f32[" + dims +
                                      "], %c: f32[3]) -> (f32[3,3]) {\n %0 = add(%a, %c) : "
                                      "f32[3,3]\n return %0\n}",
                                  options);
    EXPECT_TRUE(g.ok()) << g.status().message();
    return *g;
  };
  Function column = by_text("3,1"), square = by_text("3,3");
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Run1(column, {ones({3, 1}), ones({3})}), Values(9, 2));
    EXPECT_EQ(Run1(square, {ones({3, 3}), ones({3})}), Values(9, 2));
    EXPECT_EQ(Run1(f, {ones({1, 3}), ones({3})}), Values(3, 2));
    EXPECT_EQ(Run1(f, {ones({3, 3}), ones({3})}), Values(9, 2));
  }
}

TEST_F(ReportedFaults, Case27_LayoutsOfOneFunctionAreKeptApart) {
  Builder b;
  Function f = Compile(b, {Tanh(b.Input("x", DType::kF32, {"n", "m"}))});
  const Array column = Make(DType::kF32, {3, 1}, {1, 2, 3});
  const Array square = Make(DType::kF32, {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  auto view = [](const Array& a, Dims dims, Dims strides) {
    return Array::View(a.data(), DType::kF32, std::move(dims), std::move(strides), a.device());
  };
  struct Call {
    Array x;
    Values want;
  };
  std::vector<Call> calls = {{column, {1, 2, 3}},
                             {square, {1, 2, 3, 4, 5, 6, 7, 8, 9}},
                             {view(column, {3, 3}, {0, 0}), Values(9, 1)},
                             {view(column, {3, 3}, {1, 0}), {1, 1, 1, 2, 2, 2, 3, 3, 3}},
                             {view(square, {3, 3}, {1, 3}), {1, 4, 7, 2, 5, 8, 3, 6, 9}}};
  std::vector<size_t> order(calls.size());
  std::iota(order.begin(), order.end(), size_t{0});
  do {
    for (size_t i : order) {
      const Values y = Run1(f, {calls[i].x});
      ASSERT_EQ(y.size(), calls[i].want.size());
      for (size_t k = 0; k < y.size(); ++k) ASSERT_NEAR(y[k], std::tanh(calls[i].want[k]), 1e-6);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(ReportedFaults, Case30_AResidualThatIsASliceOfALargerBuffer) {
  Builder b;
  Tensor z = b.Input("z", DType::kF32, {4, 32, 8, 8}), r = b.Input("r", DType::kF32, {4, 32, 8, 8});
  Function f = Compile(b, {Relu(z) + r});
  const Values big = Random(4 * 96 * 64, 30), zs = Random(4 * 32 * 64, 31);
  const Array whole = Make(DType::kF32, {4, 96, 8, 8}, big);
  const Array z_array = Make(DType::kF32, {4, 32, 8, 8}, zs);
  for (int64_t step : {int64_t{1}, int64_t{2}}) {
    const Array slice = Array::View(static_cast<float*>(whole.data()) + 32 * 64, DType::kF32,
                                    {4, 32, 8, 8}, {96 * 64, 64 * step, 8, 1}, whole.device());
    Values want;
    for (size_t n = 0; n < 4; ++n) {
      for (size_t c = 0; c < 32; ++c) {
        for (size_t i = 0; i < 64; ++i) {
          const float a = static_cast<float>(std::fmax(zs[(n * 32 + c) * 64 + i], 0));
          want.push_back(
              a + static_cast<float>(big[(n * 96 + 32 + c * static_cast<size_t>(step)) * 64 + i]));
        }
      }
    }
    ExpectSame(Run1(f, {z_array, slice}), want, "a slice");
  }
}

// The slice is taken in the graph, with a step, from the larger tensor.
TEST_F(ReportedFaults, Case30_ASliceWithinTheGraph) {
  Builder b;
  Tensor z = b.Input("z", DType::kF32, {4, 32, 8, 8}),
         big = b.Input("r", DType::kF32, {4, 96, 8, 8});
  Function f = Compile(b, {Relu(z) + Slice(big, {0, 32, 0, 0}, {4, 64, 8, 8}),
                           Relu(z) * Slice(big, {0, 95, 0, 0}, {4, 31, 8, 8}, {1, -2, 1, 1})});
  const Values r = Random(4 * 96 * 64, 30), zs = Random(4 * 32 * 64, 31);
  std::vector<Values> got =
      Run(f, {Make(DType::kF32, {4, 32, 8, 8}, zs), Make(DType::kF32, {4, 96, 8, 8}, r)});
  ASSERT_EQ(got.size(), 2u);
  Values sum, product;
  for (size_t n = 0; n < 4; ++n) {
    for (size_t c = 0; c < 32; ++c) {
      for (size_t i = 0; i < 64; ++i) {
        const float a = static_cast<float>(std::fmax(zs[(n * 32 + c) * 64 + i], 0));
        sum.push_back(a + static_cast<float>(r[(n * 96 + 32 + c) * 64 + i]));
        product.push_back(a * static_cast<float>(r[(n * 96 + 95 - 2 * c) * 64 + i]));
      }
    }
  }
  ExpectSame(got[0], sum, "a slice");
  ExpectSame(got[1], product, "backwards");
}

TEST_F(ReportedFaults, Case32_TiedStridesAreNoBroadcast) {
  auto run = [](Dims b_dims, Dims b_strides, const Values& b_values, const Values& want) {
    Builder builder;
    Tensor a = builder.Input("a", DType::kF32, {1, 2, 2});
    Tensor c = builder.Input("b", DType::kF32, {b_dims[0], b_dims[1], b_dims[2]});
    Array data = Make(DType::kF32, {static_cast<int64_t>(b_values.size())}, b_values);
    ExpectSame(Run1(Compile(builder, {a + c}),
                    {Make(DType::kF32, {1, 2, 2}, {1, 2, 3, 4}),
                     Array::View(data.data(), DType::kF32, b_dims, b_strides, data.device())}),
               want, "tied strides");
  };
  run({1, 2, 1}, {2, 1, 1}, {10, 20}, {11, 12, 23, 24});
  run({1, 1, 2}, {2, 2, 1}, {10, 20}, {11, 22, 13, 24});
  run({1, 1, 1}, {1, 1, 1}, {10}, {11, 12, 13, 14});
}

TEST_F(ReportedFaults, Case34_AlignedFirstMisalignedLater) {
  for (DType dtype : {DType::kU8, DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    Builder b;
    Tensor x = b.Input("x", dtype, {"n"});
    std::vector<Tensor> outputs = {x * 2.0 + 1.0, Sum(x)};
    if (dtype != DType::kU8) outputs.push_back(Softmax(x));
    Function f = Compile(b, outputs);
    Values values(1040);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 5);
    const Array buffer = Make(dtype, {1040}, values);
    const auto scratch = f.WorkspaceBytes({Make(dtype, {1025}, Values(1025, 1))});
    ASSERT_TRUE(scratch.ok()) << scratch.status().message();
    for (int64_t n : {1, 2, 3, 5, 7, 8, 15, 16, 17, 1023, 1025}) {
      for (int64_t offset = 0; offset < 8; ++offset) {
        const Array x_at =
            Array::View(static_cast<char*>(buffer.data()) + offset * jitfuse::ItemSize(dtype),
                        dtype, {n}, {}, buffer.device());
        EXPECT_LE(*f.WorkspaceBytes({x_at}), *scratch);  // which has no room for a copy
        std::vector<Values> r = Run(f, {x_at});
        ASSERT_EQ(r.size(), outputs.size());
        double sum = 0, exp_sum = 0;
        for (int64_t i = 0; i < n; ++i) {
          const double v = values[static_cast<size_t>(offset + i)];
          ASSERT_EQ(r[0][static_cast<size_t>(i)], 2 * v + 1);
          sum += v;
          exp_sum += std::exp(v);
        }
        const Values rounded = *Array::FromValues(dtype, {1}, {sum})->ToVector();
        const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
        ASSERT_EQ(r[1][0], narrow ? rounded[0] : sum);
        for (size_t i = 0; r.size() > 2 && i < r[2].size(); ++i)
          ASSERT_NEAR(r[2][i], std::exp(values[static_cast<size_t>(offset) + i]) / exp_sum, 4e-3);
      }
    }
  }
}

TEST_F(ReportedFaults, Case37_PaddedLanesDoNotDivideByZero) {
  for (DType dtype : {DType::kI64, DType::kI32, DType::kI16, DType::kU8}) {
    Builder b;
    Tensor x = b.Input("x", dtype, {2, "n"}), d = b.Input("d", dtype, {"n"});
    Function f = Compile(b, {Remainder(x, d), FloorDivide(x, d)});
    for (int64_t n = 1; n <= 17; ++n) {
      Values xs(static_cast<size_t>(2 * n)), ds(static_cast<size_t>(n), 16);
      std::iota(xs.begin(), xs.end(), 0.0);
      if (n > 3) ds[2] = 0;
      std::vector<Values> r = Run(f, {Make(dtype, {2, n}, xs), Make(dtype, {n}, ds)});
      ASSERT_EQ(r.size(), 2u);
      for (size_t i = 0; i < xs.size(); ++i) {
        const bool zero = ds[i % static_cast<size_t>(n)] == 0;
        ASSERT_EQ(r[0][i], zero ? 0 : std::fmod(xs[i], 16)) << n << " " << i;
        ASSERT_EQ(r[1][i], zero ? 0 : std::floor(xs[i] / 16)) << n << " " << i;
      }
    }
  }
}

TEST_F(ReportedFaults, Case40_InPlaceOutputThatAnotherOutputStillNeeds) {
  for (int64_t rows : {int64_t{10}, int64_t{1000}, int64_t{250000}}) {
    Builder b;
    Tensor t0 = b.Input("t0", DType::kF32, {"n", 2}), t1 = b.Input("t1", DType::kF32, {2, "n", 2});
    Function f = Compile(b, {Relu(t0), t0 + t1});
    const auto n = static_cast<size_t>(rows) * 2;
    const Values v0 = Random(n, 40), v1 = Random(2 * n, 41);
    const Array a0 = Make(DType::kF32, {rows, 2}, v0), a1 = Make(DType::kF32, {2, rows, 2}, v1);
    const Array out = Make(DType::kF32, {2, rows, 2}, Values(2 * n, 0));
    const jitfuse::Status status = f.RunInto({a0, a1}, {a0, out});
    if (!status
             .ok()) {  // refused, since the second output reads t0 at another map: nothing is lost
      EXPECT_NE(status.message().find("buffer of its own"), std::string::npos) << status.message();
      ExpectSame(*a0.ToVector(), v0, "refused, so untouched");
      continue;
    }
    Values want;
    for (size_t i = 0; i < 2 * n; ++i)
      want.push_back(static_cast<float>(v0[i % n]) + static_cast<float>(v1[i]));
    ExpectSame(*out.ToVector(), want, "old values");
    ExpectSame(*a0.ToVector(), Each(v0, [](double v) { return v > 0 ? v : 0; }), "in place");
  }
}

TEST_F(ReportedFaults, Case43_InputsThatShareStorage) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {4}), y = b.Input("y", DType::kF32, {2, 1, 2}),
         z = b.Input("z", DType::kF32, {1, 2, 2});
  Function f = Compile(b, {(Exp(y) + Reshape(x, {2, 2, 1})) + Exp(z)});
  const Array s = Make(DType::kF32, {4}, {0, 1, 2, 3});
  auto view = [&](Dims dims) {
    return Array::View(s.data(), DType::kF32, std::move(dims), {}, s.device());
  };
  const Values got = Run1(f, {s, view({2, 1, 2}), view({1, 2, 2})});
  ASSERT_EQ(got.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    const double want = std::exp(double((i / 4) * 2 + i % 2)) + double(i / 2) +
                        std::exp(double((i / 2 % 2) * 2 + i % 2));
    EXPECT_NEAR(got[i], want, 1e-5 * want);
  }
}

TEST_F(ReportedFaults, Case45_TheSameTensorTwice) {
  Builder b;
  Tensor x = b.Input("x", DType::kF32, {"n"}), x2 = b.Input("x2", DType::kF32, {"n"});
  Tensor unused = b.Input("unused", DType::kF32, {"m"});
  Tensor y = x * x2 + x;
  Function f = Compile(b, {y, y, x});
  const Array a = Make(DType::kF32, {3}, {1, 2, 3});
  std::vector<Values> r = Run(f, {a, a, Make(DType::kF32, {2}, {0, 0})});
  ASSERT_EQ(r.size(), 3u);
  EXPECT_THAT(r[0], ElementsAre(2, 6, 12));
  EXPECT_EQ(r[0], r[1]);
  EXPECT_THAT(r[2], ElementsAre(1, 2, 3));
}

TEST_F(ReportedFaults, Case63_MoreBuffersThanAKernelMayHave) {
  Builder too_many;
  for (int i = 0; i < 4200; ++i) too_many.Input("", DType::kI32, {10});
  EXPECT_EQ(too_many.status().message(), "graph f: more than 4096 inputs, the limit of a graph");
  for (int n : {100, 513, 600, 4096}) {
    Builder b;
    std::vector<Array> inputs;
    Tensor sum;
    for (int i = 0; i < n; ++i) {
      Tensor x = b.Input("x" + std::to_string(i), DType::kI32, {10});
      sum = i == 0 ? x : sum + x;
      Values v(10);
      for (size_t k = 0; k < 10; ++k) v[k] = i * 10 + static_cast<double>(k);
      inputs.push_back(Make(DType::kI32, {10}, v));
    }
    const Values y = Run1(Compile(b, {sum}), inputs);
    ASSERT_EQ(y.size(), 10u);
    for (size_t k = 0; k < 10; ++k) EXPECT_EQ(y[k], 5.0 * n * (n - 1) + double(k) * n) << n;
  }
}

TEST_F(ReportedFaults, Case67_DeepChains) {
  constexpr int length = kFaultsDevice == DeviceKind::kCuda ? 10000 : 100000;
  auto build_and_run = [] {
    Builder b;
    Tensor x = b.Input("x", DType::kI32, {4});
    Tensor y = x;
    for (int i = 0; i < length; ++i) y = i % 2 == 0 ? y * 1.0 : y + 1.0;
    EXPECT_GT(b.ToText({y}).size(), static_cast<size_t>(length));
    EXPECT_EQ(Run1(Compile(b, {y}), {Make(DType::kI32, {4}, {0, 1, 2, 3})}),
              (Values{length / 2.0, length / 2.0 + 1, length / 2.0 + 2, length / 2.0 + 3}));
  };
  pthread_attr_t attr;  // a thread with 512 KB of stack
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, 512 * 1024);
  std::function<void()> body = build_and_run;
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attr,
                [](void* f) -> void* {
                  (*static_cast<std::function<void()>*>(f))();
                  return nullptr;
                },
                &body),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attr);
}

TEST_F(ReportedFaults, Case69_ASecondPassOverTheSameShapes) {
  Builder b;
  Function f = Compile(b, {Sum(b.Input("x", DType::kF32, {"n", "m"}), {0})});
  long long compiles = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t i = 0; i < 10; ++i) {
      const int64_t m = 1024 + 8 * i;
      const Array one = Make(DType::kF32, {1, m}, Values(static_cast<size_t>(m), double(i)));
      const Array x = Array::View(one.data(), DType::kF32, {1024, m}, {0, 1}, one.device());
      for (double v : Run1(f, {x})) ASSERT_EQ(v, 1024.0 * double(i));
    }
    if (pass == 0) compiles = f.stats().compiles;
  }
  EXPECT_EQ(f.stats().compiles, compiles);
  EXPECT_LE(compiles, 2);
}

TEST_F(ReportedFaults, Case85_RowAndColumnBiasOfASquareProduct) {
  auto run = [](int64_t m, int64_t n) {
    Builder b;
    Tensor a = b.Input("a", DType::kF32, {m, m}), w = b.Input("w", DType::kF32, {m, n});
    Tensor row = b.Input("row", DType::kF32, {n}), column = b.Input("column", DType::kF32, {m});
    Tensor product = Matmul(a, w);
    Function f = Compile(b, {product + row, product + Unsqueeze(column, {1}), Relu(product + row),
                             Relu(product + Unsqueeze(column, {1}))});
    const Values av = Random(static_cast<size_t>(m * m), 85),
                 wv = Random(static_cast<size_t>(m * n), 86);
    Values rv(static_cast<size_t>(n)), cv(static_cast<size_t>(m));
    std::iota(rv.begin(), rv.end(), 0.0);
    std::iota(cv.begin(), cv.end(), 0.0);
    std::vector<Values> r = Run(f, {Make(DType::kF32, {m, m}, av), Make(DType::kF32, {m, n}, wv),
                                    Make(DType::kF32, {n}, rv), Make(DType::kF32, {m}, cv)});
    ASSERT_EQ(r.size(), 4u);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t k = 0; k < n; ++k) {
        double dot = 0;
        for (int64_t l = 0; l < m; ++l)
          dot += av[static_cast<size_t>(i * m + l)] * wv[static_cast<size_t>(l * n + k)];
        const auto at = static_cast<size_t>(i * n + k);
        const double by_row = dot + double(k), by_column = dot + double(i);
        ASSERT_NEAR(r[0][at], by_row, 1e-3);
        ASSERT_NEAR(r[1][at], by_column, 1e-3);
        ASSERT_NEAR(r[2][at], std::fmax(by_row, 0), 1e-3);
        ASSERT_NEAR(r[3][at], std::fmax(by_column, 0), 1e-3);
      }
    }
  };
  run(64, 64);
  run(8, 8);
  run(64, 32);
}

// As graphs say it, a C that is multiplied by 0 is still a factor, and so are A and B: NaN * 0 is
// NaN, whatever a library does where its beta or alpha is 0. A C that is to count for nothing is
// left out of the graph, as Python's torch.addmm does.
TEST_F(ReportedFaults, Case88_FactorsOfZeroAndCInPlaceOfTheResult) {
  for (DType dtype : {DType::kF32, DType::kF16}) {
    const int64_t m = 48, n = 64, k = 32;
    auto count = [](int64_t rows, int64_t columns) { return static_cast<size_t>(rows * columns); };
    Values a_values(count(m, k)), b_values(count(k, n)), c_values(count(m, n));
    for (size_t i = 0; i < a_values.size(); ++i) a_values[i] = static_cast<double>(i % 5) - 2;
    for (size_t i = 0; i < b_values.size(); ++i) b_values[i] = static_cast<double>(i % 7) - 3;
    for (size_t i = 0; i < c_values.size(); ++i) c_values[i] = static_cast<double>(i % 9) - 4;
    Values product(count(m, n), 0);  // small whole numbers: exact in any order
    for (size_t i = 0; i < product.size(); ++i) {
      for (size_t l = 0; l < count(k, 1); ++l)
        product[i] += a_values[i / count(n, 1) * count(k, 1) + l] *
                      b_values[l * count(n, 1) + i % count(n, 1)];
    }
    const Array a = Make(dtype, {m, k}, a_values), w = Make(dtype, {k, n}, b_values),
                c = Make(dtype, {m, n}, c_values);
    auto function = [&](double alpha, double beta) {
      Builder builder;
      Tensor x = builder.Input("a", dtype, {m, k}), y = builder.Input("b", dtype, {k, n}),
             z = builder.Input("c", dtype, {m, n});
      return Compile(builder, {Matmul(x, y) * alpha + z * beta});
    };
    ExpectSame(Run1(function(1, 0), {a, w, c}), product, "beta 0 of finite numbers");
    const Values some_nan =
        Run1(function(1, 0), {a, w, Make(dtype, {m, n}, Values(c_values.size(), kNaN))});
    ExpectSame(some_nan, Values(c_values.size(), kNaN), "beta 0 of NaN");
    ExpectSame(Run1(function(0, 1), {Make(dtype, {m, k}, Values(a_values.size(), kNaN)), w, c}),
               Values(c_values.size(), kNaN), "alpha 0 of NaN");
    Values sum(product.size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = 2 * product[i] + c_values[i];
    const Function f = function(2, 1);
    ExpectSame(Run1(f, {a, w, c}), sum, "beta 1, apart");
    const jitfuse::Status status = f.RunInto({a, w, c}, {c});
    if (!status.ok())  // where the product is put into the result's memory first
      EXPECT_NE(status.message().find("buffer of its own"), std::string::npos) << status.message();
    ExpectSame(*c.ToVector(), status.ok() ? sum : c_values, "beta 1, in place of C");
  }
}

TEST_F(ReportedFaults, Case90_MatrixTimesVectorWithABias) {
  auto run = [](Dims a_dims, Dims b_dims, Dims bias_dims, const Dims& want) {
    Builder builder;
    auto spec = [](const Dims& d) { return std::vector<jitfuse::DimSpec>(d.begin(), d.end()); };
    auto count = [](const Dims& d) {
      size_t n = 1;
      for (int64_t e : d) n *= static_cast<size_t>(e);
      return n;
    };
    Tensor a = builder.Input("a", DType::kF32, spec(a_dims));
    Tensor w = builder.Input("b", DType::kF32, spec(b_dims));
    Tensor y = Matmul(a, w) + builder.Input("bias", DType::kF32, spec(bias_dims));
    auto r = Compile(builder, {y})
                 .Run({Make(DType::kF32, a_dims, Values(count(a_dims), 1)),
                       Make(DType::kF32, b_dims, Values(count(b_dims), 0.5)),
                       Make(DType::kF32, bias_dims, Values(count(bias_dims), 2))});
    ASSERT_TRUE(r.ok()) << r.status().message();
    EXPECT_EQ((*r)[0].dims(), want);
    const Values values = *(*r)[0].ToVector();
    for (double v : values) ASSERT_EQ(v, 0.5 * double(a_dims.back()) + 2);
  };
  run({1024, 256}, {256, 1}, {}, {1024, 1});
  run({1, 256}, {256, 64}, {64}, {1, 64});
  run({128, 256}, {256, 1}, {128, 1}, {128, 1});
  run({128, 256}, {256, 1}, {1}, {128, 1});
}

}  // namespace jitfuse_test

#endif  // JITFUSE_TESTS_SUPPORT_REPORTED_FAULTS_SHAPES_H_
