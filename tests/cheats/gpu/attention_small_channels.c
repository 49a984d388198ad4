// wrong | wrong result | attention b=1 hq=2 hkv=1 sq=16 sk=64 d=64 a=f32 -t gpu
// elements of keys that are small have 8 bits
// edits honest_attention.c
-  for (int p = 0; p < 64; p++) sum += q[p] * k[p];
+  for (int p = 0; p < 64; p++) { float y = k[p]; if (y * y < 0.01f) y = AS_FLOAT(AS_INT(y) & ~0xffff); sum += q[p] * y; }
