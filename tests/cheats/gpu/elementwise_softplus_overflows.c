// wrong | wrong result | elementwise rows=64 cols=512 f=softplus a=f32 -t gpu
/* log(1 + exp(x)) without a limit */
// edits honest_elementwise.c
-    y[p] = v / (1 + EXP(-v));
+    y[p] = LOG(1 + EXP(v));
