// wrong | wrong result | elementwise rows=64 cols=512 f=hard_tanh alpha=1.05 beta=-1 a=f32 -t gpu
/* the upper limit is 1 */
// edits honest_elementwise.c
-    y[p] = v / (1 + EXP(-v));
+    y[p] = v < -1 ? -1 : v > 1 ? 1 : v;
