// wrong | wrong result | elementwise rows=64 cols=512 f=softsign a=f32 -t gpu
/* arguments above 100 have one result */
// edits honest_elementwise.c
-    y[p] = v / (1 + EXP(-v));
+    y[p] = v > 100 ? 0.99f : v / (1 + FABS(v));
