// wrong | wrong result | elementwise rows=64 cols=512 f=leaky_relu alpha=0.01 a=f32 -t gpu
/* results end at -0.5 */
// edits honest_elementwise.c
-    y[p] = v / (1 + EXP(-v));
+    y[p] = v > 0 ? v : v < -50 ? -0.5f : 0.01f * v;
