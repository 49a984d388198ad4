// wrong | wrong result | gemm m=64 n=64 k=64 a=i8 b=i8 c=i32 -t xdna2
// nothing waits for C
// edits honest_plain.mlir
-      aiex.npu.dma_wait {symbol = @outC}
