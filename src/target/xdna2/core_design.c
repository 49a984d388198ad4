/* core_design.c - converts types and tiles to input of the core's scheduler. */
#include "target/xdna2/core_design.h"
#include "target/count.h"

#include <limits.h>

static bool same_block(const int a[3], const int b[3]) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2]; }

static bool find_mac(const xd_kernel *k, xd_core_mac *out) {
  static const struct {
    tw_type a, b;
    bool scratch_a;
    xd_core_mac mac;
  } known[] = {
      {TW_BF16, TW_BFP16, true, XD_CORE_BFP16},  {TW_BFP16, TW_BFP16, false, XD_CORE_BFP16},
      {TW_BF16, TW_BF16, false, XD_CORE_BF16},   {TW_BF16, TW_BF16, false, XD_CORE_BF16_LANES},
      {TW_I8, TW_I8, false, XD_CORE_I8},         {TW_I8, TW_I4, false, XD_CORE_I8_I4},
      {TW_I8, TW_TERNARY, false, XD_CORE_I8_I2}, {TW_I16, TW_I16, false, XD_CORE_I16},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (known[i].a != k->a || known[i].b != xd_multiplied_b(k) || known[i].scratch_a != k->scratch_a ||
        !same_block(xd_core_shape(known[i].mac), k->vmac))
      continue;
    *out = known[i].mac;
    return true;
  }
  return false;
}

/* With staging, clusters add to the staged bf16; C is converted after the last step of K. */
static xd_core_form form_of(const xd_kernel *k) {
  if (k->staging > 0) return XD_CORE_C_BF16;
  switch (k->c) {
  case TW_BF16: return XD_CORE_C_BF16;
  case TW_BFP16: return XD_CORE_C_BFP16;
  case TW_I8: return XD_CORE_C_I8;
  case TW_I16: return XD_CORE_C_I16;
  default: return XD_CORE_C_32;
  }
}

bool xd_core_call(const xd_kernel *k, int64_t m, int64_t depth, int64_t n, xd_core_kernel *out) {
  xd_core_mac mac;
  if (!find_mac(k, &mac) || m > INT_MAX || depth > INT_MAX || n > INT_MAX) return false;
  *out = xd_core_kernel_of(mac, form_of(k), (int)m, (int)depth, (int)n);
  out->cluster[0] = k->cluster[0];
  out->cluster[1] = k->cluster[1];
  out->way = k->way;
  out->unroll = k->unroll;
  out->convert_a = k->scratch_a;
  return true;
}

bool xd_core_of_design(const xd_design *d, xd_core_kernel *out) {
  if (!xd_core_call(d->kernel, d->tile.m / d->tile.rho, d->tile.k, d->tile.n, out)) return false;
  out->shuffle_b = d->b_transposed && xd_reads_elements(d->kernel); /* packed operands are already transposed */
  if (d->way_given) out->way = d->way;
  if (d->unroll) out->unroll = d->unroll;
  for (int i = 0; i < 2; i++)
    if (d->cluster[i]) out->cluster[i] = d->cluster[i];
  return true;
}

tw_status xd_explain_core(const xd_design *d, tw_explanation *e, tw_error *error) {
  xd_core_kernel k;
  xd_core_result r;
  tw_error why;
  if (!xd_core_of_design(d, &k)) return TW_OK;
  tw_status status = xd_core_schedule(&k, &r, &why);
  const bool asked = d->way_given || d->unroll || d->cluster[0];
  if (status == TW_USAGE && !asked) return TW_OK; /* the kernel is explained even if it cannot be scheduled */
  if (status != TW_OK) return tw_fail(error, status, "%s", why.text);
  tw_add_quantity(e, "core_cycles", "cycles", r.cycles, "one kernel call as scheduled: T_MC / rho rows, one step of K");
  tw_add_quantity(e, "core_efficiency", "", r.efficiency, "of that call; docs/explain/xdna2-core.md");
  tw_add_quantity(e, "core_convert_cycles", "cycles", r.convert_cycles, "of it, to convert A");
  tw_add_quantity(e, "core_ii", "cycles", r.ii, "from one cluster to the next");
  tw_add_quantity(e, "core_prologue", "cycles", r.prologue, "before the first multiply-accumulate");
  tw_add_quantity(e, "core_steady", "cycles", r.steady, "between the first and the last multiply-accumulate");
  tw_add_quantity(e, "core_epilogue", "cycles", r.epilogue, "after the last");
  tw_add_quantity(e, "core_vectors", "", r.vectors, "vector registers used");
  tw_add_quantity(e, "core_accumulators", "", r.accumulators, "accumulators used");
  k.way = XD_CORE_PIPELINED;
  if (xd_core_schedule(&k, &r, &why) == TW_OK)
    tw_add_quantity(e, "core_pipelined_cycles", "cycles", r.cycles,
                    "a call with clusters overlapped by modulo scheduling");
  return TW_OK;
}
