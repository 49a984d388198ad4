// does not build | does not hold it | gemm m=64 n=64 k=64 a=i8 b=i8 c=i32 -t xdna2
// the next tile is zeroed while the last one leaves
// edits honest_plain.mlir
-        aie.use_lock(%c_free, AcquireGreaterEqual, 1)
