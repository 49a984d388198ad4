// wrong | still running | gemm m=64 n=64 k=64 -t gemmini-16x16-int8
void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) { for (;;) asm volatile(""); }
