/* inspect.c - see inspect.h. */
#include "target/cdna/time/inspect.h"

#include "target/cdna/checks/checks.h"

tw_status cdna_inspect_groups(cdna_dispatch *d, const uint64_t group[], int n, const cdna_machine *m, tw_error *error) {
  const cdna_program *p = cdna_dispatch_program(d);
  tw_inspection found = {.checks = "races,waits,barriers"};
  cdna_checker *checker = NULL;
  tw_status status = cdna_checker_new(&found, &checker, error);
  if (status != TW_OK) return status;
  const cdna_observer *observer = cdna_checker_start(checker);
  for (int i = 0; i < n && status == TW_OK; i++) status = cdna_group_run(d, group[i], observer, error);
  if (status == TW_OK) cdna_checker_report(checker, p->object, p->kernel, m, &found);
  cdna_checker_free(checker);
  if (found.n_findings) status = tw_fail(error, TW_FAILED, "differs on the machine: %s", found.finding[0].text);
  tw_inspection_free(&found);
  return status;
}
