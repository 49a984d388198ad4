/* fuzz_cdna_object.c - any bytes as a code object: refused in one line, or read, decoded, printed, and each kernel run
 * for a while. Bytes that are no ELF file are decoded as code. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/cdna/emulator/emulator.h"
#include "target/cdna/isa/isa.h"
#include "target/cdna/object/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print_all(cdna_arch arch, const uint8_t *data, size_t size) {
  const size_t n = size / 4;
  uint32_t *word = malloc(4 * n + 1);
  if (!word) return;
  memcpy(word, data, 4 * n);
  for (size_t i = 0; i < n;) {
    cdna_code c;
    tw_text t = {0};
    const bool known = !cdna_decode(arch, word + i, n - i, &c);
    if (known) cdna_print(&c, &t);
    i += known ? c.dwords : 1;
    tw_text_free(&t);
  }
  free(word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  cdna_object o;
  tw_error error = {0};
  if (cdna_object_read(data, size, "input", &o, &error) != TW_OK) {
    if (!error.text[0] || strchr(error.text, '\n')) abort();
    print_all(CDNA3, data, size);
    print_all(CDNA4, data, size);
    return 0;
  }
  for (size_t i = 0; i < o.n_kernels && i < 2; i++) {
    static uint8_t room[4096];
    cdna_memory memory = {0};
    uint64_t block[32];
    const uint64_t at = cdna_memory_add(&memory, room, sizeof room, true, "room");
    for (int k = 0; k < 32; k++) block[k] = at + 64 * (uint64_t)k;
    const cdna_launch launch = {.grid = {1, 1, 1},
                                .block = {64, 1, 1},
                                .arguments = block,
                                .argument_bytes = sizeof block,
                                .jobs = 1,
                                .limit = 2000};
    if (o.size < 1 << 20 && cdna_run(&o, &o.kernel[i], &launch, &memory, NULL, &error) != TW_OK &&
        strchr(error.text, '\n'))
      abort();
  }
  cdna_object_free(&o);
  return 0;
}
