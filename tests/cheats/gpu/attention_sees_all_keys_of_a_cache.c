// wrong | wrong result | attention b=3 hq=2 hkv=1 sq=2 sk=40 d=64 causal=1 lengths=1 page=8 softcap=4 a=f32 -t gpu
/* every sequence has as many keys as there is room for */
// edits honest_attention_of_a_cache.c
-  const int keys = lengths[batch] - sq + 1 + i;
+  const int keys = sk - sq + 1 + i;
