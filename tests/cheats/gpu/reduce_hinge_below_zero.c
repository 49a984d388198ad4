// wrong | wrong result | reduce outer=4 n=100 inner=64 f=mean of=hinge a=f32 -t gpu
/* terms of a hinge may be below 0 */
// edits honest_reduce.c
-//: args x, y, n, inner
+//: args x, z, y, n, inner
-KERNEL k(const GLOBAL float *x, GLOBAL float *y, int n, int inner) {
+KERNEL k(const GLOBAL float *x, const GLOBAL float *z, GLOBAL float *y, int n, int inner) {
-    for (int j = 0; j < n; j++) sum += x[((long)BLOCK * n + j) * inner + i];
+    for (int j = 0; j < n; j++) sum += 1 - x[((long)BLOCK * n + j) * inner + i] * z[((long)BLOCK * n + j) * inner + i];
