/* journal.h - the crash-safe record of searches on one problem and target: an SQLite file.
 *
 * Every candidate is written when its verdict is known, each in a transaction of its own: a search that is killed
 * leaves all that ended before. A resumed search proposes the same candidates in the same order and recalls their
 * verdicts. So it ends with the same result.
 *
 * When the file cannot be written any more (disk full), candidates stay `recorded = false` in memory, are tried again
 * with the next one and at the end, and tw_journal_trouble says what happened: the search goes on.
 *
 * Tables: journal (key, value: what the file is for), search (one row for each set of options), candidate (one row
 * each; `message`, `source`, `schedule` as text, `counters` and `memory` as JSON objects; `schedule` is NULL for a
 * source without a schedule; `at`: seconds of search before its verdict; `place`: who evaluated it), exchange (what
 * agents asked and were answered), fact (of a search: its command line, its bound, its best candidate, ...; for
 * reports). */
#ifndef TW_SEARCH_JOURNAL_H
#define TW_SEARCH_JOURNAL_H

#include "agent/agent.h"

typedef struct tw_journal tw_journal;

/* The options of a search by a runner begin with this line: only searches by runners recall its outcomes. */
#define TW_JOURNAL_RUNNER "evaluated by a runner\n"

/* Everything on which a verdict depends: a journal is for one of these. */
typedef struct tw_journal_subject {
  const char *version; /* version of tilewright */
  const char *target;
  const char *machine; /* the target in full (its description) */
  const char *problem;
  const char *unit; /* of cost */
} tw_journal_subject;

/* Opens or creates. TW_USAGE if the file is not a journal or has another subject (it is left alone), TW_MISSING without
 * room. `options` is everything else that decides the search, `seed` is the seed of its inputs. */
tw_status tw_journal_open(const char *path, const tw_journal_subject *, const char *agent, const char *options,
                          uint64_t seed, tw_journal **out, tw_error *);
/* Was this very source evaluated with the same seed, by a runner as in this search or without one? Then fills verdict,
 * message, measurement and time. */
bool tw_journal_recall(tw_journal *, tw_candidate *);
/* Questions to agents' models and their answers, of this search. Valid until close. */
tw_memo tw_journal_memo(tw_journal *);
/* Writes the candidate and earlier ones that could not be written. */
void tw_journal_record(tw_journal *, tw_candidate *);
/* Writes a candidate again whose verdict has changed. */
void tw_journal_amend(tw_journal *, tw_candidate *);
/* Are outcomes of a runner in this journal of this machine? The first one decides. */
bool tw_journal_is_machine(tw_journal *, const char *digest);
/* A fact about this search, for reports: a text, or without one a number. No journal, no fact. */
void tw_journal_state(tw_journal *, const char *key, const char *text, double number);
/* Facts between `true` and `false` are written in one transaction. */
void tw_journal_together(tw_journal *, bool begin);
/* NULL, or what could not be written and why, in one line, after a last try to write it. Valid until close. */
const char *tw_journal_trouble(tw_journal *);
/* Marks the search as finished, or only closes the file. */
void tw_journal_close(tw_journal *, bool finished);

#endif
