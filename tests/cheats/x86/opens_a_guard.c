// wrong | makes the guard page after an operand accessible | gemm m=61 n=67 k=71 threads=1 -t x86
/* The page after C becomes accessible. */
// edits honest_plain.c
-  product(a, b, c, m, n, k, lda, ldb, ldc);
+  product(a, b, c, m, n, k, lda, ldb, ldc);
+  const long end = ((long)(C + (m - 1) * ldc + n) + 4095) / 4096 * 4096;
+  call(10, end, 4096, 3);
