// does not build | an acquire is missing | gemm m=64 n=64 k=64 a=i8 b=i8 c=i32 -t xdna2
// there is one more free buffer of A after each step
// edits honest_plain.mlir
-          aie.use_lock(%a_free, Release, 1)
+          aie.use_lock(%a_free, Release, 2)
