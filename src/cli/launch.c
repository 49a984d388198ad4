/* launch.c - `tilewright run FILE --kernel NAME --grid X[,Y[,Z]] --block X[,Y[,Z]] [--lds BYTES] --arg SPEC... -t
 * TARGET`: runs any kernel of a program, without an op. Arguments have their natural alignment, or start at a given byte:
 *
 *   in=FILE            an input buffer with the bytes of FILE
 *   out=FILE:BYTES     a buffer of BYTES bytes, filled with 0x5a before the run, written to FILE after the run
 *   inout=FILE:OUT     a buffer read from FILE before the run, written to OUT after the run
 *   u32= i32= u64= f32= null
 *   @BYTE:SPEC         an argument at this byte of the argument buffer
 *
 * Instead, --args FILE names the arguments (launch_file.h).
 *
 * From a .npy FILE, the array's data is read. The OUT of such an inout is a .npy file with the header of FILE. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "cli/launch_file.h"

#define BUFFER_LIMIT ((size_t)8 << 30)

typedef struct launch_argument {
  char *file;       /* bytes of the whole file, malloc'ed: raw.data is in it */
  size_t file_size; /* size including a .npy file's header */
  const char *out;  /* path; NULL: not written */
  char *copy;       /* memory of the texts */
} launch_argument;

const char *cli_kernel(const cli *c) {
  return c->options.kernel_names.n ? c->options.kernel_names.text[c->options.kernel_names.n - 1] : NULL;
}

/* Targets whose programs need no option to be launched. */
static bool launches_whole(const cli *c) {
  const tw_target *t;
  return c->options.target && cli_find_target(c->options.target, &t, NULL) == TW_OK && t->launcher &&
         t->launcher->whole;
}

bool cli_is_launch(const cli *c) {
  if (c->n_words == 1 && !c->options.schedule && launches_whole(c)) return true;
  return c->n_words == 1 && (c->options.kernel_cycles.n || c->options.grid || c->options.block ||
                             c->options.arguments.n || c->options.lds || c->options.launch_file || cli_kernel(c));
}

/* The options as lines of a launch's header (docs/reference/kernel-header.md), malloc'ed; NULL without any. */
static char *launch_header(const cli *c) {
  const cli_options *o = &c->options;
  const struct {
    const char *key;
    const cli_list *list;
  } lists[] = {{"kernel", &o->kernel_names}, {"kernel-cycles", &o->kernel_cycles}, {"args", &o->arguments}};
  tw_text t = {0};
  bool any = o->grid || o->block || o->lds;
  if (o->grid) tw_text_add(&t, "//: grid %s\n", o->grid);
  if (o->block) tw_text_add(&t, "//: block %s\n", o->block);
  if (o->lds) tw_text_add(&t, "//: shared %" PRId64 "\n", o->lds);
  for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
    for (size_t i = 0; i < lists[l].list->n; i++) {
      tw_text_add(&t, "//: %s %s\n", lists[l].key, lists[l].list->text[i]);
      any = true;
    }
  return any ? tw_text_take(&t) : NULL;
}

/* True if the machine starts kernels as their sources state. Such a machine runs any source, or has launches without an
 * op. */
static bool reads_headers(const tw_target *t) {
  for (size_t i = 0; i < t->n_families; i++)
    if (!strcmp(t->family[i].op, "*")) return true;
  return t->launcher;
}

tw_status cli_check_header(const cli *c, const tw_target *t, tw_error *error) {
  if (c->options.launch_file)
    return tw_fail(error, TW_USAGE, "--args describes a launch without an op; leave out --args, or the op");
  char *header = launch_header(c);
  const bool is_said = header;
  free(header);
  if (!is_said || (reads_headers(t) && !c->options.schedule)) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "%s has a fixed launch; leave out --grid, --block, --lds, --arg, --kernel and --kernel-cycles",
                 c->options.schedule ? "the kernel of a schedule" : "a kernel for this machine");
}

/* The launch options of the command line as header lines: before the bytes of a program, or after a text, whose
 * lines then keep their numbers. */
tw_status cli_add_header(const cli *c, char **source, size_t *length, tw_error *error) {
  char *header = launch_header(c);
  if (!header) return TW_OK;
  const size_t n = strlen(header), all = n + *length + 1;
  const bool binary = memchr(*source, '\0', *length) != NULL;
  char *both = malloc(all + 1);
  if (both) {
    memcpy(both + (binary ? n : 0), *source, *length);
    memcpy(both + (binary ? 0 : *length + 1), header, n);
    if (!binary) both[*length] = '\n';
    *length = binary ? all - 1 : all;
    both[*length] = '\0';
    free(*source);
    *source = both;
  }
  free(header);
  return both ? TW_OK : tw_no_memory(error, NULL);
}

static tw_status parse_three(const char *option, const char *text, uint32_t out[3], tw_error *error) {
  char copy[100], *rest = copy, *word;
  int n = 0;
  out[0] = out[1] = out[2] = 1;
  if (!text)
    return tw_fail(error, TW_USAGE, "--%s is missing; give one to three numbers, as in --%s 16,4", option, option);
  snprintf(copy, sizeof copy, "%s", text);
  while ((word = strsep(&rest, ",")) && n < 4) {
    int64_t value;
    if (n == 3 || !tw_parse_int(word, &value) || value < 1 || value > UINT32_MAX)
      return tw_fail(error, TW_USAGE, "--%s %s: expected one to three whole numbers of at least 1, as in --%s 16,4",
                     option, text, option);
    out[n++] = (uint32_t)value;
  }
  return TW_OK;
}

static bool is_npy(const char *data, size_t size) { return size >= 10 && !memcmp(data, "\x93NUMPY", 6); }

/* Bytes of a .npy file's header. */
static size_t npy_header(const char *data, size_t size) {
  const uint8_t *d = (const uint8_t *)data;
  const size_t n = d[6] == 1 ? 10 + (d[8] | (size_t)d[9] << 8)
                             : 12 + (d[8] | (size_t)d[9] << 8 | (size_t)d[10] << 16 | (size_t)d[11] << 24);
  return n < size ? n : size;
}

static tw_status read_buffer(const char *path, launch_argument *a, tw_raw_argument *raw, tw_error *error) {
  const tw_status status = tw_file_read(path, BUFFER_LIMIT, &a->file, &a->file_size, error);
  if (status != TW_OK) return status;
  const size_t header = is_npy(a->file, a->file_size) ? npy_header(a->file, a->file_size) : 0;
  raw->is_data = true;
  raw->data = a->file + header;
  raw->bytes = a->file_size - header;
  snprintf(raw->name, sizeof raw->name, "%s", path);
  return TW_OK;
}

static tw_status make_output(const char *text, const char *bytes, launch_argument *a, tw_raw_argument *raw,
                             tw_error *error) {
  int64_t n;
  if (!bytes || !tw_parse_int(bytes, &n) || n < 1 || (uint64_t)n > BUFFER_LIMIT)
    return tw_fail(error, TW_USAGE, "--arg out=%s: the size is missing; write it in bytes, as in out=c.bin:4096", text);
  a->file = malloc((size_t)n);
  if (!a->file) return tw_fail(error, TW_NO_MEMORY, "out of memory: %s bytes for %s", bytes, text);
  memset(a->file, 0x5a, (size_t)n);
  a->file_size = (size_t)n;
  a->out = text;
  raw->is_data = raw->writable = raw->undefined = true;
  raw->data = a->file;
  raw->bytes = (size_t)n;
  snprintf(raw->name, sizeof raw->name, "%s", text);
  return TW_OK;
}

static tw_status parse_value(const char *kind, const char *text, tw_raw_argument *raw, tw_error *error) {
  char *end = NULL;
  errno = 0;
  bool good = *text;
  raw->bytes = 4;
  if (!strcmp(kind, "f32")) {
    const float v = strtof(text, &end);
    memcpy(&raw->value, &v, sizeof v);
  } else if (!strcmp(kind, "i32")) {
    const long long v = strtoll(text, &end, 0);
    good = good && v >= INT32_MIN && v <= INT32_MAX;
    raw->value = (uint32_t)v;
  } else {
    const unsigned long long v = strtoull(text, &end, 0);
    const bool wide = !strcmp(kind, "u64");
    good = good && *text != '-' && (wide || v <= UINT32_MAX);
    raw->value = v;
    if (wide) raw->bytes = 8;
  }
  if (!good || *end || (errno && strcmp(kind, "f32") != 0))
    return tw_fail(error, TW_USAGE, "--arg %s=%s: expected a number of that type", kind, text);
  return TW_OK;
}

static tw_status parse_argument(const char *spec, launch_argument *a, tw_raw_argument *raw, tw_error *error) {
  static const char usage[] = "in=FILE, out=FILE:BYTES, inout=FILE:OUTFILE, u32=, i32=, u64=, f32= or null";
  *raw = (tw_raw_argument){.at = TW_PLACE_NEXT};
  a->copy = strdup(spec);
  if (!a->copy) return tw_no_memory(error, NULL);
  char *text = a->copy;
  if (*text == '@') {
    char *colon = strchr(text, ':');
    if (colon) *colon = '\0';
    if (!colon || !tw_parse_int(text + 1, &raw->at) || raw->at < 0 || raw->at > 65535)
      return tw_fail(error, TW_USAGE, "--arg %s: expected a position as in @16:SPEC", spec);
    text = colon + 1;
  }
  if (!strcmp(text, "null")) {
    raw->bytes = 8;
    return TW_OK;
  }
  char *value = strchr(text, '=');
  if (!value) return tw_fail(error, TW_USAGE, "--arg %s: expected %s", spec, usage);
  *value++ = '\0';
  if (!strcmp(text, "in")) return read_buffer(value, a, raw, error);
  char *second = strrchr(value, ':');
  if (!strcmp(text, "out")) {
    if (second) *second++ = '\0';
    return make_output(value, second, a, raw, error);
  }
  if (!strcmp(text, "inout")) {
    if (!second)
      return tw_fail(error, TW_USAGE, "--arg %s: the output file is missing; write it as in inout=c.bin:after.bin",
                     spec);
    *second++ = '\0';
    a->out = second;
    raw->writable = true;
    return read_buffer(value, a, raw, error);
  }
  if (!strcmp(text, "u32") || !strcmp(text, "i32") || !strcmp(text, "u64") || !strcmp(text, "f32"))
    return parse_value(text, value, raw, error);
  return tw_fail(error, TW_USAGE, "--arg %s: expected %s", spec, usage);
}

static tw_status print(const cli *c, const tw_target *t, const tw_raw_launch *l, const tw_measurement *m,
                       const cli_inspection *i, tw_error *error) {
  const cli_subject launch = {.target = t};
  if (!c->options.json) {
    printf("%s ran on %s\n", l->kernel && !t->launcher->whole ? l->kernel : c->words[0], t->name);
    if (*l->note) printf("  result        %s\n", l->note);
    if (m->cost > 0) cli_print_measurement(&launch, m, NULL);
    if (i) cli_print_inspection(i);
    return TW_OK;
  }
  json_t *object = cli_json_measurement(&launch, m);
  if (*l->note) json_object_set_new(object, "note", tw_json_text(l->note));
  if (i) cli_json_inspection(i, object);
  return cli_print_json(c, object, error);
}

/* --workgroups N or FROM-TO. */
static tw_status parse_workgroups(const char *text, tw_raw_launch *l, tw_error *error) {
  char *end = NULL;
  errno = 0;
  const unsigned long long first = strtoull(text, &end, 10);
  bool ok = *text >= '0' && *text <= '9' && !errno;
  if (ok && *end == '-' && end[1] >= '0' && end[1] <= '9') {
    const unsigned long long last = strtoull(end + 1, &end, 10);
    ok = !errno && !*end && last >= first && last < UINT32_MAX;
    l->first_group = first;
    l->groups = last - first + 1;
  } else {
    ok = ok && !*end && first && first < UINT32_MAX;
    l->groups = first;
    l->spread_groups = 1;
  }
  if (ok) return TW_OK;
  return tw_fail(error, TW_USAGE, "--workgroups %s: expected a number above 0, or a range as in 0-99", text);
}

/* The workgroups to execute, and to time. */
static tw_status choose_parts(const cli *c, const tw_target *t, tw_raw_launch *l, tw_error *error) {
  const cli_options *o = &c->options;
  if (o->trace || o->timeline)
    return tw_fail(error, TW_USAGE, "--%s is unsupported for a launch without an op; give the op and its keys",
                   o->trace ? "trace" : "timeline");
  l->untimed = o->no_timing;
  l->time_only = o->timing_only;
  if (!o->no_timing && !o->timing_only && !o->workgroups) return TW_OK;
  if (t->launcher->whole)
    return tw_fail(
        error, TW_USAGE,
        "a design for %s is executed and timed together; leave out --no-timing, --timing-only and --workgroups",
        t->name);
  if (o->no_timing && o->timing_only)
    return tw_fail(error, TW_USAGE, "--no-timing and --timing-only exclude each other; give one of them");
  if (o->timing_only && (o->workgroups || o->checks || o->counts || o->known || o->write_known))
    return tw_fail(error, TW_USAGE,
                   "--timing-only does not execute the grid; leave out --workgroups, --checks, --counts, --known and "
                   "--write-known");
  return o->workgroups ? parse_workgroups(o->workgroups, l, error) : TW_OK;
}

/* Adds the file's arguments to the launch, and what the command line does not give. */
static tw_status take_launch_file(const cli *c, const tw_target *t, const cli_launch_file *f, tw_raw_launch *l,
                                  launch_argument *argument, tw_error *error) {
  if (t->launcher->whole)
    return tw_fail(error, TW_USAGE, "a design for %s has no named arguments; use --arg instead of --args", t->name);
  if (c->options.arguments.n)
    return tw_fail(error, TW_USAGE, "--args and --arg exclude each other; write all arguments into the file");
  tw_status status = TW_OK;
  if (!l->kernel) l->kernel = f->kernel;
  if (!c->options.lds) l->shared = (uint64_t)f->lds;
  for (; l->n < f->n && status == TW_OK; l->n++) {
    status = parse_argument(f->spec[l->n], &argument[l->n], &l->argument[l->n], error);
    if (status == TW_OK && l->argument[l->n].at >= 0)
      status = tw_fail(error, TW_USAGE, "%s: the place is in the metadata; leave out @BYTE:", f->spec[l->n]);
    l->argument[l->n].at = TW_PLACE_BY_NAME;
    snprintf(l->argument[l->n].name, sizeof l->argument[l->n].name, "%s", f->name[l->n]);
  }
  return status;
}

tw_status cli_launch(const cli *c, tw_error *error) {
  const tw_target *t;
  cli_launch_file file = {0};
  launch_argument argument[CLI_LIST_MAX] = {0};
  tw_raw_argument raw[CLI_LIST_MAX] = {0};
  cli_inspection inspection = {0};
  tw_raw_launch launch = {.kernel = cli_kernel(c),
                          .shared = (uint64_t)c->options.lds,
                          .argument = raw,
                          .jobs = (int)c->options.jobs,
                          .trust = c->options.trust,
                          .headers = cli_headers(c)};
  tw_measurement measured = {0};
  char *data = NULL;
  size_t size = 0;
  if (c->n_words > 1)
    return tw_fail(error, TW_USAGE, "unexpected '%s'; a kernel that is launched with --grid and --arg has no op",
                   c->words[1]);
  tw_status status = cli_find_target(c->options.target, &t, error);
  if (status == TW_OK && !t->launcher)
    status =
        tw_fail(error, TW_USAGE, "%s requires an op; name one, as in `tilewright run FILE gemm m=64 ...`", t->name);
  if (status == TW_OK && t->launcher->whole && (c->options.grid || c->options.block || c->options.lds))
    status = tw_fail(error, TW_USAGE, "a design for %s has no grid, block or LDS; leave out --grid, --block and --lds",
                     t->name);
  if (status == TW_OK) status = choose_parts(c, t, &launch, error);
  if (status == TW_OK && c->options.launch_file) status = cli_launch_file_read(c->options.launch_file, &file, error);
  const char *grid = c->options.grid || !*file.grid ? c->options.grid : file.grid;
  const char *block = c->options.block || !*file.block ? c->options.block : file.block;
  if (status == TW_OK && !t->launcher->whole) status = parse_three("grid", grid, launch.grid, error);
  if (status == TW_OK && !t->launcher->whole) status = parse_three("block", block, launch.block, error);
  if (status == TW_OK) status = cli_read_source(c->words[0], &data, &size, error);
  if (status == TW_OK && t->launcher->whole) status = cli_add_header(c, &data, &size, error);
  if (status == TW_OK && c->options.launch_file) status = take_launch_file(c, t, &file, &launch, argument, error);
  for (size_t i = 0; i < c->options.arguments.n && status == TW_OK; i++, launch.n++)
    status = parse_argument(c->options.arguments.text[i], &argument[i], &raw[i], error);
  if (status == TW_OK) status = cli_inspection_of(c, t, "usual", &inspection, error);
  if (launch.time_only) inspection.wanted = false;
  if (inspection.wanted) launch.inspection = &inspection.by;
  if (status == TW_OK) status = t->launcher->run(t, data, size, &launch, &measured, error);
  cli_name_findings(c, &inspection);
  for (size_t i = 0; i < launch.n && status == TW_OK; i++)
    if (argument[i].out && !launch.time_only)
      status = tw_file_write(argument[i].out, argument[i].file, argument[i].file_size, error);
  if (status == TW_OK)
    status = print(c, t, &launch, &measured, inspection.wanted ? &inspection : NULL, error);
  else if (inspection.wanted && !c->options.json &&
           inspection.by.n_findings) /* prints findings that precede the fault */
    cli_print_inspection(&inspection);
  if (status == TW_OK) status = cli_judge_inspection(c, &inspection, error);
  cli_inspection_free(&inspection);
  for (size_t i = 0; i < CLI_LIST_MAX; i++) {
    free(argument[i].file);
    free(argument[i].copy);
  }
  cli_launch_file_free(&file);
  free(data);
  return status;
}
