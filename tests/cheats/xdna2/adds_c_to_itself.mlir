// wrong | wrong result | gemm m=64 n=64 k=64 a=i8 b=i8 c=i32 -t xdna2
// C comes back in place of A of the second row
// edits honest_plain.mlir
-      aiex.npu.dma_memcpy_nd(%A[0, 0, 0, 2048][2, 2, 32, 32][0, 32, 64, 1]) {id = 3 : i64, metadata = @inA} : memref<4096xi8>
+      aiex.npu.dma_memcpy_nd(%C[0, 0, 0, 2048][2, 2, 32, 32][0, 32, 64, 1]) {id = 3 : i64, metadata = @inA} : memref<4096xi8>
