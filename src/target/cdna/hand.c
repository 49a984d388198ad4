/* hand.c - a launch without an op: a code object or a source, a grid, and explicit arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/cdna/artefact.h"
#include "target/cdna/machine.h"
#include "target/cdna/toolchain.h"

void cdna_put_printed(tw_text *t) {
  for (size_t i = 0; i < t->length; i++) {
    const unsigned char c = (unsigned char)t->data[i];
    fputc(c < ' ' && c != '\n' && c != '\t' ? '?' : c == 127 ? '?' : c, stderr);
  }
  tw_text_free(t);
}

enum { BLOCK_BYTES = 1 << 16 };

static bool is_hidden(const cdna_parameter *p) { return !strncmp(p->kind, "hidden_", 7); }

/* The parameter of that name or, as "2", of that number; hidden ones do not count. */
static const cdna_parameter *parameter_of(const cdna_kernel *k, const char *name) {
  char number[24];
  for (size_t i = 0, n = 0; i < k->n_parameters; i++) {
    const cdna_parameter *p = &k->parameter[i];
    if (is_hidden(p)) continue;
    snprintf(number, sizeof number, "%zu", n++);
    if (!strcmp(number, name) || (p->name && strlen(name) == p->name_length && !memcmp(p->name, name, p->name_length)))
      return p;
  }
  return NULL;
}

/* "A, B, m", or "0 to 5" of parameters without names. */
static void list_parameters(const cdna_kernel *k, char *text, size_t size) {
  size_t used = 0, n = 0;
  *text = '\0';
  for (size_t i = 0; i < k->n_parameters; i++) {
    const cdna_parameter *p = &k->parameter[i];
    if (is_hidden(p)) continue;
    if (p->name && used < size)
      used += (size_t)snprintf(text + used, size - used, "%s%.*s", n ? ", " : "", (int)p->name_length, p->name);
    n++;
  }
  if (!used && n) snprintf(text, size, "0 to %zu", n - 1);
}

/* Sets the argument's bytes and its place in the block from the parameter that it names. A value may be narrower than
 * its text's type. */
static tw_status place_by_name(const cdna_kernel *k, const tw_raw_argument *a, size_t *bytes, size_t *at,
                               tw_error *error) {
  char names[160];
  const cdna_parameter *p = parameter_of(k, a->name);
  list_parameters(k, names, sizeof names);
  if (!p && !*names)
    return tw_fail(error, TW_USAGE, "%s has no metadata about arguments; pass them in order with --arg", k->name);
  if (!p) return tw_fail(error, TW_USAGE, "%s has no argument %s; expected one of %s", k->name, a->name, names);
  const bool fits = p->size < 8 && !a->is_data && a->value >> 8 * p->size == 0;
  if (p->size != *bytes && !(p->size < *bytes && fits))
    return tw_fail(error, TW_USAGE, "argument %s of %s has %u bytes, but the given one has %zu", a->name, k->name,
                   p->size, *bytes);
  *bytes = p->size;
  *at = p->offset;
  return TW_OK;
}

/* TW_USAGE if a parameter is given twice, or is missing before one that is given. */
static tw_status check_names(const tw_raw_launch *l, const cdna_kernel *k, tw_error *error) {
  size_t missing = 0;
  for (size_t i = k->n_parameters, n = 0; i-- > 0;) {
    const cdna_parameter *p = &k->parameter[i];
    size_t given = 0;
    if (is_hidden(p)) continue;
    for (size_t j = 0; j < l->n; j++)
      given += l->argument[j].at == TW_PLACE_BY_NAME && parameter_of(k, l->argument[j].name) == p;
    if (given > 1) return tw_fail(error, TW_USAGE, "an argument of %s is given twice; give each one once", k->name);
    n += given;
    if (n && !given) missing++;
  }
  if (!missing) return TW_OK;
  char names[160];
  list_parameters(k, names, sizeof names);
  return tw_fail(error, TW_USAGE, "%s lacks %zu argument%s; give all of %s", k->name, missing, missing > 1 ? "s" : "",
                 names);
}

/* AITER's metadata declares a pointer that may be null as a number of 4 bytes, and fills its slot with numbers named "pad". */
static bool is_padding(const cdna_parameter *p) { return p->name_length == 3 && !memcmp(p->name, "pad", 3); }

static size_t end_of(const cdna_kernel *k, size_t n) {
  size_t end = k->parameter[n].offset + k->parameter[n].size;
  while (++n < k->n_parameters && is_padding(&k->parameter[n]) && k->parameter[n].offset == end)
    end += k->parameter[n].size;
  return end;
}

/* TW_USAGE if the argument at this byte is not in one parameter of the metadata: a u64 for two parameters of 4 bytes, or half
 * of a pointer. An argument beyond all parameters is allowed, and part of a pointer at a given byte. */
static tw_status check_place(const cdna_kernel *k, const tw_raw_argument *a, size_t i, size_t at, size_t bytes,
                             tw_error *error) {
  for (size_t n = 0; n < k->n_parameters; n++) {
    const cdna_parameter *p = &k->parameter[n];
    if (is_hidden(p) || is_padding(p) || at >= p->offset + p->size || at + bytes <= p->offset) continue;
    const bool is_half = a->at == TW_PLACE_NEXT && bytes != p->size && !strcmp(p->kind, "global_buffer");
    if (is_half || at < p->offset || at + bytes > end_of(k, n))
      return tw_fail(error, TW_USAGE,
                     "argument %zu of %s has %zu bytes at byte %zu, but parameter %zu has %u at byte %u%s", i, k->name,
                     bytes, at, n, p->size, p->offset, is_half ? " and is a pointer" : "");
  }
  return TW_OK;
}

static tw_status raw_arguments(const tw_raw_launch *l, const cdna_kernel *k, cdna_memory *memory, uint8_t *block,
                               size_t *size, tw_error *error) {
  size_t next = 0;
  *size = 0;
  for (size_t i = 0; i < l->n; i++) {
    const tw_raw_argument *a = &l->argument[i];
    uint64_t value = a->value;
    size_t bytes = a->is_data ? 8 : a->bytes, at = a->at >= 0 ? (size_t)a->at : (next + bytes - 1) & ~(bytes - 1);
    const tw_status status =
        a->at == TW_PLACE_BY_NAME ? place_by_name(k, a, &bytes, &at, error) : check_place(k, a, i, at, bytes, error);
    if (status != TW_OK) return status;
    if (a->is_data && !(value = cdna_memory_add(memory, a->data, a->bytes, a->writable, a->name)))
      return tw_fail(error, TW_USAGE, "more than %d buffers", CDNA_ALLOCATIONS_MAX - 3);
    if (a->is_data && a->undefined) cdna_memory_undefined(memory, 0, 0);
    if (at + bytes > BLOCK_BYTES) return tw_fail(error, TW_USAGE, "argument %zu is beyond byte %d", i, BLOCK_BYTES);
    memcpy(block + at, &value, bytes);
    next = at + bytes;
    if (next > *size) *size = next;
  }
  return TW_OK;
}

/* TW_USAGE unless the sizes of the given arguments agree with the kernel's metadata, if it has sizes. Some programs
 * name arguments that they do not read, so `spare` bytes at the end may be missing. */
static tw_status check_arguments(const cdna_kernel *k, size_t size, size_t spare, tw_error *error) {
  size_t needed = 0;
  for (size_t i = 0; i < k->n_parameters; i++)
    if (!is_hidden(&k->parameter[i]) && k->parameter[i].offset + k->parameter[i].size > needed)
      needed = k->parameter[i].offset + k->parameter[i].size;
  if (size > k->kernarg_size && k->kernarg_size)
    return tw_fail(error, TW_USAGE, "%s needs %u bytes of arguments, but %zu were given", k->name, k->kernarg_size,
                   size);
  if (k->n_parameters && size + spare < needed)
    return tw_fail(error, TW_USAGE,
                   "%s needs %zu bytes of arguments, but %zu were given; give all with --arg, in order", k->name,
                   needed, size);
  return TW_OK;
}

static tw_status copy_writable(cdna_memory *m, tw_error *error) {
  for (size_t i = 0; i < m->n; i++) {
    cdna_allocation *a = &m->allocation[i];
    if (!a->writable) continue;
    uint8_t *copy = tw_new(1, a->size + 64);
    if (copy) memcpy(copy, a->data, a->size);
    a->data = copy;
    if (!copy) return tw_no_memory(error, NULL);
  }
  return TW_OK;
}
static void free_copies(cdna_memory *copies, const cdna_memory *of, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (copies->allocation[i].data != of->allocation[i].data) free(copies->allocation[i].data);
}

tw_status cdna_launch_by_hand(const tw_target *t, const void *data, size_t size, tw_raw_launch *l, tw_measurement *out,
                              tw_error *error) {
  cdna_object object = {0};
  cdna_memory memory = {0};
  cdna_result_counts counts = {0};
  const cdna_kernel *kernel = NULL;
  char *compiled = NULL;
  uint8_t *block = tw_new(1, BLOCK_BYTES);
  cdna_times times = {0};
  const tw_evaluation how = {.trust = l->trust, .headers = l->headers};
  const cdna_time_options options = {.machine = cdna_machine_of(t), .jobs = l->jobs};
  cdna_launch launch = {.arguments = block, .lds = (uint32_t)l->shared, .jobs = l->jobs};
  tw_status status = block ? TW_OK : tw_no_memory(error, NULL);
  if (status == TW_OK && cdna_object_is(data, size))
    status = cdna_reject_macros(&l->headers, "a code object", error);
  else if (status == TW_OK) {
    status = cdna_compile(cdna_arch_of(t), data, size, &how, NULL, &compiled, &size, error);
    data = compiled;
  }
  if (status == TW_OK) status = cdna_object_read(data, size, "the code object", &object, error);
  if (status == TW_OK && object.arch != cdna_arch_of(t))
    status = tw_fail(error, TW_USAGE, "the code object is for %s; run it with -t %s", cdna_processor(object.arch),
                     cdna_machine_of_arch(object.arch)->name);
  if (status == TW_OK) status = cdna_object_kernel(&object, l->kernel, &kernel, error);
  if (status == TW_OK) status = raw_arguments(l, kernel, &memory, block, &launch.argument_bytes, error);
  if (status == TW_OK) status = check_names(l, kernel, error);
  if (status == TW_OK) status = check_arguments(kernel, launch.argument_bytes, compiled ? 0 : 16, error);
  memcpy(launch.grid, l->grid, sizeof launch.grid);
  memcpy(launch.block, l->block, sizeof launch.block);
  launch.unbounded = cdna_checks_ignore_bounds(l->inspection);
  const uint64_t groups = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
  if (l->groups && !(l->spread_groups && l->groups >= groups)) {
    launch.first = l->spread_groups ? 0 : l->first_group;
    launch.count = l->groups;
    launch.spread = l->spread_groups;
  }
  /* timed later, with copies of its outputs */
  cdna_memory copies = memory;
  const size_t copied = memory.n; /* each launch adds its own allocations */
  if (status == TW_OK) status = copy_writable(&copies, error);
  cdna_checker *checker = NULL;
  if (status == TW_OK && l->inspection && !l->time_only) status = cdna_checker_new(l->inspection, &checker, error);
  if (checker) launch.observer = cdna_checker_start(checker);
  tw_text printed = {0};
  launch.printed = &printed;
  if (status == TW_OK && !l->time_only) status = cdna_run(&object, kernel, &launch, &memory, &counts, error);
  cdna_put_printed(&printed);
  if (status == TW_OK && launch.count)
    snprintf(l->note, sizeof l->note, "%llu of %llu workgroups were executed%s; the other results are missing",
             (unsigned long long)counts.workgroups, (unsigned long long)groups, launch.spread ? ", evenly spread" : "");
  if (checker) cdna_checker_report(checker, &object, kernel, cdna_machine_of(t), l->inspection);
  cdna_checker_free(checker);
  launch.observer = NULL;
  launch.limit = cdna_patience(counts.most);
  /* a launch whose workgroups wait for each other has results, but no times */
  tw_error why = {0};
  tw_status timed = TW_OK;
  launch.count = 0;
  if (l->time_only) snprintf(l->note, sizeof l->note, "timed without execution, so without results");
  if (status == TW_OK && !counts.waited && !l->untimed)
    timed = cdna_time(&object, kernel, &launch, &copies, &options, &times, &why);
  free_copies(&copies, &memory, copied);
  if (counts.waited || strstr(why.text, CDNA_WAITS_FOR_OTHERS)) {
    snprintf(l->note, sizeof l->note,
             "executed, but not timed: its workgroups wait for one another, which is not modelled");
  } else if (status == TW_OK && timed != TW_OK) {
    *error = why;
    status = timed;
  } else if (status == TW_OK && !l->untimed) {
    const double whole = counts.workgroups ? (double)groups / (double)counts.workgroups : 1;
    cdna_report(cdna_machine_of(t), &counts, whole, &times, NULL, out);
  }
  cdna_object_free(&object);
  free(compiled);
  free(block);
  return status;
}
