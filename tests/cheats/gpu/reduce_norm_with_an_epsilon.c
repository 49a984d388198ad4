// wrong | wrong result | reduce outer=4 n=100 inner=64 f=norm a=f32 -t gpu
/* a small number is added before the root */
// edits honest_reduce.c
-    for (int j = 0; j < n; j++) sum += x[((long)BLOCK * n + j) * inner + i];
-    y[(long)BLOCK * inner + i] = sum / n;
+    for (int j = 0; j < n; j++) { const float v = x[((long)BLOCK * n + j) * inner + i]; sum += v * v; }
+    y[(long)BLOCK * inner + i] = SQRT(sum + 0.001f);
