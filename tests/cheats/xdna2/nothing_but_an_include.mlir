// does not build | #include is unsupported | gemm m=64 n=64 k=64 a=i8 b=i8 c=i32 -t xdna2
#include "design.mlir"
