/* write_sequence.c - the runtime sequence: operands as arguments, a dma_memcpy_nd for each task, a dma_wait for each
 * await.
 *
 * Of the four sizes and strides the first gives the number of runs of the task, and the displacement of each run (0:
 * none). mlir-aie limits the last two sizes to the fields of a descriptor, but not the second, which has no field: the
 * outer of two dimensions is there if it is longer. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "target/xdna2/mlir/writer.h"

enum { FIELD = 1023 }; /* largest size in a shim's descriptor: 10 bits */

/* %a of the external buffer "A" */
static xd_memref argument_name(const xd_buffer *b) {
  xd_memref name;
  snprintf(name.text, sizeof name.text, "%%%s", b->name);
  for (char *c = name.text; *c; c++) *c = (char)tolower((unsigned char)*c);
  return name;
}

static void write_arguments(xd_writer *w) {
  bool first = true;
  for (size_t i = 0; i < w->program->buffers.n; i++) {
    const xd_buffer *b = &w->program->buffers.at[i];
    if (!b->external || !b->bytes) continue;
    tw_text_add(&w->text, "%s%s: %s", first ? "" : ", ", argument_name(b).text,
                xd_write_memref(b->bytes, b->type).text);
    first = false;
  }
}

/* The sequence's name of a shim's channel: the name of its FIFO or of its allocation. */
static xd_local_name metadata_of(const xd_writer *w, int channel) {
  const xd_program *p = w->program;
  xd_local_name name = {""};
  if (w->explicit) return xd_write_allocation(&p->channels.at[channel]);
  for (size_t f = 0; f < p->fifos.n && !*name.text; f++) {
    const xd_fifo *fifo = &p->fifos.at[f];
    bool is_end = fifo->source == channel;
    for (int i = 0; i < fifo->n_consumers; i++) is_end = is_end || fifo->sink[i] == channel;
    if (is_end) snprintf(name.text, sizeof name.text, "%s", fifo->name);
  }
  return name;
}

/* Bytes into elements. */
static int64_t in_elements(xd_writer *w, int64_t bytes, const xd_buffer *b) {
  const int64_t element = xd_write_element_bytes(b->type);
  if (bytes % element) xd_write_fail(w, "a task moves only a part of an element of %s", b->name);
  return bytes / element;
}

/* Removes dimensions of one step: the reader ignores them and cannot know their strides. */
static xd_pattern without_single_steps(const xd_pattern *p) {
  xd_pattern out = {.offset = p->offset, .n_dims = 1, .dim = {p->dim[0]}};
  for (int i = 1; i < p->n_dims; i++)
    if (p->dim[i].size > 1) out.dim[out.n_dims++] = p->dim[i];
  return out;
}

static void write_start(xd_writer *w, const xd_command *k) {
  const xd_descriptor *d = &w->program->descriptors.at[k->descriptor];
  const xd_buffer *b = &w->program->buffers.at[d->buffer];
  const xd_pattern walk = without_single_steps(&d->pattern), *p = &walk;
  int64_t size[4] = {1, 1, 1, 1}, stride[4] = {0, 0, 0, 1}; /* the outermost first */
  if (p->n_dims > 3 || d->next >= 0 || (d->iterations > 1 && d->iterations != k->repeat))
    xd_write_fail(w, "a task of %s has more dimensions, descriptors or iterations than dma_memcpy_nd can express",
                  b->name);
  size[0] = k->repeat;
  stride[0] = d->iterations > 1 ? in_elements(w, d->iteration_stride, b) : 0;
  size[3] = in_elements(w, p->dim[0].size, b);
  for (int i = 1; i < p->n_dims && i < 3; i++) {
    const int at = p->n_dims == 2 && p->dim[i].size > FIELD ? 1 : 3 - i;
    size[at] = p->dim[i].size;
    stride[at] = in_elements(w, p->dim[i].stride, b);
  }
  tw_text_add(&w->text, "      aiex.npu.dma_memcpy_nd(%s[0, 0, 0, %" PRId64 "]", argument_name(b).text,
              in_elements(w, p->offset, b));
  tw_text_add(&w->text, "[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]", size[0], size[1], size[2], size[3]);
  tw_text_add(&w->text, "[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]", stride[0], stride[1], stride[2],
              stride[3]);
  tw_text_add(&w->text, ") {id = %d : i64, %smetadata = @%s} : %s\n", d->id, k->token ? "issue_token = true, " : "",
              metadata_of(w, k->channel).text, xd_write_memref(b->bytes, b->type).text);
}

static void write_open(xd_writer *w, const xd_command *k) {
  const xd_lock *l = &w->program->locks.at[k->lock];
  tw_text_add(&w->text, "      aiex.set_lock(%%%s, %" PRId64 ")\n", xd_write_local(l->name, l->tile).text, k->value);
}

static void write_word(xd_writer *w, const xd_command *k) {
  const xd_buffer *b = &w->program->buffers.at[k->buffer - 1];
  tw_text_add(&w->text, "      aiex.npu.rtp_write(@%s, %" PRId64 ", %" PRId64 ")\n",
              xd_write_local(b->name, b->tile).text, k->element, k->value);
}

/* The buffer of the trace is a further argument, which mlir-aie adds after all others. */
static void write_start_of_traces(xd_writer *w) {
  bool any = false;
  for (size_t i = 0; i < w->program->cores.n; i++) {
    const xd_core *c = &w->program->cores.at[i];
    if (!c->traced) continue;
    if (!any) tw_text_add(&w->text, "      aie.trace.host_config buffer_size = %d\n", XD_TRACE_BYTES);
    tw_text_add(&w->text, "      aie.trace.start_config @%s\n", xd_write_local("trace", c->tile).text);
    any = true;
  }
}

void xd_write_sequence(xd_writer *w) {
  tw_text_add_string(&w->text, "    aie.runtime_sequence @sequence(");
  write_arguments(w);
  tw_text_add_string(&w->text, ") {\n");
  write_start_of_traces(w);
  for (size_t i = 0; i < w->program->sequence.n && w->status == TW_OK; i++) {
    const xd_command *k = &w->program->sequence.at[i];
    if (k->kind == XD_START) write_start(w, k);
    if (k->kind == XD_SET_LOCK) write_open(w, k);
    if (k->kind == XD_SET && k->buffer) write_word(w, k);
    if (k->kind == XD_AWAIT)
      tw_text_add(&w->text, "      aiex.npu.dma_wait {symbol = @%s}\n", metadata_of(w, k->channel).text);
  }
  tw_text_add_string(&w->text, "    }\n");
}
