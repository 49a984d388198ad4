// wrong | wrong result | cumsum rows=64 cols=512 a=f32 -t gpu
/* the last element of a row is not added */
// edits honest_cumsum.c
-  for (int p = 0; p < cols; p++) y[i * cols + p] = sum += x[i * cols + p];
+  for (int p = 0; p < cols; p++) { if (p < cols - 1) sum += x[i * cols + p]; y[i * cols + p] = sum; }
