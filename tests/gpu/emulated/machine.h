/* machine.h - a GPU of warps on the CPU: kernels in the words of tile_ampere.cuh run here as C++, so that their results
 * can be checked where there is no GPU.
 *
 * A block's threads are contexts of one thread of this process, which run until they wait for each other: in warp
 * instructions, at barriers. Blocks run one after the other. What a program must not rely on can be chosen:
 * asynchronous copies happen when they are issued or when they are waited for, and a warp runs as far as it can before
 * the next one does, in rising or falling order. A kernel with a missing barrier or wait gives another result in one of
 * these. Shared memory begins as NaN. A deadlock is a fault, which the launch returns. */
#pragma once
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <map>
#include <utility>
#include <vector>

#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define atomicAdd(at, by) 0 /* not used: tile_core.cuh has its own */

namespace emulated {

enum { THREADS_MAX = 1024, STACK = 256 << 10, SHARED = 256 << 10, LANES = 32 };

struct copy {
  unsigned to;
  const char *from;
  int have, all = 16;
};
struct thread {
  ucontext_t context;
  char *stack;
  bool done;
  std::vector<copy> open;                /* issued since the last commit */
  std::vector<std::vector<copy>> groups; /* committed, the oldest first */
};
struct warp {
  int arrived;
  unsigned turn;
  const char *what;
  void *argument[LANES];
};

inline thread threads[THREADS_MAX];
inline warp warps[THREADS_MAX / LANES];
inline ucontext_t scheduler;
inline int current, count, at_barrier, block, grid;
inline unsigned barrier_turn;
/* A barrier of Hopper: arrivals of a phase, arrivals and bytes that the current phase lacks, and its parity. */
struct arrivals {
  int all, missing;
  long bytes;
  unsigned parity;
};
inline std::map<unsigned, arrivals> barriers; /* by address */
inline long events;                           /* arrivals and ends of threads: whether anything moves */
inline bool late, falling;                    /* copies and products of groups; order of warps */
/* bar.sync and bar.arrive: threads that have arrived, and how often all have. */
struct named_barrier {
  int arrived;
  unsigned turn;
};
inline named_barrier named[16];
/* wgmma: a thread's sums and operand, which are in use until the product has been waited for. */
struct product_of_group {
  float *d;
  const unsigned *a;          /* NULL: in shared memory */
  unsigned long long at_a, b; /* descriptors */
  int cols, more;
  bool turned; /* B is stored k x n */
};
inline std::vector<product_of_group> batch[THREADS_MAX];                /* issued since the last commit */
inline std::vector<std::vector<product_of_group>> batches[THREADS_MAX]; /* committed, the oldest first */
alignas(1024) inline unsigned char memory[SHARED];

inline char fault[200]; /* the first fault of a launch, which ends there; empty: none */

inline void yield() { swapcontext(&threads[current].context, &scheduler); }

/* Ends the launch: the scheduler runs no thread after a fault. */
[[noreturn]] inline void wrong(const char *why) {
  snprintf(fault, sizeof fault, "block %d, thread %d: %s", block, current, why);
  for (;;) yield();
}

/* All lanes of a warp call; the last one runs f(arguments of all lanes). */
template <class F> void together(const char *what, void *argument, F f) {
  warp &w = warps[current / LANES];
  if (w.arrived && strcmp(w.what, what) != 0) wrong("threads of a warp are at different instructions");
  w.what = what;
  w.argument[current % LANES] = argument;
  events++;
  if (++w.arrived == LANES) {
    w.arrived = 0;
    w.turn++;
    f(w.argument);
    return;
  }
  for (const unsigned turn = w.turn; w.turn == turn;) yield();
}

inline void sync_block() {
  events++;
  if (++at_barrier == count) {
    at_barrier = 0;
    barrier_turn++;
    return;
  }
  for (const unsigned turn = barrier_turn; barrier_turn == turn;) yield();
}

inline unsigned char *shared(unsigned at, unsigned bytes) {
  if (at + bytes > SHARED) wrong("an address beyond shared memory");
  if (at % bytes) wrong("an address in shared memory that is not aligned");
  return memory + at;
}

inline void perform(const copy &c) {
  unsigned char *to = shared(c.to, (unsigned)c.all);
  memset(to, 0, (size_t)c.all);
  memcpy(to, c.from, (size_t)c.have);
}
inline void issue(const copy &c) {
  if (late)
    threads[current].open.push_back(c);
  else
    perform(c);
}
inline void commit() {
  threads[current].groups.push_back(std::move(threads[current].open));
  threads[current].open.clear();
}
inline void wait(size_t left) {
  auto &groups = threads[current].groups;
  while (groups.size() > left) {
    for (const copy &c : groups.front()) perform(c);
    groups.erase(groups.begin());
  }
}

inline void arrive(unsigned at, int arriving, long bytes) {
  if (!barriers.count(at)) wrong("a barrier that was not initialized");
  arrivals &b = barriers[at];
  b.missing -= arriving;
  b.bytes += bytes;
  events++;
  if (b.missing < 0) wrong("a barrier with more arrivals than it awaits");
  if (b.missing || b.bytes) return;
  b.missing = b.all;
  b.parity ^= 1;
}
inline void wait_phase(unsigned at, unsigned parity) {
  if (!barriers.count(at)) wrong("a barrier that was not initialized");
  while (barriers[at].parity == parity) yield();
}

inline void arrive_named(int id, int threads) {
  events++;
  if (++named[id].arrived > threads) wrong("a barrier with more threads than it awaits");
  if (named[id].arrived < threads) return;
  named[id].arrived = 0;
  named[id].turn++;
}
inline void sync_named(int id, int threads) {
  const unsigned turn = named[id].turn;
  arrive_named(id, threads);
  while (named[id].turn == turn) yield();
}

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

inline void (*body)(void *);
inline void *body_with;
inline void begin() {
  body(body_with);
  threads[current].done = true;
  events++;
  yield();
}

inline void run_block() {
  memset(memory, 0xff, sizeof memory);
  at_barrier = 0;
  for (warp &w : warps) w.arrived = 0;
  for (named_barrier &b : named) b.arrived = 0;
  barriers.clear();
  for (int i = 0; i < count; i++) {
    thread &t = threads[i];
    if (!t.stack) t.stack = (char *)malloc(STACK);
    t.done = false;
    t.open.clear();
    t.groups.clear();
    batch[i].clear();
    batches[i].clear();
    getcontext(&t.context);
    t.context.uc_stack.ss_sp = t.stack;
    t.context.uc_stack.ss_size = STACK;
    t.context.uc_link = nullptr;
    makecontext(&t.context, begin, 0);
  }
  const int n_warps = (count + LANES - 1) / LANES;
  for (int left = count; left;) {
    const long before = events;
    for (int i = 0; i < n_warps; i++) {
      const int first = (falling ? n_warps - 1 - i : i) * LANES;
      for (long seen = -1; seen != events;) {
        seen = events;
        for (current = first; current < first + LANES && current < count; current++)
          if (!threads[current].done && !*fault) swapcontext(&scheduler, &threads[current].context);
      }
    }
    if (*fault) return;
    left = 0;
    for (int i = 0; i < count; i++) left += !threads[i].done;
    if (left && events == before) {
      snprintf(fault, sizeof fault, "block %d: %d threads wait for each other for ever", block, left);
      return;
    }
  }
}

/* The fault of the launch; empty: none. */
template <class... A>
const char *run(void (*f)(A...), void **arguments, int blocks, int block_threads, bool copies_late,
                bool order_falling) {
  struct launch {
    void (*f)(A...);
    void **arguments;
  } with{f, arguments};
  body = [](void *w) { call(((launch *)w)->f, ((launch *)w)->arguments, std::index_sequence_for<A...>()); };
  body_with = &with;
  count = block_threads;
  grid = blocks;
  late = copies_late;
  falling = order_falling;
  *fault = 0;
  for (block = 0; block < blocks && !*fault; block++) run_block();
  return fault;
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
