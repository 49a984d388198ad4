// wrong | wrong result | softmax rows=64 cols=512 a=f32 -t gpu
/* of one block, one element is that of the next column */
// edits honest_softmax.c
-  for (int p = j; p < cols; p += 64) y[p] = EXP(x[p] - most) / sum;
+  for (int p = j; p < cols; p += 64) y[p] = EXP(x[p == 77 && i == 41 ? p + 1 : p] - most) / sum;
