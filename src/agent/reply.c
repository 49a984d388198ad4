/* reply.c - see reply.h. */
#define _GNU_SOURCE
#include "agent/reply.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/edits.h"
#include "agent/lines.h"

/* ---- the whole file ---- */

/* Whether the line closes the fence: the same mark, at least as long, with nothing after it. */
static bool closes(tw_line l, char mark, size_t n) {
  char own;
  size_t length = tw_line_fence(l, &own), end = tw_line_trimmed(l);
  return length >= n && own == mark && end > 0 && l.text[end - 1] == mark &&
         memchr(l.text, mark, end) == l.text + end - length;
}

static bool begins_like_c(const char *text) {
  static const char *const words[] = {"//",      "/*",     "#",        "static ", "void ",
                                      "extern ", "const ", "typedef ", "struct ", "enum "};
  text += strspn(text, " \t\r\n");
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (!strncmp(text, words[i], strlen(words[i])) && (words[i][0] != '#' || isalpha((unsigned char)text[1])))
      return true;
  return false;
}

static tw_status find_file(const char *reply, char **source, tw_error *error) {
  const char *best = NULL, *open = NULL;
  size_t best_length = 0, n = 0;
  char mark = 0;
  tw_line l = tw_line_first(reply);
  for (bool more = *reply != '\0'; more;) {
    tw_line now = l;
    more = tw_line_next(&l);
    if (open && closes(now, mark, n)) {
      size_t length = (size_t)(now.text - open);
      if (length >= best_length) best = open, best_length = length;
      open = NULL;
    } else if (!open && (n = tw_line_fence(now, &mark)) > 0) {
      open = more ? l.text : now.text + now.length;
    }
  }
  if (open)
    return tw_fail(error, TW_FAILED, "the reply ends inside its code block; give the whole kernel and close the block");
  if (!best && begins_like_c(reply)) best = reply, best_length = strlen(reply);
  if (!best)
    return tw_fail(error, TW_FAILED, "the reply has no code; give the kernel in one block between ``` and ```");
  if (strspn(best, " \t\r\n") >= best_length)
    return tw_fail(error, TW_FAILED, "the block of code in the reply is empty");
  const char *begin = tw_skip_byte_order_mark(best);
  *source = strndup(begin, best_length - (size_t)(begin - best));
  return *source ? TW_OK : tw_fail(error, TW_NO_MEMORY, "no memory for a kernel");
}

tw_status tw_reply_source(const char *reply, const char *parent, char **source, tw_error *error) {
  tw_edits edits;
  *source = NULL;
  reply = tw_skip_byte_order_mark(reply);
  tw_status status = tw_edits_read(reply, &edits, error);
  if (status == TW_OK)
    status = edits.n ? tw_edits_apply(&edits, parent, source, error) : find_file(reply, source, error);
  tw_edits_free(&edits);
  return status;
}
