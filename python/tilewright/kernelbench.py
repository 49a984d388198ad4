"""KernelBench: tunes the model of a file, and writes a ModelNew that computes with the kernels found.

    python -m tilewright.kernelbench MODEL.py [-o NEW.py] [--seconds 60] [--device cuda] [--json]

MODEL.py is KernelBench's: Model, get_inputs and get_init_inputs. It is run, so it must be a file that you trust. The calls of Model.forward are
read from PyTorch's own graph (torch.fx). Calls that tilewright.torch computes are replaced; other calls stay PyTorch's. The kernels are kept
in wisdom, which NEW.py needs when it runs. If no kernel makes Model faster on cuda, ModelNew is Model. The exit status is 0 only if both models
agree and at least one call was replaced.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import operator
import re
import sys
import textwrap
import types
from pathlib import Path
from typing import Any, Callable, Optional

try:
    import tilewright.torch as twt  # before torch: its error says how to install PyTorch
except ImportError as _error:
    if __name__ != "__main__":
        raise
    sys.exit(str(_error))

import torch

from ._library import UsageError

#: KernelBench's tolerances, relative and absolute.
TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}
NAMES = ("Model", "get_inputs", "get_init_inputs")


def load(path: Path) -> types.ModuleType:
    """Runs the user's file."""
    try:
        text = path.read_text()
    except OSError as error:
        raise UsageError(f"{path}: the file cannot be read ({error.strerror})") from error
    module = types.ModuleType("kernelbench_model")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    except Exception as error:
        raise UsageError(f"{path}: the file does not run ({type(error).__name__}: {error})") from error
    missing = [name for name in NAMES if not hasattr(module, name)]
    if missing:
        raise UsageError(f"{path}: expected {', '.join(NAMES)} (missing: {', '.join(missing)})")
    return module


# ---- calls that are replaced ----


def _is_rows_by_matrix(equation: str) -> bool:
    """...k, kn -> ...n"""
    left, _, result = equation.replace(" ", "").partition("->")
    first, _, second = left.partition(",")
    return len(second) == 2 and first[-1:] == second[0] and result == first[:-1] + second[1] and len(set(first + second[1])) == len(first) + 1


def _is_last(dim: Any, x: Any) -> bool:
    return isinstance(dim, int) and x is not None and dim in (-1, len(x) - 1)


# ---- functions of elements ----

#: By PyTorch's name: the op's function, and PyTorch's names and defaults of its alpha and beta.
ELEMENTWISE: "dict[str, tuple[str, tuple[tuple[str, float], ...]]]" = {
    **{name: (name, ()) for name in ("relu", "selu", "sigmoid", "tanh", "silu", "softsign")},
    "hardsigmoid": ("hard_sigmoid", ()),
    "leaky_relu": ("leaky_relu", (("negative_slope", 0.01),)),
    "elu": ("elu", (("alpha", 1.0),)),
    "hardtanh": ("hard_tanh", (("max_val", 1.0), ("min_val", -1.0))),
    "softplus": ("softplus", (("beta", 1.0),)),
}
#: Formulas that models write for a function of the op, as calls of the graph.
FORMULAS = {
    "mul(x, sigmoid(x))": "silu",
    "mul(sigmoid(x), x)": "silu",
    "truediv(x, add(1, abs(x)))": "softsign",
    "truediv(x, add(abs(x), 1))": "softsign",
    f"mul(mul(0.5, x), add(tanh(mul(add(x, mul(pow(x, 3.0), 0.044715)), {math.sqrt(2 / math.pi)})), 1.0))": "gelu_tanh",
    f"mul(mul(0.5, x), add(1.0, tanh(mul({math.sqrt(2 / math.pi)}, add(x, mul(0.044715, pow(x, 3.0)))))))": "gelu_tanh",
}
#: By PyTorch's name of a reduction: the op's function. `max` and `min` are those of a dimension, whose indices are not used.
REDUCTIONS = {
    **{name: name for name in ("sum", "mean", "norm", "max", "min", "argmax", "argmin")},
    **{"vector_norm": "norm", "amax": "max", "amin": "min", "mse_loss": "mean", "smooth_l1_loss": "mean"},
}
#: The norm of twt.normalize, by the reduction's function and terms, and whether the square root is taken.
NORMS = {("mean", "abs", False): "abs", ("norm", None, False): "l2", ("sum", "square", True): "l2", ("mean", "square", True): "rms"}
#: Losses that are means of terms.
LOSSES = {"mse_loss": "squared_difference", "smooth_l1_loss": "smooth_l1"}


def _name_of(called: Any) -> str:
    return called if isinstance(called, str) else getattr(called, "__name__", "")


def _is_call(value: Any, *names: str) -> bool:
    """Is it a call of one of these functions or methods? A module may have such a name, too."""
    return isinstance(value, torch.fx.Node) and value.op in ("call_function", "call_method") and _name_of(value.target) in names


def _arguments(value: Any, n: int, *names: str) -> "tuple[Any, ...]":
    """The arguments of such a call, if they are n without keywords; else none."""
    return tuple(value.args) if _is_call(value, *names) and len(value.args) == n and not value.kwargs else ()


def _text_of(value: Any, x: torch.fx.Node) -> str:
    """The calls that compute a value from x."""
    if value is x:
        return "x"
    if not isinstance(value, torch.fx.Node):
        return repr(value)
    if value.op not in ("call_function", "call_method") or value.kwargs:
        return value.name
    return f"{_name_of(value.target)}({', '.join(_text_of(arg, x) for arg in value.args)})"


def _sources(node: torch.fx.Node, depth: int) -> "dict[torch.fx.Node, None]":
    """The nodes that the node is computed from, in at most `depth` calls."""
    found = dict.fromkeys(node.all_input_nodes)
    for source in list(found) if depth else ():
        found.update(_sources(source, depth - 1))
    return found


class Rewriter:
    """Replaces nodes of a graph; `shapes` and `masks`: by the names of nodes, the shapes of tensors of floating-point numbers and of booleans."""

    def __init__(self, traced: torch.fx.GraphModule, shapes: "dict[str, Any]", numbers: "set[str]" = frozenset(), masks: "Optional[dict[str, Any]]" = None):
        self.traced, self.shapes, self.numbers, self.masks, self.replaced = traced, shapes, numbers, masks or {}, []
        self.kept: "list[str]" = []

    def shape(self, node: Any) -> Any:
        return self.shapes.get(node.name) if isinstance(node, torch.fx.Node) else None

    def is_number(self, value: Any) -> bool:
        return value.name in self.numbers if isinstance(value, torch.fx.Node) else type(value) in (int, float)

    def is_one_of(self, x: Any, value: Any) -> bool:
        """Is the value a tensor of one element?"""
        shape = self.shape(value)
        return shape is not None and math.prod(shape) == 1 and len(shape) <= len(self.shape(x))

    def function(self, node: torch.fx.Node) -> "Optional[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]":
        """What computes a call of a function or method instead."""
        called, args, more = node.target, node.args, dict(node.kwargs)
        name = called if isinstance(called, str) else getattr(called, "__name__", "")
        if name in ("matmul", "mm", "__matmul__") and len(args) == 2 and not more and len(self.shape(args[1]) or ()) == 2 and len(self.shape(args[0]) or ()) > 1:
            return twt.matmul, args, {}
        if name == "bmm" and len(args) == 2 and not more:
            return twt.bmm, args, {}
        if called is torch.einsum and len(args) == 3 and isinstance(args[0], str) and _is_rows_by_matrix(args[0]):
            return twt.matmul, args[1:], {}
        if called is torch.nn.functional.linear:
            return twt.linear, args, more
        if name in ("softmax", "log_softmax", "cumsum"):
            dim = more.get("dim", args[1] if len(args) > 1 else None)
            if _is_last(dim, self.shape(args[0])) and not set(more) - {"dim"} and len(args) < 3:
                return getattr(twt, name), (args[0], dim), {}
        if called is torch.nn.functional.layer_norm:
            return twt.layer_norm, args, more
        if called is torch.nn.functional.group_norm:
            return twt.group_norm, args, more
        if called is getattr(torch.nn.functional, "rms_norm", None):
            return twt.rms_norm, args, more
        if called is getattr(torch.nn.functional, "scaled_dot_product_attention", None):
            return twt.scaled_dot_product_attention, args, more
        return self.elementwise(name, args, more)

    def elementwise(self, name: str, args: "tuple[Any, ...]", more: "dict[str, Any]") -> "Optional[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]":
        if not args or self.shape(args[0]) is None:
            return None
        if name == "mul" and len(args) == 2 and not more and self.is_number(args[1]):
            return twt.elementwise, (args[0], "scale", args[1]), {}
        if name in ("truediv", "div") and len(args) == 2 and not more and self.is_one_of(args[0], args[1]):
            return twt.elementwise, (args[0], "divide"), {"by": args[1]}
        if name == "gelu" and len(args) == 1 and set(more) <= {"approximate"}:
            return twt.elementwise, (args[0], "gelu_tanh" if more.get("approximate") == "tanh" else "gelu_erf"), {}
        f, named = ELEMENTWISE.get(name, ("", ()))
        if not f or len(args) > 1 or more.pop("inplace", False) or set(more) - {key for key, _ in named}:
            return None
        return twt.elementwise, (args[0], f, *(more.get(key, default) for key, default in named)), {}

    def pair(self, node: Any, name: str) -> "Optional[tuple[Any, Any]]":
        """The operands of a call of that name, of which the second may have the last dimensions alone, where it computes for one user."""
        args = _arguments(node, 2, name)
        if not args or len(node.users) > 1:
            return None
        x, z = sorted(args, key=lambda y: -len(self.shape(y) or ()))
        long, short = self.shape(x), self.shape(z)
        return (x, z) if short and long == self.shape(node) and long[-len(short) :] == short else None

    def terms(self, x: torch.fx.Node) -> "tuple[torch.fx.Node, dict[str, Any]]":
        """The operand of a sum or mean of x, and which terms are summed, where x is computed for the sum alone."""
        name, args = _name_of(x.target), x.args
        if len(x.users) > 1 or x.op not in ("call_function", "call_method"):
            return x, {}
        if (name, args[1:], dict(x.kwargs)) in (("clamp", (), {"min": 0}), ("clamp", (0,), {}), ("relu", (), {})):
            rest = _arguments(args[0], 2, "sub")
            found = self.pair(rest[1], "mul") if rest and rest[0] == 1 and len(args[0].users) == 1 else None
            return (found[0], {"of": "hinge", "other": found[1]}) if found else (x, {})
        if x.kwargs:
            return x, {}
        if name == "abs" and self.shape(args[0]) is not None:
            return args[0], {"of": "abs"}
        if name == "square" or (name == "pow" and args[1:] == (2,)):
            between = args[0]
            found = self.pair(between, "sub")
            return (found[0], {"of": "squared_difference", "other": found[1]}) if found else (between, {"of": "square"})
        return x, {}

    def reduction(self, node: torch.fx.Node) -> "Optional[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]":
        """What computes a reduction instead."""
        name, args, more = _name_of(node.target), node.args, dict(node.kwargs)
        if node.target is operator.getitem and args[1:] == (0,) and isinstance(args[0], torch.fx.Node) and len(args[0].users) == 1:
            name, args, more = _name_of(args[0].target), args[0].args, dict(args[0].kwargs)
            if name not in ("max", "min") or len(args) + len(more) < 2:
                return None
        elif node.op not in ("call_function", "call_method") or (name in ("max", "min") and len(args) + len(more) > 1):
            return None
        if name not in REDUCTIONS or not args or self.shape(args[0]) is None:
            return None
        more = {key: value for key, value in more.items() if value is not None and (key, value) != ("beta", 1.0)}
        if name in LOSSES:
            same = len(args) == 2 and self.shape(args[1]) == self.shape(args[0])
            f = more.pop("reduction", "mean")
            return (twt.reduce, args[:1], {"f": f, "of": LOSSES[name], "other": args[1]}) if same and not more and f in ("mean", "sum") else None
        if name in ("norm", "vector_norm"):
            p = more.pop("ord" if name == "vector_norm" else "p", args[1] if len(args) > 1 else 2)
            if p not in (2, "fro", None) or isinstance(p, bool):
                return None
            args = (args[0], *args[2:])
        dim, keepdim = (more.pop(key, args[i] if len(args) > i else None) for i, key in ((1, "dim"), (2, "keepdim")))
        if more or len(args) > 3 or not (dim is None or type(dim) is int or all(type(d) is int for d in dim)):
            return None
        f = REDUCTIONS[name]
        x, of = self.terms(args[0]) if f in ("sum", "mean") else (args[0], {})
        try:
            twt._reduce.dims_of(len(self.shape(x)), dim)
        except UsageError:
            return None
        return twt.reduce, (x,), {"f": f, "dim": dim, "keepdim": bool(keepdim), **of}

    def put_reductions(self) -> None:
        for node in list(self.traced.graph.nodes):
            found = self.reduction(node)
            if found:
                self.put(node, found)
        self.traced.graph.eliminate_dead_code()

    def norm_of(self, x: Any, divisor: Any) -> "Optional[tuple[torch.fx.Node, tuple[Any, ...]]]":
        """The reduction of x that the divisor is computed from, and the arguments of twt.normalize after x."""
        root = _arguments(divisor, 1, "sqrt")
        divisor = root[0] if root else divisor
        added = _arguments(divisor, 2, "add")
        eps = float(added[1]) if added and type(added[1]) in (int, float) else 0.0
        divisor = added[0] if eps else divisor
        if not isinstance(divisor, torch.fx.Node) or divisor.target is not twt.reduce or divisor.args[0] is not x:
            return None
        how, dim = divisor.kwargs, divisor.kwargs["dim"]
        f = NORMS.get((how["f"], how.get("of"), bool(root)))
        if not f or not how["keepdim"] or type(dim) is not int or not 0 <= eps < 1 or (f == "rms" and not eps) or (how["f"] == "norm" and eps):
            return None
        dim %= len(self.shape(x))
        return (divisor, (f, eps, dim)) if twt._rows.has_normalize(self.shape(x), dim) else None

    def put_norms(self) -> None:
        """Division by a norm along a dimension: reductions of the tensor that is divided."""
        for node in list(self.traced.graph.nodes):
            args = _arguments(node, 2, "truediv", "div")
            found = self.norm_of(*args) if args else None
            if found:
                if len(found[0].users) == 1:
                    self.replaced.remove("reduce")
                self.put(node, (twt.normalize, (args[0], *found[1]), {}))
        self.traced.graph.eliminate_dead_code()

    def masked(self, product: Any) -> "Optional[dict[str, Any]]":
        """The tensor and the mask, of the tensor's shape, if the value is their product."""
        args = _arguments(product, 2, "mul")
        for x, mask in (args, args[::-1]) if args else ():
            if self.shape(x) == self.shape(product) and isinstance(mask, torch.fx.Node) and self.masks.get(mask.name) == self.shape(x):
                return {"x": x, "mask": mask}
        return None

    def running_sum(self, node: torch.fx.Node) -> "Optional[dict[str, Any]]":
        """The options of twt.cumsum that computes flip(cumsum(flip(x))), cat((zeros, cumsum(x without its last element))), or cumsum(x * mask)."""

        def call(value: Any, *names: str) -> "Optional[tuple[tuple[Any, ...], Any]]":
            """The arguments of a call of one of these names; the dimension is apart."""
            if not _is_call(value, *names):
                return None
            more = dict(value.kwargs)
            dim = more.pop("dim", None)
            args = (*value.args, *more.values())
            return (args, dim) if dim is not None else (tuple(args[:1]) + tuple(args[2:]), args[1] if len(args) > 1 else None)

        def sums(value: Any, source: str) -> "Optional[tuple[Any, Any, Any]]":
            """x, the dimension and further arguments of `source`, of which a running sum along it is computed."""
            of = call(value, "cumsum")
            found = of and call(of[0][0], source)
            return (found[0][0], found[1], found[0][1:]) if found and len(of[0]) == 1 and found[1] in (of[1], (of[1],), [of[1]]) else None

        of = call(node, "cumsum")
        masked = self.masked(of[0][0]) if of and len(of[0]) == 1 and _is_last(of[1], self.shape(node)) else None
        if masked:
            return masked
        flipped = call(node, "flip")
        inside = flipped and sums(flipped[0][0], "flip")
        if inside and _is_last(inside[1] if type(inside[1]) is int else inside[1][0], self.shape(inside[0])) and flipped[1] == inside[1]:
            return {"x": inside[0], "reverse": True}
        joined = call(node, "cat")
        parts = joined[0][0] if joined and isinstance(joined[0][0], (tuple, list)) and len(joined[0][0]) == 2 else None
        inside = parts and sums(parts[1], "narrow")
        if not inside or not call(parts[0], "zeros_like", "zeros") or not _is_last(joined[1], self.shape(inside[0])) or inside[1] != joined[1]:
            return None
        shape = self.shape(inside[0])
        begins = inside[2][:1] == (0,) and self.shape(parts[1]) == (*shape[:-1], shape[-1] - 1) and self.shape(parts[0]) == (*shape[:-1], 1)
        return {"x": inside[0], "exclusive": True} if begins else None

    def put_running_sums(self) -> None:
        for node in list(self.traced.graph.nodes):
            found = self.running_sum(node)
            if found:
                self.put(node, (twt.cumsum, (found.pop("x"),), found))
        self.traced.graph.eliminate_dead_code()

    def put(self, node: torch.fx.Node, found: "tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]") -> None:
        """Lets a call compute the node."""
        with self.traced.graph.inserting_after(node):
            new = self.traced.graph.call_function(*found)
        self.shapes[new.name] = self.shape(node)
        node.replace_all_uses_with(new)
        self.traced.graph.erase_node(node)
        self.replaced.append(found[0].__name__)

    def put_formulas(self) -> None:
        """The longest first: their parts are not used afterwards."""
        for node in reversed(list(self.traced.graph.nodes)):
            for x in _sources(node, 8) if node.op == "call_function" and node.users else ():
                f = FORMULAS.get(_text_of(node, x))
                if f and self.shape(x) is not None:
                    self.put(node, (twt.elementwise, (x, f), {}))
                    self.traced.graph.eliminate_dead_code()
                    break

    def run(self) -> None:
        self.put_formulas()
        self.put_reductions()
        self.put_norms()
        self.put_running_sums()
        for node in list(self.traced.graph.nodes):
            if node.target in (twt.elementwise, twt.reduce, twt.normalize, twt.cumsum):
                continue
            if node.op in ("call_function", "call_method") and node.target not in (getattr, operator.getitem):
                found = self.function(node)
                if found is None:
                    self.kept.append(node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target)))
                    continue
                self.put(node, found)
            elif node.op == "call_module":
                module = self.traced.get_submodule(node.target)
                known = twt._modules.has_operator(module)
                (self.replaced if known else self.kept).append(type(module).__name__)
        self.traced.graph.lint()
        self.traced.recompile()


def _values_of(traced: torch.fx.GraphModule, inputs: "list[Any]") -> "tuple[dict[str, Any], set[str], dict[str, Any]]":
    """The shapes of nodes that are floating-point tensors, the nodes that are numbers, and the shapes of tensors of booleans."""
    shapes, numbers, masks = {}, set(), {}

    class Recorder(torch.fx.Interpreter):
        def run_node(self, node):
            value = super().run_node(node)
            if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.dtype == torch.bool):
                (masks if value.dtype == torch.bool else shapes)[node.name] = tuple(value.shape)
            elif type(value) in (int, float):
                numbers.add(node.name)
            return value

    with torch.no_grad():
        Recorder(traced).run(*inputs)
    return shapes, numbers, masks


# ---- the new file ----


def _imports(names: "dict[str, Any]", body: str) -> "list[str]":
    lines = []
    for name, value in sorted(names.items()):
        if not re.search(rf"\b{re.escape(name)}\b", body):
            continue
        if isinstance(value, types.ModuleType):
            lines.append(f"import {value.__name__} as {name}" if value.__name__ != name else f"import {name}")
        elif value is getattr(twt, getattr(value, "__name__", ""), None):
            lines.append(f"from tilewright.torch import {value.__name__} as {name}")
        elif hasattr(value, "__module__") and hasattr(value, "__qualname__") and hasattr(sys.modules.get(value.__module__), value.__qualname__):
            lines.append(f"from {value.__module__} import {value.__qualname__} as {name}")
        elif value is type(None):
            lines.append(f"{name} = type(None)")
        else:
            lines.append(f"{name} = float({str(value)!r})" if isinstance(value, float) else f"{name} = {value!r}")
    return lines


def new_source(original: str, traced: Optional[torch.fx.GraphModule], tf32: bool = True) -> str:
    """The user's file and ModelNew: a Model with the same parameters, whose forward is the rewritten graph; None: Model's own. `tf32`: convolutions
    may round to tf32 where PyTorch's do."""
    if traced is None:
        return original.rstrip("\n") + "\n\n\n# Written by tilewright.kernelbench: no kernel was faster than PyTorch.\nclass ModelNew(Model):\n    pass\n"
    code = traced.graph.python_code("self")
    body = code.src.strip("\n")
    modules = any(node.op == "call_module" for node in traced.graph.nodes)
    return "\n".join(
        [
            original.rstrip("\n"),
            "",
            "",
            "# Written by tilewright.kernelbench: Model.forward with tilewright's kernels. They come from wisdom, where tune left them.",
            *_imports(code.globals, body),
            "import tilewright.torch",
            "",
            "tilewright.torch.allow_split_float32()  # the tolerance of KernelBench permits it",
            *([] if tf32 else ["tilewright.torch.allow_tf32_convolutions(False)  # PyTorch's result is more accurate than tf32"]),
            "",
            "",
            "class ModelNew(Model):",
            *(["    def __init__(self, *args, **kwargs):", "        super().__init__(*args, **kwargs)", "        tilewright.torch.replace(self)", ""] if modules else []),
            textwrap.indent(body, "    "),
            "",
        ]
    )


def agree(ours: Any, theirs: Any) -> bool:
    tolerance = TOLERANCE.get(theirs.dtype, 0.0)
    return ours.shape == theirs.shape and torch.allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def rewritten(file: types.ModuleType, device: str) -> "tuple[Any, Any, Any, list[Any]]":
    """The model, its graph with calls replaced, what was replaced, and inputs on the device."""
    torch.manual_seed(42)
    model = file.Model(*file.get_init_inputs()).to(device).eval()
    inputs = moved(file.get_inputs(), device)
    try:
        traced = torch.fx.symbolic_trace(copy.deepcopy(model))  # its modules are replaced, and the model's are not
    except Exception as error:
        raise UsageError(f"{file.__file__}: torch.fx cannot trace Model.forward ({type(error).__name__}: {error})") from error
    rewriter = Rewriter(traced, *_values_of(traced, inputs))
    rewriter.run()
    return model, traced, rewriter, inputs


def moved(values: "list[Any]", device: str) -> "list[Any]":
    return [v.to(device) if isinstance(v, torch.Tensor) else v for v in values]


def redrawn(value: Any) -> Any:
    """Other values of the same distribution: the elements in another order, drawn where they are. A large get_inputs takes seconds on a CPU."""
    if not isinstance(value, torch.Tensor) or value.dim() == 0:
        return value
    for dim in range(value.dim()):
        value = value.index_select(dim, torch.randperm(value.shape[dim], device=value.device))
    return value


#: How the note of a call begins whose kernel was right, but too far from PyTorch's own result.
DIFFERS = "PyTorch's, because the results differ by more than KernelBench's tolerance: "


def _agrees(traced: Any, model: Any, inputs: "list[Any]") -> bool:
    with torch.no_grad():
        return agree(traced(*inputs), model(*inputs))


def _tuned(traced: Any, inputs: "list[Any]", seconds: float, model: Any, drawn: "list[Any]") -> Any:
    """Tunes the calls. Where both models then disagree, PyTorch computes them: its convolutions may round to tf32, which a kernel that does
    not round contradicts, and the other way round."""
    tuned = twt.tune(traced, tuple(inputs), seconds=seconds, backward=False, start=model)
    with twt.replaced(traced):
        used = [c for c in tuned.calls if c.is_used]
        if used and not _agrees(traced, model, drawn):
            for call in used:
                twt._device.reject(twt._device.problem_text(call.op, call.keys), True)
                call.note, call.is_dropped = DIFFERS + call.note, True
            tuned.after = tuned.before
            twt.forget()
    return tuned


def work(path: Path, device: str, seconds: float, out: Optional[Path]) -> "dict[str, Any]":
    """Does all of it; returns what `--json` prints."""
    file = load(path)
    model, traced, rewriter, inputs = rewritten(file, device)
    report: "dict[str, Any]" = {"replaced": rewriter.replaced, "pytorch": rewriter.kept, "file": None, "agree": None, "is_model": False}
    if not rewriter.replaced:
        return report
    twt.allow_split_float32()
    twt.allow_tf32_convolutions(None)
    drawn = [redrawn(x) for x in inputs]
    tf32 = is_faster = True
    if device == "cuda":
        tuned = _tuned(traced, inputs, seconds, model, drawn)
        if any(c.note.startswith(DIFFERS) and c.keys.get("arithmetic") == "tf32" for c in tuned.calls):
            twt.allow_tf32_convolutions(False)
            tf32, tuned = False, _tuned(traced, inputs, seconds, model, drawn)
        report["calls"] = [{"problem": f"{c.op} {c.keys}", "pytorch": c.pytorch, "tilewright": c.tilewright, "is_used": c.is_used, "note": c.note} for c in tuned.calls]
        report["before"], report["after"] = tuned.before, tuned.after
        is_faster = any(c.is_used for c in tuned.calls)
    twt.replace(traced)
    report["agree"] = _agrees(traced if is_faster else model, model, drawn)
    out = out or path.with_name(path.stem + "_new.py")
    out.write_text(new_source(path.read_text(), traced if is_faster else None, tf32))
    report["file"], report["is_model"] = str(out), not is_faster
    return report


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tilewright.kernelbench", description=__doc__.split("\n")[0])
    parser.add_argument("model", type=Path, metavar="MODEL.py")
    parser.add_argument("-o", type=Path, metavar="NEW.py", help="the new file [default: MODEL_new.py]")
    parser.add_argument("--seconds", type=float, default=60, help="of tuning, on cuda [default: 60]")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: PyTorch finds no CUDA device; --device cpu rewrites the model without tuning")
    try:
        report = work(options.model, options.device, options.seconds, options.o)
    except UsageError as error:
        print(f"tilewright.kernelbench: {error}", file=sys.stderr)
        return 2
    except (RuntimeError, MemoryError) as error:
        if not any(words in str(error).lower() for words in ("allocate memory", "out of memory")):
            raise
        found = str(error).split("\n")[0]
        print(f"tilewright.kernelbench: {options.model}: the memory of {options.device} does not suffice ({found}); use smaller sizes in get_inputs", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(report))
    else:
        print(f"replaced: {', '.join(report['replaced']) or 'nothing: tilewright.torch has no operator for these calls'}")
        if report["pytorch"]:
            print(f"PyTorch's: {', '.join(report['pytorch'])}")
        for call in report.get("calls", ()):
            ours = f"{1e6 * call['tilewright']:.1f} us" if call["tilewright"] else "no kernel"
            print(f"  {call['problem']}: PyTorch {1e6 * call['pytorch']:.1f} us, tilewright {ours}  {call['note']}")
        if report["file"]:
            print(f"results agree within KernelBench's tolerance: {'yes' if report['agree'] else 'NO'}; wrote {report['file']}")
        if report["file"] and options.device == "cpu":
            print("nothing was tuned: tuning requires --device cuda")
        if report["is_model"]:
            print("no kernel is faster than PyTorch: ModelNew is Model")
    return 0 if report["agree"] and not report["is_model"] else 1


if __name__ == "__main__":
    sys.exit(main())
