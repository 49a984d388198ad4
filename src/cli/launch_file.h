/* launch_file.h - a launch without an op from a JSON file (--args). */
#ifndef TW_CLI_LAUNCH_FILE_H
#define TW_CLI_LAUNCH_FILE_H

#include <jansson.h>
#include <stdint.h>

#include "cli/cli.h"

enum { CLI_LAUNCH_THREE = 80, CLI_LAUNCH_NAME = 64 };

typedef struct cli_launch_file {
  json_t *root;                                         /* owns the texts */
  const char *kernel;                                   /* NULL: not given */
  char grid[CLI_LAUNCH_THREE], block[CLI_LAUNCH_THREE]; /* as in the options; empty: not given */
  int64_t lds;
  size_t n;
  /* Name or number of each argument, and its text as in --arg. */
  char name[CLI_LIST_MAX][CLI_LAUNCH_NAME];
  const char *spec[CLI_LIST_MAX];
} cli_launch_file;

/* Free it after errors, too. */
tw_status cli_launch_file_read(const char *path, cli_launch_file *, tw_error *);
void cli_launch_file_free(cli_launch_file *);

#endif
