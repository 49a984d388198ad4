// correct |  | gemm m=64 n=64 k=64 a=f32 b=f32 c=bf16 acc=f32 -t cdna3
/* to the nearest bf16 */
// edits results_are_cut.c
-  c[i * n + j] = AS_INT(sum) >> 16;
+  c[i * n + j] = (AS_INT(sum) + 0x7fff + (AS_INT(sum) >> 16 & 1)) >> 16;
