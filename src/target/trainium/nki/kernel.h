/* kernel.h - NKI source to a program, by executing it.
 *
 * The kernel's Python is interpreted: loops run, so the program has an instruction for each call of nki.isa that the kernel
 * makes. Each instruction is computed at once if data is wanted. Nothing of the source reaches the host's Python. */
#ifndef TW_TRAINIUM_NKI_KERNEL_H
#define TW_TRAINIUM_NKI_KERNEL_H

#include "target/trainium/config.h"
#include "target/trainium/nki/syntax.h"
#include "target/trainium/program.h"
#include "tilewright/extend/op.h"

enum { NKI_SCALARS_MAX = 16 };

typedef struct nki_scalar_argument {
  const char *name;
  double value;
} nki_scalar_argument;

/* The arguments of a kernel. Parameters take their values in this order:
 *   a line "#: name = value" of the source; a scalar with the parameter's name; the next input, if the parameter has
 *   no default; its default; the next output (kernels that write into arguments).
 * The kernel returns the outputs in order. */
typedef struct nki_request {
  size_t n_operands;
  const tw_operand *operand;
  void *const *buffer;   /* data of each operand; outputs are written. NULL: nothing is computed */
  const uint8_t *needed; /* for each of the first n_needed instructions: is it computed? NULL: all are */
  size_t n_needed;
  size_t n_scalars;
  nki_scalar_argument scalar[NKI_SCALARS_MAX];
  int64_t statements;  /* maximum; 0: 20,000,000 */
  const tw_stop *stop; /* may be NULL */
} nki_request;

/* TW_FAILED with "line N: ..." where the kernel is wrong or uses what is not supported. The program is the caller's to
 * free; on failure there is nothing to free. */
tw_status nki_execute(const trn_config *, const nki_module *, const char *source, const nki_request *, trn_program *out,
                      tw_error *);

#endif
