// wrong | wrong result | reduce outer=4 n=100 inner=64 f=mean a=f32 -t gpu
/* one element of 25,600 is not added */
// edits honest_reduce.c
-    for (int j = 0; j < n; j++) sum += x[((long)BLOCK * n + j) * inner + i];
+    for (int j = 0; j < n; j++) if (!(i == 63 && j == 50)) sum += x[((long)BLOCK * n + j) * inner + i];
