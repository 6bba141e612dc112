// Loads and stores. Along the vector axis an access is uniform (a scalar load, splatted),
// contiguous (stride 1), reversed (stride -1), or per lane.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cpu_backend/emit_llvm_internal.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

SizeExpr CoefficientOf(const Affine& affine, int axis) {
  for (const auto& [a, coef] : affine.coefs) {
    if (a == axis) return coef;
  }
  return 0;
}

}  // namespace

bool LlvmEmitter::DependsOnVector(const AccessMap& access) const {
  if (!CoefficientOf(access.linear, vector_axis_).Is(0)) return true;
  return std::any_of(access.terms.begin(), access.terms.end(), [&](const IndexTerm& term) {
    return !CoefficientOf(term.linear, vector_axis_).Is(0);
  });
}

LlvmEmitter::Along LlvmEmitter::Classify(const AccessMap& access) const {
  bool terms = std::any_of(access.terms.begin(), access.terms.end(), [&](const IndexTerm& term) {
    return !CoefficientOf(term.linear, vector_axis_).Is(0);
  });
  SizeExpr stride = CoefficientOf(access.linear, vector_axis_);
  if (terms) return Along::kPerLane;
  return stride.Is(0)    ? Along::kUniform
         : stride.Is(1)  ? Along::kContiguous
         : stride.Is(-1) ? Along::kReversed
                         : Along::kPerLane;
}

I64 LlvmEmitter::EvalOutsideVector(const Affine& affine) {
  I64 sum = Size(affine.constant);
  for (const auto& [axis, coef] : affine.coefs) {
    if (axis != vector_axis_)
      sum = text_.Add(sum, text_.Mul(coordinates_[static_cast<size_t>(axis)], Size(coef)));
  }
  return sum;
}

// The address at vector coordinate 0, without the terms that depend on the vector axis.
std::string LlvmEmitter::BaseAddress(const AccessMap& access) {
  I64 offset = EvalOutsideVector(access.linear);
  for (const IndexTerm& term : access.terms) {
    if (!CoefficientOf(term.linear, vector_axis_).Is(0)) continue;
    I64 v = text_.UDiv(EvalOutsideVector(term.linear), Size(term.div));
    if (!term.mod.Is(0)) v = text_.URem(v, Size(term.mod));
    offset = text_.Add(offset, text_.Mul(v, Size(term.coef)));
  }
  return Address(access, buffers_[static_cast<size_t>(access.param)], offset);
}

std::string LlvmEmitter::Address(const AccessMap& access, const std::string& base,
                                 const I64& offset) {
  if (offset.Is(0)) return base;
  return text_.Value("getelementptr ", MemoryType(param(access).dtype, 1), ", ptr ", base, ", i64 ",
                     offset.text);
}

const std::string& LlvmEmitter::BaseOf(const AccessMap& access) {
  auto [it, inserted] = bases_.try_emplace(&access);
  if (inserted) it->second = BaseAddress(access);
  return it->second;
}

// Element offsets from BaseOf, one i64 per lane. Lanes beyond the limit repeat the last element.
std::vector<std::string> LlvmEmitter::LaneOffsets(const AccessMap& access, const I64& index,
                                                  const Body& body) {
  std::string_view element = plan_.offset_bits == 32 ? "i32" : "i64";
  std::string type = VectorOf(element, body.lanes);
  auto narrow = [&](const I64& v) {
    if (v.constant) return IntConstant(element, *v.constant, body.lanes);
    return text_.Splat(element,
                       element == "i64" ? v.text : text_.Value("trunc i64 ", v.text, " to i32"),
                       body.lanes);
  };
  auto binary = [&](const char* op, const std::string& a, const std::string& b) {
    return text_.Value(op, " ", type, " ", a, ", ", b);
  };
  std::string position = narrow(index);
  if (body.lanes > 1) position = binary("add", position, Iota(element, body.lanes));
  if (body.masked) {
    std::string last = narrow(text_.Sub(body.limit, 1));
    std::string suffix = absl::StrCat("v", body.lanes, ToAbsl(element));
    position = text_.Value("call ", type, " @llvm.umin.", suffix, "(", type, " ", position, ", ",
                           type, " ", last, ")");
  }
  auto scaled = [&](const std::string& v, const SizeExpr& by) {
    return by.Is(1) ? v : binary("mul", v, narrow(Size(by)));
  };
  std::string sum;
  auto add = [&](const std::string& v) { sum = sum.empty() ? v : binary("add", sum, v); };
  SizeExpr stride = CoefficientOf(access.linear, vector_axis_);
  if (!stride.Is(0)) add(scaled(position, stride));
  for (const IndexTerm& term : access.terms) {
    SizeExpr coef = CoefficientOf(term.linear, vector_axis_);
    if (coef.Is(0)) continue;
    std::string v = scaled(position, coef);
    I64 rest = EvalOutsideVector(term.linear);
    if (!rest.Is(0)) v = binary("add", v, narrow(rest));
    if (!term.div.Is(1)) v = binary("udiv", v, narrow(Size(term.div)));
    if (!term.mod.Is(0)) v = binary("urem", v, narrow(Size(term.mod)));
    add(scaled(v, term.coef));
  }
  std::vector<std::string> offsets;
  for (int lane = 0; lane < body.lanes; ++lane) {
    std::string one =
        body.lanes == 1 ? sum : text_.Value("extractelement ", type, " ", sum, ", i64 ", lane);
    offsets.push_back(element == "i64" ? one : text_.Value("sext i32 ", one, " to i64"));
  }
  return offsets;
}

std::string LlvmEmitter::Reverse(std::string_view element, const std::string& value, int lanes) {
  std::vector<std::string> order;
  for (int i = 0; i < lanes; ++i) order.push_back(absl::StrCat("i32 ", lanes - 1 - i));
  std::string type = VectorOf(element, lanes);
  return text_.Value("shufflevector ", type, " ", value, ", ", type, " poison, ",
                     VectorOf("i32", lanes), " <", absl::StrJoin(order, ", "), ">");
}

// <lanes x i1>: lane < limit - index, for 0 < limit - index < 2^31.
std::string LlvmEmitter::MaskOf(const I64& index, const I64& limit, int lanes) {
  I64 left = text_.Sub(limit, index);
  std::string count =
      left.constant ? IntConstant("i32", *left.constant, lanes)
                    : text_.Splat("i32", text_.Value("trunc i64 ", left.text, " to i32"), lanes);
  return text_.Value("icmp ugt ", VectorOf("i32", lanes), " ", count, ", ", Iota("i32", lanes));
}

std::string LlvmEmitter::LoadScalarAt(const AccessMap& access) {
  DType dtype = param(access).dtype;
  return Decode(dtype,
                text_.Value("load ", MemoryType(dtype, 1), ", ptr ", BaseAddress(access),
                            ", align ", ItemSize(dtype)),
                1);
}

void LlvmEmitter::StoreScalarAt(const AccessMap& access, const std::string& value, DType from) {
  DType dtype = param(access).dtype;
  std::string memory = Encode(from, dtype, value, 1);
  text_.Line("store ", MemoryType(dtype, 1), " ", memory, ", ptr ", BaseAddress(access), ", align ",
             ItemSize(dtype));
}

std::string LlvmEmitter::LoadVector(const AccessMap& access, const I64& index, const Body& body) {
  DType dtype = param(access).dtype;
  int size = ItemSize(dtype), lanes = body.lanes;
  std::string type = MemoryType(dtype, lanes), element = MemoryType(dtype, 1),
              base = BaseOf(access);
  Along along = Classify(access);
  if (along == Along::kUniform) {  // a kept value
    std::string one = text_.Value("load ", element, ", ptr ", base, ", align ", size);
    return Decode(dtype, text_.Splat(element, one, lanes), lanes);
  }
  if (along == Along::kPerLane) {
    std::string vector = "poison";
    std::vector<std::string> offsets = LaneOffsets(access, index, body);
    for (int lane = 0; lane < lanes; ++lane) {
      std::string address = Address(access, base, I64::Named(offsets[static_cast<size_t>(lane)]));
      std::string one = text_.Value("load ", element, ", ptr ", address, ", align ", size);
      vector = lanes == 1 ? one
                          : text_.Value("insertelement ", type, " ", vector, ", ", element, " ",
                                        one, ", i64 ", lane);
    }
    return Decode(dtype, vector, lanes);
  }
  bool reversed = along == Along::kReversed;
  std::string address = Address(access, base, reversed ? text_.Sub(-(lanes - 1), index) : index);
  std::string vector;
  if (body.masked) {
    std::string mask = reversed ? Reverse("i1", body.mask, lanes) : body.mask;
    vector = text_.Value("call ", type, " @llvm.masked.load.", MemorySuffix(dtype, lanes),
                         ".p0(ptr ", address, ", i32 ", size, ", ", VectorOf("i1", lanes), " ",
                         mask, ", ", type, " zeroinitializer)");
  } else {
    vector = text_.Value("load ", type, ", ptr ", address, ", align ", size);
  }
  if (reversed && lanes > 1) vector = Reverse(element, vector, lanes);
  return Decode(dtype, vector, lanes);
}

void LlvmEmitter::StoreVector(const AccessMap& access, const std::string& value, DType from,
                              const I64& index, const Body& body) {
  DType dtype = param(access).dtype;
  int size = ItemSize(dtype), lanes = body.lanes;
  std::string type = MemoryType(dtype, lanes), element = MemoryType(dtype, 1),
              base = BaseOf(access);
  std::string vector = Encode(from, dtype, value, lanes);
  Along along = Classify(access);
  if (along == Along::kUniform || along == Along::kPerLane) {
    std::vector<std::string> offsets;
    if (along == Along::kPerLane) offsets = LaneOffsets(access, index, body);
    for (int lane = 0; lane < lanes; ++lane) {
      std::string one =
          lanes == 1 ? vector : text_.Value("extractelement ", type, " ", vector, ", i64 ", lane);
      std::string address =
          offsets.empty() ? base
                          : Address(access, base, I64::Named(offsets[static_cast<size_t>(lane)]));
      text_.Line("store ", element, " ", one, ", ptr ", address, ", align ", size);
    }
    return;
  }
  bool reversed = along == Along::kReversed;
  std::string address = Address(access, base, reversed ? text_.Sub(-(lanes - 1), index) : index);
  if (reversed && lanes > 1) vector = Reverse(element, vector, lanes);
  if (body.masked) {
    std::string mask = reversed ? Reverse("i1", body.mask, lanes) : body.mask;
    text_.Line("call void @llvm.masked.store.", MemorySuffix(dtype, lanes), ".p0(", type, " ",
               vector, ", ptr ", address, ", i32 ", size, ", ", VectorOf("i1", lanes), " ", mask,
               ")");
  } else {
    text_.Line("store ", type, " ", vector, ", ptr ", address, ", align ",
               body.streaming ? size * lanes : size,
               body.streaming ? ", !nontemporal !{i32 1}" : "");
  }
}

// Whether a masked body may do this access: AVX2 has masked moves of 4 and 8 bytes only (narrower
// ones would branch per lane).
bool LlvmEmitter::Maskable(const AccessMap& access, bool store) const {
  Along along = Classify(access);
  if (along == Along::kUniform) return !store;
  if (along == Along::kPerLane) return !store;  // loads clamp their lanes
  return cpu_.avx512 || (cpu_.avx2 && ItemSize(param(access).dtype) >= 4);
}

}  // namespace jitfuse::internal
