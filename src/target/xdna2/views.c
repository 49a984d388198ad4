/* views.c - `tilewright view` on XDNA2: the array with its memories and links, and the roofline of a tile. */
#include "target/xdna2/views.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/strings.h"
#include "target/parse.h"
#include "target/xdna2/rate.h"

static void open_svg(tw_text *t, int width, int height, const char *title) {
  tw_text_add(t,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
              "font-size=\"11\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
              "<text x=\"16\" y=\"22\" font-size=\"15\">%s</text>\n",
              width, height, width, height, title);
}

/* A number of either view, in a row of text or a member of a JSON object. */
typedef struct row {
  const char *name, *unit, *help;
  double value;
} row;

static void print_rows(tw_text *t, const char *title, size_t n, const row r[], bool as_json) {
  tw_text_add(t, as_json ? "{\"title\": \"%s\"" : "%s\n", title);
  for (size_t i = 0; i < n; i++)
    if (as_json)
      tw_text_add(t, ", \"%s\": %.9g", r[i].name, r[i].value);
    else
      tw_text_add(t, "  %-22s %10.5g %-8s %s\n", r[i].name, r[i].value, r[i].unit, r[i].help);
  if (as_json) tw_text_add_string(t, "}\n");
}

/* ---- the array ---- */

static void draw_array(const xd_config *c, const char *title, tw_text *t) {
  enum { WIDE = 74, HIGH = 46, GAP = 14, LEFT = 16, TOP = 40, DDR = 34 };
  static const char *const fill[] = {"#f3eee6", "#e9eef6", "#f7f7f7"}, *const kind[] = {"shim", "memory", "core"};
  const int rows = c->rows + 2, width = LEFT * 2 + c->columns * (WIDE + GAP) - GAP;
  const int bottom = TOP + rows * (HIGH + GAP);
  open_svg(t, width, bottom + DDR + 30, title);
  for (int column = 0; column < c->columns; column++)
    for (int at = 0; at < rows; at++) { /* the topmost is a core */
      const int tile = at < c->rows ? XD_COMPUTE : at == c->rows ? XD_MEMORY : XD_SHIM;
      const int x = LEFT + column * (WIDE + GAP), y = TOP + at * (HIGH + GAP);
      const int kib = (tile == XD_COMPUTE ? c->l1_bytes : tile == XD_MEMORY ? c->l2_bytes : 0) >> 10;
      tw_text_add(t,
                  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" fill=\"%s\" stroke=\"#999\"/>"
                  "<text x=\"%d\" y=\"%d\">%s</text>\n",
                  x, y, WIDE, HIGH, fill[tile], x + 5, y + 15, kind[tile]);
      if (kib) tw_text_add(t, "<text x=\"%d\" y=\"%d\" fill=\"#555\">%d KiB</text>\n", x + 5, y + 30, kib);
      tw_text_add(t, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#3b6fb6\" stroke-width=\"2\"/>\n",
                  x + WIDE / 2, y + HIGH, x + WIDE / 2, y + HIGH + GAP);
      if (column && tile != XD_MEMORY) /* streams leave memory tiles along their column */
        tw_text_add(t, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#3b6fb6\" stroke-width=\"2\"/>\n",
                    x - GAP, y + HIGH / 2, x, y + HIGH / 2);
    }
  tw_text_add(t,
              "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" fill=\"#e6f0e6\" stroke=\"#999\"/>"
              "<text x=\"%d\" y=\"%d\">DDR: %.1f GB/s read, %.1f written, %.1f together; streams of %d bytes a "
              "cycle</text>\n</svg>\n",
              LEFT, bottom, width - 2 * LEFT, DDR, LEFT + 8, bottom + 21, c->array.ddr_read_mbs / 1e3,
              c->array.ddr_write_mbs / 1e3, c->array.ddr_mbs / 1e3, c->stream_bytes);
}

static tw_status show_array(const tw_target *target, const char *const value[], tw_view_form form, char **out,
                            tw_error *error) {
  const xd_config *c = target->config;
  const double stream = c->stream_bytes * c->clock_mhz / 1e3;
  const row rows[] = {
      {"columns", "", "columns of cores, each with a memory tile and a shim", c->columns},
      {"rows", "", "rows of cores", c->rows},
      {"clock", "MHz", "clock of the array", c->clock_mhz},
      {"l1", "KiB", "of each core", c->l1_bytes / 1024.0},
      {"l2", "KiB", "of each memory tile", c->l2_bytes / 1024.0},
      {"stream", "GB/s", "rate of each link between tiles", stream},
      {"core_in", "", "streams into a core", c->array.dma_in[XD_COMPUTE]},
      {"core_out", "", "streams out of a core", c->array.dma_out[XD_COMPUTE]},
      {"memory_in", "", "streams into a memory tile", c->array.dma_in[XD_MEMORY]},
      {"memory_out", "", "streams out of a memory tile", c->array.dma_out[XD_MEMORY]},
      {"shim_in", "", "streams from the array to DDR, for each shim", c->array.dma_in[XD_SHIM]},
      {"shim_out", "", "streams from DDR to the array, for each shim", c->array.dma_out[XD_SHIM]},
      {"ddr_read", "GB/s", "all shims together", c->array.ddr_read_mbs / 1e3},
      {"ddr_write", "GB/s", "all shims together", c->array.ddr_write_mbs / 1e3},
      {"ddr_both", "GB/s", "reads and writes together", c->array.ddr_mbs / 1e3},
  };
  char title[100];
  tw_text t = {0};
  (void)value;
  snprintf(title, sizeof title, "the array of %s", target->name);
  if (form == TW_VIEW_SVG)
    draw_array(c, title, &t);
  else
    print_rows(&t, title, sizeof rows / sizeof *rows, rows, form == TW_VIEW_JSON);
  return tw_text_finish(&t, out, error);
}

/* ---- the roofline ---- */

enum { M, N, K, TILE, RHO, KERNEL };
static const tw_view_key roofline_keys[] = {
    {"m", "4096", "rows of the product"},
    {"n", "2048", "columns of the product"},
    {"k", "4096", "inner dimension of the product"},
    {"tile", "m=128 k=64 n=128 rho=4",
     "tile of a core, as the step `tile` has it; T_MC x T_K x T_N is an old notation"},
    {"rho", "", "with the old notation: divisor of the height of the A buffer [default: 4]"},
    {"kernel", "atb", "the micro-kernel"},
    {NULL, NULL, NULL}};
static const tw_view_key no_keys[] = {{NULL, NULL, NULL}};

/* The design and its problem, from the arguments of `model`. */
static tw_status read_design(const tw_target *t, const char *const value[], xd_design *d, tw_problem *p,
                             tw_error *error) {
  const xd_config *c = t->config;
  const xd_kernel *k = xd_find_kernel(c, value[KERNEL], TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE);
  if (!k)
    return tw_fail(error, TW_USAGE, "kernel=%.40s is unknown; `tilewright targets %s` lists the kernels", value[KERNEL],
                   t->name);
  char text[10][80];
  const char *words[10];
  for (int i = M; i <= K; i++) snprintf(text[i], sizeof *text, "%s=%.60s", roofline_keys[i].name, value[i]);
  const tw_type types[] = {k->a, k->b, k->c, k->acc};
  static const char *const keys[] = {"a", "b", "c", "acc"};
  for (int i = 0; i < 4; i++) snprintf(text[3 + i], sizeof *text, "%s=%s", keys[i], tw_type_name(types[i]));
  const bool step = strchr(value[TILE], '=') != NULL;
  if (step && *value[RHO])
    return tw_fail(error, TW_USAGE, "rho=%.20s beside the step `tile`; give it as 'tile %.60s rho=%.20s'", value[RHO],
                   value[TILE], value[RHO]);
  snprintf(text[7], sizeof *text, step ? "tile %.70s" : "tile=%.70s", value[TILE]);
  snprintf(text[8], sizeof *text, "kernel=%.60s", value[KERNEL]);
  snprintf(text[9], sizeof *text, "rho=%.60s", *value[RHO] ? value[RHO] : "4");
  for (int i = 0; i < 10; i++) words[i] = text[i];
  const tw_status status = tw_problem_parse_words(t, "gemm", 7, words, p, error);
  return status == TW_OK ? xd_design_parse(c, p, step ? 2 : 3, words + 7, d, error) : status;
}

/* Both axes are logarithmic. */
static void draw_roofline(const xd_config *c, const xd_rate *r, const char *title, tw_text *t) {
  enum { WIDE = 520, HIGH = 320, LEFT = 60, TOP = 44 };
  const double peak = r->core_peak * c->rows * c->columns * 1e-12, memory = c->ddr_mbs * 1e-6; /* Tflop/s, each op/B */
  const double low = 16, high = 4096, least = memory * low, span = log(high / low), tall = log(2 * peak / least);
#define X(intensity) (LEFT + WIDE * log((intensity) / low) / span)
#define Y(rate) (TOP + HIGH * (1 - log((rate) / least) / tall))
  const struct {
    double rate;
    const char *name, *colour;
  } roof[] = {{peak, "peak of the cores", "#6b7a8f"}, {r->roofline.compute * 1e-12, "rate of the kernel", "#e08a2e"}};
  open_svg(t, LEFT + WIDE + 30, TOP + HIGH + 44, title);
  tw_text_add(t, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#999\"/>\n", LEFT, TOP,
              WIDE, HIGH);
  /* NOLINTNEXTLINE(clang-analyzer-security.FloatLoopCounter): powers of a number */
  for (double x = low; x <= high; x *= 4)
    tw_text_add(t, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#555\">%.0f</text>\n", X(x),
                TOP + HIGH + 15, x);
  /* NOLINTNEXTLINE(clang-analyzer-security.FloatLoopCounter): powers of a number */
  for (double rate = 1; rate <= 2 * peak; rate *= 2)
    if (rate >= least)
      tw_text_add(t,
                  "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"#555\">%.0f</text>"
                  "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#999\"/>\n",
                  LEFT - 8, Y(rate) + 4, rate, LEFT - 4, Y(rate), LEFT, Y(rate));
  tw_text_add(t, "<text x=\"%d\" y=\"%d\" fill=\"#555\">operations for each byte of DDR; Tflop/s upwards</text>\n",
              LEFT, TOP + HIGH + 32);
  tw_text_add(t, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#3b6fb6\" stroke-width=\"2\"/>\n",
              X(low), Y(least), X(peak / memory), Y(peak));
  tw_text_add(t, "<text x=\"%.1f\" y=\"%.1f\" fill=\"#3b6fb6\">%.0f GB/s</text>\n", X(48), Y(memory * 80),
              c->ddr_mbs / 1e3);
  for (int i = 0; i < 2; i++)
    tw_text_add(t,
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"2\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"%s\">%s: %.1f</text>\n",
                X(roof[i].rate / memory), Y(roof[i].rate), LEFT + WIDE, Y(roof[i].rate), roof[i].colour,
                LEFT + WIDE - 6, Y(roof[i].rate) - 5, roof[i].colour, roof[i].name, roof[i].rate);
  tw_text_add(t,
              "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#c0392b\"/>"
              "<text x=\"%.1f\" y=\"%.1f\" fill=\"#c0392b\">predicted: %.1f</text>\n</svg>\n",
              X(r->intensity), Y(r->rate * 1e-12), X(r->intensity) + 8, Y(r->rate * 1e-12) + 14, r->rate * 1e-12);
#undef X
#undef Y
}

static tw_status show_roofline(const tw_target *target, const char *const value[], tw_view_form form, char **out,
                               tw_error *error) {
  const xd_config *c = target->config;
  xd_design d;
  tw_problem p;
  tw_status status = read_design(target, value, &d, &p, error);
  if (status != TW_OK) return status;
  tw_explanation buffers = {0};
  xd_design_buffers(c, &d, &buffers);
  if (!buffers.fits) return tw_fail(error, TW_USAGE, "%s", buffers.misfit);
  const xd_rate r = xd_rate_of(c, &d, (double)tw_problem_int(&p, "m"), (double)tw_problem_int(&p, "n"),
                               (double)tw_problem_int(&p, "k"));
  const double peak = r.core_peak * c->rows * c->columns * 1e-12, compute = r.roofline.compute * 1e-12,
               memory = r.roofline.memory * 1e-12;
  const row rows[] = {
      {"peak", "Tflop/s", "peak rate of all cores", peak},
      {"compute_bound", "Tflop/s", "all cores at the rate of the kernel", compute},
      {"bandwidth", "GB/s", "bandwidth of DDR in the ATB paper", c->ddr_mbs / 1e3},
      {"intensity", "op/byte", "operations per byte of the tiles in the array", r.intensity},
      {"memory_bound", "Tflop/s", "the bandwidth times the intensity", memory},
      {"ridge", "op/byte", "intensity at which both bounds are equal", compute / (c->ddr_mbs * 1e-6)},
      {"bound", "Tflop/s", compute < memory ? "set by the cores" : "set by memory", fmin(compute, memory)},
      {"predicted", "Tflop/s", "rate with the measured bandwidth and the launch", r.rate * 1e-12},
  };
  char title[300];
  tw_text t = {0};
  snprintf(title, sizeof title,
           "roofline of %s, kernel %s, tile m=%" PRId64 " k=%" PRId64 " n=%" PRId64 " rho=%" PRId64, target->name,
           d.kernel->name, d.tile.m, d.tile.k, d.tile.n, d.tile.rho);
  if (form == TW_VIEW_SVG)
    draw_roofline(c, &r, title, &t);
  else
    print_rows(&t, title, sizeof rows / sizeof *rows, rows, form == TW_VIEW_JSON);
  return tw_text_finish(&t, out, error);
}

const tw_view xd_views[] = {
    {"array", "tiles, memories and links with their bandwidths", no_keys, show_array},
    {"roofline", "compute bound, memory bound and predicted rate of a tile", roofline_keys, show_roofline},
    {NULL, NULL, NULL, NULL},
};
