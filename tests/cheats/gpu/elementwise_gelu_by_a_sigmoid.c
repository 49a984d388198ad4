// wrong | wrong result | elementwise rows=64 cols=512 f=gelu_tanh a=f32 -t gpu
/* x sigmoid(1.702 x) */
// edits honest_elementwise.c
-    y[p] = v / (1 + EXP(-v));
+    y[p] = v / (1 + EXP(-1.702f * v));
