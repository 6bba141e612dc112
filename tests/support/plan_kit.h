// Builds small kernel plans by hand, for tests of emitters and back ends that should not depend on
// the planner.
//
// A kit holds a plan under construction; axes are given first, then parameters, instructions and
// stores, each returning its number. Elementwise instructions go to the last stage, row
// instructions where the caller puts them. Then Flat(...), Row(...) or Column(...) sets a schedule.
#ifndef JITFUSE_TESTS_SUPPORT_PLAN_KIT_H_
#define JITFUSE_TESTS_SUPPORT_PLAN_KIT_H_

#include <string>
#include <string_view>
#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace jitfuse::internal {

class PlanKit {
 public:
  PlanKit(std::string name, Shape parallel, Shape inner = {});

  int Input(DType dtype, int align = 16);
  int Output(DType dtype, int align = 16);
  int Scalar(DType dtype);  // an instruction that reads a new host scalar

  AccessMap Dense(int param) const;     // row-major over all axes
  AccessMap DenseRow(int param) const;  // row-major over the parallel axes
  AccessMap Strided(int param, std::vector<SizeExpr> strides,
                    SizeExpr constant = 0) const;  // a stride per axis

  int Load(const AccessMap& access);
  int LoadRow(const AccessMap& access);  // per parallel point; goes to row_insts_before
  int Const(DType dtype, double v);
  int Index(int axis);
  int Size(const SizeExpr& size);  // goes to row_insts_before (Row)
  int Op(ScalarOp op, std::vector<int> in);
  int Convert(int in, DType to);
  int RowOp(ScalarOp op, std::vector<int> in);  // goes to row_insts_after
  void Store(int value, const AccessMap& access);
  void StoreRow(int value, const AccessMap& access);

  // A reduction of the last stage with the given bodies; the results are instructions.
  std::vector<int> Reduce(std::vector<int> in, std::vector<double> init, std::string_view combine);
  void NextStage() { plan.stages.emplace_back(); }
  void Again(int inst) {
    plan.stages.back().elem_insts.push_back(inst);
  }  // computed once more in this stage
  void Keep(int inst) { plan.keep.push_back(inst); }

  KernelPlan Flat(int threads, int vec, int items = 1);
  KernelPlan Row(int threads_per_row, int rows_per_block, int vec, int items);
  KernelPlan Column(int threads_per_row, int rows_per_block, int vec, int items);

  KernelPlan plan;

 private:
  int Add(Inst inst);
  int AddInvariant(Inst inst);
  DType TypeOf(int inst) const { return plan.insts[static_cast<size_t>(inst)].dtype; }
  DType ResultType(ScalarOp op, const std::vector<int>& in) const;
};

// relu(a * b + c) over the shape.
KernelPlan AddMulRelu(DType dtype, Shape shape, int threads, int vec, int items = 1,
                      int align = 16);
// x + bias over [rows, columns], of which the bias has the columns.
KernelPlan AddBias(DType dtype, DType bias, SizeExpr rows, SizeExpr columns, int threads, int vec,
                   int items = 1);
// softmax over the last axis: max, then sum of exp, then the quotient. `kept`: in registers.
KernelPlan Softmax(DType dtype, SizeExpr rows, SizeExpr columns, int threads_per_row,
                   int rows_per_block, int vec, int items);
// Layer norm without weights, moments by Chan's merging; also stores the mean of each row as f32.
KernelPlan LayerNorm(DType dtype, SizeExpr rows, SizeExpr columns, int threads_per_row,
                     int rows_per_block, int vec, int items);
// (x - the row's maximum) * weight, of which the weight has the columns.
KernelPlan WeighRows(DType dtype, DType weight, SizeExpr rows, SizeExpr columns,
                     int threads_per_row, int rows_per_block, int vec, int items);
// Position of the first largest value per row, as i64.
KernelPlan ArgMax(DType dtype, SizeExpr rows, SizeExpr columns, int threads_per_row,
                  int rows_per_block, int vec, int items);
// Sum over the first axis of [columns, rows]: neighbouring threads read neighbouring memory.
KernelPlan SumColumns(DType dtype, SizeExpr rows, SizeExpr columns, int threads_per_row,
                      int rows_per_block, int vec = 1);
// y[m, n] = x[n, m] transposed + z, in tiles.
KernelPlan TransposeAdd(DType dtype, SizeExpr m, SizeExpr n, int tile);

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_SUPPORT_PLAN_KIT_H_
