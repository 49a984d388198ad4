// wrong | wrong result | elementwise rows=64 cols=512 f=relu a=f32 -t gpu
/* one is added to the last element */
// edits honest_elementwise.c
-    y[p] = v / (1 + EXP(-v));
+    y[p] = (BLOCK == 63 && p == 511) ? v + 1 : (v > 0 ? v : 0);
