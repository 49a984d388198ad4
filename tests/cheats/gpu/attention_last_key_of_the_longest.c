// wrong | wrong result | attention b=16 hq=2 hkv=1 sq=2 sk=40 d=64 causal=1 lengths=1 page=8 softcap=4 a=f32 -t gpu
/* a sequence that fills its room lacks its last key */
// edits honest_attention_of_a_cache.c
-  const int keys = lengths[batch] - sq + 1 + i;
+  const int keys = lengths[batch] - sq + 1 + i - (lengths[batch] == sk);
