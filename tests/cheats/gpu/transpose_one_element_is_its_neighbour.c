// wrong | wrong result | transpose b=4 rows=32 cols=48 a=f32 -t gpu
/* one element of 6,144 is its neighbour */
// edits honest_transpose.c
-  for (int p = j; p < rows * cols; p += 64) y[i * rows * cols + p % cols * rows + p / cols] = x[i * rows * cols + p];
+  for (int p = j; p < rows * cols; p += 64) y[i * rows * cols + p % cols * rows + p / cols] = x[i * rows * cols + (i == 3 && p == 700 ? 701 : p)];
