// correct |  | gemm m=16 n=32 k=256 a=mxfp4 b=mxfp4 c=f32 packed=1 shuffle=aiter -t cdna4
//: kernel gemm
// edits mx_ignores_the_order_of_scales.c
-  mx_right<mxfp4, 1, mx_in_rows, mx_in_rows> rows[1];
+  mx_right<mxfp4, 1, mx_in_rows, mx_in_tiles> rows[1];
-  mx_right<mxfp4, 1, mx_in_tiles, mx_in_rows> columns[1];
+  mx_right<mxfp4, 1, mx_in_tiles, mx_in_tiles> columns[1];
