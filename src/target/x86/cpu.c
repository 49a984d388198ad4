/* cpu.c - CPUID and hwloc. The compiler's __builtin_cpu_supports also asks the system (XGETBV) whether it saves the
 * registers of a set. AVX512-BF16 implies VBMI here: all CPUs with it have VBMI except Cooper Lake. */
#include "target/x86/cpu.h"

#if defined __x86_64__
#include <cpuid.h>
#endif
#include <hwloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/parallel.h"
#include "target/x86/variant.h"

/* Cache sizes if hwloc has no answer: every x86 server of the last ten years has at least these. */
enum { L1_AT_LEAST = 32 << 10, L2_AT_LEAST = 256 << 10, L3_AT_LEAST = 2 << 20 };

static x86_cpu cpu;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const x86_cpu *known_cpu;

#if defined __x86_64__
/* clang 14's __builtin_cpu_supports does not know it (it uses AVX's registers: ask for AVX2 with it). Intel's manual,
 * volume 2, CPUID: leaf 7, sub-leaf 1, EAX bit 4. */
static bool has_avxvnni(void) {
  unsigned a = 0, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 4 & 1;
}
#endif

/* The process asks the system for the registers of AMX, once for all its threads (arch_prctl(2); Linux 5.16). Leaf 7,
 * EDX bits 22, 24, 25: bf16, tiles, int8. */
static bool may_use_amx(void) {
  enum { ARCH_REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 };
  const unsigned needed = 1u << 22 | 1u << 24 | 1u << 25;
  unsigned a, b, c, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & needed) == needed &&
         syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0;
}

static void ask_sets(void) {
  cpu.has[X86_PORTABLE] = true;
#if defined __x86_64__
  __builtin_cpu_init();
  bool avx2 = tw_cpu_has_avx2();
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  cpu.has[X86_AVX2] = avx2;
  cpu.has[X86_AVXVNNI] = avx2 && has_avxvnni();
  cpu.has[X86_AVX512] = avx512;
  cpu.has[X86_AVX512VNNI] = avx512 && __builtin_cpu_supports("avx512vnni");
  cpu.has[X86_AVX512BF16] = avx512 && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vbmi");
  cpu.has[X86_AMX] = cpu.has[X86_AVX512BF16] && cpu.has[X86_AVX512VNNI];
#endif
}

/* TILEWRIGHT_GEMM_ISA: no larger set is used, as on a CPU without it; unknown names are ignored. */
static void limit_sets(const char *most) {
  x86_isa last;
  if (!most || !x86_isa_parse(most, &last)) return;
  for (int i = (int)last + 1; i < X86_ISAS; i++) cpu.has[i] = false;
}

static bool amx_is_emulated;
void x86_emulate_amx(void) { amx_is_emulated = true; }

/* Called last, because asking has a cost: the states of threads become larger. */
static void ask_amx(void) {
#if defined __x86_64__
  cpu.has[X86_AMX] = cpu.has[X86_AMX] && (may_use_amx() || amx_is_emulated);
  cpu.whole_vectors = __builtin_cpu_is("intel");
  cpu.slow_bf16 = cpu.whole_vectors && !cpu.has[X86_AMX];
#endif
}

static int64_t cache_size(hwloc_topology_t topology, hwloc_obj_type_t type, int64_t at_least) {
  hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
  return cache && cache->attr->cache.size ? (int64_t)cache->attr->cache.size : at_least;
}

/* The last cache belongs to a cluster of cores on some CPUs, to a package on others. */
static int cores_on_l3(hwloc_topology_t topology) {
  hwloc_obj_t cache = hwloc_get_obj_by_type(topology, HWLOC_OBJ_L3CACHE, 0);
  const int all = cache ? hwloc_get_nbobjs_inside_cpuset_by_type(topology, cache->cpuset, HWLOC_OBJ_CORE) : 0;
  return all > 0 && all < cpu.cores ? all : cpu.cores;
}

static void ask_caches(void) {
  hwloc_topology_t topology;
  cpu.l1 = L1_AT_LEAST, cpu.l2 = L2_AT_LEAST, cpu.l3 = L3_AT_LEAST, cpu.numa_nodes = 1;
  cpu.l3_share = cpu.l3 / cpu.cores;
  if (hwloc_topology_init(&topology) != 0) return;
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_NO_DISTANCES |
                                         HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  if (hwloc_topology_load(topology) == 0) {
    cpu.l1 = cache_size(topology, HWLOC_OBJ_L1CACHE, L1_AT_LEAST);
    cpu.l2 = cache_size(topology, HWLOC_OBJ_L2CACHE, L2_AT_LEAST);
    cpu.l3 = cache_size(topology, HWLOC_OBJ_L3CACHE, L3_AT_LEAST);
    cpu.l3_share = cpu.l3 / cores_on_l3(topology);
    int nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    if (nodes > 0) cpu.numa_nodes = nodes;
    hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    snprintf(cpu.model, sizeof cpu.model, "%s", model ? model : "unknown CPU");
  }
  hwloc_topology_destroy(topology);
}

/* If OpenMP has bound this thread to a core, the process may still use more: OpenMP knows their number. */
extern int omp_get_num_procs(void) __attribute__((weak));
static void ask_cores(void) {
  cpu.limits = tw_core_limits_under("");
  if (omp_get_num_procs && omp_get_num_procs() > cpu.limits.allowed) cpu.limits.allowed = omp_get_num_procs();
  cpu.cores = tw_cores_within(&cpu.limits);
}

static void ask(void) {
  ask_sets();
  limit_sets(getenv("TILEWRIGHT_GEMM_ISA"));
  ask_amx();
  ask_cores();
  ask_caches();
}

static void take_known(void) {
  cpu = *known_cpu;
#if defined __x86_64__
  cpu.has[X86_AMX] = cpu.has[X86_AMX] && may_use_amx();
#endif
}

void x86_cpu_is(const x86_cpu *known) {
  known_cpu = known;
  pthread_once(&once, take_known);
}

const x86_cpu *x86_this_cpu(void) {
  pthread_once(&once, ask);
  return &cpu;
}
