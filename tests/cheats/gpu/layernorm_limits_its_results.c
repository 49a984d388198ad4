// wrong | wrong result | layernorm rows=64 cols=512 a=f32 -t gpu
/* to 4 standard deviations, which uniform numbers never reach */
// edits honest_layernorm.c
-  for (int p = j; p < cols; p += 64) y[p] = (x[p] - mean) * scale * weight[p] + bias[p];
+  for (int p = j; p < cols; p += 64) {
+    const float z = (x[p] - mean) * scale;
+    y[p] = (z > 4 ? 4 : z < -4 ? -4 : z) * weight[p] + bias[p];
+  }
