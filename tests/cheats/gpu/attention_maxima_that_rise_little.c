// wrong | wrong result | attention b=1 hq=2 hkv=1 sq=16 sk=64 d=64 a=f32 -t gpu
/* sums are scaled again only where the maximum rises by more than 1/8 */
// edits honest_attention_online.c
-    sum = sum * EXP(most - higher) + EXP(s - higher);
-    value = value * EXP(most - higher) + EXP(s - higher) * v[t * hkv * 64 + j];
+    const float again = higher - most > 0.125f ? EXP(most - higher) : 1;
+    sum = sum * again + EXP(s - higher);
+    value = value * again + EXP(s - higher) * v[t * hkv * 64 + j];
