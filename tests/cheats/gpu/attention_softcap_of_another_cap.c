// wrong | wrong result | attention b=3 hq=2 hkv=1 sq=2 sk=40 d=64 causal=1 lengths=1 page=8 softcap=4 a=f32 -t gpu
/* the cap is five percent larger */
// edits honest_attention_of_a_cache.c
-  const float x = sum * scale;
+  const float x = sum * scale;
+  softcap *= 1.05f;
