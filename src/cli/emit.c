/* emit.c - `tilewright emit OP key=value... -t TARGET [--schedule FILE] [--floorplan FILE] [--from FILE] [--out DIR]`:
 * prints the source of a schedule, or of the user; draws its floor plan; with --out writes files for the tools of the
 * real machine instead of printing. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "cli/cli.h"
#include "evaluate/stated.h"

static tw_status write_floorplan(const cli *c, const cli_subject *s, const tw_schedule *schedule, tw_error *error) {
  char *svg = NULL;
  if (!c->options.floorplan) return TW_OK;
  if (!s->target->exporter || !s->target->exporter->floorplan)
    return tw_fail(error, TW_UNSUPPORTED, "%s has no floor plans; leave out --floorplan", s->target->name);
  tw_status status = s->target->exporter->floorplan(s->target, &s->problem, schedule, &svg, error);
  if (status == TW_OK) status = tw_file_write(c->options.floorplan, svg, strlen(svg), error);
  free(svg);
  return status;
}

static tw_status write_design(const cli *c, const cli_subject *s, const tw_schedule *schedule, const char *source,
                              tw_error *error) {
  tw_text names = {0};
  const tw_status status = cli_write_design(c->options.out, s, schedule, source, &names, error);
  char *list = tw_text_take(&names);
  if (status == TW_OK && list && !c->options.json) {
    cli_wrap_output();
    printf("in %s: %s\n", c->options.out, list);
  }
  free(list);
  return status;
}

static tw_status emit(const cli_subject *s, const tw_schedule *schedule, char **source, tw_error *error) {
  char *plain;
  const tw_status status = tw_target_emit(s->target, &s->problem, schedule, &plain, error);
  if (status != TW_OK) return status;
  *source = tw_stated_text(s->target, &s->problem, plain);
  free(plain);
  return *source ? TW_OK : tw_fail(error, TW_NO_MEMORY, "out of memory while emitting a kernel");
}

tw_status cli_emit(const cli *c, tw_error *error) {
  cli_subject subject;
  tw_schedule schedule;
  char *source;
  size_t length;
  if (c->options.from && (c->options.schedule || c->options.floorplan))
    return tw_fail(error, TW_USAGE, "--from FILE is a kernel without a schedule; leave out --schedule and --floorplan");
  tw_status status = cli_subject_of(c, 0, &subject, error);
  if (status == TW_OK && c->options.from) {
    schedule = (tw_schedule){0};
    status = cli_read_source(c->options.from, &source, &length, error);
  } else {
    if (status == TW_OK) status = cli_read_schedule(c, &subject, &schedule, error);
    if (status == TW_OK) status = emit(&subject, &schedule, &source, error);
  }
  if (status != TW_OK) return status;
  status = write_floorplan(c, &subject, &schedule, error);
  if (status == TW_OK && c->options.out) status = write_design(c, &subject, &schedule, source, error);
  if (status == TW_OK && c->options.json)
    status = cli_print_json(
        c, json_pack("{s:o, s:o}", "source", tw_json_text(source), "schedule", cli_json_schedule(&schedule)), error);
  else if (status == TW_OK && !c->options.out)
    fputs(source, stdout);
  free(source);
  return status;
}
