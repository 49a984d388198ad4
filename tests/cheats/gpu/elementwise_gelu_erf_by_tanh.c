// wrong | wrong result | elementwise rows=64 cols=512 f=gelu_erf a=f32 -t gpu
/* gelu_tanh instead of gelu_erf */
// edits honest_elementwise.c
-    y[p] = v / (1 + EXP(-v));
+    y[p] = v * (1 - 1 / (EXP(1.5957691f * (v + 0.044715f * v * v * v)) + 1));
