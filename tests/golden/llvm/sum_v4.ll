; made by hand: sum
; rows s0, cols 1, col_multiple 1, sizes [s0, s1], 16 lanes, unroll 2, x86-64-v4
define void @sum(ptr %buffers, ptr %scalars, ptr %sizes, i64 %row_begin, i64 %row_end, i64 %col_begin, i64 %col_end) nounwind {
entry:
  %e0 = getelementptr ptr, ptr %buffers, i64 0
  %e1 = load ptr, ptr %e0, align 8
  %e2 = getelementptr ptr, ptr %buffers, i64 1
  %e3 = load ptr, ptr %e2, align 8
  %e6 = getelementptr i64, ptr %sizes, i64 0
  %e7 = load i64, ptr %e6, align 8  ; s0
  %e8 = getelementptr i64, ptr %sizes, i64 1
  %e9 = load i64, ptr %e8, align 8  ; s1
  %e10 = alloca <16 x float>
  %e11 = alloca <16 x float>
  %e12 = alloca [48 x <16 x float>], align 64
  %e13 = alloca i64
  %e36 = alloca <16 x float>
  %e37 = alloca i64
  %e38 = alloca i64
  %e72 = alloca <16 x float>
  %e73 = alloca i64
  %e74 = alloca i64
  %e91 = alloca <16 x float>
  br label %start
start:
  %v5 = icmp slt i64 %row_begin, %row_end
  br i1 %v5, label %pre4, label %done4
pre4:
  br label %body4
body4:
  %i4 = phi i64 [ %row_begin, %pre4 ], [ %i4.next, %latch4 ]  ; row
  store i64 0, ptr %e13
  %v14 = mul i64 %i4, %e9
  %v15 = getelementptr float, ptr %e1, i64 %v14
  %v16 = and i64 %e9, -32
  %v18 = icmp slt i64 0, %v16
  br i1 %v18, label %pre17, label %done17
pre17:
  br label %body17
body17:
  %i17 = phi i64 [ 0, %pre17 ], [ %i17.next, %latch17 ]  ; block
  store <16 x float> splat (float 0x0000000000000000), ptr %e10
  store <16 x float> splat (float 0x0000000000000000), ptr %e11
  %v19 = add i64 %i17, 2048
  %v20 = call i64 @llvm.umin.i64(i64 %v19, i64 %v16)
  %v22 = icmp slt i64 %i17, %v20
  br i1 %v22, label %pre21, label %done21
pre21:
  br label %body21
body21:
  %i21 = phi i64 [ %i17, %pre21 ], [ %i21.next, %latch21 ]  ; vectors
  %v23 = add i64 %i21, 16
  %v24 = getelementptr float, ptr %v15, i64 %i21
  %v25 = load <16 x float>, ptr %v24, align 4
  %v26 = getelementptr float, ptr %v15, i64 %v23
  %v27 = load <16 x float>, ptr %v26, align 4
  %v28 = load <16 x float>, ptr %e10
  %v29 = fadd <16 x float> %v28, %v25
  store <16 x float> %v29, ptr %e10
  %v30 = load <16 x float>, ptr %e11
  %v31 = fadd <16 x float> %v30, %v27
  store <16 x float> %v31, ptr %e11
  br label %latch21
latch21:
  %i21.next = add nsw i64 %i21, 32
  %v32 = icmp slt i64 %i21.next, %v20
  br i1 %v32, label %body21, label %done21
done21:
  %v33 = load <16 x float>, ptr %e10
  %v34 = load <16 x float>, ptr %e11
  %v35 = fadd <16 x float> %v33, %v34
  store <16 x float> %v35, ptr %e36
  store i64 0, ptr %e37
  %v39 = load i64, ptr %e13
  store i64 %v39, ptr %e38
  br label %carry40
carry40:
  %v43 = load i64, ptr %e38
  %v44 = load i64, ptr %e37
  %v45 = getelementptr <16 x float>, ptr %e12, i64 %v44
  %v46 = trunc i64 %v43 to i1
  br i1 %v46, label %join41, label %settled42
join41:
  %v47 = load <16 x float>, ptr %e36
  %v48 = load <16 x float>, ptr %v45
  %v49 = fadd <16 x float> %v48, %v47
  store <16 x float> %v49, ptr %e36
  %v50 = lshr i64 %v43, 1
  store i64 %v50, ptr %e38
  %v51 = add i64 %v44, 1
  store i64 %v51, ptr %e37
  br label %carry40
settled42:
  %v52 = load <16 x float>, ptr %e36
  store <16 x float> %v52, ptr %v45
  %v53 = load i64, ptr %e13
  %v54 = add i64 %v53, 1
  store i64 %v54, ptr %e13
  br label %latch17
latch17:
  %i17.next = add nsw i64 %i17, 2048
  %v55 = icmp slt i64 %i17.next, %v16
  br i1 %v55, label %body17, label %done17
done17:
  store <16 x float> splat (float 0x0000000000000000), ptr %e10
  store <16 x float> splat (float 0x0000000000000000), ptr %e11
  %v57 = icmp slt i64 %v16, %e9
  br i1 %v57, label %pre56, label %done56
pre56:
  br label %body56
body56:
  %i56 = phi i64 [ %v16, %pre56 ], [ %i56.next, %latch56 ]  ; masked
  %v58 = sub i64 %e9, %i56
  %v59 = trunc i64 %v58 to i32
  %v60 = insertelement <16 x i32> poison, i32 %v59, i64 0
  %v61 = shufflevector <16 x i32> %v60, <16 x i32> poison, <16 x i32> zeroinitializer
  %v62 = icmp ugt <16 x i32> %v61, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v63 = getelementptr float, ptr %v15, i64 %i56
  %v64 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %v63, i32 4, <16 x i1> %v62, <16 x float> zeroinitializer)
  %v65 = load <16 x float>, ptr %e10
  %v66 = fadd <16 x float> %v65, %v64
  %v67 = select <16 x i1> %v62, <16 x float> %v66, <16 x float> %v65
  store <16 x float> %v67, ptr %e10
  br label %latch56
latch56:
  %i56.next = add nsw i64 %i56, 16
  %v68 = icmp slt i64 %i56.next, %e9
  br i1 %v68, label %body56, label %done56
done56:
  %v69 = load <16 x float>, ptr %e10
  %v70 = load <16 x float>, ptr %e11
  %v71 = fadd <16 x float> %v69, %v70
  store <16 x float> %v71, ptr %e72
  store i64 0, ptr %e73
  %v75 = load i64, ptr %e13
  store i64 %v75, ptr %e74
  br label %carry76
carry76:
  %v79 = load i64, ptr %e74
  %v80 = load i64, ptr %e73
  %v81 = getelementptr <16 x float>, ptr %e12, i64 %v80
  %v82 = trunc i64 %v79 to i1
  br i1 %v82, label %join77, label %settled78
join77:
  %v83 = load <16 x float>, ptr %e72
  %v84 = load <16 x float>, ptr %v81
  %v85 = fadd <16 x float> %v84, %v83
  store <16 x float> %v85, ptr %e72
  %v86 = lshr i64 %v79, 1
  store i64 %v86, ptr %e74
  %v87 = add i64 %v80, 1
  store i64 %v87, ptr %e73
  br label %carry76
settled78:
  %v88 = load <16 x float>, ptr %e72
  store <16 x float> %v88, ptr %v81
  %v89 = load i64, ptr %e13
  %v90 = add i64 %v89, 1
  store i64 %v90, ptr %e13
  store <16 x float> splat (float 0x0000000000000000), ptr %e91
  %v92 = load i64, ptr %e13
  %v94 = icmp slt i64 0, 48
  br i1 %v94, label %pre93, label %done93
pre93:
  br label %body93
body93:
  %i93 = phi i64 [ 0, %pre93 ], [ %i93.next, %latch93 ]  ; level
  %v97 = lshr i64 %v92, %i93
  %v98 = trunc i64 %v97 to i1
  br i1 %v98, label %used95, label %skip96
used95:
  %v99 = getelementptr <16 x float>, ptr %e12, i64 %i93
  %v100 = load <16 x float>, ptr %v99
  %v101 = load <16 x float>, ptr %e91
  %v102 = fadd <16 x float> %v100, %v101
  store <16 x float> %v102, ptr %e91
  br label %skip96
skip96:
  br label %latch93
latch93:
  %i93.next = add nsw i64 %i93, 1
  %v103 = icmp slt i64 %i93.next, 48
  br i1 %v103, label %body93, label %done93
done93:
  %v104 = load <16 x float>, ptr %e91
  %v105 = shufflevector <16 x float> %v104, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v106 = shufflevector <16 x float> %v104, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v107 = fadd <8 x float> %v105, %v106
  %v108 = shufflevector <8 x float> %v107, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v109 = shufflevector <8 x float> %v107, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v110 = fadd <4 x float> %v108, %v109
  %v111 = shufflevector <4 x float> %v110, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v112 = shufflevector <4 x float> %v110, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v113 = fadd <2 x float> %v111, %v112
  %v114 = extractelement <2 x float> %v113, i64 0
  %v115 = extractelement <2 x float> %v113, i64 1
  %v116 = fadd float %v114, %v115
  %v117 = getelementptr float, ptr %e3, i64 %i4
  store float %v116, ptr %v117, align 4
  br label %latch4
latch4:
  %i4.next = add nsw i64 %i4, 1
  %v118 = icmp slt i64 %i4.next, %row_end
  br i1 %v118, label %body4, label %done4
done4:
  ret void
}
