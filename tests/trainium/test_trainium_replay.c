/* The timing model against eight public traces of a trn2, in the order and with the waits that the machine had.
 * Parameters that come from traces are fitted to the other traces (bench_trainium_replay --write). With --write the
 * tables of the page are written. */
#include "trainium_replay.h"

#include "page.h"

static const char *const names[] = {"baseline_bf16_s1024", "baseline_bf16_s512", "baseline_fp32_s1024",
                                    "baseline_fp32_s512",  "fused_bf16_s1024",   "fused_bf16_s512",
                                    "fused_fp32_s1024",    "fused_fp32_s512"};
enum { TRACES = sizeof names / sizeof *names };

typedef struct result {
  size_t instructions;
  double measured, predicted, low, high, error;
} result;

/* Durations of one kind of instruction. */
typedef struct kind {
  size_t n;
  double measured, off, bias;
} kind;

typedef struct results {
  result result[TRACES];
  kind kind[TRN_OPCODES][TRN_ENGINES];
} results;

static void add_durations(results *r, const replay *x, const trn_timing *t) {
  for (size_t i = 0; i < x->program.n_instructions; i++) {
    const trn_instruction *in = &x->program.instruction[i];
    if (in->opcode == TRN_DMA) continue; /* the trace has the trigger's time alone */
    kind *k = &r->kind[in->is_transpose ? TRN_PE_TRANSPOSE : in->opcode][in->engine];
    const double measured = x->end[i] - x->start[i], off = t->end[i] - t->start[i] - measured;
    k->n++;
    k->measured += measured;
    k->off += fabs(off);
    k->bias += off;
  }
}

static void replay_one(results *r, int index) {
  char path[4096];
  int line = 0;
  replay x;
  trn_config c;
  trn_timing t;
  tw_error error;
  snprintf(path, sizeof path, TW_TEST_DATA "/trainium/%s.txt", names[index]);
  FILE *in = fopen(path, "r");
  if (!in) fail_msg("%s: cannot be read", path);
  if (!replay_read(in, &x, &line)) fail_msg("%s:%d: not a line of a replay", path, line);
  fclose(in);
  if (trn_config_load("trn2", &c, &error) != TW_OK) fail_msg("%s", error.text);
  for (int k = 0; k < REPLAY_PARAMETERS; k++)
    if (!isnan(x.parameter[k])) *replay_parameter(&c, k) = x.parameter[k];
  result *out = &r->result[index];
  out->instructions = x.program.n_instructions;
  out->measured = x.span;
  out->predicted = replay_predict(&c, &x.program, &out->low, &out->high, &error);
  if (isnan(out->predicted) || trn_time(&c, &x.program, &trn_compiler_none, &t, &error) != TW_OK)
    fail_msg("%s", error.text);
  out->error = out->predicted / out->measured - 1;
  add_durations(r, &x, &t);
  trn_timing_free(&t);
  replay_free(&x);
}

static void mean_and_worst(const results *r, double *mean, double *worst) {
  *mean = *worst = 0;
  for (int i = 0; i < TRACES; i++) {
    *mean += fabs(r->result[i].error) / TRACES;
    *worst = fmax(*worst, fabs(r->result[i].error));
  }
}

static const page the_page = {"docs/reference/accuracy-trainium.md",
                              "<!-- tables: made by build/tests/test_trainium_replay --write -->\n",
                              "<!-- end of tables -->\n", "test_trainium_replay"};

static char *tables(const results *r) {
  tw_text text = {0};
  double mean, worst;
  mean_and_worst(r, &mean, &worst);
  tw_text_add(&text, "\n| trace | instructions | measured | predicted | error | over places of the clock's windows |\n"
                     "| --- | --- | --- | --- | --- | --- |\n");
  for (int i = 0; i < TRACES; i++) {
    const result *x = &r->result[i];
    tw_text_add(&text, "| `%s` | %zu | %.1f us | %.1f us | %+.1f%% | %.1f-%.1f us |\n", names[i], x->instructions,
                x->measured / 1000, x->predicted / 1000, 100 * x->error, x->low / 1000, x->high / 1000);
  }
  tw_text_add(&text, "\nThe mean of the absolute errors is %.1f%%, the largest %.1f%%.\n", 100 * mean, 100 * worst);
  tw_text_add(&text, "\n| instruction | engine | samples | measured duration, mean | mean absolute error | bias |\n"
                     "| --- | --- | --- | --- | --- | --- |\n");
  for (int o = 0; o < TRN_OPCODES; o++)
    for (int e = 0; e < TRN_ENGINES; e++) {
      const kind *k = &r->kind[o][e];
      const double n = (double)k->n;
      if (k->n)
        tw_text_add(&text, "| `%s` | %s | %zu | %.0f ns | %.0f ns | %+.0f ns |\n", trn_opcode_name((trn_opcode)o),
                    trn_engine_name((trn_engine)e), k->n, k->measured / n, k->off / n, k->bias / n);
    }
  tw_text_add(&text, "\n");
  return text.data;
}

static void spans_are_within_four_percent_in_the_mean_and_eight_at_worst(void **state) {
  const results *r = *state;
  double mean, worst;
  mean_and_worst(r, &mean, &worst);
  if (mean > 0.04 || worst > 0.08) fail_msg("mean %.1f%%, worst %.1f%%", 100 * mean, 100 * worst);
}

static void vector_and_scalar_durations_are_within_four_percent(void **state) {
  const results *r = *state;
  for (int o = 0; o < TRN_OPCODES; o++)
    for (int e = TRN_VECTOR; e <= TRN_SCALAR; e++) {
      const kind *k = &r->kind[o][e];
      if (k->n && k->off > 0.04 * k->measured)
        fail_msg("%s on %s: %.1f%%", trn_opcode_name((trn_opcode)o), trn_engine_name((trn_engine)e),
                 100 * k->off / k->measured);
    }
}

static void the_page_says_it(void **state) { page_must_say(&the_page, tables(*state)); }

int main(int argc, char **argv) {
  static results r;
  results *all = &r;
  for (int i = 0; i < TRACES; i++) replay_one(&r, i);
  if (argc > 1 && !strcmp(argv[1], "--write")) {
    page_write(&the_page, tables(&r));
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(spans_are_within_four_percent_in_the_mean_and_eight_at_worst, all),
      cmocka_unit_test_prestate(vector_and_scalar_durations_are_within_four_percent, all),
      cmocka_unit_test_prestate(the_page_says_it, all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
