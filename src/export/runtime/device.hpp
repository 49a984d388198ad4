
// ---- runs the kernel on operands.bin, compares, times ----

#include <stdio.h>
#include <stdlib.h>

static void need(GPU(Error_t) e) {
  if (e == GPU(Success)) return;
  fprintf(stderr, "%s\n", GPU(GetErrorString)(e));
  exit(2);
}

static unsigned char *load(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) return NULL;
  const long size = ftell(file);
  unsigned char *data = (unsigned char *)malloc(size > 0 ? size : 1);
  rewind(file);
  if (data && fread(data, 1, size, file) != (size_t)size) data = NULL;
  fclose(file);
  return data;
}

// What an operand holds before a launch: what is given, again and again, or poison.
static void prepare(const tw_checked *o, const unsigned char *file, int poison, unsigned char *out) {
  for (unsigned long at = 0; at < o->bytes; at += o->given_bytes ? o->given_bytes : o->bytes)
    if (o->given_bytes)
      memcpy(out + at, file + o->given_at, o->bytes - at < o->given_bytes ? o->bytes - at : o->given_bytes);
    else
      memset(out, poison, o->bytes);
}

// Twice, with two poisons: a byte that keeps both was not written.
static bool is_right(const tw_checked *o, const unsigned char *file, const unsigned char *first,
                     const unsigned char *second, unsigned char *scratch) {
  long wrong = -1;
  prepare(o, file, 0xff, scratch);
  if (!o->is_output) {
    if (memcmp(first, scratch, o->bytes) == 0) return true;
    printf("WRONG: %s was written, and is an input\n", o->name);
    return false;
  }
  for (unsigned long i = 0; i < o->bytes && o->is_dense && !o->given_bytes; i++)
    if (first[i] == 0xff && second[i] == 0x5a) {
      printf("WRONG: element %lu of %s, counted in memory, was not written\n", i / o->element_bytes, o->name);
      return false;
    }
  if ((wrong = tw_first_wrong(o, file + o->expected_at, first)) < 0) return true;
  printf("WRONG: element %ld of %s, counted in memory\n", wrong, o->name);
  return false;
}

int main(int argc, char **argv) {
  enum { OPERANDS = sizeof tw_operands / sizeof *tw_operands, RUNS = 20 };
  static const int poison[] = {0xff, 0x5a};
  unsigned char *file = load(argc > 1 ? argv[1] : "operands.bin"), *host[2][OPERANDS], *scratch[OPERANDS];
  void *device[OPERANDS], *workspace;
  bool right = true;
  if (!file) return fputs("operands.bin cannot be read: name it as the argument\n", stderr), 2;
  for (int i = 0; i < OPERANDS; i++) {
    for (int run = 0; run < 2; run++) host[run][i] = (unsigned char *)malloc(tw_operands[i].bytes);
    scratch[i] = (unsigned char *)malloc(tw_operands[i].bytes);
    if (!host[0][i] || !host[1][i] || !scratch[i]) return fputs("out of memory\n", stderr), 2;
    need(GPU(Malloc)(&device[i], tw_operands[i].bytes));
  }
  need(GPU(Malloc)(&workspace, tilewright_workspace ? tilewright_workspace : 1));
  PREPARE;
  for (int run = 0; run < 2; run++) {
    for (int i = 0; i < OPERANDS; i++) {
      prepare(&tw_operands[i], file, poison[run], scratch[i]);
      need(GPU(Memcpy)(device[i], scratch[i], tw_operands[i].bytes, GPU(MemcpyHostToDevice)));
    }
    need(START(device, workspace));
    need(GPU(DeviceSynchronize)());
    for (int i = 0; i < OPERANDS; i++)
      need(GPU(Memcpy)(host[run][i], device[i], tw_operands[i].bytes, GPU(MemcpyDeviceToHost)));
  }
  for (int i = 0; i < OPERANDS; i++) right &= is_right(&tw_operands[i], file, host[0][i], host[1][i], scratch[i]);
  GPU(Event_t) begin, end;
  float ms = 0;
  need(GPU(EventCreate)(&begin));
  need(GPU(EventCreate)(&end));
  need(GPU(EventRecord)(begin, 0));
  for (int i = 0; i < RUNS; i++) need(START(device, workspace));
  need(GPU(EventRecord)(end, 0));
  need(GPU(EventSynchronize)(end));
  need(GPU(EventElapsedTime)(&ms, begin, end));
  if (right) puts("right: " CHECKED);
  printf("%g us each, one behind the other\n", ms * 1e3 / RUNS);
  return !right;
}
