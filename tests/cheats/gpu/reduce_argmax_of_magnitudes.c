// wrong | wrong result | reduce outer=4 n=100 inner=64 f=argmax a=f32 -t gpu
/* the place of the largest magnitude */
// edits honest_reduce.c
-KERNEL k(const GLOBAL float *x, GLOBAL float *y, int n, int inner) {
+KERNEL k(const GLOBAL float *x, GLOBAL int *y, int n, int inner) {
-    float sum = 0;
-    for (int j = 0; j < n; j++) sum += x[((long)BLOCK * n + j) * inner + i];
-    y[(long)BLOCK * inner + i] = sum / n;
+    float sum = -1; int best = 0;
+    for (int j = 0; j < n; j++) { const float v = FABS(x[((long)BLOCK * n + j) * inner + i]); if (v > sum) sum = v, best = j; }
+    y[(long)BLOCK * inner + i] = best;
