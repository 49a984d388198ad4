/* report.c - `tilewright report DIR`: DIR/summary.json, as `tune --out DIR` wrote it, as one page DIR/report.html:
 * the ladder, every candidate, where the time went, memory, bound, schedule and sources. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "cli/cli.h"
#include "cli/html.h"
#include "cli/report_journal.h"

enum { SUMMARY_LIMIT = 64 << 20, BARS_MAX = 80 };

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static double number_of(const json_t *object, const char *key) {
  return json_number_value(json_object_get(object, key));
}

static void add_figure(tw_text *out, const char *value, const char *label) {
  tw_text_add_string(out, "<div><b>");
  html_text(out, value);
  tw_text_add_string(out, "</b>");
  html_text(out, label);
  tw_text_add_string(out, "</div>");
}

static void add_headline(tw_text *out, const json_t *summary) {
  const json_t *best = json_object_get(summary, "best"), *bound = json_object_get(summary, "bound");
  const char *unit = text_of(summary, "unit");
  char number[CLI_NUMBER], text[64];
  double cost = number_of(best, unit);
  tw_text_add_string(out, "<div class=\"big\">");
  add_figure(out, cli_print_amount(unit, cost, number), "the best");
  snprintf(text, sizeof text, "%.1f%%", 100 * number_of(best, "utilization"));
  if (strcmp(text_of(bound, "utilization_of"), "bound") != 0) add_figure(out, text, "of the machine's peak");
  snprintf(text, sizeof text, "%.1f%%", cost > 0 ? 100 * number_of(bound, unit) / cost : 0);
  add_figure(out, text, "of the bound");
  snprintf(text, sizeof text, "%.2fx", number_of(best, "speedup"));
  add_figure(out, text, "the start");
  snprintf(text, sizeof text, "%.0f", number_of(summary, "samples"));
  add_figure(out, text, "candidates");
  snprintf(text, sizeof text, "%.1f s", number_of(summary, "wall_seconds"));
  add_figure(out, text, "of search");
  tw_text_add_string(out, "</div>\n<p>The bound: ");
  html_text(out, cli_print_amount(unit, number_of(bound, unit), number));
  tw_text_add(out, " (");
  html_text(out, text_of(bound, "limit"));
  tw_text_add(out, ")</p>\n");
}

static bool is_noise(const json_t *rung) { return json_is_true(json_object_get(rung, "within_error")); }

/* Utilization of each rung; the line is the bound's. */
static void add_ladder(tw_text *out, const json_t *summary) {
  const json_t *ladder = json_object_get(summary, "ladder"), *best = json_object_get(summary, "best");
  const char *unit = text_of(summary, "unit");
  size_t n = json_array_size(ladder) < BARS_MAX ? json_array_size(ladder) : BARS_MAX;
  html_bar bars[BARS_MAX];
  char value[BARS_MAX][64];
  for (size_t i = 0; i < n; i++) {
    const json_t *rung = json_array_get(ladder, i);
    snprintf(value[i], sizeof value[i], "%s%.1f%% · %.2fx", is_noise(rung) ? "~" : "",
             100 * number_of(rung, "utilization"), number_of(rung, "speedup"));
    bars[i] = (html_bar){text_of(rung, "step"), value[i], text_of(rung, "why"), number_of(rung, "utilization"),
                         is_noise(rung)};
  }
  double bound = number_of(json_object_get(summary, "bound"), unit), mark = -1;
  if (bound > 0) mark = number_of(best, "utilization") * number_of(best, unit) / bound;
  tw_text_add_string(out, "<h2>The ladder</h2>\n");
  html_bars(out, bars, n, mark);
  const json_t *error = json_object_get(summary, "error");
  bool any = false;
  for (size_t i = 0; i < n; i++) any |= is_noise(json_array_get(ladder, i));
  if (mark >= 0) tw_text_add_string(out, "<p class=\"why\">The red line is the bound.");
  if (any) {
    tw_text_add(out, "%s~: no gain or loss that is known: below %.2g%% (", mark >= 0 ? " " : "<p class=\"why\">",
                100 * number_of(error, "least"));
    html_text(out, text_of(error, "of"));
    tw_text_add_string(out, ").");
  }
  if (mark >= 0 || any) tw_text_add_string(out, "</p>\n");
  tw_text_add_string(out, "<table class=\"stack\"><tr><th class=\"n\">speed-up<th class=\"n\">cost<th>step</tr>\n");
  for (size_t i = 0; i < n; i++) {
    const json_t *rung = json_array_get(ladder, i);
    char number[CLI_NUMBER];
    tw_text_add(out, "<tr><td class=\"n\">%s%.2fx<td class=\"n\">%s<td>", is_noise(rung) ? "~" : "",
                number_of(rung, "speedup"), cli_print_amount(unit, number_of(rung, unit), number));
    html_text(out, text_of(rung, "step"));
    tw_text_add_string(out, "<div class=\"why\">");
    html_text(out, text_of(rung, "why"));
    tw_text_add_string(out, "</div></tr>\n");
  }
  tw_text_add_string(out, "</table>\n");
}

/* Counters in the unit of cost as shares of it, the others as a table. */
static void add_counters(tw_text *out, const json_t *summary) {
  const json_t *best = json_object_get(summary, "best"), *counters = json_object_get(best, "counters");
  const json_t *legend = json_object_get(summary, "legend");
  const char *unit = text_of(summary, "unit"), *name;
  html_bar bars[BARS_MAX];
  char value[BARS_MAX][80];
  size_t n = 0;
  json_t *counter;
  tw_text others = {0};
  double cost = number_of(best, unit);
  json_object_foreach((json_t *)counters, name, counter) {
    const json_t *entry = json_object_get(legend, name);
    char number[CLI_NUMBER];
    double x = json_number_value(counter);
    const bool time = !strcmp(text_of(entry, "unit"), "seconds"); /* told as us, ms or s */
    time ? cli_print_amount("seconds", x, number) : cli_print_number(x, number);
    if (strcmp(text_of(entry, "unit"), unit) == 0 && cost > 0 && n < BARS_MAX) {
      snprintf(value[n], sizeof value[n], "%s · %.1f%%", number, 100 * x / cost);
      bars[n] = (html_bar){name, value[n], text_of(entry, "help"), x / cost, false};
      n++;
      continue;
    }
    tw_text_add(&others, "<tr><td>");
    html_text(&others, name);
    tw_text_add(&others, "<td class=\"n\">%s<td>", number);
    html_text(&others, time ? "" : text_of(entry, "unit"));
    tw_text_add(&others, "<td class=\"why\">");
    html_text(&others, text_of(entry, "help"));
    tw_text_add(&others, "</tr>\n");
  }
  tw_text_add_string(out, "<h2>Where the time went</h2>\n");
  html_bars(out, bars, n, -1);
  if (others.length) tw_text_add(out, "<table class=\"stack\">%s</table>\n", others.data);
  if (others.failed) out->failed = true;
  tw_text_free(&others);
}

static void add_memory(tw_text *out, const json_t *summary) {
  json_t *memory = json_object_get(json_object_get(summary, "best"), "memory"), *use;
  const char *name;
  html_bar bars[BARS_MAX];
  char value[BARS_MAX][96];
  size_t n = 0;
  json_object_foreach(memory, name, use) {
    char used[CLI_NUMBER], size[CLI_NUMBER];
    if (n == BARS_MAX) break;
    snprintf(value[n], sizeof value[n], "%s of %s bytes", cli_print_number(number_of(use, "used"), used),
             cli_print_number(number_of(use, "size"), size));
    double all = number_of(use, "size");
    bars[n] = (html_bar){name, value[n], NULL, all > 0 ? number_of(use, "used") / all : 0, false};
    n++;
  }
  if (!n) return;
  tw_text_add_string(out, "<h2>Memory in use</h2>\n");
  html_bars(out, bars, n, -1);
}

/* What agents asked models: all together, then each question. */
static void add_exchanges(tw_text *out, const json_t *summary) {
  enum { ROWS_MAX = 1000 };
  const json_t *list = json_object_get(summary, "exchanges");
  const char *unit = text_of(summary, "unit"), *const sums[] = {"tokens_in", "tokens_out", "money", "seconds"};
  const size_t n = json_array_size(list);
  double sum[4] = {0};
  size_t correct = 0;
  if (!n) return;
  for (size_t i = 0; i < n; i++) {
    for (int k = 0; k < 4; k++) sum[k] += number_of(json_array_get(list, i), sums[k]);
    correct += !strcmp(text_of(json_array_get(list, i), "outcome"), "correct");
  }
  tw_text_add(out,
              "<h2>Questions to models</h2>\n<p>%zu questions, %.0f tokens in and %.0f out, %.4g spent, %.1f s of "
              "waiting; %zu correct "
              "kernels came of them",
              n, sum[0], sum[1], sum[2], sum[3], correct);
  tw_text_add(out, n > ROWS_MAX ? "; the first %d:</p>\n" : ".</p>\n", ROWS_MAX);
  tw_text_add(
      out,
      "<div class=\"t\"><table><tr><th class=\"n\">iteration<th>model<th class=\"n\">tokens in<th class=\"n\">out<th "
      "class=\"n\">spent<th class=\"n\">seconds<th>outcome<th class=\"n\">cost</tr>\n");
  for (size_t i = 0; i < n && i < ROWS_MAX; i++) {
    const json_t *e = json_array_get(list, i);
    char number[CLI_NUMBER];
    const double cost = number_of(e, unit);
    tw_text_add(out, "<tr><td class=\"n\">%.0f<td>", number_of(e, "iteration"));
    html_text(out, text_of(e, "model"));
    tw_text_add(out, "<td class=\"n\">%.0f<td class=\"n\">%.0f<td class=\"n\">%.4g<td class=\"n\">%.1f<td>",
                number_of(e, "tokens_in"), number_of(e, "tokens_out"), number_of(e, "money"), number_of(e, "seconds"));
    html_text(out, text_of(e, "outcome"));
    tw_text_add(out, "%s<td class=\"n\">%s</tr>\n", json_is_true(json_object_get(e, "recalled")) ? " (known)" : "",
                cost > 0 ? cli_print_amount(unit, cost, number) : "");
  }
  tw_text_add_string(out, "</table></div>\n");
}

static char *page_of(const json_t *summary, const char *directory) {
  tw_text out = {0};
  char title[700];
  const json_t *best = json_object_get(summary, "best");
  snprintf(title, sizeof title, "%s on %s", text_of(summary, "problem"), text_of(summary, "target"));
  html_head(&out, title);
  add_headline(&out, summary);
  add_ladder(&out, summary);
  report_add_journal(&out, directory, (int)number_of(summary, "samples"));
  add_counters(&out, summary);
  add_memory(&out, summary);
  add_exchanges(&out, summary);
  tw_text_add_string(&out, "<h2>Schedule and sources</h2>\n<pre>");
  html_text(&out, text_of(best, "schedule"));
  tw_text_add_string(&out, "</pre>\n");
  html_source(&out, "the best kernel", text_of(best, "source"));
  html_source(&out, "the kernel at the start", text_of(json_object_get(summary, "start"), "source"));
  html_foot(&out);
  return tw_text_take(&out);
}

static tw_status load_summary(const char *path, json_t **out, tw_error *error) {
  char *text;
  json_error_t why;
  tw_status status = tw_file_read(path, SUMMARY_LIMIT, &text, NULL, error);
  if (status != TW_OK) return status;
  *out = json_loads(text, 0, &why);
  free(text);
  if (!*out)
    return tw_fail(error, TW_USAGE, "%s is not a summary of `tilewright tune --out`: line %d: %s", path, why.line,
                   why.text);
  if (json_is_object(json_object_get(*out, "best")) && json_is_array(json_object_get(*out, "ladder"))) return TW_OK;
  json_decref(*out);
  *out = NULL;
  return tw_fail(error, TW_USAGE, "%s is not a summary of `tilewright tune --out`: it has no best kernel or no ladder",
                 path);
}

static tw_status write_page(const json_t *summary, const char *directory, const char *path, tw_error *error) {
  char *page = page_of(summary, directory);
  if (!page) return tw_no_memory(error, "the report");
  tw_status status = tw_file_write(path, page, strlen(page), error);
  free(page);
  return status;
}

tw_status cli_report(const cli *c, tw_error *error) {
  json_t *summary = NULL;
  if (!c->n_words)
    return tw_fail(error, TW_USAGE, "say which run: `tilewright report DIR`, where DIR is what tune had as --out");
  tw_status status = cli_no_words(c, 1, error);
  if (status != TW_OK) return status;
  char *from = tw_path_join(c->words[0], "summary.json"), *to = tw_path_join(c->words[0], "report.html");
  status = from && to ? load_summary(from, &summary, error) : tw_no_memory(error, NULL);
  if (status == TW_OK) status = write_page(summary, c->words[0], to, error);
  if (status == TW_OK && c->options.json)
    status = cli_print_json(c, json_pack("{s:o}", "report", tw_json_text(to)), error);
  else if (status == TW_OK)
    printf("%s\n", to);
  json_decref(summary);
  free(from);
  free(to);
  return status;
}
