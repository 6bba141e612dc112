// The enumerators of Op, one per row of ir/ops.inc.
//
// Apart from op_def.h so that a new row recompiles only the files that name ops one by one: the
// table, the builder, expansion, rewrite rules. All other code asks a row's kind and columns.
#ifndef JITFUSE_IR_OP_ENUM_H_
#define JITFUSE_IR_OP_ENUM_H_

#include <cstdint>

namespace jitfuse::internal {

enum class Op : uint16_t {
#define JF_OP(Name, ...) k##Name,
#include "ir/ops.inc"
#ifdef JF_SCRATCH_OPS  // tests/add_op
#include JF_SCRATCH_OPS
#endif
#undef JF_OP
  kCount,
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_OP_ENUM_H_
