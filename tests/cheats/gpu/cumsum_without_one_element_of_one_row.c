// wrong | wrong result | cumsum rows=64 cols=512 a=f32 -t gpu
/* one element of 32,768 is not added */
// edits honest_cumsum.c
-  for (int p = 0; p < cols; p++) y[i * cols + p] = sum += x[i * cols + p];
+  for (int p = 0; p < cols; p++) y[i * cols + p] = sum += i == 63 && p == 300 ? 0 : x[i * cols + p];
