// Scalar bodies as trees: what the parser makes of a text, before types are known.
//
// In: body text (grammar at BuildScalarProgram). Out: a ScalarBody, parsed once per text and cached
// for the life of the process. Nodes are in post-order: a node's operands have smaller indices.
// Operators and calls are both kOp; poly() is already Horner's chain of fma. Names stay names:
// whether one is a statement's, an argument or an attribute is decided on instantiation. Must not
// know: argument types, attributes.
#ifndef JITFUSE_IR_SCALAR_PARSE_H_
#define JITFUSE_IR_SCALAR_PARSE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/scalar_expr.h"

namespace jitfuse::internal {

struct ScalarBody {
  enum class Kind : uint8_t {
    kNumber,        // number
    kName,          // name
    kLocal,         // operands[0]: the expression that a statement named
    kOp,            // op, operands
    kCast,          // cast_<dtype>(x)
    kCastToResult,  // cast(x)
    kBitcastInt,
    kBitcastFloat,
  };
  struct Node {
    Kind kind = Kind::kNumber;
    ScalarOp op = ScalarOp::kConst;
    DType dtype = DType::kF32;
    long double number = 0;
    std::string name;
    std::vector<int> operands;
    int column = 0;
  };
  std::string text;
  std::vector<Node> nodes;
  std::vector<int> results;
};

// The cached tree; the pointer stays valid. Errors name the text and the column.
absl::StatusOr<const ScalarBody*> ParseScalarBody(std::string_view text);

// "scalar body "...", column 7: message".
absl::Status ScalarBodyError(std::string_view text, int column, std::string_view message);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SCALAR_PARSE_H_
