/* filled.h - which templates of the library (base/template.h) a test has filled. Filling checks every mark, also in
 * sections that are left out: a template that was filled once has no unknown slot and no open section. */
#ifndef TW_TEST_FILLED_H
#define TW_TEST_FILLED_H

#include "test.h"

#include <stdbool.h>
#include <string.h>

#include "base/embedded.h"
#include "base/strings.h"
#include "base/template.h"

enum { FILLED_MAX = 256 };
static const char *filled[FILLED_MAX];
static size_t n_filled;

static bool was_filled(const char *file) {
  for (size_t i = 0; i < n_filled; i++)
    if (!strcmp(filled[i], file)) return true;
  return false;
}

/* For tw_template_watch. */
static void note_filled(const char *file) {
  if (was_filled(file)) return;
  assert_true(n_filled < FILLED_MAX);
  filled[n_filled++] = file; /* of the table of embedded files */
}

/* Fails for templates of kernels that were not filled: those in `folder`, or, if `elsewhere`, all others. */
static void expect_filled(const char *folder, bool elsewhere, const char *remedy) {
  const tw_embedded *e;
  int templates = 0, missing = 0;
  for (size_t i = 0; (e = tw_embedded_at(i)); i++) {
    if (!tw_ends_with(e->name, ".in") || !tw_embedded_below(e, folder) != elsewhere) continue;
    templates++;
    if (was_filled(e->name)) continue;
    missing++;
    print_error("%s: %s\n", e->name, remedy);
  }
  assert_true(templates > 0);
  assert_int_equal(missing, 0);
}

#endif
