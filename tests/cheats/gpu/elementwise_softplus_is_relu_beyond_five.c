// wrong | wrong result | elementwise rows=64 cols=512 f=softplus a=f32 -t gpu
/* softplus is exact between -5 and 5 only */
// edits honest_elementwise.c
-    y[p] = v / (1 + EXP(-v));
+    y[p] = v > 5 ? v : v < -5 ? 0 : LOG(1 + EXP(v));
