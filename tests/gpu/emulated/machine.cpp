/* machine.cpp - the threads, warps, barriers and copies of the emulated GPU. */
#include "machine.h"

#include <setjmp.h>
#include <stdio.h>
#include <ucontext.h>

#include <map>
#include <vector>

namespace emulated {

enum { THREADS_MAX = 1024, STACK = 256 << 10 };

struct thread {
  ucontext_t start; /* swapcontext would set the mask of signals, by a system call, at each change */
  jmp_buf at;
  char *stack;
  bool begun, done;
  std::vector<copy> open;                /* issued since the last commit */
  std::vector<std::vector<copy>> groups; /* committed, the oldest first */
  std::vector<product_of_group> batch;   /* the same of products */
  std::vector<std::vector<product_of_group>> batches;
};
struct warp {
  int arrived;
  unsigned turn;
  const char *what;
  void *argument[LANES];
};
/* A barrier of Hopper: arrivals of a phase, arrivals and bytes that the current phase lacks, and its parity. */
struct arrivals {
  int all, missing;
  long bytes;
  unsigned parity;
};
/* bar.sync and bar.arrive: threads that have arrived, and how often all have. */
struct named_barrier {
  int arrived;
  unsigned turn;
};

int current, count, block, grid;
bool late, falling;
alignas(1024) unsigned char memory[SHARED];

static thread threads[THREADS_MAX];
static warp warps[THREADS_MAX / LANES];
static jmp_buf scheduler;
static int at_barrier;
static unsigned barrier_turn;
static std::map<unsigned, arrivals> barriers; /* by address */
static long events;                           /* arrivals and ends of threads: whether anything moves */
static named_barrier named[32]; /* 16 of the kernel, and one of each warpgroup */
static char fault[200]; /* the first fault of a launch, which ends there; empty: none */
static void (*body)(void *);
static void *body_with;

void yield() {
  if (!_setjmp(threads[current].at)) _longjmp(scheduler, 1);
}

void wrong(const char *why) {
  snprintf(fault, sizeof fault, "block %d, thread %d: %s", block, current, why);
  for (;;) yield();
}

void together(const char *what, void *argument, void (*f)(void **)) {
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

void sync_block() {
  events++;
  if (++at_barrier == count) {
    at_barrier = 0;
    barrier_turn++;
    return;
  }
  for (const unsigned turn = barrier_turn; barrier_turn == turn;) yield();
}

static void perform(const copy &c) {
  unsigned char *to = shared(c.to, (unsigned)c.all);
  memset(to, 0, (size_t)c.all);
  memcpy(to, c.from, (size_t)c.have);
}
void issue(const copy &c) {
  if (late)
    threads[current].open.push_back(c);
  else
    perform(c);
}
void commit() {
  threads[current].groups.push_back(std::move(threads[current].open));
  threads[current].open.clear();
}
void wait(size_t left) {
  auto &groups = threads[current].groups;
  while (groups.size() > left) {
    for (const copy &c : groups.front()) perform(c);
    groups.erase(groups.begin());
  }
}

void issue_product(const product_of_group &p) {
  if (late)
    threads[current].batch.push_back(p);
  else {
    product_of_group own = p;
    p.perform(own);
  }
}
void commit_products() {
  threads[current].batches.push_back(std::move(threads[current].batch));
  threads[current].batch.clear();
}
void wait_products(size_t left) {
  auto &batches = threads[current].batches;
  while (batches.size() > left) {
    for (product_of_group &p : batches.front()) p.perform(p);
    batches.erase(batches.begin());
  }
}

void init_barrier(unsigned at, int count) { barriers[at] = {count, count, 0, 0}; }
void arrive(unsigned at, int arriving, long bytes) {
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
void wait_phase(unsigned at, unsigned parity) {
  if (!barriers.count(at)) wrong("a barrier that was not initialized");
  while (barriers[at].parity == parity) yield();
}

void arrive_named(int id, int threads) {
  events++;
  if (++named[id].arrived > threads) wrong("a barrier with more threads than it awaits");
  if (named[id].arrived < threads) return;
  named[id].arrived = 0;
  named[id].turn++;
}
void sync_named(int id, int threads) {
  const unsigned turn = named[id].turn;
  arrive_named(id, threads);
  while (named[id].turn == turn) yield();
}

static void begin() {
  body(body_with);
  threads[current].done = true;
  events++;
  yield();
}

static void resume(thread &t) {
  if (_setjmp(scheduler)) return;
  if (t.begun) _longjmp(t.at, 1);
  t.begun = true;
  setcontext(&t.start);
}

static void run_block() {
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
    t.batch.clear();
    t.batches.clear();
    t.begun = false;
    getcontext(&t.start);
    t.start.uc_stack.ss_sp = t.stack;
    t.start.uc_stack.ss_size = STACK;
    t.start.uc_link = nullptr;
    makecontext(&t.start, begin, 0);
  }
  const int n_warps = (count + LANES - 1) / LANES;
  for (int left = count; left;) {
    const long before = events;
    for (int i = 0; i < n_warps; i++) {
      const int first = (falling ? n_warps - 1 - i : i) * LANES;
      for (long seen = -1; seen != events;) {
        seen = events;
        for (current = first; current < first + LANES && current < count; current++)
          if (!threads[current].done && !*fault) resume(threads[current]);
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

const char *run_blocks(void (*run_body)(void *), void *with, int blocks, int block_threads, bool copies_late,
                       bool order_falling) {
  body = run_body;
  body_with = with;
  count = block_threads;
  grid = blocks;
  late = copies_late;
  falling = order_falling;
  *fault = 0;
  for (block = 0; block < blocks && !*fault; block++) run_block();
  return fault;
}

} // namespace emulated
