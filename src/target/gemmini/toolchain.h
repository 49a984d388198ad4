/* toolchain.h - the compiler for candidate programs, and the runtime compiled with it.
 *
 * Debian's gcc-riscv64-unknown-elf (docs/explain/compilers.md has the reasons). Every tool that reads a candidate's
 * text runs confined (src/toolchain). */
#ifndef TW_GEMMINI_TOOLCHAIN_H
#define TW_GEMMINI_TOOLCHAIN_H

#include "base/hash.h"
#include "target/gemmini/config.h"
#include "toolchain/toolchain.h"

typedef struct gm_toolchain {
  tw_toolchain tools;
  char identity[TW_HASH_TEXT]; /* changes with the compiler, its options, the runtime, and the configuration */
  char *params;                /* gemmini_params.h */
  char *runtime;               /* directory with include/, start.o, libc.o, libgcc.a; NULL until gm_toolchain_prepare */
  bool runtime_is_temporary;
} gm_toolchain;

/* Finds the compiler. Returns TW_NO_COMPILER with the name of the package to install. */
tw_status gm_toolchain_open(const gm_config *, gm_toolchain *out, tw_error *);
void gm_toolchain_close(gm_toolchain *);

/* Makes sure that the runtime exists: found in the cache, else compiled into it, else compiled into a temporary
 * directory. */
tw_status gm_toolchain_prepare(gm_toolchain *, tw_error *);

/* Compiles the candidate's C text to kernel.o in `directory` and inspects it. TW_FAILED with the compiler's message,
 * or with the part of the object that is not allowed. `trust`: see toolchain.h. */
tw_status gm_compile(const gm_toolchain *, const char *directory, const char *program, bool trust, tw_error *);
/* Links the object that gm_compile left in `directory` by `script`. */
tw_status gm_link(const gm_toolchain *, const char *directory, const char *script, bool trust, char **elf,
                  size_t *length, tw_error *);

#endif
