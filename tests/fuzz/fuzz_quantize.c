/* fuzz_quantize.c - any bytes as an input file of `tilewright quantize`: refused in one line, or converted to a file
 * that is read again. The last byte chooses the format. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tensors/convert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char in[64], out[64], back[64];
  tw_error error = {0};
  conversion result;
  if (size < 2 || size > 1 << 16) return 0;
  int fd = memfd_create("tensors", 0);
  if (fd < 0 || write(fd, data, size - 1) != (ssize_t)(size - 1)) abort();
  snprintf(in, sizeof in, "/proc/self/fd/%d", fd);
  snprintf(out, sizeof out, "/dev/shm/fuzz-%d.safetensors", (int)getpid());
  snprintf(back, sizeof back, "/dev/shm/fuzz-%d-back.safetensors", (int)getpid());
  convert_options to = {.to.format = tw_format_at((tw_format_id)(data[size - 1] % TW_FORMAT_COUNT)),
                        .all = data[size - 1] & 128};
  if (convert_file(in, out, &to, NULL, NULL, &result, &error) == TW_OK) {
    conversion_free(&result);
    convert_options f32 = {.to.format = tw_format_at(TW_FORMAT_F32), .all = true};
    if (convert_file(out, back, &f32, NULL, NULL, &result, &error) != TW_OK) abort();
    conversion_free(&result);
    unlink(back);
    unlink(out);
  } else if (!error.text[0] || strchr(error.text, '\n') || access(out, F_OK) == 0) {
    abort();
  }
  close(fd);
  return 0;
}
