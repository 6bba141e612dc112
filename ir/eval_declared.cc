// EvalDeclared: elements are registers.
#include <algorithm>
#include <cmath>

#include "ir/eval_walk.h"
#include "ir/scalar_value.h"

namespace jitfuse::internal {
namespace {

constexpr size_t kLanes = 256;

struct DeclaredMode {
  using Elem = ScalarValue;
  static constexpr BodyForm kForm = BodyForm::kDeclared;

  static Elem Load(DType, ScalarValue v) { return v; }
  static Elem Stored(DType dtype, Elem e) {
    return Is16BitFloat(dtype) ? ConvertScalar(DType::kF32, dtype, e) : e;
  }
  static void Run(const ScalarProgram& program, const Elem* args, Elem* out) {
    EvalScalarProgram(program, args, out);
  }

  static void Combine(const ReduceProgram& p, const Elem* b, Elem* a) {
    Elem args[8];
    const size_t k = p.acc.size();
    std::copy(a, a + k, args);
    std::copy(b, b + k, args + k);
    EvalScalarProgram(p.combine, args, a);
  }

  // Element i goes to lane i mod 256 in ascending order; then the upper half of the lanes is added
  // to the lower until one is left.
  static std::vector<Elem> Accumulate(const ReduceProgram& p, DType x,
                                      const std::vector<Elem>& elements, const Elem* earlier,
                                      size_t num_earlier) {
    const size_t k = p.acc.size(), n = elements.size();
    if (n == 0) return p.init;
    std::vector<Elem> lanes(std::min(n, kLanes) * k), lifted(k);
    for (size_t i = 0; i < n; ++i) {
      Elem args[4] = {ConvertScalar(x, p.x, elements[i]),
                      ScalarFromInt(DType::kI64, static_cast<int64_t>(i)),
                      {},
                      {}};
      std::copy(earlier, earlier + num_earlier, args + 2);
      if (i < kLanes) {
        EvalScalarProgram(p.lift, args, lanes.data() + i * k);
      } else {
        EvalScalarProgram(p.lift, args, lifted.data());
        Combine(p, lifted.data(), lanes.data() + i % kLanes * k);
      }
    }
    for (size_t half = kLanes / 2; half > 0; half /= 2) {
      for (size_t lane = 0; lane < half && (lane + half) * k < lanes.size(); ++lane) {
        Combine(p, lanes.data() + (lane + half) * k, lanes.data() + lane * k);
      }
    }
    lanes.resize(k);
    return lanes;
  }

  static void Reduce(const std::vector<ReduceProgram>& passes, const ReduceDef&, DType x,
                     const std::vector<Elem>& elements, Elem* results) {
    size_t done = 0;
    for (const ReduceProgram& p : passes) {
      std::vector<Elem> args = Accumulate(p, x, elements, results, done);
      args.push_back(ScalarFromInt(p.n, static_cast<int64_t>(elements.size())));
      EvalScalarProgram(p.finalize, args.data(), results + done);
      done += p.finalize.results.size();
    }
  }

  // From the neutral element, one element after the other.
  static void Scan(const ReduceProgram& p, bool exclusive, DType x,
                   const std::vector<Elem>& elements, Elem* results) {
    const size_t k = p.acc.size();
    std::vector<Elem> acc = p.init, lifted(k), args;
    for (size_t i = 0; i < elements.size(); ++i) {
      const Elem element[2] = {ConvertScalar(x, p.x, elements[i]),
                               ScalarFromInt(DType::kI64, static_cast<int64_t>(i))};
      EvalScalarProgram(p.lift, element, lifted.data());
      args = acc;
      Combine(p, lifted.data(), acc.data());
      if (!exclusive) args = acc;
      args.push_back(ScalarFromInt(p.n, static_cast<int64_t>(elements.size())));
      EvalScalarProgram(p.finalize, args.data(), results + i);
    }
  }

  static std::optional<int64_t> Integer(DType dtype, Elem e) {
    if (dtype == DType::kU64 && e.u > static_cast<uint64_t>(INT64_MAX)) return INT64_MAX;
    return e.i;
  }
  static Elem Unknown() { return {}; }
  static void Loosen(BehindProduct, DType, const std::vector<Elem>&, Elem*) {}

  static Elem AddInOrder(const ScalarProgram& add, DType, const std::vector<Elem>& terms) {
    Elem args[2] = {terms[0], {}};
    for (size_t i = 1; i < terms.size(); ++i) {
      args[1] = terms[i];
      EvalScalarProgram(add, args, &args[0]);
    }
    return args[0];
  }

  // Ascending k: fma for floats, wrapping for integers.
  static Elem Dot(DType dtype, const Elem* a, const Elem* b, int64_t k) {
    return OnType(dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_floating_point_v<T>) {
        T sum = 0;
        for (int64_t i = 0; i < k; ++i) sum = std::fma(Get<T>(a[i]), Get<T>(b[i]), sum);
        return Put<T>(sum);
      } else {
        uint64_t sum = 0;
        for (int64_t i = 0; i < k; ++i)
          sum += a[i].u * b[i].u;  // the low bits of the sign-extended product are the product's
        return Put<T>(static_cast<T>(sum));
      }
    });
  }
};

}  // namespace

absl::StatusOr<std::vector<HostTensor>> EvalDeclared(const Graph& graph,
                                                     absl::Span<const HostTensor> inputs) {
  JF_ASSIGN_OR_RETURN(auto tensors, GraphWalk<DeclaredMode>().Run(graph, inputs));
  std::vector<HostTensor> outputs;
  for (const EvalTensor<ScalarValue>& t : tensors) {
    HostTensor out = HostTensor::Make(t.dtype, t.dims);
    for (size_t i = 0; i < t.elems.size(); ++i) out.Set(static_cast<int64_t>(i), t.elems[i]);
    outputs.push_back(std::move(out));
  }
  return outputs;
}

}  // namespace jitfuse::internal
