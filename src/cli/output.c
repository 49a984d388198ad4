/* output.c - numbers, costs and measurements as text and as JSON. */
#define _GNU_SOURCE /* vasprintf */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/utilization.h"
#include "cli/cli.h"
#include "evaluate/text.h"

tw_status cli_print_json(const cli *c, json_t *object, tw_error *error) {
  *c->printed = true;
  int failed =
      !object || json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) < 0 || putchar('\n') == EOF;
  json_decref(object);
  return failed ? tw_fail(error, TW_MISSING, "cannot write JSON to standard output") : TW_OK;
}

int cli_exit_status(tw_status status) {
  switch (tw_status_group(status)) {
  case TW_OK: return 0;
  case TW_USAGE: return 2;
  case TW_MISSING: return 3;
  case TW_INTERRUPTED: return 128 + SIGINT;
  default: return 1;
  }
}

json_t *cli_json_error(const char *text, tw_status status) {
  return json_pack("{s:o, s:i, s:s}", "error", tw_json_text(text), "status", cli_exit_status(status), "reason",
                   tw_status_name(status));
}

json_t *cli_json_number(double x) {
  if (!isfinite(x)) return json_null();
  return x == floor(x) && fabs(x) < 0x1p53 ? json_integer((json_int_t)x) : json_real(x);
}

char *cli_schedule_text(const tw_schedule *schedule) {
  size_t length = tw_schedule_print(schedule, NULL, 0);
  char *text = tw_new(length + 1, 1);
  if (text) tw_schedule_print(schedule, text, length + 1);
  return text;
}

json_t *cli_json_schedule(const tw_schedule *schedule) {
  char *text = cli_schedule_text(schedule);
  json_t *string = text ? tw_json_text(text) : NULL;
  free(text);
  return string;
}

json_t *cli_json_bound(const tw_target *target, const tw_bound *bound) {
  json_t *object = json_object();
  json_object_set_new(object, target->unit, cli_json_number(bound->cost));
  json_object_set_new(object, "compute", cli_json_number(bound->compute_cost));
  json_object_set_new(object, "memory", cli_json_number(bound->memory_cost));
  json_object_set_new(object, "limit", tw_json_text(bound->limit));
  json_object_set_new(object, "utilization_of", json_string(tw_is_memory_bound(bound) ? "bound" : "peak"));
  return object;
}

const char *cli_unjudged(const cli_subject *s) {
  const tw_problem *p = s->problem.op ? &s->problem : NULL; /* NULL: a launch without an op */
  const tw_family *f = p ? tw_family_of(s->target, p->op) : s->target->family;
  return f && f->unjudged ? f->unjudged(s->target, p, s->schedule) : NULL;
}

/* What the error of costs is the mean of, or why it is unknown. */
static const char *error_of(const tw_target *target, const cli_subject *s, bool *known) {
  const char *why = s ? cli_unjudged(s) : NULL;
  *known = !why && target->traits.error > 0;
  return why ? why : target->traits.error_of;
}

void cli_json_accuracy(json_t *object, const tw_target *target, const cli_subject *s) {
  bool known;
  const char *of = error_of(target, s, &known);
  if (!target->traits.simulated) return;
  json_object_set_new(object, "accuracy",
                      json_pack("{s:o, s:s}", "error", known ? json_real(target->traits.error) : json_null(), "of",
                                of ? of : "not known"));
}

json_t *cli_json_measurement(const cli_subject *s, const tw_measurement *m) {
  const tw_target *target = s->target;
  json_t *object = json_object(), *memory = json_object(), *counters = json_object();
  cli_json_accuracy(object, target, s);
  json_object_set_new(object, target->unit, cli_json_number(m->cost));
  if (m->spread.rounds) json_object_set_new(object, "spread", tw_spread_object(&m->spread));
  json_object_set_new(object, "instructions", cli_json_number(m->instructions));
  json_object_set_new(object, "utilization", json_real(m->utilization));
  if (m->bottleneck[0]) json_object_set_new(object, "bottleneck", tw_json_text(m->bottleneck));
  for (size_t i = 0; i < m->n_memories; i++) {
    json_t *use = json_object();
    json_object_set_new(use, "used", json_integer((json_int_t)m->memory[i].used));
    json_object_set_new(use, "size", json_integer((json_int_t)m->memory[i].size));
    json_object_set_new(memory, m->memory[i].name, use);
  }
  for (size_t i = 0; i < m->n_counters; i++)
    json_object_set_new(counters, m->counter[i].name, cli_json_number(m->counter[i].value));
  json_object_set_new(object, "memory", memory);
  json_object_set_new(object, "counters", counters);
  return object;
}

/* C0 and DEL, and C1, which UTF-8 writes as 0xc2 and a byte from 0x80 to 0x9f. */
void cli_put_text(FILE *file, const char *text, size_t most) {
  for (size_t i = 0; i < most && text[i]; i++) {
    const unsigned char c = (unsigned char)text[i], before = i ? (unsigned char)text[i - 1] : 0;
    const bool commands = c < ' ' || c == 0x7f || (before == 0xc2 && c >= 0x80 && c < 0xa0);
    fputc(commands ? '?' : c, file);
  }
}

size_t cli_width(void) {
  enum { USUAL = 80, LEAST = 40, MOST = 160 };
  struct winsize size;
  int64_t said;
  const char *columns = getenv("COLUMNS"); /* COLUMNS has priority over the terminal, as everywhere */
  if (columns && tw_parse_int(columns, &said) && said > 0) return said < LEAST ? LEAST : (size_t)said;
  const size_t width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : USUAL;
  return width < LEAST ? LEAST : width > MOST ? MOST : width;
}

void cli_put_line(FILE *file, const char *text) {
  while (*text) {
    const size_t length = strcspn(text, "\r\n");
    cli_put_text(file, text, length);
    text += length;
    text += strspn(text, "\r\n \t");
    if (length && *text) fputs("; ", file);
  }
  fputc('\n', file);
}

char *cli_print_number(double x, char buffer[CLI_NUMBER]) {
  if (fabs(x) >= 1e4 && fabs(x) < 1e15) x = round(x); /* four digits, without an exponent */
  if (!(x == floor(x) && fabs(x) < 1e15)) {
    snprintf(buffer, CLI_NUMBER, "%.4g", x);
    return buffer;
  }
  char digits[24];
  snprintf(digits, sizeof digits, "%.0f", fabs(x));
  size_t length = strlen(digits), at = 0;
  if (x < 0) buffer[at++] = '-';
  for (size_t i = 0; i < length; i++) {
    if (i && (length - i) % 3 == 0) buffer[at++] = ',';
    buffer[at++] = digits[i];
  }
  buffer[at] = '\0';
  return buffer;
}

char *cli_print_amount(const char *unit, double cost, char buffer[CLI_NUMBER]) {
  if (strcmp(unit, "seconds") == 0) return tw_print_amount(unit, cost, buffer);
  char number[CLI_NUMBER];
  const double whole = cost >= 1000 ? round(cost) : cost; /* a predicted cost may have fractions of a cycle */
  snprintf(buffer, CLI_NUMBER, "%.24s %.12s", cli_print_number(whole, number), unit);
  return buffer;
}

char *cli_print_cost(const tw_target *target, double cost, char buffer[CLI_NUMBER]) {
  return cli_print_amount(target->unit, cost, buffer);
}

void cli_print_spread(const tw_target *t, const tw_spread *s) {
  char least[CLI_NUMBER], lower[CLI_NUMBER], median[CLI_NUMBER], upper[CLI_NUMBER], most[CLI_NUMBER];
  if (!s->rounds) return;
  printf("  spread        %zu rounds: %s to %s, median %s, half of them from %s to %s\n", s->rounds,
         cli_print_cost(t, s->least, least), cli_print_cost(t, s->most, most), cli_print_cost(t, s->median, median),
         cli_print_cost(t, s->lower, lower), cli_print_cost(t, s->upper, upper));
}

static void print_counters(const tw_measurement *m) {
  char number[CLI_NUMBER];
  if (m->n_counters) printf("\ntime by cause, and counters\n");
  for (size_t i = 0; i < m->n_counters; i++) {
    const tw_counter *counter = &m->counter[i];
    char share[16] = "";
    if (m->cycles > 0 && strcmp(counter->unit, "cycles") == 0)
      snprintf(share, sizeof share, "%5.1f%%", 100 * counter->value / m->cycles);
    const bool time = strcmp(counter->unit, "seconds") == 0; /* printed as us, ms or s */
    printf("  %-20s %14s %-8s %6s", counter->name,
           time ? cli_print_amount("seconds", counter->value, number) : cli_print_number(counter->value, number),
           time ? "" : counter->unit, share);
    printf("%s%s\n", cli_width() < 100 ? "\n        " : "  ",
           counter->help); /* next to the counter if there is room, else on the next line */
  }
}

static void print_memories(const tw_measurement *m) {
  char used[CLI_NUMBER], size[CLI_NUMBER];
  if (m->n_memories) printf("\nmemory in use\n");
  for (size_t i = 0; i < m->n_memories; i++) {
    const tw_memory_use *memory = &m->memory[i];
    double share = memory->size ? 100 * (double)memory->used / (double)memory->size : 0;
    printf("  %-20s %14s of %s bytes (%.0f%%)\n", memory->name, cli_print_number((double)memory->used, used),
           cli_print_number((double)memory->size, size), share);
  }
}

void cli_print_accuracy(const cli_subject *s) {
  bool known;
  const char *of = error_of(s->target, s, &known);
  if (s->target->traits.simulated && !known && of) printf("  accuracy      unknown: %s\n", of);
}

void cli_print_measurement(const cli_subject *s, const tw_measurement *m, const tw_bound *bound) {
  const tw_target *target = s->target;
  char text[CLI_NUMBER];
  printf("  cost          %s\n", cli_print_cost(target, m->cost, text));
  cli_print_spread(target, &m->spread);
  if (bound || m->utilization > 0)
    printf("  utilization   %.1f%% of %s\n", 100 * m->utilization,
           bound ? tw_utilization_of(bound) : "the machine's peak");
  if (bound)
    printf("  bound         %s (%s): no kernel costs less; this one costs %.2f times as much\n",
           cli_print_cost(target, bound->cost, text), bound->limit, bound->cost > 0 ? m->cost / bound->cost : 0);
  cli_print_accuracy(s);
  if (m->bottleneck[0]) printf("  bottleneck    %s\n", m->bottleneck);
  if (m->instructions > 0) printf("  instructions  %s\n", cli_print_number(m->instructions, text));
  print_counters(m);
  print_memories(m);
}
