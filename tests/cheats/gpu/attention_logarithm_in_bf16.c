// wrong | wrong result | attention b=1 hq=2 hkv=1 sq=16 sk=64 d=64 a=f32 -t gpu
/* log-sum-exps are rounded to bf16 */
// edits honest_attention_online.c
-  if (j == 0) lse[row % hq * sq + row / hq] = most + LOG(sum);
+  if (j == 0) lse[row % hq * sq + row / hq] = cut(most + LOG(sum));
