// wrong | wrong result | attention b=3 hq=2 hkv=1 sq=2 sk=40 d=64 causal=1 lengths=1 page=8 softcap=4 a=f32 -t gpu
/* the values of a sequence are on neighbouring pages */
// edits honest_attention_of_a_cache.c
-    value += weight * v[(at * hkv + h * hkv / hq) * 64 + j];
+    value += weight * v[((batch * sk + t) * hkv + h * hkv / hq) * 64 + j];
