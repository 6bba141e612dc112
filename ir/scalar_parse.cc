// Recursive descent over body texts. Bodies come from tables, so they are short; nesting is limited
// all the same.
#include "ir/scalar_parse.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "absl/strings/match.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

using Kind = ScalarBody::Kind;

constexpr int kMaxDepth = 200;

struct BinaryOperator {
  std::string_view spelling;
  int level;
  ScalarOp op;
};
// Longer spellings first; a higher level binds tighter.
constexpr BinaryOperator kBinary[] = {
    {"||", 1, ScalarOp::kOr}, {"&&", 2, ScalarOp::kAnd}, {"==", 6, ScalarOp::kEq},
    {"!=", 6, ScalarOp::kNe}, {"<=", 7, ScalarOp::kLe},  {">=", 7, ScalarOp::kGe},
    {"|", 3, ScalarOp::kOr},  {"^", 4, ScalarOp::kXor},  {"&", 5, ScalarOp::kAnd},
    {"<", 7, ScalarOp::kLt},  {">", 7, ScalarOp::kGt},   {"+", 8, ScalarOp::kAdd},
    {"-", 8, ScalarOp::kSub}, {"*", 9, ScalarOp::kMul},  {"/", 9, ScalarOp::kDiv},
};

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  explicit Parser(std::string_view text) { body_.text = text; }

  absl::StatusOr<ScalarBody> Parse() {
    JF_RETURN_IF_ERROR(Statements());
    if (Eat('{')) {
      do {
        JF_ASSIGN_OR_RETURN(int result, Expression());
        body_.results.push_back(result);
      } while (Eat(','));
      if (!Eat('}')) return Error("expected ',' or '}'");
    } else {
      JF_ASSIGN_OR_RETURN(int result, Expression());
      body_.results.push_back(result);
    }
    SkipSpace();
    if (at_ < Text().size()) return Error("expected the end");
    return std::move(body_);
  }

 private:
  const std::string& Text() const { return body_.text; }
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < Text().size() ? Text()[at_ + ahead] : '\0';
  }
  absl::Status Error(std::string_view message) const {
    return ScalarBodyError(Text(), static_cast<int>(at_) + 1, message);
  }

  void SkipSpace() {
    while (Peek() == ' ' || Peek() == '\n') ++at_;
  }

  bool Eat(char c) {
    SkipSpace();
    if (Peek() != c) return false;
    ++at_;
    return true;
  }

  std::string Name() {
    SkipSpace();
    size_t begin = at_;
    if (IsNameStart(Peek())) {
      while (IsNameStart(Peek()) || IsDigit(Peek())) ++at_;
    }
    return Text().substr(begin, at_ - begin);
  }

  int Push(ScalarBody::Node node) {
    node.column = static_cast<int>(at_) + 1;
    body_.nodes.push_back(std::move(node));
    return static_cast<int>(body_.nodes.size()) - 1;
  }

  int PushOp(ScalarOp op, std::vector<int> operands) {
    ScalarBody::Node node;
    node.kind = Kind::kOp;
    node.op = op;
    node.operands = std::move(operands);
    return Push(std::move(node));
  }

  absl::Status Statements() {
    while (true) {
      size_t begin = (SkipSpace(), at_);
      std::string name = Name();
      if (name.empty() || !Eat('=') || Peek() == '=') {
        at_ = begin;
        return absl::OkStatus();
      }
      if (locals_.count(name) != 0) return Error("this name has a value already");
      JF_ASSIGN_OR_RETURN(int value, Expression());
      if (!Eat(';')) return Error("expected ';'");
      locals_[name] = value;
    }
  }

  absl::StatusOr<int> Expression() {
    if (++depth_ > kMaxDepth) return Error("nested too deeply");
    JF_ASSIGN_OR_RETURN(int value, Binary(1));
    if (Eat('?')) {
      JF_ASSIGN_OR_RETURN(int yes, Expression());
      if (!Eat(':')) return Error("expected ':'");
      JF_ASSIGN_OR_RETURN(int no, Expression());
      value = PushOp(ScalarOp::kSelect, {value, yes, no});
    }
    --depth_;
    return value;
  }

  const BinaryOperator* PeekBinary() {
    SkipSpace();
    for (const BinaryOperator& candidate : kBinary) {
      if (Text().compare(at_, candidate.spelling.size(), candidate.spelling) == 0)
        return &candidate;
    }
    return nullptr;
  }

  absl::StatusOr<int> Binary(int level) {
    JF_ASSIGN_OR_RETURN(int left, Unary());
    while (const BinaryOperator* found = PeekBinary()) {
      if (found->level < level) break;
      at_ += found->spelling.size();
      JF_ASSIGN_OR_RETURN(int right, Binary(found->level + 1));
      left = PushOp(found->op, {left, right});
    }
    return left;
  }

  absl::StatusOr<int> Unary() {
    if (++depth_ > kMaxDepth) return Error("nested too deeply");
    absl::StatusOr<int> value;
    if (Eat('-')) {
      value = Unary();
      if (value.ok()) value = PushOp(ScalarOp::kNeg, {*value});
    } else if (Eat('!') || Eat('~')) {
      value = Unary();
      if (value.ok()) value = PushOp(ScalarOp::kNot, {*value});
    } else {
      value = Primary();
    }
    --depth_;
    return value;
  }

  absl::StatusOr<int> Primary() {
    if (Eat('(')) {
      JF_ASSIGN_OR_RETURN(int value, Expression());
      if (!Eat(')')) return Error("expected ')'");
      return value;
    }
    if (IsDigit(Peek()) || (Peek() == '.' && IsDigit(Peek(1)))) return Number();
    std::string name = Name();
    if (name.empty()) return Error("expected a value");
    if (Eat('(')) return Call(name);
    ScalarBody::Node node;
    if (auto local = locals_.find(name); local != locals_.end()) {
      node.kind = Kind::kLocal;
      node.operands = {local->second};
    } else {
      node.kind = Kind::kName;
      node.name = std::move(name);
    }
    return Push(std::move(node));
  }

  // Decimal and hex floats are doubles (as attributes are); integers keep 64 bits.
  absl::StatusOr<int> Number() {
    const char* begin = Text().c_str() + at_;
    char* float_end;
    char* int_end;
    ScalarBody::Node node;
    node.number = std::strtod(begin, &float_end);
    uint64_t whole = std::strtoull(begin, &int_end, 0);
    if (int_end >= float_end) node.number = static_cast<long double>(whole);
    at_ += static_cast<size_t>(float_end - begin);
    return Push(std::move(node));
  }

  absl::StatusOr<std::vector<int>> Arguments() {
    std::vector<int> args;
    do {
      JF_ASSIGN_OR_RETURN(int arg, Expression());
      args.push_back(arg);
    } while (Eat(','));
    if (!Eat(')')) return Error("expected ',' or ')'");
    return args;
  }

  absl::StatusOr<int> Call(const std::string& name) {
    JF_ASSIGN_OR_RETURN(std::vector<int> args, Arguments());
    if (name == "poly") return Polynomial(args);
    if (auto op = FindScalarOp(name);
        op.has_value() && *op != ScalarOp::kConvert && *op != ScalarOp::kBitcast) {
      if (GetScalarOp(*op).arity != static_cast<int>(args.size()))
        return Error(absl::StrCat("wrong number of arguments for ", name));
      return PushOp(*op, std::move(args));
    }
    ScalarBody::Node node;
    if (name == "cast") {
      node.kind = Kind::kCastToResult;
    } else if (name == "bitcast_int") {
      node.kind = Kind::kBitcastInt;
    } else if (name == "bitcast_float") {
      node.kind = Kind::kBitcastFloat;
    } else if (auto dtype = CastTarget(name)) {
      node.kind = Kind::kCast;
      node.dtype = *dtype;
    } else {
      return Error(absl::StrCat("there is no primitive named ", name));
    }
    if (args.size() != 1) return Error(absl::StrCat("wrong number of arguments for ", name));
    node.operands = std::move(args);
    return Push(std::move(node));
  }

  static std::optional<DType> CastTarget(std::string_view name) {
    constexpr std::string_view kPrefix = "cast_";
    if (name.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
    return ParseDType(name.substr(kPrefix.size()));
  }

  absl::StatusOr<int> Polynomial(const std::vector<int>& args) {
    if (args.size() < 2) return Error("poly needs a variable and coefficients");
    int value = args.back();
    for (size_t i = args.size() - 2; i > 0; --i)
      value = PushOp(ScalarOp::kFma, {value, args[0], args[i]});
    return value;
  }

  ScalarBody body_;
  size_t at_ = 0;
  int depth_ = 0;
  std::map<std::string, int> locals_;
};

}  // namespace

absl::Status ScalarBodyError(std::string_view text, int column, std::string_view message) {
  return InternalError("scalar body \"", ToAbsl(text), "\", column ", column, ": ",
                       ToAbsl(message));
}

absl::StatusOr<const ScalarBody*> ParseScalarBody(std::string_view text) {
  static auto* cache =
      new std::map<std::string, std::unique_ptr<const absl::StatusOr<ScalarBody>>, std::less<>>;
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kLibraries));
  auto found = cache->find(text);
  if (found == cache->end()) {
    auto parsed = std::make_unique<const absl::StatusOr<ScalarBody>>(Parser(text).Parse());
    found = cache->emplace(std::string(text), std::move(parsed)).first;
  }
  if (!found->second->ok()) return found->second->status();
  return &found->second->value();
}

}  // namespace jitfuse::internal
