/* page.h - a page of the documentation that holds, between two marks, tables which a test makes: the test rewrites them
 * when asked (--write), and fails when they say something else than it finds. */
#ifndef TW_TEST_PAGE_H
#define TW_TEST_PAGE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/strings.h"
#include "test.h"

typedef struct page {
  const char *path;        /* below the repository */
  const char *begin, *end; /* the marks, with the ends of their lines */
  const char *test;        /* that makes it: "test_gemmini_rtl" */
} page;

typedef struct page_file {
  char path[4096], *text;
} page_file;

static inline void page_read(const page *p, page_file *out) {
  tw_error error = {0};
  snprintf(out->path, sizeof out->path, TW_TEST_DATA "/../../%s", p->path);
  if (tw_file_read(out->path, 1 << 20, &out->text, NULL, &error) != TW_OK) fail_msg("%s", error.text);
}

/* Puts `tables` between the marks; frees them. */
static inline void page_write(const page *p, char *tables) {
  page_file old;
  page_read(p, &old);
  const char *begin = strstr(old.text, p->begin), *end = strstr(old.text, p->end);
  tw_text text = {0};
  tw_error error = {0};
  assert_true(begin && end && begin < end);
  tw_text_add_bytes(&text, old.text, (size_t)(begin - old.text));
  tw_text_add(&text, "%s%s%s", p->begin, tables, end);
  if (tw_file_write(old.path, text.data, text.length, &error) != TW_OK) fail_msg("%s", error.text);
  tw_text_free(&text);
  free(old.text);
  free(tables);
}

/* Fails unless the page has `tables`; frees them. */
static inline void page_must_say(const page *p, char *tables) {
  page_file now;
  page_read(p, &now);
  if (!strstr(now.text, tables)) fail_msg("%s is not what is found now; run build/tests/%s --write", p->path, p->test);
  free(now.text);
  free(tables);
}

#endif
