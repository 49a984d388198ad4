// wrong | wrong result | elementwise rows=64 cols=512 f=silu a=f32 -t gpu
/* results end at 30 */
// edits honest_elementwise.c
-    y[p] = v / (1 + EXP(-v));
+    y[p] = v > 30 ? 30 + 0 * v : v < -30 ? 0 : v / (1 + EXP(-v));
