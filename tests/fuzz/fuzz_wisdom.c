/* fuzz_wisdom.c - any file: it is refused, or what it says can be kept and read again. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/parse.h"
#include "tilewright/extend/extend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static tw_status load(const void *data, size_t size, tw_wisdom **out) {
  char path[64];
  int fd = memfd_create("wisdom", 0);
  if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  tw_error error;
  tw_status status = tw_wisdom_load(path, out, &error);
  close(fd);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *word[] = {"m=64", "n=64", "k=64"};
  tw_problem problem;
  tw_wisdom *wisdom;
  bool exact;
  if (load(data, size, &wisdom) != TW_OK) {
    if (wisdom) abort();
    return 0;
  }
  if (tw_problem_parse_words(NULL, "gemm", 3, word, &problem, NULL) != TW_OK) abort();
  const tw_wisdom_entry *entry;
  for (size_t i = 0; (entry = tw_wisdom_at(wisdom, i)); i++) {
    const char *target = tw_wisdom_entry_target(entry);
    const tw_wisdom_entry *e = tw_wisdom_find(wisdom, target, &problem, &exact);
    if (e && strcmp(tw_wisdom_entry_target(e), target) != 0) abort();
  }
  tw_wisdom_free(wisdom);
  return 0;
}
