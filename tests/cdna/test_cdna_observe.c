/* test_cdna_observe.c - what an observer is told of a run: each instruction, where its lanes reach memory, and
 * workgroups from begin to end; and a launch moved wave by wave ends with the same results. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "base/files.h"
#include "target/cdna/emulator/observe.h"

enum { N = 1000, ROOM = 1024, GROUPS = 4, BLOCK = 256 };

typedef struct fixture {
  char *data;
  cdna_object object;
  const cdna_kernel *kernel;
  cdna_memory memory;
  float a[ROOM], b[ROOM], c[ROOM];
  struct {
    uint64_t a, b, c;
    int32_t n;
  } arguments;
  cdna_launch launch;
} fixture;

static fixture *open_fixture(const char *gpu) {
  fixture *f = calloc(1, sizeof *f);
  char path[300];
  size_t size;
  snprintf(path, sizeof path, "%s/cdna/vadd.%s.co", TW_TEST_DATA, gpu);
  assert_int_equal(tw_file_read(path, 1 << 20, &f->data, &size, NULL), TW_OK);
  assert_int_equal(cdna_object_read(f->data, size, "vadd", &f->object, NULL), TW_OK);
  assert_int_equal(cdna_object_kernel(&f->object, NULL, &f->kernel, NULL), TW_OK);
  for (int i = 0; i < ROOM; i++) f->a[i] = (float)i, f->b[i] = 0.5f * (float)i;
  f->arguments.a = cdna_memory_add(&f->memory, f->a, sizeof f->a, false, "a");
  f->arguments.b = cdna_memory_add(&f->memory, f->b, sizeof f->b, false, "b");
  f->arguments.c = cdna_memory_add(&f->memory, f->c, sizeof f->c, true, "c");
  f->arguments.n = N;
  f->launch = (cdna_launch){
      .grid = {GROUPS, 1, 1}, .block = {BLOCK, 1, 1}, .arguments = &f->arguments, .argument_bytes = 28, .jobs = 3};
  return f;
}
static void close_fixture(fixture *f) {
  for (int i = 0; i < N; i++) assert_true(f->c[i] == 1.5f * (float)i);
  cdna_object_free(&f->object);
  free(f->data);
  free(f);
}

/* ---- an observer ---- */

typedef struct seen {
  const fixture *f;
  atomic_int begun, ended, before, after, loaded, stored, scalar;
} seen;

static bool begin(void *context, cdna_group *g) {
  seen *s = context;
  s->begun++;
  assert_null(g->observed);
  g->observed = s;
  return true;
}
static void end(void *context, cdna_group *g) {
  assert_ptr_equal(g->observed, context);
  g->observed = NULL;
  ((seen *)context)->ended++;
}
static void before(void *context, cdna_wave *w, const cdna_op *op) {
  seen *s = context;
  cdna_access a;
  s->before++;
  assert_ptr_equal(op, &w->program->op[w->at]);
  if (!cdna_access_of(w, op, &a)) return;
  if (a.scalar) {
    s->scalar++;
    return;
  }
  assert_int_equal(a.bytes, 4);
  assert_int_equal(a.parts, 1);
  assert_true(a.lanes[CDNA_IN_GLOBAL] == cdna_exec(w));
  for (int l = 0; l < CDNA_LANES; l++) {
    if (!(a.lanes[CDNA_IN_GLOBAL] >> l & 1)) continue;
    const uint64_t i = 4 * (w->group->id * BLOCK + (uint64_t)w->id * CDNA_LANES + (uint64_t)l);
    const uint64_t at = a.address[0][l];
    assert_true(a.writes ? at == s->f->arguments.c + i : at == s->f->arguments.a + i || at == s->f->arguments.b + i);
    *(a.writes ? &s->stored : &s->loaded) += 1;
  }
}
static void after(void *context, cdna_wave *w, const cdna_op *op) {
  (void)w, (void)op;
  ((seen *)context)->after++;
}

static void test_an_observer_sees_all(void **state) {
  for (int arch = 0; arch < CDNA_ARCHES; arch++) {
    fixture *f = open_fixture(arch ? "gfx950" : "gfx942");
    seen s = {.f = f};
    const cdna_observer observer = {&s, begin, before, after, NULL, end};
    cdna_result_counts counts;
    f->launch.observer = &observer;
    assert_int_equal(cdna_run(&f->object, f->kernel, &f->launch, &f->memory, &counts, NULL), TW_OK);
    assert_int_equal(s.begun, GROUPS);
    assert_int_equal(s.ended, GROUPS);
    assert_int_equal(s.before, counts.instructions);
    assert_int_equal(s.after, counts.instructions);
    assert_int_equal(s.loaded, 2 * N);
    assert_int_equal(s.stored, N);
    assert_true(s.scalar >= GROUPS * BLOCK / CDNA_LANES);
    close_fixture(f);
  }
}

static void test_waves_moved_by_hand(void **state) {
  fixture *f = open_fixture("gfx950");
  cdna_dispatch *d = NULL;
  tw_error error = {0};
  assert_int_equal(cdna_dispatch_open(&f->object, f->kernel, &f->launch, &f->memory, &d, NULL), TW_OK);
  assert_int_equal(cdna_dispatch_groups(d), GROUPS);
  assert_int_equal(cdna_dispatch_waves(d), BLOCK / CDNA_LANES);
  cdna_group *g = cdna_group_open(d, &error);
  assert_non_null(g);
  for (uint64_t id = 0; id < GROUPS; id++) {
    cdna_group_start(d, g, id);
    for (int running = 1; running;) { /* an instruction of each in turn */
      running = 0;
      for (int i = 0; i < g->n_waves; i++) {
        cdna_wave *w = &g->wave[i];
        if (w->state != CDNA_RUNNING) continue;
        const cdna_op *op = cdna_wave_next(w);
        assert_non_null(op);
        cdna_wave_step(w, op);
        running++;
      }
    }
    for (int i = 0; i < g->n_waves; i++) assert_int_equal(g->wave[i].state, CDNA_ENDED);
  }
  cdna_group_close(g);
  cdna_dispatch_close(d);
  close_fixture(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_observer_sees_all),
      cmocka_unit_test(test_waves_moved_by_hand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
