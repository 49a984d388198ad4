/* mcp_command.h - what the tools and the prompts of `tilewright mcp` share: their arguments, and a subcommand that runs with
 * --json as a separate process. */
#ifndef TW_CLI_MCP_COMMAND_H
#define TW_CLI_MCP_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/mcp.h"

/* An argument, or a member of a result. */
typedef struct mcp_parameter {
  const char *name, *type, *help;
  bool required;
} mcp_parameter;

#define MCP_TARGET                                                                                                     \
  { "target", "string", "the machine, as the tool targets lists them", true }
#define MCP_PROBLEM                                                                                                    \
  { "problem", "string", "op and keys in one line: \"gemm m=512 n=512 k=512\"", true }
/* TW_USAGE if the value is not of the parameter's type. `name`: the tool or prompt; `key`: the argument. */
tw_status mcp_check_value(const char *name, const char *key, const json_t *value, const mcp_parameter *, tw_error *);

/* ---- running a subcommand ---- */

enum { MCP_WORDS_MAX = 80 };

typedef struct mcp_command {
  const char *word[MCP_WORDS_MAX + 1];
  size_t n;
  char *folder;               /* temporary folder; NULL until it is needed */
  char *owned[MCP_WORDS_MAX]; /* to be freed */
  size_t n_owned;
} mcp_command;

mcp_command mcp_begin(const char *subcommand);
void mcp_add(mcp_command *, const char *word);
/* Takes ownership of the word; NULL: nothing is added. */
void mcp_add_owned(mcp_command *, char *word);
/* "gemm m=512 n=512" as separate words. */
void mcp_add_problem(mcp_command *, const json_t *arguments);
void mcp_add_target(mcp_command *, const json_t *arguments);
/* Writes the argument's text to a file and passes it, with `option` if that is not NULL. Does nothing without the
 * argument. */
tw_status mcp_add_file(mcp_command *, const json_t *arguments, const char *name, const char *option, tw_error *);
void mcp_add_number(mcp_command *, const json_t *arguments, const char *name, const char *option);
/* The output of the subcommand; with a separate `error` if it could not be run. NULL if it was cancelled. */
json_t *mcp_run(mcp_command *, const mcp_listener *);
/* Runs the subcommand, unless `status` is a failure, and frees the command. */
json_t *mcp_finish(mcp_command *, tw_status status, const tw_error *, const mcp_listener *);
void mcp_clean(mcp_command *);

const char *mcp_text_of(const json_t *arguments, const char *name);
json_t *mcp_failure(const tw_error *);

#endif
