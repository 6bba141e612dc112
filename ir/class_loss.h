// What the losses of classes and their gradients share: where each row's target stands, and whether
// it counts.
//
// In: a Calc of nll_loss or cross_entropy: x with a class axis, targets of its other dims, perhaps
// a weight for each class. Out: values of the shape of x (Hot, Weights) or with the class axis of
// size 1 (rows). The class of a target is compared with the position along the class axis, so that
// no gather is needed and a row is read once. Must not know: the loss of a row.
#ifndef JITFUSE_IR_CLASS_LOSS_H_
#define JITFUSE_IR_CLASS_LOSS_H_

#include "ir/expand_kit.h"

namespace jitfuse::internal {

class ClassRows {
 public:
  ClassRows(Calc* c, const Graph& graph);

  // Each row's element at its target.
  Value Pick(Value x) { return SumRow(c_->Where(hot_, x, c_->Number(0))); }
  Value SumRow(Value x) { return c_->Sum(x, {axis_}, true); }
  Value Weights() { return c_->Along(c_->In(2), static_cast<size_t>(axis_), dims_.size()); }
  Value NumClasses(Value x) { return c_->Count(x, {axis_}, true); }
  // 1 at each row's target, else 0.
  Value Hot() { return c_->Cast(hot_, c_->compute()); }

  // `loss` and `weight` of each row, weight {} for 1 -> the result.
  Expansion Finish(Value loss, Value weight);
  // The cotangent of the result -> that of each row's loss: 0 where the row does not count.
  Value RowCotangent(Value g, Value weight);

 private:
  // What a mean divides by.
  Value Total(Value weight);

  Calc* c_;
  int64_t axis_;
  Shape dims_;
  Value used_, valid_, hot_;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_CLASS_LOSS_H_
