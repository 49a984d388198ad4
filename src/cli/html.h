/* html.h - the pieces of which the report page is made. */
#ifndef TW_CLI_HTML_H
#define TW_CLI_HTML_H

#include <jansson.h>

#include "base/strings.h"

void html_text(tw_text *, const char *text); /* escaped */
void html_head(tw_text *, const char *title);
void html_foot(tw_text *);
void html_source(tw_text *, const char *title, const char *source); /* folded; nothing if there is none */

/* One horizontal bar a row: label left (on narrow windows above), share of the full width, value as text right. */
typedef struct html_bar {
  const char *label, *value, *note;
  double share; /* 0..1 */
  bool is_faint;
} html_bar;
/* `mark` (0..1, or negative for none) is a red line over all rows. */
void html_bars(tw_text *, const html_bar *, size_t n, double mark);

#endif
