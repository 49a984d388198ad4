/* views.h - the views of `tilewright view` for CDNA3 and CDNA4: one file for each, and shared functions. A target's
 * config is its cdna_machine. */
#ifndef TW_CDNA_VIEWS_H
#define TW_CDNA_VIEWS_H

#include "base/strings.h"
#include "target/cdna/layout/pattern.h"
#include "target/cdna/machine.h"
#include "tilewright/extend/target.h"
#include "tilewright/extend/view.h"

/* Ended by a NULL name: the target's machine_views. */
extern const tw_view cdna_views[];

/* For each view: its keys and its drawing function. */
extern const tw_view_key cdna_layout_keys[], cdna_banks_keys[], cdna_swizzle_keys[], cdna_grid_keys[],
    cdna_occupancy_keys[], cdna_code_keys[];
typedef tw_status cdna_show(const tw_target *, const char *const value[], tw_view_form, char **out, tw_error *);
cdna_show cdna_show_layout, cdna_show_banks, cdna_show_swizzle, cdna_show_grid, cdna_show_occupancy, cdna_show_code;

/* ---- values of keys: TW_USAGE with the key's name ---- */

tw_status cdna_value_int(const char *key, const char *text, int64_t least, int64_t most, int64_t *out, tw_error *);
/* "16x32x64": n sizes, each at least 1. */
tw_status cdna_value_sizes(const char *key, const char *text, int n, int sizes[], tw_error *);
tw_status cdna_value_type(const char *key, const char *text, cdna_type *out, tw_error *);
/* Reads the keys tile, type and pad, in that order. */
tw_status cdna_value_tile(const char *const value[3], cdna_tile *out, tw_error *);

/* Hands the text over, or says that memory ran out. */

/* ---- pictures ---- */

/* Eight colours that can be distinguished side by side, for lanes and XCDs; from Paul Tol's schemes for colour
 * blindness. */
extern const char *const cdna_colour[8];
void cdna_svg_open(tw_text *, int width, int height, const char *title, const char *subtitle);
void cdna_svg_close(tw_text *);
/* Boxes of one colour form one path: open, add boxes, close. */
void cdna_svg_path(tw_text *, const char *fill, const char *opacity);
void cdna_svg_box(tw_text *, int x, int y, int width, int height);
void cdna_svg_path_close(tw_text *);
enum { CDNA_SVG_TOP = 56, CDNA_SVG_LEFT = 16 };

/* ---- banks.c, for the view of swizzles as well ---- */

/* The tile drawn as banks: banks that phase `phase` of instruction `at` accesses are filled, and red where they have
 * conflicts. */
void cdna_draw_banks(tw_text *, const cdna_pattern *, size_t at, int phase, const cdna_tile *, const cdna_swizzle *,
                     int left, int top);
int cdna_banks_width(const cdna_pattern *, const cdna_tile *);
int cdna_banks_height(const cdna_pattern *, const cdna_tile *);
/* Over all instructions of a pattern: the worst conflict, the turns, and the turns without conflicts. */
void cdna_count_pattern(const cdna_pattern *, const cdna_tile *, const cdna_swizzle *, int *worst, int *turns,
                        int *phases);

#endif
