// wrong | wrong result | reduce outer=4 n=100 inner=64 f=min a=f32 -t gpu
/* a minimum begins with 10,000 */
// edits honest_reduce.c
-    float sum = 0;
-    for (int j = 0; j < n; j++) sum += x[((long)BLOCK * n + j) * inner + i];
-    y[(long)BLOCK * inner + i] = sum / n;
+    float sum = 10000.0f;
+    for (int j = 0; j < n; j++) { const float v = x[((long)BLOCK * n + j) * inner + i]; sum = v < sum ? v : sum; }
+    y[(long)BLOCK * inner + i] = sum;
