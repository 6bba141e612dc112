; %x : bf16[300,n]
; %s : bf16[m,n]
; %o : i64[m,n]
; %b : i64[300,n]
; %e : i64[300,n]
; %5 = segment_add(%x, %s, %o, %b, %e, axis=0) : bf16[300,n]
; %7 = broadcast(0.5, shape=[300,n]) : bf16[300,n]
; %8 = multiply(%5, %7) : bf16[300,n]
; return %8
; rows 300, cols s0, col_multiple 1, sizes [s0, s1], 1 lanes, unroll 1, x86-64-v3
define void @k0_segment_add_multiply(ptr %buffers, ptr %scalars, ptr %sizes, i64 %row_begin, i64 %row_end, i64 %col_begin, i64 %col_end) nounwind {
entry:
  %e0 = getelementptr ptr, ptr %buffers, i64 0
  %e1 = load ptr, ptr %e0, align 8
  %e2 = getelementptr ptr, ptr %buffers, i64 1
  %e3 = load ptr, ptr %e2, align 8
  %e4 = getelementptr ptr, ptr %buffers, i64 2
  %e5 = load ptr, ptr %e4, align 8
  %e6 = getelementptr ptr, ptr %buffers, i64 3
  %e7 = load ptr, ptr %e6, align 8
  %e8 = getelementptr ptr, ptr %buffers, i64 4
  %e9 = load ptr, ptr %e8, align 8
  %e10 = getelementptr ptr, ptr %buffers, i64 5
  %e11 = load ptr, ptr %e10, align 8
  %e14 = getelementptr i64, ptr %sizes, i64 0
  %e15 = load i64, ptr %e14, align 8  ; s0
  %e26 = getelementptr i64, ptr %sizes, i64 1
  %e27 = load i64, ptr %e26, align 8  ; s1
  %e41 = alloca float
  br label %start
start:
  %v13 = icmp slt i64 %row_begin, %row_end
  br i1 %v13, label %pre12, label %done12
pre12:
  br label %body12
body12:
  %i12 = phi i64 [ %row_begin, %pre12 ], [ %i12.next, %latch12 ]  ; row
  %v16 = mul i64 %i12, %e15
  %v17 = getelementptr i16, ptr %e1, i64 %v16
  %v18 = mul i64 %i12, %e15
  %v19 = getelementptr i64, ptr %e7, i64 %v18
  %v20 = mul i64 %i12, %e15
  %v21 = getelementptr i64, ptr %e9, i64 %v20
  %v22 = mul i64 %i12, %e15
  %v23 = getelementptr i16, ptr %e11, i64 %v22
  %v24 = sub i64 %col_end, %col_begin
  %v25 = add i64 %col_begin, %v24
  %v29 = icmp slt i64 %col_begin, %v25
  br i1 %v29, label %pre28, label %done28
pre28:
  br label %body28
body28:
  %i28 = phi i64 [ %col_begin, %pre28 ], [ %i28.next, %latch28 ]  ; single elements
  %v30 = getelementptr i16, ptr %v17, i64 %i28
  %v31 = load i16, ptr %v30, align 2
  %v32 = zext i16 %v31 to i32
  %v33 = shl i32 %v32, 16
  %v34 = bitcast i32 %v33 to float
  %v35 = getelementptr i64, ptr %v19, i64 %i28
  %v36 = load i64, ptr %v35, align 8
  %v37 = getelementptr i64, ptr %v21, i64 %i28
  %v38 = load i64, ptr %v37, align 8
  %v39 = call i64 @llvm.smax.i64(i64 %v36, i64 0)
  %v40 = call i64 @llvm.smin.i64(i64 %v38, i64 %e27)
  store float %v34, ptr %e41
  %v43 = icmp slt i64 %v39, %v40
  br i1 %v43, label %pre42, label %done42
pre42:
  br label %body42
body42:
  %i42 = phi i64 [ %v39, %pre42 ], [ %i42.next, %latch42 ]  ; segment
  %v44 = mul i64 %i42, %e15
  %v45 = add i64 %i28, %v44
  %v46 = mul i64 %i42, %e15
  %v47 = add i64 %i28, %v46
  %v48 = getelementptr i64, ptr %e5, i64 %v47
  %v49 = load i64, ptr %v48, align 8
  %v50 = add i64 %v49, %e27
  %v51 = icmp slt i64 %v49, 0
  %v52 = select i1 %v51, i64 %v50, i64 %v49
  %v53 = icmp slt i64 %v52, 0
  %v54 = select i1 %v53, i64 0, i64 %v52
  %v55 = sub i64 %e27, 1
  %v56 = icmp sgt i64 %v54, %v55
  %v57 = select i1 %v56, i64 %v55, i64 %v54
  %v58 = load float, ptr %e41
  %v59 = mul i64 %v57, %e15
  %v60 = add i64 %i28, %v59
  %v61 = mul i64 %v57, %e15
  %v62 = add i64 %i28, %v61
  %v63 = getelementptr i16, ptr %e3, i64 %v62
  %v64 = load i16, ptr %v63, align 2
  %v65 = zext i16 %v64 to i32
  %v66 = shl i32 %v65, 16
  %v67 = bitcast i32 %v66 to float
  %v68 = fadd float %v58, %v67
  store float %v68, ptr %e41
  br label %latch42
latch42:
  %i42.next = add nsw i64 %i42, 1
  %v69 = icmp slt i64 %i42.next, %v40
  br i1 %v69, label %body42, label %done42
done42:
  %v70 = load float, ptr %e41
  %v71 = fmul float %v70, 0x3FE0000000000000
  %v72 = bitcast float %v71 to i32
  %v73 = lshr i32 %v72, 16
  %v74 = and i32 %v73, 1
  %v75 = add i32 %v74, 32767
  %v76 = add i32 %v72, %v75
  %v77 = or i32 %v72, 4194304
  %v78 = fcmp uno float %v71, %v71
  %v79 = select i1 %v78, i32 %v77, i32 %v76
  %v80 = and i32 %v79, -65536
  %v81 = bitcast i32 %v80 to float
  %v82 = bitcast float %v81 to i32
  %v83 = lshr i32 %v82, 16
  %v84 = trunc i32 %v83 to i16
  %v85 = getelementptr i16, ptr %v23, i64 %i28
  store i16 %v84, ptr %v85, align 2
  br label %latch28
latch28:
  %i28.next = add nsw i64 %i28, 1
  %v86 = icmp slt i64 %i28.next, %v25
  br i1 %v86, label %body28, label %done28
done28:
  br label %latch12
latch12:
  %i12.next = add nsw i64 %i12, 1
  %v87 = icmp slt i64 %i12.next, %row_end
  br i1 %v87, label %body12, label %done12
done12:
  ret void
}
