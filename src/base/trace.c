/* trace.c - see trace.h. */
#include "base/trace.h"

tw_trace tw_trace_begin(FILE *file, double ticks) {
  fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", file);
  return (tw_trace){.file = file, .ticks = ticks};
}

static void begin_event(tw_trace *t) {
  fputs(t->has_event ? ",\n" : "\n", t->file);
  t->has_event = true;
}

void tw_trace_lane(tw_trace *t, const char *lane) {
  begin_event(t);
  fprintf(t->file,
          "{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":1,\"tid\":\"%s\",\"args\":{\"sort_index\":%d}}", lane,
          t->lanes++);
}

void tw_trace_span(tw_trace *t, const char *lane, const char *name, double from, double to) {
  const int digits = t->ticks == 1 ? 0 : 4;
  begin_event(t);
  fprintf(t->file, "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":\"%s\",\"ts\":%.*f,\"dur\":%.*f}", name, lane,
          digits, from / t->ticks, digits, (to - from) / t->ticks);
}

void tw_trace_value(tw_trace *t, const char *name, double at, double value) {
  begin_event(t);
  fprintf(t->file, "{\"name\":\"%s\",\"ph\":\"C\",\"pid\":1,\"ts\":%.*f,\"args\":{\"value\":%.0f}}", name,
          t->ticks == 1 ? 0 : 4, at / t->ticks, value);
}

void tw_trace_end(tw_trace *t, const char *lane, double from, double to) {
  tw_trace_span(t, lane, "kernel", from, to);
  fputs("\n]}\n", t->file);
}
