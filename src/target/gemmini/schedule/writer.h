/* writer.h - C source under construction. */
#ifndef TW_GEMMINI_WRITER_H
#define TW_GEMMINI_WRITER_H

#include "base/strings.h"
#include "target/gemmini/config.h"
#include "tilewright/problem.h"
#include "tilewright/schedule.h"

typedef struct gm_writer {
  tw_text text;
  int depth; /* of indentation */
} gm_writer;

/* One line of C, indented. Lines that end in '{' or start with '}' change the indentation of later lines. */
void gm_write(gm_writer *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for `out` of an emitter `e`. */
#define LINE(...) gm_write(&e->out, __VA_ARGS__)
/* The beginning of a kernel's comment: the problem, the machine, the steps. */
void gm_write_schedule(gm_writer *, const gm_config *, const tw_problem *, const tw_schedule *);
/* Rows of `pitch` bytes are stored, with relu and a scale if the problem has them. */
void gm_write_config_st(gm_writer *, long pitch, bool relu, double scale);
/* A float constant of C. */
void gm_float_text(double value, char *out, size_t size);

#endif
