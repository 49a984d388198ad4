// wrong | wrong result | softmax rows=64 cols=512 a=f32 -t gpu
/* the maximum is that of every eighth element: right unless one is far above them */
// edits honest_softmax.c
-  for (int p = 0; p < cols; p++) most = x[p] > most ? x[p] : most;
+  for (int p = 0; p < cols; p += 8) most = x[p] > most ? x[p] : most;
