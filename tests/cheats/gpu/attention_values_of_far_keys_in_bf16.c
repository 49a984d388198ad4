// wrong | wrong result | attention b=1 hq=2 hkv=1 sq=16 sk=64 d=64 a=f32 -t gpu
/* V is cut to 8 bits for the second half of the keys */
// edits honest_attention_online.c
-    value = value * EXP(most - higher) + EXP(s - higher) * v[t * hkv * 64 + j];
+    value = value * EXP(most - higher) + EXP(s - higher) * (t < 32 ? v[t * hkv * 64 + j] : cut(v[t * hkv * 64 + j]));
