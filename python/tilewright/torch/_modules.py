"""Modules: PyTorch's with their parameters, computed by this package; and a linear layer with packed weights."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Optional

import torch

from . import _conv, _functions, _kept, _packed, _pool
from ._routes import is_compiling


class Linear(torch.nn.Linear):
    """torch.nn.Linear by tilewright.torch.linear."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return _functions.linear(input, self.weight, self.bias)


class LayerNorm(torch.nn.LayerNorm):
    """torch.nn.LayerNorm by tilewright.torch.layer_norm."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return _functions.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class GroupNorm(torch.nn.GroupNorm):
    """torch.nn.GroupNorm by tilewright.torch.group_norm."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return _functions.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


def _instance_norm(kind: Any, dims: int) -> Any:
    def forward(self, input):
        if self.track_running_stats or input.dim() != dims + 2 or input.shape[1] != self.num_features:
            return kind.forward(self, input)
        return _functions.group_norm(input, self.num_features, self.weight, self.bias, self.eps)

    return type(kind.__name__, (kind,), {"__doc__": f"torch.nn.{kind.__name__} by tilewright.torch.group_norm.", "forward": forward})


INSTANCE_NORMS = {getattr(torch.nn, f"InstanceNorm{dims}d"): _instance_norm(getattr(torch.nn, f"InstanceNorm{dims}d"), dims) for dims in (1, 2, 3)}


class Softmax(torch.nn.Softmax):
    """torch.nn.Softmax by tilewright.torch.softmax."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input) if self.dim is None else _functions.softmax(input, self.dim)


class _RMSNorm(torch.nn.Module):
    """What torch.nn.RMSNorm is, for a PyTorch before 2.4."""

    def __init__(self, normalized_shape: Any, eps: Optional[float] = None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.weight = eps, torch.nn.Parameter(torch.ones(self.normalized_shape))


class RMSNorm(getattr(torch.nn, "RMSNorm", _RMSNorm)):
    """torch.nn.RMSNorm by tilewright.torch.rms_norm."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # PyTorch's own calls it x, too
        if len(self.normalized_shape) != 1:
            return super().forward(x)
        return _functions.rms_norm(x, self.normalized_shape, self.weight, self.eps)


def _convolution(kind: Any) -> Any:
    def forward(self, input, *more, **named):  # more: output_size of a transposed one
        out = None if more or named else _conv.forward(self, input)
        return kind.forward(self, input, *more, **named) if out is None else out

    return type(kind.__name__, (kind,), {"__doc__": f"torch.nn.{kind.__name__} by a kernel of `conv2d` or `conv3d`.", "forward": forward})


CONVOLUTIONS = {getattr(torch.nn, name): _convolution(getattr(torch.nn, name)) for name in (
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"
)}


def _pooling(kind: Any) -> Any:
    def forward(self, input):
        out = _pool.forward(self, input)
        return kind.forward(self, input) if out is None else out

    return type(kind.__name__, (kind,), {"__doc__": f"torch.nn.{kind.__name__} by a kernel of `pool`.", "forward": forward})


POOLS = {getattr(torch.nn, name): _pooling(getattr(torch.nn, name)) for name in (
    "MaxPool1d", "MaxPool2d", "MaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d"
)}
globals().update({kind.__name__: kind for kind in (*CONVOLUTIONS.values(), *POOLS.values(), *INSTANCE_NORMS.values())})  # where pickle looks for the class of a module


class PackedLinear(torch.nn.Module):
    """A linear layer whose weights are i4, mxfp4 or ternary codes with scales. Gradients reach its input and bias.

    `shuffle` is the order of codes and scales: "none" for rows, "mma" for the registers of NVIDIA's products. A state_dict has rows."""

    _version = 2  #: of the state_dict. In version 1, codes and scales had the order of the layer that wrote them.

    def __init__(
        self, in_features: int, out_features: int, codes: Any, scales: Any, bias: Any, format: str, group: int = 0, shuffle: str = "none"
    ):
        super().__init__()
        _packed.check_order(format, shuffle, out_features, in_features)
        self.in_features, self.out_features, self.format, self.group, self.shuffle = in_features, out_features, format, group, shuffle
        self.register_buffer("codes", codes)
        self.register_buffer("scales", scales)
        self.bias = bias

    @classmethod
    def from_linear(
        cls, linear: torch.nn.Linear, format: str = "i4", group: Optional[int] = None, shuffle: str = "none"
    ) -> "PackedLinear":
        """Rounds the layer's weights. `group`: weights along the input that share a scale of i4 [default: 32]; 0: all of a row."""
        if group is None:
            group = 32 if format == "i4" else 0
        _packed.check_order(format, shuffle, linear.out_features, linear.in_features)
        codes, scales = _packed.encoded(linear.weight, format, group)
        if shuffle == "mma":
            codes, scales = _packed.shuffled(codes, scales, format)
        device = linear.weight.device
        return cls(linear.in_features, linear.out_features, codes.to(device), scales.to(device), linear.bias, format, group, shuffle)

    def decoded(self) -> torch.Tensor:
        """The weights after rounding, in float32."""
        return _packed.decoded(self.codes, self.scales, self.format, self.group, self.shuffle, self.in_features)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if self.shuffle == "mma":
            names = prefix + "codes", prefix + "scales"
            destination.update(zip(names, _packed.in_rows(self.codes, self.scales, self.format, self.shuffle)))

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        names = prefix + "codes", prefix + "scales"
        given = [state_dict.get(name) for name in names]
        for name, new, own in zip(names, given, (self.codes, self.scales)):
            if new is not None and (new.dtype, new.shape) != (own.dtype, own.shape):
                error_msgs.append(
                    f"{name}: expected {own.dtype} {list(own.shape)} of {self.format} in rows (found {new.dtype} {list(new.shape)}); "
                    "load into a layer of the same format, group and sizes"
                )
                return
        if self.shuffle == "mma" and local_metadata.get("version") != 1 and all(x is not None for x in given):
            state_dict = {**state_dict, **dict(zip(names, _packed.shuffled(*given, self.format)))}
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def _apply(self, fn):
        """Moves; scales keep their type, since .half() and .to(dtype) are for the layer's input."""
        scales = self.scales
        super()._apply(fn)
        self.scales = scales.to(self.codes.device)
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not is_compiling() and self.codes.device.type == "cpu":
            _kept.keep(self.codes)
        return _packed.packed_linear(x, self.codes, self.scales, self.bias, self.format, self.group, self.shuffle)

    def extra_repr(self) -> str:
        group = f", group={self.group}" if self.group else ""
        group += f", shuffle={self.shuffle}" if self.shuffle != "none" else ""
        return f"in_features={self.in_features}, out_features={self.out_features}, format={self.format}{group}, bias={self.bias is not None}"


# ---- in models ----

_KINDS = {torch.nn.Linear: Linear, torch.nn.LayerNorm: LayerNorm, torch.nn.GroupNorm: GroupNorm, torch.nn.Softmax: Softmax, **CONVOLUTIONS, **POOLS, **INSTANCE_NORMS}
if hasattr(torch.nn, "RMSNorm"):
    _KINDS[torch.nn.RMSNorm] = RMSNorm


def has_operator(module: torch.nn.Module) -> bool:
    """Does `replace` make this package compute the module?"""
    kinds = (*_KINDS, *_KINDS.values())
    if type(module) in (*POOLS, *POOLS.values()):
        return _pool.is_supported(module)
    if getattr(module, "track_running_stats", False):
        return False
    return type(module) in kinds and (not hasattr(module, "transposed") or _conv.is_supported(module))


def replace(model: torch.nn.Module, *, pack: bool = False) -> torch.nn.Module:
    """Makes this package compute the model's modules of linear layers, norms, Softmax, convolutions and pools, in place; parameters and hooks stay.
    Returns the model.

    `pack`: weights of Linear on the CPU stay packed between calls, which doubles their memory. A change is seen by the version that
    PyTorch counts for a tensor; one through `.data` is not, and needs `replace` again.
    """
    for module in model.modules():
        if type(module) in _KINDS:
            module.__class__ = _KINDS[type(module)]
        if isinstance(module, Linear):
            _kept.drop(module.weight)
            if pack:
                _kept.keep(module.weight)
    return model


def restore(model: torch.nn.Module) -> torch.nn.Module:
    """Undoes `replace`."""
    kinds = {ours: theirs for theirs, ours in _KINDS.items()}
    for module in model.modules():
        if isinstance(module, Linear):
            _kept.drop(module.weight)
        if type(module) in kinds:
            module.__class__ = kinds[type(module)]
    return model


@contextmanager
def replaced(model: torch.nn.Module):
    """A context in which the modules that `replace` knows are this package's; those that were before stay so."""
    changed = [module for module in model.modules() if type(module) in _KINDS]
    for module in changed:
        module.__class__ = _KINDS[type(module)]
    try:
        yield model
    finally:
        kinds = {ours: theirs for theirs, ours in _KINDS.items()}
        for module in changed:
            module.__class__ = kinds[type(module)]
