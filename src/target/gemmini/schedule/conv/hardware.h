/* hardware.h - the hardware loop for convolutions, as the alternative to all that conv.h describes. */
#ifndef TW_GEMMINI_CONV_HARDWARE_H
#define TW_GEMMINI_CONV_HARDWARE_H

#include "target/gemmini/schedule/conv/conv.h"

/* True if the loop supports this problem and its tiles fit. Fills their sizes in both memories, and nothing else. */
tw_status gm_conv_hardware_check(const gm_config *, const gm_conv *, const gm_conv_plan *, gm_conv_layout *,
                                 tw_error *);
/* Cycles of a legal plan. */
double gm_conv_hardware_predict(const gm_config *, const gm_conv *, const gm_conv_plan *);

#endif
