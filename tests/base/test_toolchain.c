/* test_toolchain.c - confined tools. A tool that reads an untrusted text can do its work and nothing else. Its output is
 * inspected before use. The tool is this program itself: it tries what a compromised compiler would try. */
#define _GNU_SOURCE
#include "test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/process.h"
#include "base/strings.h"
#include "toolchain/object.h"
#include "toolchain/toolchain.h"

extern char **environ;

/* AddressSanitizer reads /proc, and takes terabytes of addresses, in the tool as well. */
#if defined __SANITIZE_ADDRESS__
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

/* ---- the probe: what it manages to do is a line of its output ---- */

static void managed(const char *what, bool it) {
  if (it) printf("%s\n", what);
}

static long call(long number, long a, long b, long c, long d) {
  const long result = syscall(number, a, b, c, d, 0L);
  if (result > 0 && (number == SYS_clone || number == SYS_fork)) waitpid((pid_t)result, NULL, 0);
  return result;
}

static void try_files(const char *canary) {
  char beside[4200];
  snprintf(beside, sizeof beside, "%s.made", canary);
  managed("read /etc/passwd", open("/etc/passwd", O_RDONLY) >= 0);
  managed("read the canary", open(canary, O_RDONLY) >= 0);
  managed("write the canary", open(canary, O_WRONLY) >= 0);
  managed("cut the canary", open(canary, O_RDONLY | O_TRUNC) >= 0);
  managed("truncate", truncate(canary, 0) == 0);
  managed("chmod", chmod(canary, 0777) == 0);
  managed("chown", chown(canary, 1, 1) == 0);
  managed("times", utimensat(AT_FDCWD, canary, NULL, 0) == 0);
  managed("unlink", unlink(canary) == 0);
  managed("rename", rename(canary, "taken") == 0);
  managed("link", link(canary, "linked") == 0);
  managed("symlink", symlink(canary, "symlinked") == 0);
  managed("make a file", open(beside, O_WRONLY | O_CREAT, 0666) >= 0);
  managed("make a node", mknod("node", S_IFCHR | 0666, 0x103) == 0);
  managed("make a fifo", mkfifo("fifo", 0666) == 0);
  managed("read /proc", open("/proc/self/environ", O_RDONLY) >= 0);
  managed("read /dev/zero", open("/dev/zero", O_RDONLY) >= 0);
  managed("list /", open("/", O_RDONLY | O_DIRECTORY) >= 0);
  const int tool = open("/proc/self/exe", O_RDONLY);
  managed("change the rights of a tool", tool >= 0 && fchmod(tool, 0777) == 0);
  managed("run another program", execl("/bin/true", "true", NULL) == 0 || errno != EACCES);
}

static void try_system(const char *parent) {
  const pid_t pid = (pid_t)atoi(parent);
  struct rlimit none = {0, 0};
  static char bpf[128];
  managed("socket", call(SYS_socket, 2, 1, 0, 0) >= 0);
  managed("unix socket", call(SYS_socket, 1, 1, 0, 0) >= 0);
  managed("socket pair", call(SYS_socketpair, 1, 1, 0, (long)bpf) >= 0);
  managed("trace", call(SYS_ptrace, PTRACE_ATTACH, pid, 0, 0) >= 0);
  managed("trace itself", call(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0) >= 0);
  managed("read another's memory", call(SYS_process_vm_readv, pid, 0, 0, 0) >= 0);
  managed("mount", call(SYS_mount, (long)"x", (long)".", (long)"tmpfs", 0) >= 0);
  managed("unshare", call(SYS_unshare, CLONE_NEWUSER, 0, 0, 0) >= 0);
  managed("namespaces", call(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0) >= 0);
  managed("a child of its parent", call(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0) >= 0);
  managed("keys", call(SYS_add_key, (long)"user", (long)"x", (long)"y", 1) >= 0);
  managed("keyring", call(SYS_keyctl, 0, -3, 0, 0) >= 0);
  managed("bpf", call(SYS_bpf, 5, (long)bpf, sizeof bpf, 0) >= 0 || errno != ENOSYS);
  managed("perf", call(SYS_perf_event_open, (long)bpf, 0, -1, -1) >= 0 || errno != ENOSYS);
  managed("io_uring", call(425, 1, (long)bpf, 0, 0) >= 0 || errno != ENOSYS);
  managed("userfaultfd", call(SYS_userfaultfd, 0, 0, 0, 0) >= 0 || errno != ENOSYS);
  managed("memory file", call(SYS_memfd_create, (long)"x", 0, 0, 0) >= 0);
  managed("shared memory", call(SYS_shmget, 0, 4096, 01600, 0) >= 0);
  managed("signal its parent", kill(pid, 0) == 0);
  managed("signal a thread", call(SYS_tgkill, pid, pid, 0, 0) == 0);
  managed("limit its parent", call(SYS_prlimit64, pid, RLIMIT_CORE, (long)&none, 0) == 0);
  managed("leave its group", setsid() >= 0 || errno != ENOSYS);
  managed("another's descriptor", call(434, pid, 0, 0, 0) >= 0);
  managed("signals by a pipe", fcntl(1, F_SETOWN, pid) == 0);
  managed("typing", ioctl(0, TIOCSTI, "x") == 0 || errno != ENOSYS);
  managed("chroot", chroot(".") == 0);
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  managed("merged pages", madvise(page, 4096, MADV_MERGEABLE) == 0 || errno != ENOSYS);
  managed("poisoned pages", madvise(page, 4096, MADV_HWPOISON) == 0 || errno != ENOSYS);
  if (madvise(page, 4096, MADV_DONTNEED) != 0) printf("no memory is given back\n");
  managed("host name", sethostname("x", 1) == 0);
}

static void try_what_is_left(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[2] = {{0}};
  struct rlimit r;
  int others = 0, variables = 0;
  for (int i = 3; i < 1024; i++) others += fcntl(i, F_GETFD) >= 0;
  for (char **e = environ; *e; e++) variables++;
  if (others) printf("%d more descriptors\n", others);
  if (variables != 3) printf("%d environment variables\n", variables);
  managed("the caller's environment", getenv("TILEWRIGHT_SECRET") != NULL);
  managed("capabilities", syscall(SYS_capget, &header, data) == 0 && (data[0].permitted || data[1].permitted));
  managed("memory without limit", getrlimit(RLIMIT_AS, &r) != 0 || r.rlim_cur > (rlim_t)4 << 30);
  managed("files without limit", getrlimit(RLIMIT_FSIZE, &r) != 0 || r.rlim_cur > (rlim_t)256 << 20);
  managed("time without limit", getrlimit(RLIMIT_CPU, &r) != 0 || r.rlim_cur > 120);
  managed("core files", getrlimit(RLIMIT_CORE, &r) != 0 || r.rlim_cur > 0);
  managed("a larger limit", setrlimit(RLIMIT_CPU, &(struct rlimit){1000, 1000}) == 0);
}

/* --probe CANARY PARENT: exit status 0 and no output is what is wanted. */
static int probe(char *argv[]) {
  setvbuf(stdout, NULL, _IONBF, 0);
  const int file = open("mine", O_RDWR | O_CREAT, 0666);
  if (file < 0 || write(file, "x", 1) != 1 || unlink("mine") != 0) printf("its own folder is not its own\n");
  close(file);
  try_what_is_left();
  try_system(argv[3]);
  try_files(argv[2]);
  return 0;
}

/* --spin: writes its number, and goes on for ever. */
static _Noreturn void spin(void) {
  FILE *file = fopen("pid", "w");
  if (file) fprintf(file, "%d\n", (int)getpid()), fclose(file);
  for (volatile int i = 0;; i++) {}
}

/* ---- running it ---- */

static char self[4096];

static tw_toolchain open_self(void) {
  static char libraries[4096];
  static const char *read[] = {libraries, NULL};
  static tw_toolchain_kind kind = {.title = "this test", .remedy = "run it from a file", .read = read};
  tw_toolchain tools;
  tw_error error;
  snprintf(libraries, sizeof libraries, "%s", TW_COMMAND);
  *strrchr(libraries, '/') = '\0';
  kind.program[0] = self;
  if (tw_toolchain_open(&kind, &tools, &error) != TW_OK) fail_msg("%s", error.text);
  return tools;
}

static tw_status run_self(const char *const *argv, const char *folder, double seconds, bool trust, char **output,
                          tw_error *error) {
  const tw_toolchain tools = open_self();
  const tw_tool_run run = {
      .argv = argv, .directory = folder, .what = "probing", .seconds = seconds, .trust = trust, .output = output};
  return tw_tool_run_confined(&tools, &run, error);
}

static char *new_folder(void) {
  char *folder = NULL;
  tw_error error;
  if (tw_directory_temporary(&folder, &error) != TW_OK) fail_msg("%s", error.text);
  return folder;
}

/* A file outside of the tool's folder, and what the probe managed to do. */
static void expect_nothing_managed(void) {
  char *folder = new_folder(), *outside = new_folder(), *canary = tw_path_join(outside, "canary"), *output = NULL;
  char parent[32];
  struct stat before, after;
  tw_error error = {0};
  snprintf(parent, sizeof parent, "%d", (int)getpid());
  assert_int_equal(tw_file_write(canary, "secret", 6, &error), TW_OK);
  assert_int_equal(stat(canary, &before), 0);
  const int inherited = open(canary, O_RDWR); /* not closed on exec: a caller's carelessness */
  setenv("TILEWRIGHT_SECRET", "x", 1);
  const char *const argv[] = {"", "--probe", canary, parent, NULL};
  if (run_self(argv, folder, 20, false, &output, &error) != TW_OK) fail_msg("%s", error.text);
  unsetenv("TILEWRIGHT_SECRET");
  assert_string_equal(output, "");
  free(output);
  assert_int_equal(stat(canary, &after), 0);
  assert_int_equal(after.st_size, 6);
  assert_int_equal(after.st_mode, before.st_mode);
  assert_int_equal(after.st_nlink, 1);
  assert_true(after.st_mtim.tv_sec == before.st_mtim.tv_sec && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
  close(inherited);
  tw_directory_remove(folder);
  tw_directory_remove(outside);
  free(folder), free(outside), free(canary);
}

static void a_tool_can_do_nothing_but_its_work(void **state) {
  if (sanitized) skip();
  expect_nothing_managed();
}

/* As nobody, in a process of its own. */
static void neither_can_it_for_a_user_without_rights(void **state) {
  enum { NOBODY = 65534 };
  if (sanitized) skip();
  if (getuid() != 0) {
    print_message("this is such a user already\n");
    skip();
  }
  if (eaccess(self, X_OK) != 0) skip();
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0 || access(self, X_OK) != 0) _exit(77);
    expect_nothing_managed();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    print_message("no user but root may run %s\n", self);
    skip();
  }
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_system_that_cannot_confine_is_refused_without_trust(void **state) {
  static const char *const lacks[] = {"landlock", "seccomp"};
  if (sanitized) skip();
  for (int i = 0; i < 2; i++) {
    char *folder = new_folder(), *output = NULL;
    const char *const argv[] = {"", "--nothing", NULL};
    tw_error error = {0};
    setenv("TILEWRIGHT_TEST_LACKS", lacks[i], 1);
    const tw_status refused = run_self(argv, folder, 0, false, NULL, &error);
    const tw_status trusted = run_self(argv, folder, 0, true, &output, NULL);
    unsetenv("TILEWRIGHT_TEST_LACKS");
    assert_int_equal(refused, TW_MISSING);
    assert_non_null(strstr(error.text, "cannot confine"));
    assert_non_null(strstr(error.text, "--trust"));
    assert_null(strchr(error.text, '\n'));
    assert_int_equal(trusted, TW_OK);
    free(output);
    tw_directory_remove(folder);
    free(folder);
  }
}

static void what_takes_too_long_is_stopped(void **state) {
  if (sanitized) skip();
  char *folder = new_folder();
  const char *const argv[] = {"", "--spin", NULL};
  tw_error error = {0};
  assert_int_equal(run_self(argv, folder, 0.3, false, NULL, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "probing took more than 0.3 seconds of processor time"));
  tw_directory_remove(folder);
  free(folder);
}

/* It got too little of the processor, or the system had no memory: another time it may succeed. */
static void a_tool_that_could_not_finish_says_nothing_about_its_text(void **state) {
  static const struct {
    const char *option, *says;
    double wall;
  } tries[] = {
      {"--spin", "let this computer do less at a time", 0.2},
      {"--wait", "let this computer do less at a time", 0.2},
      {"--driver", "probing was killed by the system", 0},
  };
  if (sanitized) skip();
  const tw_toolchain tools = open_self();
  for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
    char *folder = new_folder();
    const char *const argv[] = {"", tries[i].option, NULL};
    const tw_tool_run run = {
        .argv = argv, .directory = folder, .what = "probing", .seconds = 20, .wall_seconds = tries[i].wall};
    tw_error error = {0};
    assert_int_equal(tw_tool_run_confined(&tools, &run, &error), TW_MISSING);
    if (!strstr(error.text, tries[i].says)) fail_msg("%s: %s", tries[i].option, error.text);
    tw_directory_remove(folder);
    free(folder);
  }
}

/* Whatever happens to the one who started it. */
static void a_tool_dies_with_its_caller(void **state) {
  if (sanitized) skip();
  char *folder = new_folder(), *path = tw_path_join(folder, "pid"), *text = NULL;
  const char *const argv[] = {"", "--spin", NULL};
  const struct timespec pause = {.tv_nsec = 10000000};
  const pid_t caller = fork();
  if (caller == 0) {
    run_self(argv, folder, 60, false, NULL, NULL);
    _exit(0);
  }
  for (int i = 0; i < 500 && (!text || !strchr(text, '\n')); i++) {
    nanosleep(&pause, NULL);
    free(text);
    text = NULL;
    tw_file_read(path, 100, &text, NULL, NULL);
  }
  assert_non_null(text);
  const pid_t tool = (pid_t)atoi(text);
  assert_int_equal(kill(tool, 0), 0);
  kill(caller, SIGKILL);
  waitpid(caller, NULL, 0);
  int left = 500;
  while (left > 0 && kill(tool, 0) == 0) {
    char stat_path[64], *line = NULL; /* a zombie until its new parent looks */
    snprintf(stat_path, sizeof stat_path, "/proc/%d/stat", (int)tool);
    const bool zombie = tw_file_read(stat_path, 4096, &line, NULL, NULL) != TW_OK || strstr(line, ") Z");
    free(line);
    if (zombie) break;
    nanosleep(&pause, NULL);
    left--;
  }
  assert_true(left > 0);
  tw_directory_remove(folder);
  free(folder), free(path), free(text);
}

/* ---- objects ---- */

static const char *const sections[] = {TW_OBJECT_SECTIONS_OF_C, NULL};
static const char *const reserved[] = {"main", "harness_*", NULL};
static const tw_object_rules rules = {
    .machine = EM_X86_64, .section = sections, .reserved = reserved, .data_bytes = 1 << 20, .zero_bytes = 1 << 20};

/* Assembles the text and looks through it. */
static tw_status check(const char *assembly, tw_error *error) {
  const tw_toolchain_kind kind = {.title = "the assembler", .remedy = "apt-get install binutils", .program = {"as"}};
  const char *const argv[] = {"", "x.s", "-o", "x.o", NULL};
  char *folder = new_folder(), *object = NULL;
  size_t size;
  tw_toolchain tools;
  assert_int_equal(tw_toolchain_open(&kind, &tools, error), TW_OK);
  const tw_tool_run run = {.argv = argv, .directory = folder, .what = "assembling"};
  assert_int_equal(tw_tool_write(folder, "x.s", assembly, strlen(assembly), error), TW_OK);
  if (tw_tool_run_confined(&tools, &run, error) != TW_OK) fail_msg("%s: %s", assembly, error->text);
  assert_int_equal(tw_tool_read(folder, "x.o", &object, &size, error), TW_OK);
  const tw_status status = tw_object_check(object, size, &rules, error);
  free(object);
  tw_directory_remove(folder);
  free(folder);
  return status;
}

static void objects_are_allowed_by_the_names_and_kinds_of_their_parts(void **state) {
  static const struct {
    const char *assembly, *refusal; /* NULL: allowed */
  } cases[] = {
      {".globl kernel\nkernel: ret\n.data\n.long 1\n.bss\n.zero 100\n.section "
       ".rodata.str1.1,\"aMS\",@progbits,1\n.string "
       "\"x\"\n",
       NULL},
      {".globl other\nkernel: call other\n.rept 3\nnop\n.endr\n", NULL},
      {".section .gnu.lto_x,\"\"\n.byte 1\n", "section is not allowed: .gnu.lto_x"},
      {".section .textual,\"ax\"\nnop\n", "section is not allowed: .textual"},
      {".section .harness,\"ax\"\nnop\n", "section is not allowed: .harness"},
      {".section .init_array,\"aw\"\n.quad 0\n",
       "functions that run by themselves (constructors, destructors) are not allowed"},
      {".section .fini_array,\"aw\"\n.quad 0\n",
       "functions that run by themselves (constructors, destructors) are not allowed"},
      {".section .preinit_array,\"aw\"\n.quad 0\n",
       "functions that run by themselves (constructors, destructors) are not allowed"},
      {".section .data.x,\"aw\",@init_array\n.quad 0\n",
       "functions that run by themselves (constructors, destructors) are not allowed"},
      {".section .ctors,\"aw\"\n.quad 0\n", "section is not allowed: .ctors"},
      {".section .init,\"ax\"\nret\n", "section is not allowed: .init"},
      {".section .text.x,\"axw\"\nret\n", "may not be executable"},
      {".section .note.GNU-stack,\"x\",@progbits\n", "may not be executable"},
      {".section .data.x,\"aw\",@0x60000001\n.quad 0\n", "of a type that is not allowed"},
      {".section .text.x,\"axG\",@progbits,group,comdat\nret\n", "not allowed"},
      {".section .text.x,\"axR\"\nret\n", "flags that are not allowed"},
      {".section .tdata,\"awT\"\n.quad 0\n", "thread-local variables are not allowed"},
      {".globl f\n.type f,@gnu_indirect_function\nf: ret\n", "indirect functions (ifunc) are not allowed: f"},
      {".type f,@gnu_indirect_function\nf: ret\n", "indirect functions (ifunc) are not allowed: f"},
      {".globl f\n.type f,@gnu_unique_object\n.data\nf: .quad 0\n", "binding"},
      {".globl main\nmain: ret\n", "may not be defined: main"},
      {".weak main\nmain: ret\n", "may not be defined: main"},
      {"call main\n", "may not be used: main"},
      {".globl harness_stop\nharness_stop: ret\n", "may not be defined: harness_stop"},
      {".globl a\n.set a, 0x1000\n", "a symbol without a section is not allowed: a"},
      {".data\n.zero 2000000\n", "more than 1 MiB of code"},
      {".bss\n.zero 2000000\n", "more than 1 MiB of variables"},
      {".comm big, 2000000, 8\n", "more than 1 MiB of variables"},
      {".balign 131072\n", "aligned to more than 64 KiB"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tw_error error = {0};
    const tw_status status = check(cases[i].assembly, &error);
    if (!cases[i].refusal && status != TW_OK) fail_msg("%s refused: %s", cases[i].assembly, error.text);
    if (cases[i].refusal && (status != TW_FAILED || !strstr(error.text, cases[i].refusal)))
      fail_msg("%s: should say '%s': %s", cases[i].assembly, cases[i].refusal, error.text);
  }
}

/* No byte of a file may bring the check down, nor what is no object. */
static void damaged_objects_are_refused(void **state) {
  char *object = NULL;
  size_t size;
  tw_error error;
  assert_int_equal(tw_object_check("", 0, &rules, &error), TW_FAILED);
  assert_int_equal(tw_object_check("\177ELF", 4, &rules, &error), TW_FAILED);
  assert_int_equal(tw_file_read(self, 1 << 30, &object, &size, &error), TW_OK);
  assert_int_equal(tw_object_check(object, size, &rules, &error), TW_FAILED); /* a program */
  for (size_t i = 0; i < 4096; i += 7) tw_object_check(object, i, &rules, &error);
  free(object);
}

static void a_missing_tool_is_named_with_its_remedy(void **state) {
  const tw_toolchain_kind kind = {.title = "the compiler of dreams", .remedy = "sleep", .program = {"no-such-cc"}};
  tw_toolchain tools;
  tw_error error;
  assert_int_equal(tw_toolchain_open(&kind, &tools, &error), TW_NO_COMPILER);
  assert_string_equal(error.text, "the compiler of dreams is missing (no-such-cc is not in PATH): sleep");
}

int main(int argc, char *argv[]) {
  if (argc == 4 && !strcmp(argv[1], "--probe")) return probe(argv);
  if (argc == 2 && !strcmp(argv[1], "--spin")) spin();
  if (argc == 2 && !strcmp(argv[1], "--wait")) nanosleep(&(struct timespec){.tv_sec = 60}, NULL);
  if (argc == 2 && !strcmp(argv[1], "--driver")) {
    fputs("gcc: fatal error: Killed signal terminated program cc1\n", stderr);
    return 1;
  }
  if (argc == 2 && !strcmp(argv[1], "--nothing")) return 0;
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  assert_true(length > 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_tool_can_do_nothing_but_its_work),
      cmocka_unit_test(neither_can_it_for_a_user_without_rights),
      cmocka_unit_test(a_system_that_cannot_confine_is_refused_without_trust),
      cmocka_unit_test(what_takes_too_long_is_stopped),
      cmocka_unit_test(a_tool_that_could_not_finish_says_nothing_about_its_text),
      cmocka_unit_test(a_tool_dies_with_its_caller),
      cmocka_unit_test(objects_are_allowed_by_the_names_and_kinds_of_their_parts),
      cmocka_unit_test(damaged_objects_are_refused),
      cmocka_unit_test(a_missing_tool_is_named_with_its_remedy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
