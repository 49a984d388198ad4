/* test_base.c - strings, files, processes, hash, random numbers, parallel loops. */
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/embedded.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/parallel.h"
#include "base/process.h"
#include "base/random.h"
#include "base/strings.h"

static void text_grows_and_is_handed_over(void **state) {
  tw_text text = {0};
  for (int i = 0; i < 1000; i++) tw_text_add(&text, "%d,", i);
  tw_text_add_bytes(&text, "a\0b", 3);
  assert_int_equal(text.length, 3890 + 3);
  char *data = tw_text_take(&text);
  assert_memory_equal(data, "0,1,2,", 6);
  assert_memory_equal(data + 3890, "a\0b", 4);
  assert_null(text.data);
  free(data);
  data = tw_text_take(&text);
  assert_string_equal(data, "");
  free(data);
}

static void numbers_are_taken_whole_or_not_at_all(void **state) {
  int64_t i;
  double r;
  assert_true(tw_parse_int("-9223372036854775808", &i));
  assert_true(i == INT64_MIN);
  static const char *const bad[] = {"", " 1", "1 ", "9223372036854775808", "1e3", "+", "-", "0x1", "one"};
  for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) assert_false(tw_parse_int(bad[n], &i));
  assert_true(tw_parse_real("-1.5e3", &r));
  assert_true(r == -1500);
  static const char *const not_real[] = {"", "nan", "inf", "1e999", " 1", "1x", "0x1p3", "."};
  for (size_t n = 0; n < sizeof not_real / sizeof *not_real; n++) assert_false(tw_parse_real(not_real[n], &r));
  static const double reals[] = {0, 1, 0.1, 1.0 / 3, 1e300, 5e-324, -123456789.123};
  for (size_t n = 0; n < sizeof reals / sizeof *reals; n++) {
    char buffer[32];
    assert_true(strtod(tw_print_real(reals[n], buffer), NULL) == reals[n]);
  }
}

static void text_is_cut_between_words(void **state) {
  char text[24] = "one";
  tw_append_cut(text, sizeof text, " and two");
  assert_string_equal(text, "one and two");
  tw_append_cut(text, sizeof text, ", 12345.678 and more");
  assert_string_equal(text, "one and two ...");
  tw_append_cut(text, sizeof text, "no more of it, whatever it is");
  assert_string_equal(text, "one and two ...");
  char exact[8] = "";
  tw_append_cut(exact, sizeof exact, "1234567");
  assert_string_equal(exact, "1234567");
  char word[8] = "";
  tw_append_cut(word, sizeof word, "12345678");
  assert_string_equal(word, " ...");
}

static void near_words_are_found(void **state) {
  static const char *const words[] = {"gemm", "conv2d", "attention"};
  assert_string_equal(tw_nearest_word("gem", words, 3), "gemm");
  assert_string_equal(tw_nearest_word("atention", words, 3), "attention");
  assert_string_equal(tw_nearest_word("con", words, 3), "conv2d");
  assert_null(tw_nearest_word("co", words, 3));
  assert_string_equal(tw_nearest_word("xdna", (const char *[]){"xdna2-halo", "xdna2"}, 2), "xdna2");
  assert_string_equal(tw_nearest_word("x68", (const char *[]){"cuda", "x86"}, 2), "x86");
  assert_string_equal(tw_nearest_word("gemini", (const char *[]){"x86", "gemmini-16x16-int8"}, 2),
                      "gemmini-16x16-int8");
  assert_string_equal(tw_nearest_word("tuen", (const char *[]){"run", "tune"}, 2), "tune");
  assert_null(tw_nearest_word("softmax", words, 3));
  assert_null(tw_nearest_word("", words, 3));
  const char *const letters[] = {"m", "n", "k", "bias"};
  assert_null(tw_nearest_word("z", letters, 4)); /* one letter for another is another word */
  assert_null(tw_nearest_word("", letters, 4));
  assert_null(tw_nearest_word("zz", letters, 4));
  assert_string_equal(tw_nearest_word("K", letters, 4), "k");
  assert_string_equal(tw_nearest_word("mm", letters, 4), "m");
  assert_string_equal(tw_nearest_word("BIAS", letters, 4), "bias");
}

static void expect_hash(const char *text, size_t times, const char *digest) {
  tw_hash hash;
  char got[TW_HASH_TEXT];
  tw_hash_start(&hash);
  for (size_t i = 0; i < times; i++) tw_hash_add(&hash, text, strlen(text));
  tw_hash_finish_text(&hash, got);
  assert_string_equal(got, digest);
}

static void hash_is_sha256(void **state) {
  /* the examples of FIPS 180-2, appendix B */
  expect_hash("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect_hash("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  expect_hash("a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void random_numbers_are_the_same_everywhere(void **state) {
  tw_random r = {{1, 2, 3, 4}}; /* xoshiro256**: 7 * 9 rotated, by hand: 2*5=10, rotl 7 = 1280, *9 = 11520 */
  assert_true(tw_random_next(&r) == 11520);
  assert_true(tw_random_next(&r) == 0); /* s[1] is 1^2^3 = 0 after the first step */
  tw_random_seed(&r, 0);
  assert_true(r.s[0] == 0xe220a8397b1dcdafu); /* splitmix64's first number from 0 */
  tw_random a, b;
  tw_random_seed_stream(&a, 1, 1);
  tw_random_seed_stream(&b, 1, 2);
  assert_true(tw_random_next(&a) != tw_random_next(&b));
}

static void random_numbers_cover_their_range_evenly(void **state) {
  tw_random r;
  int count[7] = {0};
  double sum = 0;
  tw_random_seed(&r, 42);
  for (int i = 0; i < 70000; i++) {
    int64_t x = tw_random_between(&r, -3, 3);
    assert_in_range(x + 3, 0, 6);
    count[x + 3]++;
    sum += tw_random_real(&r);
  }
  for (int i = 0; i < 7; i++) assert_in_range(count[i], 9500, 10500);
  assert_true(fabs(sum / 70000 - 0.5) < 0.01);
  int items[50], seen[50] = {0};
  for (int i = 0; i < 50; i++) items[i] = i;
  tw_random_shuffle(&r, items, 50, sizeof *items);
  int moved = 0;
  for (int i = 0; i < 50; i++) seen[items[i]]++, moved += items[i] != i;
  for (int i = 0; i < 50; i++) assert_int_equal(seen[i], 1);
  assert_true(moved > 30);
}

static void count_up(void *context, size_t index) { atomic_fetch_add((atomic_int *)context + index, 1); }

static void nested(void *context, size_t index) {
  tw_parallel_for(3, 10, count_up, (atomic_int *)context + 10 * index);
}

typedef struct ending {
  volatile int flag;
  int calls;
} ending;

static void ask_for_an_end(void *context, size_t index) {
  ending *e = context;
  e->calls++;
  if (index == 3) e->flag = 1;
}

static void outer_loop(void *context, size_t index) {
  (void)index;
  tw_parallel_for(1, 100, ask_for_an_end, context);
}

static void an_interrupt_ends_loops_and_loops_in_them(void **state) {
  ending e = {0};
  const tw_stop stop = {.interrupt = &e.flag};
  assert_null(tw_parallel_until(&stop));
  tw_parallel_for(1, 100, ask_for_an_end, &e);
  assert_int_equal(e.calls, 4);
  e = (ending){0};
  tw_parallel_for(1, 100, outer_loop, &e);
  assert_int_equal(e.calls, 4);
  const tw_stop past = {.deadline = 1e-9};
  e.calls = 0;
  tw_parallel_until(&past);
  tw_parallel_for(1, 100, ask_for_an_end, &e);
  assert_int_equal(e.calls, 0);
  assert_ptr_equal(tw_parallel_until(NULL), &past);
  tw_parallel_for(1, 100, ask_for_an_end, &e);
  assert_int_equal(e.calls, 100);
}

static void count_if_stopped(void *context, size_t index) {
  (void)index;
  if (tw_is_stop_asked()) atomic_fetch_add((atomic_int *)context, 1);
}

static void threads_of_loops_know_when_to_stop(void **state) {
  const tw_stop past = {.deadline = 1e-9};
  atomic_int n = 0;
  assert_null(tw_stop_by(&past));
  tw_parallel_for(4, 100, count_if_stopped, &n);
  assert_ptr_equal(tw_stop_by(NULL), &past);
  assert_int_equal(n, 100);
  tw_parallel_for(4, 100, count_if_stopped, &n);
  assert_int_equal(n, 100);
}

static void parallel_for_calls_each_index_once(void **state) {
  static const int jobs[] = {0, 1, 2, 7, 1000};
  for (size_t j = 0; j < 5; j++) {
    atomic_int count[100] = {0};
    tw_parallel_for(jobs[j], 100, count_up, count);
    for (int i = 0; i < 100; i++) assert_int_equal(count[i], 1);
  }
  atomic_int count[100] = {0};
  tw_parallel_for(4, 10, nested, count);
  for (int i = 0; i < 100; i++) assert_int_equal(count[i], 1);
  tw_parallel_for(4, 0, count_up, NULL);
  assert_true(tw_cores() >= 1);
}

static char *new_directory(void) {
  char *path;
  assert_int_equal(tw_directory_temporary(&path, NULL), TW_OK);
  return path;
}

static void files_are_written_whole_and_read_back(void **state) {
  char *directory = new_directory(), *deep = tw_path_join(directory, "a/b/c"), *path = tw_path_join(deep, "file");
  tw_error error;
  char *data;
  size_t length;
  assert_int_equal(tw_directory_make(deep, &error), TW_OK);
  assert_int_equal(tw_directory_make(deep, &error), TW_OK);
  assert_int_equal(tw_file_write(path, "old", 3, &error), TW_OK);
  assert_int_equal(tw_file_write(path, "new\0text", 8, &error), TW_OK);
  assert_int_equal(tw_file_read(path, 8, &data, &length, &error), TW_OK);
  assert_int_equal(length, 8);
  assert_memory_equal(data, "new\0text", 9);
  free(data);
  assert_int_equal(tw_file_read(path, 7, &data, &length, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "larger"));
  assert_int_equal(tw_file_read(directory, 7, &data, &length, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "directory"));
  assert_int_equal(tw_directory_make(path, &error), TW_USAGE);
  assert_int_equal(tw_file_write(directory, "x", 1, &error), TW_USAGE);
  tw_directory_remove(directory);
  assert_false(tw_file_exists(directory));
  assert_int_equal(tw_file_read(path, 7, &data, &length, &error), TW_USAGE);
  assert_non_null(strstr(error.text, path));
  free(path);
  free(deep);
  free(directory);
}

static void full_disk_is_said(void **state) {
  tw_error error = {0};
  assert_int_equal(tw_file_write("/dev/full", "x", 1, &error), TW_DISK_FULL);
  assert_non_null(strstr(error.text, "its disk is full"));
}

/* A limit on file size stands for a disk that fills up in the middle: the old content stays, no rest remains. */
static void failed_write_leaves_the_old_file(void **state) {
  char *directory = new_directory(), *path = tw_path_join(directory, "file"), big[5000] = {0}, *data;
  tw_error error;
  struct rlimit unlimited, small;
  assert_int_equal(tw_file_write(path, "old", 3, NULL), TW_OK);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  small = (struct rlimit){1000, unlimited.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  tw_status status = tw_file_write(path, big, sizeof big, &error);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  assert_int_equal(status, TW_DISK_FULL);
  assert_non_null(strstr(error.text, "its disk is full"));
  assert_int_equal(tw_file_read(path, 100, &data, NULL, NULL), TW_OK);
  assert_string_equal(data, "old");
  free(data);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(directory), 0); /* nothing else was left in it */
  free(path);
  free(directory);
}

static tw_process_result run(tw_process_options options) {
  tw_process_result result;
  tw_error error;
  if (tw_process_run(&options, &result, &error) != TW_OK) fail_msg("%s", error.text);
  return result;
}

#define SHELL(text)                                                                                                    \
  .argv = (const char *const[]) { "sh", "-c", text, NULL }

static void process_output_and_status_come_back(void **state) {
  tw_process_result r = run((tw_process_options){SHELL("echo out; echo err >&2; exit 7")});
  assert_int_equal(r.exit_status, 7);
  assert_string_equal(r.output, "out\nerr\n");
  tw_process_result_free(&r);
  r = run((tw_process_options){SHELL("kill -SEGV $$")});
  assert_int_equal(r.exit_status, -1);
  assert_int_equal(r.signal, SIGSEGV);
  tw_process_result_free(&r);
  r = run((tw_process_options){SHELL("pwd"), .directory = "/usr"});
  assert_string_equal(r.output, "/usr\n");
  tw_process_result_free(&r);
}

static void process_input_is_fed_and_output_cut(void **state) {
  size_t size = 3000000;
  char *input = malloc(size);
  memset(input, 'x', size);
  tw_process_result r =
      run((tw_process_options){SHELL("cat"), .input = input, .input_length = size, .output_limit = 1000});
  assert_int_equal(r.exit_status, 0);
  assert_int_equal(r.length, 1000);
  assert_true(r.truncated);
  tw_process_result_free(&r);
  r = run((tw_process_options){SHELL("exit 0"), .input = input, .input_length = size}); /* does not read: no SIGPIPE */
  assert_int_equal(r.exit_status, 0);
  tw_process_result_free(&r);
  r = run((tw_process_options){SHELL("cat | wc -c"), .input = input, .input_length = size});
  assert_int_equal(atoi(r.output), 3000000);
  tw_process_result_free(&r);
  free(input);
}

static void process_that_does_not_end_is_killed_with_its_children(void **state) {
  char *directory = new_directory(), *path = tw_path_join(directory, "late");
  char command[600];
  snprintf(command, sizeof command, "(sleep 4; touch %s) & echo started; sleep 100", path);
  tw_process_result r = run((tw_process_options){SHELL(command), .seconds = 2});
  assert_true(r.timed_out);
  assert_int_equal(r.signal, SIGKILL);
  assert_string_equal(r.output, "started\n");
  tw_process_result_free(&r);
  sleep(3);
  assert_false(tw_file_exists(path));
  volatile int interrupt = 1;
  r = run((tw_process_options){SHELL("sleep 100"), .interrupt = &interrupt});
  assert_true(r.interrupted);
  tw_process_result_free(&r);
  tw_directory_remove(directory);
  free(path);
  free(directory);
}

static void process_that_cannot_start_is_named(void **state) {
  tw_process_result r;
  tw_error error;
  tw_process_options options = {.argv = (const char *const[]){"no-such-compiler", NULL}};
  assert_int_equal(tw_process_run(&options, &r, &error), TW_MISSING);
  assert_non_null(strstr(error.text, "no-such-compiler"));
  options = (tw_process_options){SHELL("true"), .directory = "/no/such/place"};
  assert_int_equal(tw_process_run(&options, &r, &error), TW_MISSING);
  assert_non_null(strstr(error.text, "/no/such/place"));
  assert_true(tw_process_find("sh"));
  assert_false(tw_process_find("no-such-compiler"));
}

static void run_many(void *context, size_t index) {
  (void)index;
  tw_process_result r;
  tw_process_options options = {SHELL("cat"), .input = "12345", .input_length = 5};
  if (tw_process_run(&options, &r, NULL) == TW_OK && r.exit_status == 0 && strcmp(r.output, "12345") == 0)
    atomic_fetch_add((atomic_int *)context, 1);
  tw_process_result_free(&r);
}

static void processes_run_from_many_threads(void **state) {
  atomic_int right = 0;
  tw_parallel_for(8, 64, run_many, &right);
  assert_int_equal(right, 64);
}

static void embedded_files_are_in_order_and_ended(void **state) {
  const tw_embedded *last = NULL, *e;
  for (size_t i = 0; (e = tw_embedded_at(i)); i++) {
    assert_ptr_equal(tw_embedded_find(e->name), e);
    assert_int_equal(e->data[e->size], 0);
    if (last) assert_true(strcmp(last->name, e->name) < 0);
    last = e;
  }
  assert_null(tw_embedded_find("no such file"));
}

static void a_heap_gives_its_entries_in_order(void **state) {
  enum { N = 1000 };
  tw_heap_entry room[N], before = {-1, 0, 0};
  tw_heap h = {.entry = room};
  tw_random r;
  tw_random_seed(&r, 1);
  for (int i = 0; i < N; i++) /* many equal times and priorities */
    tw_heap_push(&h, (tw_heap_entry){(double)tw_random_between(&r, 0, 9), (int)tw_random_between(&r, 0, 9), i});
  for (int taken = 0; h.n; taken++) {
    const tw_heap_entry now = tw_heap_pop(&h);
    assert_true(now.at > before.at || (now.at == before.at && now.priority > before.priority) ||
                (now.at == before.at && now.priority == before.priority && now.value > before.value));
    before = now;
    if (taken < N / 2) tw_heap_push(&h, (tw_heap_entry){now.at + 1, now.priority, N + taken});
    assert_int_equal(h.n, taken < N / 2 ? N : N - 1 - (taken - N / 2));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_grows_and_is_handed_over),
      cmocka_unit_test(a_heap_gives_its_entries_in_order),
      cmocka_unit_test(numbers_are_taken_whole_or_not_at_all),
      cmocka_unit_test(text_is_cut_between_words),
      cmocka_unit_test(near_words_are_found),
      cmocka_unit_test(hash_is_sha256),
      cmocka_unit_test(random_numbers_are_the_same_everywhere),
      cmocka_unit_test(random_numbers_cover_their_range_evenly),
      cmocka_unit_test(parallel_for_calls_each_index_once),
      cmocka_unit_test(an_interrupt_ends_loops_and_loops_in_them),
      cmocka_unit_test(threads_of_loops_know_when_to_stop),
      cmocka_unit_test(files_are_written_whole_and_read_back),
      cmocka_unit_test(full_disk_is_said),
      cmocka_unit_test(failed_write_leaves_the_old_file),
      cmocka_unit_test(process_output_and_status_come_back),
      cmocka_unit_test(process_input_is_fed_and_output_cut),
      cmocka_unit_test(process_that_does_not_end_is_killed_with_its_children),
      cmocka_unit_test(process_that_cannot_start_is_named),
      cmocka_unit_test(processes_run_from_many_threads),
      cmocka_unit_test(embedded_files_are_in_order_and_ended),
  };
  return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
