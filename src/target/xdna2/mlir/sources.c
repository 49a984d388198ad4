/* sources.c - see sources.h. Commands and flags are those of mlir-aie's own examples
 * (programming_examples/basic/matrix_multiplication/makefile-common, python/utils/xrt.py) and of its page on aiecc. */
#include "target/xdna2/mlir/sources.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/xdna2/mlir/read.h"
#include "target/xdna2/mlir/write.h"

/* ---- README.md ---- */

static void write_build(tw_text *t, const char *object) {
  tw_text_add(
      t,
      "## Build\n\n"
      "It takes mlir-aie (`$MLIR_AIE_INSTALL_DIR`, on `$PATH`) and Peano (`$PEANO_INSTALL_DIR`), or, instead of Peano, "
      "xchesscc of Vitis.\n"
      "Neither was at hand where these files were made: tilewright has read design.mlir back and simulated it, no "
      "more.\n\n"
      "The kernel, with Peano:\n\n"
      "    $PEANO_INSTALL_DIR/bin/clang++ -O2 -std=c++20 --target=aie2p-none-unknown-elf -DNDEBUG \\\n"
      "      -Wno-parentheses -Wno-attributes -Wno-macro-redefined -Wno-empty-body \\\n"
      "      -I $MLIR_AIE_INSTALL_DIR/include -c kernel.cc -o %s\n\n",
      object);
  tw_text_add(t,
              "or with xchesscc:\n\n"
              "    xchesscc_wrapper aie2p -I $AIETOOLS_DIR/include -c kernel.cc -o %s\n\n",
              object);
  tw_text_add_string(
      t, "The array, with mlir-aie from 1.4 on:\n\n"
         "    aiecc --get-xclbin --xclbin-name=gemm.xclbin --get-npu-insts --npu-insts-name=insts.bin design.mlir\n\n"
         "before that (`--xchesscc --xbridge` instead of the last line's flags, without Peano):\n\n"
         "    aiecc.py --alloc-scheme=basic-sequential --aie-generate-xclbin --xclbin-name=gemm.xclbin "
         "--no-compile-host \\\n"
         "      --aie-generate-npu-insts --npu-insts-name=insts.bin \\\n"
         "      --no-xchesscc --no-xbridge --peano $PEANO_INSTALL_DIR design.mlir\n\n"
         "mlir-aie from November 2025 on reads `aie.runtime_sequence`; before that it was called "
         "`aiex.runtime_sequence`.\n\n");
}

static const char *layout_of(tw_type t) {
  switch (t) {
  case TW_BFP16: return "bfp16, in tiles of 8x8 blocks (pack.h of tilewright)";
  case TW_I4:
  case TW_TERNARY: return "packed codes, in tiles (pack.h of tilewright)";
  default: return "row-major";
  }
}

static void write_run(tw_text *t, const xd_gemm *g, const int64_t bytes[XD_GEMM_OPERANDS]) {
  const tw_type type[] = {g->kernel->a, g->kernel->b, g->c};
  tw_text_add_string(
      t, "## Run\n\n"
         "With the amdxdna driver and XRT (pyxrt on `$PYTHONPATH`), at full clock "
         "(`sudo xrt-smi configure --pmode turbo`):\n\n"
         "    python3 run.py\n\n"
         "The kernel of the xclbin is MLIR_AIE; its arguments are the opcode 3, the instructions, their number, "
         "and in DDR:\n\n");
  for (int i = 0; i < 3; i++)
    tw_text_add(t, "- %c: %" PRId64 " bytes, %s, %s\n", "ABC"[i], bytes[i], tw_type_name(type[i]), layout_of(type[i]));
  if (bytes[XD_GEMM_ZEROS]) tw_text_add(t, "- a page of %" PRId64 " bytes of zeros\n", bytes[XD_GEMM_ZEROS]);
  tw_text_add_string(t, "\n## Check and simulate again\n\n");
}

/* `design`: the text, NULL if there is none for the reason `refusal`. */
static char *readme_of(const xd_gemm *g, const char *problem, const char *design, const char *refusal,
                       const char *object) {
  tw_text t = {0};
  int64_t bytes[XD_GEMM_OPERANDS];
  xd_gemm_bytes(g, bytes);
  tw_text_add(&t, "# %s\n\nA design for AMD XDNA2 (Ryzen AI, NPU2), found by tilewright.\n\n", problem);
  if (!design) {
    tw_text_add(&t, "There is no design.mlir: %s. `design.txt` is the design as tilewright runs it.\n", refusal);
    return tw_text_take(&t);
  }
  tw_text_add(&t, "- `design.mlir`: the array, %s, with the host's runtime sequence\n",
              strstr(design, "aie.objectfifo")
                  ? "in MLIR-AIE's object-FIFO form"
                  : "as buffers, locks, flows and descriptors of MLIR-AIE (its object FIFOs "
                    "have no words for this design)");
  tw_text_add_string(&t, "- `kernel.cc`: what the cores compute, on the AIE API\n"
                         "- `run.py`: runs it, and checks products of int8\n"
                         "- `design.txt`, `schedule.txt`: the design as tilewright's own text\n\n");
  write_build(&t, object);
  write_run(&t, g, bytes);
  tw_text_add(&t, "    tilewright run design.mlir %s -t xdna2\n", problem);
  return tw_text_take(&t);
}

/* ---- run.py ---- */

static char *script_of(const xd_gemm *g) {
  tw_text t = {0};
  int64_t bytes[XD_GEMM_OPERANDS];
  xd_gemm_bytes(g, bytes);
  const bool checks = g->kernel->a == TW_I8 && g->kernel->b == TW_I8;
  const bool to_even = g->rounding == TW_ROUND_EVEN;
  tw_text_add(&t,
              "# Runs gemm.xclbin with insts.bin on the NPU and times it.\n"
              "import time\nimport numpy as np\nimport pyxrt\n\n"
              "M, N, K = %" PRId64 ", %" PRId64 ", %" PRId64 "\nSIZES = [",
              g->m, g->n, g->k);
  for (int i = 0; i < XD_GEMM_OPERANDS; i++)
    if (bytes[i]) tw_text_add(&t, "%s%" PRId64, i ? ", " : "", bytes[i]);
  tw_text_add_string(
      &t,
      "]  # bytes of A, B, C, and a page of zeros if the design needs one\nRUNS = 20\n"
      "TO, FROM = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE, "
      "pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE\n\n"
      "device = pyxrt.device(0)\nxclbin = pyxrt.xclbin(\"gemm.xclbin\")\ndevice.register_xclbin(xclbin)\n"
      "context = pyxrt.hw_context(device, xclbin.get_uuid())\nkernel = pyxrt.kernel(context, \"MLIR_AIE\")\n\n"
      "instructions = np.fromfile(\"insts.bin\", dtype=np.uint32)\n"
      "program = pyxrt.bo(device, instructions.nbytes, pyxrt.bo.cacheable, kernel.group_id(1))\n"
      "program.write(instructions.view(np.uint8), 0)\nprogram.sync(TO, instructions.nbytes, 0)\n\n"
      "random = np.random.default_rng(1)\n"
      "data = [random.integers(0, 256, SIZES[0], dtype=np.uint8), random.integers(0, 256, SIZES[1], dtype=np.uint8)]\n"
      "data += [np.zeros(size, dtype=np.uint8) for size in SIZES[2:]]\n"
      "buffers = [pyxrt.bo(device, size, pyxrt.bo.host_only, kernel.group_id(3 + i)) for i, size in "
      "enumerate(SIZES)]\n"
      "for buffer, values in zip(buffers, data):\n    buffer.write(values, 0)\n    buffer.sync(TO, values.nbytes, "
      "0)\n\n"
      "best = float(\"inf\")\nfor _ in range(RUNS):\n    start = time.perf_counter()\n"
      "    state = kernel(3, program, len(instructions), *buffers).wait()\n"
      "    best = min(best, time.perf_counter() - start)\n"
      "    if state != pyxrt.ert_cmd_state.ERT_CMD_STATE_COMPLETED:\n        raise SystemExit(f\"the NPU says "
      "{state}\")\n"
      "print(f\"{best * 1e6:.0f} us, {2e-12 * M * N * K / best:.2f} Tflop/s\")\n");
  if (checks)
    tw_text_add(&t,
                "\nbuffers[2].sync(FROM, SIZES[2], 0)\n"
                "c = buffers[2].read(SIZES[2], 0).view(np.%s).reshape(M, N)\n"
                "a, b = data[0].view(np.int8).reshape(M, K), data[1].view(np.int8).reshape(%s\n"
                "sums = a.astype(np.float64) @ b.astype(np.float64)  # exact\n"
                "limits = np.iinfo(c.dtype)  # sums are shifted, rounded%s, and saturated\n"
                "expected = np.clip(np.%s(sums / 2**%d), limits.min, limits.max).astype(c.dtype)\n"
                "print(\"correct\" if np.array_equal(c, expected) else \"WRONG\")\n",
                g->c == TW_I8    ? "int8"
                : g->c == TW_I16 ? "int16"
                                 : "int32",
                g->b_transposed ? "N, K).T" : "K, N)", to_even ? " to nearest even" : " down",
                to_even ? "rint" : "floor", g->shift);
  return tw_text_take(&t);
}

/* ---- all ---- */

/* What was written must be what was simulated: read back, it writes the same text. */
static tw_status read_back(const xd_config *c, const xd_gemm *g, const char *problem, const char *text,
                           tw_error *error) {
  const xd_mlir_options options = {g->rounding, g->shift};
  xd_mlir_design d;
  char *again = NULL;
  tw_status status = xd_mlir_read(c, text, &options, &d, error);
  if (status != TW_OK) return status;
  status = xd_mlir_write(c, &d.program, problem, &again, error);
  if (status == TW_OK && strcmp(text, again) != 0)
    status = tw_fail(error, TW_FAILED, "design.mlir does not read back as it was written");
  free(again);
  xd_mlir_free(&d);
  return status;
}

static void add_file(tw_files *files, const char *name, char *text) {
  files->file[files->n].name = name;
  files->file[files->n++].text = text;
}

tw_status xd_mlir_sources(const xd_config *c, const tw_problem *p, const xd_gemm *g, tw_files *files, tw_error *error) {
  xd_program program;
  tw_error why = {0};
  char problem[400], *design = NULL, *script = NULL;
  tw_status status = xd_gemm_program(c, g, &program, error);
  if (status != TW_OK) return status;
  tw_problem_print(p, problem, sizeof problem);
  const tw_status written = xd_mlir_write(c, &program, problem, &design, &why);
  if (written == TW_OK && (status = read_back(c, g, problem, design, error)) != TW_OK) {
    xd_program_free(&program);
    free(design);
    return status;
  }
  char *readme = readme_of(g, problem, design, why.text, xd_mlir_object(&program).text);
  if (written == TW_OK) script = script_of(g);
  xd_program_free(&program);
  if (!readme || (written == TW_OK && !script) || (written != TW_OK && written != TW_USAGE)) {
    free(design);
    free(readme);
    free(script);
    return tw_fail(error, TW_MISSING, "out of memory");
  }
  add_file(files, "README.md", readme);
  if (design) add_file(files, "design.mlir", design);
  if (script) add_file(files, "run.py", script);
  return TW_OK;
}
