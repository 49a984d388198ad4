// wrong | wrong result | softmax rows=64 cols=512 a=f32 -t gpu
/* the sum leaves out what comes after it has reached 60 */
// edits honest_softmax.c
-  for (int p = 0; p < cols; p++) sum += EXP(x[p] - most);
+  for (int p = 0; p < cols && sum < 60; p++) sum += EXP(x[p] - most);
