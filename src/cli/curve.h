/* curve.h - a number over time as a curve of an SVG. Values closer than half a pixel become one vertical line from the
 * least to the largest, so that a peak stays visible and a long run stays small. */
#ifndef TW_CLI_CURVE_H
#define TW_CLI_CURVE_H

#include "base/strings.h"

enum { CLI_CURVE_HEIGHT = 34 }; /* pixels, with the name above */

typedef struct cli_curve {
  char name[40];
  double most;                /* maximum of all values; known before the first one is drawn */
  double x, value, low, high; /* point and range of the line that is not written yet */
  tw_text path;
} cli_curve;

/* The value from pixel `x` on; x does not decrease. */
void cli_curve_step(cli_curve *, double x, double value);
/* Draws the curve below pixel `top`, from pixel `left` to pixel `right`. */
void cli_curve_draw(cli_curve *, tw_text *out, int top, double left, double right);
void cli_curve_free(cli_curve *);

#endif
