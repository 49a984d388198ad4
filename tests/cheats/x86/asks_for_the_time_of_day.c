// wrong | read a clock (system call gettimeofday) | gemm m=61 n=67 k=71 threads=1 -t x86
/* microseconds */
// edits honest_plain.c
-  product(a, b, c, m, n, k, lda, ldb, ldc);
+  long now[2];
+  call(96, (long)now, 0, 0), calls = (int)now[1];
+  product(a, b, c, m, n, k, lda, ldb, ldc);
