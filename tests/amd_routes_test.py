"""amd_routes_test.py TILEWRIGHT - examples/amd_routes.py joins exports: the entry point and the contest's custom_kernel
start the kernels of the shape with the arguments that launch.json states. HIP and PyTorch are replaced."""

import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types

ROOT = pathlib.Path(__file__).parent.parent
KEYS = "b_transposed=1 a=bf16 b=mxfp4 c=bf16 quantize=mxfp4 scale_rule=even packed=1 shuffle=aiter".split()
SHAPES = {
    (4, 96, 512): "register_prefetch 2\npreload_arguments\nfixed_shape\n",
    (16, 64, 1024): "split_k 2\n",
}
ADDRESS = {"A": 1 << 20, "B": 2 << 20, "SB": 3 << 20, "C": 4 << 20, "workspace": 5 << 20}


def export(tilewright, folder, m, n, k, schedule, keys=KEYS):
    steps = folder.with_suffix(".steps")
    steps.write_text(schedule)
    command = [tilewright, "emit", "gemm", f"m={m}", f"n={n}", f"k={k}", *keys, "-t", "cdna4", "-s", steps, "--out", folder]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def join(out, *folders):
    return subprocess.run([sys.executable, ROOT / "examples/amd_routes.py", "--out", out, *folders], capture_output=True, text=True)


def expected(launch):
    """The lines that the stub writes for a launch; the bytes of arguments."""
    lines, sizes = [], []
    for kernel in launch["kernels"]:
        values, bytes_of = [], []
        for given in kernel["arguments"]:
            (kind, value), = given.items()
            bytes_of.append(4 if kind in ("i32", "f32") else 8)
            values.append(ADDRESS[value] if kind == "operand" else ADDRESS["workspace"] + value if kind == "workspace" else value)
        numbers = [*kernel["workgroups"], *kernel["work_items"], kernel["lds_bytes"], 77, *values]
        lines.append(" ".join(map(str, [kernel["name"], *numbers])))
        sizes.append(kernel["name"] + ":" + ",".join(map(str, bytes_of)))
    return lines, ";".join(sizes)


class Tensor:
    def __init__(self, shape, name):
        self.shape, self.name, self.device = shape, name, "gpu"

    def contiguous(self):
        return self

    def data_ptr(self):
        return ADDRESS[self.name]


def library(source, folder):
    path = folder / "routes.so"
    (folder / "built.cpp").write_text(source)
    command = ["g++", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{ROOT}/tests/hip_stub", folder / "built.cpp", "-o", path]
    subprocess.run(command, check=True)
    return str(path)


def fake_torch(folder):
    torch, utils, extension = (types.ModuleType(name) for name in ("torch", "torch.utils", "torch.utils.cpp_extension"))
    torch.bfloat16, torch.uint8 = "bf16", "u8"
    torch.empty = lambda shape, dtype, device: Tensor(shape, "workspace" if dtype == "u8" else "C")
    stream = types.SimpleNamespace(cuda_stream=77)
    torch.cuda = types.SimpleNamespace(current_stream=lambda: stream)
    extension.load_inline = lambda name, cpp_sources, **_: library(cpp_sources[0], folder)
    sys.modules.update({"torch": torch, "torch.utils": utils, "torch.utils.cpp_extension": extension})


def main():
    if not shutil.which("clang-22") or not shutil.which("g++"):
        print("skipped: clang-22 or g++ is missing")
        sys.exit(77)
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        names = []
        for (m, n, k), schedule in SHAPES.items():
            names.append(folder / f"e{m}")
            export(sys.argv[1], names[-1], m, n, k, schedule)
        joined = join(folder / "out", *names)
        assert joined.returncode == 0, joined.stderr
        fake_torch(folder)
        scope = {}
        exec((folder / "out/submission.py").read_text(), scope)
        os.environ["HIP_STUB_LOG"] = str(folder / "log")
        direct = scope["LIBRARY"]
        for name, (m, n, k) in zip(names, SHAPES):
            launch = json.loads((name / "launch.json").read_text())
            lines, os.environ["HIP_STUB_SIZES"] = expected(launch)
            assert direct.tilewright_workspace(m, n, k) == launch["workspace_bytes"]
            c = scope["custom_kernel"]((Tensor((m, k), "A"), Tensor((n, k), "B"), None, Tensor((), "B"), Tensor((), "SB")))
            assert c.shape == (m, n) and c.name == "C"
            log = pathlib.Path(os.environ["HIP_STUB_LOG"])
            assert log.read_text().splitlines() == lines, (log.read_text(), lines)
            log.unlink()
        assert direct.tilewright_workspace(5, 96, 512) == -1
        assert direct.tilewright_gemm(5, 96, 512, (ctypes.c_void_p * 4)(), None, None) == 1
        try:
            scope["custom_kernel"]((Tensor((5, 512), "A"), Tensor((96, 512), "B"), None, None, None))
            raise AssertionError("a shape without a kernel was accepted")
        except ValueError as error:
            assert "no kernel for m=5" in str(error)
        export(sys.argv[1], folder / "other", 8, 96, 512, "", [key for key in KEYS if not key.startswith("shuffle")])
        for wrong, words in (((names[0], names[0]), "same m, n and k"), ((names[0], folder / "other"), "differs"), ((folder,), "not an export")):
            refused = join(folder / "out", *wrong)
            assert refused.returncode and words in refused.stderr, refused.stderr
    finally:
        shutil.rmtree(folder)


main()
