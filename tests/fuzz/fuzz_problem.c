/* fuzz_problem.c - any words: a problem that is taken prints to text that parses to the same problem. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/parse.h"
#include "tilewright/extend/op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t split(char *text, const char *words[64]) {
  size_t n = 0;
  for (char *word = strtok(text, " "); word && n < 64; word = strtok(NULL, " ")) words[n++] = word;
  return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char text[1024], printed[1024], again[1024];
  const char *words[64];
  tw_problem problem;
  tw_error error;
  if (size >= sizeof text) return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  if (tw_problem_parse_words(NULL, "gemm", split(text, words), words, &problem, &error) != TW_OK) return 0;
  if (tw_problem_print(&problem, printed, sizeof printed) >= sizeof printed) abort();
  memcpy(text, printed, sizeof text);
  size_t n = split(text, words);
  if (tw_problem_parse_words(NULL, words[0], n - 1, words + 1, &problem, &error) != TW_OK) abort();
  tw_problem_print(&problem, again, sizeof again);
  if (strcmp(printed, again) != 0) abort();
  return 0;
}
