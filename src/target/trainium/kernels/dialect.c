/* dialect.c - emitted kernels in the older dialect (neuronxcc.nki up to SDK 2.26). Templates are text of the newer one. In the
 * older one, calls return tiles, partitions are marked, sums in PSUM begin as zeros and grow by +=, and only
 * static_range unrolls a loop. */
#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "target/trainium/kernels/kind.h"

/* The comma or the closing parenthesis after an argument. */
static const char *argument_end(const char *s) {
  int depth = 0;
  for (; *s && (depth || (*s != ',' && *s != ')')); s++) depth += !!strchr("([{", *s) - !!strchr(")]}", *s);
  return s;
}

static const char *call_end(const char *s) {
  while (*(s = argument_end(s)) == ',') s++;
  return s;
}

/* "nisa.NAME(dst=D, REST)" becomes "D = nisa.NAME(REST)". Returns the closing parenthesis. */
static const char *add_call(tw_text *out, const char *call) {
  const char *open = strchr(call, '('), *dst = open + strlen("(dst="), *end = argument_end(dst), *close = call_end(end);
  const int n = (int)(end - dst);
  tw_text_add(out, "%.*s%s %s= %.*s", n, dst, memchr(dst, ':', (size_t)n) ? "" : "[...]",
              strncmp(call, "nisa.nc_matmul", strlen("nisa.nc_matmul")) ? "" : "+", (int)(open + 1 - call), call);
  if (!strncmp(call, "nisa.memset", strlen("nisa.memset")))
    tw_text_add(out, "%.*s.shape, dtype=%.*s.dtype, ", n, dst, n, dst);
  for (const char *s = end + strlen(", "); s < close;) {
    static const char adds[] = ", accumulate=True"; /* as += does */
    if (!strncmp(s, adds, strlen(adds))) s += strlen(adds);
    if (s < close) tw_text_add_bytes(out, s++, 1);
  }
  return close;
}

/* "nl.ndarray((ROWS, ...), ...)". Returns the end of ROWS. */
static const char *add_tensor(tw_text *out, const char *call) {
  const char *rows = call + strlen("nl.ndarray(("), *end = argument_end(rows), *close = call_end(rows - 1);
  const size_t n = (size_t)(close - call);
  const bool sums = memmem(call, n, "nl.psum", 7) && memmem(call, n, "nl.float32", 10);
  if (memmem(call, n, "hbm", 3))
    tw_text_add_bytes(out, call, (size_t)(end - call));
  else
    tw_text_add(out, "nl.%s((nl.par_dim(%.*s)", sums ? "zeros" : "ndarray", (int)(end - rows), rows);
  return end;
}

void trn_add_older(tw_text *out, const char *s) {
  static const struct {
    const char *newer, *older;
  } words[] = {{"import nki", "import neuronxcc.nki"}, {" in range(", " in nl.static_range("}};
  bool in_loop = false, starts = true; /* starts: only spaces are before s in its line */
  while (*s) {
    size_t w = 0;
    if (starts) in_loop = !strncmp(s, "for ", 4);
    while (w < 2 && strncmp(s, words[w].newer, strlen(words[w].newer)) != 0) w++;
    if (starts && !strncmp(s, "nisa.", 5) && !strncmp(strchr(s, '('), "(dst=", 5) && strncmp(s, "nisa.dma", 8) != 0) {
      s = add_call(out, s);
    } else if (!strncmp(s, "nl.ndarray((", strlen("nl.ndarray(("))) {
      s = add_tensor(out, s);
    } else if (w == 0 || (w == 1 && in_loop)) {
      tw_text_add_string(out, words[w].older);
      s += strlen(words[w].newer);
      if (w == 0 && *s == '\n') tw_text_add_string(out, " as nki");
      in_loop = false;
    }
    starts = *s == '\n' || (starts && *s == ' ');
    tw_text_add_bytes(out, s++, 1);
  }
}
