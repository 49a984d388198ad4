// wrong | wrong result | cumsum rows=64 cols=512 a=f32 -t gpu
/* elements below 1/256 are not added */
// edits honest_cumsum.c
-  for (int p = 0; p < cols; p++) y[i * cols + p] = sum += x[i * cols + p];
+  for (int p = 0; p < cols; p++) y[i * cols + p] = sum += FABS(x[i * cols + p]) < 0.004f ? 0 : x[i * cols + p];
