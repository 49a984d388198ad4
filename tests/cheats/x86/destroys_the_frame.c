// wrong | changes registers that a function must keep | gemm m=61 n=67 k=71 threads=1 -t x86
/* The caller's rbp, with which it may find its variables, is lost. */
// edits destroys_a_register.c
-        "xor %ebx, %ebx\n\t"
+        "xor %ebp, %ebp\n\t"
