/* topics.c - see topics.h. Facts are those that the simulator models; each is stated once. */
#include "target/gemmini/topics.h"

static const char architecture[] =
    "Gemmini is a systolic array beside an in-order RISC-V core that issues its commands. A scratchpad of "
    "single-ported banks holds operands A (pixels) and B (weights) in rows "
    "of DIM elements; an accumulator of two banks holds C in rows of DIM wide elements. Loads, computes and stores "
    "have a queue each and overlap; "
    "commands enter the queues in program order, so a full queue blocks whatever follows. Hazards are found by rows: a "
    "load waits until computes and "
    "stores that use its rows are done, a compute waits for the loads of its operands.\n"
    "A preload and a compute on whole tiles take DIM cycles when weights and activations lie in different banks, twice "
    "that in one bank. Each row "
    "that a load writes into a bank that is being read costs the array about a cycle. A load of 64 x 16 bytes takes 64 "
    "cycles from the L2 and about "
    "150 from memory. A store of 16 x 16 takes 26 cycles, one of 64 x 16 about 112; narrow stores to lines that are "
    "not in the L2 fetch them first. "
    "Stores of an accumulator bank wait while the array accumulates into the same bank.\n";

static const char isa[] =
    "config_ld(stride, scale, block_stride, id): memory stride in bytes and scratchpad rows between the blocks of a "
    "wide load, for mvin (id 0), mvin2 "
    "(1), mvin3 (2). config_ex(dataflow, activation, A_stride, A_transposed, B_transposed). config_st(stride).\n"
    "mvin/mvin2/mvin3(dram, local, columns, rows): up to 64 columns by 16 rows; dram 0 writes zeros. Local addresses "
    "are row numbers; bit 31 selects the "
    "accumulator, bit 30 adds to it.\n"
    "preload(B, C, B_columns, B_rows, C_columns, C_rows) then compute_preloaded(A, D, A_columns, A_rows, D_columns, "
    "D_rows): C (+)= A B. With B = "
    "0xffffffff and compute_accumulated the array keeps its weights. D is 0xffffffff for none.\n"
    "mvout(dram, accumulator, columns, rows): scales, saturates and stores; bit 29 stores the wide values. fence() "
    "waits for everything.\n";

static const char rules[] =
    "The function is `void test(...)` with the given parameters; it writes all of C and nothing else and ends with "
    "fence(). Do not touch the counters. "
    "Scratchpad and accumulator must not be exceeded. Results are compared element by element on random inputs.\n";

const tw_topic gm_topics[] = {{"architecture", architecture}, {"isa", isa}, {"rules", rules}, {0}};
