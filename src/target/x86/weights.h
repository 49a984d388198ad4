/* weights.h - weights in types with shared scales: the layout of their codes in packed B. */
#ifndef TW_X86_WEIGHTS_H
#define TW_X86_WEIGHTS_H

#include "target/x86/plan.h"
#include "target/x86/variant.h"
#include "tilewright/format.h"

/* The smallest form, of the forms whose bits are set, that can keep codes of the type. X86_FORMS: none. */
x86_form x86_form_of(tw_type, unsigned forms);
/* A bit for each form: of the forms that a kernel has tiles for, compiled or as a schedule; of the forms that can
 * keep the type. */
unsigned x86_forms_of_kernel(const x86_kernel *);
unsigned x86_forms_of_schedule(const x86_variant *);
unsigned x86_forms_of_type(tw_type);
/* Fills the plan's codes and packing from spec.b and spec.group. TW_USAGE with the reason if they do not fit. */
tw_status x86_settle_weights(tw_gemm_plan *, tw_error *);

/* Bytes of one panel of a block of `units`, each a multiple of 64. */
size_t x86_codes_bytes(const tw_gemm_plan *, int64_t units);
size_t x86_scales_bytes(const tw_gemm_plan *, int64_t units);

/* Packs all of B. `b` is f32 and is rounded to the type. If `codes` is not NULL, its planes are packed instead
 * (tw_gemm_pack_codes). */
tw_status x86_pack_weights(const tw_gemm_plan *, const float *b, const void *codes, const void *scales, char *packed,
                           tw_error *);

#endif
