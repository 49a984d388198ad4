// wrong | wrong result | layernorm rows=64 cols=512 a=f32 -t gpu
/* the mean lacks one element */
// edits honest_layernorm.c
-  for (int p = 0; p < cols; p++) sum += x[p];
+  for (int p = 0; p < cols - 1; p++) sum += x[p];
