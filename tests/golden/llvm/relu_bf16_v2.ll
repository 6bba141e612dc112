; made by hand: relu_bf16
; rows s0, cols s1, col_multiple 4, sizes [s0, s1], 4 lanes, unroll 1, x86-64-v2
define void @relu_bf16(ptr %buffers, ptr %scalars, ptr %sizes, i64 %row_begin, i64 %row_end, i64 %col_begin, i64 %col_end) nounwind {
entry:
  %e0 = getelementptr ptr, ptr %buffers, i64 0
  %e1 = load ptr, ptr %e0, align 8
  %e2 = getelementptr ptr, ptr %buffers, i64 1
  %e3 = load ptr, ptr %e2, align 8
  %e4 = getelementptr ptr, ptr %buffers, i64 2
  %e5 = load ptr, ptr %e4, align 8
  %e6 = getelementptr ptr, ptr %buffers, i64 3
  %e7 = load ptr, ptr %e6, align 8
  %e10 = getelementptr i64, ptr %sizes, i64 0
  %e11 = load i64, ptr %e10, align 8  ; s0
  %e12 = getelementptr i64, ptr %sizes, i64 1
  %e13 = load i64, ptr %e12, align 8  ; s1
  br label %start
start:
  %v9 = icmp slt i64 %row_begin, %row_end
  br i1 %v9, label %pre8, label %done8
pre8:
  br label %body8
body8:
  %i8 = phi i64 [ %row_begin, %pre8 ], [ %i8.next, %latch8 ]  ; row
  %v14 = mul i64 %i8, %e13
  %v15 = getelementptr i16, ptr %e1, i64 %v14
  %v16 = mul i64 %i8, %e13
  %v17 = getelementptr i16, ptr %e3, i64 %v16
  %v18 = mul i64 %i8, %e13
  %v19 = getelementptr i16, ptr %e5, i64 %v18
  %v20 = mul i64 %i8, %e13
  %v21 = getelementptr i16, ptr %e7, i64 %v20
  %v22 = sub i64 %col_end, %col_begin
  %v23 = and i64 %v22, -4
  %v24 = add i64 %col_begin, %v23
  %v26 = icmp slt i64 %col_begin, %v24
  br i1 %v26, label %pre25, label %done25
pre25:
  br label %body25
body25:
  %i25 = phi i64 [ %col_begin, %pre25 ], [ %i25.next, %latch25 ]  ; vectors
  %v27 = getelementptr i16, ptr %v15, i64 %i25
  %v28 = load <4 x i16>, ptr %v27, align 2
  %v29 = zext <4 x i16> %v28 to <4 x i32>
  %v30 = shl <4 x i32> %v29, splat (i32 16)
  %v31 = bitcast <4 x i32> %v30 to <4 x float>
  %v32 = getelementptr i16, ptr %v17, i64 %i25
  %v33 = load <4 x i16>, ptr %v32, align 2
  %v34 = zext <4 x i16> %v33 to <4 x i32>
  %v35 = shl <4 x i32> %v34, splat (i32 16)
  %v36 = bitcast <4 x i32> %v35 to <4 x float>
  %v37 = getelementptr i16, ptr %v19, i64 %i25
  %v38 = load <4 x i16>, ptr %v37, align 2
  %v39 = zext <4 x i16> %v38 to <4 x i32>
  %v40 = shl <4 x i32> %v39, splat (i32 16)
  %v41 = bitcast <4 x i32> %v40 to <4 x float>
  %v42 = fpext <4 x float> %v31 to <4 x double>
  %v43 = fpext <4 x float> %v36 to <4 x double>
  %v44 = fmul <4 x double> %v42, %v43
  %v45 = fpext <4 x float> %v41 to <4 x double>
  %v46 = fadd <4 x double> %v44, %v45
  %v47 = bitcast <4 x double> %v46 to <4 x i64>
  %v48 = fsub <4 x double> %v46, %v44
  %v49 = fsub <4 x double> %v46, %v48
  %v50 = fsub <4 x double> %v44, %v49
  %v51 = fsub <4 x double> %v45, %v48
  %v52 = fadd <4 x double> %v50, %v51
  %v53 = fcmp ogt <4 x double> %v52, splat (double 0x0000000000000000)
  %v54 = fcmp olt <4 x double> %v52, splat (double 0x0000000000000000)
  %v55 = or <4 x i1> %v53, %v54
  %v56 = and <4 x i64> %v47, splat (i64 1)
  %v57 = icmp eq <4 x i64> %v56, splat (i64 0)
  %v58 = and <4 x i1> %v55, %v57
  %v59 = fcmp ogt <4 x double> %v46, splat (double 0x0000000000000000)
  %v60 = icmp eq <4 x i1> %v53, %v59
  %v61 = select <4 x i1> %v60, <4 x i64> splat (i64 1), <4 x i64> splat (i64 -1)
  %v62 = select <4 x i1> %v58, <4 x i64> %v61, <4 x i64> splat (i64 0)
  %v63 = add <4 x i64> %v47, %v62
  %v64 = bitcast <4 x i64> %v63 to <4 x double>
  %v65 = fptrunc <4 x double> %v64 to <4 x float>
  %v66 = call <4 x float> @llvm.maximum.v4f32(<4 x float> %v65, <4 x float> splat (float 0x0000000000000000))
  %v67 = bitcast <4 x float> %v66 to <4 x i32>
  %v68 = lshr <4 x i32> %v67, splat (i32 16)
  %v69 = and <4 x i32> %v68, splat (i32 1)
  %v70 = add <4 x i32> %v69, splat (i32 32767)
  %v71 = add <4 x i32> %v67, %v70
  %v72 = or <4 x i32> %v67, splat (i32 4194304)
  %v73 = fcmp uno <4 x float> %v66, %v66
  %v74 = select <4 x i1> %v73, <4 x i32> %v72, <4 x i32> %v71
  %v75 = and <4 x i32> %v74, splat (i32 -65536)
  %v76 = bitcast <4 x i32> %v75 to <4 x float>
  %v77 = bitcast <4 x float> %v76 to <4 x i32>
  %v78 = lshr <4 x i32> %v77, splat (i32 16)
  %v79 = trunc <4 x i32> %v78 to <4 x i16>
  %v80 = getelementptr i16, ptr %v21, i64 %i25
  store <4 x i16> %v79, ptr %v80, align 2
  br label %latch25
latch25:
  %i25.next = add nsw i64 %i25, 4
  %v81 = icmp slt i64 %i25.next, %v24
  br i1 %v81, label %body25, label %done25
done25:
  %v83 = icmp slt i64 %v24, %col_end
  br i1 %v83, label %pre82, label %done82
pre82:
  br label %body82
body82:
  %i82 = phi i64 [ %v24, %pre82 ], [ %i82.next, %latch82 ]  ; single elements
  %v84 = getelementptr i16, ptr %v15, i64 %i82
  %v85 = load i16, ptr %v84, align 2
  %v86 = zext i16 %v85 to i32
  %v87 = shl i32 %v86, 16
  %v88 = bitcast i32 %v87 to float
  %v89 = getelementptr i16, ptr %v17, i64 %i82
  %v90 = load i16, ptr %v89, align 2
  %v91 = zext i16 %v90 to i32
  %v92 = shl i32 %v91, 16
  %v93 = bitcast i32 %v92 to float
  %v94 = getelementptr i16, ptr %v19, i64 %i82
  %v95 = load i16, ptr %v94, align 2
  %v96 = zext i16 %v95 to i32
  %v97 = shl i32 %v96, 16
  %v98 = bitcast i32 %v97 to float
  %v99 = fpext float %v88 to double
  %v100 = fpext float %v93 to double
  %v101 = fmul double %v99, %v100
  %v102 = fpext float %v98 to double
  %v103 = fadd double %v101, %v102
  %v104 = bitcast double %v103 to i64
  %v105 = fsub double %v103, %v101
  %v106 = fsub double %v103, %v105
  %v107 = fsub double %v101, %v106
  %v108 = fsub double %v102, %v105
  %v109 = fadd double %v107, %v108
  %v110 = fcmp ogt double %v109, 0x0000000000000000
  %v111 = fcmp olt double %v109, 0x0000000000000000
  %v112 = or i1 %v110, %v111
  %v113 = and i64 %v104, 1
  %v114 = icmp eq i64 %v113, 0
  %v115 = and i1 %v112, %v114
  %v116 = fcmp ogt double %v103, 0x0000000000000000
  %v117 = icmp eq i1 %v110, %v116
  %v118 = select i1 %v117, i64 1, i64 -1
  %v119 = select i1 %v115, i64 %v118, i64 0
  %v120 = add i64 %v104, %v119
  %v121 = bitcast i64 %v120 to double
  %v122 = fptrunc double %v121 to float
  %v123 = call float @llvm.maximum.f32(float %v122, float 0x0000000000000000)
  %v124 = bitcast float %v123 to i32
  %v125 = lshr i32 %v124, 16
  %v126 = and i32 %v125, 1
  %v127 = add i32 %v126, 32767
  %v128 = add i32 %v124, %v127
  %v129 = or i32 %v124, 4194304
  %v130 = fcmp uno float %v123, %v123
  %v131 = select i1 %v130, i32 %v129, i32 %v128
  %v132 = and i32 %v131, -65536
  %v133 = bitcast i32 %v132 to float
  %v134 = bitcast float %v133 to i32
  %v135 = lshr i32 %v134, 16
  %v136 = trunc i32 %v135 to i16
  %v137 = getelementptr i16, ptr %v21, i64 %i82
  store i16 %v136, ptr %v137, align 2
  br label %latch82
latch82:
  %i82.next = add nsw i64 %i82, 1
  %v138 = icmp slt i64 %i82.next, %col_end
  br i1 %v138, label %body82, label %done82
done82:
  br label %latch8
latch8:
  %i8.next = add nsw i64 %i8, 1
  %v139 = icmp slt i64 %i8.next, %row_end
  br i1 %v139, label %body8, label %done8
done8:
  ret void
}
