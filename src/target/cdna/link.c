/* link.c - see link.h. */
#include "target/cdna/link.h"

#include <stdlib.h>

#include "toolchain/object.h"

/* ELF for AMDGPU: the machine, and the section of variables in LDS whose place the linker chooses. */
enum { EM_AMDGPU_MACHINE = 224, SHN_AMDGPU_LDS = 0xff00 };

static const char *const sections[] = {TW_OBJECT_SECTIONS_OF_C,
                                       ".note",
                                       ".group",
                                       ".AMDGPU",
                                       ".llvm_addrsig",
                                       ".debug_gnu_pubnames",
                                       ".debug_gnu_pubtypes",
                                       ".debug_loc",
                                       ".debug_macro",
                                       ".debug_names",
                                       ".debug_pubnames",
                                       ".debug_pubtypes",
                                       NULL};
static const char *const reserved[] = {NULL};

static const tw_object_rules rules = {.machine = EM_AMDGPU_MACHINE,
                                      .section = sections,
                                      .reserved = reserved,
                                      .data_bytes = (size_t)64 << 20,
                                      .zero_bytes = (size_t)1 << 30,
                                      .groups = true,
                                      .section_of_machine = SHN_AMDGPU_LDS};

/* HIP's driver cannot make only a device object, so its device code is compiled to assembly. */
static tw_status assemble(const tw_toolchain *tools, const char *directory, cdna_arch arch, bool trust,
                          tw_error *error) {
  const char *const argv[] = {"",
                              "--target=amdgcn-amd-amdhsa",
                              arch == CDNA3 ? "-mcpu=gfx942" : "-mcpu=gfx950",
                              "-c",
                              CDNA_ASSEMBLY,
                              "-o",
                              CDNA_OBJECT,
                              NULL};
  const tw_tool_run run = {
      .program = CDNA_CLANG, .argv = argv, .directory = directory, .what = "assembling the kernel", .trust = trust};
  return tw_tool_run_confined(tools, &run, error);
}

static tw_status inspect(const char *directory, tw_error *error) {
  char *object = NULL;
  size_t size = 0;
  tw_status status = tw_tool_read(directory, CDNA_OBJECT, &object, &size, error);
  if (status == TW_OK) status = tw_object_check(object, size, &rules, error);
  free(object);
  return status;
}

tw_status cdna_link(const tw_toolchain *tools, const char *directory, cdna_arch arch, bool is_assembly, bool trust,
                    tw_error *error) {
  const char *const argv[] = {"",   "--no-undefined", "-shared", "--no-dependent-libraries", CDNA_OBJECT,
                              "-o", CDNA_CODE_OBJECT, NULL};
  const tw_tool_run run = {
      .program = CDNA_LINKER, .argv = argv, .directory = directory, .what = "linking the kernel", .trust = trust};
  tw_status status = is_assembly ? assemble(tools, directory, arch, trust, error) : TW_OK;
  if (status == TW_OK) status = inspect(directory, error);
  if (status == TW_OK) status = tw_tool_run_confined(tools, &run, error);
  return status;
}
