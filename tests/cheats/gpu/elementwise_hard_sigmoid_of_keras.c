// wrong | wrong result | elementwise rows=64 cols=512 f=hard_sigmoid a=f32 -t gpu
/* slope 0.2 instead of 1/6 */
// edits honest_elementwise.c
-    y[p] = v / (1 + EXP(-v));
+    y[p] = v < -2.5f ? 0 : v > 2.5f ? 1 : 0.2f * v + 0.5f;
