/* tile_philox.h - Philox4x32-10 (J. Salmon et al., SC 2011): four words for a counter and a key. Also for kernels without the vocabulary
 * of tiles: who includes this file has defined TW_FN, a function that is always inlined into device code. */
#pragma once

namespace tw {

struct philox {
  unsigned int word[4];
  TW_FN philox(unsigned int c0, unsigned int c1, unsigned int key0, unsigned int key1) : word{c0, c1, 0, 0} {
#pragma unroll
    for (int round = 0; round < 10; round++) {
      const unsigned long long a = (unsigned long long)0xD2511F53u * word[0], b = (unsigned long long)0xCD9E8D57u * word[2];
      const unsigned int w0 = (unsigned int)(b >> 32) ^ word[1] ^ key0, w2 = (unsigned int)(a >> 32) ^ word[3] ^ key1;
      word[1] = (unsigned int)b;
      word[3] = (unsigned int)a;
      word[0] = w0;
      word[2] = w2;
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
  }
};

}  // namespace tw
