// wrong | changes registers that a function must keep | gemm m=61 n=67 k=71 threads=1 -t x86
/* Arguments are removed from the stack, as in other conventions. */
// edits destroys_a_register.c
-        "xor %ebx, %ebx\n\t"
-        "ret\n");
+        "ret $8\n");
