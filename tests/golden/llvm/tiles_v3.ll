; made by hand: transpose_f32
; rows ceildiv(s0,16), cols 96, col_multiple 8, sizes [ceildiv(s0,16), s0, s0*384], 8 lanes, unroll 1, x86-64-v3
define void @transpose_f32(ptr %buffers, ptr %scalars, ptr %sizes, i64 %row_begin, i64 %row_end, i64 %col_begin, i64 %col_end) nounwind {
entry:
  %e0 = getelementptr ptr, ptr %buffers, i64 0
  %e1 = load ptr, ptr %e0, align 8
  %e2 = getelementptr ptr, ptr %buffers, i64 1
  %e3 = load ptr, ptr %e2, align 8
  %e4 = getelementptr ptr, ptr %buffers, i64 2
  %e5 = load ptr, ptr %e4, align 8
  %e8 = getelementptr i64, ptr %sizes, i64 0
  %e9 = load i64, ptr %e8, align 8  ; ceildiv(s0,16)
  %e13 = getelementptr i64, ptr %sizes, i64 1
  %e14 = load i64, ptr %e13, align 8  ; s0
  %e33 = getelementptr i64, ptr %sizes, i64 2
  %e34 = load i64, ptr %e33, align 8  ; s0*384
  br label %start
start:
  %v7 = icmp slt i64 %row_begin, %row_end
  br i1 %v7, label %pre6, label %done6
pre6:
  br label %body6
body6:
  %i6 = phi i64 [ %row_begin, %pre6 ], [ %i6.next, %latch6 ]  ; row
  %v10 = udiv i64 %i6, %e9
  %v11 = urem i64 %i6, %e9
  %v12 = mul i64 %v11, 16
  %v15 = add i64 %v12, 16
  %v16 = call i64 @llvm.umin.i64(i64 %v15, i64 %e14)
  %v18 = icmp slt i64 %col_begin, %col_end
  br i1 %v18, label %pre17, label %done17
pre17:
  br label %body17
body17:
  %i17 = phi i64 [ %col_begin, %pre17 ], [ %i17.next, %latch17 ]  ; pieces
  %v19 = add i64 %i17, 64
  %v20 = call i64 @llvm.umin.i64(i64 %v19, i64 %col_end)
  %v22 = icmp slt i64 %v12, %v16
  br i1 %v22, label %pre21, label %done21
pre21:
  br label %body21
body21:
  %i21 = phi i64 [ %v12, %pre21 ], [ %i21.next, %latch21 ]  ; block
  %v23 = getelementptr float, ptr %e1, i64 %i21
  %v24 = mul i64 %i21, 96
  %v25 = getelementptr float, ptr %e3, i64 %v24
  %v26 = mul i64 %i21, 96
  %v27 = getelementptr float, ptr %e5, i64 %v26
  %v28 = sub i64 %v20, %i17
  %v29 = add i64 %i17, %v28
  %v35 = icmp sge i64 %e34, 50331648
  %v36 = getelementptr float, ptr %v27, i64 %i17
  %v37 = ptrtoint ptr %v36 to i64
  %v38 = and i64 %v37, 31
  %v39 = icmp eq i64 %v38, 0
  %v40 = and i1 %v35, %v39
  br i1 %v40, label %streamed30, label %plain31
streamed30:
  %v42 = icmp slt i64 %i17, %v29
  br i1 %v42, label %pre41, label %done41
pre41:
  br label %body41
body41:
  %i41 = phi i64 [ %i17, %pre41 ], [ %i41.next, %latch41 ]  ; vectors
  %v43 = trunc i64 %i41 to i32
  %v44 = insertelement <8 x i32> poison, i32 %v43, i64 0
  %v45 = shufflevector <8 x i32> %v44, <8 x i32> poison, <8 x i32> zeroinitializer
  %v46 = add <8 x i32> %v45, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v47 = trunc i64 %e14 to i32
  %v48 = insertelement <8 x i32> poison, i32 %v47, i64 0
  %v49 = shufflevector <8 x i32> %v48, <8 x i32> poison, <8 x i32> zeroinitializer
  %v50 = mul <8 x i32> %v46, %v49
  %v51 = extractelement <8 x i32> %v50, i64 0
  %v52 = sext i32 %v51 to i64
  %v53 = extractelement <8 x i32> %v50, i64 1
  %v54 = sext i32 %v53 to i64
  %v55 = extractelement <8 x i32> %v50, i64 2
  %v56 = sext i32 %v55 to i64
  %v57 = extractelement <8 x i32> %v50, i64 3
  %v58 = sext i32 %v57 to i64
  %v59 = extractelement <8 x i32> %v50, i64 4
  %v60 = sext i32 %v59 to i64
  %v61 = extractelement <8 x i32> %v50, i64 5
  %v62 = sext i32 %v61 to i64
  %v63 = extractelement <8 x i32> %v50, i64 6
  %v64 = sext i32 %v63 to i64
  %v65 = extractelement <8 x i32> %v50, i64 7
  %v66 = sext i32 %v65 to i64
  %v67 = getelementptr float, ptr %v23, i64 %v52
  %v68 = getelementptr float, ptr %v23, i64 %v54
  %v69 = getelementptr float, ptr %v23, i64 %v56
  %v70 = getelementptr float, ptr %v23, i64 %v58
  %v71 = getelementptr float, ptr %v23, i64 %v60
  %v72 = getelementptr float, ptr %v23, i64 %v62
  %v73 = getelementptr float, ptr %v23, i64 %v64
  %v74 = getelementptr float, ptr %v23, i64 %v66
  %v75 = load float, ptr %v67, align 4
  %v76 = insertelement <8 x float> poison, float %v75, i64 0
  %v77 = load float, ptr %v68, align 4
  %v78 = insertelement <8 x float> %v76, float %v77, i64 1
  %v79 = load float, ptr %v69, align 4
  %v80 = insertelement <8 x float> %v78, float %v79, i64 2
  %v81 = load float, ptr %v70, align 4
  %v82 = insertelement <8 x float> %v80, float %v81, i64 3
  %v83 = load float, ptr %v71, align 4
  %v84 = insertelement <8 x float> %v82, float %v83, i64 4
  %v85 = load float, ptr %v72, align 4
  %v86 = insertelement <8 x float> %v84, float %v85, i64 5
  %v87 = load float, ptr %v73, align 4
  %v88 = insertelement <8 x float> %v86, float %v87, i64 6
  %v89 = load float, ptr %v74, align 4
  %v90 = insertelement <8 x float> %v88, float %v89, i64 7
  %v91 = getelementptr float, ptr %v25, i64 %i41
  %v92 = load <8 x float>, ptr %v91, align 4
  %v93 = fadd <8 x float> %v90, %v92
  %v94 = getelementptr float, ptr %v27, i64 %i41
  store <8 x float> %v93, ptr %v94, align 32, !nontemporal !{i32 1}
  br label %latch41
latch41:
  %i41.next = add nsw i64 %i41, 8
  %v95 = icmp slt i64 %i41.next, %v29
  br i1 %v95, label %body41, label %done41
done41:
  br label %joined32
plain31:
  %v97 = icmp slt i64 %i17, %v29
  br i1 %v97, label %pre96, label %done96
pre96:
  br label %body96
body96:
  %i96 = phi i64 [ %i17, %pre96 ], [ %i96.next, %latch96 ]  ; vectors
  %v98 = trunc i64 %i96 to i32
  %v99 = insertelement <8 x i32> poison, i32 %v98, i64 0
  %v100 = shufflevector <8 x i32> %v99, <8 x i32> poison, <8 x i32> zeroinitializer
  %v101 = add <8 x i32> %v100, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v102 = trunc i64 %e14 to i32
  %v103 = insertelement <8 x i32> poison, i32 %v102, i64 0
  %v104 = shufflevector <8 x i32> %v103, <8 x i32> poison, <8 x i32> zeroinitializer
  %v105 = mul <8 x i32> %v101, %v104
  %v106 = extractelement <8 x i32> %v105, i64 0
  %v107 = sext i32 %v106 to i64
  %v108 = extractelement <8 x i32> %v105, i64 1
  %v109 = sext i32 %v108 to i64
  %v110 = extractelement <8 x i32> %v105, i64 2
  %v111 = sext i32 %v110 to i64
  %v112 = extractelement <8 x i32> %v105, i64 3
  %v113 = sext i32 %v112 to i64
  %v114 = extractelement <8 x i32> %v105, i64 4
  %v115 = sext i32 %v114 to i64
  %v116 = extractelement <8 x i32> %v105, i64 5
  %v117 = sext i32 %v116 to i64
  %v118 = extractelement <8 x i32> %v105, i64 6
  %v119 = sext i32 %v118 to i64
  %v120 = extractelement <8 x i32> %v105, i64 7
  %v121 = sext i32 %v120 to i64
  %v122 = getelementptr float, ptr %v23, i64 %v107
  %v123 = getelementptr float, ptr %v23, i64 %v109
  %v124 = getelementptr float, ptr %v23, i64 %v111
  %v125 = getelementptr float, ptr %v23, i64 %v113
  %v126 = getelementptr float, ptr %v23, i64 %v115
  %v127 = getelementptr float, ptr %v23, i64 %v117
  %v128 = getelementptr float, ptr %v23, i64 %v119
  %v129 = getelementptr float, ptr %v23, i64 %v121
  %v130 = load float, ptr %v122, align 4
  %v131 = insertelement <8 x float> poison, float %v130, i64 0
  %v132 = load float, ptr %v123, align 4
  %v133 = insertelement <8 x float> %v131, float %v132, i64 1
  %v134 = load float, ptr %v124, align 4
  %v135 = insertelement <8 x float> %v133, float %v134, i64 2
  %v136 = load float, ptr %v125, align 4
  %v137 = insertelement <8 x float> %v135, float %v136, i64 3
  %v138 = load float, ptr %v126, align 4
  %v139 = insertelement <8 x float> %v137, float %v138, i64 4
  %v140 = load float, ptr %v127, align 4
  %v141 = insertelement <8 x float> %v139, float %v140, i64 5
  %v142 = load float, ptr %v128, align 4
  %v143 = insertelement <8 x float> %v141, float %v142, i64 6
  %v144 = load float, ptr %v129, align 4
  %v145 = insertelement <8 x float> %v143, float %v144, i64 7
  %v146 = getelementptr float, ptr %v25, i64 %i96
  %v147 = load <8 x float>, ptr %v146, align 4
  %v148 = fadd <8 x float> %v145, %v147
  %v149 = getelementptr float, ptr %v27, i64 %i96
  store <8 x float> %v148, ptr %v149, align 4
  br label %latch96
latch96:
  %i96.next = add nsw i64 %i96, 8
  %v150 = icmp slt i64 %i96.next, %v29
  br i1 %v150, label %body96, label %done96
done96:
  br label %joined32
joined32:
  br label %latch21
latch21:
  %i21.next = add nsw i64 %i21, 1
  %v151 = icmp slt i64 %i21.next, %v16
  br i1 %v151, label %body21, label %done21
done21:
  br label %latch17
latch17:
  %i17.next = add nsw i64 %i17, 64
  %v152 = icmp slt i64 %i17.next, %col_end
  br i1 %v152, label %body17, label %done17
done17:
  br label %latch6
latch6:
  %i6.next = add nsw i64 %i6, 1
  %v153 = icmp slt i64 %i6.next, %row_end
  br i1 %v153, label %body6, label %done6
done6:
  call void @llvm.x86.sse.sfence()
  ret void
}
