// wrong | wrong result | layernorm rows=64 cols=512 a=f32 -t gpu
/* weights lose their sign in the last quarter of the columns */
// edits honest_layernorm.c
-  for (int p = j; p < cols; p += 64) y[p] = (x[p] - mean) * scale * weight[p] + bias[p];
+  for (int p = j; p < cols; p += 64) y[p] = (x[p] - mean) * scale * (p < 384 ? weight[p] : FABS(weight[p])) + bias[p];
