/* emit_slots.c - see emit_slots.h. */
#include "target/gemmini/schedule/emit_slots.h"

static int slots_of(const gm_slot_names *s, char name) { return (name == 'a' ? s->a : s->b)->slots; }

static bool is_held(const gm_slot_names *s, char name) {
  return (name == 'a' ? &s->levers->a : &s->levers->b)->hold != GM_STREAM;
}

bool gm_has_panels(const gm_slot_names *s, char name) { return is_held(s, name) && slots_of(s, name) > s->steps; }

void gm_declare_slots(gm_writer *w, const gm_slot_names *s) {
  for (const char *name = "ba"; *name; name++) {
    if (gm_has_panels(s, *name))
      gm_write(w, "uint64_t %c_panel = 0;", *name);
    else if (slots_of(s, *name) > 1 && !is_held(s, *name))
      gm_write(w, "uint64_t %c_slot = 0;", *name);
  }
}

void gm_tile_slots(gm_writer *w, const gm_slot_names *s) {
  for (const char *name = "ba"; *name; name++) {
    if (gm_has_panels(s, *name))
      gm_write(w, "uint64_t %c_slot = %c_panel;", *name, *name);
    else if (slots_of(s, *name) > 1 && is_held(s, *name))
      gm_write(w, "uint64_t %c_slot = 0;", *name);
  }
}

/* One of `slots`, in turn. */
static void next_in_turn(gm_writer *w, char name, const char *kind, int slots) {
  if (slots == 2)
    gm_write(w, "%c_%s ^= 1;", name, kind);
  else if (slots > 2)
    gm_write(w, "if (++%c_%s == %d) %c_%s = 0;", name, kind, slots, name, kind);
}

void gm_next_slots(gm_writer *w, const gm_slot_names *s) {
  for (const char *name = "ba"; *name; name++) {
    if (!is_held(s, *name))
      next_in_turn(w, *name, "slot", slots_of(s, *name));
    else if (slots_of(s, *name) > 1 && s->steps > 1)
      gm_write(w, "%c_slot++;", *name);
  }
}

void gm_next_load(gm_writer *w, char name, int slots) { next_in_turn(w, name, "load", slots); }

void gm_next_panel(gm_writer *w, const gm_slot_names *s, char name) {
  if (!gm_has_panels(s, name)) return;
  gm_write(w, "%c_panel += %d;", name, s->steps);
  gm_write(w, "if (%c_panel == %d) %c_panel = 0;", name, slots_of(s, name), name);
}
