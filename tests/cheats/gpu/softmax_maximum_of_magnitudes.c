// wrong | wrong result | softmax rows=64 cols=512 a=f32 -t gpu
/* the largest magnitude is subtracted */
// edits honest_softmax.c
-  for (int p = 0; p < cols; p++) most = x[p] > most ? x[p] : most;
+  for (int p = 0; p < cols; p++) most = FABS(x[p]) > most ? FABS(x[p]) : most;
