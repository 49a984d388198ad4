// wrong | wrong result | attention b=1 hq=4 hkv=2 sq=16 sk=64 d=64 a=f32 -t gpu
/* heads of keys are taken in turn */
// edits honest_attention_online.c
-  const int keys = sk, head = row % hq * hkv / hq;
+  const int keys = sk, head = row % hq % hkv;
