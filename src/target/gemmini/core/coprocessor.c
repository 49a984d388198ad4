/* coprocessor.c - custom instructions and fences: where the core meets the rest of the machine. */
#include <inttypes.h>

#include "target/gemmini/core/core.h"

enum { COMMAND_RESULT_READY = 2 }; /* after the command's WB */

/* Offers a command in WB. A command that is not accepted there is replayed: it waits in decode until the coprocessor is
 * ready and issues in the next cycle (Core 755, 895-896). Returns false with a fault described. */
bool rv64_command(rv64_core *core, const rv64_insn *in, uint64_t pc, uint64_t *issue) {
  uint32_t encoding = (uint32_t)in->imm;
  bool xd = encoding >> 14 & 1, xs1 = encoding >> 13 & 1, xs2 = encoding >> 12 & 1;
  unsigned rd = xd ? in->rd : RV64_SINK;
  uint64_t t = *issue;
  rv64_answer answer = {0, 0};
  if (xs1) t = later(t, core->x_ready[in->rs1]);
  if (xs2) t = later(t, core->x_ready[in->rs2]);
  if (xd) t = later(t, core->x_ready[rd]);
  *issue = t;
  if (!core->ports->command) {
    rv64_fault(core, pc, "illegal instruction 0x%08" PRIx32 ": this machine has no coprocessor", encoding);
    return false;
  }
  char why[256];
  why[0] = '\0';
  uint64_t offered = t + STAGES_TO_WRITE_BACK;
  if (core->ports->place) core->ports->place(core->ports->context, pc);
  uint64_t taken = core->ports->command(core->ports->context, offered, encoding, xs1 ? core->x[in->rs1] : 0,
                                        xs2 ? core->x[in->rs2] : 0, &answer, why);
  if (taken == UINT64_MAX) {
    rv64_fault(core, pc, "%s", why[0] ? why : "the coprocessor refused the command");
    return false;
  }
  if (taken > offered) {
    t = later(taken + 1, rv64_fetch_again(core, pc, t));
    rv64_waits_again(core, pc, t);
  }
  core->last_command = t;
  core->unfenced = true;
  if (xd) {
    core->x[rd] = answer.value;
    core->x_ready[rd] = later(t + STAGES_TO_WRITE_BACK, answer.cycle) + COMMAND_RESULT_READY;
  }
  *issue = t;
  return true;
}

/* A fence waits in decode while a command is in the pipeline or the coprocessor is busy. It holds back later
 * instructions until earlier memory accesses have left the cache's pipeline (Core 262-274). */
bool rv64_fence(rv64_core *core, uint64_t pc, uint64_t *issue) {
  uint64_t t = later(*issue, core->last_command + STAGES_TO_WRITE_BACK + 1);
  char why[256] = "the coprocessor failed";
  if (core->ports->fence && (t = core->ports->fence(core->ports->context, t, why)) == UINT64_MAX) {
    rv64_fault(core, pc, "%s", why);
    return false;
  }
  if (core->unfenced && core->ports->lost) rv64_lose_lines(core, t);
  core->unfenced = false;
  *issue = later(t, core->last_memory + STAGES_TO_WRITE_BACK);
  return true;
}
