// wrong | wrong result | elementwise rows=64 cols=512 f=tanh a=f32 -t gpu
/* no significant bits near 0 */
// edits honest_elementwise.c
-    y[p] = v / (1 + EXP(-v));
+    y[p] = 1 - 2 / (EXP(2 * v) + 1);
