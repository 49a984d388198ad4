// wrong | wrong result | mamba b=2 c=16 s=64 n=8 a=f32 -t gpu
/* C of the first sequence for all */
// edits honest_mamba.c
-      sum += C[(i / c * 8 + q) * s + t] * h[q];
+      sum += C[(0 * 8 + q) * s + t] * h[q];
