; %x : f32[100,8192]
; %1 = cummax(%x, axis=0, exclusive=true, reverse=false) : f32[100,8192]
; return %1
; rows 8192, cols 1, col_multiple 1, sizes [], 1 lanes, unroll 1, x86-64-v3
define void @k0_cummax(ptr %buffers, ptr %scalars, ptr %sizes, i64 %row_begin, i64 %row_end, i64 %col_begin, i64 %col_end) nounwind {
entry:
  %e0 = getelementptr ptr, ptr %buffers, i64 0
  %e1 = load ptr, ptr %e0, align 8
  %e2 = getelementptr ptr, ptr %buffers, i64 1
  %e3 = load ptr, ptr %e2, align 8
  %e6 = alloca float
  br label %start
start:
  %v5 = icmp slt i64 %row_begin, %row_end
  br i1 %v5, label %pre4, label %done4
pre4:
  br label %body4
body4:
  %i4 = phi i64 [ %row_begin, %pre4 ], [ %i4.next, %latch4 ]  ; row
  store float 0xFFF0000000000000, ptr %e6
  %v7 = getelementptr float, ptr %e1, i64 %i4
  %v8 = getelementptr float, ptr %e3, i64 %i4
  %v10 = icmp slt i64 0, 100
  br i1 %v10, label %pre9, label %done9
pre9:
  br label %body9
body9:
  %i9 = phi i64 [ 0, %pre9 ], [ %i9.next, %latch9 ]  ; single elements
  %v11 = trunc i64 %i9 to i32
  %v12 = mul i32 %v11, 8192
  %v13 = sext i32 %v12 to i64
  %v14 = getelementptr float, ptr %v7, i64 %v13
  %v15 = load float, ptr %v14, align 4
  %v16 = load float, ptr %e6
  %v17 = call float @llvm.maximum.f32(float %v16, float %v15)
  store float %v17, ptr %e6
  %v18 = trunc i64 %i9 to i32
  %v19 = mul i32 %v18, 8192
  %v20 = sext i32 %v19 to i64
  %v21 = getelementptr float, ptr %v8, i64 %v20
  store float %v16, ptr %v21, align 4
  br label %latch9
latch9:
  %i9.next = add nsw i64 %i9, 1
  %v22 = icmp slt i64 %i9.next, 100
  br i1 %v22, label %body9, label %done9
done9:
  br label %latch4
latch4:
  %i4.next = add nsw i64 %i4, 1
  %v23 = icmp slt i64 %i4.next, %row_end
  br i1 %v23, label %body4, label %done4
done4:
  ret void
}
