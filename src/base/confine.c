/* confine.c - see confine.h. Landlock: https://docs.kernel.org/userspace-api/landlock.html, version 1 (Linux 5.13) at
 * least; rights of later versions are restricted where available. Numbers that Linux's headers of 2022 lack are defined
 * here. */
#define _GNU_SOURCE
#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined __riscv && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#else
#define ARCHITECTURE 0
#endif

enum {
  LEAST_DESCRIPTOR = 16, /* above the descriptors of a child */
  X32 = 0x40000000,
  PER_CALL = 2 + TW_CALL_TESTS * (4 + TW_CALL_VALUES),
  LAST_CAPABILITY = 63
};

/* ---- paths ---- */

#define ACCESS_REFER (1ull << 13)     /* Landlock 2 */
#define ACCESS_TRUNCATE (1ull << 14)  /* 3 */
#define ACCESS_IOCTL_DEV (1ull << 15) /* 5 */

/* The rule set of Landlock 6: its struct has grown, and older systems take a shorter one. */
typedef struct rule_set {
  uint64_t files, network, scoped;
} rule_set;

static bool lacks(const char *what) {
  const char *named = getenv("TILEWRIGHT_TEST_LACKS");
  return named && strcmp(named, what) == 0;
}

/* 0: none. */
static int landlock_version(void) {
  const long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 && !lacks("landlock") ? (int)version : 0;
}

static uint64_t all_file_rights(int version) {
  uint64_t all = ACCESS_REFER - 1;
  if (version >= 2) all |= ACCESS_REFER;
  if (version >= 3) all |= ACCESS_TRUNCATE;
  if (version >= 5) all |= ACCESS_IOCTL_DEV;
  return all;
}

static uint64_t file_rights(unsigned rights, bool folder) {
  const uint64_t write = LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE;
  const uint64_t make = LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                        LANDLOCK_ACCESS_FS_MAKE_REG;
  uint64_t access = 0;
  if (rights & TW_PATH_READ) access |= LANDLOCK_ACCESS_FS_READ_FILE | (folder ? LANDLOCK_ACCESS_FS_READ_DIR : 0);
  if (rights & TW_PATH_EXECUTE) access |= LANDLOCK_ACCESS_FS_EXECUTE;
  if (rights & TW_PATH_DEVICE) access |= ACCESS_IOCTL_DEV;
  if (rights & TW_PATH_WRITE) access |= write | (folder ? make : 0);
  return access;
}

static bool add_path(int rules, uint64_t handled, const tw_path_rule *path) {
  struct stat info;
  const int at = open(path->path, O_PATH | O_CLOEXEC);
  if (at < 0) return true;
  bool added = fstat(at, &info) == 0;
  const struct landlock_path_beneath_attr below = {
      .parent_fd = at, .allowed_access = file_rights(path->rights, S_ISDIR(info.st_mode)) & handled};
  added = added && syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0) == 0;
  close(at);
  return added;
}

/* A descriptor of the rules; < 0: this system does not support them. */
static int make_rules(const tw_path_rule *path, size_t n) {
  const int version = landlock_version();
  if (!version) return -1;
  const rule_set set = {.files = all_file_rights(version),
                        .network = 3, /* bind and connect of TCP */
                        .scoped = 3}; /* abstract sockets, signals to others */
  const size_t size = version >= 6 ? sizeof set : version >= 4 ? offsetof(rule_set, scoped) : sizeof set.files;
  const int rules = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
  bool made = rules >= 0;
  for (size_t i = 0; made && i < n; i++) made = add_path(rules, set.files, &path[i]);
  const int high = made ? fcntl(rules, F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR) : -1;
  if (rules >= 0) close(rules);
  return high;
}

/* ---- system calls ---- */

struct tw_confinement {
  int rules; /* descriptor of the Landlock rules; -1: none */
  bool all_threads;
  unsigned short n;
  struct sock_filter step[];
};

static void add(tw_confinement *c, unsigned code, uint32_t k, int if_true, int if_false) {
  c->step[c->n++] = (struct sock_filter){(unsigned short)code, (unsigned char)if_true, (unsigned char)if_false, k};
}

static void add_load(tw_confinement *c, size_t offset) { add(c, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }

static void add_number(tw_confinement *c) { add_load(c, offsetof(struct seccomp_data, nr)); }

/* If the rule does not hold, loads the number of the call again and jumps past the rule. */
static void add_rule(tw_confinement *c, const tw_call_rule *r) {
  int length = 2;
  for (int i = 0; i < TW_CALL_TESTS && r->when[i].n; i++) length += 3 + r->when[i].n;
  const int end = c->n + length; /* the number is loaded again here: only rules with tests jump here */
  const bool tested = r->when[0].n > 0;
  add(c, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)r->number, 0, length - 1 + tested);
  for (int i = 0; i < TW_CALL_TESTS && r->when[i].n; i++) {
    const int n = r->when[i].n;
    add_load(c, offsetof(struct seccomp_data, args) + 8 * r->when[i].argument + 4 * r->when[i].upper); /* little-endian */
    add(c, BPF_ALU | BPF_AND | BPF_K, r->when[i].mask ? r->when[i].mask : ~0u, 0, 0);
    for (int v = 0; v < n; v++) add(c, BPF_JMP | BPF_JEQ | BPF_K, r->when[i].value[v], n - v, 0);
    add(c, BPF_JMP | BPF_JA, (uint32_t)(end - c->n - 1), 0, 0);
  }
  add(c, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  if (tested) add_number(c);
}

static void make_filter(tw_confinement *c, const tw_profile *p) {
  add_load(c, offsetof(struct seccomp_data, arch));
  add(c, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
  add(c, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
  add_number(c);
#if defined __x86_64__
  add(c, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
  add(c, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
#endif
  for (size_t i = 0; i < p->n_plain; i++) add_rule(c, &(tw_call_rule){.number = p->plain[i]});
  for (size_t i = 0; i < p->n_calls; i++) add_rule(c, &p->call[i]);
  add(c, BPF_RET | BPF_K, p->refusal == TW_REFUSAL_TRAP ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | ENOSYS, 0, 0);
}

static bool has_filters(void) {
  const uint32_t action = SECCOMP_RET_ERRNO;
  return ARCHITECTURE && !lacks("seccomp") && syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* ---- both ---- */

static tw_status cannot(const tw_profile *p, const char *why, tw_error *error) {
  return tw_fail(error, TW_MISSING, "this system cannot confine %s: %s", p->who, why);
}

tw_status tw_confinement_make(const tw_profile *p, const tw_path_rule *path, size_t n_paths, tw_confinement **out,
                              tw_error *error) {
  *out = NULL;
  if (!has_filters()) return cannot(p, "it has no filter for system calls (seccomp)", error);
  tw_confinement *c = calloc(1, sizeof *c + (8 + (p->n_plain + p->n_calls) * PER_CALL) * sizeof *c->step);
  if (!c) return tw_no_memory(error, NULL);
  c->all_threads = p->all_threads;
  make_filter(c, p);
  c->rules = make_rules(path, n_paths);
  if (c->rules < 0 && !p->paths_may_lack) {
    tw_confinement_free(c);
    return cannot(p, "it has no Landlock (Linux 5.13 or later, with landlock among its security modules)", error);
  }
  *out = c;
  return TW_OK;
}

void tw_confinement_free(tw_confinement *c) {
  if (!c) return;
  if (c->rules >= 0) close(c->rules);
  free(c);
}

TW_UNINSTRUMENTED int tw_confinement_file(const tw_confinement *c) { return c->rules; }

TW_UNINSTRUMENTED bool tw_drop_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2] = {{0}, {0}};
  /* The first three matter for processes that have capabilities; the last two bind every process. */
  prctl(PR_SET_SECUREBITS,
        SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
            SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
        0, 0, 0);
  for (int i = 0; i <= LAST_CAPABILITY && prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
    prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return syscall(SYS_capset, &header, none) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

TW_UNINSTRUMENTED bool tw_confine(const tw_confinement *c) {
  const struct sock_fprog filter = {.len = c->n, .filter = (struct sock_filter *)(uintptr_t)c->step};
  if (!tw_drop_capabilities()) return false;
  if (c->rules >= 0 && syscall(SYS_landlock_restrict_self, c->rules, 0) != 0) return false;
  if (c->rules >= 0) close(c->rules);
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, c->all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0, &filter) == 0;
}
