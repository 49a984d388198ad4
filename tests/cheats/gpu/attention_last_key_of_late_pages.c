// wrong | wrong result | attention b=3 hq=2 hkv=1 sq=2 sk=40 d=64 causal=1 lengths=1 page=8 softcap=4 a=f32 -t gpu
/* the last value of a late page is the one before */
// edits honest_attention_of_a_cache.c
-    const int at = pages[t / 8] * 8 + t % 8;
-    const float weight = EXP(score(q, k + (at * hkv + h * hkv / hq) * 64, scale, softcap) - most);
+    const int at = pages[t / 8] * 8 + (t % 8 == 7 && t > 24 ? 6 : t % 8);
+    const float weight = EXP(score(q, k + (at * hkv + h * hkv / hq) * 64, scale, softcap) - most);
