/* program.c - lists of instructions and tensors. */
#include "target/trainium/program.h"

#include <stdlib.h>

bool trn_room(void **array, size_t n, size_t *capacity, size_t size) {
  if (n < *capacity) return true;
  const size_t more = *capacity ? 2 * *capacity : 8; /* most tensors have few accesses */
  void *moved = realloc(*array, more * size);
  if (!moved) return false;
  *array = moved;
  *capacity = more;
  return true;
}

int64_t trn_element_bytes(tw_type type) {
  const int bits = tw_type_bits(type);
  return bits > 8 ? bits / 8 : 1;
}

int trn_program_add_tensor(trn_program *p, const trn_tensor *tensor) {
  if (!trn_room((void **)&p->tensor, p->n_tensors, &p->tensor_capacity, sizeof *p->tensor)) return -1;
  p->tensor[p->n_tensors] = *tensor;
  return (int)p->n_tensors++;
}

int trn_program_add(trn_program *p, const trn_instruction *instruction) {
  if (!trn_room((void **)&p->instruction, p->n_instructions, &p->instruction_capacity, sizeof *p->instruction))
    return -1;
  p->instruction[p->n_instructions] = *instruction;
  return (int)p->n_instructions++;
}

int trn_program_add_scope(trn_program *p, const trn_scope *scope) {
  if (!trn_room((void **)&p->scope, p->n_scopes + 1, &p->scope_capacity, sizeof *p->scope)) return -1;
  if (!p->n_scopes) p->scope[p->n_scopes++] = (trn_scope){0};
  p->scope[p->n_scopes] = *scope;
  return (int)p->n_scopes++;
}

int64_t trn_region_elements(const trn_region *r) {
  int64_t n = 1;
  for (int i = 0; i < r->n_dims; i++) n *= r->size[i];
  return n;
}

void trn_program_free(trn_program *p) {
  free(p->instruction);
  free(p->tensor);
  free(p->wait);
  free(p->scope);
  *p = (trn_program){0};
}

const char *trn_opcode_name(trn_opcode opcode) {
#define NAME(opcode, name) name,
  static const char *const names[TRN_OPCODES] = {TRN_OPCODE_LIST(NAME)};
#undef NAME
  return names[opcode];
}

const char *trn_engine_name(trn_engine engine) {
  static const char *const name[TRN_ENGINES + 1] = {"tensor", "vector", "scalar", "gpsimd", "sync", "any"};
  return name[engine];
}

const char *trn_memory_name(trn_memory memory) {
  static const char *const name[TRN_MEMORIES] = {"HBM", "SBUF", "PSUM"};
  return name[memory];
}
