"""Starts kernels of tiles from Python: reads the launch that a source's //: lines describe (docs/reference/kernel-header.md), beside PyTorch.

Used by cuda_rivals.py. Tensors come from torch; the driver is called through ctypes."""
import ctypes as C
import os
import re
import torch

cuda = C.CDLL("libcuda.so.1")
TYPES = {"bf16": (9, 2), "f16": (6, 2), "f32": (7, 4), "i32": (3, 4), "i16": (1, 2), "i8": (0, 1), "u8": (0, 1), "e4m3": (0, 1), "e5m2": (0, 1)}
NAMES = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32", torch.int32: "i32", torch.int16: "i16",
         torch.int8: "i8", torch.uint8: "u8", torch.float8_e4m3fn: "e4m3", torch.float8_e5m2: "e5m2"}


def check(status, what):
    if status:
        text = C.c_char_p()
        cuda.cuGetErrorString(status, C.byref(text))
        raise RuntimeError(f"{what}: {text.value.decode() if text.value else status}")


class _Names(dict):
    def __missing__(self, name):
        raise KeyError(f"the launch names '{name}', which this program does not know")


def evaluate(text, names):
    """A C expression of whole numbers; ?: is not used by what this program starts."""
    text = re.sub(r"\b([A-Za-z]\w*)\.(bytes|pitch|rows|columns)\b", r"\1_\2", text).replace("&&", " and ").replace("||", " or ").replace("/", "//").replace("!", " not ").replace(" not =", "!=")
    functions = {"min": min, "max": max, "ceildiv": lambda a, b: -(-a // b), "align": lambda a, b: -(-a // b) * b}
    return int(eval(text, {"__builtins__": {}}, _Names(functions | names)))


def split(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return parts + [text[start:].strip()]


class Attribute(C.Structure):
    _fields_ = [("id", C.c_int), ("pad", C.c_int), ("value", C.c_uint32 * 16)]


class Config(C.Structure):
    _fields_ = [("grid", C.c_uint * 3), ("block", C.c_uint * 3), ("shared", C.c_uint), ("stream", C.c_void_p),
                ("attributes", C.POINTER(Attribute)), ("count", C.c_uint)]


modules = {}  # by cubin: all sets of operands are for the same code, as in a program


class Kernel:
    """A cubin and the source that it was made of, for one problem: keys of the op by name, operands as tensors."""

    def __init__(self, source, cubin, keys, operands, sms):
        self.module, self.keep = C.c_void_p(), [operands]
        lines = [(l[3:].split(None, 1) + [""])[:2] for l in source.splitlines() if l.startswith("//:")]
        types = {t: i for i, t in enumerate(TYPES)}
        names = types | dict(keys) | {"sms": sms}
        for name, x in operands.items():
            names |= {f"{name}_bytes": x.numel() * x.element_size(), f"{name}_pitch": x.stride(-2) if x.dim() > 1 else x.stride(0),
                      f"{name}_columns": x.shape[-1], f"{name}_rows": x.numel() // x.shape[-1]}
        maps, self.parts, self.workspace, now = {}, [], None, None
        self.clear = 0
        vector = lambda text: tuple([evaluate(x, names) for x in split(text)] + [1, 1, 1])[:3]
        for word, rest in [l for l in lines if l[0] == "let"] + [l for l in lines if l[0] == "workspace"] + [l for l in lines if l[0] not in ("let", "workspace")]:
            if word in ("kernel", "before", "after"):
                now = {"name": rest.strip(), "cluster": (1, 1, 1), "shared": 0, "args": [], "overlap": False}
                self.parts.append(now)
            elif word == "let":
                for x in split(rest):
                    name, value = x.split("=", 1)
                    names[name.strip()] = evaluate(value, names)
            elif word in ("grid", "block", "cluster"): now[word] = vector(rest)
            elif word == "overlap": now[word] = os.environ.get("OVERLAP", "1") != "0"
            elif word == "shared": now[word] = evaluate(rest, names)
            elif word == "workspace":
                size = evaluate(rest.replace("zeroed", ""), names)
                self.workspace = torch.empty(size, dtype=torch.uint8, device="cuda").fill_(0xA5)
                self.clear = size if "zeroed" in rest else 0
            elif word == "map":
                name, what = rest.split("=", 1)
                maps[name.strip()] = self.encode(what.strip(), names, operands)
            elif word == "args": now["args"] += split(rest)
            elif word == "require":
                if not evaluate(rest, names): raise RuntimeError(f"the kernel requires {rest}")
            else: raise RuntimeError(f"this program does not know the launch line '{word}'")
        if cubin not in modules:
            check(cuda.cuModuleLoadData(C.byref(self.module), cubin), "module")
            modules[cubin] = self.module
        self.module = modules[cubin]
        self.keep += [maps]
        for p in self.parts:
            values = []
            for a in p["args"] or list(operands):
                if a in operands: values.append(C.c_void_p(operands[a].data_ptr()))
                elif a in maps: values.append(maps[a])
                elif a.startswith("workspace"): values.append(C.c_void_p(self.workspace.data_ptr() + (evaluate(a[10:-1], names) if "(" in a else 0)))
                elif a.startswith("f32("): values.append(C.c_float(keys[a[4:-1]]))
                elif a.startswith("i64("): values.append(C.c_int64(evaluate(a[4:-1], names)))
                else: values.append(C.c_int(evaluate(a, names)))
            p["values"] = values
            p["args"] = (C.c_void_p * len(values))(*[C.cast(v if isinstance(v, C.Array) else C.pointer(v), C.c_void_p) for v in values])
            p["function"] = C.c_void_p()
            check(cuda.cuModuleGetFunction(C.byref(p["function"]), self.module, p["name"].encode()), p["name"])
            if p["shared"] > 48 << 10: check(cuda.cuFuncSetAttribute(p["function"], 8, p["shared"]), "shared memory")

    def encode(self, what, names, operands):
        workspace = re.match(r"workspace\((\w+), *(.*?)\) (?=box|dims|pitch)", what)
        operand = None if workspace else operands[what.split()[0]]
        get = lambda key, default: [evaluate(x, names) for x in split(m.group(1))] if (m := re.search(rf"\b{key}\(([^()]*(?:\([^()]*\)[^()]*)*)\)", what)) else default
        kind, size = TYPES[workspace.group(1) if workspace else NAMES[operand.dtype]]
        at = self.workspace.data_ptr() + evaluate(workspace.group(2), names) if workspace else operand.data_ptr()
        box = get("box", None)
        dims = get("dims", None) or list(reversed(operand.shape))
        pitch = get("pitch", None) or [s * size for s in reversed(operand.stride())][1:]
        if "as(tf32)" in what: kind = 11  # CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
        swizzle, l2 = get("swizzle", [0])[0], get("l2", [0])[0]
        raw = (C.c_uint8 * 256)()
        out = (C.c_uint8 * 128).from_buffer(raw, -C.addressof(raw) % 64)
        self.keep.append(raw)
        rank = len(box)
        check(cuda.cuTensorMapEncodeTiled(out, kind, rank, C.c_void_p(at), (C.c_uint64 * rank)(*dims),
                                          (C.c_uint64 * max(1, rank - 1))(*pitch), (C.c_uint32 * rank)(*box), (C.c_uint32 * rank)(*[1] * rank),
                                          0, {0: 0, 32: 1, 64: 2, 128: 3}[swizzle], {0: 0, 64: 1, 128: 2, 256: 3}[l2], 0), f"map {what}")
        return out

    def launch(self, p):
        attributes = [Attribute(4, 0, (C.c_uint32 * 16)(*p["cluster"]))] * (p["cluster"] != (1, 1, 1)) + [Attribute(6, 0, (C.c_uint32 * 16)(1))] * p["overlap"]
        stream = torch.cuda.current_stream().cuda_stream
        config = Config((C.c_uint * 3)(*p["grid"]), (C.c_uint * 3)(*p["block"]), p["shared"], stream, (Attribute * 2)(*attributes), len(attributes))
        check(cuda.cuLaunchKernelEx(C.byref(config), p["function"], p["args"], None), f"launch of {p['name']}")

    def __call__(self):
        if self.clear: check(cuda.cuMemsetD8Async(C.c_void_p(self.workspace.data_ptr()), 0, C.c_size_t(self.clear), C.c_void_p(torch.cuda.current_stream().cuda_stream)), "clear")
        for p in self.parts: self.launch(p)

    def time_parts(self, rounds=9):
        """Each kernel's name with its median time in us, one behind the other."""
        times = [[] for p in self.parts]
        for _ in range(rounds):
            events = [torch.cuda.Event(enable_timing=True) for _ in range(len(self.parts) + 1)]
            torch.cuda._sleep(1000000)
            events[0].record()
            for p, e in zip(self.parts, events[1:]):
                self.launch(p)
                e.record()
            torch.cuda.synchronize()
            for t, a, b in zip(times, events, events[1:]): t.append(a.elapsed_time(b) * 1e3)
        return [(p["name"], sorted(t)[rounds // 2]) for p, t in zip(self.parts, times)]
