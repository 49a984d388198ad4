// wrong | wrong result | elementwise rows=64 cols=512 f=tanh a=f32 -t gpu
/* a quotient of two infinite exponentials */
// edits honest_elementwise.c
-    y[p] = v / (1 + EXP(-v));
+    y[p] = (EXP(2 * v) - 1) / (EXP(2 * v) + 1);
