; made by hand: relu_f32
; rows 1, cols 1000, col_multiple 16, sizes [], 8 lanes, unroll 2, x86-64-v3
define void @relu_f32(ptr %buffers, ptr %scalars, ptr %sizes, i64 %row_begin, i64 %row_end, i64 %col_begin, i64 %col_end) nounwind {
entry:
  %e0 = getelementptr ptr, ptr %buffers, i64 0
  %e1 = load ptr, ptr %e0, align 8
  %e2 = getelementptr ptr, ptr %buffers, i64 1
  %e3 = load ptr, ptr %e2, align 8
  %e4 = getelementptr ptr, ptr %buffers, i64 2
  %e5 = load ptr, ptr %e4, align 8
  %e6 = getelementptr ptr, ptr %buffers, i64 3
  %e7 = load ptr, ptr %e6, align 8
  br label %start
start:
  %v9 = icmp slt i64 %row_begin, %row_end
  br i1 %v9, label %pre8, label %done8
pre8:
  br label %body8
body8:
  %i8 = phi i64 [ %row_begin, %pre8 ], [ %i8.next, %latch8 ]  ; row
  %v10 = sub i64 %col_end, %col_begin
  %v11 = and i64 %v10, -16
  %v12 = add i64 %col_begin, %v11
  %v14 = icmp slt i64 %col_begin, %v12
  br i1 %v14, label %pre13, label %done13
pre13:
  br label %body13
body13:
  %i13 = phi i64 [ %col_begin, %pre13 ], [ %i13.next, %latch13 ]  ; vectors
  %v15 = add i64 %i13, 8
  %v16 = getelementptr float, ptr %e1, i64 %i13
  %v17 = load <8 x float>, ptr %v16, align 4
  %v18 = getelementptr float, ptr %e1, i64 %v15
  %v19 = load <8 x float>, ptr %v18, align 4
  %v20 = getelementptr float, ptr %e3, i64 %i13
  %v21 = load <8 x float>, ptr %v20, align 4
  %v22 = getelementptr float, ptr %e3, i64 %v15
  %v23 = load <8 x float>, ptr %v22, align 4
  %v24 = getelementptr float, ptr %e5, i64 %i13
  %v25 = load <8 x float>, ptr %v24, align 4
  %v26 = getelementptr float, ptr %e5, i64 %v15
  %v27 = load <8 x float>, ptr %v26, align 4
  %v28 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v17, <8 x float> %v21, <8 x float> %v25)
  %v29 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v19, <8 x float> %v23, <8 x float> %v27)
  %v30 = call <8 x float> @llvm.maximum.v8f32(<8 x float> %v28, <8 x float> splat (float 0x0000000000000000))
  %v31 = call <8 x float> @llvm.maximum.v8f32(<8 x float> %v29, <8 x float> splat (float 0x0000000000000000))
  %v32 = getelementptr float, ptr %e7, i64 %i13
  store <8 x float> %v30, ptr %v32, align 4
  %v33 = getelementptr float, ptr %e7, i64 %v15
  store <8 x float> %v31, ptr %v33, align 4
  br label %latch13
latch13:
  %i13.next = add nsw i64 %i13, 16
  %v34 = icmp slt i64 %i13.next, %v12
  br i1 %v34, label %body13, label %done13
done13:
  %v36 = icmp slt i64 %v12, %col_end
  br i1 %v36, label %pre35, label %done35
pre35:
  br label %body35
body35:
  %i35 = phi i64 [ %v12, %pre35 ], [ %i35.next, %latch35 ]  ; vectors
  %v37 = getelementptr float, ptr %e1, i64 %i35
  %v38 = load <8 x float>, ptr %v37, align 4
  %v39 = getelementptr float, ptr %e3, i64 %i35
  %v40 = load <8 x float>, ptr %v39, align 4
  %v41 = getelementptr float, ptr %e5, i64 %i35
  %v42 = load <8 x float>, ptr %v41, align 4
  %v43 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v38, <8 x float> %v40, <8 x float> %v42)
  %v44 = call <8 x float> @llvm.maximum.v8f32(<8 x float> %v43, <8 x float> splat (float 0x0000000000000000))
  %v45 = getelementptr float, ptr %e7, i64 %i35
  store <8 x float> %v44, ptr %v45, align 4
  br label %latch35
latch35:
  %i35.next = add nsw i64 %i35, 8
  %v46 = icmp slt i64 %i35.next, %col_end
  br i1 %v46, label %body35, label %done35
done35:
  br label %latch8
latch8:
  %i8.next = add nsw i64 %i8, 1
  %v47 = icmp slt i64 %i8.next, %row_end
  br i1 %v47, label %body8, label %done8
done8:
  ret void
}
