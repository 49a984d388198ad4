/* export.h - shared by the test programs of exported kernels, for any machine: inputs and expected outputs in a file
 * (operands.bin), the table of their offsets, and templates.
 *
 * runtime/check.h reads the table in C and C++ (programs of Gemmini, CUDA and HIP). runtime/device.hpp is the program
 * for GPUs. src/target/xdna2/runtime/run.py reads the table in Python.
 *
 * Comparison. Integer outputs with a fast reference must be equal in all bytes, including the gaps between rows. Other
 * outputs are compared at given elements: all, or one of each of many equal blocks. The tolerance is the tolerance of
 * the op's comparison. */
#ifndef TW_EXPORT_EXPORT_H
#define TW_EXPORT_EXPORT_H

#include "base/embedded.h"
#include "base/strings.h"
#include "launch/launch.h"
#include "tilewright/extend/target.h"

/* The place of an operand in operands.bin. */
typedef struct tw_exported {
  size_t given_at, given_bytes; /* initial contents, repeated to the end; 0 bytes: poison */
  size_t expected_at, places; /* outputs: number of triples of doubles (element, value, bound); 0: compare all bytes */
} tw_exported;

typedef struct tw_export {
  char problem[512];
  tw_case data; /* inputs; outputs after the reference was computed */
  bool has_outputs;
  tw_exported in_file[TW_OPERANDS_MAX];
  tw_text file;      /* operands.bin */
  char checked[120]; /* the compared part: "every element" */
} tw_export;

/* Draws the inputs. With `whole`, inputs do not repeat and every element is compared. Otherwise inputs above 64 MB
 * repeat after about 8 MB, and about ten thousand elements of a large output are compared. */
tw_status tw_export_draw(const tw_problem *, bool whole, tw_export *, tw_error *);
/* The initial contents of operand i, if they differ from the case. */
void tw_export_give(tw_export *, size_t i, const void *data, size_t bytes);
/* The expected values of output i; call it after all initial contents are set. */
tw_status tw_export_expect(tw_export *, size_t i, bool whole, tw_error *);
/* Adds every input and every output of the case. */
tw_status tw_export_make(const tw_problem *, bool whole, tw_export *, tw_error *);
void tw_export_free(tw_export *);

/* The letter of a type in check.h; '-': a type without numbers. */
char tw_export_letter(tw_type);
/* `static const tw_checked tw_operands[]` of check.h. */
void tw_export_table(const tw_export *, tw_text *);
/* An embedded template with its @KEY@ filled in: PROBLEM, CHECKED, OPERANDS (a list for readers), and the caller's
 * pairs. */
void tw_export_fill(tw_text *, const char *embedded, const tw_export *, size_t n, const char *const pair[][2]);
void tw_export_embed(tw_text *, const char *embedded);

/* Adds a file with this name and text. */
tw_status tw_export_add(tw_files *, const char *name, tw_text *, tw_error *);
/* Moves operands.bin out of the export. */
tw_status tw_export_add_operands(tw_files *, tw_export *, tw_error *);

/* ---- for GPUs: device.c ---- */

/* The name with which kernels include a file of the library; NULL: not a header. */
typedef const char *tw_export_header(const tw_embedded *);
/* The source with each header inserted at its first #include. */
void tw_export_source(tw_text *, const char *source, tw_export_header *);
/* The numbers that a launch header names, as constants. */
void tw_export_lets(tw_text *, const tw_launch *);
/* `struct tilewright_operands` of pointers by name, and `tilewright_workspace`. */
void tw_export_operands(tw_text *, const tw_export *, const tw_launch *);
/* The arguments of a kernel as variables, and a list of pointers to the variables. They refer to operands `o` and to
 * `workspace`. */
void tw_export_arguments(tw_text *, const tw_export *, const tw_launch *, const tw_launch_kernel *);
/* main() of a program that loads operands.bin, calls tilewright_start(o, workspace, stream), compares and times. `gpu`:
 * the prefix of the runtime's functions, "cuda" or "hip". `prepare`: a statement before the first launch, or "". */
void tw_export_program(tw_text *, const tw_export *, const char *gpu, const char *prepare);

#endif
