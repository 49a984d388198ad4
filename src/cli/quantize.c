/* quantize.c - `tilewright quantize IN OUT --to FORMAT`: converts the tensors of a file to another number format and
 * reports the loss of accuracy. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/strings.h"
#include "cli/cli.h"
#include "tensors/convert.h"

/* ---- options ---- */

static tw_status unknown_format(const char *name, tw_error *error) {
  const char *names[TW_FORMAT_COUNT];
  for (int i = 0; i < TW_FORMAT_COUNT; i++) names[i] = tw_format_at((tw_format_id)i)->name;
  const char *near = tw_nearest_word(name, names, TW_FORMAT_COUNT);
  if (near) return tw_fail(error, TW_USAGE, "unknown format '%s'; did you mean '%s'?", name, near);
  tw_text list = {0};
  for (int i = 0; i < TW_FORMAT_COUNT; i++) tw_text_add(&list, "%s%s", i ? ", " : "", names[i]);
  char *all = tw_text_take(&list);
  tw_fail(error, TW_USAGE, "unknown format '%s'; expected one of %s", name, all ? all : "others");
  free(all);
  return TW_USAGE;
}

static tw_status parse_group(const char *text, int64_t *group, tw_error *error) {
  if (strcmp(text, "row") == 0) return *group = TW_GROUP_ROW, TW_OK;
  if (strcmp(text, "tensor") == 0) return *group = TW_GROUP_TENSOR, TW_OK;
  if (tw_parse_int(text, group) && *group > 0) return TW_OK;
  return tw_fail(error, TW_USAGE, "--group %s: expected row, tensor or a number of values", text);
}

static tw_status parse_choice(const char *option, const char *text, const char *first, const char *second, int *choice,
                              tw_error *error) {
  *choice = strcmp(text, second) == 0;
  if (*choice || strcmp(text, first) == 0) return TW_OK;
  return tw_fail(error, TW_USAGE, "--%s %s: expected %s or %s", option, text, first, second);
}

static tw_status packing_of(const cli_options *o, tw_packing *p, tw_error *error) {
  int choice = 0;
  tw_status status = TW_OK;
  if (!o->to) return tw_fail(error, TW_USAGE, "the output format is missing; give --to mxfp4, --to bf16, ...");
  *p = (tw_packing){.format = tw_format_find(o->to)};
  if (!p->format) return unknown_format(o->to, error);
  if (o->scale_rule && !tw_scale_rule_parse(o->scale_rule, &p->rule))
    return tw_fail(error, TW_USAGE, "--scale-rule %s: expected floor, even, up, ceil, absmax or absmean",
                   o->scale_rule);
  if (o->group) status = parse_group(o->group, &p->group, error);
  if (status == TW_OK && o->rounding) {
    status = parse_choice("rounding", o->rounding, "even", "floor", &choice, error);
    p->rounding = choice ? TW_ROUND_FLOOR : TW_ROUND_EVEN;
  }
  if (status == TW_OK && o->overflow) {
    status = parse_choice("overflow", o->overflow, "saturate", "special", &choice, error);
    p->overflow = choice ? TW_OVERFLOW_SPECIAL : TW_OVERFLOW_SATURATE;
  }
  return status == TW_OK ? tw_packing_check(p, error) : status;
}

/* ---- text ---- */

enum { ROWS = 10, BAR = 40 };

static void print_bar(const char *label, uint64_t count, uint64_t values) {
  double share = values ? (double)count / (double)values : 0;
  int length = (int)lround(share * BAR);
  printf("    %-16s %6.2f%%%s", label, 100 * share, length ? " " : "");
  for (int i = 0; i < length; i++) putchar('#');
  putchar('\n');
}

/* Errors by powers of two: the ROWS largest that occur, the sum of smaller ones, and exact values. */
static void print_histogram(const statistics *s) {
  char label[32];
  int top = ERROR_BINS - 1, bottom;
  uint64_t below = 0;
  while (top > 0 && s->bin[top] == 0) top--;
  bottom = top >= ROWS ? top - ROWS + 1 : 0;
  for (int bin = 0; bin < bottom; bin++) below += s->bin[bin];
  printf("    |error|           share\n");
  for (int bin = top; bin >= bottom; bin--) {
    if (s->bin[bin] == 0 && bin == 0) continue;
    snprintf(label, sizeof label, "2^%d .. 2^%d", bin - 127, bin - 126);
    print_bar(label, s->bin[bin], s->values);
  }
  if (below) print_bar("smaller", below, s->values);
  print_bar("exact", s->exact, s->values);
}

static void print_tensor(const converted *t, const char *to, bool verbose) {
  char number[CLI_NUMBER];
  const statistics *s = &t->statistics;
  cli_put_text(stdout, t->name, strlen(t->name));
  printf("  [");
  for (int i = 0; i < t->rank; i++) printf("%s%" PRIu64, i ? ", " : "", t->shape[i]);
  printf("]  %s -> %s", t->from, t->copied ? "copied" : to);
  if (t->copied) {
    putchar('\n');
    return;
  }
  printf("  %.3g bits a value\n", t->values ? 8 * (double)t->bytes_out / (double)t->values : 0);
  printf("    max error %.4g of %.4g, rms %.4g, relative %.4g", s->max_error, s->max_value, statistics_rms(s),
         statistics_relative(s));
  printf(", clipped %s", cli_print_number((double)s->clipped, number));
  if (s->non_finite) printf(", not finite %s", cli_print_number((double)s->non_finite, number));
  putchar('\n');
  if (s->values && verbose) print_histogram(s);
}

/* The tensor with the largest relative loss; NULL if none was converted. */
static const converted *worst_of(const conversion *c) {
  const converted *worst = NULL;
  for (size_t i = 0; i < c->n; i++)
    if (!c->tensor[i].copied &&
        (!worst || statistics_relative(&c->tensor[i].statistics) > statistics_relative(&worst->statistics)))
      worst = &c->tensor[i];
  return worst;
}

/* Prints all tensors, or only their number, the number of clipped values, and the tensor with the largest loss. */
static void print_text(const conversion *c, const char *out, const char *to, double seconds, bool verbose) {
  char in[CLI_NUMBER], bytes[CLI_NUMBER];
  size_t copied = 0;
  uint64_t clipped = 0, non_finite = 0;
  const converted *worst = worst_of(c);
  for (size_t i = 0; i < c->n; i++) {
    copied += c->tensor[i].copied;
    clipped += c->tensor[i].copied ? 0 : c->tensor[i].statistics.clipped;
    non_finite += c->tensor[i].copied ? 0 : c->tensor[i].statistics.non_finite;
    if (verbose) print_tensor(&c->tensor[i], to, true);
  }
  printf("%s: %s bytes from %s, in %.2f s\n", out, cli_print_number((double)c->bytes_out, bytes),
         cli_print_number((double)c->bytes_in, in), seconds);
  printf("%zu to %s, %zu copied; %s values clipped", c->n - copied, to, copied,
         cli_print_number((double)clipped, bytes));
  if (non_finite) printf(", %s not finite", cli_print_number((double)non_finite, bytes));
  putchar('\n');
  if (verbose || !worst) return;
  if (c->n - copied > 1) printf("the tensor with the largest relative error (all with --verbose):\n");
  print_tensor(worst, to, false);
}

/* ---- JSON ---- */

static json_t *json_of(const converted *t, const char *to) {
  const statistics *s = &t->statistics;
  json_t *object = json_object(), *shape = json_array(), *histogram = json_array();
  for (int i = 0; i < t->rank; i++) json_array_append_new(shape, json_integer((json_int_t)t->shape[i]));
  json_object_set_new(object, "name", tw_json_text(t->name));
  json_object_set_new(object, "from", tw_json_text(t->from));
  json_object_set_new(object, "to", tw_json_text(t->copied ? t->from : to));
  json_object_set_new(object, "shape", shape);
  json_object_set_new(object, "values", json_integer((json_int_t)t->values));
  json_object_set_new(object, "bytes_in", json_integer((json_int_t)t->bytes_in));
  json_object_set_new(object, "bytes_out", json_integer((json_int_t)t->bytes_out));
  json_object_set_new(object, "copied", json_boolean(t->copied));
  if (!t->copied) {
    for (int bin = 0; bin < ERROR_BINS; bin++) {
      if (s->bin[bin])
        json_array_append_new(histogram, json_pack("{s:o, s:I}", "error_below", cli_json_number(ldexp(1, bin - 126)),
                                                   "count", (json_int_t)s->bin[bin]));
    }
    json_object_set_new(object, "max_error", cli_json_number(s->max_error));
    json_object_set_new(object, "max_value", cli_json_number(s->max_value));
    json_object_set_new(object, "rms_error", cli_json_number(statistics_rms(s)));
    json_object_set_new(object, "relative_error", cli_json_number(statistics_relative(s)));
    json_object_set_new(object, "clipped", json_integer((json_int_t)s->clipped));
    json_object_set_new(object, "not_finite", json_integer((json_int_t)s->non_finite));
    json_object_set_new(object, "exact", json_integer((json_int_t)s->exact));
  }
  json_object_set_new(object, "histogram", histogram);
  return object;
}

static tw_status print_json(const cli *c, const conversion *result, const char *to, double seconds, tw_error *error) {
  json_t *object = json_object(), *tensors = json_array();
  for (size_t i = 0; i < result->n; i++) json_array_append_new(tensors, json_of(&result->tensor[i], to));
  json_object_set_new(object, "format", json_string(to));
  json_object_set_new(object, "tensors", tensors);
  json_object_set_new(object, "bytes_in", json_integer((json_int_t)result->bytes_in));
  json_object_set_new(object, "bytes_out", json_integer((json_int_t)result->bytes_out));
  json_object_set_new(object, "seconds", json_real(seconds));
  return cli_print_json(c, object, error);
}

/* ---- the command ---- */

static void show_progress(void *context, const converted *t) {
  (void)context;
  enum { SHOWN = 60 };
  if (!isatty(STDERR_FILENO)) return;
  fputs("\r\033[K", stderr);
  cli_put_text(stderr, t->name, SHOWN);
}

static tw_status open_converter(const converter **out, tw_error *error) {
  static const tw_part part = {"quantize", "TILEWRIGHT_QUANTIZE", "tensors_converter", "`tilewright quantize`"};
  const tw_module *module;
  const tw_status status = tw_module_open(&part, &module, error);
  *out = (const void *)module;
  return status;
}

tw_status cli_quantize(const cli *c, tw_error *error) {
  const converter *with;
  conversion result;
  struct timespec start, end;
  convert_options options = {.all = c->options.all, .jobs = (int)c->options.jobs};
  tw_status status = cli_no_words(c, 2, error);
  if (status == TW_OK && c->n_words < 2)
    status = tw_fail(error, TW_USAGE, "the files are missing; write tilewright quantize IN OUT --to FORMAT");
  if (status == TW_OK) status = packing_of(&c->options, &options.to, error);
  if (status == TW_OK) status = open_converter(&with, error);
  if (status != TW_OK) return status;
  options.stopped = cli_catch_interrupt();
  clock_gettime(CLOCK_MONOTONIC, &start);
  status = with->convert(c->words[0], c->words[1], &options, show_progress, NULL, &result, error);
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
  if (status != TW_OK) return status;
  double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  const char *to = options.to.format->name;
  if (c->options.json)
    status = print_json(c, &result, to, seconds, error);
  else
    print_text(&result, c->words[1], to, seconds, c->options.verbose);
  with->free(&result);
  return status;
}
