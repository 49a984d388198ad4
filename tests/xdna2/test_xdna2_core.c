/* The core's scheduler: graphs compute a product, schedules pass the checker, and the checker finds every mutation that
 * breaks one. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/random.h"
#include "base/strings.h"
#include "target/xdna2/core/check.h"
#include "target/xdna2/core/gemm_core.h"
#include "target/xdna2/core/plan.h"
#include "xdna2_look_up.h"

static const xc_machine *machine(void) { return xc_machine_aie2p(); }

static void must(tw_status status, const tw_error *error) {
  if (status != TW_OK) fail_msg("%s", error->text);
}

/* ---- the machine file ---- */

static void refused(const char *from, const char *to, const char *part) {
  const char *whole = (const char *)tw_embedded_find("xdna2/configs/aie2p.core.txt")->data, *at = strstr(whole, from);
  tw_text changed = {0};
  xc_machine m;
  tw_error error = {0};
  if (!at) fail_msg("the file does not hold '%s'", from);
  tw_text_add_bytes(&changed, whole, (size_t)(at - whole));
  tw_text_add(&changed, "%s%s", to, at + strlen(from));
  char *wrong = tw_text_take(&changed);
  tw_status status = xc_machine_parse(wrong, "x.txt", &m, &error);
  free(wrong);
  if (status != TW_USAGE || !strstr(error.text, part) || !strstr(error.text, "x.txt") || strchr(error.text, '\n'))
    fail_msg("'%s': '%s' does not say '%s'", to, error.text, part);
}

static void the_machine_is_read(void **state) {
  const xc_machine *m = machine();
  assert_string_equal(m->name, "aie2p");
  assert_int_equal(m->n_slots, 6);
  assert_int_equal(m->accumulators * m->accumulator_parts, 20);
  const xc_instruction *pop = &m->instruction[xc_find_instruction(m, "vld.pop")];
  assert_int_equal(pop->result, 8);
  assert_int_equal(pop->n_slots, 2);
  assert_int_equal(m->instruction[xc_find_instruction(m, "vmac")].bypass, XC_BYPASS_VEC);
  refused("vectors = 12", "vectors = twelve", "vectors = twelve: not an integer from 1 to 64");
  refused("vectors = 12", "", "lacks the key vectors");
  refused("vectors = 12", "vectors = 12\nvectors = 12", "vectors is given twice");
  refused("vectors = 12", "vektors = 12", "unknown key \"vektors\"");
  refused("vectors = 12", "vectors", "expected \"key = value\"");
  refused("instruction vld ", "instruction vld.acc ", "instruction vld.acc is given twice");
  refused("ldb,lda result=7", "ldx result=7", "unknown slot ldx");
  refused("ldb,lda result=7", "ldb,lda result=70", "result=70: expected a cycle from 1 to 16");
  refused("ldb,lda result=7", "ldb,lda rezult=7", "unknown rezult of an instruction");
  refused("result=6 bypass=vec", "result=6 bypass=none", "bypass=none; expected vec or mv");
  refused("write_ports = lda ldb", "write_ports = lda ldc", "write_ports = lda ldc: not slots that were given above");
}

/* ---- kernels ---- */

static const struct example {
  xd_core_mac mac;
  xd_core_form c;
  int m, k, n, rows, columns;
  bool shuffle;
} examples[] = {
    {XD_CORE_I8, XD_CORE_C_32, 32, 64, 32, 2, 2, false},
    {XD_CORE_I8, XD_CORE_C_I8, 32, 40, 64, 2, 2, true},
    {XD_CORE_I8, XD_CORE_C_I16, 64, 16, 32, 4, 1, false},
    {XD_CORE_I8_I4, XD_CORE_C_32, 32, 64, 64, 2, 2, false},
    {XD_CORE_I8_I4, XD_CORE_C_I8, 16, 32, 32, 1, 2, false},
    {XD_CORE_I8_I2, XD_CORE_C_32, 32, 64, 32, 4, 1, false},
    {XD_CORE_BFP16, XD_CORE_C_BF16, 32, 8, 64, 2, 2, false},
    {XD_CORE_BFP16, XD_CORE_C_BF16, 32, 64, 128, 2, 2, false},
    {XD_CORE_BFP16, XD_CORE_C_BFP16, 32, 64, 128, 2, 2, false},
    {XD_CORE_BFP16, XD_CORE_C_32, 32, 96, 64, 2, 2, false},
    {XD_CORE_BFP16, XD_CORE_C_BF16, 24, 24, 24, 1, 3, false},
    {XD_CORE_BF16, XD_CORE_C_BF16, 32, 32, 32, 2, 2, false},
    {XD_CORE_BF16_LANES, XD_CORE_C_32, 32, 32, 32, 2, 2, false},
    {XD_CORE_BF16_LANES, XD_CORE_C_BF16, 16, 16, 32, 1, 2, false},
    {XD_CORE_I16, XD_CORE_C_32, 32, 32, 32, 2, 2, false},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

static xd_core_kernel kernel_of(const struct example *e) {
  xd_core_kernel k = xd_core_kernel_of(e->mac, e->c, e->m, e->k, e->n);
  k.cluster[0] = e->rows;
  k.cluster[1] = e->columns;
  k.shuffle_b = e->shuffle;
  return k;
}

static xc_graph graph_of(const xd_core_kernel *k, int clusters, xc_binding binding) {
  xc_graph g;
  tw_error error = {0};
  must(xc_check_kernel(machine(), k, &error), &error);
  must(xc_cluster_graph(machine(), k, clusters, binding, &g, &error), &error);
  return g;
}

/* The last instruction that made a value; those on the way to a block all carry its place. */
static const xc_node *writer(const xc_graph *g, int value) {
  const xc_node *found = NULL;
  for (int i = 0; i < g->n_nodes; i++)
    if (g->node[i].write.value == value) found = &g->node[i];
  if (!found) fail_msg("value %d is never written", value);
  return found;
}

/* Every multiply-accumulate of a cluster is there once, takes the blocks of its row, column and depth, adds to the one
 * before it, and the last is stored. */
static void graphs_compute_the_product(void **state) {
  for (int e = 0; e < EXAMPLES; e++) {
    const xd_core_kernel k = kernel_of(&examples[e]);
    const int steps = k.k / xd_core_shape(k.mac)[1], chains = k.cluster[0] * k.cluster[1];
    xc_graph g = graph_of(&k, 2, (xc_binding){true, 0});
    int seen[2][8][64] = {{{0}}}, stored[2][8] = {{0}};
    for (int i = 0; i < g.n_nodes; i++) {
      const xc_node *n = &g.node[i];
      const int chain = n->row * k.cluster[1] + n->column;
      if (n->role == 'C' && n->n_reads && n->write.value < 0) {
        const xc_node *last = writer(&g, n->read[0].value);
        assert_true(last->role == 'M' && last->step == steps - 1 && last->cluster == n->cluster);
        assert_true(last->row == n->row && last->column == n->column);
        stored[n->cluster][chain] |= (int)n->read[0].parts;
      }
      if (n->role != 'M') continue;
      const xc_node *a = writer(&g, n->read[0].value), *b = writer(&g, n->read[1].value),
                    *c = writer(&g, n->read[2].value);
      assert_true(a->role == 'A' && a->row == n->row && a->step == n->step && a->cluster == n->cluster);
      assert_true(b->role == 'B' && b->column == n->column && b->step == n->step && b->cluster == n->cluster);
      assert_true(c->row == n->row && c->column == n->column && c->cluster == n->cluster);
      const int issue = seen[n->cluster][chain][n->step]; /* of those that one multiplication of blocks takes */
      assert_true(issue     ? c->role == 'M' && c->step == n->step
                  : n->step ? c->role == 'M' && c->step == n->step - 1
                            : c->role == 'C');
      assert_int_equal(n->accumulator, 2);
      seen[n->cluster][chain][n->step]++;
    }
    for (int cluster = 0; cluster < 2; cluster++)
      for (int chain = 0; chain < chains; chain++) {
        /* 4 x 8 sums of 32 bits take half an accumulator */
        const int parts = machine()->accumulator_parts / (k.mac == XD_CORE_BF16_LANES ? 2 : 1);
        assert_int_equal(stored[cluster][chain], (1 << parts) - 1);
        for (int step = 0; step < steps; step++)
          assert_int_equal(seen[cluster][chain][step], k.mac == XD_CORE_I8_I4        ? 2
                                                       : k.mac == XD_CORE_BF16_LANES ? 8
                                                                                     : 1);
      }
    xc_graph_free(&g);
  }
}

/* The bound of recurrences is the least II that the longest paths allow, found by trying all. */
static void recurrences_are_bounded_exactly(void **state) {
  int above_one = 0;
  for (int e = 0; e < EXAMPLES; e++)
    for (int sets = 0; sets < 3; sets++) {
      const xd_core_kernel k = kernel_of(&examples[e]);
      xc_graph g;
      tw_error error = {0};
      if (xc_cluster_graph(machine(), &k, 1, (xc_binding){sets > 0, sets}, &g, &error) != TW_OK) continue;
      int *depth = tw_new((size_t)g.n_nodes, sizeof *depth), least = 1;
      while (!xc_depths(&g, least, depth)) least++;
      free(depth);
      assert_int_equal(xc_recurrence_ii(&g, 1 << 12), least);
      assert_int_equal(xc_recurrence_ii(&g, least), least);
      if (least > 1) assert_int_equal(xc_recurrence_ii(&g, least - 1), least - 1); /* no more than was asked for */
      above_one += least > 1;
      xc_graph_free(&g);
    }
  assert_true(above_one > 5);
}

static void all_kernels_are_scheduled_in_all_ways(void **state) {
  for (int e = 0; e < EXAMPLES; e++) {
    int ii[XD_CORE_WAYS] = {0};
    for (int way = 0; way < XD_CORE_WAYS; way++) {
      xd_core_kernel k = kernel_of(&examples[e]);
      xd_core_result r;
      tw_error error = {0};
      k.way = (xd_core_way)way;
      k.unroll = 2;
      tw_status status = xd_core_schedule(&k, &r, &error);
      if (status == TW_USAGE && strstr(error.text, "spilling is not modelled")) continue;
      must(status, &error);
      ii[way] = r.ii;
      const int per_call =
          k.m * k.n / (xd_core_shape(k.mac)[0] * k.cluster[0] * xd_core_shape(k.mac)[2] * k.cluster[1]);
      assert_int_equal(r.clusters, per_call);
      assert_true(r.ii >= r.resource_ii && (way != XD_CORE_PIPELINED || r.ii >= r.recurrence_ii));
      assert_true(r.ii >= r.vmacs && r.cycles >= (double)r.vmacs * r.clusters && r.efficiency <= 1);
      assert_true(r.prologue > 0 && r.epilogue > 0 && r.prologue + r.steady + r.epilogue == (int)r.cycles);
      assert_true(r.vectors <= machine()->vectors && r.accumulators <= machine()->accumulators);
    }
    if (ii[XD_CORE_PIPELINED] > ii[XD_CORE_IN_TURN]) fail_msg("example %d: overlap is slower than none", e);
  }
}

/* A kernel written by hand for 64x96x64 with sums in f32 runs one multiply-accumulate a cycle
 * (docs/explain/xdna2-core.md). */
static void the_scheduler_does_as_well_as_a_published_kernel(void **state) {
  xd_core_kernel k = xd_core_kernel_of(XD_CORE_BFP16, XD_CORE_C_32, 64, 96, 64);
  xd_core_result r;
  tw_error error = {0};
  k.way = XD_CORE_PIPELINED;
  must(xd_core_schedule(&k, &r, &error), &error);
  assert_int_equal(r.vmacs, 48);
  assert_int_equal(r.ii, 48);
}

/* With all three in one bank, every load and store of a cluster waits for the bank. */
static void buffers_in_one_bank_cost_cycles(void **state) {
  for (int way = 0; way < XD_CORE_WAYS; way++) {
    xd_core_kernel k = xd_core_kernel_of(XD_CORE_BFP16, XD_CORE_C_BF16, 32, 64, 128);
    xd_core_result apart, together, anywhere;
    tw_error error = {0};
    k.way = (xd_core_way)way;
    k.unroll = 2;
    must(xd_core_schedule(&k, &apart, &error), &error);
    k.bank[0] = k.bank[1] = k.bank[2] = -1;
    must(xd_core_schedule(&k, &anywhere, &error), &error);
    k.bank[0] = k.bank[1] = k.bank[2] = 3;
    must(xd_core_schedule(&k, &together, &error), &error);
    assert_true(together.ii >= 52); /* 32 blocks with 4 fills, 8 halves of accumulators in and 8 out */
    assert_true(apart.ii < together.ii && anywhere.ii <= apart.ii);
  }
}

static void conversions_are_scheduled(void **state) {
  static tw_status (*const graphs[])(const xc_machine *, const int[2], xc_graph *, tw_error *) = {
      xc_to_bfp16_graph, xc_unpack_graph, xc_unpack_i4_graph, xc_clear_graph, xc_narrow_i16_graph, xc_narrow_i8_graph};
  /* two loads by lda, two stores, three moves a block; a store; four loads by lda */
  static const int least[] = {16, 12, 5, 1, 4, 4};
  for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
    xc_graph g;
    xc_timetable s;
    tw_error error = {0};
    must(graphs[i](machine(), (int[]){0, 1}, &g, &error), &error);
    must(xc_modulo_schedule(&g, 200, 0, &s, &error), &error);
    must(xc_check(&g, &s, 6, &error), &error);
    assert_true(s.ii >= least[i] && s.ii <= 2 * least[i]);
    xc_timetable_free(&s);
    xc_graph_free(&g);
  }
}

/* Twice as much takes so much longer as the loop's turns do; a part of a turn is one. */
static void passes_take_cycles_by_their_turns(void **state) {
  static const double each[] = {12, 5, 8, 1, 4, 4, 4, 3}; /* cycles a turn of 256 or 128 codes, else of 64 */
  for (int i = 0; i < XD_PASSES; i++) {
    const xd_core_pass pass = (xd_core_pass)i;
    const int turn = pass == XD_PASS_UNPACK_I8 || pass == XD_PASS_UNPACK_I4 ? 256
                     : pass == XD_PASS_UNPACK_BFP16                         ? 128
                                                                            : 64;
    double few, more, part;
    tw_error error;
    must(xd_core_pass_cycles(pass, 100 * turn, &few, &error), &error);
    must(xd_core_pass_cycles(pass, 200 * turn, &more, &error), &error);
    must(xd_core_pass_cycles(pass, 199 * turn + 1, &part, &error), &error);
    assert_true(part == more);
    assert_true(more - few == 100 * each[i]);
  }
}

/* ---- ternary weights by look-up, and unpacked beside products ---- */

/* The definition of lookup.c: a table of 3^group sums in 16 bits for each group of columns, an index for each group of
 * weights. Extreme activations, and depths that no group divides. */
static void sums_by_look_up_are_the_products(void **state) {
  enum { DEPTH = 255, GROUP_MAX = 5, ENTRIES_MAX = 243 };
  tw_random r;
  tw_random_seed(&r, 5);
  for (int group = 1; group <= GROUP_MAX; group++)
    for (int extreme = 0; extreme < 3; extreme++) {
      int8_t a[DEPTH], w[DEPTH];
      int32_t expected = 0;
      int16_t sum = 0;
      for (int i = 0; i < DEPTH; i++) {
        w[i] = (int8_t)(extreme ? (extreme == 1 ? -1 : 1) : tw_random_between(&r, -1, 1));
        a[i] = (int8_t)(extreme ? -128 : tw_random_between(&r, -128, 127));
        expected += a[i] * w[i];
      }
      for (int first = 0; first < DEPTH; first += group) {
        int16_t table[ENTRIES_MAX];
        int index = 0, entries = 1;
        for (int i = 0; i < group; i++) entries *= 3;
        for (int entry = 0; entry < entries; entry++) {
          int32_t entry_sum = 0;
          for (int i = 0, rest = entry; i < group; i++, rest /= 3)
            entry_sum += (rest % 3 - 1) * (first + i < DEPTH ? a[first + i] : 0);
          assert_true(entry_sum == (int16_t)entry_sum);
          table[entry] = (int16_t)entry_sum;
        }
        for (int i = group - 1; i >= 0; i--) index = 3 * index + (first + i < DEPTH ? w[first + i] : 0) + 1;
        assert_true(index < 256); /* a byte */
        assert_true(sum + table[index] == (int16_t)(sum + table[index]));
        sum = (int16_t)(sum + table[index]);
      }
      assert_int_equal(sum, expected);
    }
}

static void look_ups_are_bound_by_their_slots(void **state) {
  static const int entries[] = {0, 3, 9, 27, 81, 243};
  tw_error error = {0};
  look_up_cycles l;
  for (int group = 1; group <= 5; group++) {
    must(look_up_cycles_of(group, 16, 64, 32, &l, &error), &error);
    const int groups = (64 + group - 1) / group, blocks = (entries[group] + 7) / 8, bands = 2, columns = 2;
    /* 8 reads of a group by one slot; 8 stores of 8 entries; 4 of 64 addresses */
    assert_true(l.look_up >= 8 * groups * bands * columns && l.look_up <= 1.25 * 8 * groups * bands * columns + 100);
    assert_true(l.tables >= 8 * blocks * groups * bands && l.tables <= 8 * blocks * groups * bands + 30);
    assert_true(l.addresses >= 4 * (groups * 32 / 64) && l.cycles == l.addresses + l.tables + l.look_up);
    assert_int_equal(l.table_bytes, groups * blocks * 8 * 16 * 4);
  }
  static const struct {
    int group, m, k, n;
    const char *part;
  } bad[] = {{6, 8, 64, 16, "at most 5 weights are an index"},
             {0, 8, 64, 16, "at most 5 weights are an index"},
             {3, 8, 256, 16, "allow a depth of 255"},
             {3, 12, 64, 16, "rows must be a multiple of 8"},
             {3, 8, 64, 24, "columns of 16"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(look_up_cycles_of(bad[i].group, bad[i].m, bad[i].k, bad[i].n, &l, &error), TW_USAGE);
    if (!strstr(error.text, bad[i].part)) fail_msg("'%s' does not say '%s'", error.text, bad[i].part);
  }
}

/* Never slower than two passes; with C in 8 bits unpacking takes no time, where each cluster has room for its
 * share. What remains is a pass. */
static void unpacking_hides_beside_products(void **state) {
  static const xd_core_mac macs[] = {XD_CORE_I8, XD_CORE_I8_I4};
  tw_error error = {0};
  for (int i = 0; i < 2; i++)
    for (int c = XD_CORE_C_32; c <= XD_CORE_C_I8; c++) {
      const xd_core_pass pass = i ? XD_PASS_UNPACK_I4 : XD_PASS_UNPACK_I8;
      xd_core_kernel k = xd_core_kernel_of(macs[i], (xd_core_form)c, 64, 64, 64);
      double alone, unpacking, hidden, half, deep, rest;
      must(xd_core_cycles(&k, &alone, &error), &error);
      must(xd_core_pass_cycles(pass, 64 * 64, &unpacking, &error), &error);
      must(xd_core_hidden_cycles(&k, &hidden, &error), &error);
      assert_true(hidden >= alone && hidden < alone + unpacking);
      if (c == XD_CORE_C_I8) assert_true(hidden == alone);
      k.m = 128; /* half of the clusters suffice */
      must(xd_core_cycles(&k, &alone, &error), &error);
      must(xd_core_hidden_cycles(&k, &half, &error), &error);
      assert_true(half >= 128 * 64 * 64 / 512 && half <= alone + unpacking);
      k.m = 32; /* each cluster unpacks one of two vectors */
      must(xd_core_cycles(&k, &alone, &error), &error);
      must(xd_core_pass_cycles(pass, 64 * 32, &rest, &error), &error);
      must(xd_core_hidden_cycles(&k, &deep, &error), &error);
      assert_true(deep >= alone + rest && deep < alone + unpacking);
    }
  xd_core_kernel k = xd_core_kernel_of(XD_CORE_BFP16, XD_CORE_C_32, 64, 64, 64);
  double cycles;
  assert_int_equal(xd_core_hidden_cycles(&k, &cycles, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "unpack the next tile of B"));
}

static void refused_kernel(xd_core_kernel k, const char *part) {
  xd_core_result r;
  tw_error error = {0};
  tw_status status = xd_core_schedule(&k, &r, &error);
  if (status != TW_USAGE || !strstr(error.text, part) || strchr(error.text, '\n'))
    fail_msg("'%s' does not say '%s'", error.text, part);
}

/* Paces that are kept give what scheduling the call itself gives, in whatever order they are asked for, and refuse with
 * the same words. */
static void remembered_cycles_are_those_of_the_schedule(void **state) {
  int legal = 0;
  for (int i = 0; i < 400; i++) {
    static const int clusters[][2] = {{2, 2}, {1, 2}, {4, 1}, {2, 4}}, depth[] = {32, 64, 40};
    const xd_core_mac mac = (xd_core_mac)(i % XD_CORE_MACS);
    const int *shape = xd_core_shape(mac), *cluster = clusters[i / 5 % 4], count = i / 20 % 5 + 1;
    xd_core_kernel k = xd_core_kernel_of(mac, XD_CORE_C_32, shape[0] * cluster[0] * count, depth[i / 7 % 3],
                                         shape[2] * cluster[1] * (i % 3 + 1));
    xd_core_result r;
    tw_error error[2] = {0};
    double cycles = 0;
    memcpy(k.cluster, cluster, sizeof k.cluster);
    k.way = i % 2 ? XD_CORE_UNROLLED : XD_CORE_IN_TURN;
    k.unroll = i % 4 + 1;
    k.convert_a = mac == XD_CORE_BFP16 && i % 3 == 0;
    k.m += i % 50 == 0; /* no multiple */
    const tw_status status = xd_core_schedule(&k, &r, &error[0]);
    assert_int_equal(xd_core_cycles(&k, &cycles, &error[1]), status);
    if (status == TW_OK && cycles != r.cycles) fail_msg("%d: %.0f and %.0f cycles", i, cycles, r.cycles);
    assert_string_equal(error[0].text, error[1].text);
    assert_int_equal(xd_core_cycles(&k, &cycles, NULL), status);
    legal += status == TW_OK;
  }
  assert_true(legal > 100 && legal < 390);
}

static void impossible_kernels_are_refused(void **state) {
  const xd_core_kernel good = xd_core_kernel_of(XD_CORE_BFP16, XD_CORE_C_BF16, 32, 64, 128);
  xd_core_kernel k = good;
  k.cluster[0] = 3;
  refused_kernel(k, "a cluster of 3x2 needs 6 accumulators, but the core has 5");
  k = good, k.m = 24;
  refused_kernel(k, "its rows must be a multiple of 16");
  k = good, k.k = 12;
  refused_kernel(k, "its depth must be a multiple of 8");
  k = good, k.n = 0;
  refused_kernel(k, "its columns must be a multiple of 16");
  k = good, k.k = 8192;
  refused_kernel(k, "at most 512 blocks of 8");
  k = good, k.way = XD_CORE_UNROLLED, k.unroll = 0;
  refused_kernel(k, "unroll must be at least 1");
  k = good, k.bank[1] = 4;
  refused_kernel(k, "bank 4 does not exist; the core has banks 0 to 3");
  k = good, k.shuffle_b = true;
  refused_kernel(k, "read blocks of B by columns");
  k = xd_core_kernel_of(XD_CORE_I8, XD_CORE_C_I8, 32, 64, 32), k.convert_a = true;
  refused_kernel(k, "only bfp16 kernels convert A first");
  k = good, k.k = 512, k.way = XD_CORE_UNROLLED, k.unroll = 16;
  refused_kernel(k, "the kernel needs at least 65536 bytes of code, but the program memory has 16384; unroll");
  k = good, k.k = 1024, k.way = XD_CORE_PIPELINED;
  refused_kernel(k, "bytes of code, but the program memory has 16384; unroll less");
  refused_kernel(xd_core_kernel_of(XD_CORE_I8_I2, XD_CORE_C_32, 32, 64, 32), "spilling is not modelled");
}

/* ---- mutations ---- */

typedef struct victim {
  xc_graph g;
  xc_timetable s;
} victim;

enum { VICTIMS = 7, REPLAYED = 5 };

static victim make_victim(int which) {
  static const struct {
    int example, clusters;
    xc_binding binding;
    bool overlapped;
  } what[VICTIMS] = {{7, 1, {true, 0}, false}, {7, 2, {true, 2}, false}, {7, 1, {false, 0}, true},
                     {9, 1, {false, 0}, true}, {1, 1, {true, 0}, false}, {8, 1, {false, 0}, true},
                     {11, 1, {true, 1}, false}};
  victim v;
  tw_error error = {0};
  const xd_core_kernel k = kernel_of(&examples[what[which].example]);
  v.g = graph_of(&k, what[which].clusters, what[which].binding);
  if (what[which].overlapped) {
    must(xc_modulo_schedule(&v.g, 500, which % 3, &v.s, &error), &error);
  } else {
    must(xc_list_schedule(&v.g, &v.s, &error), &error);
    must(xc_list_repeat(&v.g, &v.s, &error), &error);
  }
  must(xc_check(&v.g, &v.s, REPLAYED, &error), &error);
  return v;
}

static void must_be_found(const victim *v, const char *mutation, int where) {
  tw_error error = {0};
  if (xc_check(&v->g, &v->s, REPLAYED, &error) != TW_FAILED) fail_msg("%s %d: the checker is content", mutation, where);
  assert_true(*error.text && !strchr(error.text, '\n'));
}

static void free_victim(victim *v) {
  xc_timetable_free(&v->s);
  xc_graph_free(&v->g);
}

/* One cycle less than any one dependence, FIFO order or reuse of a register allows. */
static void broken_latencies_are_found(void **state) {
  for (int w = 0; w < VICTIMS; w++) {
    victim v = make_victim(w);
    for (int e = 0; e < v.g.n_edges; e++) {
      const xc_edge *edge = &v.g.edge[e];
      if (edge->from == edge->to) continue;
      const int latest_wrong = v.s.cycle[edge->from] + edge->latency - v.s.ii * edge->distance - 1,
                before = v.s.cycle[edge->to];
      v.s.cycle[edge->to] = latest_wrong;
      must_be_found(&v, "edge", e);
      v.s.cycle[edge->to] = before;
    }
    free_victim(&v);
  }
}

static void wrong_slots_are_found(void **state) {
  for (int w = 0; w < VICTIMS; w++) {
    victim v = make_victim(w);
    for (int i = 0; i < v.g.n_nodes; i++) {
      const xc_instruction *what = &v.g.machine->instruction[v.g.node[i].what];
      const int before = v.s.slot[i];
      for (int slot = 0; slot < v.g.machine->n_slots; slot++) {
        bool has = false, taken = false;
        for (int s = 0; s < what->n_slots; s++) has = has || what->slot[s] == slot;
        for (int j = 0; j < v.g.n_nodes; j++)
          taken = taken || (j != i && v.s.slot[j] == slot && v.s.cycle[j] % v.s.ii == v.s.cycle[i] % v.s.ii);
        if (has && !taken) continue;
        v.s.slot[i] = slot;
        must_be_found(&v, "slot of node", i);
      }
      v.s.slot[i] = before;
    }
    free_victim(&v);
  }
}

/* Cycles in which a part of a value must stay where it is: read off the operands here, not by the allocator. */
static void occupied(const victim *v, int value, int part, int *from, int *to) {
  *from = 1 << 20;
  *to = -1;
  for (int i = 0; i < v->g.n_nodes; i++) {
    const xc_node *n = &v->g.node[i];
    if (n->write.value == value && (n->write.parts >> part & 1) && v->s.cycle[i] + xc_write_at(&v->g, n) + 1 < *from)
      *from = v->s.cycle[i] + xc_write_at(&v->g, n) + 1;
    for (int r = 0; r < n->n_reads; r++)
      if (n->read[r].value == value && (n->read[r].parts >> part & 1) && v->s.cycle[i] + xc_read_at(&v->g, n, r) > *to)
        *to = v->s.cycle[i] + xc_read_at(&v->g, n, r);
  }
}

/* Two values that live at the same time in one register. */
static void shared_registers_are_found(void **state) {
  int tried = 0;
  for (int w = 0; w < VICTIMS; w++) {
    victim v = make_victim(w);
    for (int a = 0; a < v.g.n_values; a++)
      for (int b = 0; b < v.g.n_values; b++) {
        int a_from, a_to, b_from, b_to;
        if (a == b || v.g.value[a].file != v.g.value[b].file || v.g.value[a].width != 1 || v.g.value[b].width != 1)
          continue;
        occupied(&v, a, 0, &a_from, &a_to);
        occupied(&v, b, 0, &b_from, &b_to);
        if (b_from <= a_from || b_from > a_to) continue; /* b arrives while a is needed */
        const int before = v.s.reg[b * v.s.copies];
        for (int copy = 0; copy < v.s.copies; copy++) v.s.reg[b * v.s.copies + copy] = v.s.reg[a * v.s.copies + copy];
        must_be_found(&v, "register of value", b);
        for (int copy = 0; copy < v.s.copies; copy++) v.s.reg[b * v.s.copies + copy] = before;
        tried += v.s.copies == 1;
        if (v.s.copies > 1) break; /* others are not put back one by one */
      }
    free_victim(&v);
  }
  assert_true(tried > 100);
}

static void impossible_registers_are_found(void **state) {
  for (int w = 0; w < VICTIMS; w++) {
    victim v = make_victim(w);
    for (int value = 0; value < v.g.n_values; value++) {
      const int before = v.s.reg[value * v.s.copies], last = v.g.value[value].file == XC_VECTOR ? 12 : 5;
      const int constants = v.g.constants[v.g.value[value].file];
      for (int wrong = 0; wrong < 3; wrong++) {
        const int reg = wrong == 0 ? -1 : wrong == 1 ? last : v.g.value[value].width == 2 ? 1 : last - constants;
        v.s.reg[value * v.s.copies] = reg;
        must_be_found(&v, "register of value", value);
      }
      if (v.g.value[value].pin >= 0) {
        v.s.reg[value * v.s.copies] = v.g.value[value].pin ? 0 : 2;
        must_be_found(&v, "pin of value", value);
      }
      v.s.reg[value * v.s.copies] = before;
    }
    free_victim(&v);
  }
}

static void bank_conflicts_are_found(void **state) {
  int tried = 0;
  for (int w = 0; w < VICTIMS; w++) {
    victim v = make_victim(w);
    for (int i = 0; i < v.g.n_nodes; i++)
      for (int j = 0; j < v.g.n_nodes; j++) {
        const xc_instruction *a = &v.g.machine->instruction[v.g.node[i].what],
                             *b = &v.g.machine->instruction[v.g.node[j].what];
        const int bank = v.g.node[i].bank;
        if (i == j || bank < 0 || v.g.node[j].bank < 0 || bank == v.g.node[j].bank) continue;
        if ((v.s.cycle[i] + a->memory - v.s.cycle[j] - b->memory) % v.s.ii) continue;
        v.g.node[i].bank = v.g.node[j].bank;
        must_be_found(&v, "bank of node", i);
        v.g.node[i].bank = bank;
        tried++;
      }
    free_victim(&v);
  }
  assert_true(tried > 50);
}

/* A fill that is not there (it still takes its slot and bank, but fills nothing in); two pops in the wrong order. */
static void broken_fifos_are_found(void **state) {
  const int fill = xc_find_instruction(machine(), "vld.fill"), pop = xc_find_instruction(machine(), "vld.pop");
  int fills = 0, swaps = 0;
  for (int w = 0; w < VICTIMS; w++) {
    victim v = make_victim(w);
    for (int i = 0; i < v.g.n_nodes; i++) {
      xc_node *n = &v.g.node[i];
      if (n->what == fill) {
        const int fifo = n->fifo;
        n->fifo = -1;
        must_be_found(&v, "fill", i);
        n->fifo = fifo;
        fills++;
      }
      for (int j = i + 1; n->what == pop && j < v.g.n_nodes; j++) {
        if (v.g.node[j].what != pop || v.g.node[j].fifo != n->fifo || v.s.slot[j] != v.s.slot[i]) continue;
        const int before = v.s.cycle[i];
        v.s.cycle[i] = v.s.cycle[j];
        v.s.cycle[j] = before;
        must_be_found(&v, "swapped pop", i);
        v.s.cycle[j] = v.s.cycle[i];
        v.s.cycle[i] = before;
        swaps++;
        break;
      }
    }
    free_victim(&v);
  }
  assert_true(fills > 10 && swaps > 50);
}

/* Nine pushes without a flush do not fit into the store FIFO. */
static void an_overfull_store_fifo_is_found(void **state) {
  victim v;
  tw_error error = {0};
  must(xc_to_bfp16_graph(machine(), (int[]){0, 1}, &v.g, &error), &error);
  must(xc_modulo_schedule(&v.g, 200, 0, &v.s, &error), &error);
  must(xc_check(&v.g, &v.s, REPLAYED, &error), &error);
  for (int i = 0; i < v.g.n_nodes; i++)
    if (v.g.node[i].what == xc_find_instruction(machine(), "vst.flush")) v.g.node[i].fifo = -1;
  must_be_found(&v, "flush", 0);
  free_victim(&v);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_machine_is_read),
      cmocka_unit_test(graphs_compute_the_product),
      cmocka_unit_test(recurrences_are_bounded_exactly),
      cmocka_unit_test(all_kernels_are_scheduled_in_all_ways),
      cmocka_unit_test(the_scheduler_does_as_well_as_a_published_kernel),
      cmocka_unit_test(buffers_in_one_bank_cost_cycles),
      cmocka_unit_test(sums_by_look_up_are_the_products),
      cmocka_unit_test(look_ups_are_bound_by_their_slots),
      cmocka_unit_test(unpacking_hides_beside_products),
      cmocka_unit_test(conversions_are_scheduled),
      cmocka_unit_test(passes_take_cycles_by_their_turns),
      cmocka_unit_test(remembered_cycles_are_those_of_the_schedule),
      cmocka_unit_test(impossible_kernels_are_refused),
      cmocka_unit_test(broken_latencies_are_found),
      cmocka_unit_test(wrong_slots_are_found),
      cmocka_unit_test(shared_registers_are_found),
      cmocka_unit_test(impossible_registers_are_found),
      cmocka_unit_test(bank_conflicts_are_found),
      cmocka_unit_test(broken_fifos_are_found),
      cmocka_unit_test(an_overfull_store_fifo_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
