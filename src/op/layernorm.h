/* layernorm.h - the fields of a problem of op `layernorm` that targets read. */
#ifndef TW_OP_LAYERNORM_H
#define TW_OP_LAYERNORM_H

/* The key `norm`, in the order of its choices; layernorm.c has the definitions. ABS and L2 have no weights. */
typedef enum tw_norm { TW_NORM_LAYER, TW_NORM_RMS, TW_NORM_ABS, TW_NORM_L2 } tw_norm;

#endif
