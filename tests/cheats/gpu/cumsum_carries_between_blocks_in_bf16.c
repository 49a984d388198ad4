// wrong | wrong result | cumsum rows=64 cols=512 a=f32 -t gpu
/* the sum is cut to 8 bits after each 128 elements */
// edits honest_cumsum.c
-  for (int p = 0; p < cols; p++) y[i * cols + p] = sum += x[i * cols + p];
+  for (int p = 0; p < cols; p++) {
+    y[i * cols + p] = sum += x[i * cols + p];
+    if (p % 128 == 127) sum = AS_FLOAT((AS_INT(sum) + 0x8000) & ~0xffff);
+  }
