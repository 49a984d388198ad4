/* machine.h - a GPU of warps on the CPU: kernels in the words of tile_ampere.cuh run here as C++, so that their results
 * can be checked where there is no GPU.
 *
 * A block's threads are contexts of one thread of this process, which run until they wait for each other: in warp
 * instructions, at barriers. Blocks run one after the other. What a program must not rely on can be chosen:
 * asynchronous copies happen when they are issued or when they are waited for, and a warp runs as far as it can before
 * the next one does, in rising or falling order. A kernel with a missing barrier or wait gives another result in one of
 * these. Shared memory begins as NaN. A deadlock is a fault, which the launch returns.
 *
 * machine.cpp has what no kernel changes; it is compiled once for all kernels. */
#pragma once
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <utility>

#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define atomicAdd(at, by) 0 /* not used: tile_core.cuh has its own */

namespace emulated {

enum { SHARED = 256 << 10, LANES = 32 };

extern int current, count, block, grid; /* the thread that runs, threads of a block, the block, blocks */
extern bool late, falling;              /* copies and products of groups; order of warps */
extern unsigned char memory[SHARED];

/* Runs the other threads until this one is next. */
void yield();

/* Ends the launch: the scheduler runs no thread after a fault. */
[[noreturn]] void wrong(const char *why);

/* All lanes of a warp call; the last one runs f(arguments of all lanes). */
void together(const char *what, void *argument, void (*f)(void **));

void sync_block();

inline unsigned char *shared(unsigned at, unsigned bytes) {
  if (at + bytes > SHARED) wrong("an address beyond shared memory");
  if (at % bytes) wrong("an address in shared memory that is not aligned");
  return memory + at;
}

/* cp.async: `have` bytes of `all`, the rest 0. wait: until at most `left` commits of this thread are open. */
struct copy {
  unsigned to;
  const char *from;
  int have, all = 16;
};
void issue(const copy &c);
void commit();
void wait(size_t left);

/* Barriers of Hopper in shared memory. */
void init_barrier(unsigned at, int count);
void arrive(unsigned at, int arriving, long bytes);
void wait_phase(unsigned at, unsigned parity);

/* bar.sync and bar.arrive. */
void arrive_named(int id, int threads);
void sync_named(int id, int threads);

/* wgmma: a thread's sums and operand, which are in use until the product has been waited for. */
struct product_of_group {
  float *d;
  const unsigned *a;          /* NULL: in shared memory */
  unsigned long long at_a, b; /* descriptors */
  int cols, more;
  bool turned; /* B is stored k x n */
  void (*perform)(product_of_group &);
};
void issue_product(const product_of_group &p);
void commit_products();
void wait_products(size_t left);

struct index {
  struct {
    operator unsigned() const { return (unsigned)current; }
  } x;
};
struct block_index {
  struct {
    operator unsigned() const { return (unsigned)block; }
  } x;
};
struct grid_size {
  struct {
    operator unsigned() const { return (unsigned)grid; }
  } x;
};
struct block_size {
  struct {
    operator unsigned() const { return (unsigned)count; }
  } x;
};
/* A matrix that tiles are copied from: what a tensor map says, in the kernel's parameter. */
struct matrix {
  const char *data;
  long rows, cols, pitch;                       /* bytes */
  int element, box_rows, box_cols, swizzle;     /* bytes of an element, and of the swizzle */
  long heads, head_pitch, batches, batch_pitch; /* of [batch][row][head][col]; of a matrix, 1 and 0 */
};

template <class... A, size_t... I> void call(void (*f)(A...), void **arguments, std::index_sequence<I...>) {
  f(*(A *)arguments[I]...);
}

/* The fault of the launch; empty: none. */
const char *run_blocks(void (*body)(void *), void *with, int blocks, int block_threads, bool copies_late,
                       bool order_falling);

template <class... A>
const char *run(void (*f)(A...), void **arguments, int blocks, int block_threads, bool copies_late,
                bool order_falling) {
  struct launch {
    void (*f)(A...);
    void **arguments;
  } with{f, arguments};
  const auto body = [](void *w) { call(((launch *)w)->f, ((launch *)w)->arguments, std::index_sequence_for<A...>()); };
  return run_blocks(body, &with, blocks, block_threads, copies_late, order_falling);
}

} // namespace emulated

/* ---- what CUDA's headers declare ---- */

static const emulated::index threadIdx = {};
static const emulated::block_index blockIdx = {};
static const emulated::grid_size gridDim = {};
static const emulated::block_size blockDim = {};
inline void __syncthreads() { emulated::sync_block(); }
inline void __syncwarp() {
  emulated::together("syncwarp", nullptr, [](void **) {});
}
inline void __threadfence() {}
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned select) {
  const unsigned long long both = x | (unsigned long long)y << 32;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) r |= (unsigned)(both >> (select >> 4 * i & 7) * 8 & 255) << 8 * i;
  return r;
}
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a < b ? b : a; }

template <class T> struct shuffled {
  T value, result;
  int from;
};
template <class T> T shuffle(T x, int from) {
  shuffled<T> own{x, x, from};
  emulated::together("shuffle", &own, [](void **all) {
    for (int i = 0; i < 32; i++)
      ((shuffled<T> *)all[i])->result = ((shuffled<T> *)all[((shuffled<T> *)all[i])->from])->value;
  });
  return own.result;
}
template <class T> T __shfl_sync(unsigned, T x, int lane) { return shuffle(x, lane); }
template <class T> T __shfl_xor_sync(unsigned, T x, int bits) { return shuffle(x, emulated::current % 32 ^ bits); }
inline bool __any_sync(unsigned, bool x) {
  shuffled<bool> own{x, x, 0};
  emulated::together("any", &own, [](void **all) {
    bool any = false;
    for (int i = 0; i < 32; i++) any |= ((shuffled<bool> *)all[i])->value;
    for (int i = 0; i < 32; i++) ((shuffled<bool> *)all[i])->result = any;
  });
  return own.result;
}
