/* hip_runtime.h - the functions of HIP's module API that exported code calls, for tests without a GPU: a launch is
 * appended to the file $HIP_STUB_LOG as a line of its kernel, sizes and arguments, which are read as the metadata of
 * the code object says: $HIP_STUB_SIZES has the bytes of each argument of each kernel, "NAME:8,8,4;NAME:8". */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef enum { hipSuccess = 0, hipErrorInvalidValue = 1 } hipError_t;
typedef struct stream *hipStream_t;
typedef const unsigned char *hipModule_t;
typedef const char *hipFunction_t;
static inline hipError_t hipModuleLoadData(hipModule_t *m, const void *code) {
  *m = (hipModule_t)code;
  return memcmp(code, "\177ELF", 4) == 0 ? hipSuccess : hipErrorInvalidValue;
}
static inline hipError_t hipModuleGetFunction(hipFunction_t *f, hipModule_t, const char *name) {
  *f = name;
  return hipSuccess;
}
static inline hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned x, unsigned y, unsigned z, unsigned bx,
                                               unsigned by, unsigned bz, unsigned lds, hipStream_t stream,
                                               void **arguments, void **) {
  const char *name = strstr(getenv("HIP_STUB_SIZES"), f), *sizes = name ? name + strlen(f) + 1 : "";
  FILE *log = fopen(getenv("HIP_STUB_LOG"), "a");
  fprintf(log, "%s %u %u %u %u %u %u %u %ld", f, x, y, z, bx, by, bz, lds, (long)stream);
  for (int i = 0; *sizes >= '0' && *sizes <= '9'; i++) {
    long value = 0;
    memcpy(&value, arguments[i], strtoul(sizes, (char **)&sizes, 10));
    fprintf(log, " %ld", value);
    if (*sizes == ',') sizes++;
  }
  fprintf(log, "\n");
  fclose(log);
  return hipSuccess;
}
