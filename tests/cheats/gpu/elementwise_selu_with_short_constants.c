// wrong | wrong result | elementwise rows=64 cols=512 f=selu a=f32 -t gpu
/* constants of five digits */
// edits honest_elementwise.c
-    y[p] = v / (1 + EXP(-v));
+    y[p] = v > 0 ? 1.0507f * v : 1.7581f * (EXP(v) - 1);
