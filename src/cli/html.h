/* html.h - text within SVG. */
#ifndef TW_CLI_HTML_H
#define TW_CLI_HTML_H

#include "base/strings.h"

void html_text(tw_text *, const char *text); /* escaped */

#endif
