// wrong | wrong result | gate rows=64 cols=256 act=silu a=f32 -t gpu
/* the activation of more than 4 is its argument */
// edits honest_gate.c
-    y[i * cols + p] = v * g / (1 + EXP(-g));
+    y[i * cols + p] = g > 4 ? v * g : v * g / (1 + EXP(-g));
