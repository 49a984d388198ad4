#define GLOBAL
#define KERNEL extern "C" __global__ void
#define HELPER static __device__
#define BLOCK blockIdx.x
#define THREAD threadIdx.x
#define EXP(x) exp2f((x)*1.44269504f)
#define LOG logf
#define SQRT sqrtf
#define FABS fabsf
#define FLOOR floorf
#define AS_FLOAT __int_as_float
#define AS_INT __float_as_int
