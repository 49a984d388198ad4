/* symbol.c - see symbol.h. */
#include "target/xdna2/array/symbol.h"

#include <stdio.h>
#include <string.h>

#include "target/xdna2/array/kernel.h"

static bool begins(const char *name, const char *with) { return !strncmp(name, with, strlen(with)); }

bool xd_symbol_takes_row(const xd_call *c) { return begins(c->function->name, "matmul_"); }

xd_symbol xd_symbol_of(const xd_call *c) {
  xd_symbol s = {""};
  const char *name = c->function->name;
  if (!strcmp(name, "step")) return s;
  if (!strcmp(name, "zero"))
    snprintf(s.text, sizeof s.text, "%s_%d", name, c->n);
  else if (xd_symbol_takes_row(c))
    snprintf(s.text, sizeof s.text, "%s_%dx%dx%d", name, c->m, c->k, c->n);
  else if (begins(name, "unpack_"))
    snprintf(s.text, sizeof s.text, "%s_%dx%d", name, c->k, c->n);
  else
    snprintf(s.text, sizeof s.text, "%s_%dx%d", name, c->m, c->n);
  return s;
}
