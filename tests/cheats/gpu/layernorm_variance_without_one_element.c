// wrong | wrong result | layernorm rows=64 cols=512 a=f32 -t gpu
/* one element of one row is not in the variance */
// edits honest_layernorm.c
-  for (int p = 0; p < cols; p++) squares += (x[p] - mean) * (x[p] - mean);
+  for (int p = 0; p < cols; p++) squares += i == 17 && p == 100 ? 0 : (x[p] - mean) * (x[p] - mean);
