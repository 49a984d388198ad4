/* object.h - an AMDGPU code object: its segments, its kernels, and the arguments that a launch must pass.
 *
 * Sources: LLVM's "User Guide for AMDGPU Backend" (ELF code object, kernel descriptor, NT_AMDGPU_METADATA of code
 * object V3 to V6); the ELF-64 format. The bytes are untrusted: every access is bounded, and an error is one line. */
#ifndef TW_CDNA_OBJECT_H
#define TW_CDNA_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/cdna/arch.h"
#include "tilewright/status.h"

enum { CDNA_KERNELS_MAX = 1024, CDNA_ARGUMENTS_MAX = 512, CDNA_SEGMENTS_MAX = 16, CDNA_VALUE_KIND = 40 };

/* A part of the file that is loaded, at its address relative to the object's base. */
typedef struct cdna_segment {
  uint64_t address, size; /* size in memory; bytes beyond the file's are zero */
  const uint8_t *data;    /* in the file */
  uint64_t file_size;
  bool writable, executable;
} cdna_segment;

/* One of metadata's `.args`. */
typedef struct cdna_parameter {
  uint32_t offset, size; /* bytes of the kernel's argument block */
  const char *name;      /* .name, in the file: `name_length` bytes; NULL: none */
  size_t name_length;
  char kind[CDNA_VALUE_KIND]; /* .value_kind: "global_buffer", "by_value", "hidden_block_count_x", ... */
} cdna_parameter;

typedef struct cdna_kernel {
  char *name;          /* "vadd" */
  uint64_t descriptor; /* addresses relative to the object's base */
  uint64_t entry;
  /* address of the descriptor */
  uint32_t lds, scratch, kernarg_size; /* bytes; scratch of one lane */
  uint32_t rsrc1, rsrc2, rsrc3;        /* COMPUTE_PGM_RSRC1 to 3 */
  uint16_t properties, preload;        /* KERNEL_CODE_PROPERTIES, KERNARG_PRELOAD */
  /* name in the metadata, if the kernel is described there */
  bool has_metadata;
  uint32_t block_max; /* work-items per workgroup; 0 if not given */
  bool dynamic_stack;
  size_t n_parameters;
  cdna_parameter *parameter;
} cdna_kernel;

/* Values that a loader writes into the object: an address, or half of one. */
typedef struct cdna_relocation {
  uint64_t address;     /* relative to the base */
  uint64_t value;       /* the value to write, or to add to the base if `based` */
  uint8_t bytes, shift; /* bytes of the value */
  bool based;
} cdna_relocation;

typedef struct cdna_object {
  cdna_arch arch;
  const uint8_t *file; /* the caller's bytes, or `owned` */
  size_t file_size;
  void *owned;
  size_t n_segments;
  cdna_segment segment[CDNA_SEGMENTS_MAX];
  uint64_t size; /* bytes of all segments, from address 0 */
  size_t n_kernels;
  cdna_kernel *kernel;
  size_t n_relocations;
  cdna_relocation *relocation;
  size_t n_prints;
  char **print; /* "amdhsa.printf": id, sizes of arguments and format of each call of printf */
} cdna_object;

bool cdna_object_is(const void *data, size_t size); /* does it begin like an ELF file? */
/* Reads a code object; the bytes must outlive it. `name` is for messages. */
tw_status cdna_object_read(const void *data, size_t size, const char *name, cdna_object *out, tw_error *);
void cdna_object_free(cdna_object *);
/* The loaded object (o->size bytes) at its base: its segments, with relocations applied. */
void cdna_object_load(const cdna_object *, uint64_t base, uint8_t *image);
/* Finds a kernel by name; NULL means the only one. TW_USAGE with the list of names. */
tw_status cdna_object_kernel(const cdna_object *, const char *name, const cdna_kernel **out, tw_error *);
/* "kernel.c:12" or "vadd+0x2c" of a code address relative to the base. */
void cdna_object_place(const cdna_object *, uint64_t address, char *text, size_t size);

/* Fields of the descriptor, unpacked. */
static inline int cdna_kernel_sgprs(const cdna_kernel *k) { return (int)(k->rsrc2 >> 1 & 31); } /* user SGPRs */
/* registers of both kinds */
static inline int cdna_kernel_vgprs(const cdna_kernel *k) { return 8 * ((int)(k->rsrc1 & 63) + 1); }
static inline int cdna_kernel_accum(const cdna_kernel *k) { return 4 * ((int)(k->rsrc3 & 63) + 1); }
/* The accumulation registers of a kernel: the rest of the 256 nameable registers, after the rounded-up total. */
static inline int cdna_kernel_agprs(const cdna_kernel *k) {
  const int left = cdna_kernel_vgprs(k) - cdna_kernel_accum(k);
  return left < 0 ? 0 : left > 256 ? 256 : left;
}

/* ---- metadata.c ---- */

/* Fills has_metadata and the fields after it for the kernels that the note (MessagePack) describes. */
tw_status cdna_metadata_read(const uint8_t *note, size_t size, const char *name, cdna_object *, tw_error *);

#endif
