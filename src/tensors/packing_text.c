/* packing_text.c - a packing and a shape as the text in a file's metadata, and back. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "tensors/convert.h"

char *packing_print(const tw_packing *p, int rank, const uint64_t shape[]) {
  tw_text text = {0};
  tw_text_add(&text, "%s shape=", p->format->name);
  for (int i = 0; i < rank; i++) tw_text_add(&text, "%s%" PRIu64, i ? "," : "", shape[i]);
  if (p->group == TW_GROUP_TENSOR) tw_text_add(&text, " group=tensor");
  if (p->group > 0) tw_text_add(&text, " group=%" PRId64, p->group);
  if (p->rule != TW_RULE_DEFAULT) tw_text_add(&text, " rule=%s", tw_scale_rule_name(p->rule));
  if (p->rounding == TW_ROUND_FLOOR) tw_text_add(&text, " rounding=floor");
  if (p->overflow == TW_OVERFLOW_SPECIAL) tw_text_add(&text, " overflow=special");
  return tw_text_take(&text);
}

static bool parse_shape(const char *text, int *rank, uint64_t shape[]) {
  *rank = 0;
  if (!*text) return true; /* a single number */
  for (;;) {
    char digits[24];
    size_t length = strcspn(text, ",");
    int64_t size;
    if (length >= sizeof digits || *rank == TENSOR_RANK_MAX) return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (!tw_parse_int(digits, &size) || size < 0) return false;
    shape[(*rank)++] = (uint64_t)size;
    if (!text[length]) return true;
    text += length + 1;
  }
}

static bool parse_word(const char *word, tw_packing *p, int *rank, uint64_t shape[], bool *has_shape) {
  if (strncmp(word, "shape=", 6) == 0) {
    *has_shape = true;
    return parse_shape(word + 6, rank, shape);
  }
  if (strncmp(word, "rule=", 5) == 0) return tw_scale_rule_parse(word + 5, &p->rule);
  if (strcmp(word, "rounding=floor") == 0) return p->rounding = TW_ROUND_FLOOR, true;
  if (strcmp(word, "overflow=special") == 0) return p->overflow = TW_OVERFLOW_SPECIAL, true;
  if (strcmp(word, "group=tensor") == 0) return p->group = TW_GROUP_TENSOR, true;
  return strncmp(word, "group=", 6) == 0 && tw_parse_int(word + 6, &p->group) && p->group > 0;
}

bool packing_parse(const char *text, tw_packing *p, int *rank, uint64_t shape[TENSOR_RANK_MAX]) {
  char *copy = strdup(text), *rest = NULL;
  bool good = copy != NULL, has_shape = false;
  char *word = good ? strtok_r(copy, " ", &rest) : NULL;
  *p = (tw_packing){.format = word ? tw_format_find(word) : NULL};
  *rank = 0;
  good = good && p->format;
  while (good && (word = strtok_r(NULL, " ", &rest))) good = parse_word(word, p, rank, shape, &has_shape);
  free(copy);
  return good && has_shape && tw_packing_check(p, NULL) == TW_OK;
}
