/* amount.c - see amount.h. */
#include "base/amount.h"

#include <stdio.h>
#include <string.h>

char *tw_print_amount(const char *unit, double value, char buffer[TW_AMOUNT]) {
  if (strcmp(unit, "seconds") != 0)
    snprintf(buffer, TW_AMOUNT, "%.0f %.12s", value, unit);
  else if (value < 1)
    snprintf(buffer, TW_AMOUNT, "%.4g %s", value * (value < 1e-3 ? 1e6 : 1e3), value < 1e-3 ? "us" : "ms");
  else
    snprintf(buffer, TW_AMOUNT, "%.4g s", value);
  return buffer;
}
