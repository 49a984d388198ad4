// wrong | wrong result | gemm m=16 n=32 k=256 a=mxfp4 b=mxfp4 c=f32 packed=1 shuffle=aiter -t cdna4
/* a block has the scale of the block 128 before it */
// edits mx_ignores_the_order_of_scales.c
-  mx_right<mxfp4, 1, mx_in_rows, mx_in_rows> rows[1];
+  mx_right<mxfp4, 1, mx_in_rows, mx_in_tiles> rows[1];
-  mx_right<mxfp4, 1, mx_in_tiles, mx_in_rows> columns[1];
+  mx_right<mxfp4, 1, mx_in_tiles, mx_in_tiles> columns[1];
-  mx_multiply_packed(sums, rows[0], columns[0]);
+  columns[0].scales[0].all = (columns[0].scales[0].all & 0xffff) * 0x10001;
+  mx_multiply_packed(sums, rows[0], columns[0]);
