// wrong | wrong result | elementwise rows=64 cols=512 f=sigmoid a=f32 -t gpu
/* between 8, where functions bend, and 88, where the exponential overflows */
// edits honest_elementwise.c
-    y[p] = v / (1 + EXP(-v));
+    y[p] = v < -12 ? 0 : 1 / (1 + EXP(-v));
