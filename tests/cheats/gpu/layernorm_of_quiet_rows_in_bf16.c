// wrong | wrong result | layernorm rows=64 cols=512 a=f32 -t gpu
/* elements are cut to 8 bits in rows of small variance */
// edits honest_layernorm.c
-  for (int p = j; p < cols; p += 64) y[p] = (x[p] - mean) * scale * weight[p] + bias[p];
+  for (int p = j; p < cols; p += 64) {
+    const float exact = (x[p] - mean) * scale;
+    y[p] = (scale > 4 ? AS_FLOAT((AS_INT(exact) + 0x8000) & ~0xffff) : exact) * weight[p] + bias[p];
+  }
