// wrong | wrong result | mamba b=2 c=16 s=64 n=8 a=f32 -t gpu
/* steps below 0 do not make states grow */
// edits honest_mamba.c
-      h[q] = EXP(d * A[i % c * 8 + q]) * h[q] + d * u[i * s + t] * B[(i / c * 8 + q) * s + t];
+      h[q] = (d * A[i % c * 8 + q] > 0 ? 1 : EXP(d * A[i % c * 8 + q])) * h[q] + d * u[i * s + t] * B[(i / c * 8 + q) * s + t];
