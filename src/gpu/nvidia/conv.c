/* conv.c - fills the kernels of a convolution of tiles, kernels/conv.cuh.in; conv_kernel.h has their structure. */
#include "base/template.h"
#include "gpu/nvidia/conv_kernel.h"
#include "gpu/nvidia/gemm_warp_specialized.h"

/* The last letter of each name is the dimension. */
static void set_dimension(tw_slots *s, const tw_conv *v, const tw_tile_conv_plan *p, int d,
                          const char *const names[7]) {
  const int64_t number[7] = {
      v->in[d], v->out[d], v->window[d], v->pad[d], p->folded[d], p->taps[d], v->out[d] + p->taps[d] - 1};
  for (int i = 0; i < 7; i++) tw_slots_number(s, names[i], number[i]);
}

static void set_problem(tw_slots *s, const tw_conv *v, const tw_tile_conv_plan *p) {
  static const char *const names[TW_CONV_DIMS][7] = {
      {"in_z", "out_z", "window_z", "pad_z", "folded_z", "taps_z", "wide_z"},
      {"in_y", "out_y", "window_y", "pad_y", "folded_y", "taps_y", "wide_y"},
      {"in_x", "out_x", "window_x", "pad_x", "folded_x", "taps_x", "wide_x"}};
  for (int d = 0; d < TW_CONV_DIMS; d++) set_dimension(s, v, p, d, names[d]);
  tw_slots_number(s, "images", v->n);
  tw_slots_number(s, "channels", v->c);
  tw_slots_number(s, "outputs", v->k);
  tw_slots_number(s, "stride", v->stride);
  tw_slots_flag(s, "has_depth", v->in[0] > 1 || v->window[0] > 1);
  tw_slots_flag(s, "images_first", v->images_first);
  tw_slots_flag(s, "window_first", v->layout == TW_CONV_WINDOW_FIRST);
  tw_slots_flag(s, "channels_last", v->layout == TW_CONV_CHANNELS_LAST);
  tw_slots_flag(s, "channels_first", v->layout == TW_CONV_CHANNELS_FIRST);
  tw_slots_flag(s, "bias", v->bias);
  tw_slots_flag(s, "scale", v->scale != 1.0f);
  tw_slots_flag(s, "relu", v->relu);
}

static void set_plan(tw_slots *s, const tw_conv *v, const tw_tile_conv_plan *p) {
  const tw_tile_parts parts = p->products ? tw_tile_parts_of(p->products) : (tw_tile_parts){1, 0, 0};
  const tw_type factor = p->products ? TW_BF16 : v->input;
  const bool tf32 = factor == TW_F32;
  tw_slots_number(s, "k", p->k);
  tw_slots_number(s, "products", p->products ? p->products : 1);
  tw_slots_number(s, "planes", parts.planes);
  tw_slots_number(s, "a_planes", parts.a);
  tw_slots_number(s, "b_planes", parts.b);
  tw_slots_number_or_empty(s, "promote", p->promote / p->k);
  tw_slots_text(s, "sums", p->promote ? "some" : "sums");
  tw_slots_number(s, "width", p->width);
  tw_slots_number(s, "deep", p->channels);
  tw_slots_number(s, "padded", p->padded);
  tw_slots_number(s, "shared", p->shared_bytes);
  tw_slots_text(s, "factor_name", tw_type_name(factor));
  tw_slots_text(s, "type", tf32 ? "tf32" : tw_tile_type_word(factor));
  tw_slots_flag(s, "tf32", tf32);
  tw_slots_number(s, "bytes", tw_type_bits(factor) / 8);
  tw_slots_text(s, "element", tw_tile_type_word(v->input));
  tw_slots_text(s, "output", tw_tile_type_word(v->output));
  tw_slots_number_or_empty(s, "registers_copy", p->registers_copy);
  tw_slots_number_or_empty(s, "registers_multiply", p->registers_multiply);
}

void tw_tile_conv_slots(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_slots *s) {
  (void)machine;
  const tw_conv v = tw_tile_conv_of(problem);
  set_problem(s, &v, plan);
  set_plan(s, &v, plan);
}
