// wrong | wrong result | mamba b=2 c=16 s=64 n=8 a=f32 -t gpu
/* the last position is a copy */
// edits honest_mamba.c
-    y[i * s + t] = sum;
+    y[i * s + t] = t == s - 1 ? y[i * s + t - 1] : sum;
