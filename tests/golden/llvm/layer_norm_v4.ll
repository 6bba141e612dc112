; made by hand: layer_norm_f32
; rows s0, cols 1, col_multiple 1, sizes [s0, s0*256], 16 lanes, unroll 1, x86-64-v4
define void @layer_norm_f32(ptr %buffers, ptr %scalars, ptr %sizes, i64 %row_begin, i64 %row_end, i64 %col_begin, i64 %col_end) nounwind {
entry:
  %e0 = getelementptr ptr, ptr %buffers, i64 0
  %e1 = load ptr, ptr %e0, align 8
  %e2 = getelementptr ptr, ptr %buffers, i64 1
  %e3 = load ptr, ptr %e2, align 8
  %e4 = getelementptr ptr, ptr %buffers, i64 2
  %e5 = load ptr, ptr %e4, align 8
  %e6 = alloca [80 x float], align 64
  %e9 = getelementptr i64, ptr %sizes, i64 0
  %e10 = load i64, ptr %e9, align 8  ; s0
  %e11 = alloca <16 x float>
  %e12 = alloca <16 x float>
  %e13 = alloca <16 x float>
  %e129 = getelementptr i64, ptr %sizes, i64 1
  %e130 = load i64, ptr %e129, align 8  ; s0*256
  br label %start
start:
  %v8 = icmp slt i64 %row_begin, %row_end
  br i1 %v8, label %pre7, label %done7
pre7:
  br label %body7
body7:
  %i7 = phi i64 [ %row_begin, %pre7 ], [ %i7.next, %latch7 ]  ; row
  store <16 x float> splat (float 0x0000000000000000), ptr %e11
  store <16 x float> splat (float 0x0000000000000000), ptr %e12
  store <16 x float> splat (float 0x0000000000000000), ptr %e13
  %v14 = mul i64 %i7, 64
  %v15 = getelementptr float, ptr %e1, i64 %v14
  %v17 = icmp slt i64 0, 64
  br i1 %v17, label %pre16, label %done16
pre16:
  br label %body16
body16:
  %i16 = phi i64 [ 0, %pre16 ], [ %i16.next, %latch16 ]  ; vectors
  %v18 = getelementptr float, ptr %v15, i64 %i16
  %v19 = load <16 x float>, ptr %v18, align 4
  %v20 = load <16 x float>, ptr %e11
  %v21 = load <16 x float>, ptr %e12
  %v22 = load <16 x float>, ptr %e13
  %v23 = fadd <16 x float> %v20, splat (float 0x3FF0000000000000)
  %v24 = fsub <16 x float> %v19, %v21
  %v25 = fcmp oeq <16 x float> %v23, splat (float 0x0000000000000000)
  %v26 = fdiv <16 x float> splat (float 0x3FF0000000000000), %v23
  %v27 = select <16 x i1> %v25, <16 x float> splat (float 0x0000000000000000), <16 x float> %v26
  %v28 = fmul <16 x float> %v24, %v27
  %v29 = fadd <16 x float> %v21, %v28
  %v30 = fadd <16 x float> %v22, splat (float 0x0000000000000000)
  %v31 = fmul <16 x float> %v24, %v24
  %v32 = fmul <16 x float> %v20, %v27
  %v33 = fmul <16 x float> %v31, %v32
  %v34 = fadd <16 x float> %v30, %v33
  store <16 x float> %v23, ptr %e11
  store <16 x float> %v29, ptr %e12
  store <16 x float> %v34, ptr %e13
  %v35 = getelementptr float, ptr %e6, i64 %i16
  store <16 x float> %v19, ptr %v35, align 64
  br label %latch16
latch16:
  %i16.next = add nsw i64 %i16, 16
  %v36 = icmp slt i64 %i16.next, 64
  br i1 %v36, label %body16, label %done16
done16:
  %v37 = load <16 x float>, ptr %e11
  %v38 = load <16 x float>, ptr %e12
  %v39 = load <16 x float>, ptr %e13
  %v40 = shufflevector <16 x float> %v37, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v41 = shufflevector <16 x float> %v37, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v42 = shufflevector <16 x float> %v38, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v43 = shufflevector <16 x float> %v38, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v44 = shufflevector <16 x float> %v39, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v45 = shufflevector <16 x float> %v39, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v46 = fadd <8 x float> %v40, %v41
  %v47 = fsub <8 x float> %v43, %v42
  %v48 = fcmp oeq <8 x float> %v46, splat (float 0x0000000000000000)
  %v49 = fdiv <8 x float> %v41, %v46
  %v50 = select <8 x i1> %v48, <8 x float> splat (float 0x0000000000000000), <8 x float> %v49
  %v51 = fmul <8 x float> %v47, %v50
  %v52 = fadd <8 x float> %v42, %v51
  %v53 = fadd <8 x float> %v44, %v45
  %v54 = fmul <8 x float> %v47, %v47
  %v55 = fmul <8 x float> %v40, %v50
  %v56 = fmul <8 x float> %v54, %v55
  %v57 = fadd <8 x float> %v53, %v56
  %v58 = shufflevector <8 x float> %v46, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v59 = shufflevector <8 x float> %v46, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v60 = shufflevector <8 x float> %v52, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v61 = shufflevector <8 x float> %v52, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v62 = shufflevector <8 x float> %v57, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v63 = shufflevector <8 x float> %v57, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v64 = fadd <4 x float> %v58, %v59
  %v65 = fsub <4 x float> %v61, %v60
  %v66 = fcmp oeq <4 x float> %v64, splat (float 0x0000000000000000)
  %v67 = fdiv <4 x float> %v59, %v64
  %v68 = select <4 x i1> %v66, <4 x float> splat (float 0x0000000000000000), <4 x float> %v67
  %v69 = fmul <4 x float> %v65, %v68
  %v70 = fadd <4 x float> %v60, %v69
  %v71 = fadd <4 x float> %v62, %v63
  %v72 = fmul <4 x float> %v65, %v65
  %v73 = fmul <4 x float> %v58, %v68
  %v74 = fmul <4 x float> %v72, %v73
  %v75 = fadd <4 x float> %v71, %v74
  %v76 = shufflevector <4 x float> %v64, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v77 = shufflevector <4 x float> %v64, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v78 = shufflevector <4 x float> %v70, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v79 = shufflevector <4 x float> %v70, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v80 = shufflevector <4 x float> %v75, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v81 = shufflevector <4 x float> %v75, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v82 = fadd <2 x float> %v76, %v77
  %v83 = fsub <2 x float> %v79, %v78
  %v84 = fcmp oeq <2 x float> %v82, splat (float 0x0000000000000000)
  %v85 = fdiv <2 x float> %v77, %v82
  %v86 = select <2 x i1> %v84, <2 x float> splat (float 0x0000000000000000), <2 x float> %v85
  %v87 = fmul <2 x float> %v83, %v86
  %v88 = fadd <2 x float> %v78, %v87
  %v89 = fadd <2 x float> %v80, %v81
  %v90 = fmul <2 x float> %v83, %v83
  %v91 = fmul <2 x float> %v76, %v86
  %v92 = fmul <2 x float> %v90, %v91
  %v93 = fadd <2 x float> %v89, %v92
  %v94 = extractelement <2 x float> %v82, i64 0
  %v95 = extractelement <2 x float> %v82, i64 1
  %v96 = extractelement <2 x float> %v88, i64 0
  %v97 = extractelement <2 x float> %v88, i64 1
  %v98 = extractelement <2 x float> %v93, i64 0
  %v99 = extractelement <2 x float> %v93, i64 1
  %v100 = fadd float %v94, %v95
  %v101 = fsub float %v97, %v96
  %v102 = fcmp oeq float %v100, 0x0000000000000000
  %v103 = fdiv float %v95, %v100
  %v104 = select i1 %v102, float 0x0000000000000000, float %v103
  %v105 = fmul float %v101, %v104
  %v106 = fadd float %v96, %v105
  %v107 = fadd float %v98, %v99
  %v108 = fmul float %v101, %v101
  %v109 = fmul float %v94, %v104
  %v110 = fmul float %v108, %v109
  %v111 = fadd float %v107, %v110
  %v112 = fdiv float %v111, %v100
  %v113 = fadd float %v112, 0x3EE4F8B580000000
  %v114 = call float @llvm.sqrt.f32(float %v113)
  %v115 = fdiv float 0x3FF0000000000000, %v114
  %v116 = getelementptr float, ptr %e5, i64 %i7
  store float %v106, ptr %v116, align 4
  %v117 = mul i64 %i7, 64
  %v118 = getelementptr float, ptr %e3, i64 %v117
  %v119 = insertelement <16 x float> poison, float %v106, i64 0
  %v120 = shufflevector <16 x float> %v119, <16 x float> poison, <16 x i32> zeroinitializer
  %v121 = insertelement <16 x float> poison, float %v115, i64 0
  %v122 = shufflevector <16 x float> %v121, <16 x float> poison, <16 x i32> zeroinitializer
  %v123 = mul i64 %i7, 64
  %v124 = getelementptr float, ptr %e1, i64 %v123
  %v125 = getelementptr float, ptr %v124, i64 64
  %v131 = icmp sge i64 %e130, 50331648
  %v132 = ptrtoint ptr %v118 to i64
  %v133 = and i64 %v132, 63
  %v134 = icmp eq i64 %v133, 0
  %v135 = and i1 %v131, %v134
  br i1 %v135, label %streamed126, label %plain127
streamed126:
  %v137 = icmp slt i64 0, 64
  br i1 %v137, label %pre136, label %done136
pre136:
  br label %body136
body136:
  %i136 = phi i64 [ 0, %pre136 ], [ %i136.next, %latch136 ]  ; vectors
  %v138 = getelementptr float, ptr %e6, i64 %i136
  %v139 = load <16 x float>, ptr %v138, align 64
  %v140 = fsub <16 x float> %v139, %v120
  %v141 = fmul <16 x float> %v140, %v122
  %v142 = mul i64 %i136, 4
  %v143 = getelementptr i8, ptr %v125, i64 %v142
  call void @llvm.prefetch.p0(ptr %v143, i32 0, i32 2, i32 1)
  %v144 = getelementptr float, ptr %v118, i64 %i136
  store <16 x float> %v141, ptr %v144, align 64, !nontemporal !{i32 1}
  br label %latch136
latch136:
  %i136.next = add nsw i64 %i136, 16
  %v145 = icmp slt i64 %i136.next, 64
  br i1 %v145, label %body136, label %done136
done136:
  br label %joined128
plain127:
  %v147 = icmp slt i64 0, 64
  br i1 %v147, label %pre146, label %done146
pre146:
  br label %body146
body146:
  %i146 = phi i64 [ 0, %pre146 ], [ %i146.next, %latch146 ]  ; vectors
  %v148 = getelementptr float, ptr %e6, i64 %i146
  %v149 = load <16 x float>, ptr %v148, align 64
  %v150 = fsub <16 x float> %v149, %v120
  %v151 = fmul <16 x float> %v150, %v122
  %v152 = getelementptr float, ptr %v118, i64 %i146
  store <16 x float> %v151, ptr %v152, align 4
  br label %latch146
latch146:
  %i146.next = add nsw i64 %i146, 16
  %v153 = icmp slt i64 %i146.next, 64
  br i1 %v153, label %body146, label %done146
done146:
  br label %joined128
joined128:
  br label %latch7
latch7:
  %i7.next = add nsw i64 %i7, 1
  %v154 = icmp slt i64 %i7.next, %row_end
  br i1 %v154, label %body7, label %done7
done7:
  call void @llvm.x86.sse.sfence()
  ret void
}
