/* shared.c - the list of views, values of their keys, and the frame of their
 * pictures. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "target/cdna/views/views.h"

const tw_view cdna_views[] = {
    {"layout", "registers and lanes of the elements of a matrix instruction", cdna_layout_keys, cdna_show_layout},
    {"banks", "conflicts of an LDS access, phase by phase", cdna_banks_keys, cdna_show_banks},
    {"swizzle", "the simplest XOR swizzle without conflicts, or a proof that there is none", cdna_swizzle_keys,
     cdna_show_swizzle},
    {"grid", "tiles of each XCD, and their cache hits", cdna_grid_keys, cdna_show_grid},
    {"occupancy", "workgroups and waves of a CU, and the resource that limits them", cdna_occupancy_keys,
     cdna_show_occupancy},
    {"code", "a kernel's instructions, with the counts of a run", cdna_code_keys, cdna_show_code},
    {0},
};

tw_status cdna_value_int(const char *key, const char *text, int64_t least, int64_t most, int64_t *out,
                         tw_error *error) {
  if (tw_parse_int(text, out) && *out >= least && *out <= most) return TW_OK;
  return tw_fail(error, TW_USAGE, "%s=%s: expected a whole number from %" PRId64 " to %" PRId64, key, text, least,
                 most);
}

tw_status cdna_value_sizes(const char *key, const char *text, int n, int sizes[], tw_error *error) {
  const char *p = text;
  int length = 0, i = 0;
  while (i < n && sscanf(p, "%6d%n", &sizes[i], &length) == 1 && sizes[i] >= 1) {
    p += length;
    if (++i < n && *p++ != 'x') break;
  }
  if (i == n && !*p) return TW_OK;
  return tw_fail(error, TW_USAGE, "%s=%s: expected %d sizes, such as %s", key, text, n,
                 n == 2 ? "16x32" : "192x256x64");
}

tw_status cdna_value_type(const char *key, const char *text, cdna_type *out, tw_error *error) {
  tw_text names = {0};
  for (int type = 0; type < CDNA_F8F6F4; type++) {
    if (!strcmp(text, cdna_type_name((cdna_type)type))) {
      *out = (cdna_type)type;
      tw_text_free(&names);
      return TW_OK;
    }
    tw_text_add(&names, " %s", cdna_type_name((cdna_type)type));
  }
  const tw_status status = tw_fail(error, TW_USAGE, "%s=%s: unsupported type; expected one of%s", key, text,
                                   names.data ? names.data : " others");
  tw_text_free(&names);
  return status;
}

tw_status cdna_value_tile(const char *const value[3], cdna_tile *out, tw_error *error) {
  int sizes[2];
  int64_t pad = 0;
  tw_status status = cdna_value_sizes("tile", value[0], 2, sizes, error);
  if (status == TW_OK) status = cdna_value_type("type", value[1], &out->type, error);
  if (status == TW_OK) status = cdna_value_int("pad", value[2], 0, 4096, &pad, error);
  if (status != TW_OK) return status;
  const int64_t bits = (int64_t)sizes[1] * cdna_type_bits(out->type);
  if (bits % 8) return tw_fail(error, TW_USAGE, "tile=%s: a row must be whole bytes", value[0]);
  if ((bits / 8 + pad) * sizes[0] > 1 << 18)
    return tw_fail(error, TW_USAGE, "tile=%s exceeds 256 KiB; give one tile of the kernel", value[0]);
  out->rows = sizes[0];
  out->columns = sizes[1];
  out->pitch = (int)(bits / 8 + pad);
  return TW_OK;
}

const char *const cdna_colour[8] = {"#4477aa", "#ee6677", "#228833", "#ccbb44",
                                    "#66ccee", "#aa3377", "#ee8866", "#999999"};

void cdna_svg_open(tw_text *s, int width, int height, const char *title, const char *subtitle) {
  tw_text_add(s,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
              "font-family=\"sans-serif\" "
              "font-size=\"9\" text-anchor=\"middle\">\n<rect width=\"%d\" "
              "height=\"%d\" fill=\"#fff\"/>\n",
              width, height, width, height);
  tw_text_add(s,
              "<g text-anchor=\"start\"><text x=\"%d\" y=\"22\" "
              "font-size=\"14\">%s</text>\n",
              CDNA_SVG_LEFT, title);
  tw_text_add(s, "<text x=\"%d\" y=\"40\" font-size=\"10\" fill=\"#555\">%s</text></g>\n", CDNA_SVG_LEFT, subtitle);
}

void cdna_svg_path(tw_text *s, const char *fill, const char *opacity) {
  tw_text_add(s, "<path fill=\"%s\" fill-opacity=\"%s\" d=\"", fill, opacity);
}

void cdna_svg_box(tw_text *s, int x, int y, int width, int height) {
  tw_text_add(s, "M%d %dh%dv%dh-%dz", x, y, width, height, width);
}

void cdna_svg_path_close(tw_text *s) { tw_text_add_string(s, "\"/>\n"); }

void cdna_svg_close(tw_text *s) { tw_text_add_string(s, "</svg>\n"); }
