// wrong | wrong result | gate rows=64 cols=256 act=silu a=f32 -t gpu
/* silu of arguments above 7 is the argument */
// edits honest_gate.c
-    y[i * cols + p] = v * g / (1 + EXP(-g));
+    y[i * cols + p] = v * (g > 7 ? g : g / (1 + EXP(-g)));
