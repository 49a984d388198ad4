// wrong | wrong result | attention b=3 hq=2 hkv=1 sq=2 sk=40 d=64 causal=1 lengths=1 page=8 softcap=4 a=f32 -t gpu
/* scores are cut at the cap, not bent */
// edits honest_attention_of_a_cache.c
-  return softcap - 2 * softcap / (EXP(2 * x / softcap) + 1);
+  return x > softcap ? softcap : x < -softcap ? -softcap : x;
