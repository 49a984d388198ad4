/* journal.h - the crash-safe record of searches on one problem and target: an SQLite file.
 *
 * Every candidate is written when its verdict is known, each in its own transaction. A killed search leaves all
 * candidates that ended before. A resumed search proposes the same candidates in the same order and recalls their
 * verdicts. So it ends with the same result.
 *
 * If the file cannot be written any more (disk full), the search continues. Candidates stay `recorded = false` in
 * memory and are written again with the next candidate and at the end. tw_journal_trouble gives the reason.
 *
 * Tables: journal (key, value: what the file is for), search (one row for each set of options), candidate (one row
 * each; `message`, `source`, `schedule` as text, `counters` and `memory` as JSON objects; `schedule` is NULL for a
 * source without a schedule; `at`: seconds of search before its verdict; `place`: who evaluated it), exchange
 * (questions of agents, with the answers), fact (of a search: its command line, its bound, its best candidate, ...;
 * for reports). */
#ifndef TW_SEARCH_JOURNAL_H
#define TW_SEARCH_JOURNAL_H

#include "agent/agent.h"

typedef struct tw_journal tw_journal;

/* The options of a search by a runner begin with this line: only searches by runners recall its outcomes. */
#define TW_JOURNAL_RUNNER "evaluated by a runner\n"

/* All that a verdict depends on: a journal is for one such subject. */
typedef struct tw_journal_subject {
  const char *version; /* version of tilewright */
  const char *target;
  const char *machine; /* the full description of the target */
  const char *problem;
  const char *unit; /* of cost */
} tw_journal_subject;

/* Opens or creates the file. TW_USAGE if it is not a journal or has another subject (then it is not changed),
 * TW_MISSING without disk space. `options` are all other inputs that determine the search, `seed` is the seed of its
 * kernels' inputs. */
tw_status tw_journal_open(const char *path, const tw_journal_subject *, const char *agent, const char *options,
                          uint64_t seed, tw_journal **out, tw_error *);
/* Was this source evaluated with the same seed, and with a runner if this search has one (otherwise without)? Then
 * fills verdict, message, measurement and time. */
bool tw_journal_recall(tw_journal *, tw_candidate *);
/* The questions to agents' models in this search, with their answers. Valid until close. */
tw_memo tw_journal_memo(tw_journal *);
/* Writes the candidate and earlier ones that could not be written. */
void tw_journal_record(tw_journal *, tw_candidate *);
/* Writes a candidate again after its verdict changed. */
void tw_journal_amend(tw_journal *, tw_candidate *);
/* Do outcomes of a runner in this journal belong to this machine? The first outcome decides. */
bool tw_journal_is_machine(tw_journal *, const char *digest);
/* Stores a fact about this search for reports: a text, or a number if `text` is NULL. Does nothing without a
 * journal. */
void tw_journal_state(tw_journal *, const char *key, const char *text, double number);
/* Facts between `true` and `false` are written in one transaction. */
void tw_journal_together(tw_journal *, bool begin);
/* Tries again to write everything. Returns NULL, or one line that names the failure and its reason. Valid until
 * close. */
const char *tw_journal_trouble(tw_journal *);
/* Marks the search as finished, or only closes the file. */
void tw_journal_close(tw_journal *, bool finished);

#endif
