/* occupancy.c - how many workgroups share a CU, and what limits them.
 *
 * The waves of a workgroup are spread evenly over the SIMDs. A wave's VGPRs are rounded up to 4, its AGPRs follow them,
 * and the sum is rounded up to the step (LLVM, AMDGPUUsage, "accum_offset"); LDS is rounded up to its step. */
#include "target/cdna/machine.h"

static int round_up(int value, int step) { return (value + step - 1) / step * step; }

static tw_status check(const cdna_machine *m, const cdna_resources *r, tw_error *error) {
  const int half = m->register_most / 2;
  if (r->vgprs < 0 || r->vgprs > half || r->agprs < 0 || r->agprs > half)
    return tw_fail(error, TW_USAGE, "a wave has 0 to %d VGPRs and as many AGPRs (found %d and %d)", half, r->vgprs,
                   r->agprs);
  if (r->lds_bytes < 0 || r->lds_bytes > m->lds_bytes)
    return tw_fail(error, TW_USAGE, "a workgroup has up to %d bytes of LDS on %s (found %d)", m->lds_bytes,
                   cdna_processor(m->arch), r->lds_bytes);
  if (r->work_items < 1 || r->work_items > m->work_items)
    return tw_fail(error, TW_USAGE, "a workgroup has 1 to %d work-items (found %d)", m->work_items, r->work_items);
  return TW_OK;
}

tw_status cdna_occupancy_of(const cdna_machine *m, const cdna_resources *r, cdna_occupancy *out, tw_error *error) {
  const tw_status status = check(m, r, error);
  if (status != TW_OK) return status;
  const int wanted = r->agprs ? round_up(r->vgprs, 4) + r->agprs : r->vgprs;
  cdna_occupancy o = {.registers = round_up(wanted ? wanted : 1, m->register_step),
                      .lds_bytes = round_up(r->lds_bytes, m->lds_step),
                      .waves_of_workgroup = (r->work_items + CDNA_LANES - 1) / CDNA_LANES,
                      .by_barriers = m->simds * m->waves};
  const int fit = m->registers / o.registers, waves = o.waves_of_workgroup;
  o.by_registers = m->simds * (fit < m->waves ? fit : m->waves) / waves;
  o.by_waves = m->simds * m->waves / waves;
  o.by_lds = o.lds_bytes ? m->lds_bytes / o.lds_bytes : o.by_waves;
  if (waves > 1) o.by_barriers = m->barriers;
  const struct {
    int allowed;
    const char *what;
  } limits[] = {{o.by_waves, "waves of a SIMD"},
                {o.by_barriers, "barriers of a CU"},
                {o.by_registers, "registers"},
                {o.by_lds, "LDS"}};
  o.workgroups = limits[0].allowed;
  o.limit = limits[0].what;
  for (int i = 1; i < 4; i++)
    if (limits[i].allowed < o.workgroups) {
      o.workgroups = limits[i].allowed;
      o.limit = limits[i].what;
    }
  if (o.workgroups == 0)
    return tw_fail(error, TW_USAGE,
                   "no workgroup fits: %d waves of %d registers each; a SIMD holds %d such waves, a CU %d", waves,
                   o.registers, fit, m->simds * fit);
  o.waves = o.workgroups * waves;
  o.waves_of_simd = (o.waves + m->simds - 1) / m->simds;
  *out = o;
  return TW_OK;
}
