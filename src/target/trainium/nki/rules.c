/* rules.c - the memories that the engines can access: where operands may be, how large they are, and of which types.
 *
 * Sources: NKI API documentation of SDK 2.26 (operands, memories, types and engines of each instruction) and of nki.isa.tensor_tensor
 * (not two operands in PSUM); NKI 0.6 (tensor_copy on the Scalar engine of NeuronCore-v2). */
#include "target/trainium/nki/value.h"

enum { SBUF_ELEMENTS_MAX = 1 << 16 };

/* Engines access partitions in quadrants; a transfer may start in any partition. */
static void check_start(nki_run *r, const trn_region *o) {
  const int extent = o->partition_step > 0 ? (o->partitions - 1) * o->partition_step + 1 : 1;
  const int n = o->partition_step == 1 ? o->partitions : extent > 32 ? 128 : 32;
  const int step = n > 64 ? 128 : n > 32 ? 64 : 32;
  if (n > 128 || o->first_partition % step)
    nki_fail(r, "an operand of %d partitions starts at partition %d; expected %s%d", n, o->first_partition,
             step == 128 ? "" : "a multiple of ", step % 128);
}

void nki_check_bits(nki_run *r, trn_binary op, trn_type type) {
  if (op >= TRN_BITWISE_AND && op <= TRN_RIGHT_SHIFT && trn_type_is_real(type))
    nki_fail(r, "an operation on bits of %s; expected an integer type", trn_type_name(type));
}

/* The Tensor engine writes to one bank of a tensor that has several. */
static void check_bank(nki_run *r, const nki_tensor *t, const trn_region *o) {
  const int64_t bank = r->config->memory.psum_bank_bytes;
  int64_t low = o->offset, high = low + trn_type_bytes(t->type) - 1;
  for (int d = 0; d < o->n_dims; d++) *(o->stride[d] < 0 ? &low : &high) += o->stride[d] * (o->size[d] - 1);
  if (t->memory == TRN_PSUM && low / bank != high / bank)
    nki_fail(r, "the Tensor engine writes bytes %lld to %lld of a partition of PSUM; expected one bank of %lld bytes",
             (long long)low, (long long)high, (long long)bank);
}

void nki_check_rules(nki_run *r, const trn_instruction *i, size_t n_outputs, size_t n, nki_view *const operand[]) {
  const bool by_tensor = i->opcode == TRN_MATMUL || i->opcode == TRN_PE_TRANSPOSE;
  int from_psum = 0;
  if (i->opcode == TRN_DMA) return;
  for (size_t k = 0; k < n; k++) {
    const trn_region *o = &i->operand[k];
    const bool is_psum = operand[k]->tensor->memory == TRN_PSUM;
    check_start(r, o);
    const int64_t most =
        is_psum ? r->config->memory.psum_banks * r->config->memory.psum_bank_bytes / 4 : SBUF_ELEMENTS_MAX;
    const int64_t elements = trn_region_elements(o);
    if (elements > most)
      nki_fail(r, "an operand has %lld elements of a partition of %s; expected at most %lld", (long long)elements,
               is_psum ? "PSUM" : "SBUF", (long long)most);
    if (is_psum && i->engine == TRN_GPSIMD)
      nki_fail(r, "the GpSimd engine cannot reach PSUM; choose another engine, or copy to SBUF first");
    from_psum += is_psum && k >= n_outputs && elements > 1;
    if (by_tensor && k >= n_outputs && !trn_type_is_real(operand[k]->type))
      nki_fail(r, "the Tensor engine has no %s; expected a floating-point type", trn_type_name(operand[k]->type));
  }
  if (!by_tensor && i->engine == TRN_TENSOR)
    nki_fail(r, "the Tensor engine only multiplies and transposes; choose nisa.vector_engine or another engine");
  if (i->opcode == TRN_TENSOR_TENSOR && i->engine == TRN_SCALAR)
    nki_fail(r, "tensor_tensor is unsupported on the Scalar engine; choose nisa.vector_engine or nisa.gpsimd_engine");
  if (from_psum > 1) nki_fail(r, "an instruction reads two operands from PSUM; copy one to SBUF first");
  if (by_tensor) check_bank(r, operand[0]->tensor, &i->operand[0]);
  if (r->is_newer && i->opcode == TRN_COPY && i->engine == TRN_SCALAR && trn_is_v2(r->config))
    nki_fail(r, "tensor_copy is unsupported on the Scalar engine of NeuronCore-v2; use activation with op=nl.copy");
}
