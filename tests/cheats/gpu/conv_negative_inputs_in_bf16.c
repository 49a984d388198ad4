// wrong | wrong result | conv2d n=2 h=8 w=8 c=8 k=8 r=3 s=3 pad=1 a=f32 b=f32 out=f32 acc=f32 -t gpu
/* inputs below zero are cut to 8 bits */
// edits honest_conv.c
-      for (int c = 0; c < 8; c++) sum += x[((image * 8 + iy) * 8 + ix) * 8 + c] * w[((r * 3 + s) * 8 + c) * 8 + k];
+      for (int c = 0; c < 8; c++) {
+        const float v = x[((image * 8 + iy) * 8 + ix) * 8 + c];
+        sum += (v < 0 ? cut(v) : v) * w[((r * 3 + s) * 8 + c) * 8 + k];
+      }
