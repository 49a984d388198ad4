/* gemm_before.c - see gemm_before.h. */
#include "gpu/nvidia/gemm_before.h"

#include "gpu/common/machine.h"

tw_tile_parts tw_tile_parts_of(int products) {
  if (products == 6) return (tw_tile_parts){3, 0x001102, 0x010120};
  if (products == 3) return (tw_tile_parts){2, 0x001, 0x010};
  return (tw_tile_parts){products, 0, 0};
}

void tw_tile_gemm_before_slots(tw_slots *s, const tw_gemm *g, const tw_tile_gemm_before *b) {
  const tw_tile_parts x = tw_tile_parts_of(b->products);
  const bool moved = b->moved_a || b->moved_b;
  tw_slots_text(s, "a_name", tw_type_name(g->a));
  tw_slots_text(s, "a_type", tw_tile_type_word(g->a));
  tw_slots_number_or_empty(s, "products", b->products);
  tw_slots_number(s, "planes", x.planes);
  tw_slots_number(s, "a_planes", x.a);
  tw_slots_number(s, "b_planes", x.b);
  tw_slots_number_or_empty(s, "parts", b->parts > 1 ? b->parts : 0);
  tw_slots_flag(s, "moved", moved);
  tw_slots_flag(s, "moved_a", b->moved_a);
  tw_slots_flag(s, "moved_b", b->moved_b);
  tw_slots_flag(s, "transposed_a", b->transposed_a);
  tw_slots_flag(s, "transposed_b", b->transposed_b);
  tw_slots_flag(s, "turned", b->transposed_a || b->transposed_b);
  tw_slots_flag(s, "aligned", (b->moved_a && !b->transposed_a) || (b->moved_b && !b->transposed_b));
  tw_slots_flag(s, "only_sums", b->parts > 1 && !x.planes && !moved);
  tw_slots_flag(s, "workspace", b->parts > 1 || x.planes || moved);
  tw_slots_number(s, "element_bytes", tw_type_bits(g->a) / 8);
  tw_slots_number(s, "chunk", 16 * 8 / tw_type_bits(g->a)); /* number of elements in 16 bytes */
}
