/* fault.c - describes a fault in one line with its place in the source. */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "target/gemmini/core/core.h"

rv64_stop rv64_fault(rv64_core *core, uint64_t pc, const char *format, ...) {
  rv64_result *result = core->result;
  char place[256];
  rv64_describe_code(core->memory, pc, place, sizeof place);
  int n = snprintf(result->why, sizeof result->why, "%s: ", place);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(result->why + n, sizeof result->why - (size_t)n, format, arguments);
  va_end(arguments);
  return RV64_FAULT;
}

static const rv64_region *stack_of(const rv64_memory *memory) { return &memory->region[memory->n_regions - 1]; }

rv64_stop rv64_fault_access(rv64_core *core, uint64_t pc, uint64_t address, unsigned size, unsigned rights) {
  const rv64_memory *memory = core->memory;
  const char *verb = rights & RV64_WRITE ? "store" : "load";
  char text[384];
  if (rv64_region_find(memory, address, 1) && address & (size - 1)) {
    rv64_describe_address(memory, address, text, sizeof text);
    return rv64_fault(core, pc, "misaligned %s of %u bytes at 0x%" PRIx64 " (%s)", verb, size, address, text);
  }
  const rv64_region *r = rv64_region_find(memory, address, size);
  if (r && rv64_is_in_flight(r, address - r->base, size)) {
    rv64_describe_address(memory, address, text, sizeof text);
    char writer[128];
    rv64_describe_code(memory, rv64_writer_of(r, address - r->base, size), writer, sizeof writer);
    return rv64_fault(core, pc, "%s of %s before a fence: the mvout at %s writes there and may not have completed",
                      verb, text, writer);
  }
  /* a region exists below the stack: at least the code */
  const rv64_region *stack = stack_of(memory), *below = stack - 1;
  if (address < stack->base && address >= below->base + below->size + (4u << 10))
    return rv64_fault(core, pc,
                      "stack overflow: %s at 0x%" PRIx64 ", %" PRIu64 " bytes below the stack of %" PRIu64 " bytes",
                      verb, address, stack->base - address, stack->size);
  rv64_describe_access(memory, address, size, rights, text, sizeof text);
  return rv64_fault(core, pc, "%s of %s", verb, text);
}

rv64_stop rv64_fault_jump(rv64_core *core, uint64_t pc, uint64_t target) {
  char text[256];
  rv64_describe_address(core->memory, target, text, sizeof text);
  return rv64_fault(core, pc, "jump to 0x%" PRIx64 ", %s, which is not code", target, text);
}

/* The console text of a result is one line of printable characters and a '\0'. Text that does not fit is cut. */
void rv64_console_put(rv64_result *result, size_t *length, unsigned char c) {
  static const char note[] = "... (cut)";
  char text[8];
  if (isprint(c) && c != '\\')
    snprintf(text, sizeof text, "%c", c);
  else if (c == '\n')
    strcpy(text, "\n");
  else
    snprintf(text, sizeof text, c == '\\' ? "\\\\" : "\\x%02x", c);
  size_t n = strlen(text), room = sizeof result->console - sizeof note;
  if (*length + n <= room) {
    memcpy(result->console + *length, text, n + 1);
    *length += n;
  } else if (*length <= room) {
    memcpy(result->console + *length, note, sizeof note);
    *length = sizeof result->console;
  }
}
