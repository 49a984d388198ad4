/* counts.c - counts for each instruction: executions, lanes, phases and turns in LDS, lines of global memory; and
 * their sums over source lines and the kernel. See counts.h. */
#include "target/cdna/checks/counts.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/cdna/isa/fidelity.h"
#include "target/cdna/layout/lds.h"

/* ---- counting ---- */

static void count_lds(const cdna_wave *w, const cdna_op *op, const cdna_access *a, uint64_t lanes, cdna_count *c) {
  uint32_t address[CDNA_LANES];
  const cdna_lds_kind kind = a->to_lds               ? CDNA_LDS_WRITE
                             : a->reads && a->writes ? CDNA_LDS_ATOMIC
                             : a->reads              ? CDNA_LDS_READ
                                                     : CDNA_LDS_WRITE;
  const int bytes = a->to_lds && a->bytes < 4 ? 4 : a->bytes;
  const cdna_lds_rule *rule = cdna_lds_rule_of(w->program->object->arch, kind, bytes);
  (void)op;
  for (int part = 0; rule && part < a->parts; part++) {
    cdna_lds_count n;
    for (int l = 0; l < CDNA_LANES; l++) address[l] = a->to_lds ? a->lds[l] : (uint32_t)a->address[part][l];
    cdna_lds_count_access(rule, kind, bytes, address, lanes, &n);
    c->phases += (uint64_t)n.phases;
    c->turns += (uint64_t)n.turns;
    if (n.worst > c->worst) c->worst = n.worst;
    c->lds_bytes += (uint64_t)bytes * (uint64_t)__builtin_popcountll(lanes);
  }
}

/* Counts the different lines of 128 bytes that the lanes reach, and the lines that their bytes would fill. */
static void count_lines(const cdna_access *a, cdna_count *c) {
  uint64_t line[2 * CDNA_LANES];
  int n = 0;
  const uint64_t lanes = a->lanes[CDNA_IN_GLOBAL];
  for (uint64_t left = lanes; left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    const uint64_t first = a->address[0][l] / CDNA_LINE, last = (a->address[0][l] + a->bytes - 1) / CDNA_LINE;
    for (uint64_t at = first; at <= last && n < 2 * CDNA_LANES; at++) {
      int k = n - 1;
      while (k >= 0 && line[k] != at) k--;
      if (k < 0) line[n++] = at;
    }
  }
  const uint64_t bytes = (uint64_t)a->bytes * (uint64_t)__builtin_popcountll(lanes);
  c->bytes += bytes;
  c->lines += (uint64_t)n;
  c->least_lines += (bytes + CDNA_LINE - 1) / CDNA_LINE;
}

void cdna_count_instruction(const cdna_wave *w, const cdna_op *op, bool vector, uint64_t exec, const cdna_access *a,
                            cdna_count *c) {
  c->executions++;
  c->vector += vector;
  if (vector) c->lanes += (uint64_t)__builtin_popcountll(exec);
  if (!a) return;
  if (a->lanes[CDNA_IN_GLOBAL]) count_lines(a, c);
  if (a->to_lds && exec)
    count_lds(w, op, a, exec, c);
  else if (a->lanes[CDNA_IN_LDS])
    count_lds(w, op, a, a->lanes[CDNA_IN_LDS], c);
}

void cdna_count_add(cdna_count *to, const cdna_count *from) {
  to->executions += from->executions;
  to->vector += from->vector;
  to->lanes += from->lanes;
  to->phases += from->phases;
  to->turns += from->turns;
  if (from->worst > to->worst) to->worst = from->worst;
  to->lds_bytes += from->lds_bytes;
  to->bytes += from->bytes;
  to->lines += from->lines;
  to->least_lines += from->least_lines;
}

/* ---- sums ---- */

typedef struct line_count {
  char place[120];
  cdna_count count;
} line_count;

typedef struct sums {
  cdna_count all, load, store; /* load and store of global memory */
  uint64_t by_class[CDNA_CLASSES];
  uint64_t vector, vector_lanes;
  double macs;
  uint64_t passes;
  uint64_t by_fidelity[CDNA_FIDELITIES];
  size_t n_lines;
  line_count *line;
} sums;

static void add_line(sums *s, const char *place, const cdna_count *c) {
  size_t at = 0;
  while (at < s->n_lines && strcmp(s->line[at].place, place) != 0) at++;
  if (at == s->n_lines) {
    line_count *more = realloc(s->line, (at + 1) * sizeof *more);
    if (!more) return;
    s->line = more;
    s->line[s->n_lines++] = (line_count){0};
    snprintf(s->line[at].place, sizeof s->line[at].place, "%s", place);
  }
  cdna_count_add(&s->line[at].count, c);
}

static void add_instruction(sums *s, const cdna_effects *e, const cdna_count *c) {
  cdna_count_add(&s->all, c);
  s->by_class[e->klass] += c->executions;
  if (e->klass >= CDNA_CLASS_VALU && e->klass != CDNA_CLASS_MATRIX) {
    s->vector += c->executions;
    s->vector_lanes += c->lanes;
  }
  if (e->mfma) {
    s->macs += (double)c->executions * (double)cdna_mfma_macs(e->mfma);
    s->passes += c->executions * e->passes;
  }
  if (c->bytes) cdna_count_add(e->access == CDNA_STORE ? &s->store : &s->load, c);
}

static int by_executions(const void *a, const void *b) {
  const line_count *x = a, *y = b;
  if (x->count.executions != y->count.executions) return x->count.executions > y->count.executions ? -1 : 1;
  return strcmp(x->place, y->place);
}

/* ---- words ---- */

static double share(uint64_t part, uint64_t of) { return of ? 100.0 * (double)part / (double)of : 0; }

static void print_memory(tw_text *t, const char *what, const cdna_count *c) {
  if (!c->bytes) return;
  tw_text_add(t, "  %-13s %" PRIu64 " bytes in %" PRIu64 " lines of %d bytes: %.0f%% of what they carry is used\n",
              what, c->bytes, c->lines, CDNA_LINE, share(c->bytes, c->lines * CDNA_LINE));
}

static void print_sums(tw_text *t, const sums *s, const cdna_resources *r, const cdna_machine *m, int scalars) {
  cdna_occupancy o;
  tw_text_add(t, "what instructions did\n  %-13s %d VGPRs, %d AGPRs, %d SGPRs, %d bytes of LDS", "resources", r->vgprs,
              r->agprs, scalars, r->lds_bytes);
  if (cdna_occupancy_of(m, r, &o, NULL) == TW_OK)
    tw_text_add(t, ": %d workgroups a CU, %d waves a SIMD (limit: %s)", o.workgroups, o.waves_of_simd, o.limit);
  tw_text_add(t, "\n  %-13s ", "executed");
  bool first = true;
  for (int c = 0; c < CDNA_CLASSES; c++)
    if (s->by_class[c]) {
      tw_text_add(t, "%s%s %.1f%%", first ? "" : ", ", cdna_class_name((cdna_class)c),
                  share(s->by_class[c], s->all.executions));
      first = false;
    }
  tw_text_add(t, "\n  %-13s", "fidelity");
  for (int f = 0; f < CDNA_FIDELITIES; f++)
    if (s->by_fidelity[f])
      tw_text_add(t, " %s %.1f%%", cdna_fidelity_name((cdna_fidelity)f), share(s->by_fidelity[f], s->all.executions));
  tw_text_add(t, "\n  %-13s %.1f of 64 in vector instructions\n", "lanes",
              s->vector ? (double)s->vector_lanes / (double)s->vector : 0);
  if (s->all.phases)
    tw_text_add(
        t, "  %-13s %" PRIu64 " bytes, %" PRIu64 " phases in %" PRIu64 " turns: %.1f%% lost to bank conflicts\n", "LDS",
        s->all.lds_bytes, s->all.phases, s->all.turns, share(s->all.turns - s->all.phases, s->all.turns));
  print_memory(t, "global reads", &s->load);
  print_memory(t, "global writes", &s->store);
  if (s->passes)
    tw_text_add(t, "  %-13s %.4g GFLOP in %" PRIu64 " passes of 4 cycles\n", "MFMA", 2e-9 * s->macs, s->passes);
  tw_text_add(t, "  %-24s %14s %6s %12s %12s\n", "line", "instructions", "lanes", "LDS turns", "global lines");
  for (size_t i = 0; i < s->n_lines && i < 8; i++) {
    const cdna_count *c = &s->line[i].count;
    tw_text_add(t, "  %-24s %14" PRIu64 " %6.1f %12" PRIu64 " %12" PRIu64 "\n", s->line[i].place, c->executions,
                c->vector ? (double)c->lanes / (double)c->vector : 0, c->turns, c->lines);
  }
}

static json_t *json_count(const cdna_count *c) {
  json_t *o = json_object();
  json_object_set_new(o, "executions", json_integer((json_int_t)c->executions));
  if (c->vector) json_object_set_new(o, "vector", json_integer((json_int_t)c->vector));
  if (c->vector) json_object_set_new(o, "lanes", json_integer((json_int_t)c->lanes));
  if (c->phases) {
    json_object_set_new(o, "lds_phases", json_integer((json_int_t)c->phases));
    json_object_set_new(o, "lds_turns", json_integer((json_int_t)c->turns));
    json_object_set_new(o, "lds_worst", json_integer(c->worst));
    json_object_set_new(o, "lds_bytes", json_integer((json_int_t)c->lds_bytes));
  }
  if (c->lines) {
    json_object_set_new(o, "bytes", json_integer((json_int_t)c->bytes));
    json_object_set_new(o, "lines", json_integer((json_int_t)c->lines));
    json_object_set_new(o, "least_lines", json_integer((json_int_t)c->least_lines));
  }
  return o;
}

static json_t *json_sums(const sums *s) {
  json_t *o = json_count(&s->all), *classes = json_object(), *lines = json_array();
  for (int c = 0; c < CDNA_CLASSES; c++)
    if (s->by_class[c])
      json_object_set_new(classes, cdna_class_name((cdna_class)c), json_integer((json_int_t)s->by_class[c]));
  json_object_set_new(o, "classes", classes);
  json_t *fidelity = json_object();
  for (int f = 0; f < CDNA_FIDELITIES; f++)
    json_object_set_new(fidelity, cdna_fidelity_name((cdna_fidelity)f), json_integer((json_int_t)s->by_fidelity[f]));
  json_object_set_new(o, "fidelity", fidelity);
  json_object_set_new(o, "mfma_flop", json_real(2 * s->macs));
  json_object_set_new(o, "mfma_passes", json_integer((json_int_t)s->passes));
  for (size_t i = 0; i < s->n_lines; i++) {
    json_t *line = json_count(&s->line[i].count);
    json_object_set_new(line, "place", json_string(s->line[i].place));
    json_array_append_new(lines, line);
  }
  json_object_set_new(o, "by_line", lines);
  return o;
}

void cdna_counts_report(const cdna_count *count, size_t n, const cdna_object *o, const cdna_kernel *k,
                        const cdna_machine *m, int work_items, int lds, tw_inspection *i) {
  sums s = {0};
  const cdna_segment *segment = NULL;
  for (size_t e = 0; e < o->n_segments && !segment; e++)
    if (o->segment[e].executable && k->entry - o->segment[e].address < o->segment[e].file_size)
      segment = &o->segment[e];
  if (!segment) return;
  json_t *instructions = json_array();
  for (size_t at = 0; at < n; at++) {
    cdna_code c;
    cdna_effects e;
    uint32_t word[4] = {0};
    char place[120], address[24];
    const size_t left = segment->file_size / 4 - at;
    if (!count[at].executions) continue;
    memcpy(word, segment->data + 4 * at, 4 * (left < 4 ? left : 4));
    if (cdna_decode(o->arch, word, left < 4 ? left : 4, &c)) continue;
    cdna_effects_of(o->arch, &c, &e);
    cdna_object_place(o, segment->address + 4 * at, place, sizeof place);
    add_instruction(&s, &e, &count[at]);
    const char *why;
    const cdna_fidelity fidelity = cdna_fidelity_of(o->arch, &c, &why);
    s.by_fidelity[fidelity] += count[at].executions;
    char *plus = strrchr(place, '+');
    if (!strchr(place, ':') && plus) *plus = '\0'; /* without line numbers: sums by function */
    add_line(&s, place, &count[at]);
    tw_text t = {0};
    cdna_print(&c, &t);
    char *text = tw_text_take(&t);
    json_t *one = json_count(&count[at]);
    snprintf(address, sizeof address, "0x%" PRIx64, segment->address + 4 * at);
    json_object_set_new(one, "address", json_string(address));
    json_object_set_new(one, "text", json_string(text ? text : ""));
    json_object_set_new(one, "place", json_string(place));
    json_object_set_new(one, "fidelity", json_string(cdna_fidelity_name(fidelity)));
    if (why) json_object_set_new(one, "fidelity_reason", json_string(why));
    json_array_append_new(instructions, one);
    free(text);
  }
  if (s.n_lines) qsort(s.line, s.n_lines, sizeof *s.line, by_executions);
  const int all = cdna_kernel_vgprs(k), accumulation = cdna_kernel_accum(k),
            scalars = 16 * ((int)(k->rsrc1 >> 6 & 15) / 2 + 1);
  const cdna_resources r = {.vgprs = all < accumulation ? all : accumulation,
                            .agprs = cdna_kernel_agprs(k),
                            .lds_bytes = lds,
                            .work_items = work_items};
  tw_text words = {0};
  print_sums(&words, &s, &r, m, scalars);
  json_t *whole = json_sums(&s);
  json_object_set_new(whole, "kernel", json_string(k->name));
  json_object_set_new(whole, "instructions", instructions);
  free(i->counted);
  free(i->json);
  i->counted = tw_text_take(&words);
  i->json = json_dumps(whole, JSON_COMPACT);
  json_decref(whole);
  free(s.line);
}
