// Loads and stores. Along the vector axis an access is uniform (a scalar load, splatted),
// contiguous (stride 1), reversed (stride -1), or per lane.
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/plan/access_map.h"
#include "cpu_backend/emit_llvm_internal.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
bool LlvmEmitter::DependsOnVector(const AccessMap& access) const {
  return UsesAxis(access, vector_axis_);
}

LlvmEmitter::Along LlvmEmitter::Classify(const AccessMap& access, int load) const {
  bool by_lane = load >= 0 && access.indirect && in_vector_[static_cast<size_t>(inst(load).in[0])];
  if (by_lane || TermsUseAxis(access, vector_axis_)) return Along::kPerLane;
  SizeExpr stride = CoefOf(access.linear, vector_axis_);
  return stride.Is(0)    ? Along::kUniform
         : stride.Is(1)  ? Along::kContiguous
         : stride.Is(-1) ? Along::kReversed
                         : Along::kPerLane;
}

// The position that an index means: counted from the end if negative, moved into 0..extent-1.
std::string LlvmEmitter::InRange(const std::string& index, const SizeExpr& extent, int lanes) {
  std::string type = VectorOf("i64", lanes);
  auto splat = [&](const I64& v) {
    return v.constant ? IntConstant("i64", *v.constant, lanes) : text_.Splat("i64", v.text, lanes);
  };
  std::string zero = IntConstant("i64", 0, lanes);
  I64 size = Size(extent);
  auto choose = [&](const char* compare, const std::string& a, const std::string& b,
                    const std::string& then, const std::string& otherwise) {
    std::string condition = text_.Value("icmp ", compare, " ", type, " ", a, ", ", b);
    return text_.Value("select ", VectorOf("i1", lanes), " ", condition, ", ", type, " ", then,
                       ", ", type, " ", otherwise);
  };
  std::string from_end = text_.Value("add ", type, " ", index, ", ", splat(size));
  std::string at = choose("slt", index, zero, from_end, index);
  at = choose("slt", at, zero, zero, at);
  std::string last = splat(text_.Sub(size, 1));
  return choose("sgt", at, last, last, at);
}

LlvmEmitter::Position LlvmEmitter::PositionOf(int load) {
  Position at;
  const AccessMap& access = access_of(load);
  if (!access.indirect) return at;
  int index = inst(load).in[0];
  at.by_lane = in_vector_[static_cast<size_t>(index)];
  if (!at.by_lane) at.one = I64::Named(InRange(Scalar(index), *access.indirect, 1));
  return at;
}

LlvmEmitter::Position LlvmEmitter::PositionOf(int load, int copy, const Body& body) {
  Position at = PositionOf(load);
  if (at.by_lane)
    at.lanes =
        InRange(Operand(inst(load).in[0], copy, body), *access_of(load).indirect, body.lanes);
  return at;
}

bool LlvmEmitter::InVector(const Affine& affine, const Position& at) const {
  return !CoefOf(affine, vector_axis_).Is(0) ||
         (at.by_lane && !CoefOf(affine, kIndirectAxis).Is(0));
}

I64 LlvmEmitter::EvalOutsideVector(const Affine& affine, const Position& at) {
  I64 sum = Size(affine.constant);
  for (const auto& [axis, coef] : affine.coefs) {
    if (axis == vector_axis_ || (axis == kIndirectAxis && at.by_lane)) continue;
    const I64& v = axis == kIndirectAxis ? at.one : coordinates_[static_cast<size_t>(axis)];
    sum = text_.Add(sum, text_.Mul(v, Size(coef)));
  }
  return sum;
}

// The sum without what depends on the lane.
I64 LlvmEmitter::EvalOutsideVector(const Affine& linear, const std::vector<IndexTerm>& terms,
                                   const Position& at) {
  I64 sum = EvalOutsideVector(linear, at);
  for (const IndexTerm& term : terms) {
    if (InVector(term.linear, at)) continue;
    I64 v = text_.UDiv(EvalOutsideVector(term.linear, at), Size(term.div));
    if (!term.mod.Is(0)) v = text_.URem(v, Size(term.mod));
    sum = text_.Add(sum, text_.Mul(v, Size(term.coef)));
  }
  return sum;
}

// The address at vector coordinate 0, without the terms that depend on the lane.
std::string LlvmEmitter::BaseAddress(const AccessMap& access, const Position& at) {
  return Address(access, buffers_[static_cast<size_t>(access.param)],
                 EvalOutsideVector(access.linear, access.terms, at));
}

std::string LlvmEmitter::Address(const AccessMap& access, const std::string& base,
                                 const I64& offset) {
  if (offset.Is(0)) return base;
  return text_.Value("getelementptr ", MemoryType(param(access).dtype, 1), ", ptr ", base, ", i64 ",
                     offset.text);
}

const std::string& LlvmEmitter::BaseOf(const AccessMap& access, int load) {
  int position = load >= 0 ? inst(load).in[0] : -1;
  auto [it, inserted] = bases_.try_emplace({&access, position});
  if (inserted) it->second = BaseAddress(access, load >= 0 ? PositionOf(load) : Position{});
  return it->second;
}

// One number per lane, in the width of offsets. Lanes beyond the limit repeat the last element.
std::string LlvmEmitter::LaneSum(const Affine& linear, const std::vector<IndexTerm>& terms,
                                 const Position& at, const I64& index, const Body& body) {
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
  std::string column, position;
  auto along = [&] {  // the vector axis' coordinates
    if (!column.empty()) return column;
    column = narrow(index);
    if (body.lanes > 1) column = binary("add", column, Iota(element, body.lanes));
    if (body.masked) {
      std::string last = narrow(text_.Sub(body.limit, 1));
      std::string suffix = absl::StrCat("v", body.lanes, ToAbsl(element));
      column = text_.Value("call ", type, " @llvm.umin.", suffix, "(", type, " ", column, ", ",
                           type, " ", last, ")");
    }
    return column;
  };
  auto gathered = [&] {
    if (position.empty()) {
      position = element == "i64" ? at.lanes
                                  : text_.Value("trunc ", VectorOf("i64", body.lanes), " ",
                                                at.lanes, " to ", type);
    }
    return position;
  };
  auto scaled = [&](const std::string& v, const SizeExpr& by) {
    return by.Is(1) ? v : binary("mul", v, narrow(Size(by)));
  };
  auto plus = [&](const std::string& a, const std::string& b) {
    return a.empty() ? b : binary("add", a, b);
  };
  auto lanes_of = [&](const Affine& affine) {
    std::string sum;
    SizeExpr stride = CoefOf(affine, vector_axis_), by_lane = CoefOf(affine, kIndirectAxis);
    if (!stride.Is(0)) sum = scaled(along(), stride);
    if (at.by_lane && !by_lane.Is(0)) sum = plus(sum, scaled(gathered(), by_lane));
    return sum;
  };
  std::string sum = lanes_of(linear);
  for (const IndexTerm& term : terms) {
    if (!InVector(term.linear, at)) continue;
    std::string v = lanes_of(term.linear);
    I64 rest = EvalOutsideVector(term.linear, at);
    if (!rest.Is(0)) v = binary("add", v, narrow(rest));
    if (!term.div.Is(1)) v = binary("udiv", v, narrow(Size(term.div)));
    if (!term.mod.Is(0)) v = binary("urem", v, narrow(Size(term.mod)));
    sum = plus(sum, scaled(v, term.coef));
  }
  return sum;
}

// Element offsets from BaseOf, one i64 per lane.
std::vector<std::string> LlvmEmitter::LaneOffsets(const AccessMap& access, const Position& at,
                                                  const I64& index, const Body& body) {
  std::string_view element = plan_.offset_bits == 32 ? "i32" : "i64";
  std::string type = VectorOf(element, body.lanes);
  std::string sum = LaneSum(access.linear, access.terms, at, index, body);
  std::vector<std::string> offsets;
  for (int lane = 0; lane < body.lanes; ++lane) {
    std::string one =
        body.lanes == 1 ? sum : text_.Value("extractelement ", type, " ", sum, ", i64 ", lane);
    offsets.push_back(element == "i64" ? one : text_.Value("sext i32 ", one, " to i64"));
  }
  return offsets;
}

LlvmEmitter::Condition LlvmEmitter::ConditionOf(const AccessMap& access, const Position& at,
                                                const I64& index, const Body& body) {
  std::string_view element = plan_.offset_bits == 32 ? "i32" : "i64";
  Condition all;
  for (const AccessMask& m : access.masks) {
    // Below zero is beyond every bound, as an unsigned number.
    I64 rest = text_.Sub(EvalOutsideVector(m.linear, m.terms, at), Size(m.lo));
    I64 width = Size(m.hi - m.lo);
    std::string lanes = LaneSum(m.linear, m.terms, at, index, body);
    if (lanes.empty()) {
      std::string holds = text_.Value("icmp ult i64 ", rest.text, ", ", width.text);
      all.one = all.one.empty() ? holds : text_.Value("and i1 ", all.one, ", ", holds);
      continue;
    }
    std::string type = VectorOf(element, body.lanes), bools = VectorOf("i1", body.lanes);
    auto splat = [&](const I64& v) {
      if (v.constant) return IntConstant(element, *v.constant, body.lanes);
      return text_.Splat(element,
                         element == "i64" ? v.text : text_.Value("trunc i64 ", v.text, " to i32"),
                         body.lanes);
    };
    std::string v = text_.Value("add ", type, " ", lanes, ", ", splat(rest));
    std::string holds = text_.Value("icmp ult ", type, " ", v, ", ", splat(width));
    all.lanes = all.lanes.empty() ? holds : text_.Value("and ", bools, " ", all.lanes, ", ", holds);
  }
  return all;
}

std::string LlvmEmitter::Splatted(const Condition& condition, int lanes) {
  if (condition.one.empty()) return condition.lanes;
  std::string one = lanes == 1 ? condition.one : text_.Splat("i1", condition.one, lanes);
  if (condition.lanes.empty()) return one;
  return text_.Value("and ", VectorOf("i1", lanes), " ", one, ", ", condition.lanes);
}

// `address`, or that of a zero where the condition fails.
std::string LlvmEmitter::SafeAddress(const std::string& condition, const std::string& address) {
  if (zeros_.empty()) {
    zeros_ = text_.Alloca("[2 x i64]", 16);
    text_.EntryLine("store [2 x i64] zeroinitializer, ptr ", zeros_, ", align 16");
  }
  return text_.Value("select i1 ", condition, ", ptr ", address, ", ptr ", zeros_);
}

// One element per lane; `condition`: empty, or which of them exist.
std::string LlvmEmitter::LoadLanes(const AccessMap& access,
                                   const std::vector<std::string>& addresses,
                                   const std::string& condition) {
  DType dtype = param(access).dtype;
  auto lanes = static_cast<int>(addresses.size());
  std::string type = MemoryType(dtype, lanes), element = MemoryType(dtype, 1), vector = "poison";
  for (int lane = 0; lane < lanes; ++lane) {
    std::string address = addresses[static_cast<size_t>(lane)];
    if (!condition.empty()) {
      std::string holds = lanes == 1 ? condition
                                     : text_.Value("extractelement ", VectorOf("i1", lanes), " ",
                                                   condition, ", i64 ", lane);
      address = SafeAddress(holds, address);
    }
    std::string one = text_.Value("load ", element, ", ptr ", address, ", align ", ItemSize(dtype));
    vector = lanes == 1 ? one
                        : text_.Value("insertelement ", type, " ", vector, ", ", element, " ", one,
                                      ", i64 ", lane);
  }
  return vector;
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

std::string LlvmEmitter::LoadScalarAt(int load) {
  const AccessMap& access = access_of(load);
  Position at = PositionOf(load);
  std::string condition = ConditionOf(access, at, 0, {}).one;
  return Decode(param(access).dtype, LoadLanes(access, {BaseAddress(access, at)}, condition), 1);
}

void LlvmEmitter::StoreScalarAt(const AccessMap& access, const std::string& value, DType from) {
  DType dtype = param(access).dtype;
  std::string memory = Encode(from, dtype, value, 1);
  text_.Line("store ", MemoryType(dtype, 1), " ", memory, ", ptr ", BaseAddress(access, {}),
             ", align ", ItemSize(dtype));
}

std::string LlvmEmitter::LoadVector(int load, int copy, const I64& index, const Body& body) {
  const AccessMap& access = access_of(load);
  DType dtype = param(access).dtype;
  int size = ItemSize(dtype), lanes = body.lanes;
  std::string type = MemoryType(dtype, lanes), element = MemoryType(dtype, 1),
              base = BaseOf(access, load);
  Along along = Classify(access, load);
  Position at = access.indirect ? PositionOf(load, copy, body) : Position{};
  Condition condition = ConditionOf(access, at, index, body);
  if (along == Along::kUniform && condition.lanes.empty()) {
    std::string one = LoadLanes(access, {base}, condition.one);
    return Decode(dtype, text_.Splat(element, one, lanes), lanes);
  }
  std::string holds = Splatted(condition, lanes);
  bool reversed = along == Along::kReversed;
  bool one_by_one = along == Along::kUniform || along == Along::kPerLane;
  if (one_by_one || (lanes == 1 && !holds.empty())) {
    std::vector<std::string> addresses(static_cast<size_t>(lanes), base);
    if (along != Along::kUniform) {
      std::vector<std::string> offsets = LaneOffsets(access, at, index, body);
      for (size_t lane = 0; lane < offsets.size(); ++lane)
        addresses[lane] = Address(access, base, I64::Named(offsets[lane]));
    }
    return Decode(dtype, LoadLanes(access, addresses, holds), lanes);
  }
  std::string address = Address(access, base, reversed ? text_.Sub(-(lanes - 1), index) : index);
  std::string vector, mask = body.masked ? body.mask : holds;
  if (body.masked && !holds.empty())
    mask = text_.Value("and ", VectorOf("i1", lanes), " ", body.mask, ", ", holds);
  if (!mask.empty()) {
    if (reversed) mask = Reverse("i1", mask, lanes);
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
  const Along along = Classify(access);
  const std::string vector = Encode(from, param(access).dtype, value, body.lanes);
  const std::vector<std::string> addresses = StoreAddresses(access, along, index, body);
  // All that is needed is made before branches, since what is made once is used behind them too.
  Condition condition = ConditionOf(access, {}, index, body);
  if (body.lanes == 1) condition = {Splatted(condition, 1), ""};
  const std::string lanes = condition.lanes.empty() ? "" : Splatted(condition, body.lanes);
  When(lanes.empty() ? condition.one : "", [&] {
    if (along == Along::kContiguous || along == Along::kReversed) {
      StoreRun(access, vector, addresses[0], along == Along::kReversed, lanes, body);
    } else {
      StoreLanes(access, vector, addresses, lanes);
    }
  });
}

// What `then` writes, where `condition` (an i1; empty: always) holds.
void LlvmEmitter::When(const std::string& condition, absl::FunctionRef<void()> then) {
  if (condition.empty()) return then();
  const std::string inside = text_.NewLabel("inside"), joined = text_.NewLabel("joined");
  text_.BranchIf(condition, inside, joined);
  text_.Label(inside);
  then();
  text_.Branch(joined);
  text_.Label(joined);
}

// `holds`: of the access's masks, by lane; empty: everywhere.
void LlvmEmitter::StoreRun(const AccessMap& access, std::string vector, const std::string& address,
                           bool reversed, const std::string& holds, const Body& body) {
  const DType dtype = param(access).dtype;
  const int size = ItemSize(dtype), lanes = body.lanes;
  const std::string type = MemoryType(dtype, lanes), bools = VectorOf("i1", lanes);
  std::string mask = body.masked ? body.mask : holds;
  if (body.masked && !holds.empty()) mask = text_.Value("and ", bools, " ", body.mask, ", ", holds);
  if (reversed && lanes > 1) {
    vector = Reverse(MemoryType(dtype, 1), vector, lanes);
    if (!mask.empty()) mask = Reverse("i1", mask, lanes);
  }
  if (!mask.empty()) {
    text_.Line("call void @llvm.masked.store.", MemorySuffix(dtype, lanes), ".p0(", type, " ",
               vector, ", ptr ", address, ", i32 ", size, ", ", bools, " ", mask, ")");
  } else {
    text_.Line("store ", type, " ", vector, ", ptr ", address, ", align ",
               body.streaming ? size * lanes : size,
               body.streaming ? ", !nontemporal !{i32 1}" : "");
  }
}

void LlvmEmitter::StoreLanes(const AccessMap& access, const std::string& vector,
                             const std::vector<std::string>& addresses, const std::string& holds) {
  const DType dtype = param(access).dtype;
  const auto lanes = static_cast<int>(addresses.size());
  const std::string type = MemoryType(dtype, lanes);
  auto lane_of = [&](const std::string& of, const std::string& v, int lane) {
    return lanes == 1 ? v : text_.Value("extractelement ", of, " ", v, ", i64 ", lane);
  };
  for (int lane = 0; lane < lanes; ++lane) {
    const std::string condition = holds.empty() ? "" : lane_of(VectorOf("i1", lanes), holds, lane);
    const std::string one = lane_of(type, vector, lane);
    When(condition, [&] {
      text_.Line("store ", MemoryType(dtype, 1), " ", one, ", ptr ",
                 addresses[static_cast<size_t>(lane)], ", align ", ItemSize(dtype));
    });
  }
}

// One address for a run of elements, else one for each lane.
std::vector<std::string> LlvmEmitter::StoreAddresses(const AccessMap& access, Along along,
                                                     const I64& index, const Body& body) {
  const std::string base = BaseOf(access);
  if (along == Along::kContiguous) return {Address(access, base, index)};
  if (along == Along::kReversed)
    return {Address(access, base, text_.Sub(-(body.lanes - 1), index))};
  if (along == Along::kUniform)
    return std::vector<std::string>(static_cast<size_t>(body.lanes), base);
  std::vector<std::string> out;
  for (const std::string& offset : LaneOffsets(access, {}, index, body))
    out.push_back(Address(access, base, I64::Named(offset)));
  return out;
}
// Whether a masked body may do this access: AVX2 has masked moves of 4 and 8 bytes only (narrower
// ones would branch per lane).
bool LlvmEmitter::Maskable(const AccessMap& access, bool store, int load) const {
  Along along = Classify(access, load);
  if (along == Along::kUniform) return !store;
  if (along == Along::kPerLane) return !store;  // loads clamp their lanes
  return cpu_.avx512 || (cpu_.avx2 && ItemSize(param(access).dtype) >= 4);
}

}  // namespace jitfuse::internal
