#!/usr/bin/env python3
"""Joins exported gemms of an AMD GPU, one for each shape, into one entry point that chooses by m, n and k.

    tilewright emit gemm m=4 n=2880 k=512 ... -t cdna4 -s best --out a        # and so on for each shape
    examples/amd_routes.py --out routes a b c

writes routes/routes.cpp, which has the code objects and two C functions, for any program and for PyTorch extensions:

    long tilewright_workspace(long m, long n, long k);    bytes; -1: no kernel has this shape
    int tilewright_gemm(long m, long n, long k, void *const *operands, void *workspace, void *stream);    a hipError_t

operands are pointers in the op's order (A, B, SB, C). With operands A, B, SB and C in AITER's order it also writes
routes/submission.py: `custom_kernel(data)` in the form of the MXFP4 contest of GPU MODE and AMD."""

import argparse
import json
import pathlib
import re
import sys

ENTRY = """
extern "C" long tilewright_workspace(long m, long n, long k) {
  for (const route &r : routes)
    if (r.m == m && r.n == n && r.k == k) return r.workspace;
  return -1;
}
extern "C" int tilewright_gemm(long m, long n, long k, void *const *operands, void *workspace, void *stream) {
  for (const route &r : routes)
    if (r.m == m && r.n == n && r.k == k) return r.start(operands, (char *)workspace, (hipStream_t)stream);
  return hipErrorInvalidValue;
}
"""

SUBMISSION = '''"""MXFP4 gemms for fixed shapes: {shapes}. Made by tilewright."""
import ctypes

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
{source}"""
LIBRARY = ctypes.CDLL(load_inline("tilewright_routes", cpp_sources=[SOURCE], is_python_module=False,
                                  extra_cflags=["-D__HIP_PLATFORM_AMD__", "-I/opt/rocm/include"],
                                  extra_ldflags=["-L/opt/rocm/lib", "-lamdhip64"]))
LIBRARY.tilewright_workspace.restype = ctypes.c_long
LIBRARY.tilewright_workspace.argtypes = [ctypes.c_long] * 3
LIBRARY.tilewright_gemm.argtypes = [ctypes.c_long] * 3 + [ctypes.c_void_p] * 3


def custom_kernel(data):
    A, B, _, B_shuffle, B_scale_sh = data
    (m, k), n = A.shape, B.shape[0]
    bytes_needed = LIBRARY.tilewright_workspace(m, n, k)
    if bytes_needed < 0:
        raise ValueError(f"no kernel for m={{m}} n={{n}} k={{k}}; expected one of {shapes}")
    A = A.contiguous()
    C = torch.empty((m, n), dtype=torch.bfloat16, device=A.device)
    workspace = torch.empty(bytes_needed, dtype=torch.uint8, device=A.device)
    operands = (ctypes.c_void_p * 4)(*(x.data_ptr() for x in (A, B_shuffle, B_scale_sh, C)))
    status = LIBRARY.tilewright_gemm(m, n, k, operands, workspace.data_ptr(), torch.cuda.current_stream().cuda_stream)
    if status:
        raise RuntimeError(f"HIP error {{status}}")
    return C
'''


def fail(where, text):
    sys.exit(f"amd_routes.py: {where}: {text}")


def read(folder):
    """launch.json and the code object of an export; the shape; the keys that all shapes must share."""
    folder = pathlib.Path(folder)
    try:
        launch = json.loads((folder / "launch.json").read_text())
        code = (folder / launch["file"]).read_bytes()
    except (OSError, ValueError, KeyError) as error:
        fail(folder, f"not an export of an AMD target ({error}); make it with 'tilewright emit ... --out {folder}'")
    op, *keys = launch["problem"].split()
    if op != "gemm":
        fail(folder, f"expected a gemm (found {op})")
    if launch["workspace_zeroed"]:
        fail(folder, "kernels with a workspace of zeros are unsupported")
    values = dict(key.split("=", 1) for key in keys)
    shape = tuple(int(values.pop(name)) for name in "mnk")
    return launch, code, shape, (values, [o["name"] for o in launch["operands"]], launch["processor"])


def argument(kind, value, names):
    """The declaration of a kernel's argument, without its name."""
    if kind == "operand":
        return f"void *{{}} = operand[{names.index(value)}]"
    if kind == "workspace":
        return f"void *{{}} = workspace + {value}"
    types = {"i32": "int", "i64": "long", "f32": "float", "f64": "double"}
    return f"{types[kind]} {{}} = ({types[kind]}){value!r}"


def starter(i, launch, code, names):
    """The C++ function that starts the kernels of one shape, with its code object."""
    kernels = launch["kernels"]
    yield f"alignas(4096) const unsigned char code_{i}[] = {{{','.join(map(str, code))}}};\n"
    yield f"hipError_t start_{i}(void *const *operand, char *workspace, hipStream_t stream) {{\n"
    yield f"  static hipFunction_t f[{len(kernels)}];\n"
    loads = "\n    ".join(
        f'if (s == hipSuccess) s = hipModuleGetFunction(&f[{j}], module, "{k["name"]}");' for j, k in enumerate(kernels)
    )
    yield "  static const hipError_t loaded = [] {\n    hipModule_t module;\n"
    yield f"    hipError_t s = hipModuleLoadData(&module, code_{i});\n    {loads}\n    return s;\n  }}();\n"
    yield "  hipError_t status = loaded;\n  (void)workspace;\n"
    for j, kernel in enumerate(kernels):
        given = [argument(*next(iter(a.items())), names).format(f"a{x}") for x, a in enumerate(kernel["arguments"])]
        sizes = ", ".join(map(str, [*kernel["workgroups"], *kernel["work_items"], kernel["lds_bytes"]]))
        yield "  if (status == hipSuccess) {\n" + "".join(f"    {g};\n" for g in given)
        yield f"    void *arguments[] = {{{', '.join(f'&a{x}' for x in range(len(given)))}}};\n"
        yield f"    status = hipModuleLaunchKernel(f[{j}], {sizes}, stream, arguments, nullptr);\n  }}\n"
    yield "  return status;\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="the folder to write")
    parser.add_argument("export", nargs="+", help="a folder that `tilewright emit ... --out` wrote")
    given = parser.parse_args()
    exports = [read(folder) for folder in given.export]
    shared = exports[0][3]
    for folder, export in zip(given.export, exports):
        if export[3] != shared:
            fail(folder, f"its gemm differs from that of {given.export[0]} in more than m, n and k")
    shapes = [export[2] for export in exports]
    if len(set(shapes)) < len(shapes):
        fail(given.export[0], "two exports have the same m, n and k")
    source = "// Made by tilewright's amd_routes.py.\n#include <hip/hip_runtime.h>\n\nnamespace {\n"
    for i, (launch, code, _, _) in enumerate(exports):
        source += "".join(starter(i, launch, code, shared[1]))
    source += "struct route {\n  long m, n, k, workspace;\n  hipError_t (*start)(void *const *, char *, hipStream_t);\n};\n"
    rows = ", ".join(
        f"{{{m}, {n}, {k}, {e[0]['workspace_bytes']}, start_{i}}}" for i, ((m, n, k), e) in enumerate(zip(shapes, exports))
    )
    source += f"const route routes[] = {{{rows}}};\n}} // namespace\n{ENTRY}"
    out = pathlib.Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "routes.cpp").write_text(source)
    values, names, _ = shared
    if names == ["A", "B", "SB", "C"] and values.get("shuffle") == "aiter" and values.get("a") == values.get("c") == "bf16":
        text = ", ".join("x".join(map(str, shape)) for shape in shapes)
        (out / "submission.py").write_text(SUBMISSION.format(shapes=text, source=re.sub(r"^// Made.*\n", "", source)))


if __name__ == "__main__":
    main()
