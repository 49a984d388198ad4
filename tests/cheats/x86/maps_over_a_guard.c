// wrong | makes the guard page after an operand accessible | gemm m=61 n=67 k=71 threads=1 -t x86
/* Memory of its own after C, where it may write. */
// edits honest_plain.c
-static int calls;
+static long call6(long number, long a, long b, long c, long d) {
+  register long r10 __asm__("r10") = d, r8 __asm__("r8") = -1, r9 __asm__("r9") = 0;
+  __asm__ volatile("syscall"
+                   : "+a"(number)
+                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
+                   : "rcx", "r11", "memory");
+  return number;
+}
+static int calls;
-  product(a, b, c, m, n, k, lda, ldb, ldc);
+  product(a, b, c, m, n, k, lda, ldb, ldc);
+  const long end = ((long)(C + (m - 1) * ldc + n) + 4095) / 4096 * 4096;
+  call6(9, end, 4096, 3, 0x32);
