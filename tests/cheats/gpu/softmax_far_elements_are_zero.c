// wrong | wrong result | softmax rows=64 cols=512 a=f32 -t gpu
/* elements 60 below the maximum are 0 */
// edits honest_softmax.c
-  for (int p = j; p < cols; p += 64) y[p] = EXP(x[p] - most) / sum;
+  for (int p = j; p < cols; p += 64) y[p] = x[p] - most < -60 ? 0 : EXP(x[p] - most) / sum;
