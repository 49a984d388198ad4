/* export.h - shared by the programs around exported kernels, for any machine: the op's inputs and the expected outputs,
 * both in a file (operands.bin), the table of their places, and texts that are filled in.
 *
 * runtime/check.h is the reader of the table in C and C++ (programs of Gemmini, CUDA and HIP), runtime/device.hpp the
 * program for GPUs, src/target/xdna2/runtime/run.py reads the same in Python.
 *
 * Comparing. Integers of problems that the reference is quick for: all bytes of an output must be equal, including the
 * gaps between rows. Everything else: at given elements (all, or one of each of many equal blocks) the value may be off
 * by as much as the op's own comparison allows. Exported programs define no other tolerance. */
#ifndef TW_EXPORT_EXPORT_H
#define TW_EXPORT_EXPORT_H

#include "base/embedded.h"
#include "base/strings.h"
#include "launch/launch.h"
#include "tilewright/target.h"

/* The place of an operand in operands.bin. */
typedef struct tw_exported {
  size_t given_at, given_bytes; /* what it holds at first, again and again up to its end; 0 bytes: poison */
  size_t expected_at, places;   /* of an output: triples of doubles (element, value, bound); 0: all of its bytes */
} tw_exported;

typedef struct tw_export {
  char problem[512];
  tw_case data; /* inputs; and outputs, once the reference was asked */
  bool has_outputs;
  tw_exported in_file[TW_OPERANDS_MAX];
  tw_text file;      /* operands.bin */
  char checked[120]; /* in words: "every element" */
} tw_export;

/* Draws the inputs. `whole`: of any size, and every element is compared; else inputs of more than 64 MB repeat after some
 * 8 MB, and of large outputs some ten thousand elements are compared. */
tw_status tw_export_draw(const tw_problem *, bool whole, tw_export *, tw_error *);
/* What operand i holds at first, if that is not what the case has. */
void tw_export_give(tw_export *, size_t i, const void *data, size_t bytes);
/* What output i must be; after all that is given. */
tw_status tw_export_expect(tw_export *, size_t i, bool whole, tw_error *);
/* All of it: every input and every output of the case. */
tw_status tw_export_make(const tw_problem *, bool whole, tw_export *, tw_error *);
void tw_export_free(tw_export *);

/* What check.h reads: the letter of a type; '-': it has no numbers. */
char tw_export_letter(tw_type);
/* `static const tw_checked tw_operands[]` of check.h. */
void tw_export_table(const tw_export *, tw_text *);
/* An embedded text with @KEY@ filled in: PROBLEM, CHECKED, OPERANDS (a list for people), and pairs of the caller's. */
void tw_export_fill(tw_text *, const char *embedded, const tw_export *, size_t n, const char *const pair[][2]);
void tw_export_embed(tw_text *, const char *embedded);

/* The text becomes a file of that name. */
tw_status tw_export_add(tw_files *, const char *name, tw_text *, tw_error *);
/* operands.bin; leaves the export without it. */
tw_status tw_export_add_operands(tw_files *, tw_export *, tw_error *);

/* ---- for GPUs: device.c ---- */

/* The name by which kernels include a file of the library; NULL: they don't. */
typedef const char *tw_export_header(const tw_embedded *);
/* A source with these headers in place of the lines that include them, each once. */
void tw_export_source(tw_text *, const char *source, tw_export_header *);
/* The numbers that a launch header names, as constants. */
void tw_export_lets(tw_text *, const tw_launch *);
/* `struct tilewright_operands` of pointers by name, and `tilewright_workspace`. */
void tw_export_operands(tw_text *, const tw_export *, const tw_launch *);
/* The arguments of a kernel, of the operands `o` and `workspace`, as variables and a list of pointers to them. */
void tw_export_arguments(tw_text *, const tw_export *, const tw_launch *, const tw_launch_kernel *);
/* main() of a program that loads operands.bin, calls tilewright_start(o, workspace, stream), compares and times. `gpu`:
 * what the runtime's functions begin with, "cuda" or "hip". `prepare`: a statement before the first launch, or "". */
void tw_export_program(tw_text *, const tw_export *, const char *gpu, const char *prepare);

#endif
