/* html.c - see html.h. */
#include "cli/html.h"

void html_text(tw_text *out, const char *text) {
  for (; *text; text++) {
    switch (*text) {
    case '<': tw_text_add_string(out, "&lt;"); break;
    case '>': tw_text_add_string(out, "&gt;"); break;
    case '&': tw_text_add_string(out, "&amp;"); break;
    case '"': tw_text_add_string(out, "&quot;"); break;
    default: tw_text_add_bytes(out, text, 1);
    }
  }
}
