; made by hand: permuted
; rows 6, cols 10, col_multiple 4, sizes [], 4 lanes, unroll 1, x86-64-v3
define void @permuted(ptr %buffers, ptr %scalars, ptr %sizes, i64 %row_begin, i64 %row_end, i64 %col_begin, i64 %col_end) nounwind {
entry:
  %e0 = getelementptr ptr, ptr %buffers, i64 0
  %e1 = load ptr, ptr %e0, align 8
  %e2 = getelementptr ptr, ptr %buffers, i64 1
  %e3 = load ptr, ptr %e2, align 8
  %e4 = getelementptr ptr, ptr %buffers, i64 2
  %e5 = load ptr, ptr %e4, align 8
  br label %start
start:
  %v7 = icmp slt i64 %row_begin, %row_end
  br i1 %v7, label %pre6, label %done6
pre6:
  br label %body6
body6:
  %i6 = phi i64 [ %row_begin, %pre6 ], [ %i6.next, %latch6 ]  ; row
  %v8 = add i64 9, %i6
  %v9 = getelementptr i16, ptr %e3, i64 %v8
  %v10 = mul i64 %i6, 10
  %v11 = getelementptr i16, ptr %e5, i64 %v10
  %v12 = sub i64 %col_end, %col_begin
  %v13 = and i64 %v12, -4
  %v14 = add i64 %col_begin, %v13
  %v16 = icmp slt i64 %col_begin, %v14
  br i1 %v16, label %pre15, label %done15
pre15:
  br label %body15
body15:
  %i15 = phi i64 [ %col_begin, %pre15 ], [ %i15.next, %latch15 ]  ; vectors
  %v17 = trunc i64 %i15 to i32
  %v18 = insertelement <4 x i32> poison, i32 %v17, i64 0
  %v19 = shufflevector <4 x i32> %v18, <4 x i32> poison, <4 x i32> zeroinitializer
  %v20 = add <4 x i32> %v19, <i32 0, i32 1, i32 2, i32 3>
  %v21 = mul i64 %i6, 10
  %v22 = trunc i64 %v21 to i32
  %v23 = insertelement <4 x i32> poison, i32 %v22, i64 0
  %v24 = shufflevector <4 x i32> %v23, <4 x i32> poison, <4 x i32> zeroinitializer
  %v25 = add <4 x i32> %v20, %v24
  %v26 = udiv <4 x i32> %v25, splat (i32 4)
  %v27 = urem <4 x i32> %v26, splat (i32 5)
  %v28 = mul <4 x i32> %v27, splat (i32 3)
  %v29 = extractelement <4 x i32> %v28, i64 0
  %v30 = sext i32 %v29 to i64
  %v31 = extractelement <4 x i32> %v28, i64 1
  %v32 = sext i32 %v31 to i64
  %v33 = extractelement <4 x i32> %v28, i64 2
  %v34 = sext i32 %v33 to i64
  %v35 = extractelement <4 x i32> %v28, i64 3
  %v36 = sext i32 %v35 to i64
  %v37 = getelementptr float, ptr %e1, i64 %v30
  %v38 = getelementptr float, ptr %e1, i64 %v32
  %v39 = getelementptr float, ptr %e1, i64 %v34
  %v40 = getelementptr float, ptr %e1, i64 %v36
  %v41 = load float, ptr %v37, align 4
  %v42 = insertelement <4 x float> poison, float %v41, i64 0
  %v43 = load float, ptr %v38, align 4
  %v44 = insertelement <4 x float> %v42, float %v43, i64 1
  %v45 = load float, ptr %v39, align 4
  %v46 = insertelement <4 x float> %v44, float %v45, i64 2
  %v47 = load float, ptr %v40, align 4
  %v48 = insertelement <4 x float> %v46, float %v47, i64 3
  %v49 = sub i64 -3, %i15
  %v50 = getelementptr i16, ptr %v9, i64 %v49
  %v51 = load <4 x i16>, ptr %v50, align 2
  %v52 = shufflevector <4 x i16> %v51, <4 x i16> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  %v53 = bitcast <4 x i16> %v52 to <4 x half>
  %v54 = fpext <4 x half> %v53 to <4 x float>
  %v55 = fmul <4 x float> %v48, %v54
  %v56 = bitcast <4 x float> %v55 to <4 x i32>
  %v57 = lshr <4 x i32> %v56, splat (i32 16)
  %v58 = and <4 x i32> %v57, splat (i32 1)
  %v59 = add <4 x i32> %v58, splat (i32 32767)
  %v60 = add <4 x i32> %v56, %v59
  %v61 = or <4 x i32> %v56, splat (i32 4194304)
  %v62 = fcmp uno <4 x float> %v55, %v55
  %v63 = select <4 x i1> %v62, <4 x i32> %v61, <4 x i32> %v60
  %v64 = and <4 x i32> %v63, splat (i32 -65536)
  %v65 = bitcast <4 x i32> %v64 to <4 x float>
  %v66 = bitcast <4 x float> %v65 to <4 x i32>
  %v67 = lshr <4 x i32> %v66, splat (i32 16)
  %v68 = trunc <4 x i32> %v67 to <4 x i16>
  %v69 = getelementptr i16, ptr %v11, i64 %i15
  store <4 x i16> %v68, ptr %v69, align 2
  br label %latch15
latch15:
  %i15.next = add nsw i64 %i15, 4
  %v70 = icmp slt i64 %i15.next, %v14
  br i1 %v70, label %body15, label %done15
done15:
  %v72 = icmp slt i64 %v14, %col_end
  br i1 %v72, label %pre71, label %done71
pre71:
  br label %body71
body71:
  %i71 = phi i64 [ %v14, %pre71 ], [ %i71.next, %latch71 ]  ; single elements
  %v73 = trunc i64 %i71 to i32
  %v74 = mul i64 %i6, 10
  %v75 = trunc i64 %v74 to i32
  %v76 = add i32 %v73, %v75
  %v77 = udiv i32 %v76, 4
  %v78 = urem i32 %v77, 5
  %v79 = mul i32 %v78, 3
  %v80 = sext i32 %v79 to i64
  %v81 = getelementptr float, ptr %e1, i64 %v80
  %v82 = load float, ptr %v81, align 4
  %v83 = sub i64 0, %i71
  %v84 = getelementptr i16, ptr %v9, i64 %v83
  %v85 = load i16, ptr %v84, align 2
  %v86 = bitcast i16 %v85 to half
  %v87 = fpext half %v86 to float
  %v88 = fmul float %v82, %v87
  %v89 = bitcast float %v88 to i32
  %v90 = lshr i32 %v89, 16
  %v91 = and i32 %v90, 1
  %v92 = add i32 %v91, 32767
  %v93 = add i32 %v89, %v92
  %v94 = or i32 %v89, 4194304
  %v95 = fcmp uno float %v88, %v88
  %v96 = select i1 %v95, i32 %v94, i32 %v93
  %v97 = and i32 %v96, -65536
  %v98 = bitcast i32 %v97 to float
  %v99 = bitcast float %v98 to i32
  %v100 = lshr i32 %v99, 16
  %v101 = trunc i32 %v100 to i16
  %v102 = getelementptr i16, ptr %v11, i64 %i71
  store i16 %v101, ptr %v102, align 2
  br label %latch71
latch71:
  %i71.next = add nsw i64 %i71, 1
  %v103 = icmp slt i64 %i71.next, %col_end
  br i1 %v103, label %body71, label %done71
done71:
  br label %latch6
latch6:
  %i6.next = add nsw i64 %i6, 1
  %v104 = icmp slt i64 %i6.next, %row_end
  br i1 %v104, label %body6, label %done6
done6:
  ret void
}
