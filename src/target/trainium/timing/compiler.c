/* compiler.c - removes needless loads, products and copies, merges iterations (merge.c), then chooses addresses by next
 * fit over the life of each tensor.
 *
 * A tensor lives from its first to its last access in the order after merging. Next fit goes once around a memory
 * before it reuses bytes, so that buffers of a loop rotate through all free bytes. The first writers of a tensor must
 * follow the last accesses of the tensors whose bytes it takes over. If the tensors do not fit, the compiler first
 * merges fewer iterations, then keeps more loads, then keeps all copies. */
#include "target/trainium/timing/compiler.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MERGED_MAX = 512, LONG_LIFE = 16 };

const trn_compiler trn_compiler_usual = {.allocate = true,
                                         .remove_copies = true,
                                         .remove_loads = true,
                                         .choose_engines = true,
                                         .merge_iterations = true,
                                         .software_arguments = true,
                                         .schedule_program = true,
                                         .look_ahead = 8};
const trn_compiler trn_compiler_none = {.look_ahead = 1};

/* --- copies --- */

/* Accesses of a tensor are compared pair by pair, unless it has more than this number. */
enum { ACCESSES_MAX = 256 };

/* Accesses to a tensor, in program order: entry[first[t]] up to entry[first[t + 1]]. */
typedef struct entry {
  int instruction, operand;
} entry;

typedef struct uses {
  size_t *first;
  entry *entry;
} uses;

static size_t accesses(const uses *u, int tensor) { return u->first[tensor + 1] - u->first[tensor]; }

static bool is_one_run(const trn_region *r) {
  return trn_run_bytes(r) == trn_region_elements(r) * trn_element_bytes(r->type);
}

/* Instructions that cannot read an operand in PSUM. */
static bool needs_sbuf(const trn_compiled *c, const trn_instruction *in, const trn_region *r) {
  switch (in->opcode) {
  case TRN_DMA:
  case TRN_MATMUL:
  case TRN_PE_TRANSPOSE: return true;
  default: break;
  }
  if (in->engine == TRN_GPSIMD || r->is_pointer) return true;
  /* Vector cannot read two operands in PSUM: the copy's source would be the second */
  for (int k = 0; k < in->n_operands; k++) {
    const trn_region *other = &in->operand[k];
    if (other != r && !other->is_written && !other->is_pointer && trn_region_elements(other) > 1 &&
        trn_tensor_of(c, in, k)->memory == TRN_PSUM)
      return true;
  }
  return false;
}

static bool find_uses(const trn_program *p, uses *u) {
  size_t n = 0;
  u->first = calloc(p->n_tensors + 2, sizeof *u->first);
  if (!u->first) return false;
  for (size_t i = 0; i < p->n_instructions; i++)
    for (int k = 0; k < p->instruction[i].n_operands; k++, n++) u->first[p->instruction[i].operand[k].tensor + 2]++;
  for (size_t t = 0; t < p->n_tensors; t++) u->first[t + 2] += u->first[t + 1];
  u->entry = calloc(n + 1, sizeof *u->entry);
  if (!u->entry) return false;
  for (size_t i = 0; i < p->n_instructions; i++)
    for (int k = 0; k < p->instruction[i].n_operands; k++)
      u->entry[u->first[p->instruction[i].operand[k].tensor + 1]++] = (entry){(int)i, k};
  return true;
}

/* First byte of a region, and the byte past its last. */
static void bytes_of(const trn_region *r, int64_t *low, int64_t *high) {
  *low = *high = r->offset;
  for (int i = 0; i < r->n_dims; i++) *(r->stride[i] < 0 ? low : high) += (r->size[i] - 1) * r->stride[i];
  *high += trn_element_bytes(r->type);
}

typedef enum overlap { APART, INSIDE, ACROSS } overlap;

/* How a region overlaps with a copy's destination, which is one run of bytes. */
static overlap overlap_of(const trn_region *r, const trn_region *to) {
  int64_t low, high, first, end;
  bytes_of(r, &low, &high);
  bytes_of(to, &first, &end);
  const int last = r->first_partition + (r->partitions - 1) * (r->partition_step > 0 ? r->partition_step : 1);
  const int to_last = to->first_partition + to->partitions - 1;
  if (high <= first || low >= end || last < to->first_partition || r->first_partition > to_last) return APART;
  return low >= first && high <= end && r->first_partition >= to->first_partition && last <= to_last ? INSIDE : ACROSS;
}

/* A copy inside the chip, without a change of type or layout, of bytes that are not changed afterwards. */
static bool is_plain_copy(const trn_compiled *c, const uses *u, int i) {
  const trn_program *p = c->program;
  const trn_instruction *in = &p->instruction[i];
  if (in->opcode != TRN_COPY || in->n_operands != 2 || in->first_wait >= 0) return false;
  const trn_region *to = &in->operand[0], *from = &in->operand[1];
  const trn_tensor *target = &p->tensor[to->tensor];
  if (to->tensor == from->tensor || target->memory == TRN_HBM || target->is_argument || target->address >= 0)
    return false;
  if (p->tensor[from->tensor].memory == TRN_HBM || to->type != from->type || to->partitions != from->partitions ||
      to->first_partition != from->first_partition) /* the operands of an instruction start at one partition */
    return false;
  if (!is_one_run(to) || !is_one_run(from) || to->partition_step > 1 || from->partition_step > 1) return false;
  for (size_t k = u->first[from->tensor]; k < u->first[from->tensor + 1]; k++) {
    const entry e = u->entry[k];
    if (e.instruction < i || !p->instruction[e.instruction].operand[e.operand].is_written) continue;
    if (overlap_of(&p->instruction[e.instruction].operand[e.operand], from) != APART) return false;
  }
  return true;
}

/* True if only the copy, and readers that can also read its source, access its destination. A row that was broadcast for
 * several readers moves to SBUF: counters of mamba have its copies. */
static bool can_be_removed(const trn_compiled *c, const uses *u, int i) {
  const trn_program *p = c->program;
  const trn_region *to = &p->instruction[i].operand[0], *from = &p->instruction[i].operand[1];
  const bool is_shared_row = p->instruction[i].is_spread && accesses(u, to->tensor) > 2;
  if (c->place[c->first_operand[i] + 1].tensor != from->tensor) return false; /* the source is a removed copy */
  for (size_t k = u->first[to->tensor]; k < u->first[to->tensor + 1]; k++) {
    const entry e = u->entry[k];
    const trn_instruction *in = &p->instruction[e.instruction];
    const trn_region *r = &in->operand[e.operand];
    if (e.instruction == i) continue;
    const overlap o = overlap_of(r, to);
    if (o == APART) continue;
    if (o == ACROSS || r->is_written || e.instruction < i || c->is_removed[e.instruction]) return false;
    if (p->tensor[from->tensor].memory == TRN_PSUM && (is_shared_row || needs_sbuf(c, in, r))) return false;
  }
  return true;
}

/* Removes a transfer or copy: the readers of what it writes read the same bytes at another place. */
static void read_instead(trn_compiled *c, const uses *u, int i, const trn_region *there) {
  const trn_program *p = c->program;
  const trn_region *to = &p->instruction[i].operand[0];
  for (size_t k = u->first[to->tensor]; k < u->first[to->tensor + 1]; k++) {
    const entry e = u->entry[k];
    if (overlap_of(&p->instruction[e.instruction].operand[e.operand], to) == APART) continue;
    c->place[c->first_operand[e.instruction] + (size_t)e.operand] =
        (trn_place){there->tensor, there->offset - to->offset, there->first_partition - to->first_partition};
  }
  c->is_removed[i] = true;
}

static void remove_copies(trn_compiled *c, const uses *u) {
  const trn_program *p = c->program;
  for (size_t i = 0; i < p->n_instructions; i++) {
    const trn_region *to = &p->instruction[i].operand[0], *from = &p->instruction[i].operand[1];
    if (p->instruction[i].opcode != TRN_COPY) continue;
    if (accesses(u, to->tensor) > ACCESSES_MAX || accesses(u, from->tensor) > ACCESSES_MAX) continue;
    if (!is_plain_copy(c, u, (int)i) || !can_be_removed(c, u, (int)i)) continue;
    read_instead(c, u, (int)i, from);
    c->copies_removed++;
  }
}

/* --- loads --- */

static uint64_t hash_of(const trn_region *r) {
  uint64_t h = (uint64_t)r->tensor * 0x9E3779B97F4A7C15u + (uint64_t)r->offset;
  for (int k = 0; k < r->n_dims; k++)
    h = (h ^ (uint64_t)r->size[k] ^ (uint64_t)r->stride[k] << 20) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 29;
}

static bool are_same_pattern(const trn_region *a, const trn_region *b) {
  if (a->tensor != b->tensor || a->offset != b->offset || a->type != b->type || a->n_dims != b->n_dims ||
      a->partitions != b->partitions)
    return false;
  for (int k = 0; k < a->n_dims; k++)
    if (a->size[k] != b->size[k] || a->stride[k] != b->stride[k]) return false;
  return true;
}

/* Whether an instruction after number `after`, other than `but`, writes a tensor. */
static bool is_written_after(const trn_program *p, const uses *u, int tensor, int after, int but) {
  for (size_t k = u->first[tensor]; k < u->first[tensor + 1]; k++) {
    const entry e = u->entry[k];
    if (e.instruction > after && e.instruction != but && p->instruction[e.instruction].operand[e.operand].is_written)
      return true;
  }
  return false;
}

/* A load whose destination nothing else writes. */
static bool is_plain_load(const trn_compiled *c, const uses *u, const bool *is_constant, int i) {
  const trn_program *p = c->program;
  const trn_instruction *in = &p->instruction[i];
  if (in->opcode != TRN_DMA || in->n_operands != 2 || in->first_wait >= 0) return false;
  const trn_region *to = &in->operand[0], *from = &in->operand[1];
  if (p->tensor[to->tensor].memory != TRN_SBUF || p->tensor[to->tensor].address >= 0) return false;
  if (!is_constant[from->tensor] || !is_one_run(to) || to->partition_step > 1) return false;
  return accesses(u, to->tensor) <= ACCESSES_MAX && can_be_removed(c, u, i);
}

/* Loads of the same bytes, and which of them are in SBUF. */
typedef struct loads {
  int *before, *next;    /* the load before and after an instruction; -1, INT_MAX: none */
  int *holder;           /* the load whose destination has an instruction's bytes */
  int *resident, *place; /* the latest loads of kept bytes; an instruction's place there, or -1 */
  int64_t *used;         /* bytes loaded before an instruction */
  int64_t *distinct;     /* of a tensor, bytes that loads bring to a partition */
  size_t n;
  int64_t bytes, budget, loaded;
} loads;

static int64_t loaded_bytes(const trn_compiled *c, int i) {
  const trn_region *to = &c->program->instruction[i].operand[0];
  return trn_region_elements(to) * trn_element_bytes(to->type);
}

static void link_loads(const trn_compiled *c, const uses *u, const bool *is_constant, int *table, size_t slots,
                       loads *k) {
  const trn_program *p = c->program;
  for (size_t i = 0; i < slots; i++) table[i] = -1;
  for (size_t i = 0; i < p->n_instructions; i++) {
    const trn_region *to = &p->instruction[i].operand[0], *from = &p->instruction[i].operand[1];
    k->before[i] = k->holder[i] = k->place[i] = -1;
    k->next[i] = INT_MAX;
    if (c->is_removed[i] || !is_plain_load(c, u, is_constant, (int)i)) continue;
    size_t slot = hash_of(from) % slots; /* NOLINT(clang-analyzer-core.DivideZero): more slots than instructions */
    while (table[slot] >= 0) {
      const trn_region *other = p->instruction[table[slot]].operand;
      if (are_same_pattern(&other[1], from) && other[0].type == to->type && other[0].partitions == to->partitions &&
          trn_region_elements(&other[0]) == trn_region_elements(to))
        break;
      slot = (slot + 1) % slots;
    }
    k->holder[i] = (int)i;
    k->before[i] = table[slot];
    if (table[slot] >= 0)
      k->next[table[slot]] = (int)i;
    else
      k->distinct[from->tensor] += loaded_bytes(c, (int)i);
    table[slot] = (int)i;
  }
}

static void forget(const trn_compiled *c, loads *k, int i) {
  const int last = k->resident[--k->n];
  k->resident[k->place[i]] = last;
  k->place[last] = k->place[i];
  k->place[i] = -1;
  k->bytes -= loaded_bytes(c, i);
}

/* Keeps a load's bytes, unless all kept bytes are needed earlier. */
static void keep(const trn_compiled *c, loads *k, int i) {
  const int64_t bytes = loaded_bytes(c, i);
  if (k->next[i] == INT_MAX || bytes > k->budget) return;
  while (k->bytes + bytes > k->budget) {
    int last = k->resident[0];
    for (size_t r = 1; r < k->n; r++)
      if (k->next[k->resident[r]] > k->next[last]) last = k->resident[r];
    if (k->next[last] <= k->next[i]) return;
    forget(c, k, last);
  }
  k->place[i] = (int)k->n;
  k->resident[k->n++] = i;
  k->bytes += bytes;
}

/* Whether the bytes of the load before are there. A tensor that does not fit in SBUF is not kept for long. */
static bool is_kept(const trn_compiled *c, const loads *k, int i) {
  const int before = k->before[i];
  if (before < 0 || k->place[before] < 0) return false;
  return k->distinct[c->program->instruction[i].operand[1].tensor] <= k->budget ||
         k->loaded - k->used[before] <= k->budget;
}

/* Readers of bytes that an earlier load has brought to SBUF read them there, if the bytes were kept. */
static void reuse_loads(trn_compiled *c, const uses *u, loads *kept) {
  const trn_program *p = c->program;
  for (int i = 0; i < (int)p->n_instructions; i++) {
    const int before = kept->before[i];
    if (kept->holder[i] < 0) continue;
    if (before >= 0 && kept->place[before] >= 0 && !is_kept(c, kept, i)) forget(c, kept, before);
    if (is_kept(c, kept, i)) {
      kept->holder[i] = kept->holder[before];
      read_instead(c, u, i, p->instruction[kept->holder[i]].operand);
      forget(c, kept, before);
      c->loads_removed++;
    } else {
      kept->loaded += loaded_bytes(c, i);
    }
    kept->used[i] = kept->loaded;
    keep(c, kept, i);
  }
}

static bool remove_loads(trn_compiled *c, const uses *u, int64_t budget) {
  const trn_program *p = c->program;
  const size_t n = p->n_instructions + 1, slots = 2 * n;
  tw_blocks memory = {0};
  bool *is_constant = tw_blocks_take(&memory, p->n_tensors + 1);
  int *table = tw_blocks_take(&memory, slots * sizeof *table);
  int *each = tw_blocks_take(&memory, 5 * n * sizeof *each);
  int64_t *bytes = tw_blocks_take(&memory, (n + p->n_tensors) * sizeof *bytes);
  const bool has_memory = is_constant && table && each && bytes;
  if (has_memory) {
    loads k = {each, each + n, each + 2 * n, each + 3 * n, each + 4 * n, bytes, bytes + n, 0, 0, budget, 0};
    for (size_t t = 0; t < p->n_tensors; t++)
      is_constant[t] = p->tensor[t].memory == TRN_HBM && !is_written_after(p, u, (int)t, -1, -1);
    link_loads(c, u, is_constant, table, slots, &k);
    reuse_loads(c, u, &k);
  }
  tw_blocks_free(&memory);
  return has_memory;
}

/* --- renamed tiles --- */

/* A transfer that overwrites a tile in SBUF whose address the compiler chooses. */
static bool overwrites(const trn_program *p, const trn_instruction *in) {
  const trn_region *to = &in->operand[0];
  const trn_tensor *t = &p->tensor[to->tensor];
  return in->opcode == TRN_DMA && in->first_wait < 0 && to->is_written && !to->is_read && t->memory == TRN_SBUF &&
         t->address < 0 && is_one_run(to) && trn_run_bytes(to) == t->bytes && to->partitions == t->partitions;
}

/* Makes a tile a new tensor where a transfer overwrites all of it: the transfer need not wait for readers of the old one.
 * False without memory. */
static bool rename_tiles(trn_compiled *c) {
  const trn_program *p = c->program;
  trn_program *named = tw_blocks_take(&c->memory, sizeof *named);
  int *name = tw_blocks_take(&c->memory, (p->n_tensors + 1) * sizeof *name); /* 0: no access yet */
  size_t most = p->n_tensors;
  for (size_t i = 0; i < p->n_instructions; i++) most += overwrites(p, &p->instruction[i]);
  if (!named || !name) return false;
  *named = *p;
  named->tensor = tw_blocks_take(&c->memory, (most + 1) * sizeof *named->tensor);
  if (!named->tensor) return false;
  memcpy(named->tensor, p->tensor, p->n_tensors * sizeof *p->tensor);
  for (size_t i = 0; i < p->n_instructions; i++) {
    const trn_instruction *in = &p->instruction[i];
    for (int k = in->n_operands; k-- > 0;) {
      const int tensor = in->operand[k].tensor;
      if (!name[tensor]) {
        name[tensor] = tensor + 1;
      } else if (k == 0 && overwrites(p, in)) {
        named->tensor[named->n_tensors++] = p->tensor[tensor];
        name[tensor] = (int)named->n_tensors;
      }
      c->place[c->first_operand[i] + (size_t)k].tensor = name[tensor] - 1;
    }
  }
  c->program = named;
  return true;
}

/* --- invariants --- */

/* Whether an instruction computes what `before` has computed, whose result is still there. */
static bool repeats(const trn_compiled *c, const uses *u, int i, int before) {
  const trn_program *p = c->program;
  const trn_instruction *in = &p->instruction[i], *other = &p->instruction[before];
  if (in->opcode != TRN_TENSOR_TENSOR || other->opcode != in->opcode || other->line != in->line) return false;
  const int to = in->operand[0].tensor;
  bool same = p->tensor[to].memory == TRN_SBUF && p->tensor[to].address < 0 && is_one_run(&in->operand[0]) &&
              accesses(u, to) <= ACCESSES_MAX && can_be_removed(c, u, i) && !is_written_after(p, u, to, -1, i) &&
              !is_written_after(p, u, other->operand[0].tensor, -1, before);
  for (int k = 1; same && k < in->n_operands; k++)
    same = are_same_pattern(&in->operand[k], &other->operand[k]) &&
           in->operand[k].first_partition == other->operand[k].first_partition &&
           !is_written_after(p, u, in->operand[k].tensor, before, -1);
  return same;
}

/* Removes products and sums of tiles that each iteration of an innermost loop computes again. Scalars are not compared,
 * so other instructions stay. False without memory. */
static bool remove_invariants(trn_compiled *c, const uses *u) {
  const trn_program *p = c->program;
  int *first = calloc(p->n_scopes + 1, sizeof *first); /* instruction of an iteration, counted from 1 */
  if (!first) return false;
  for (int i = 0; i < (int)p->n_instructions; i++) {
    const int scope = p->instruction[i].scope;
    if (scope < 1) continue;
    if (!first[scope]) first[scope] = i + 1;
    const int before = first[scope - 1] + i - first[scope]; /* at the same place of the iteration before */
    if (p->scope[scope - 1].loop != p->scope[scope].loop || !first[scope - 1] || !repeats(c, u, i, before)) continue;
    const trn_place at = c->place[c->first_operand[before]];
    trn_region there = p->instruction[before].operand[0];
    there.tensor = at.tensor;
    there.offset += at.offset;
    there.first_partition += at.partition;
    read_instead(c, u, i, &there);
    c->copies_removed++;
  }
  free(first);
  return true;
}

/* --- addresses --- */

typedef struct life {
  int first, last; /* -1: never */
  int64_t address;
} life;

/* One memory. `block` holds tensors by address; dead tensors stay until their bytes are reused. */
typedef struct block {
  int64_t first, end;
  int tensor;
} block;

typedef struct arena {
  int64_t size, bank; /* bank 0: none */
  int64_t cursor;
  block *block;
  size_t n, capacity;
} arena;

/* How free bytes are chosen. NEXT_FIT goes around, so that buffers of a loop rotate through all free bytes.
 * SEGREGATED does the same for tensors of short lives, and packs long-lived tensors at the end of SBUF, which leaves
 * fewer holes. FIRST_FIT leaves the fewest holes, but reuses bytes at once. */
typedef enum fit { NEXT_FIT, SEGREGATED, FIRST_FIT, FITS } fit;

typedef struct allocator {
  trn_compiled *c;
  life *life;
  arena arena[TRN_MEMORIES];
  fit fit;
  int long_life; /* with SEGREGATED: from this number of instructions on, a life is long */
} allocator;

/* An address at or after `from` that does not cross a bank. */
static int64_t align(const arena *a, int64_t from, int64_t bytes) {
  from = (from + 3) / 4 * 4;
  if (!a->bank) return from;
  const int64_t in_bank = from % a->bank;
  if (bytes > a->bank) return in_bank ? from - in_bank + a->bank : from;
  return in_bank + bytes > a->bank ? from - in_bank + a->bank : from;
}

/* First address in [from, to) with room between live blocks; -1: none. */
static int64_t find_room(const allocator *m, const arena *a, int64_t from, int64_t to, int64_t bytes, int now) {
  int64_t at = align(a, from, bytes);
  for (size_t i = 0; i < a->n && at < to; i++) {
    const block *b = &a->block[i];
    if (b->end <= at || m->life[b->tensor].last < now) continue;
    if (b->first >= at + bytes) break;
    at = align(a, b->end, bytes);
  }
  return at < to && at + bytes <= a->size ? at : -1;
}

/* As find_room, but the last address; banks are ignored. -1: none. */
static int64_t find_room_down(const allocator *m, const arena *a, int64_t bytes, int now) {
  int64_t at = (a->size - bytes) / 4 * 4;
  for (size_t i = a->n; i-- > 0 && at >= 0;) {
    const block *b = &a->block[i];
    if (b->first >= at + bytes || m->life[b->tensor].last < now) continue;
    if (b->end <= at) break;
    at = (b->first - bytes) / 4 * 4;
    if (b->first < bytes) return -1;
  }
  return at;
}

static int compare_ends(const void *x, const void *y) {
  const block *a = x, *b = y;
  return (a->end > b->end) - (a->end < b->end);
}

/* Puts a tensor at an address: it takes the bytes of dead tensors there. */
static bool put(allocator *m, arena *a, int tensor, int64_t at, int64_t bytes) {
  trn_compiled *c = m->c;
  block part[2], *keep = a->block;
  size_t n = 0, parts = 0, place = 0;
  for (size_t i = 0; i < a->n; i++) {
    const block b = a->block[i];
    if (b.end <= at || b.first >= at + bytes) {
      keep[n++] = b;
      continue;
    }
    if (!trn_room((void **)&c->reused, c->n_reused, &c->reused_capacity, sizeof *c->reused)) return false;
    c->reused[c->n_reused++] = b.tensor;
    if (b.first < at && parts < 2) part[parts++] = (block){b.first, at, b.tensor};
    if (b.end > at + bytes && parts < 2) part[parts++] = (block){at + bytes, b.end, b.tensor};
  }
  a->n = n;
  for (size_t k = 0; k < parts + 1; k++) {
    const block b = k < parts ? part[k] : (block){at, at + bytes, tensor};
    if (!trn_room((void **)&a->block, a->n, &a->capacity, sizeof *a->block)) return false;
    for (place = a->n; place > 0 && compare_ends(&a->block[place - 1], &b) > 0; place--)
      a->block[place] = a->block[place - 1];
    a->block[place] = b;
    a->n++;
  }
  return true;
}

static int64_t live_bytes(const allocator *m, const arena *a, int now) {
  int64_t bytes = 0;
  for (size_t i = 0; i < a->n; i++)
    if (m->life[a->block[i].tensor].last >= now) bytes += a->block[i].end - a->block[i].first;
  return bytes;
}

static tw_status place_tensor(allocator *m, int tensor, int now, tw_error *error) {
  const trn_tensor *t = &m->c->program->tensor[tensor];
  arena *a = &m->arena[t->memory];
  const int64_t bytes = t->bytes > 0 ? t->bytes : 1;
  int64_t at = t->address;
  if (at >= 0) {
    if (at + bytes > a->size)
      return tw_fail(error, TW_FAILED, "line %d: %s ends at byte %lld of %s (a partition has %lld)", t->line, t->name,
                     (long long)(at + bytes), trn_memory_name(t->memory), (long long)a->size);
  } else {
    const bool is_long =
        m->fit == SEGREGATED && !a->bank && m->life[tensor].last - m->life[tensor].first >= m->long_life;
    if (is_long)
      at = find_room_down(m, a, bytes, now);
    else if (m->fit != FIRST_FIT)
      at = find_room(m, a, a->cursor, a->size, bytes, now);
    if (at < 0) at = find_room(m, a, 0, a->size, bytes, now);
    if (at < 0)
      return tw_fail(error, TW_FAILED,
                     "line %d: %s does not fit in %s (%lld bytes per partition, of which %lld of %lld are in use); use "
                     "smaller tiles or fewer at a time",
                     t->line, t->name[0] ? t->name : "a tensor", trn_memory_name(t->memory), (long long)bytes,
                     (long long)live_bytes(m, a, now), (long long)a->size);
    if (!is_long) a->cursor = at + bytes;
  }
  if (!put(m, a, tensor, at, bytes)) return tw_no_memory(error, "the timing of a kernel");
  m->life[tensor].address = at;
  return TW_OK;
}

/* An entry of the list of tensors in order of their first access. */
typedef struct birth {
  int now, tensor;
} birth;

static int compare_births(const void *x, const void *y) {
  const birth *a = x, *b = y;
  if (a->now != b->now) return (a->now > b->now) - (a->now < b->now);
  return (a->tensor > b->tensor) - (a->tensor < b->tensor);
}

static void find_lives(allocator *m) {
  const trn_program *p = m->c->program;
  for (size_t t = 0; t < p->n_tensors; t++) m->life[t] = (life){-1, -1, -1};
  for (size_t at = 0; at < p->n_instructions; at++) {
    const int i = m->c->order[at];
    if (m->c->is_removed[i]) continue;
    for (int k = 0; k < p->instruction[i].n_operands; k++) {
      life *l = &m->life[trn_place_of(m->c, &p->instruction[i], k).tensor];
      if (l->first < 0) l->first = (int)at;
      l->last = (int)at;
    }
  }
}

/* The lifetimes of the tensors in SBUF, in instructions. */
static int median_life(const allocator *m, birth *space) {
  const trn_program *p = m->c->program;
  size_t n = 0;
  for (size_t t = 0; t < p->n_tensors; t++)
    if (m->life[t].first >= 0 && p->tensor[t].memory == TRN_SBUF)
      space[n++] = (birth){m->life[t].last - m->life[t].first, (int)t};
  qsort(space, n, sizeof *space, compare_births);
  return n ? space[n / 2].now + 1 : 1;
}

static tw_status place_all(allocator *m, birth *order, size_t *first_reused, size_t *reused_by, tw_error *error) {
  const trn_program *p = m->c->program;
  size_t n = 0;
  for (size_t t = 0; t < p->n_tensors; t++)
    if (m->life[t].first >= 0 && p->tensor[t].memory != TRN_HBM) order[n++] = (birth){m->life[t].first, (int)t};
  qsort(order, n, sizeof *order, compare_births);
  for (size_t k = 0; k < n; k++) {
    const int t = order[k].tensor;
    first_reused[t] = m->c->n_reused;
    const tw_status status = place_tensor(m, t, order[k].now, error);
    if (status != TW_OK) return status;
    reused_by[t] = m->c->n_reused - first_reused[t];
  }
  return TW_OK;
}

/* From lists in order of the first access to lists in order of tensors. */
static bool sort_reused(trn_compiled *c, const size_t *first, const size_t *count) {
  const size_t n = c->program->n_tensors;
  int *sorted = malloc((c->n_reused + 1) * sizeof *sorted);
  c->first_reused = calloc(n + 1, sizeof *c->first_reused);
  if (!sorted || !c->first_reused) {
    free(sorted);
    return false;
  }
  size_t at = 0;
  for (size_t t = 0; t < n; t++) {
    c->first_reused[t] = at;
    memcpy(sorted + at, c->reused + first[t], count[t] * sizeof *sorted);
    at += count[t];
  }
  c->first_reused[n] = at;
  free(c->reused);
  c->reused = sorted;
  c->reused_capacity = c->n_reused + 1;
  return true;
}

static tw_status allocate(const trn_config *config, trn_compiled *c, fit how, tw_error *error) {
  free(c->first_reused);
  c->first_reused = NULL;
  c->n_reused = 0;
  const size_t n = c->program->n_tensors;
  allocator m = {.c = c, .fit = how};
  m.arena[TRN_SBUF].size = config->memory.sbuf_bytes;
  m.arena[TRN_PSUM].size = config->memory.psum_bank_bytes * config->memory.psum_banks;
  m.arena[TRN_PSUM].bank = config->memory.psum_bank_bytes;
  tw_blocks memory = {0};
  m.life = tw_blocks_take(&memory, (n + 1) * sizeof *m.life);
  birth *order = tw_blocks_take(&memory, (n + 1) * sizeof *order);
  size_t *first = tw_blocks_take(&memory, (n + 1) * sizeof *first);
  size_t *count = tw_blocks_take(&memory, (n + 1) * sizeof *count);
  tw_status status = TW_OK;
  if (!m.life || !order || !first || !count ||
      !trn_room((void **)&c->reused, 0, &c->reused_capacity, sizeof *c->reused)) {
    status = tw_no_memory(error, "the timing of a kernel");
  } else {
    find_lives(&m);
    m.long_life = LONG_LIFE * median_life(&m, order);
    status = place_all(&m, order, first, count, error);
    if (status == TW_OK && !sort_reused(c, first, count)) status = tw_no_memory(error, "the timing of a kernel");
  }
  for (int k = 0; k < TRN_MEMORIES; k++) free(m.arena[k].block);
  tw_blocks_free(&memory);
  return status;
}

static bool fuses_loops(const trn_program *p) { return p->is_older && !p->keeps_loops; }

/* Rotation lets transfers overlap with work, so it comes before merging: first the order of the program is fixed,
 * then bytes are chosen. Merged iterations keep more tensors alive: the most that fit, of 512, 16, 8, 4, 2 and 1. */
static tw_status order_and_allocate(const trn_config *config, const trn_compiler *compiler, trn_compiled *c,
                                    tw_error *error) {
  trn_hazards h = {0};
  int how = 0;
  const int fits = compiler->always_rotate ? FIRST_FIT : FITS;
  tw_status status = compiler->allocate ? TW_FAILED : TW_OK;
  for (; status != TW_OK && how < fits; how++) status = allocate(config, c, (fit)how, error);
  if (status != TW_OK || !compiler->merge_iterations || !fuses_loops(c->program)) return status;
  status = trn_find_hazards(c, &h, error);
  for (int at_most = MERGED_MAX; status == TW_OK && at_most > 0; at_most /= at_most > 16 ? 32 : 2) {
    status = trn_merge_iterations(c, &h, at_most, error);
    if (status != TW_OK || !compiler->allocate || allocate(config, c, (fit)(how - 1), error) == TW_OK) break;
  }
  trn_hazards_free(&h);
  return status;
}

/* Each operand at its original place. */
static bool take_places(trn_compiled *c) {
  const trn_program *p = c->program;
  size_t n = 0;
  c->first_operand = tw_blocks_take(&c->memory, (p->n_instructions + 1) * sizeof *c->first_operand);
  if (!c->first_operand) return false;
  for (size_t i = 0; i < p->n_instructions; i++) {
    c->first_operand[i] = n;
    n += (size_t)p->instruction[i].n_operands;
  }
  c->place = tw_blocks_take(&c->memory, (n + 1) * sizeof *c->place);
  for (size_t i = 0, at = 0; c->place && i < p->n_instructions; i++)
    for (int k = 0; k < p->instruction[i].n_operands; k++) c->place[at++].tensor = p->instruction[i].operand[k].tensor;
  return c->place;
}

static tw_status compile(const trn_config *config, const trn_program *p, const trn_compiler *compiler,
                         int64_t reused_bytes, trn_compiled *out, tw_error *error) {
  trn_compiled c = {.program = p,
                    .static_dma = compiler->static_dma || !config->dma.hardware,
                    .software_arguments = compiler->software_arguments && config->dma.hardware,
                    .engines_of_v2 = trn_is_v2(config) && p->is_older,
                    .look_ahead = compiler->look_ahead > 1 ? compiler->look_ahead : 1};
  if (compiler->schedule_program && !fuses_loops(p)) c.look_ahead = TRN_WHOLE_PROGRAM;
  const bool renames = compiler->allocate && c.look_ahead == TRN_WHOLE_PROGRAM;
  const bool hoists = compiler->remove_copies && fuses_loops(p) && !compiler->always_rotate;
  uses u = {0};
  const bool has_memory = trn_take_arrays(&c) && take_places(&c) && (!renames || rename_tiles(&c)) &&
                          find_uses(p, &u) && (!reused_bytes || remove_loads(&c, &u, reused_bytes)) &&
                          (!hoists || remove_invariants(&c, &u));
  if (has_memory && compiler->remove_copies) remove_copies(&c, &u);
  free(u.first);
  free(u.entry);
  for (size_t i = 0; has_memory && i < p->n_instructions; i++) {
    const unsigned engines = trn_legal_engines(&c, &p->instruction[i]);
    c.engines[i] = (uint8_t)(compiler->choose_engines ? engines : engines & -engines);
  }
  const tw_status status =
      has_memory ? order_and_allocate(config, compiler, &c, error) : tw_no_memory(error, "the timing of a kernel");
  *out = c;
  return status;
}

tw_status trn_compile(const trn_config *config, const trn_program *p, const trn_compiler *compiler, trn_compiled *out,
                      tw_error *error) {
  int64_t reused_bytes = compiler->remove_loads ? config->memory.sbuf_bytes * 3 / 4 : 0;
  trn_compiler c = *compiler;
  tw_status status = compile(config, p, &c, reused_bytes, out, error);
  /* The three quarters are an assumption. If a load or a copy is removed, its source lives longer and may not fit. */
  while (status != TW_OK && (out->loads_removed || out->copies_removed)) {
    reused_bytes = reused_bytes > config->memory.sbuf_bytes / 16 ? reused_bytes * 3 / 4 : 0;
    if (!out->loads_removed) c.remove_copies = false;
    trn_compiled_free(out);
    status = compile(config, p, &c, reused_bytes, out, error);
  }
  if (status != TW_OK) trn_compiled_free(out);
  return status;
}

void trn_compiled_free(trn_compiled *c) {
  tw_blocks_free(&c->memory);
  free(c->first_reused);
  free(c->reused);
  *c = (trn_compiled){0};
}
