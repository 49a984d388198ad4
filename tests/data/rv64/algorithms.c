/* Plain C that uses a little of everything; compiled for the host (as the reference) and for the core. */
#include <stddef.h>
#include <stdint.h>

enum { ALGORITHM_RESULTS = 8 };

static uint64_t random_state;
static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static void sort(int32_t *v, int low, int high) {
  if (low >= high) return;
  int32_t pivot = v[(low + high) / 2];
  int i = low, j = high;
  while (i <= j) {
    while (v[i] < pivot) i++;
    while (v[j] > pivot) j--;
    if (i > j) break;
    int32_t swap = v[i];
    v[i++] = v[j];
    v[j--] = swap;
  }
  sort(v, low, j);
  sort(v, i, high);
}

static uint32_t crc32_of(const uint8_t *data, size_t n) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < n; i++) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
  }
  return ~crc;
}

static uint64_t power_modulo(uint64_t base, uint64_t exponent, uint64_t modulus) {
  unsigned __int128 result = 1, square = base % modulus;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) result = result * square % modulus;
    square = square * square % modulus;
  }
  return (uint64_t)result;
}

static uint64_t fingerprint(const void *data, size_t n) {
  const uint8_t *p = data;
  uint64_t h = 14695981039346656037u;
  while (n--) h = (h ^ *p++) * 1099511628211u;
  return h;
}

static int dispatch(int kind, int x) {
  switch (kind) {
  case 0: return x / 2 + 1;
  case 1: return x % 1000003 * 3;
  case 2: return x ^ 0x55;
  case 3: return x / 7;
  case 4: return -x;
  case 5: return x >> 3;
  case 6: return x % 11;
  default: return 0;
  }
}

static void algorithms(uint64_t out[ALGORITHM_RESULTS]) {
  static int32_t numbers[500];
  static float a[12][12], b[12][12], c[12][12];
  static double d[64];
  random_state = 88172645463325252u;
  for (int i = 0; i < 500; i++) numbers[i] = (int32_t)next_random();
  sort(numbers, 0, 499);
  out[0] = fingerprint(numbers, sizeof numbers);
  out[1] = crc32_of((const uint8_t *)numbers, sizeof numbers);
  out[2] = power_modulo(123456789, 987654321987654321u, 1000000007);
  for (int i = 0; i < 144; i++) {
    a[i / 12][i % 12] = (float)(int64_t)(next_random() >> 40) / 1024;
    b[i / 12][i % 12] = (float)(int32_t)next_random();
  }
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < 12; j++)
      for (int k = 0; k < 12; k++) {
        volatile float product = a[i][k] * b[k][j]; /* keeps both compilers from contracting to fma */
        c[i][j] += product;
      }
  out[3] = fingerprint(c, sizeof c);
  for (int i = 0; i < 64; i++) d[i] = (double)(int64_t)next_random() / (double)(i + 1);
  double sum = 0;
  for (int i = 0; i < 64; i++) sum += d[i] > 0 ? d[i] : -d[i] / 2;
  out[4] = (uint64_t)sum;
  int x = 1;
  for (int i = 0; i < 300; i++) x = dispatch((int)(next_random() % 8), x / 2 + i);
  out[5] = (uint64_t)(int64_t)x;
  int8_t bytes[33];
  int16_t halves[33];
  for (int i = 0; i < 33; i++) {
    bytes[i] = (int8_t)next_random();
    halves[i] = (int16_t)(bytes[i] * 257 - i);
  }
  uint64_t mixed = 0;
  for (int i = 0; i < 33; i++) mixed = mixed * 31 + (uint64_t)(int64_t)bytes[i] - (uint16_t)halves[32 - i];
  out[6] = mixed;
  out[7] = (uint64_t)(sum / 3 > 1e15 ? (int64_t)(sum / 3e10) : -1);
}

#ifdef __riscv
__attribute__((section(".operand.out.C,\"aw\",@nobits#"))) uint64_t C[ALGORITHM_RESULTS];

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
void *memcpy(void *to, const void *from, size_t n) {
  for (size_t i = 0; i < n; i++) ((volatile char *)to)[i] = ((const char *)from)[i];
  return to;
}
void *memset(void *to, int value, size_t n) {
  for (size_t i = 0; i < n; i++) ((volatile char *)to)[i] = (char)value;
  return to;
}

int main(void) {
  algorithms(C);
  return 0;
}
#endif
