/* The C++ that is written for the cores of a design computes what the simulator's kernels compute, to the bit: compiled
 * for this machine with a stand-in of the AIE API (data/aie_api_stand_in), run on random tiles, call by call of a
 * core's program. Text with a wrong stride, order, band or rounding is found. */
#include "filled.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/random.h"
#include "base/strings.h"
#include "target/xdna2/aie/source.h"
#include "target/xdna2/array/kernel.h"
#include "target/xdna2/array/symbol.h"
#include "xdna2_gemm.h"

static char *folder; /* of texts and libraries */

/* ---- designs ---- */

typedef struct design {
  const char *kernel;
  tw_tile tile;
  xd_cover cover;
  tw_rounding rounding;
  bool b_transposed, hide_unpacking;
} design;

static const design designs[] = {
    {"int8", {64, 24, 32, 2}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, false, false},
    {"int8", {48, 64, 80, 1}, {1, 2, 4, false, 0}, TW_ROUND_EVEN, false, false}, /* 5 clusters in a row: four and one */
    {"int8", {64, 32, 32, 2}, {4, 1, 2, false, 0}, TW_ROUND_EVEN, false, false},
    {"int8-narrow", {32, 16, 32, 1}, {2, 2, 2, false, 0}, TW_ROUND_EVEN, false, false},
    {"int8-narrow16", {32, 16, 32, 2}, {1, 4, 1, false, 0}, TW_ROUND_FLOOR, false, false},
    {"int8-int4", {32, 64, 64, 4}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, false, false},
    {"ternary-int8", {32, 32, 64, 2}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, false, false},
    {"ternary-int4", {32, 32, 64, 2}, {2, 2, 1, false, 0}, TW_ROUND_FLOOR, false, false},
    {"atb", {64, 32, 64, 2}, {2, 2, 2, false, 0}, TW_ROUND_EVEN, false, false},
    {"atb", {48, 40, 48, 1}, {1, 3, 1, false, 0}, TW_ROUND_FLOOR, false, false},
    {"mlir-aie", {32, 32, 48, 1}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, false, false},
    {"atb-bfp16", {64, 32, 48, 2}, {2, 2, 2, false, 0}, TW_ROUND_EVEN, false, false},
    {"atb-bfp16",
     {32, 16, 24, 1},
     {4, 1, 1, false, 0},
     TW_ROUND_FLOOR,
     false,
     false}, /* C ends in a part of a vector */
    {"atb-bf16acc", {64, 32, 64, 4}, {2, 2, 4, false, 0}, TW_ROUND_EVEN, false, false},
    {"atb-bf16acc", {32, 24, 64, 2}, {1, 2, 1, false, 0}, TW_ROUND_FLOOR, false, false},
    {"ternary-registers", {64, 64, 32, 2}, {4, 1, 1, false, 0}, TW_ROUND_EVEN, false, false},
    {"int8", {32, 24, 32, 1}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, true, false},
    {"atb-bfp16", {32, 16, 96, 2}, {1, 4, 4, false, 0}, TW_ROUND_EVEN, false, false}, /* a row is less than a trip */
    {"int8-int4-narrow", {32, 32, 64, 2}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, false, false},
    {"ternary-int8-narrow16", {32, 32, 32, 1}, {2, 2, 1, false, 0}, TW_ROUND_FLOOR, false, false},
    {"ternary-int4-narrow", {32, 32, 64, 2}, {2, 2, 2, false, 0}, TW_ROUND_EVEN, false, false},
    {"ternary-registers-narrow", {32, 32, 32, 1}, {4, 1, 1, false, 0}, TW_ROUND_FLOOR, false, false},
    {"int8-acc8", {32, 24, 32, 2}, {2, 2, 2, false, 0}, TW_ROUND_EVEN, false, false},
    {"int8-acc16", {32, 16, 32, 1}, {1, 2, 1, false, 0}, TW_ROUND_FLOOR, true, false},
    {"bf16", {32, 24, 32, 2}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, false, false},
    {"bf16-f32", {24, 16, 48, 1}, {1, 2, 2, false, 0}, TW_ROUND_FLOOR, false, false},
    {"bf16-emulated", {32, 24, 48, 2}, {2, 1, 2, false, 0}, TW_ROUND_EVEN, false, false},
    {"bf16-acc16", {16, 32, 32, 1}, {2, 1, 1, false, 0}, TW_ROUND_FLOOR, false, false},
    {"i16", {32, 12, 32, 2}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, false, false},
    {"atb-int4", {32, 48, 32, 2}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, false, false},
    {"atb-int4", {16, 32, 64, 1}, {1, 4, 2, false, 0}, TW_ROUND_FLOOR, false, false},
    {"i16", {16, 12, 64, 1}, {2, 2, 2, false, 0}, TW_ROUND_EVEN, true, false},
    {"bf16", {16, 24, 32, 2}, {1, 2, 1, false, 0}, TW_ROUND_EVEN, true, false},
    {"bf16-f32", {8, 16, 48, 1}, {1, 2, 2, false, 0}, TW_ROUND_FLOOR, true, false},
    {"bf16-emulated", {32, 24, 48, 2}, {2, 1, 2, false, 0}, TW_ROUND_FLOOR, true, false},
    {"i16-narrow", {16, 12, 32, 1}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, false, false},
    {"i16-acc16", {16, 12, 32, 2}, {2, 1, 2, false, 0}, TW_ROUND_FLOOR, false, false},
    {"i16-acc16", {16, 8, 32, 1}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, true, false},
    {"f32", {16, 24, 16, 2}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, false, false},
    {"f32", {8, 16, 24, 1}, {2, 2, 1, false, 0}, TW_ROUND_FLOOR, true, false},
    /* as many clusters as vectors; fewer vectors than clusters; more of them, so that a pass remains */
    {"ternary-int8", {32, 64, 32, 2}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, false, true},
    {"ternary-int8-narrow", {64, 32, 48, 1}, {1, 2, 2, false, 0}, TW_ROUND_FLOOR, false, true},
    {"ternary-int8", {16, 96, 64, 1}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, false, true},
    {"ternary-int4", {32, 64, 64, 2}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, false, true},
    {"ternary-int4-narrow16", {16, 96, 64, 1}, {2, 2, 1, false, 0}, TW_ROUND_EVEN, false, true},
};
enum { DESIGNS = sizeof designs / sizeof *designs };

static xd_gemm gemm_with(const design *d) {
  xd_gemm g = gemm_of(d->kernel, d->tile, d->tile.m, d->tile.n, 2 * d->tile.k);
  g.rows = g.columns = 1;
  g.cover = d->cover;
  g.rounding = d->rounding;
  g.b_transposed = d->b_transposed;
  g.hide_unpacking = d->hide_unpacking;
  g.trace = d == designs; /* marks in the first */
  g.shift = g.c == TW_I8 || g.c == TW_I16 ? 5 : 0;
  return g;
}

static char *source_of(const xd_gemm *g) {
  tw_error error;
  char *text;
  if (xd_kernel_source(&machine, g, &text, &error) != TW_OK) fail_msg("%s", error.text);
  return text;
}

/* ---- compiling ---- */

/* Compiles `input`, a file of the folder or an option before it and a path, into `output`. */
static bool compile(const char *input, const char *output) {
  tw_text t = {0};
  tw_text_add(
      &t, "cd '%s' && c++ -std=c++20 -O1 -Wall -Wextra -Werror -fwrapv -fPIC -I '%s/aie_api_stand_in' %s -o '%s' 2>&1",
      folder, TW_TEST_DATA, input, output);
  char *command = tw_text_take(&t);
  const bool done = system(command) == 0; /* NOLINT(cert-env33-c): a compiler */
  free(command);
  return done;
}

/* The library of a text; each has its own name, as the loader knows libraries by theirs. The API's header, half of a text's time, is
 * compiled once for all texts that define nothing for it. */
static void *compiled(const char *text) {
  static int number;
  const char *define = strstr(text, "#define"), *header = strstr(text, "#include <aie_api/");
  assert_non_null(header);
  char path[400], *source = tw_path_join(folder, "kernel.cc");
  tw_error error;
  if (number == 0 && !compile("-x c++-header '" TW_TEST_DATA "/aie_api_stand_in/aie_api/aie.hpp'", "aie.hpp.gch"))
    fail_msg("the API's header does not compile");
  snprintf(path, sizeof path, "%s/kernel%d.so", folder, number++);
  if (tw_file_write(source, text, strlen(text), &error) != TW_OK) fail_msg("%s", error.text);
  if (!compile(define && define < header ? "-shared kernel.cc" : "-include aie.hpp -shared kernel.cc", path))
    fail_msg("the text does not compile:\n%s", text);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) fail_msg("%s", dlerror());
  free(source);
  return library;
}

/* ---- random tiles ---- */

static void fill_bytes(tw_random *r, uint8_t *p, size_t n) {
  for (size_t i = 0; i < n; i++) p[i] = (uint8_t)tw_random_below(r, 256);
}

static void fill_bf16(tw_random *r, uint8_t *p, size_t n) {
  for (size_t i = 0; i + 1 < n; i += 2) {
    const uint16_t code = tw_f32_to_bf16((float)ldexp(tw_random_real(r) - 0.5, (int)tw_random_below(r, 12) - 6));
    memcpy(p + i, &code, 2);
  }
}

/* Codes, and scales after them. */
static void fill_scaled(tw_random *r, const xd_call *c, uint8_t *p, size_t n) {
  const size_t codes = (size_t)c->k * (size_t)c->n / 2;
  fill_bytes(r, p, codes < n ? codes : n);
  if (codes < n) fill_bf16(r, p + codes, n - codes);
}

/* bf16, or f32. */
static void fill_reals(tw_random *r, uint8_t *p, size_t n, bool wide) {
  if (!wide) fill_bf16(r, p, n);
  for (size_t i = 0; wide && i + 3 < n; i += 4) {
    const float x = (float)ldexp(tw_random_real(r) - 0.5, (int)tw_random_below(r, 12) - 6);
    memcpy(p + i, &x, 4);
  }
}

static void fill_bfp16(tw_random *r, uint8_t *p, size_t n) {
  for (size_t i = 0; i < n; i++) p[i] = (uint8_t)(i % 9 ? tw_random_below(r, 256) : 120 + tw_random_below(r, 12));
}

/* Sums of which some saturate when they are shifted to int8, and some do not. */
static void fill_sums(tw_random *r, uint8_t *p, size_t n) {
  for (size_t i = 0; i + 3 < n; i += 4) {
    const int32_t sum = (int32_t)tw_random_between(r, -6000, 6000);
    memcpy(p + i, &sum, 4);
  }
}

/* Products and sums of int16 that stay in 32 bits, as sums in C do: a narrowing before sets the core to saturate. */
static void fill_i16(tw_random *r, uint8_t *p, size_t n, bool wide) {
  for (size_t i = 0; i + 1 < n; i += wide ? 4 : 2) {
    const int32_t x = (int32_t)(wide ? tw_random_between(r, -(1 << 29), 1 << 29) : tw_random_between(r, -4096, 4096));
    memcpy(p + i, &x, wide ? 4 : 2);
  }
}

/* What argument `i` of a call holds. */
static void fill(tw_random *r, const xd_call *c, int i, uint8_t *p, size_t n) {
  const char *name = c->function->name;
  const bool staged = !strcmp(name, "matmul_bfp16_staged") || !strcmp(name, "round_bfp16");
  const bool from_bf16 = !strcmp(name, "matmul_bf16_bfp16") || !strcmp(name, "matmul_bf16_registers");
  if (!strcmp(name, "unpack_i4_bfp16"))
    fill_scaled(r, c, p, n);
  else if (!strcmp(name, "narrow_bf16") || !strncmp(name, "matmul_bf16_lanes", 17) ||
           !strncmp(name, "matmul_bf16_emulated", 20))
    fill_reals(r, p, n, !strcmp(name, "narrow_bf16") || (i == 2 && strstr(name, "_f32")));
  else if (!strncmp(name, "matmul_f32", 10))
    fill_reals(r, p, n, true);
  else if (!strcmp(name, "matmul_i16") || !strcmp(name, "matmul_i16_turned"))
    fill_i16(r, p, n, i == 2);
  else if (!strncmp(name, "narrow_", 7))
    fill_sums(r, p, n);
  else if (!strstr(name, "bfp16") && !from_bf16)
    fill_bytes(r, p, n);
  else if (staged ? i >= 2 || !strcmp(name, "round_bfp16") : from_bf16 && (i == 0 || i == 2))
    fill_bf16(r, p, n);
  else
    fill_bfp16(r, p, n);
}

/* ---- comparing ---- */

static void call_cc(void *library, const xd_call *c, int n, uint8_t *const p[]) {
  const xd_symbol symbol = xd_symbol_of(c);
  void *function = dlsym(library, symbol.text);
  if (!function) fail_msg("%s is not there", symbol.text);
  const int32_t row = c->row;
  if (!xd_symbol_takes_row(c)) {
    if (n == 1)
      ((void (*)(uint8_t *))function)(p[0]);
    else
      ((void (*)(uint8_t *, uint8_t *))function)(p[0], p[1]);
  } else if (n == 3) {
    ((void (*)(uint8_t *, uint8_t *, uint8_t *, int32_t))function)(p[0], p[1], p[2], row);
  } else if (n == 4) {
    ((void (*)(uint8_t *, uint8_t *, uint8_t *, uint8_t *, int32_t))function)(p[0], p[1], p[2], p[3], row);
  } else {
    ((void (*)(uint8_t *, uint8_t *, uint8_t *, uint8_t *, uint8_t *, int32_t))function)(p[0], p[1], p[2], p[3], p[4],
                                                                                         row);
  }
}

enum { ALIGNED = 64 };

static uint8_t *new_buffer(size_t bytes) {
  uint8_t *p = aligned_alloc(ALIGNED, (bytes + ALIGNED) / ALIGNED * ALIGNED);
  assert_non_null(p);
  return p;
}

/* One call of a core's program on whole buffers; false if any byte of any of them differs. */
static bool agrees(void *library, const xd_program *p, const xd_op *op, tw_random *r) {
  uint8_t *ours[XD_ARGUMENTS], *theirs[XD_ARGUMENTS], *at[XD_ARGUMENTS];
  bool same = true;
  size_t bytes[XD_ARGUMENTS];
  for (int i = 0; i < op->n_arguments; i++) {
    bytes[i] = (size_t)p->buffers.at[p->ports.at[op->argument[i].port].first_buffer].bytes;
    ours[i] = new_buffer(bytes[i]);
    theirs[i] = new_buffer(bytes[i]);
    fill(r, &op->call, i, ours[i], bytes[i]);
    memcpy(theirs[i], ours[i], bytes[i]);
    at[i] = ours[i] + op->argument[i].offset;
  }
  op->call.function->run(&op->call, at);
  call_cc(library, &op->call, op->n_arguments, theirs);
  for (int i = 0; i < op->n_arguments; i++) {
    same = same && !memcmp(ours[i], theirs[i], bytes[i]);
    free(ours[i]);
    free(theirs[i]);
  }
  return same;
}

/* The first call that differs, by its symbol; "" if all agree. `calls` counts them. */
static xd_symbol first_difference(const xd_gemm *g, const char *text, int *calls) {
  xd_program p;
  tw_error error;
  tw_random r;
  xd_symbol wrong = {""};
  void *library = compiled(text);
  tw_random_seed(&r, 5);
  if (xd_gemm_program(&machine, g, &p, &error) != TW_OK) fail_msg("%s", error.text);
  for (size_t i = 0; i < p.cores.at[0].ops.n && !*wrong.text; i++) {
    const xd_op *op = &p.cores.at[0].ops.at[i];
    if (op->kind != XD_CALL || !*xd_symbol_of(&op->call).text) continue;
    if (!agrees(library, &p, op, &r)) wrong = xd_symbol_of(&op->call);
    ++*calls;
  }
  xd_program_free(&p);
  dlclose(library);
  return wrong;
}

static void every_function_agrees_with_the_simulator(void **state) {
  for (int i = 0; i < DESIGNS; i++) {
    const xd_gemm g = gemm_with(&designs[i]);
    char *text = source_of(&g);
    int calls = 0;
    const xd_symbol wrong = first_difference(&g, text, &calls);
    if (*wrong.text) fail_msg("design %d: %s differs in\n%s", i, wrong.text, text);
    assert_true(calls >= 1 + designs[i].tile.rho); /* all sub-tiles, each with its band */
    free(text);
  }
}

/* ---- wrong text ---- */

static char *replaced(const char *text, const char *from, const char *to) {
  tw_text t = {0};
  const char *at = strstr(text, from);
  if (!at) fail_msg("the text does not hold '%s':\n%s", from, text);
  tw_text_add_bytes(&t, text, (size_t)(at - text));
  tw_text_add(&t, "%s%s", to, at + strlen(from));
  return tw_text_take(&t);
}

static const struct {
  int design;
  const char *from, *to;
} mutations[] = {
    {0, "b_tile + (j + 0) * 128", "b_tile + (j + 0) * 64"}, /* strides of B and C between clusters */
    {0, "c + (j + 0) * 128", "c + (j + 0) * 64"},
    {0, "a + 192", "a + 128"},   /* the second row of the cluster */
    {0, "b += 256", "b += 128"}, /* from one step of the depth to the next */
    {0, "p < 3", "p < 2"},       /* the depth */
    {0, "row * 32", "row * 16"}, /* the band of a sub-tile */
    {0, "c10.mac(a1, b0)", "c10.mac(a0, b1)"},
    {1, "(4 + 0) * 128", "(3 + 0) * 128"}, /* the cluster that unrolling leaves */
    {3, "conv_even", "floor"},
    {3, "saturate)", "none)"},
    {3, "to_vector<int8>(5)", "to_vector<int8>(4)"},
    {22, "load_v<64>(c + 0), 5)", "load_v<64>(c + 0), 4)"}, /* sums that are kept in C */
    {22, "saturate)", "none)"},
    {23, "to_vector<int16>(5)", "to_vector<int16>(6)"},
    {6, "field<12, 2, 1>", "field<3, 0, 1>"},  /* a field of the codes */
    {8, "a + p * 64 + 256", "a + p * 64 + 0"}, /* the order of A in its scratch */
    {8, "j * 576", "j * 288"},
    {8, "conv_even", "floor"},
    {11, "c_in(blocks_at(c))", "c_in(blocks_at(a))"},
    {11, "row * 432 / 8", "row * 216 / 8"},
    {13, "c + 512 + (block", "c + 448 + (block"}, /* where staging ends */
    {13, "c + 512 + (i", "c + 448 + (i"},
    {15, "codes0 = aie::load_v<64>(b + 0)", "codes0 = aie::load_v<64>(b + 64)"},
    {16, "aie::transpose(aie::load_v<64>(b + 64)",
     "aie::transpose(aie::load_v<64>(b + 0)"}, /* the next column of a column-major B */
    {17, "b_in, c + (0 + 1)", "b_in, c + (0 + 0)"},
    {18, "to_vector<int8>(5)", "to_vector<int8>(6)"},
    {19, "floor", "conv_even"},
    {20, "saturate)", "none)"},
    {24, "b0 = aie::load_v<64>(b + 0)", "b0 = aie::load_v<64>(b + 64)"},
    {24, "conv_even", "floor"}, /* the pass after all of K */
    {25, "c + (j + 1) * 64", "c + (j + 0) * 64"},
    {26, "conv_even", "floor"},
    {28, "a + 48)", "a + 32)"},
    {29, "in + 768", "in + 752"},
    {29, "to += 144", "to += 72"},
    {30, "* 16 + j % 4", "* 8 + j % 4"},
    {30, "floor", "conv_even"},
    {38, "b0 = aie::load_v<32>(b + 0)", "b0 = aie::load_v<32>(b + 32)"},
    {38, "conv_even", "floor"},
    {40, "/ 16 * 4;", "/ 16 * 3;"},         /* the first vector of a sub-tile */
    {40, "v / 4 * 1024", "v / 4 * 512"},    /* where a vector goes */
    {41, "for (; i < 2;", "for (; i < 1;"}, /* rows of clusters that unpack */
    {41, "v + j + 1)", "v + j + 0)"},
    {42, "v + w)", "w)"}, /* the pass after the products */
    {43, "out += v * 128", "out += v * 64"},
    {44, "w < 20", "w < 19"},
};

static void wrong_text_is_found(void **state) {
  for (size_t i = 0; i < sizeof mutations / sizeof *mutations; i += (size_t)example_stride()) {
    const xd_gemm g = gemm_with(&designs[mutations[i].design]);
    char *text = source_of(&g), *wrong = replaced(text, mutations[i].from, mutations[i].to);
    int calls = 0;
    if (!*first_difference(&g, wrong, &calls).text)
      fail_msg("'%s' instead of '%s' is not found", mutations[i].to, mutations[i].from);
    free(wrong);
    free(text);
  }
}

static void every_template_is_filled(void **state) {
  tw_template_watch = note_filled;
  for (int i = 0; i < DESIGNS; i++) {
    const xd_gemm g = gemm_with(&designs[i]);
    free(source_of(&g));
  }
  tw_template_watch = NULL;
  expect_filled("xdna2/", false, "no design uses it; add one");
}

static void a_design_that_cannot_be_is_refused(void **state) {
  xd_gemm g = gemm_with(&designs[0]);
  char *text = NULL;
  tw_error error = {0};
  g.cover.rows = 8;
  assert_int_equal(xd_kernel_source(&machine, &g, &text, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "needs multiples of 64x8x16"));
}

static int start(void **state) {
  tw_error error;
  if (tw_directory_temporary(&folder, &error) != TW_OK) return -1;
  return setup(state);
}

static int stop(void **state) {
  tw_directory_remove(folder);
  free(folder);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_function_agrees_with_the_simulator),
      cmocka_unit_test(wrong_text_is_found),
      cmocka_unit_test(every_template_is_filled),
      cmocka_unit_test(a_design_that_cannot_be_is_refused),
  };
  return cmocka_run_group_tests(tests, start, stop);
}
