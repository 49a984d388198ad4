/* hardware.h - the hardware loop for convolutions, an alternative to the kernels of conv.h. */
#ifndef TW_GEMMINI_CONV_HARDWARE_H
#define TW_GEMMINI_CONV_HARDWARE_H

#include "target/gemmini/schedule/conv/conv.h"

/* Checks that the loop supports this problem and that its tiles fit. Fills only their sizes in both memories. */
tw_status gm_conv_hardware_check(const gm_config *, const gm_conv *, const gm_conv_plan *, gm_conv_layout *,
                                 tw_error *);
/* Cycles of a legal plan. */
double gm_conv_hardware_predict(const gm_config *, const gm_conv *, const gm_conv_plan *);

#endif
