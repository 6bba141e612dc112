// A stand-in for cuBLASLt that follows the descriptors to the letter: column-major, leading
// dimensions, transposes, batches, epilogues. What it was asked for is counted. Algorithm i of its
// answers may be one that loses NaN behind relu. One at a time.
#ifndef JITFUSE_TESTS_NULL_CUDA_FAKE_CUBLASLT_H_
#define JITFUSE_TESTS_NULL_CUDA_FAKE_CUBLASLT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>

#include "jit/cuda/cublaslt_api.h"

namespace jitfuse::internal {

struct FakeDesc {
  CublasComputeType compute;
  CudaDataType scale;
  std::map<int, uint64_t> attributes;
};
struct FakeLayout {
  CudaDataType type;
  int64_t rows, columns, ld;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct FakePreference {
  std::map<int, uint64_t> attributes;
};
struct Counts {
  int heuristics = 0, creates = 0, descs = 0, layouts = 0, found = 1, trials = 0, checks = 0;
  bool refuse_checks = false;
  uint64_t unfit = 0;                       // bits of algorithms that no check lets pass
  uint32_t refused = 0;                     // bits of epilogues that there is no algorithm for
  std::function<void(uint64_t)> on_matmul;  // told the algorithm
  uint64_t lossy = 0;                       // the first so many algorithms turn NaN into 0
  bool has_mask = false;
  FakePreference last;
  CublasComputeType compute{};
};
inline Counts counts;

inline FakeLayout& Of(LtMatrixLayout l) { return *reinterpret_cast<FakeLayout*>(l); }
inline FakeDesc& Of(LtMatmulDesc d) { return *reinterpret_cast<FakeDesc*>(d); }

struct FakeCall {
  const FakeDesc& desc;
  double alpha, beta;
  uint64_t algo;
};

template <typename T>
T Finish(const FakeCall& call, double sum, T c, int64_t row) {
  auto attribute = [&](int a) {
    auto it = call.desc.attributes.find(a);
    return it == call.desc.attributes.end() ? uint64_t{0} : it->second;
  };
  const uint64_t bits = attribute(kLtEpilogue);
  double z = call.alpha * sum;
  if (call.beta != 0) z += call.beta * static_cast<double>(c);
  if ((bits & kLtEpilogueBias) != 0)
    z += static_cast<double>(reinterpret_cast<const T*>(attribute(kLtBiasPointer))[row]);
  const bool keeps = call.algo >= counts.lossy || (bits & kLtEpilogueAux) != 0;
  if ((bits & kLtEpilogueAux) != 0) {
    counts.has_mask = true;
    EXPECT_EQ(attribute(kLtEpilogueAuxLd) % 128, 0u);
    reinterpret_cast<unsigned char*>(attribute(kLtEpilogueAuxPointer))[row / 8] |= 1;
  }
  if ((bits & kLtEpilogueRelu) != 0) z = z != z ? (keeps ? z : 0) : std::max(z, 0.0);
  if ((bits & kLtEpilogueGelu) != 0) z = 100 * z;  // to be told from all else
  return static_cast<T>(z);
}

template <typename T>
void Multiply(const FakeCall& call, const void* a, const FakeLayout& la, const void* b,
              const FakeLayout& lb, const void* c, const FakeLayout& lc, void* d,
              const FakeLayout& ld) {
  const bool ta = call.desc.attributes.at(kLtTransA) == kCublasT,
             tb = call.desc.attributes.at(kLtTransB) == kCublasT;
  const int64_t k = ta ? la.rows : la.columns;
  EXPECT_EQ(ta ? la.columns : la.rows, ld.rows);
  EXPECT_EQ(tb ? lb.rows : lb.columns, ld.columns);
  EXPECT_EQ(tb ? lb.columns : lb.rows, k);
  auto at = [](auto* p, const FakeLayout& l, int64_t batch, int64_t row, int64_t column) -> auto& {
    return p[batch * l.stride + row + column * l.ld];
  };
  for (int64_t n = 0; n < ld.batch; ++n) {
    for (int64_t i = 0; i < ld.rows; ++i) {
      for (int64_t j = 0; j < ld.columns; ++j) {
        T sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          sum += (ta ? at(static_cast<const T*>(a), la, n, l, i)
                     : at(static_cast<const T*>(a), la, n, i, l)) *
                 (tb ? at(static_cast<const T*>(b), lb, n, j, l)
                     : at(static_cast<const T*>(b), lb, n, l, j));
        }
        const T added = call.beta == 0 ? T{0} : at(static_cast<const T*>(c), lc, n, i, j);
        at(static_cast<T*>(d), ld, n, i, j) = Finish<T>(call, sum, added, i);
      }
    }
  }
}

inline CublasLtApi FakeApi() {
  counts = {};
  CublasLtApi api;
  api.version = "13.1.0";
  api.Create = [](LtHandle* h) {
    ++counts.creates;
    *h = reinterpret_cast<LtHandle>(uintptr_t{16});
    return kCublasSuccess;
  };
  api.MatmulDescCreate = [](LtMatmulDesc* d, CublasComputeType compute, CudaDataType scale) {
    ++counts.descs;
    counts.compute = compute;
    *d = reinterpret_cast<LtMatmulDesc>(new FakeDesc{compute, scale, {}});
    return kCublasSuccess;
  };
  api.MatmulDescDestroy = [](LtMatmulDesc d) {
    --counts.descs;
    delete &Of(d);
    return kCublasSuccess;
  };
  api.MatmulDescSetAttribute = [](LtMatmulDesc d, LtMatmulDescAttribute a, const void* v,
                                  size_t size) {
    const bool wide = a == kLtBiasPointer || a == kLtEpilogueAuxPointer || a == kLtEpilogueAuxLd;
    EXPECT_EQ(size, wide ? 8u : 4u);
    Of(d).attributes[a] =
        wide ? *static_cast<const uint64_t*>(v) : *static_cast<const uint32_t*>(v);
    return kCublasSuccess;
  };
  api.MatrixLayoutCreate = [](LtMatrixLayout* l, CudaDataType type, uint64_t rows, uint64_t columns,
                              int64_t ld) {
    ++counts.layouts;
    EXPECT_GE(ld, static_cast<int64_t>(rows));
    *l = reinterpret_cast<LtMatrixLayout>(
        new FakeLayout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), ld});
    return kCublasSuccess;
  };
  api.MatrixLayoutDestroy = [](LtMatrixLayout l) {
    --counts.layouts;
    delete &Of(l);
    return kCublasSuccess;
  };
  api.MatrixLayoutSetAttribute = [](LtMatrixLayout l, LtLayoutAttribute a, const void* v,
                                    size_t size) {
    EXPECT_EQ(size, a == kLtBatchCount ? 4u : 8u);
    if (a == kLtBatchCount) Of(l).batch = *static_cast<const int32_t*>(v);
    if (a == kLtStridedBatchOffset) Of(l).stride = *static_cast<const int64_t*>(v);
    return kCublasSuccess;
  };
  api.MatmulPreferenceCreate = [](LtPreference* p) {
    *p = reinterpret_cast<LtPreference>(new FakePreference);
    return kCublasSuccess;
  };
  api.MatmulPreferenceDestroy = [](LtPreference p) {
    counts.last = *reinterpret_cast<FakePreference*>(p);
    delete reinterpret_cast<FakePreference*>(p);
    return kCublasSuccess;
  };
  api.MatmulPreferenceSetAttribute = [](LtPreference p, LtPreferenceAttribute a, const void* v,
                                        size_t size) {
    EXPECT_EQ(size, a == kLtMaxWorkspaceBytes ? 8u : 4u);
    reinterpret_cast<FakePreference*>(p)->attributes[a] =
        size == 8 ? *static_cast<const uint64_t*>(v) : *static_cast<const uint32_t*>(v);
    return kCublasSuccess;
  };
  api.MatmulAlgoGetHeuristic = [](LtHandle, LtMatmulDesc desc, LtMatrixLayout, LtMatrixLayout,
                                  LtMatrixLayout, LtMatrixLayout, LtPreference, int wanted,
                                  LtHeuristicResult* results, int* found) {
    ++counts.heuristics;
    const auto epilogue = Of(desc).attributes.find(kLtEpilogue);
    if (epilogue != Of(desc).attributes.end() && (epilogue->second & counts.refused) != 0)
      return kCublasNotSupported;
    *found = std::min(counts.found, wanted);
    for (int i = 0; i < *found; ++i) {
      results[i] = {};
      results[i].algo.data[0] = static_cast<uint64_t>(i);
      results[i].workspace_bytes = 4096;
    }
    return kCublasSuccess;
  };
  api.MatmulAlgoCheck = [](LtHandle, LtMatmulDesc, LtMatrixLayout, LtMatrixLayout, LtMatrixLayout,
                           LtMatrixLayout, const LtAlgo* algo, LtHeuristicResult* result) {
    ++counts.checks;
    if (counts.refuse_checks || (counts.unfit >> algo->data[0] & 1) != 0)
      return kCublasNotSupported;
    result->workspace_bytes = 4096;
    return kCublasSuccess;
  };
  api.MatmulAlgoConfigGetAttribute = [](const LtAlgo*, LtAlgoAttribute a, void* v, size_t,
                                        size_t* written) {
    *static_cast<int32_t*>(v) = 60 + a;
    *written = 4;
    return kCublasSuccess;
  };
  api.Matmul = [](LtHandle, LtMatmulDesc desc, const void* alpha, const void* a, LtMatrixLayout la,
                  const void* b, LtMatrixLayout lb, const void* beta, const void* c,
                  LtMatrixLayout lc, void* d, LtMatrixLayout ld, const LtAlgo* algo, void*,
                  size_t workspace, CuStream) {
    EXPECT_EQ(workspace, 4096u);
    if (counts.on_matmul) counts.on_matmul(algo->data[0]);
    const bool f64 = Of(desc).scale == kCudaR64F;
    auto scale = [f64](const void* v) {
      return f64 ? *static_cast<const double*>(v) : double{*static_cast<const float*>(v)};
    };
    const FakeCall call{Of(desc), scale(alpha), scale(beta), algo->data[0]};
    if (call.beta == 0) {
      EXPECT_EQ(c, d);
      EXPECT_EQ(lc, ld);
    }
    if (f64) {
      Multiply<double>(call, a, Of(la), b, Of(lb), c, Of(lc), d, Of(ld));
    } else {
      Multiply<float>(call, a, Of(la), b, Of(lb), c, Of(lc), d, Of(ld));
    }
    return kCublasSuccess;
  };
  return api;
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_NULL_CUDA_FAKE_CUBLASLT_H_
