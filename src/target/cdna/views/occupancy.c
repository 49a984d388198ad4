/* occupancy.c - the view `occupancy`: the number of a kernel's workgroups on a CU, and the limiting resource. As a
 * picture: the waves of a SIMD over the registers of a wave. */
#include <stdio.h>

#include "target/cdna/views/views.h"

enum { VGPRS, AGPRS, LDS, WORK_ITEMS };
const tw_view_key cdna_occupancy_keys[] = {
    {"vgprs", NULL, "VGPRs of a wave"},
    {"agprs", "0", "AGPRs of a wave"},
    {"lds", "0", "LDS bytes of a workgroup"},
    {"work_items", "256", "work-items of a workgroup"},
    {0},
};

static void print_text(const cdna_machine *m, const cdna_resources *r, const cdna_occupancy *o, tw_text *out) {
  tw_text_add(out, "%d VGPRs, %d AGPRs, %d bytes of LDS, %d work-items on %s\n", r->vgprs, r->agprs, r->lds_bytes,
              r->work_items, m->product);
  tw_text_add(out, "  a wave is given   %d of %d registers\n", o->registers, m->registers);
  tw_text_add(out, "  a workgroup       %d wave%s, %d of %d bytes of LDS\n", o->waves_of_workgroup,
              o->waves_of_workgroup == 1 ? "" : "s", o->lds_bytes, m->lds_bytes);
  tw_text_add(out, "  workgroups a CU   %d: limited by %s\n", o->workgroups, o->limit);
  tw_text_add(out, "                    registers allow %d, LDS %d, waves %d, barriers %d\n", o->by_registers,
              o->by_lds, o->by_waves, o->by_barriers);
  tw_text_add(out, "  occupancy         %d of %d waves a SIMD\n", o->waves_of_simd, m->waves);
}

static void print_data(const cdna_machine *m, const cdna_occupancy *o, tw_text *out) {
  tw_text_add(out,
              "{\"registers\": %d, \"lds_bytes\": %d, \"waves_of_workgroup\": "
              "%d, \"workgroups\": %d, \"waves\": %d, "
              "\"waves_of_simd\": %d, \"waves_of_simd_most\": %d, \"limit\": "
              "\"%s\", \"by_registers\": %d, "
              "\"by_lds\": %d, \"by_waves\": %d, \"by_barriers\": %d}",
              o->registers, o->lds_bytes, o->waves_of_workgroup, o->workgroups, o->waves, o->waves_of_simd, m->waves,
              o->limit, o->by_registers, o->by_lds, o->by_waves, o->by_barriers);
}

static void draw(const cdna_machine *m, const cdna_resources *r, const cdna_occupancy *o, tw_text *out) {
  enum { WIDTH = 512, HIGH = 24 };
  char title[160];
  snprintf(title, sizeof title, "%d of %d waves a SIMD, limited by %s", o->waves_of_simd, m->waves, o->limit);
  cdna_svg_open(out, WIDTH + 4 * CDNA_SVG_LEFT, CDNA_SVG_TOP + (m->waves + 1) * HIGH + 16, title,
                "waves of a SIMD over registers of a wave, with this kernel's "
                "LDS and workgroup");
  for (int registers = m->register_step; registers <= m->registers; registers += m->register_step) {
    cdna_resources at = *r;
    cdna_occupancy here;
    at.vgprs = registers <= m->register_most / 2 ? registers : m->register_most / 2;
    at.agprs = registers - at.vgprs;
    if (cdna_occupancy_of(m, &at, &here, NULL) != TW_OK) continue;
    tw_text_add(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n",
                2 * CDNA_SVG_LEFT + (registers - m->register_step) * WIDTH / m->registers,
                CDNA_SVG_TOP + (m->waves - here.waves_of_simd) * HIGH, m->register_step * WIDTH / m->registers,
                here.waves_of_simd * HIGH, cdna_colour[registers == o->registers ? 1 : 0]);
  }
  for (int waves = 0; waves <= m->waves; waves++)
    tw_text_add(out, "<text x=\"%d\" y=\"%d\">%d</text>\n", CDNA_SVG_LEFT + 8,
                CDNA_SVG_TOP + (m->waves - waves) * HIGH + 4, waves);
  for (int registers = 0; registers <= m->registers; registers += 64)
    tw_text_add(out, "<text x=\"%d\" y=\"%d\">%d</text>\n", 2 * CDNA_SVG_LEFT + registers * WIDTH / m->registers,
                CDNA_SVG_TOP + m->waves * HIGH + 14, registers);
  cdna_svg_close(out);
}

tw_status cdna_show_occupancy(const tw_target *t, const char *const value[], tw_view_form form, char **out,
                              tw_error *error) {
  const cdna_machine *m = cdna_machine_of(t);
  int64_t n[4];
  tw_text text = {0};
  tw_status status = TW_OK;
  for (int i = 0; i < 4 && status == TW_OK; i++)
    status = cdna_value_int(cdna_occupancy_keys[i].name, value[i], 0, 1 << 20, &n[i], error);
  if (status != TW_OK) return status;
  const cdna_resources r = {(int)n[VGPRS], (int)n[AGPRS], (int)n[LDS], (int)n[WORK_ITEMS]};
  cdna_occupancy o;
  status = cdna_occupancy_of(m, &r, &o, error);
  if (status != TW_OK) return status;
  if (form == TW_VIEW_SVG)
    draw(m, &r, &o, &text);
  else if (form == TW_VIEW_JSON)
    print_data(m, &o, &text);
  else
    print_text(m, &r, &o, &text);
  return tw_text_finish(&text, out, error);
}
