/* words_chain.c - mpc_forward and mpc_backward for an agent that writes source. */
#include "target/gemmini/schedule/family.h"

const tw_topic gm_chain_topics[] = {
    {"kernel",
     "mpc_forward: `void test(Adyn[n][n], Bdyn[n][m], Kinf[m][n], x[N+1][n][1], d[N][m][1], u[N][m][1])`, "
     "u[i] = -Kinf x[i] - d[i], x[i+1] = Adyn x[i] + Bdyn u[i] for i = 0 .. N-1. mpc_backward: `void "
     "test(Bdyn[n][m], Quu_inv[m][m], Kinf[m][n], AmBKt[n][n], p[N][n][1], d[N][m][1], r[N][m][1], "
     "q[N][n][1])`, d[i] = Quu_inv (Bdyn' p[i+1] + r[i]), p[i] = q[i] + AmBKt p[i+1] - Kinf' r[i] for i = N-2 "
     ".. 0. The outputs are u and d; x[1] .. x[N] and p[0] .. p[N-2] may be left unwritten.\n"
     "Tiles here are 4 x 4 floats: a load is at most 16 columns by 4 rows, and the accumulator has one bank. A "
     "product's result is in the scratchpad about 35 cycles after its last row entered the array, an "
     "output-stationary sum when the next one has begun; only an operand that begins at the same row waits for "
     "it. A preload and a compute take 4 cycles however few rows pass. Code is cold: 64 bytes take the core 47 "
     "cycles to fetch, 20 if a load has read them before.\n"},
    {"menu",
     "element-wise work on loads, computes and the accumulator; loads that every step repeats made once; "
     "configuration only where it changes; no fence that no dependence needs; nothing computed that no result "
     "needs; operands in different banks; vectors kept in the scratchpad from step to step; sums that stay in "
     "the array; Adyn - Bdyn Kinf made once, so that a step waits for one product; vectors as rows, four at once "
     "where nothing waits for them; several steps in one product of powers; several columns with one load "
     "whose rows lie one element apart; the kernel's own code read by loads ahead of the core; unrolling.\n"},
    {"example", "preload(x, u, 1, 4, 1, 4); compute_preloaded(k, 0xffffffffu, 4, 4, 1, 4);\n"},
    {0}};
