// wrong | wrong result | gate rows=64 cols=256 act=gelu_erf a=f32 -t gpu
/* gelu_tanh instead of gelu_erf */
// edits honest_gate.c
-    y[i * cols + p] = v * g / (1 + EXP(-g));
+    y[i * cols + p] = v * g * (1 - 1 / (EXP(1.5957691f * (g + 0.044715f * g * g * g)) + 1));
