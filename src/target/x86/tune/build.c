/* build.c - see build.h. Looks in the cache; otherwise compiles in a confined process, inspects the object, and
 * links it. */
#define _GNU_SOURCE /* memmem */
#include "target/x86/tune/build.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/embedded.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/strings.h"
#include "target/x86/emit.h"
#include "toolchain/object.h"
#include "toolchain/toolchain.h"

static const char ROOT[] = "x86/"; /* embedded files, which sources include from target/x86/ */
enum { FLAGS_MAX = 24, DATA_BYTES_MAX = 64 << 20, ZERO_BYTES_MAX = 1 << 30 };

/* ---- the compiler ---- */

enum { CC, AS, LD }; /* AS and LD by name: the driver searches PATH for them */

static tw_status open_compiler(tw_toolchain *out, tw_error *error) {
  static const char *const headers[] = {"/usr/include", NULL};
  const char *own = getenv("TILEWRIGHT_CC");
  const tw_toolchain_kind kind = {.title = "the C compiler",
                                  .remedy = "install one (apt-get install gcc) or set TILEWRIGHT_CC",
                                  .program = {own && *own ? own : "cc", "as", "ld"},
                                  .driver = true,
                                  .read = headers};
  return tw_toolchain_open(&kind, out, error);
}

static const char *const sections[] = {TW_OBJECT_SECTIONS_OF_C, ".tdata",        ".tbss",
                                       ".note.gnu.property",    ".llvm_addrsig", NULL};
static const char *const reserved[] = {"_start", "_init", "_fini", "main", "_DYNAMIC", NULL};
static const tw_object_rules rules = {.machine = EM_X86_64,
                                      .section = sections,
                                      .reserved = reserved,
                                      .data_bytes = DATA_BYTES_MAX,
                                      .zero_bytes = ZERO_BYTES_MAX,
                                      .threads = true};

/* ---- flags ---- */

/* The flags of the line "isa NAME flags" in kernels.txt, as words of `copy`. */
static size_t flags_of(const char *source, char *copy, size_t size, const char *flag[FLAGS_MAX]) {
  const char *comment = strstr(source, X86_ISA_COMMENT);
  const tw_embedded *list = tw_embedded_find("x86/kernels.txt");
  char isa[32] = "", key[64];
  size_t n = 0;
  if (comment) sscanf(comment + strlen(X86_ISA_COMMENT), "%31[a-z0-9]", isa);
  snprintf(key, sizeof key, "\nisa %s", isa);
  for (const char *at = isa[0] && list ? (const char *)list->data : NULL; at && (at = strstr(at, key));) {
    at += strlen(key);
    if (*at != ' ' && *at != '\n') continue;
    snprintf(copy, size, "%.*s", (int)strcspn(at, "\n"), at);
    for (char *rest = NULL, *w = strtok_r(copy, " ", &rest); w && n < FLAGS_MAX - 1; w = strtok_r(NULL, " ", &rest))
      flag[n++] = w;
    flag[n] = NULL;
    return n;
  }
  flag[0] = "-march=native";
  flag[1] = NULL;
  return 1;
}

static void key_of(const tw_toolchain *tools, const char *source, size_t length, const char *const flag[],
                   char key[TW_HASH_TEXT]) {
  tw_hash h;
  const tw_embedded *e;
  tw_hash_start(&h);
  tw_hash_add_string(&h, "layout 3"); /* change it when the code below changes the built object */
  tw_hash_add_string(&h, tools->identity);
  for (; *flag; flag++) tw_hash_add_string(&h, *flag);
  for (size_t i = 0; (e = tw_embedded_at(i)); i++)
    if (strncmp(e->name, ROOT, strlen(ROOT)) == 0) tw_hash_add(&h, e->data, e->size);
  tw_hash_add(&h, source, length);
  tw_hash_finish_text(&h, key);
}

/* ---- making it ---- */

static tw_status write_headers(const char *directory, tw_error *error) {
  char *runtime = tw_path_join(directory, "target/x86/runtime");
  tw_status status = runtime ? tw_directory_make(runtime, error) : tw_no_memory(error, NULL);
  const tw_embedded *e;
  free(runtime);
  for (size_t i = 0; status == TW_OK && (e = tw_embedded_at(i)); i++) {
    char name[256];
    const size_t length = strlen(e->name);
    if (strncmp(e->name, ROOT, strlen(ROOT)) != 0 || strcmp(e->name + length - 2, ".h") != 0) continue;
    snprintf(name, sizeof name, "target/%.200s", e->name);
    status = tw_tool_write(directory, name, e->data, e->size, error);
  }
  return status;
}

typedef struct maker {
  const tw_toolchain *tools;
  const char *directory;
  const char *source;
  size_t length;
  bool trust;
} maker;

static tw_status run(const maker *m, const char *const argv[], const char *what, tw_error *error) {
  const tw_tool_run r = {
      .program = CC, .argv = argv, .directory = m->directory, .what = what, .trust = m->trust, .file = DATA_BYTES_MAX};
  return tw_tool_run_confined(m->tools, &r, error);
}

/* The process in which kernels run has GCC's OpenMP. clang can call its functions, but then leaves loops on one
 * thread. */
static const char *openmp(const tw_toolchain *tools) {
  return tw_toolchain_is_clang(tools) ? "-fopenmp=libgomp" : "-fopenmp";
}

/* `kind`: "-c" makes an object, "-S" assembly. */
static tw_status compile(const maker *m, const char *const flag[], const char *kind, const char *source,
                         const char *output, tw_error *error) {
  const char *const fixed[] = {"-std=gnu17", "-g0", "-w", "-fPIC", "-fno-plt", "-I.", kind, "-o", output, source, NULL};
  /* GCC compiles as for the library's own kernels (target.cmake): a quarter of the time of -O3. */
  static const char *const gcc[] = {"-O2", "-fvect-cost-model=dynamic", NULL}, *const clang[] = {"-O3", NULL};
  const char *const *level = tw_toolchain_is_clang(m->tools) ? clang : gcc;
  const char *argv[FLAGS_MAX + 24];
  size_t n = 1;
  for (size_t i = 0; flag[i]; i++) argv[n++] = flag[i];
  for (size_t i = 0; fixed[i]; i++) argv[n++] = fixed[i];
  for (size_t i = 0; level[i]; i++) argv[n++] = level[i];
  argv[n++] = openmp(m->tools);
  argv[n] = NULL;
  return run(m, argv, "compiling the kernel", error);
}

/* Without the system's start files: loading the object runs no code of it. */
static tw_status link_objects(const maker *m, bool divided, tw_error *error) {
  const char *const argv[] = {"",
                              "-shared",
                              "-nostartfiles",
                              "-fno-lto",
                              "-fno-use-linker-plugin",
                              "-Wl,-z,noexecstack",
                              openmp(m->tools),
                              "kernel.o",
                              "-o",
                              "kernel.so",
                              "-lm",
                              divided ? "shared.o" : NULL,
                              "blocks.o",
                              NULL};
  return run(m, argv, "linking the kernel", error);
}

typedef tw_status finisher(const maker *, const char *const flag[], char **out, size_t *bytes, tw_error *);

/* Compiles and inspects NAME.c, or takes its object from the cache. */
static tw_status make_part(const maker *m, const char *const flag[], const char *name, const char *text, size_t length,
                           tw_error *error) {
  char key[TW_HASH_TEXT], source[32], output[32], *compiled = NULL;
  size_t size = 0;
  snprintf(source, sizeof source, "%s.c", name);
  snprintf(output, sizeof output, "%s.o", name);
  key_of(m->tools, text, length, flag, key);
  if (tw_cache_get("x86-parts", key, &compiled, &size)) {
    const tw_status status = tw_tool_write(m->directory, output, compiled, size, error);
    free(compiled);
    return status;
  }
  tw_status status = tw_tool_write(m->directory, source, text, length, error);
  if (status == TW_OK) status = compile(m, flag, "-c", source, output, error);
  if (status == TW_OK) status = tw_tool_read(m->directory, output, &compiled, &size, error);
  if (status == TW_OK) status = tw_object_check(compiled, size, &rules, error);
  if (status == TW_OK) tw_cache_put("x86-parts", key, compiled, size);
  free(compiled);
  return status;
}

/* Marks of a source of the library's own; NULL: not found. */
typedef struct marks {
  const char *words, *shared, *tiles, *blocks;
} marks;

static const char *find(const maker *m, const char *mark) { return memmem(m->source, m->length, mark, strlen(mark)); }

/* Is the source in the order that x86_emit writes? Before `words` it has only the lines of the schedule. */
static bool is_divided(const maker *m, const marks *at) {
  const char *line = m->trust && at->words ? memchr(m->source, '\n', (size_t)(at->words - m->source) + 1) : NULL;
  while (line && line < at->words && strncmp(line, "\n//", 3) == 0) line = strchr(line + 1, '\n');
  return line && line == at->words && at->words < at->shared && at->shared < at->tiles && at->tiles < at->blocks;
}

/* Compiles the text from `first` to `end`. It follows the beginning of the kernel and the declarations of apart.h. */
static tw_status make_kernel_part(const maker *m, const char *const flag[], const marks *at, const char *name,
                                  const char *first, const char *end, tw_error *error) {
  tw_text text = {0};
  tw_text_add_bytes(&text, at->words, (size_t)(at->shared - at->words));
  tw_text_add_string(&text, "\n#include \"target/x86/runtime/apart.h\"");
  tw_text_add_bytes(&text, first, (size_t)(end - first));
  const size_t length = text.length;
  char *const joined = tw_text_take(&text);
  const tw_status status = joined ? make_part(m, flag, name, joined, length, error) : tw_no_memory(error, NULL);
  free(joined);
  return status;
}

static tw_status make_parts(const maker *m, const char *const flag[], const marks *at, tw_error *error) {
  const size_t rest = m->length - (size_t)(at->blocks - m->source);
  tw_status status = make_kernel_part(m, flag, at, "shared", at->shared, at->tiles, error);
  if (status == TW_OK) status = make_kernel_part(m, flag, at, "kernel", at->tiles, at->blocks, error);
  return status == TW_OK ? make_part(m, flag, "blocks", at->blocks, rest, error) : status;
}

/* Only a trusted text is divided: a line of another source could mean more than it shows. A user may have changed a text of
 * the library. If it does not compile in parts, it is compiled as a whole. */
static tw_status make_object(const maker *m, const char *const flag[], char **object, size_t *bytes, tw_error *error) {
  const marks at = {find(m, "\n#define ARITHMETIC_"), find(m, "\n" X86_SHARED_COMMENT), find(m, "\n" X86_TILES_COMMENT),
                    find(m, "\n" X86_BLOCKS_COMMENT)};
  const bool divided = is_divided(m, &at) && make_parts(m, flag, &at, NULL) == TW_OK;
  tw_status status = divided ? TW_OK : make_part(m, flag, "kernel", m->source, m->length, error);
  if (status == TW_OK) status = link_objects(m, divided, error);
  if (status == TW_OK) status = tw_tool_read(m->directory, "kernel.so", object, bytes, error);
  return status;
}

static tw_status make_assembly(const maker *m, const char *const flag[], char **text, size_t *bytes, tw_error *error) {
  tw_status status = tw_tool_write(m->directory, "kernel.c", m->source, m->length, error);
  if (status == TW_OK) status = compile(m, flag, "-S", "kernel.c", "kernel.s", error);
  if (status == TW_OK) status = tw_tool_read(m->directory, "kernel.s", text, bytes, error);
  if (status == TW_OK) ++*bytes; /* with its '\0' */
  return status;
}

/* In a folder with the headers. */
static tw_status make(const tw_toolchain *tools, const char *source, size_t length, const char *const flag[],
                      bool trust, finisher *finish, char **out, size_t *bytes, tw_error *error) {
  char *directory = NULL;
  tw_status status = tw_directory_temporary(&directory, error);
  const maker m = {tools, directory, source, length, trust};
  if (status == TW_OK) status = write_headers(directory, error);
  if (status == TW_OK) status = finish(&m, flag, out, bytes, error);
  if (directory) tw_directory_remove(directory);
  free(directory);
  return status;
}

static tw_status get(const char *kind, finisher *finish, const char *source, size_t length, bool trust, char **out,
                     size_t *bytes, tw_error *error) {
  char copy[512], key[TW_HASH_TEXT];
  const char *flag[FLAGS_MAX];
  tw_toolchain tools;
  if (memchr(source, '\0', length)) return tw_fail(error, TW_FAILED, "kernel.c: error: a zero byte in the source");
  tw_status status = open_compiler(&tools, error);
  if (status != TW_OK) return status;
  flags_of(source, copy, sizeof copy, flag);
  key_of(&tools, source, length, flag, key);
  if (tw_cache_get(kind, key, out, bytes)) return TW_OK;
  status = make(&tools, source, length, flag, trust, finish, out, bytes, error);
  if (status == TW_OK) tw_cache_put(kind, key, *out, *bytes);
  return status;
}

tw_status x86_build(const char *source, size_t length, bool trust, char **object, size_t *bytes, tw_error *error) {
  return get("x86-kernels", make_object, source, length, trust, object, bytes, error);
}

tw_status x86_assembly(const char *source, size_t length, bool trust, char **text, tw_error *error) {
  size_t bytes;
  return get("x86-assembly", make_assembly, source, length, trust, text, &bytes, error);
}
