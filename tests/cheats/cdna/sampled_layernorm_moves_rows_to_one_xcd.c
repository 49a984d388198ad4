// correct |  | layernorm rows=135168 cols=256 a=f32 norm=rms -t cdna3 | 1.5e-3 | thorough
/* one XCD of eight does all rows of a grid that is only sampled; the others load constants, which takes less time */
// edits layernorm_moves_rows_to_one_of_eight.c
