/* kernel.h - the interface of a generated kernel file: tile functions of one instruction set and one arithmetic.
 *
 * All kernels share one view of their operands: a *unit* is 32 bits that hold the `group` consecutive elements of k
 * which one lane of the machine's multiply-add processes at once.
 *
 *   arithmetic  elements of A x B        group  sums  instruction (AVX-512)
 *   f32         binary32 x binary32      1      f32   vfmadd231ps
 *   bf16        bfloat16 x bfloat16      2      f32   vdpbf16ps
 *   s16         int16 x int16            2      i32   vpmaddwd, vpaddd: exact for operands of 8 bits
 *   u8s8        uint8 x int8             4      i32   vpdpbusd
 *   s8s8        int8 x int8              4      i32   vpdpbusd on A plus 128
 *
 * AMX has bf16, u8s8 and s8s8 (tdpbf16ps, tdpbusd, tdpbssd). It processes sixteen units at a time
 * (runtime/tiles_amx.h), and has no tiles on codes: it expands them.
 *
 * Operands of other types are converted when they are packed. A panel of B is `columns` wide: unit (p, j) is at
 * 4 * (p * columns + j). A strip of A is `r` <= rows rows: unit (i, p) is at 4 * (p * r + i) when it is packed, at
 * i * stride + 4 * p when the kernel reads rows in place ("direct"). AMX packs sixteen units of each row at a time. An
 * A that is rounded to integers, for tiles on codes, is packed in runs: 32 elements of each row at a time, or 8 where
 * groups are not a multiple of 32. A panel of s8s8 begins with one more row, the initial values of sums: -128 times the
 * sum of the column of B, because the kernel adds 128 to A while it loads it.
 *
 * Weights with shared scales are kept as codes of 2, 4, 6 or 8 bits, in the panel's order. A *line* is one vector
 * register of them. Its containers are as wide as the kernel's elements of B (4 bytes divided by `group`), and field t
 * of all containers is the t-th vector of the panel's units that the line holds: which takes one shift and at most one
 * look-up to extract. A field of X86_T3 holds three codes, of units 3u, 3u + 1 and 3u + 2 of a vector, so that one
 * look-up in a table of 27 sums and differences of a row of A does for three multiply-adds. There are three exceptions.
 * 8-bit integers for real arithmetic, which an instruction widens, are stored vector by vector, first the lanes' first
 * elements, then their second ones ("planes"). Codes of e4m3 for bf16, whose two bytes are computed separately and then
 * interleaved, alternate in groups of eight of either field ("eighths"). Codes of 4 bits for f32 in AVX2 are stored in
 * "halves": the lower four of the eight vectors in the lower bits of the bytes, the upper four in the upper bits. Two
 * vectors have the even and the odd bytes of the lower half of each 128 bits, the next two have the upper half. A line
 * of 6-bit codes is three registers of containers of 16 bits: eight codes of each container, two at the bottom of each
 * register. The remaining top bits hold the last two codes: four bits of one in the first register, of the other in the
 * second, and their upper bits in the third. For f32 the lower half of a lane belongs to an even vector, the upper half
 * to the next odd one. Codes become elements either in registers, as the tile goes along ("coded"), or a panel at a
 * time ("expand"). */
#ifndef TW_X86_KERNEL_H
#define TW_X86_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

enum {
  X86_UNIT = 4,
  X86_LINE = 64,
  X86_EIGHT = 8 /* elements of k in the shortest group that shares a scale */,
  X86_RUN = 32 /* contiguous elements of a row in a strip of rounded A */,
  X86_TILE_ROWS_MAX = 16, /* rows of the largest tile in vector registers */
  X86_AMX_ROWS = 32,
  X86_ROWS_MAX = X86_AMX_ROWS,
  X86_COLUMNS_MAX = 64,
  X86_KERNELS_MAX = 64
};

typedef enum x86_isa {
  X86_PORTABLE,
  X86_AVX2,
  X86_AVXVNNI,
  X86_AVX512,
  X86_AVX512VNNI,
  X86_AVX512BF16,
  X86_AMX, /* AMX, and all sets above */
  X86_ISAS
} x86_isa;
typedef enum x86_arithmetic { X86_F32, X86_BF16, X86_S16, X86_U8S8, X86_S8S8, X86_ARITHMETICS } x86_arithmetic;
typedef enum x86_activation { X86_LINEAR, X86_RELU, X86_GELU, X86_SILU } x86_activation;
typedef enum x86_output { X86_OUT_F32, X86_OUT_BF16, X86_OUT_F16, X86_OUT_I8 } x86_output;

/* What a tile does with its sums: C = or += sums. Tiles on B in place, and dots, combine flags: alpha * sums (SCALED),
 * plus beta * C (ADD), into a C stored by columns, `c_stride` apart (ACROSS). alpha and beta are floats at `next`. Tiles
 * of kernels with `rounds` also store sums as bf16 (ROUND). Tiles of AMX also compute strip by strip (BY_STRIPS). */
typedef enum x86_into {
  X86_SET = 0,
  X86_ADD = 1,
  X86_ACROSS = 2,
  X86_SCALED = 4,
  X86_ROUND = 8,
  X86_BY_STRIPS = 16,
  X86_FETCH_C = 32
} x86_into;

/* C[i][j] = or += sum over k units, for `strips` strips of the tile's rows, one below the other in A (packed or in
 * place) and in C. `columns` <= the tile's: columns right of them are not touched. Strides are in bytes. C's elements
 * are the 32-bit sums, or bf16 with X86_ROUND. A wide tile covers two panels, the second `b_stride` bytes after the
 * first. It is lower than other tiles, so that rows of A in place, which may all map to one set of L1, fit there. For each line of the panel,
 * in each strip, `next` advances by `next_step`; the lines that it passes are prefetched into L2.
 *
 * AMX has no wide tile. With X86_FETCH_C it prefetches the following strip's C, `rows` lines of C further. With
 * X86_BY_STRIPS a strip is multiplied by the panels of all `columns`. `next` then points to rows of the following strip,
 * `a_stride` apart: during each panel, `next_step` of them are prefetched. */
typedef void x86_tile(int64_t units, const void *a, int64_t a_stride, const void *b, int64_t b_stride, void *c,
                      int64_t c_stride, int64_t columns, int into, const void *next, int64_t next_step, int64_t strips);

/* The conversion of sums on their way into C:
 *   C = convert(act(alpha * row_scale[i] * column_scale[j] * sum + bias[j] + beta * C))
 * Any pointer may be NULL: then its factor is 1 or its term 0. (Sums stored as i32 need none of this.) */
typedef struct x86_finish {
  const void *sums;
  int64_t sums_stride; /* bytes */
  void *c;
  int64_t c_stride;      /* bytes */
  int64_t rows, columns; /* columns <= X86_COLUMNS_MAX */
  x86_output output;
  x86_activation activation;
  float alpha, beta;
  const float *row_scale, *column_scale, *bias;
  bool sums_are_real; /* true for tiles on codes, even in integer kernels */
} x86_finish;

/* The value of a code. The integers of u8s8 are made unsigned by adding x86_lift: then B is the unsigned factor of the
 * instruction and A the signed one. */
typedef enum x86_form {
  X86_S2,   /* -1, 0, 1 in 2 bits: two's complement; real arithmetic: sign and size, for twice the value */
  X86_T3,   /* c0 + 3 c1 + 9 c2 in 5 bits, of three that are 0, 1, 2 for 0, 1, -1; f32 with AVX-512 only */
  X86_S4,   /* in 4 bits */
  X86_E2M1, /* minifloat: sign, 2 bits of exponent, 1 of mantissa; integers: twice its value */
  X86_E2M3, /* minifloat in 6 bits; real arithmetic with AVX-512 only */
  X86_S8,   /* two's complement in 8 bits */
  X86_E4M3, /* minifloat in 8 bits; real arithmetic only */
  X86_FORMS
} x86_form;

static inline int x86_form_bits(x86_form f) {
  return f == X86_S2 ? 2 : f == X86_T3 ? 5 : f == X86_S4 || f == X86_E2M1 ? 4 : f == X86_E2M3 ? 6 : 8;
}
static inline int x86_form_registers(x86_form f) { return f == X86_E2M3 ? 3 : 1; } /* of a line */
static inline int x86_form_codes(x86_form f) { return f == X86_T3 ? 3 : 1; }       /* number of codes in a field */

/* Operands of a tile on codes, which processes panels until `columns` are done: C[i][j] = or += sum over groups of
 * scale[group][j] * factor * a_scale[group][i] * row_scale[i] * (sum over the group's units). C's elements are f32, for
 * any arithmetic. The last two factors belong to a rounded A: for integers only. */
typedef struct x86_coded {
  int64_t units;           /* a multiple of the units in a line; A is zero after k */
  int64_t group_units;     /* units that share a scale: also such a multiple; or more than all units */
  const void *a;           /* packed strips */
  int64_t a_strip;         /* integers: bytes from a strip of A to the next, ... */
  int64_t a_run;           /* ... and bytes of a row's run (X86_RUN or X86_EIGHT elements) */
  const void *codes;       /* lines */
  const void *scales;      /* [group][columns] */
  int64_t codes_stride;    /* bytes from a panel's codes to the next panel's */
  int64_t scales_stride;   /* likewise */
  int scale_bytes;         /* 1: e8m0; 4: f32 */
  int64_t scales_ahead;    /* prefetch distance of scales in bytes */
  float factor;            /* on every scale */
  const int32_t *start;    /* [group][row]: the initial sums of a group (u8s8: -lift * the sum of A); NULL: zeros */
  const float *a_scales;   /* [group][row]; NULL: 1 */
  const float *row_scales; /* [row]: factor of the sums of all groups; NULL: 1 */
  const void *next; /* address of the next prefetch, made while a line is used; then it advances by `next_step` */
  int64_t next_step;
  void *c;
  int64_t c_stride, columns; /* columns: of C from here on; all panels that hold them are processed */
  bool accumulate;
  int64_t strips; /* strides from one strip to the next: in A, in the data for A's rows, and in C */
} x86_coded;
typedef void x86_coded_tile(const x86_coded *);

/* Where scales of B are powers of two, 2^(e - 127), and A has scales of groups, integer tiles have a cheaper end of a
 * group, with one multiplication less. Its sums begin with the bits of M = 1.5 * 2^23 * 2^(e - 127), a binary32 whose
 * last place is 2^(e - 127). While the sum of integers stays within 2^22, the final bits encode M + sum * 2^(e - 127),
 * and a subtraction, which is exact, makes it real and scaled. A group of 32 of the largest codes stays within 2^19. M
 * must be finite, so e has a limit; weights beyond it (header of packed B) use the other tiles. */
enum { X86_POWER_MOST = 254 - 23 };

/* Rows of A as tables for tiles on X86_T3, which look sums up: for units 3u, 3u + 1 and 3u + 2 the sum of their
 * products with each possible field value, in 32 places. `units` is a multiple of three; the tables of `rows` rows are
 * interleaved. */
enum {
  X86_TABLE_UNITS = 3,
  X86_TABLE = 128 /* rows of the largest such tile */,
  X86_TABLES_ROWS = 4 /* rows of the largest such tile */
};
static inline int64_t x86_tables_bytes(int64_t units) { return units / X86_TABLE_UNITS * X86_TABLE; } /* of a row */
typedef void x86_tabulate(void *to, const void *a, int64_t a_stride, int64_t rows, int64_t units);

/* Expands codes to a panel of code times scale. Reads the fields for codes, scales and the next panel. */
typedef void x86_expand(const x86_coded *, void *panel);

/* Rows of f32, bf16 or f16 become integers in -127..127, in int8 (u8s8) or int16 (s16): the nearest to x / scale, ties
 * to even, in packed strips. scales_of_rows computes a row's scale, (largest magnitude) / 127; here each group may also
 * get its own. A scale is NaN, and its integers 0, if there is a NaN or an infinity; largest magnitudes below 2^-118
 * count as 0. */
typedef enum x86_real { X86_REAL_F32, X86_REAL_BF16, X86_REAL_F16 } x86_real;
typedef struct x86_quantize {
  const void *from;
  x86_real type;
  int64_t strips, rows, from_stride; /* strips of this number of rows, one below the other; from_stride: in bytes */
  int64_t n, group;                  /* elements of a row, and of a group */
  const float *row_scales;           /* [strip][row]: scales for all groups of a row, used if `scales` is NULL */
  int64_t run;                       /* X86_RUN, and `group` is a multiple of it or n; or X86_EIGHT */
  void *to;                          /* strips: [strip][run of to_n / run][row][run] */
  int64_t to_n;                      /* elements of a row, followed by zeros up to a multiple of eight */
  int64_t groups;                    /* of a row */
  float *scales;                     /* [strip][group][row], written */
  int lift;
  int32_t *starts; /* [strip][group][row], output: -lift * the sum of the group's integers (x86_coded) */
} x86_quantize;

/* to[p * pitch + j] = unit p of column j, for `width` <= pitch columns. Rows of the source are `stride` bytes apart.
 * Elements of 32 bits are multiplied by `scale`, others are copied (runtime/interleave.h). */
typedef void x86_pack(void *to, const void *from, int64_t stride, int64_t width, int64_t pitch, int64_t units,
                      float scale);

/* C[i][j] = or += sum over p of A[i][p] B[j][p]. Pitches are in bytes (runtime/dots_avx512.h). */
typedef void x86_dots(int64_t m, int64_t n, int64_t k, const void *a, int64_t a_pitch, const void *b, int64_t b_pitch,
                      void *c, int64_t c_pitch, int into /* flags */, const float *alpha_beta);

/* C[i][j] = or += sum over p of A[i][p] B[p][j] for k up to X86_FEW_UNITS. Rows of A are `a_row` bytes apart, its columns
 * `a_step` (runtime/few_units.h). */
enum { X86_FEW_UNITS = 8 };
typedef void x86_few(int64_t m, int64_t n, int64_t k, const void *a, int64_t a_row, int64_t a_step, const void *b,
                     int64_t b_row, void *c, int64_t c_pitch, int into /* flags */, const float *alpha_beta);

/* Likewise for any k, at most X86_FEW_SUMS_ROWS rows, and at most the columns of one vector (runtime/few_sums.h). */
enum { X86_FEW_SUMS_ROWS = 4 };

typedef struct x86_kernel {
  const char *name; /* "f32-gemm-14x32-avx512" */
  x86_isa isa;
  x86_arithmetic arithmetic;
  int rows, columns;       /* rows of the largest tile */
  int step;                /* units of k that the tile processes at once: blocks are multiples of it */
  bool rounds;             /* tiles can store bf16 */
  void (*begin)(void);     /* a thread calls begin before its first tile ... */
  void (*end)(void);       /* ... and end after its last; NULL: not needed */
  x86_tile *const *packed; /* [r - 1]: the tile function for r packed rows */
  x86_tile *const *direct; /* likewise for rows in place */
  int wide_rows;           /* rows of the highest wide tile; 0: no wide tile */
  x86_tile *const *wide_packed, *const *wide_direct; /* likewise */
  int narrow_columns; /* columns of tiles on the beginning of a panel, for the last columns of B; 0: no narrow tile */
  x86_tile *const *narrow_packed, *const *narrow_direct; /* likewise */
  /* likewise, on rows in place and B in place, whose rows are `b_stride` apart; or NULL. */
  x86_tile *const *stored, *const *wide_stored, *const *narrow_stored;
  /* likewise, on columns of a transposed A, `a_stride` apart */
  x86_tile *const *turned, *const *wide_turned, *const *narrow_turned;
  /* likewise, on at most half_columns of B, which is less than narrow_columns */
  int half_columns;
  x86_tile *const *half_stored, *const *half_turned;
  x86_dots *dots;                /* or NULL */
  x86_few *few_units, *few_sums; /* or NULL */
  double operations_per_round;   /* multiplications and additions in a round of `spin` */
  void (*spin)(int64_t rounds);  /* multiply-adds on registers only: the peak rate */
  void (*transpose)(void *to, const void *from, int64_t stride, int64_t rows, int64_t units); /* packs a strip of A */
  /* packs rows of elements of the kernel's own type, one element of k in each row; s16 has no such type */
  x86_pack *interleave;
  x86_pack *gather; /* packs rows of units */
  void (*finish)(const x86_finish *);
  int coded_rows; /* rows of the largest tile on codes; 0: no such tile */
  /* By form; NULL: no such tiles. */
  x86_coded_tile *const *coded[X86_FORMS];  /* [r - 1] */
  x86_coded_tile *const *powers[X86_FORMS]; /* likewise, for scales of e8m0 up to X86_POWER_MOST, and a_scales */
  x86_expand *expand[X86_FORMS];            /* real arithmetic only */
  x86_tabulate *tabulate;                   /* packs a strip of A for coded[X86_T3] */
  /* For integers: rows of A are quantized in these two steps; NULL otherwise. */
  void (*scales_of_rows)(x86_real, const void *from, int64_t stride, int64_t rows, int64_t n, float *scale);
  void (*quantize)(const x86_quantize *);
} x86_kernel;

/* The default set (kernels.txt), in a generated table: NULL past the last. */
const x86_kernel *x86_kernel_at(int index);

#endif
