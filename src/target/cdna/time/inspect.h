/* inspect.h - checks of the timed workgroups of an untrusted kernel.
 *
 * The emulator fills registers as soon as a load executes, and keeps waves level. A kernel without s_waitcnt or barriers
 * is therefore correct here, and faster than on the machine, where its results are wrong. */
#ifndef TW_CDNA_INSPECT_H
#define TW_CDNA_INSPECT_H

#include "target/cdna/emulator/observe.h"
#include "target/cdna/machine.h"

/* Executes `n` workgroups one after the other. TW_FAILED with the first finding of a missing wait, a missing barrier or
 * a race. */
tw_status cdna_inspect_groups(cdna_dispatch *, const uint64_t group[], int n, const cdna_machine *, tw_error *);

#endif
