// Reductions: independent vector accumulators, blocks that keep float sums accurate, and the trees
// that join them.
//
// Accumulators are stack slots (SROA makes them registers). A reduce whose combine rounds is
// blocked: after kBlockIterations iterations the accumulators are joined and pushed onto a cascade,
// slot j of which holds the join of 2^j blocks, as the bits of a binary counter; so the rounding
// error grows like log n. Short axes need neither. Lanes are joined last, in halves. All trees keep
// the order of operands, but lanes interleave elements: combine programs are commutative (argmax
// carries positions).
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "cpu_backend/emit_llvm_internal.h"
#include "ir/support/check.h"

namespace jitfuse::internal {
namespace {

constexpr int kCascadeLevels = 48;       // 2^48 blocks
constexpr int64_t kMaxPlainBlocks = 16;  // up to so many blocks are joined one after another
constexpr int64_t kMaxPlainChain = 2 * kBlockIterations;

// Whether joining rounds, so that the length of a chain of joins matters.
bool Rounds(const PlanReduce& reduce) {
  return std::any_of(
      reduce.combine.insts.begin(), reduce.combine.insts.end(), [](const ScalarInst& inst) {
        if (inst.op == ScalarOp::kArg || inst.op == ScalarOp::kConst || !IsFloat(inst.dtype))
          return false;
        return GetScalarOp(inst.op).max_ulp_f32 != 0;
      });
}

std::string Mask(const std::vector<int>& lanes) {
  std::string text = "<";
  for (size_t i = 0; i < lanes.size(); ++i)
    absl::StrAppend(&text, i == 0 ? "" : ", ", "i32 ", lanes[i]);
  return text + ">";
}

}  // namespace

using Values = std::vector<std::string>;

Values LlvmEmitter::LoadSlots(const Reduce& reduce, const Values& slots, int lanes) {
  Values values;
  for (size_t j = 0; j < slots.size(); ++j)
    values.push_back(
        text_.Value("load ", RegisterType(reduce.def->dtypes[j], lanes), ", ptr ", slots[j]));
  return values;
}

void LlvmEmitter::StoreSlots(const Reduce& reduce, const Values& values, const Values& slots,
                             int lanes) {
  for (size_t j = 0; j < slots.size(); ++j)
    text_.Line("store ", RegisterType(reduce.def->dtypes[j], lanes), " ", values[j], ", ptr ",
               slots[j]);
}

Values LlvmEmitter::Neutral(const Reduce& reduce, int lanes) const {
  Values values;
  for (size_t j = 0; j < reduce.def->dtypes.size(); ++j)
    values.push_back(ConstantOf(reduce.def->dtypes[j], reduce.def->init[j], lanes));
  return values;
}

Values LlvmEmitter::NewSlots(const PlanReduce& def, int lanes) {
  Values slots;
  for (DType dtype : def.dtypes)
    slots.push_back(text_.Entry("alloca ", RegisterType(dtype, lanes)));
  return slots;
}

// combine(a, b): a comes before b.
Values LlvmEmitter::Combine(const Reduce& reduce, const Values& a, const Values& b, int lanes) {
  Values args = a;
  args.insert(args.end(), b.begin(), b.end());
  return Run(reduce.combine, args, lanes);
}

void LlvmEmitter::BeginReduces(int s, const I64& width, const SizeExpr& outer) {
  reduces_.clear();
  cascade_ = false;
  const Stage& stage = plan_.stages[static_cast<size_t>(s)];
  int copies = PickCopies();
  Rest rest = PickRest(s, copies);
  int64_t step = int64_t{copies} * lanes_;
  int64_t chain = std::numeric_limits<int64_t>::max(), blocks = chain;  // where sizes are not known
  if (width.constant && outer.IsConstant()) {
    int64_t rest_chain = rest == Rest::kNone ? 0 : copies + (rest == Rest::kScalars ? lanes_ : 0);
    chain = outer.constant() * (*width.constant / step + rest_chain);
    blocks = outer.constant() * (*width.constant / (step * kBlockIterations) + 2);
  }
  for (const PlanReduce& def : stage.reduces)
    reduces_.push_back(MakeReduce(def, lanes_, copies, rest == Rest::kScalars, chain, blocks));
  CountBlocks();
}

LlvmEmitter::Reduce LlvmEmitter::MakeReduce(const PlanReduce& def, int lanes, int copies,
                                            bool has_single, int64_t chain, int64_t blocks) {
  Reduce reduce;
  reduce.def = &def;
  reduce.lanes = lanes;
  reduce.combine = ExpandDecomps(def.combine, {.fma = cpu_.fma});
  for (int c = 0; c < copies; ++c) reduce.slots.push_back(NewSlots(def, lanes));
  if (has_single) reduce.single = lanes == 1 ? reduce.slots[0] : NewSlots(def, 1);
  reduce.blocked = Rounds(def) && chain > kMaxPlainChain;
  if (reduce.blocked && blocks <= kMaxPlainBlocks) {
    reduce.total = NewSlots(def, lanes);
    StoreSlots(reduce, Neutral(reduce, lanes), reduce.total, lanes);
  } else if (reduce.blocked) {
    cascade_ = true;
    for (DType dtype : def.dtypes)
      reduce.levels.push_back(text_.Alloca(
          absl::StrCat("[", kCascadeLevels, " x ", RegisterType(dtype, lanes), "]"), 64));
  }
  if (!reduce.blocked) InitSlots(reduce);
  return reduce;
}

void LlvmEmitter::CountBlocks() {
  if (!cascade_) return;
  block_count_ = text_.Entry("alloca i64");
  text_.Line("store i64 0, ptr ", block_count_);
}

// Scans: the accumulators live in slots of one element, over all the stage's elements.
void LlvmEmitter::BeginScans() {
  if (scans_.empty() && !plan_.scans.empty()) {
    scans_.resize(plan_.scans.size());
    for (size_t i = 0; i < scans_.size(); ++i) {
      Scan& scan = scans_[i];
      scan.def.dtypes = plan_.scans[i].dtypes;
      scan.def.init = plan_.scans[i].init;
      scan.join.def = &scan.def;
      scan.join.combine = ExpandDecomps(plan_.scans[i].combine, {.fma = cpu_.fma});
      scan.slots = NewSlots(scan.def, 1);
    }
  }
  for (const Scan& scan : scans_) StoreSlots(scan.join, Neutral(scan.join, 1), scan.slots, 1);
}

std::string LlvmEmitter::ScanValue(int i, const Body& body) {
  Scan& scan = scans_[static_cast<size_t>(inst(i).scan)];
  if (inst(i).which == 0) {
    Values old = LoadSlots(scan.join, scan.slots, 1), in;
    for (size_t j = 0; j < old.size(); ++j) in.push_back(Operand(inst(i).in[j], 0, body));
    Values joined = Combine(scan.join, old, in, 1);
    StoreSlots(scan.join, joined, scan.slots, 1);
    scan.seen = plan_.scans[static_cast<size_t>(inst(i).scan)].exclusive ? old : joined;
  }
  return scan.seen[static_cast<size_t>(inst(i).which)];
}

void LlvmEmitter::InitSlots(const Reduce& reduce) {
  for (const Values& slots : reduce.slots)
    StoreSlots(reduce, Neutral(reduce, reduce.lanes), slots, reduce.lanes);
  if (reduce.lanes > 1) StoreSlots(reduce, Neutral(reduce, 1), reduce.single, 1);
}

bool LlvmEmitter::Blocked() const {
  return std::any_of(reduces_.begin(), reduces_.end(),
                     [](const Reduce& reduce) { return reduce.blocked; });
}

void LlvmEmitter::InitBlock() {
  for (const Reduce& reduce : reduces_) {
    if (reduce.blocked) InitSlots(reduce);
  }
}

void LlvmEmitter::Accumulate(const Body& body) {
  for (const Reduce& reduce : reduces_) {
    for (int c = 0; c < body.copies; ++c) {
      const Values& slots =
          body.lanes == lanes_ ? reduce.slots[static_cast<size_t>(c)] : reduce.single;
      Values old = LoadSlots(reduce, slots, body.lanes), in;
      for (int i : reduce.def->in) in.push_back(Operand(i, c, body));
      Values joined = Combine(reduce, old, in, body.lanes);
      if (body.masked) {
        for (size_t j = 0; j < joined.size(); ++j) {
          std::string type = RegisterType(reduce.def->dtypes[j], body.lanes);
          joined[j] = text_.Value("select ", RegisterType(DType::kBool, body.lanes), " ", body.mask,
                                  ", ", type, " ", joined[j], ", ", type, " ", old[j]);
        }
      }
      StoreSlots(reduce, joined, slots, body.lanes);
    }
  }
}

// The unrolled copies' accumulators joined as a tree, and the single elements' into lane 0.
Values LlvmEmitter::JoinCopies(const Reduce& reduce) {
  std::vector<Values> parts;
  for (const Values& slots : reduce.slots) parts.push_back(LoadSlots(reduce, slots, reduce.lanes));
  for (size_t width = 1; width < parts.size(); width *= 2) {
    for (size_t c = 0; c + width < parts.size(); c += 2 * width)
      parts[c] = Combine(reduce, parts[c], parts[c + width], reduce.lanes);
  }
  if (reduce.single.empty() || reduce.lanes == 1) return parts[0];
  Values single = LoadSlots(reduce, reduce.single, 1), padded = Neutral(reduce, reduce.lanes);
  for (size_t j = 0; j < single.size(); ++j) {
    DType dtype = reduce.def->dtypes[j];
    padded[j] = text_.Value("insertelement ", RegisterType(dtype, reduce.lanes), " ", padded[j],
                            ", ", RegisterType(dtype, 1), " ", single[j], ", i64 0");
  }
  return Combine(reduce, parts[0], padded, reduce.lanes);
}

void LlvmEmitter::FlushBlock() {
  for (const Reduce& reduce : reduces_) {
    if (!reduce.blocked) continue;
    Values block = JoinCopies(reduce);
    if (reduce.levels.empty()) {
      StoreSlots(
          reduce,
          Combine(reduce, LoadSlots(reduce, reduce.total, reduce.lanes), block, reduce.lanes),
          reduce.total, reduce.lanes);
    } else {
      PushBlock(reduce, block);
    }
  }
  if (!cascade_) return;
  std::string count = text_.Value("load i64, ptr ", block_count_);
  text_.Line("store i64 ", text_.Value("add i64 ", count, ", 1"), ", ptr ", block_count_);
}

Values LlvmEmitter::LevelAddresses(const Reduce& reduce, const std::string& level) {
  Values addresses;
  for (size_t j = 0; j < reduce.levels.size(); ++j) {
    addresses.push_back(text_.Value("getelementptr ",
                                    RegisterType(reduce.def->dtypes[j], reduce.lanes), ", ptr ",
                                    reduce.levels[j], ", i64 ", level));
  }
  return addresses;
}

// Adding one to a binary counter: while the bit of a level is set, that level's (earlier) value is
// joined in and the carry goes up.
void LlvmEmitter::PushBlock(const Reduce& reduce, const Values& block) {
  Values carry = NewSlots(*reduce.def, reduce.lanes);
  std::string level = text_.Entry("alloca i64"), bits = text_.Entry("alloca i64");
  StoreSlots(reduce, block, carry, reduce.lanes);
  text_.Line("store i64 0, ptr ", level);
  text_.Line("store i64 ", text_.Value("load i64, ptr ", block_count_), ", ptr ", bits);
  std::string test = text_.NewLabel("carry"), join = text_.NewLabel("join"),
              done = text_.NewLabel("settled");
  text_.Branch(test);
  text_.Label(test);
  std::string rest = text_.Value("load i64, ptr ", bits), at = text_.Value("load i64, ptr ", level);
  Values addresses = LevelAddresses(reduce, at);
  text_.BranchIf(text_.Value("trunc i64 ", rest, " to i1"), join, done);
  text_.Label(join);
  StoreSlots(reduce,
             Combine(reduce, LoadSlots(reduce, addresses, reduce.lanes),
                     LoadSlots(reduce, carry, reduce.lanes), reduce.lanes),
             carry, reduce.lanes);
  text_.Line("store i64 ", text_.Value("lshr i64 ", rest, ", 1"), ", ptr ", bits);
  text_.Line("store i64 ", text_.Value("add i64 ", at, ", 1"), ", ptr ", level);
  text_.Branch(test);
  text_.Label(done);
  StoreSlots(reduce, LoadSlots(reduce, carry, reduce.lanes), addresses, reduce.lanes);
}

// The join of all levels in use; higher levels hold earlier elements.
Values LlvmEmitter::JoinLevels(const Reduce& reduce) {
  Values sum = NewSlots(*reduce.def, reduce.lanes);
  StoreSlots(reduce, Neutral(reduce, reduce.lanes), sum, reduce.lanes);
  std::string count = text_.Value("load i64, ptr ", block_count_);
  LlvmText::Loop loop = text_.BeginLoop(0, kCascadeLevels, 1, "level");
  std::string used = text_.NewLabel("used"), skip = text_.NewLabel("skip");
  text_.BranchIf(
      text_.Value("trunc i64 ", text_.Value("lshr i64 ", count, ", ", loop.index.text), " to i1"),
      used, skip);
  text_.Label(used);
  Values level = LoadSlots(reduce, LevelAddresses(reduce, loop.index.text), reduce.lanes);
  StoreSlots(reduce, Combine(reduce, level, LoadSlots(reduce, sum, reduce.lanes), reduce.lanes),
             sum, reduce.lanes);
  text_.Branch(skip);
  text_.Label(skip);
  text_.EndLoop(loop);
  return LoadSlots(reduce, sum, reduce.lanes);
}

Values LlvmEmitter::JoinBlocks(const Reduce& reduce) {
  if (!reduce.blocked) return JoinCopies(reduce);
  return reduce.levels.empty() ? LoadSlots(reduce, reduce.total, reduce.lanes) : JoinLevels(reduce);
}

// Halves are joined until one lane is left.
Values LlvmEmitter::JoinLanes(const Reduce& reduce, Values values) {
  for (int width = reduce.lanes / 2; width >= 1; width /= 2) {
    Values low, high;
    for (size_t j = 0; j < values.size(); ++j) {
      std::string type = RegisterType(reduce.def->dtypes[j], 2 * width);
      for (int half = 0; half < 2; ++half) {
        std::vector<int> lanes;
        for (int i = 0; i < width; ++i) lanes.push_back(half * width + i);
        (half == 0 ? low : high)
            .push_back(width == 1
                           ? text_.Value("extractelement ", type, " ", values[j], ", i64 ", half)
                           : text_.Value("shufflevector ", type, " ", values[j], ", ", type,
                                         " poison, ", VectorOf("i32", width), " ", Mask(lanes)));
      }
    }
    values = Combine(reduce, low, high, width);
  }
  return values;
}

void LlvmEmitter::FinishReduces(int s) {
  for (size_t r = 0; r < reduces_.size(); ++r) {
    const Reduce& reduce = reduces_[r];
    Values results = JoinLanes(reduce, JoinBlocks(reduce));
    for (size_t j = 0; j < results.size(); ++j)
      results_[{s, static_cast<int>(r), static_cast<int>(j)}] = results[j];
  }
  reduces_.clear();
}

}  // namespace jitfuse::internal
