// wrong | values in x87 or MMX registers | gemm m=61 n=67 k=71 threads=1 -t x86
/* MMX without emms */
// edits honest_plain.c
-  product(a, b, c, m, n, k, lda, ldb, ldc);
+  product(a, b, c, m, n, k, lda, ldb, ldc);
+  __asm__ volatile("pxor %mm0, %mm0");
