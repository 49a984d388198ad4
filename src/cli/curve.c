/* curve.c - see curve.h. */
#include "cli/curve.h"

#include <math.h>

#include "cli/html.h"

enum { NAME_HEIGHT = 14, PLOT_HEIGHT = CLI_CURVE_HEIGHT - NAME_HEIGHT - 4 };

static double down(const cli_curve *c, double value) {
  return c->most > 0 ? PLOT_HEIGHT * (1 - value / c->most) : PLOT_HEIGHT;
}

static void flush(cli_curve *c) {
  const double value = down(c, c->value);
  tw_text_add(&c->path, "H%.1f", c->x);
  if (c->high > c->value) tw_text_add(&c->path, "V%.1f", down(c, c->high));
  if (c->low < c->value) tw_text_add(&c->path, "V%.1f", down(c, c->low));
  tw_text_add(&c->path, "V%.1f", value);
}

void cli_curve_step(cli_curve *c, double x, double value) {
  if (x >= c->x + 0.5) {
    flush(c);
    c->x = x;
    c->low = c->high = value;
  }
  c->value = value;
  c->low = fmin(c->low, value);
  c->high = fmax(c->high, value);
}

void cli_curve_draw(cli_curve *c, tw_text *out, int top, double left, double right) {
  flush(c);
  tw_text_add(out, "<text x=\"%.1f\" y=\"%d\">", left, top + NAME_HEIGHT - 4);
  html_text(out, c->name);
  tw_text_add(out,
              ", at most %.0f</text>\n<path class=\"curve\" transform=\"translate(0 %d)\" fill=\"#c9d7ec\" "
              "stroke=\"#3b6fb6\" d=\"M%.1f %d",
              c->most, top + NAME_HEIGHT, left, PLOT_HEIGHT);
  tw_text_add_bytes(out, c->path.data, c->path.length);
  tw_text_add(out, "H%.1fV%dz\"/>\n", right, PLOT_HEIGHT);
  out->failed |= c->path.failed;
}

void cli_curve_free(cli_curve *c) { tw_text_free(&c->path); }
