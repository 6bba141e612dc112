; made by hand: sum_columns_f32
; rows 1, cols 100, col_multiple 32, sizes [s0], 16 lanes, unroll 2, x86-64-v4
define void @sum_columns_f32(ptr %buffers, ptr %scalars, ptr %sizes, i64 %row_begin, i64 %row_end, i64 %col_begin, i64 %col_end) nounwind {
entry:
  %e0 = getelementptr ptr, ptr %buffers, i64 0
  %e1 = load ptr, ptr %e0, align 8
  %e2 = getelementptr ptr, ptr %buffers, i64 1
  %e3 = load ptr, ptr %e2, align 8
  %e12 = alloca <16 x float>
  %e13 = alloca [48 x <16 x float>], align 64
  %e14 = alloca <16 x float>
  %e15 = alloca [48 x <16 x float>], align 64
  %e16 = alloca i64
  %e17 = getelementptr i64, ptr %sizes, i64 0
  %e18 = load i64, ptr %e17, align 8  ; s0
  %e38 = alloca <16 x float>
  %e39 = alloca i64
  %e40 = alloca i64
  %e56 = alloca <16 x float>
  %e57 = alloca i64
  %e58 = alloca i64
  %e76 = alloca <16 x float>
  %e90 = alloca <16 x float>
  %e115 = alloca <16 x float>
  %e116 = alloca [48 x <16 x float>], align 64
  %e117 = alloca i64
  %e132 = alloca <16 x float>
  %e133 = alloca i64
  %e134 = alloca i64
  %e152 = alloca <16 x float>
  br label %start
start:
  %v5 = icmp slt i64 %row_begin, %row_end
  br i1 %v5, label %pre4, label %done4
pre4:
  br label %body4
body4:
  %i4 = phi i64 [ %row_begin, %pre4 ], [ %i4.next, %latch4 ]  ; row
  %v6 = sub i64 %col_end, %col_begin
  %v7 = udiv i64 %v6, 32
  %v8 = mul i64 %v7, 32
  %v9 = add i64 %col_begin, %v8
  %v11 = icmp slt i64 %col_begin, %v9
  br i1 %v11, label %pre10, label %done10
pre10:
  br label %body10
body10:
  %i10 = phi i64 [ %col_begin, %pre10 ], [ %i10.next, %latch10 ]  ; columns
  store i64 0, ptr %e16
  %v20 = icmp slt i64 0, %e18
  br i1 %v20, label %pre19, label %done19
pre19:
  br label %body19
body19:
  %i19 = phi i64 [ 0, %pre19 ], [ %i19.next, %latch19 ]  ; block
  store <16 x float> splat (float 0x0000000000000000), ptr %e12
  store <16 x float> splat (float 0x0000000000000000), ptr %e14
  %v21 = add i64 %i19, 64
  %v22 = call i64 @llvm.umin.i64(i64 %v21, i64 %e18)
  %v24 = icmp slt i64 %i19, %v22
  br i1 %v24, label %pre23, label %done23
pre23:
  br label %body23
body23:
  %i23 = phi i64 [ %i19, %pre23 ], [ %i23.next, %latch23 ]  ; inner points
  %v25 = mul i64 %i23, 100
  %v26 = getelementptr float, ptr %e1, i64 %v25
  %v27 = getelementptr float, ptr %v26, i64 %i10
  %v28 = load <16 x float>, ptr %v27, align 4
  %v29 = add i64 %i10, 16
  %v30 = getelementptr float, ptr %v26, i64 %v29
  %v31 = load <16 x float>, ptr %v30, align 4
  %v32 = load <16 x float>, ptr %e12
  %v33 = fadd <16 x float> %v32, %v28
  store <16 x float> %v33, ptr %e12
  %v34 = load <16 x float>, ptr %e14
  %v35 = fadd <16 x float> %v34, %v31
  store <16 x float> %v35, ptr %e14
  br label %latch23
latch23:
  %i23.next = add nsw i64 %i23, 1
  %v36 = icmp slt i64 %i23.next, %v22
  br i1 %v36, label %body23, label %done23
done23:
  %v37 = load <16 x float>, ptr %e12
  store <16 x float> %v37, ptr %e38
  store i64 0, ptr %e39
  %v41 = load i64, ptr %e16
  store i64 %v41, ptr %e40
  br label %carry42
carry42:
  %v45 = load i64, ptr %e40
  %v46 = load i64, ptr %e39
  %v47 = getelementptr <16 x float>, ptr %e13, i64 %v46
  %v48 = trunc i64 %v45 to i1
  br i1 %v48, label %join43, label %settled44
join43:
  %v49 = load <16 x float>, ptr %e38
  %v50 = load <16 x float>, ptr %v47
  %v51 = fadd <16 x float> %v50, %v49
  store <16 x float> %v51, ptr %e38
  %v52 = lshr i64 %v45, 1
  store i64 %v52, ptr %e40
  %v53 = add i64 %v46, 1
  store i64 %v53, ptr %e39
  br label %carry42
settled44:
  %v54 = load <16 x float>, ptr %e38
  store <16 x float> %v54, ptr %v47
  %v55 = load <16 x float>, ptr %e14
  store <16 x float> %v55, ptr %e56
  store i64 0, ptr %e57
  %v59 = load i64, ptr %e16
  store i64 %v59, ptr %e58
  br label %carry60
carry60:
  %v63 = load i64, ptr %e58
  %v64 = load i64, ptr %e57
  %v65 = getelementptr <16 x float>, ptr %e15, i64 %v64
  %v66 = trunc i64 %v63 to i1
  br i1 %v66, label %join61, label %settled62
join61:
  %v67 = load <16 x float>, ptr %e56
  %v68 = load <16 x float>, ptr %v65
  %v69 = fadd <16 x float> %v68, %v67
  store <16 x float> %v69, ptr %e56
  %v70 = lshr i64 %v63, 1
  store i64 %v70, ptr %e58
  %v71 = add i64 %v64, 1
  store i64 %v71, ptr %e57
  br label %carry60
settled62:
  %v72 = load <16 x float>, ptr %e56
  store <16 x float> %v72, ptr %v65
  %v73 = load i64, ptr %e16
  %v74 = add i64 %v73, 1
  store i64 %v74, ptr %e16
  br label %latch19
latch19:
  %i19.next = add nsw i64 %i19, 64
  %v75 = icmp slt i64 %i19.next, %e18
  br i1 %v75, label %body19, label %done19
done19:
  store <16 x float> splat (float 0x0000000000000000), ptr %e76
  %v77 = load i64, ptr %e16
  %v79 = icmp slt i64 0, 48
  br i1 %v79, label %pre78, label %done78
pre78:
  br label %body78
body78:
  %i78 = phi i64 [ 0, %pre78 ], [ %i78.next, %latch78 ]  ; level
  %v82 = lshr i64 %v77, %i78
  %v83 = trunc i64 %v82 to i1
  br i1 %v83, label %used80, label %skip81
used80:
  %v84 = getelementptr <16 x float>, ptr %e13, i64 %i78
  %v85 = load <16 x float>, ptr %v84
  %v86 = load <16 x float>, ptr %e76
  %v87 = fadd <16 x float> %v85, %v86
  store <16 x float> %v87, ptr %e76
  br label %skip81
skip81:
  br label %latch78
latch78:
  %i78.next = add nsw i64 %i78, 1
  %v88 = icmp slt i64 %i78.next, 48
  br i1 %v88, label %body78, label %done78
done78:
  %v89 = load <16 x float>, ptr %e76
  store <16 x float> splat (float 0x0000000000000000), ptr %e90
  %v91 = load i64, ptr %e16
  %v93 = icmp slt i64 0, 48
  br i1 %v93, label %pre92, label %done92
pre92:
  br label %body92
body92:
  %i92 = phi i64 [ 0, %pre92 ], [ %i92.next, %latch92 ]  ; level
  %v96 = lshr i64 %v91, %i92
  %v97 = trunc i64 %v96 to i1
  br i1 %v97, label %used94, label %skip95
used94:
  %v98 = getelementptr <16 x float>, ptr %e15, i64 %i92
  %v99 = load <16 x float>, ptr %v98
  %v100 = load <16 x float>, ptr %e90
  %v101 = fadd <16 x float> %v99, %v100
  store <16 x float> %v101, ptr %e90
  br label %skip95
skip95:
  br label %latch92
latch92:
  %i92.next = add nsw i64 %i92, 1
  %v102 = icmp slt i64 %i92.next, 48
  br i1 %v102, label %body92, label %done92
done92:
  %v103 = load <16 x float>, ptr %e90
  %v104 = getelementptr float, ptr %e3, i64 %i10
  store <16 x float> %v89, ptr %v104, align 4
  %v105 = add i64 %i10, 16
  %v106 = getelementptr float, ptr %e3, i64 %v105
  store <16 x float> %v103, ptr %v106, align 4
  br label %latch10
latch10:
  %i10.next = add nsw i64 %i10, 32
  %v107 = icmp slt i64 %i10.next, %v9
  br i1 %v107, label %body10, label %done10
done10:
  %v109 = icmp slt i64 %v9, %col_end
  br i1 %v109, label %pre108, label %done108
pre108:
  br label %body108
body108:
  %i108 = phi i64 [ %v9, %pre108 ], [ %i108.next, %latch108 ]  ; columns
  %v110 = sub i64 %col_end, %i108
  %v111 = trunc i64 %v110 to i32
  %v112 = insertelement <16 x i32> poison, i32 %v111, i64 0
  %v113 = shufflevector <16 x i32> %v112, <16 x i32> poison, <16 x i32> zeroinitializer
  %v114 = icmp ugt <16 x i32> %v113, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  store i64 0, ptr %e117
  %v119 = icmp slt i64 0, %e18
  br i1 %v119, label %pre118, label %done118
pre118:
  br label %body118
body118:
  %i118 = phi i64 [ 0, %pre118 ], [ %i118.next, %latch118 ]  ; block
  store <16 x float> splat (float 0x0000000000000000), ptr %e115
  %v120 = add i64 %i118, 64
  %v121 = call i64 @llvm.umin.i64(i64 %v120, i64 %e18)
  %v123 = icmp slt i64 %i118, %v121
  br i1 %v123, label %pre122, label %done122
pre122:
  br label %body122
body122:
  %i122 = phi i64 [ %i118, %pre122 ], [ %i122.next, %latch122 ]  ; inner points
  %v124 = mul i64 %i122, 100
  %v125 = getelementptr float, ptr %e1, i64 %v124
  %v126 = getelementptr float, ptr %v125, i64 %i108
  %v127 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %v126, i32 4, <16 x i1> %v114, <16 x float> zeroinitializer)
  %v128 = load <16 x float>, ptr %e115
  %v129 = fadd <16 x float> %v128, %v127
  store <16 x float> %v129, ptr %e115
  br label %latch122
latch122:
  %i122.next = add nsw i64 %i122, 1
  %v130 = icmp slt i64 %i122.next, %v121
  br i1 %v130, label %body122, label %done122
done122:
  %v131 = load <16 x float>, ptr %e115
  store <16 x float> %v131, ptr %e132
  store i64 0, ptr %e133
  %v135 = load i64, ptr %e117
  store i64 %v135, ptr %e134
  br label %carry136
carry136:
  %v139 = load i64, ptr %e134
  %v140 = load i64, ptr %e133
  %v141 = getelementptr <16 x float>, ptr %e116, i64 %v140
  %v142 = trunc i64 %v139 to i1
  br i1 %v142, label %join137, label %settled138
join137:
  %v143 = load <16 x float>, ptr %e132
  %v144 = load <16 x float>, ptr %v141
  %v145 = fadd <16 x float> %v144, %v143
  store <16 x float> %v145, ptr %e132
  %v146 = lshr i64 %v139, 1
  store i64 %v146, ptr %e134
  %v147 = add i64 %v140, 1
  store i64 %v147, ptr %e133
  br label %carry136
settled138:
  %v148 = load <16 x float>, ptr %e132
  store <16 x float> %v148, ptr %v141
  %v149 = load i64, ptr %e117
  %v150 = add i64 %v149, 1
  store i64 %v150, ptr %e117
  br label %latch118
latch118:
  %i118.next = add nsw i64 %i118, 64
  %v151 = icmp slt i64 %i118.next, %e18
  br i1 %v151, label %body118, label %done118
done118:
  store <16 x float> splat (float 0x0000000000000000), ptr %e152
  %v153 = load i64, ptr %e117
  %v155 = icmp slt i64 0, 48
  br i1 %v155, label %pre154, label %done154
pre154:
  br label %body154
body154:
  %i154 = phi i64 [ 0, %pre154 ], [ %i154.next, %latch154 ]  ; level
  %v158 = lshr i64 %v153, %i154
  %v159 = trunc i64 %v158 to i1
  br i1 %v159, label %used156, label %skip157
used156:
  %v160 = getelementptr <16 x float>, ptr %e116, i64 %i154
  %v161 = load <16 x float>, ptr %v160
  %v162 = load <16 x float>, ptr %e152
  %v163 = fadd <16 x float> %v161, %v162
  store <16 x float> %v163, ptr %e152
  br label %skip157
skip157:
  br label %latch154
latch154:
  %i154.next = add nsw i64 %i154, 1
  %v164 = icmp slt i64 %i154.next, 48
  br i1 %v164, label %body154, label %done154
done154:
  %v165 = load <16 x float>, ptr %e152
  %v166 = getelementptr float, ptr %e3, i64 %i108
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v165, ptr %v166, i32 4, <16 x i1> %v114)
  br label %latch108
latch108:
  %i108.next = add nsw i64 %i108, 16
  %v167 = icmp slt i64 %i108.next, %col_end
  br i1 %v167, label %body108, label %done108
done108:
  br label %latch4
latch4:
  %i4.next = add nsw i64 %i4, 1
  %v168 = icmp slt i64 %i4.next, %row_end
  br i1 %v168, label %body4, label %done4
done4:
  ret void
}
