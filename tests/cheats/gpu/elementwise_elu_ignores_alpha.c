// wrong | wrong result | elementwise rows=64 cols=512 f=elu alpha=0.9 a=f32 -t gpu
/* alpha is 1 */
// edits honest_elementwise.c
-    y[p] = v / (1 + EXP(-v));
+    y[p] = v > 0 ? v : EXP(v) - 1;
