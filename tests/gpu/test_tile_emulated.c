/* Kernels of mma.sync, and some of Hopper's pipelines, give the right results: they run on the CPU, on the GPU of
 * tests/gpu/emulated, and are judged as on a device. Each runs four times: with copies that arrive at once or only when
 * they are waited for, and warps in both orders. */
#include "gpu/kernel_text.h"
#include "test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/files.h"
#include "base/process.h"
#include "target/cuda/build.h"
#include "target/cuda/plain.h"
#include "target/cuda/tiles.h"
#include "tilewright/extend/extend.h"

typedef struct kernel_case {
  const char *config, *problem;
  /* Empty: the plain kernel. */
  const char *schedule;
} kernel_case;

static const kernel_case cases[] = {
    {"a100-sxm", "gemm m=70 n=56 k=72 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1 bias=row relu=1",
     "tile m=64 n=32 k=32 warps_m=2 warps_n=2;stages 3;rasterize n=2"},
    {"a100-sxm", "gemm m=40 n=72 k=200 a=f16 b=f16 c=f32 acc=f32 a_transposed=1",
     "tile m=32 n=64 k=64 warps_m=1 warps_n=2;split_k_workspace 2"},
    {"a100-sxm", "gemm m=33 n=40 k=72 a=f32 b=f32 c=f32 acc=f32 b_transposed=1 arithmetic=tf32 bias=full",
     "tile m=32 n=32 k=32 warps_m=2 warps_n=1"},
    {"l40s", "gemm m=33 n=48 k=144 a=e4m3 b=e4m3 c=bf16 acc=f32 b_transposed=1 arithmetic=fast_accum scales=row",
     "tile m=32 n=32 k=64 warps_m=2 warps_n=1"},
    {"a100-sxm", "gemm m=33 n=48 k=144 a=u8 b=i8 c=i32 acc=i32 bias=row", "tile m=32 n=32 k=64 warps_m=1 warps_n=2"},
    {"a100-sxm", "attention b=2 hq=4 hkv=2 sq=70 sk=90 d=64 causal=1 a=bf16",
     "tile queries=64 keys=32 warps=4;stages 2"},
    {"a100-sxm", "attention b=1 hq=2 hkv=1 sq=45 sk=77 d=96 a=f16", "tile queries=64 keys=16 warps=2;stages 1"},
    {"a100-sxm", "attention b=1 hq=2 hkv=1 sq=70 sk=90 d=32 causal=1 pass=backward a=bf16", "tile queries=32 keys=64"},
    {"a100-sxm", "attention b=1 hq=1 hkv=1 sq=45 sk=37 d=64 pass=backward a=f16", "tile queries=64 keys=32;stages 3"},
    {"a100-sxm", "attention b=1 hq=2 hkv=2 sq=70 sk=110 d=32 causal=1 window=37 a=bf16",
     "tile queries=32 keys=16 warps=2;stages 2"},
    {"a100-sxm", "attention b=1 hq=2 hkv=1 sq=45 sk=77 d=32 softcap=3 a=bf16", "tile queries=64 keys=16 warps=2"},
    {"a100-sxm", "attention b=2 hq=8 hkv=2 sq=1 sk=150 d=64 a=bf16", "decode keys=16 warps=2;split_kv 3;stages 3"},
    {"a100-sxm", "attention b=3 hq=4 hkv=1 sq=5 sk=90 d=96 causal=1 window=40 softcap=5 lengths=1 a=f16",
     "decode keys=32 warps=2;stages 2"},
    {"a100-sxm", "attention b=3 hq=6 hkv=2 sq=2 sk=100 d=32 causal=1 lengths=1 page=16 a=bf16",
     "decode keys=32 warps=1;split_kv 2"},
    {"a100-sxm", "attention b=5 hq=2 hkv=1 sq=70 sk=70 d=64 causal=1 tokens=150 a=bf16",
     "tile queries=32 keys=32 warps=2;stages 2"},
    {"a100-sxm", "attention b=3 hq=4 hkv=2 sq=40 sk=110 d=64 causal=1 lengths=1 page=16 a=bf16",
     "tile queries=32 keys=32 warps=2;stages 2"},
    {"a100-sxm", "attention b=2 hq=2 hkv=1 sq=70 sk=100 d=96 causal=1 window=30 lengths=1 page=32 a=f16",
     "tile queries=64 keys=16 warps=4;stages 1"},
    {"a100-sxm", "attention b=2 hq=2 hkv=2 sq=20 sk=77 d=32 page=48 a=bf16", "tile queries=32 keys=16 warps=2"},
    {"a100-sxm", "attention b=3 hq=2 hkv=1 sq=33 sk=90 d=64 lengths=1 softcap=4 a=bf16",
     "tile queries=64 keys=32 warps=4"},
    {"t4", "elementwise rows=7 cols=37 f=tanh a=f32", ""},
    {"t4", "elementwise rows=7 cols=37 f=gelu_erf a=f32", ""},
    {"t4", "elementwise rows=5 cols=33 f=softplus a=f32", ""},
    {"t4", "elementwise rows=5 cols=33 f=divide a=f32", ""},
    {"a100-sxm", "rotary b=2 h=4 s=5 d=64 ldx=320 a=bf16", "heads 2;threads 64"},
    {"a100-sxm", "rotary b=2 h=2 s=3 d=16 ldx=40 interleaved=1 a=f32", "heads 1;threads 64"},
    {"a100-sxm", "elementwise rows=7 cols=48 f=divide a=f32", "chunks 2;threads 64"},
    {"t4", "reduce outer=3 n=70 inner=37 f=argmax a=f32", ""},
    {"t4", "reduce outer=5 n=129 f=mean of=smooth_l1 a=bf16", ""},
    {"a100-sxm", "reduce outer=3 n=70 inner=40 f=max a=bf16", "lanes 2;threads 64"},
    {"a100-sxm", "reduce outer=2 n=301 inner=12 f=argmin a=f32", "lanes 4;split 3;loads 2;threads 32"},
    {"a100-sxm", "reduce outer=4 n=4096 f=norm a=f16", "lanes 32;threads 64"},
    {"a100-sxm", "reduce outer=1 n=40001 f=sum a=f32", "split 16;threads 128"},
    {"a100-sxm", "reduce outer=2 n=1024 f=argmax a=bf16", "lanes 16;split 2;loads 1;threads 32"},
    {"a100-sxm", "reduce outer=7 n=36 inner=1 f=min a=f32", "lanes 2;threads 32"},
    {"a100-sxm", "reduce outer=2 n=33 inner=16400 f=mean of=square a=f16", "lanes 1;split 2"},
    {"a100-sxm", "reduce outer=3 n=1000 f=sum of=squared_difference a=f32", "lanes 64;threads 128;loads 8"},
    {"a100-sxm", "reduce outer=3 n=50 inner=6 f=sum of=abs a=f32", "lanes 8;threads 64"},
    {"a100-sxm", "reduce outer=5 n=1028 f=mean of=hinge shared=1 a=f32", "lanes 16;split 2;threads 64"},
    {"a100-sxm", "reduce outer=3 n=50 inner=24 of=squared_difference shared=1 a=bf16", "lanes 8;threads 64"},
    {"a100-sxm", "layernorm rows=3 cols=5000 a=f32", "split_row blocks=5;threads 64;chunks 2"},
    {"a100-sxm", "layernorm rows=2 cols=3000 norm=rms a=bf16", "split_row blocks=3;threads 96"},
    {"a100-sxm", "layernorm rows=6 cols=1200 groups=3 span=300 a=f32", "split_row blocks=2;threads 64"},
    {"a100-sxm", "layernorm rows=4 cols=1000 affine=0 a=f32", "split_row blocks=3;threads 64"},
    {"a100-sxm", "layernorm rows=4 cols=1200 groups=2 norm=rms a=bf16", "split_row blocks=2;threads 32"},
    {"a100-sxm", "layernorm rows=9 cols=1000 a=f32", "split_row blocks=3;threads 64;lag 2"},
    {"a100-sxm", "layernorm rows=3 cols=1001 norm=abs affine=0 eps=0 a=f32", "split_row blocks=2;threads 64;lag 3"},
    {"a100-sxm", "layernorm rows=4 cols=1001 norm=l2 affine=0 a=bf16", "split_row blocks=3;threads 32;chunks 16"},
    {"a100-sxm", "layernorm rows=2 cols=1001 a=f16", "split_row blocks=1;threads 64;lag 1"},
    {"a100-sxm", "layernorm rows=6 cols=1216 groups=3 span=304 norm=rms a=bf16", "split_row blocks=2;threads 64;lag 4"},
    {"a100-sxm", "layernorm rows=5 cols=1000 norm=rms quantize=e4m3 a=bf16", "row warps=2"},
    {"a100-sxm", "layernorm rows=9 cols=516 residual=1 quantize=e4m3 a=f32", "row warps=1;block rows=4"},
    {"a100-sxm", "layernorm rows=2 cols=30 inner=140 norm=rms affine=0 a=f32", "row warps=4;block rows=2"},
    {"a100-sxm", "layernorm rows=3 cols=16 inner=36 a=f32", "row warps=1;block rows=1"},
    {"a100-sxm", "layernorm rows=2 cols=50 inner=88 a=bf16", "row warps=8;streaming"},
    {"a100-sxm", "layernorm rows=2 cols=37 inner=75 norm=rms a=f16", "row warps=2"},
    {"a100-sxm", "layernorm rows=2 cols=48 inner=40 norm=abs affine=0 eps=0 a=f16", "row warps=8;block rows=1"},
    {"a100-sxm", "layernorm rows=2 cols=300 inner=36 a=f32", "row warps=8;block rows=1"},
    {"a100-sxm", "layernorm rows=1 cols=16 inner=300 norm=l2 affine=0 a=f32", "row warps=1"},
    {"t4", "layernorm rows=3 cols=40 inner=7 a=f32", ""},
    {"t4", "layernorm rows=2 cols=300 inner=5 norm=rms affine=0 a=f32", ""},
    {"a100-sxm", "softmax rows=5 cols=2052 a=f32", "split_row blocks=3;threads 64;lag 1"},
    {"a100-sxm", "softmax rows=3 cols=4104 a=f16", "split_row blocks=7;threads 32;chunks 1"},
    {"a100-sxm", "softmax rows=3 cols=2052 log=1 a=f32", "split_row blocks=3;threads 64"},
    {"a100-sxm", "softmax rows=9 cols=520 log=1 a=bf16", "row warps=2"},
    {"a100-sxm", "pool n=2 h=13 w=37 r=4 s=4 pad=1 a=f32", "outputs 4;threads 64"},
    {"a100-sxm", "pool n=2 h=11 w=20 r=3 s=3 stride=2 pad=1 f=mean a=bf16", "outputs 2"},
    {"a100-sxm", "pool n=3 w=100 s=8 pad=4 dilation=3 a=f32", "outputs 1"},
    {"a100-sxm", "pool n=2 d=9 h=10 w=11 t=3 r=3 s=3 stride=2 pad=1 dilation=2 a=f16", "outputs 4"},
    {"a100-sxm", "pool n=2 d=9 h=10 w=11 t=3 r=3 s=3 stride=2 pad=1 f=mean a=f32", "threads 32"},
    {"a100-sxm", "pool n=3 w=1000 s=8 pad=4 dilation=3 a=f32", "vectors 2;threads 64"},
    {"a100-sxm", "pool n=2 w=600 s=7 pad=3 f=mean a=bf16", "vectors 1;threads 32"},
    {"a100-sxm", "pool n=2 h=5 w=328 r=3 s=3 pad=1 dilation=2 a=f16", "vectors 1"},
    {"a100-sxm", "pool n=1 d=3 h=4 w=64 t=2 r=2 s=5 pad=1 f=mean a=f32", "vectors 4;threads 64"},
    {"a100-sxm", "pool n=2 w=500 s=24 dilation=7 f=mean a=f32", "vectors 3;threads 96"},
    {"a100-sxm", "cumsum rows=3 cols=5000 a=f32", "chunks 2;threads 64"},
    {"a100-sxm", "cumsum rows=2 cols=1000 a=bf16", "chunks 4;threads 32;streaming"},
    {"a100-sxm", "cumsum rows=3 cols=777 reverse=1 a=f32", "chunks 1;threads 128"},
    {"a100-sxm", "cumsum rows=3 cols=2056 reverse=1 exclusive=1 a=f16", "threads 64"},
    {"a100-sxm", "cumsum rows=2 cols=333 exclusive=1 a=f32", "chunks 1"},
    {"a100-sxm", "cumsum rows=3 cols=1300 masked=1 a=f32", "chunks 2;threads 64"},
    {"a100-sxm", "cumsum rows=2 cols=777 masked=1 reverse=1 a=f32", "threads 64"},
    {"a100-sxm", "cumsum rows=2 cols=2056 masked=1 reverse=1 exclusive=1 a=bf16", "chunks 4;threads 32;streaming"},
    {"a100-sxm", "softmax rows=2 cols=2052 a=f32", "split_row blocks=1;threads 128"},
    {"a100-sxm", "attention b=4 hq=2 hkv=2 sq=90 sk=90 d=32 tokens=101 a=f16",
     "tile queries=64 keys=16 warps=2;stages 1"},
    {"a100-sxm", "attention b=2 hq=2 hkv=2 sq=1 sk=100 d=128 page=48 a=bf16", "decode keys=16 warps=2;split_kv 5"},
    {"h200", "gemm m=5 n=70 k=1264 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1", "sliced_k n=64 rows=32 warps=2"},
    {"h200", "gemm m=1 n=100 k=1408 a=bf16 b=mxfp4 c=f32 acc=f32 packed=1",
     "sliced_k n=96 rows=16 warps=3;register_prefetch 3"},
    {"h200", "gemm m=2 n=70 k=1280 a=bf16 b=i4 c=bf16 acc=f32 group=256 packed=1",
     "sliced_k n=64 rows=32 warps=4;register_prefetch 2"},
    {"h200", "gemm m=9 n=70 k=1280 a=bf16 b=i4 c=bf16 acc=f32 packed=1 bias=row", "sliced_k n=80 rows=16 warps=2"},
    {"h200", "gemm m=2 n=70 k=1536 a=bf16 b=ternary c=f32 acc=f32 packed=1", "sliced_k n=64 rows=16 warps=3"},
    {"h200", "gemm m=17 n=40 k=1304 a=bf16 b=ternary c=bf16 acc=f32 packed=1",
     "sliced_k n=32 rows=32 warps=2;register_prefetch 6"},
    {"h200", "gemm m=5 n=100 k=1280 a=bf16 b=i4 c=f32 acc=f32 group=128 packed=1 bias=row",
     "swap_ab n=64 k=512 consumers=2;stages 2"},
    {"h200", "gemm m=13 n=70 k=1056 a=bf16 b=i4 c=bf16 acc=f32 packed=1",
     "swap_ab n=64 k=256 consumers=1;stages 3;prefetch_weights 1"},
    {"h200", "gemm m=24 n=200 k=1536 a=bf16 b=i4 c=bf16 acc=f32 group=256 packed=1",
     "swap_ab n=128 k=512 consumers=4;stages 2"},
    {"h200", "gemm m=9 n=70 k=632 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1", "swap_ab n=64 k=256 consumers=2;stages 2"},
    {"h200", "gemm m=31 n=130 k=1104 a=bf16 b=ternary c=bf16 acc=f32 packed=1",
     "swap_ab n=128 k=512 consumers=2;stages 2"},
    {"h200", "gemm m=13 n=70 k=1056 a=bf16 b=i4 c=bf16 acc=f32 group=96 packed=1",
     "skinny n=64 k=768 rows=32 warps=2;stages 2"},
    {"h200", "gemm m=3 n=100 k=704 a=bf16 b=i4 c=f32 acc=f32 packed=1 bias=row",
     "skinny n=32 k=256 rows=16 warps=2;stages 3"},
    {"h200", "gemm m=9 n=70 k=600 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1", "skinny n=64 k=256 rows=64 warps=4"},
    {"h200", "gemm m=17 n=50 k=1104 a=bf16 b=ternary c=bf16 acc=f32 packed=1",
     "skinny n=48 k=512 rows=16 warps=2;stages 2"},
    {"h200", "gemm m=9 n=70 k=1376 a=bf16 b=i4 c=f32 acc=f32 group=32 packed=1 bias=row",
     "skinny n=32 k=256 rows=32 warps=2;stages 2;prefetch_weights 1"},
    {"h200", "gemm m=5 n=70 k=600 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1",
     "skinny n=64 k=256 rows=64 warps=4;stages 4;prefetch_weights 1"},
    {"h200", "gemm m=32 n=40 k=640 a=bf16 b=i4 c=f32 acc=f32 group=128 packed=1",
     "skinny n=16 k=512 rows=16 warps=8;stages 2"},
    {"h200", "gemm m=5 n=70 k=328 a=f16 b=f16 c=f16 acc=f32 b_transposed=1",
     "skinny n=32 k=128 rows=32 warps=2;stages 2"},
    {"h200", "gemm m=13 n=80 k=1088 a=bf16 b=i4 c=bf16 acc=f32 group=64 packed=1 shuffle=mma bias=row",
     "skinny n=64 k=512 rows=32 warps=4;stages 2"},
    {"h200", "gemm m=32 n=48 k=1280 a=bf16 b=i4 c=f32 acc=f32 group=128 packed=1 shuffle=mma",
     "skinny n=32 k=256 rows=16 warps=2;stages 3;prefetch_weights 1"},
    {"h200", "gemm m=3 n=48 k=704 a=bf16 b=i4 c=f32 acc=f32 packed=1 shuffle=mma", "skinny n=48 k=256 rows=48 warps=2"},
    {"h200", "gemm m=9 n=80 k=640 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1 shuffle=mma",
     "skinny n=64 k=512 rows=64 warps=4;stages 2"},
    {"h200", "gemm m=17 n=48 k=1152 a=bf16 b=ternary c=bf16 acc=f32 packed=1 shuffle=mma",
     "skinny n=48 k=512 rows=16 warps=2;stages 2"},
    {"h200", "gemm m=5 n=112 k=1280 a=bf16 b=i4 c=f32 acc=f32 group=128 packed=1 shuffle=mma bias=row",
     "swap_ab n=64 k=512 consumers=2;stages 2"},
    {"h200", "gemm m=13 n=80 k=1088 a=bf16 b=i4 c=bf16 acc=f32 packed=1 shuffle=mma",
     "swap_ab n=64 k=256 consumers=1;stages 3;prefetch_weights 1"},
    {"h200", "gemm m=24 n=208 k=1536 a=bf16 b=i4 c=bf16 acc=f32 group=256 packed=1 shuffle=mma",
     "swap_ab n=128 k=256 consumers=4;stages 2"},
    {"h200", "gemm m=9 n=80 k=640 a=bf16 b=mxfp4 c=bf16 acc=f32 packed=1 shuffle=mma",
     "swap_ab n=64 k=256 consumers=2;stages 2"},
    {"h200", "gemm m=31 n=144 k=1152 a=bf16 b=ternary c=bf16 acc=f32 packed=1 shuffle=mma",
     "swap_ab n=128 k=512 consumers=2;stages 2"},
    {"h200", "gemm m=31 n=144 k=1152 a=bf16 b=i4 c=bf16 acc=f32 group=128 packed=1 shuffle=mma",
     "swap_ab n=112 k=256 consumers=4;stages 2"},
    {"h200", "gemm m=17 n=80 k=640 a=bf16 b=mxfp4 c=f32 acc=f32 packed=1 shuffle=mma bias=row",
     "swap_ab n=48 k=256 consumers=2;stages 2;prefetch_weights 1"},
    {"h200", "attention b=3 hq=4 hkv=2 sq=40 sk=110 d=64 causal=1 lengths=1 page=16 a=bf16",
     "tile keys=64 consumers=1;stages 2"},
    {"h200", "attention b=2 hq=2 hkv=1 sq=70 sk=200 d=96 causal=1 window=30 lengths=1 page=48 a=bf16",
     "tile keys=64 consumers=2;stages 2"},
    {"h200", "attention b=2 hq=2 hkv=2 sq=20 sk=300 d=128 page=128 softcap=4 a=bf16",
     "tile keys=64 consumers=1;stages 3"},
    {"h200", "attention b=3 hq=2 hkv=1 sq=33 sk=190 d=64 lengths=1 a=bf16",
     "tile keys=64 consumers=2;pingpong;persistent;stages 1"},
};
/* Pipelines of Hopper with the fewest stages. A kernel with too few would wait for ever. */
static const kernel_case pipelines[] = {
    {"h200", "attention b=2 hq=2 hkv=1 sq=200 sk=300 d=64 causal=1 a=bf16", "tile keys=64 consumers=1;stages 1"},
    {"h200", "attention b=1 hq=2 hkv=2 sq=150 sk=300 d=64 a=bf16", "tile keys=64 consumers=2;stages 1"},
    {"h200", "attention b=2 hq=2 hkv=1 sq=150 sk=200 d=64 pitch=264 causal=1 a=bf16",
     "tile keys=64 consumers=1;stages 1"},
    {"h200", "attention b=2 hq=2 hkv=1 sq=200 sk=200 d=64 causal=1 a=bf16",
     "tile keys=64 consumers=2;pingpong;stages 1"},
    {"h200", "attention b=2 hq=4 hkv=2 sq=140 sk=200 d=128 a=bf16",
     "tile keys=64 consumers=2;pingpong;persistent;stages 1"},
    {"h200", "gemm m=200 n=100 k=328 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1",
     "tile m=128 n=64 consumers=2;stages 2"},
    {"h200",
     "gemm m=200 n=200 k=136 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1 rotary=halves head=64 heads=2 positions=37",
     "tile m=128 n=128 consumers=2;stages 2"},
    {"h200", "gemm m=150 n=96 k=72 a=bf16 b=bf16 c=f32 acc=f32 rotary=halves head=32 heads=3 positions=150 scale=0.5",
     "tile m=64 n=64 consumers=2 pingpong;stages 2"},
    {"h200",
     "gemm m=100 n=75 k=72 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1 rotary=interleaved head=18 heads=3 "
     "positions=11",
     "tile m=64 n=48 consumers=1;stages 3"},
    {"h200", "gemm m=200 n=104 k=136 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1 bias=full d=c ldd=112",
     "tile m=128 n=64 consumers=2;stages 2"},
    {"h200", "gemm m=200 n=160 k=136 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1 glu=silu glu_pass=sums",
     "tile m=128 n=192 consumers=2;stages 2;epilogue_stages 2"},
    {"h200", "gemm m=150 n=96 k=72 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1 glu=gelu_erf glu_pass=sums ldc=296",
     "tile m=64 n=64 consumers=2 pingpong;stages 2;epilogue_stages 2"},
    {"h200", "gemm m=200 n=192 k=136 a=bf16 b=bf16 c=bf16 acc=f32 glu=silu glu_pass=backward ldd=576",
     "tile m=128 n=128 consumers=2;stages 2;epilogue_stages 2"},
    {"h200", "gemm m=150 n=128 k=72 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1 glu=gelu_tanh glu_pass=backward",
     "tile m=64 n=64 consumers=2 pingpong;stages 2"},
    {"h200", "gemm m=100 n=144 k=328 a=bf16 b=bf16 c=bf16 acc=f32 b_transposed=1 glu=silu",
     "tile m=64 n=96 consumers=1;stages 3;epilogue_stages 2"},
    {"h200", "gemm m=300 n=136 k=328 a=bf16 b=bf16 c=bf16 acc=f32", "tile m=64 n=64 consumers=2 pingpong;stages 2"},
    {"h200", "gemm m=200 n=72 k=200 a=bf16 b=bf16 c=f32 acc=f32 b_transposed=1",
     "tile m=128 n=64 consumers=2;promote k=128;stages 2"},
};
enum { CASES = sizeof cases / sizeof *cases, ARGUMENT = 128 };

/* As `matrix` in emulated/machine.h. */
typedef struct matrix {
  const char *data;
  long rows, cols, pitch;
  int element, box_rows, box_cols, swizzle;
  long heads, head_pitch, batches, batch_pitch;
} matrix;

static void write_text(const char *directory, const char *name, const char *text, size_t length) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  assert_int_equal(tw_file_write(path, text, length, NULL), TW_OK);
}

/* The library's headers, except the ones that the emulated GPU replaces. Its tile_core.cuh includes the library's. */
static void write_headers(const char *directory) {
  const tw_embedded *e;
  for (size_t i = 0; (e = tw_embedded_at(i)); i++) {
    const char *name = cuda_header(e);
    if (!name || strstr(name, "_instructions.cuh")) continue;
    if (strcmp(name, "tile_core.cuh") != 0) {
      write_text(directory, name, (const char *)e->data, e->size);
      continue;
    }
    char *text = strndup((const char *)e->data, e->size), *at = strstr(text, "extern __shared__");
    assert_non_null(at); /* `static` here */
    memset(at + strlen("extern"), ' ', strlen(" __shared__"));
    write_text(directory, "tile_core_gpu.cuh", text, strlen(text));
    free(text);
  }
}

/* The source with its lets before it, and after it a function for each kernel of the launch. */
static void write_source(const char *directory, const tw_launch *l, const char *source) {
  tw_text t = {0};
  for (size_t i = 0; i < l->n_lets; i++) {
    const bool is_int = l->let[i].value >= INT32_MIN && l->let[i].value <= INT32_MAX;
    tw_text_add(&t, "enum : %s { %s = %lld };\n", is_int ? "int" : "long long", l->let[i].name,
                (long long)l->let[i].value);
  }
  tw_text_add(&t, "%s\n", source);
  for (size_t i = 0; i < l->n_kernels; i++)
    tw_text_add(
        &t,
        "extern \"C\" const char *emulate_%s(void **arguments, int blocks, int threads, int late, int falling) {\n"
        "  return emulated::run(%s, arguments, blocks, threads, late, falling);\n}\n",
        l->kernel[i].name, l->kernel[i].name);
  char *text = tw_text_take(&t);
  write_text(directory, "kernel.cpp", text, strlen(text));
  free(text);
}

/* The folder of the compiled machine.h and machine.cpp, which take half of each kernel's time otherwise. */
static char *machine;

/* Without _FORTIFY_SOURCE, whose longjmp rejects jumps from one stack to another: machine.cpp changes threads so. */
static void compile(const char *directory, const char *const input[4], const char *output, const char *what) {
  const char *const argv[] = {"c++",    "-std=c++17",
                              "-O1",    "-w",
                              "-fPIC",  "-U_FORTIFY_SOURCE",
                              "-I",     TW_TEST_DATA "/../gpu/emulated",
                              "-I.",    "-o",
                              output,   input[0],
                              input[1], input[2],
                              input[3], NULL};
  const tw_process_options options = {.argv = argv, .directory = directory, .seconds = 300};
  tw_process_result result;
  tw_error error = {0};
  assert_int_equal(tw_process_run(&options, &result, &error), TW_OK);
  if (result.exit_status) fail_msg("%s: %s", what, result.output);
  tw_process_result_free(&result);
}

static void *load(const char *directory, const char *name, int scope) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  void *library = dlopen(path, RTLD_NOW | scope);
  if (!library) fail_msg("%s", dlerror());
  return library;
}

/* machine.so stays loaded: kernels use its functions. */
static void compile_machine(void) {
  const char *const header[4] = {"-x", "c++-header", TW_TEST_DATA "/../gpu/emulated/machine.h"},
                    *const library[4] = {"-shared", TW_TEST_DATA "/../gpu/emulated/machine.cpp"};
  assert_int_equal(tw_directory_temporary(&machine, NULL), TW_OK);
  compile(machine, header, "machine.h.gch", "machine.h");
  compile(machine, library, "machine.so", "machine.cpp");
  load(machine, "machine.so", RTLD_GLOBAL);
}

static void *compiled(const kernel_case *c, const char *directory) {
  char include[512], what[512];
  if (!machine) compile_machine();
  snprintf(include, sizeof include, "%s/machine.h", machine);
  snprintf(what, sizeof what, "%s; %s", c->problem, c->schedule);
  const char *const kernel[4] = {"-shared", "-include", include, "kernel.cpp"};
  compile(directory, kernel, "kernel.so", what);
  return load(directory, "kernel.so", RTLD_LOCAL);
}

/* The fault of the launch; empty: none. */
typedef const char *emulate(void **arguments, int blocks, int threads, int late, int falling);

static matrix matrix_of(const tw_launch_map *m, void *const operands[]) {
  const bool heads = m->rank == 4; /* [batch][row][head][col] */
  const int row = heads ? 2 : 1;
  assert_true((m->rank == 2 || heads) && m->operand != TW_LAUNCH_NO_OPERAND);
  return (matrix){.data = (const char *)operands[m->operand] + m->offset,
                  .rows = m->dims[row],
                  .cols = m->dims[0],
                  .pitch = m->strides[row - 1],
                  .element = tw_type_bits(m->type) / 8,
                  .box_rows = (int)m->box[row],
                  .box_cols = (int)m->box[0],
                  .swizzle = m->swizzle,
                  .heads = heads ? m->dims[1] : 1,
                  .head_pitch = heads ? m->strides[0] : 0,
                  .batches = heads ? m->dims[3] : 1,
                  .batch_pitch = heads ? m->strides[2] : 0};
}

static tw_status start(void *library, const tw_launch *l, const tw_launch_kernel *k, void *const operands[],
                       char *workspace, bool late, bool falling, tw_error *error) {
  char name[TW_LAUNCH_NAME + 16];
  _Alignas(64) char value[TW_LAUNCH_ARGUMENTS][ARGUMENT];
  void *arguments[TW_LAUNCH_ARGUMENTS];
  emulate *run;
  for (size_t i = 0; i < k->n_arguments; i++) {
    const tw_launch_argument *a = &k->argument[i];
    const int32_t small = (int32_t)a->integer;
    const float real = (float)a->real;
    const char *inside = workspace + (a->kind == TW_LAUNCH_WORKSPACE ? a->integer : 0);
    arguments[i] = value[i];
    switch (a->kind) {
    case TW_LAUNCH_OPERAND: memcpy(value[i], &operands[a->index], sizeof operands[0]); break;
    case TW_LAUNCH_MAP: {
      const matrix map = matrix_of(&l->map[a->index], operands);
      memcpy(value[i], &map, sizeof map);
      break;
    }
    case TW_LAUNCH_WORKSPACE: memcpy(value[i], &inside, sizeof inside); break;
    case TW_LAUNCH_I32: memcpy(value[i], &small, sizeof small); break;
    case TW_LAUNCH_I64: memcpy(value[i], &a->integer, sizeof a->integer); break;
    case TW_LAUNCH_F32: memcpy(value[i], &real, sizeof real); break;
    default: fail_msg("%s has an argument that is not emulated", k->name);
    }
  }
  snprintf(name, sizeof name, "emulate_%s", k->name);
  *(void **)&run = dlsym(library, name);
  assert_non_null(run);
  const char *fault = run(arguments, (int)k->grid[0], (int)k->block[0], late, falling);
  return *fault ? tw_fail(error, TW_FAILED, "%s: %s", k->name, fault) : TW_OK;
}

static tw_status judge(void *library, const tw_launch *l, const tw_problem *p, bool late, bool falling,
                       tw_error *error) {
  tw_case inputs;
  tw_coverage coverage;
  void *buffers[TW_OPERANDS_MAX];
  if (tw_case_make_inputs(p, 7, &inputs, error) != TW_OK) fail_msg("%s", error->text);
  char *workspace = malloc((size_t)l->workspace + 256);
  memset(workspace, 0xff, (size_t)l->workspace + 256);
  for (size_t i = 0; i < inputs.n_operands; i++) {
    const size_t bytes = inputs.operand[i].bytes;
    buffers[i] = aligned_alloc(64, (bytes + 63) / 64 * 64);
    memcpy(buffers[i], inputs.buffer[i], bytes);
  }
  tw_status status = TW_OK;
  for (size_t i = 0; status == TW_OK && i < l->n_kernels; i++)
    status = start(library, l, &l->kernel[i], buffers, (char *)(((uintptr_t)workspace + 255) / 256 * 256), late,
                   falling, error);
  const tw_effort effort = {.seed = 1, .threads = 1};
  if (status == TW_OK) status = tw_case_check(&inputs, buffers, &effort, &coverage, error);
  for (size_t i = 0; i < inputs.n_operands; i++) free(buffers[i]);
  free(workspace);
  tw_case_free(&inputs);
  return status;
}

/* Runs the case in four ways, `from` in its source replaced by `to`; the first verdict that is not "right". */
static tw_status run(const kernel_case *c, const char *from, const char *to, tw_error *error) {
  const tw_problem p = problem_of(c->problem);
  const tw_schedule s = schedule_of(c->schedule);
  const cuda_config *config = cuda_config_find(c->config);
  tw_launch l;
  char *source, *directory;
  const tw_status emitted = s.n ? cuda_tiles_emit(config, &p, &s, &source, error) : cuda_plain_rows(&p, &source, error);
  if (emitted != TW_OK || cuda_launch_of(config, &p, source, strlen(source), &l, error) != TW_OK)
    fail_msg("%s; %s: %s", c->problem, c->schedule, error->text);
  if (from) {
    char *at = strstr(source, from);
    if (!at || strlen(from) < strlen(to)) fail_msg("'%s' cannot be replaced", from);
    memset(at, ' ', strlen(from));
    memcpy(at, to, strlen(to));
  }
  assert_int_equal(tw_directory_temporary(&directory, error), TW_OK);
  write_headers(directory);
  write_source(directory, &l, source);
  void *library = compiled(c, directory);
  tw_status status = TW_OK;
  for (int way = 0; status == TW_OK && way < 4; way++) status = judge(library, &l, &p, way & 1, way & 2, error);
  dlclose(library);
  tw_directory_remove(directory);
  free(directory);
  free(source);
  return status;
}

static void need_compiler(void) {
  if (tw_process_find("c++")) return;
  print_message("c++ is not installed\n");
  skip();
}

static void kernels_are_right(void **state) {
  need_compiler();
  for (int i = 0; i < CASES; i++) {
    tw_error error = {0};
    if (run(&cases[i], NULL, NULL, &error) != TW_OK)
      fail_msg("%s; %s: %s", cases[i].problem, cases[i].schedule, error.text);
  }
}

static void pipelines_with_the_fewest_stages_end(void **state) {
  need_compiler();
  for (size_t i = 0; i < sizeof pipelines / sizeof *pipelines; i++) {
    tw_error error = {0};
    if (run(&pipelines[i], NULL, NULL, &error) != TW_OK)
      fail_msg("%s; %s: %s", pipelines[i].problem, pipelines[i].schedule, error.text);
  }
}

static const kernel_case *case_of(const char *schedule) {
  for (int i = 0; i < CASES; i++)
    if (strcmp(cases[i].schedule, schedule) == 0) return &cases[i];
  if (strcmp(pipelines[0].schedule, schedule) == 0) return &pipelines[0];
  fail_msg("no case has the schedule '%s'", schedule);
  return NULL;
}

/* The verdict's words; empty: any words, because values are wrong. */
static void a_missing_wait_or_barrier_is_found(void **state) {
  static const char *const gemm = "tile m=64 n=32 k=32 warps_m=2 warps_n=2;stages 3;rasterize n=2",
                           *const swap_ab = "swap_ab n=128 k=512 consumers=4;stages 2",
                           *const units = "skinny n=64 k=512 rows=32 warps=4;stages 2",
                           *const swap_units = "swap_ab n=128 k=256 consumers=4;stages 2", *const deadlock = "for ever";
  static const struct {
    const char *of, *from, *to, *words;
  } faults[] = {
      {gemm, "sync_block();\n        read_a", "read_a", ""},
      {"tile queries=64 keys=32 warps=4;stages 2", "sync_block();\n    if (j - STAGES >= 0)", "if (j - STAGES >= 0)",
       ""},
      {"tile queries=32 keys=64", "sync_block(); \n    warp_acc<DQ_ROWS", "warp_acc<DQ_ROWS", ""},
      {swap_ab, "ready[at.slot].wait(at.parity);", "", ""},
      {swap_ab, "arrived[at.slot].wait(at.parity);\n      sync_warp();\n      prepare_swapped", "prepare_swapped", ""},
      {swap_ab, "ready[at.slot].arrive();", ";", deadlock},
      {swap_ab, "empty[at.slot].arrive();", ";", deadlock},
      {units, "full[at.slot].wait(at.parity);\n      sync_warp();\n      u32 by", "u32 by", ""},
      {units, "empty[at.slot].arrive();", ";", deadlock},
      {"skinny n=64 k=512 rows=64 warps=4;stages 2", "if (k % STEP) scales_of.clear(THREADS);", "", ""},
      {swap_units, "full[at.slot].wait(at.parity);", "", ""},
      {"tile keys=64 consumers=1;stages 1", "k_empty[at_k.slot].arrive();", ";", deadlock},
  };
  need_compiler();
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    tw_error error = {0};
    if (run(case_of(faults[i].of), faults[i].from, faults[i].to, &error) == TW_OK)
      fail_msg("right without '%s'", faults[i].from);
    if (!strstr(error.text, faults[i].words)) fail_msg("without '%s': %s", faults[i].from, error.text);
  }
}

static int remove_machine(void **state) {
  if (machine) tw_directory_remove(machine);
  free(machine);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_are_right),
                                     cmocka_unit_test(pipelines_with_the_fewest_stages_end),
                                     cmocka_unit_test(a_missing_wait_or_barrier_is_found)};
  return cmocka_run_group_tests(tests, NULL, remove_machine);
}
