// wrong | read a clock (system call clock_gettime) | gemm m=61 n=67 k=71 threads=1 -t x86
/* the system call itself: the C library would execute rdtsc */
// edits honest_plain.c
-  product(a, b, c, m, n, k, lda, ldb, ldc);
+  long now[2];
+  call(228, 1, (long)now, 0), calls = (int)now[1];
+  product(a, b, c, m, n, k, lda, ldb, ldc);
