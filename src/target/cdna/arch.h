/* arch.h - the two machines of this folder. */
#ifndef TW_CDNA_ARCH_H
#define TW_CDNA_ARCH_H

typedef enum cdna_arch {
  CDNA3, /* gfx942: MI300X, MI325X */
  CDNA4, /* gfx950: MI350X, MI355X */
  CDNA_ARCHES
} cdna_arch;

enum { CDNA_LANES = 64 }; /* lanes of a wave */

#endif
