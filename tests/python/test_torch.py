"""tilewright.torch on the CPU: values and errors against float64 and PyTorch, gradients, layouts, packed weights, refusals. What a
device computes is checked by tests/python/gpu_torch.py, where there is one."""

import copy
import ctypes
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock
from pathlib import Path

import numpy as np
import torch

import torch_operators

import tilewright as tw
import tilewright.torch as twt
from tilewright import kernelbench
from tilewright._search import _schedule
from tilewright.torch import _attention, _cached, _contest, _conv, _device, _elementwise, _gemm, _host, _kept, _mlp, _packed, _pool, _reduce, _routes, _rows, _tune

TYPES = (torch.float32, torch.bfloat16, torch.float16)
# fixed, so that a failure repeats; SEED=N draws others
SEED = int(os.environ.get("SEED", 107393430))


def setUpModule():
    print(f"seed {SEED}, PyTorch {torch.__version__}")
    torch.manual_seed(SEED)
    random.seed(SEED)


def rms(x):
    return float(x.double().pow(2).mean().sqrt())


def laid_out(rows, columns, dtype):
    """A matrix in one of the layouts that programs make."""
    kind = random.choice(("dense", "transposed", "pitched", "pitched transposed", "every other", "expanded"))
    if kind == "dense":
        return torch.randn(rows, columns).to(dtype)
    if kind == "transposed":
        return torch.randn(columns, rows).to(dtype).t()
    if kind == "pitched":
        return torch.randn(rows, columns + random.randint(1, 9)).to(dtype)[:, :columns]
    if kind == "pitched transposed":
        return torch.randn(columns, rows + random.randint(1, 9)).to(dtype)[:, :rows].t()
    if kind == "every other":
        return torch.randn(rows, 2 * columns).to(dtype)[:, ::2]
    return torch.randn(1, columns).to(dtype).expand(rows, columns)


class Products(unittest.TestCase):
    def test_batches(self):
        """Each product of a batch is computed by the route's kernel into its part of the result; without a kernel it is PyTorch's."""
        a, b = torch.randn(3, 8, 16), torch.randn(3, 16, 12)
        torch.testing.assert_close(twt.bmm(a, b), torch.bmm(a, b))
        self.assertIsNone(_gemm.batched(a, b))
        route = _gemm.Product(a[0], b[0], None, False)
        operands = {x.data_ptr(): x for x in (*a, *b)}
        results = []

        def kernel(x, y, to):
            found = operands[x] @ operands[y]
            ctypes.memmove(to, found.data_ptr(), found.numel() * 4)
            results.append(to)

        route.device, route.copy_a, route.copy_b = kernel, False, False
        with unittest.mock.patch.object(_gemm, "_route", lambda *_: route):
            torch.testing.assert_close(_gemm.batched(a, b), torch.bmm(a, b))
            self.assertEqual(len(set(results)), 3)
            self.assertIsNone(_gemm.batched(a[:, :, 1:], b[:, 1:]))

    def test_shapes_and_strides(self):
        """200 random products, a third of them with rows enough for the library's GEMM; some are empty."""
        planned = 0
        for _ in range(200):
            dtype = random.choice(TYPES)
            m, n, k = (random.choice((0, 1, 2, 7, 64, random.randint(3, 300), random.randint(128, 400))) for _ in range(3))
            a, b = laid_out(m, k, dtype), laid_out(k, n, dtype)
            actual, exact = twt.matmul(a, b), a.double() @ b.double()
            self.assertEqual((actual.dtype, actual.shape, actual.is_contiguous()), (dtype, exact.shape, True))
            self.check_product(actual, exact, torch.matmul, (a, b), a, b)
            weight, bias = laid_out(n, k, dtype), torch.randn(n).to(dtype)
            exact = a.double() @ weight.double().t() + bias.double()
            self.check_product(twt.linear(a, weight, bias), exact, torch.nn.functional.linear, (a, weight, bias), a, weight.t())
            planned += m >= _gemm.PACKING_PAYS and n > 0 and k > 0
        self.assertGreater(planned, 20)
        self.assertTrue(any(route.host for route in _routes.ROUTES.values()))

    def check_product(self, actual, exact, pytorchs, operands, a, b):
        """Few rows: exactly what PyTorch computes. Otherwise within a rounding of the result, and of a sum of products in binary32."""
        if actual.numel() == 0:
            return
        if a.shape[0] < _gemm.PACKING_PAYS and actual.dtype != torch.float16:
            self.assertTrue(torch.equal(actual, pytorchs(*operands)), (actual.dtype, actual.shape, a.shape[1]))
            return
        size = a.double().abs() @ b.double().abs() + 5
        bound = 1.01 * torch.finfo(actual.dtype).eps / 2 * (exact.abs() + 1e-4) + (a.shape[1] + 3) * 2**-24 * size
        bound += torch.finfo(actual.dtype).tiny
        self.assertTrue(bool(((actual.double() - exact).abs() <= bound).all()), (actual.dtype, actual.shape, a.shape[1]))

    def test_errors_are_no_larger_than_pytorchs(self):
        for dtype in TYPES:
            # sums of 256 terms; on Intel's CPUs with AVX-512, OpenBLAS adds 128 terms, whose errors are smaller by the root of 2
            most = 1.5 if dtype == torch.float32 else 1.15
            for m, n, k in ((128, 128, 128), (256, 200, 1000), (130, 64, 4096)):
                a, b = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)
                exact = a.double() @ b.double()
                try:
                    theirs = rms(torch.matmul(a, b) - exact)
                except RuntimeError:  # PyTorch 1.13 has no product of float16 on the CPU
                    theirs = rms(exact.to(dtype) - exact)
                self.assertLessEqual(rms(twt.matmul(a, b) - exact), most * theirs, (dtype, m, n, k))

    def test_dimensions_are_those_of_pytorch(self):
        x, weight, bias = torch.randn(3, 70, 20), torch.randn(30, 20), torch.randn(30)
        for given in (x, x.transpose(0, 1), x[:, ::2], x[0, 0], x[:0]):
            ours, theirs = twt.linear(given, weight, bias), torch.nn.functional.linear(given, weight, bias)
            self.assertEqual(ours.shape, theirs.shape)
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
        for a, b in ((x, weight.t()), (x[0, 0], weight.t()), (x, torch.randn(3, 20, 5)), (x[0], torch.randn(20))):
            torch.testing.assert_close(twt.matmul(a, b), torch.matmul(a, b), rtol=1e-5, atol=1e-5)

    def test_gradients(self):
        for shape in ((4,), (5, 4), (2, 3, 4), (130, 4)):
            x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
            weight = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
            bias = torch.randn(3, dtype=torch.float64, requires_grad=True)
            self.assertTrue(torch.autograd.gradcheck(twt.linear, (x, weight, bias)))
            self.assertTrue(torch.autograd.gradcheck(lambda a, b: twt.linear(a, b), (x, weight)))
            if len(shape) > 1:
                self.assertTrue(torch.autograd.gradcheck(twt.matmul, (x, weight.detach().t().requires_grad_())))
        self.assertTrue(torch.autograd.gradgradcheck(twt.linear, (x[:5].detach().requires_grad_(), weight, bias)))

    def test_gradients_by_the_library(self):
        """Products large enough for the library's GEMM forward and backward, against PyTorch's gradients."""
        x, weight, bias = torch.randn(2, 150, 160), torch.randn(140, 160), torch.randn(140)
        ours, theirs = ([t.clone().requires_grad_() for t in (x, weight, bias)] for _ in range(2))
        twt.linear(*ours).pow(2).sum().backward()
        torch.nn.functional.linear(*theirs).pow(2).sum().backward()
        for a, b in zip(ours, theirs):
            torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-2)

    def test_what_cannot_be_multiplied_is_told(self):
        x, weight = torch.randn(200, 20), torch.randn(30, 20)
        for _ in range(2):  # the second time, too: a call that failed leaves no route
            with self.assertRaisesRegex(tw.UsageError, "linear: expected operands of ... x k and n x k.*200, 20.*20, 30"):
                twt.linear(x, weight.t())
            with self.assertRaisesRegex(tw.UsageError, "one type .found torch.float32 and torch.bfloat16."):
                twt.linear(x, weight.bfloat16())
            with self.assertRaisesRegex(tw.UsageError, "bias must have 30 elements .found .29.."):
                twt.linear(x, weight, torch.randn(29))
            with self.assertRaisesRegex(tw.UsageError, "one device .found cpu and meta."):
                twt.linear(x, weight, torch.empty(30, device="meta"))
        twt.linear(x, weight, torch.randn(30))
        with self.assertRaisesRegex(tw.UsageError, "bias must have 30 elements"):
            twt.linear(x, weight, torch.randn(29))
        with self.assertRaisesRegex(tw.UsageError, "one type .found torch.float32 and torch.float64."):
            twt.linear(x, weight, torch.randn(30).double())

    def test_types_without_a_kernel_are_pytorchs(self):
        for dtype in (torch.float64, torch.int64):
            a, b = (torch.randint(-9, 9, shape).to(dtype) for shape in ((200, 30), (30, 40)))
            self.assertTrue(torch.equal(twt.matmul(a, b), torch.matmul(a, b)))

    def test_shapes_without_values(self):
        """The fake implementation: shapes and types alone, and the same refusals."""
        out = twt.linear(torch.empty(4, 5, 20, device="meta"), torch.empty(30, 20, device="meta"), torch.empty(30, device="meta"))
        self.assertEqual((out.shape, out.device.type), (torch.Size([4, 5, 30]), "meta"))
        with self.assertRaisesRegex(tw.UsageError, "expected operands"):
            twt.matmul(torch.empty(4, 20, device="meta"), torch.empty(30, 20, device="meta"))

    def test_residual_and_gates(self):
        """Without a kernel for the whole they are made of a product and PyTorch's functions; the operators and their gradients too."""
        for dtype in (torch.float32, torch.bfloat16, torch.float64):
            x, weight, residual = torch.randn(2, 70, 20).to(dtype), torch.randn(30, 20).to(dtype), torch.randn(2, 70, 30).to(dtype)
            bias = torch.randn(30).to(dtype)
            expected = torch.nn.functional.linear(x, weight) + residual
            # two sums of 20 products in binary32 differ by up to 20 * 2^-23 * 40, and a gate multiplies by up to 20
            near = dict(rtol=1e-5, atol=2e-3) if dtype == torch.float32 else dict(rtol=0.016, atol=2e-3)
            for actual in (twt.linear(x, weight, residual=residual), _gemm.linear_add(x, weight, residual)):
                torch.testing.assert_close(actual, expected, **near)
            actual = twt.linear(x, weight, bias, residual=residual)
            torch.testing.assert_close(actual, torch.nn.functional.linear(x, weight, bias) + residual, **near)
            first, second = torch.nn.functional.linear(x, weight).chunk(2, -1)
            for name, act in (("silu", torch.nn.functional.silu), ("gelu", torch.nn.functional.gelu)):
                for actual in (twt.gated_linear(x, weight, name), _gemm.gated_linear(x, weight, name)):
                    torch.testing.assert_close(actual, act(first) * second, **near)
        x, weight, residual = (torch.randn(s, dtype=torch.float64, requires_grad=True) for s in ((5, 4), (6, 4), (5, 6)))
        for call in (lambda x, w: twt.gated_linear(x, w), lambda x, w: _gemm.gated_linear(x, w, "gelu_tanh")):
            self.assertTrue(torch.autograd.gradcheck(call, (x, weight)))
        for add in (lambda x, w, r: twt.linear(x, w, residual=r), _gemm.linear_add):
            self.assertTrue(torch.autograd.gradcheck(add, (x, weight, residual)))
        with self.assertRaisesRegex(tw.UsageError, "residual must be like the result, .5, 6."):
            twt.linear(x, weight, residual=residual[:4])
        with self.assertRaisesRegex(tw.UsageError, "unknown activation 'tanh'; expected silu, gelu, gelu_tanh"):
            twt.gated_linear(x, weight, "tanh")
        with self.assertRaisesRegex(tw.UsageError, "even number of weight rows"):
            twt.gated_linear(x, weight[:3])

    def test_gated_mlp(self):
        """As its two products with PyTorch's gate, by functions and as one operator, with gradients and a residual or without."""
        for dtype, name, added in itertools.product((torch.float32, torch.bfloat16), ("silu", "gelu", "gelu_tanh"), (False, True)):
            sizes = (2, 70, 20), (48, 20), (30, 24), (2, 70, 30)
            x, up, down, residual = ((0.3 * torch.randn(s)).to(dtype).requires_grad_() for s in sizes)
            residual = residual if added else None
            first, second = torch.nn.functional.linear(x, up).chunk(2, -1)
            act = dict(silu=torch.nn.functional.silu, gelu=torch.nn.functional.gelu).get(name, lambda t: torch.nn.functional.gelu(t, approximate="tanh"))
            expected = torch.nn.functional.linear(act(first) * second, down) + (residual if added else 0)
            g, given = torch.randn_like(expected), [t for t in (x, up, down, residual) if t is not None]
            gradients = torch.autograd.grad(expected, given, g)
            near = dict(rtol=1e-4, atol=1e-5) if dtype == torch.float32 else dict(rtol=0.03, atol=0.06)
            for whole in (False, True):
                actual = _mlp.gated_mlp(x, up, down, residual, name) if whole else twt.gated_mlp(x, up, down, name, residual=residual)
                torch.testing.assert_close(actual, expected, **near)
                for mine, theirs in zip(torch.autograd.grad(actual, given, g), gradients):
                    torch.testing.assert_close(mine, theirs, **near)
            with torch.no_grad():
                torch.testing.assert_close(twt.gated_mlp(x, up, down, name, residual=residual), expected, **near)
        with self.assertRaisesRegex(tw.UsageError, r"gated_mlp: expected weights of 2 h x k and n x h \(found \[48, 20\] and \[30, 23\]"):
            twt.gated_mlp(x, up, down[:, :23])
        with self.assertRaisesRegex(tw.UsageError, "unknown activation 'tanh'"):
            twt.gated_mlp(x, up, down, "tanh")
        with self.assertRaisesRegex(tw.UsageError, "residual must be like the result"):
            twt.gated_mlp(x, up, down, residual=x)

    def test_keys_of_a_gated_mlp(self):
        """Both problems with a gate are searched together, the one that keeps the sums first."""
        forward = dict(m=70, n=48, k=64, a="bf16", b="bf16", c="bf16", b_transposed=1, glu="silu", glu_pass="sums")
        backward = _gemm.problem_of((70, 64), (64, 1), (64, 48), (48, 1), "bf16", False, "silu", _mlp._backward_keys(48))
        self.assertEqual(backward, dict(m=70, n=48, k=64, a="bf16", b="bf16", c="bf16", glu="silu", glu_pass="backward", ldd=144))
        self.assertEqual(_mlp.forward_keys(backward), forward)
        for keys in (forward, backward):
            _device.problem_text("gemm", keys)  # the machine has the problem
        x, up, down = torch.randn(2, 35, 64).bfloat16(), torch.randn(96, 64).bfloat16(), torch.randn(64, 48).bfloat16()
        residual = _gemm.problem_of((70, 48), (144, 1), (64, 48), (48, 1), "bf16", True, "residual")
        self.assertEqual(residual["lda"], 144)
        asked = []
        with unittest.mock.patch.object(_gemm, "is_known", lambda *given: asked.append(given) or True):
            self.assertTrue(_mlp.has_kernels(x, down, up, "silu") and _mlp._residual_has_kernel(x, down))
        found = [_gemm.problem_of(*_gemm._flat(*given[:2]), *given[2:4], "bf16", *given[6:]) for given in asked]
        self.assertEqual(found, [backward, forward, residual])
        calls = [twt.Call("gemm", keys, 1, 1.0) for keys in (backward, forward)]
        self.assertEqual([[call.keys for call in group] for group in _tune._groups(calls)], [[forward, backward]])

    def test_quantized_rms_norm(self):
        """Values times scales are the norm, within half a step of e4m3; the largest of each row is 448. Rows of zeros have the scale 1."""
        x, weight = torch.randn(3, 5, 64), torch.randn(64)
        if _rows.E4M3 is None:
            with self.assertRaisesRegex(tw.UsageError, "torch.float8_e4m3fn is missing in PyTorch"):
                twt.quantized_rms_norm(x, weight)
            return
        x[1] = 0
        y, scales = twt.quantized_rms_norm(x, weight)
        self.assertEqual((y.shape, scales.shape, y.dtype), (x.shape, (3, 5, 1), torch.float8_e4m3fn))
        expected = twt.rms_norm(x, 64, weight, 1e-5)
        self.assertTrue(((y.float() * scales - expected).abs() <= expected.abs() / 16 + scales / 1024).all())
        self.assertTrue((y.float().abs().amax(-1)[0] == 448).all())
        self.assertTrue((scales[1] == 1).all() and (y[1].float() == 0).all())

    def test_rotary_linear(self):
        """Queries and keys of one projection are turned, values are not; with gradients and without, as one operator and as two."""
        for dtype in (torch.float32, torch.float64):
            x, weight = torch.randn(2, 7, 20, dtype=dtype), torch.randn(6 * 8, 20, dtype=dtype)
            cos, sin = torch.randn(7, 4, dtype=dtype), torch.randn(7, 4, dtype=dtype)
            for interleaved in (False, True):
                heads = torch.nn.functional.linear(x, weight).unflatten(-1, (6, 8)).split((3, 2, 1), 2)
                expected = [*(twt.rotary(h, cos, sin, interleaved) for h in heads[:2]), heads[2]]
                for wanted in (False, True):
                    actual = twt.rotary_linear(x.clone().requires_grad_(wanted), weight, cos, sin, (3, 2), interleaved)
                    self.assertEqual([part.requires_grad for part in actual], [wanted] * 3)
                    for ours, right in zip(actual, expected):
                        torch.testing.assert_close(ours.detach(), right, rtol=1e-5, atol=1e-4)
                whole = _gemm.rotary_linear(x, weight, cos, sin, 5, interleaved)
                torch.testing.assert_close(whole, torch.cat([h.flatten(2) for h in expected], -1), rtol=1e-5, atol=1e-4)
        keys = _gemm.problem_of(x.flatten(0, 1).shape, (20, 1), weight.shape, (20, 1), "bf16", True, "", _gemm.rotary_keys(cos, 5, True))
        self.assertEqual({key: keys[key] for key in ("n", "rotary", "head", "heads", "positions")},
                         dict(n=48, rotary="interleaved", head=8, heads=5, positions=7))
        with self.assertRaisesRegex(tw.UsageError, "rotary_linear: expected x of b x s x k, tables of s x d / 2"):
            twt.rotary_linear(x, weight, cos[:5], sin[:5], (3, 2))
        for other, table in ((x[0], cos), (x[None], cos), (x, cos[0, 0])):  # without gradients, the first two were computed
            with self.assertRaisesRegex(tw.UsageError, "rotary_linear: expected x of b x s x k"):
                twt.rotary_linear(other, weight, table, table, (3, 2))
        with self.assertRaisesRegex(tw.UsageError, "and 7 heads"):
            twt.rotary_linear(x, weight, cos, sin, (4, 3))
        with self.assertRaisesRegex(tw.UsageError, "operands must have one type"):
            twt.rotary_linear(x, weight, cos.float(), sin, (3, 2))

    def test_parts_of_a_projection_are_not_copied(self):
        rows = torch.randn(2, 7, 6 * 8)
        q, k, v = rows.unflatten(-1, (6, 8)).split((4, 1, 1), 2)
        self.assertEqual(_attention.pitch_of(q, k, v), 48)
        self.assertEqual(_attention.pitch_of(q[:1], k[:1], v[:1]), 48)
        self.assertEqual(_attention.pitch_of(q, k.contiguous(), v), 0)  # one of them would be read wrongly
        self.assertEqual(_attention.pitch_of(q[:, 1:], k[:, 1:], v[:, 1:]), 0)
        self.assertEqual(_attention.pitch_of(*(x.contiguous() for x in (q, k, v))), 0)
        self.assertEqual(_attention.pitch_of(*(x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))), 0)
        self.assertEqual(_attention._keys(q.shape, k.shape, False, 8**-0.5, False, 48), dict(b=2, hq=4, hkv=1, sq=7, sk=7, d=8, pitch=48))

    def test_problems_of_layouts(self):
        """Keys of kernels follow shapes and strides; a residual or bias has C's type, and gates half of the columns."""
        a, b = torch.empty(8, 16), torch.empty(24, 16)
        of = lambda a, b, added="": _gemm.problem_of(a.shape, a.stride(), b.shape, b.stride(), "bf16", True, added)  # noqa: E731
        self.assertEqual(of(a, b), dict(m=8, n=24, k=16, a="bf16", b="bf16", c="bf16", b_transposed=1))
        self.assertEqual(of(a, b, "residual"), dict(m=8, n=24, k=16, a="bf16", b="bf16", c="bf16", b_transposed=1, bias="full", d="c"))
        self.assertEqual(of(a, b, "silu"), dict(m=8, n=12, k=16, a="bf16", b="bf16", c="bf16", b_transposed=1, glu="silu"))
        wide = torch.empty(8, 20)[:, :16]
        self.assertEqual(of(wide, b)["lda"], 20)
        self.assertNotIn("b_transposed", of(a, torch.empty(16, 24).t()))
        for shape in ((8, 16), (2, 4, 16), (16,)):
            x = torch.empty(shape)
            self.assertEqual(_gemm._flat(x.shape, x.stride()), (_gemm.rows_of(x).shape, _gemm.rows_of(x).stride()))
        for added in _gemm.ADDED:
            self.assertIn("gemm", _device.problem_text("gemm", of(torch.empty(8, 16), torch.empty(24, 16), added)))

    def test_autocast(self):
        x, weight = torch.randn(200, 32), torch.randn(40, 32, requires_grad=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = twt.linear(x, weight)
            theirs = torch.nn.functional.linear(x, weight)
        self.assertEqual((out.dtype, theirs.dtype), (torch.bfloat16, torch.bfloat16))
        out.float().sum().backward()
        self.assertEqual(weight.grad.dtype, torch.float32)

    def test_threads_share_plans(self):
        x, weight = torch.randn(300, 200), torch.randn(100, 200)
        expected, wrong = twt.linear(x, weight), []

        def work():
            for _ in range(20):
                if not torch.equal(twt.linear(x, weight), expected):
                    wrong.append(1)

        import threading

        threads = [threading.Thread(target=work) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(wrong, [])


def reference_attention(q, k, v, causal, scale):
    """Of b x h x s x d in float64, by the definition."""
    k, v = (x.double().repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = q.double() @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        scores = scores + torch.full(scores.shape[-2:], float("-inf"), dtype=torch.float64).triu(1)
    return torch.softmax(scores, -1) @ v


class Rows(unittest.TestCase):
    """Without a kernel PyTorch computes: values must be those of PyTorch, and gradients those of the definition."""

    def test_functions_are_those_of_pytorch(self):
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            for shape in ((3, 5, 16), (7, 16), (16,), (0, 16)):
                x, weight, bias = torch.randn(shape).to(dtype), torch.randn(16).to(dtype), torch.randn(16).to(dtype)
                for given in (x, x.transpose(0, -1).contiguous().transpose(0, -1)):
                    expected = torch.nn.functional.layer_norm(given, [16], weight, bias)
                    self.assertTrue(torch.equal(twt.layer_norm(given, 16, weight, bias), expected))
                    self.assertTrue(torch.equal(_rows.layer_norm(given, weight, bias, 1e-5), expected))
                    self.assertTrue(torch.equal(twt.layer_norm(given, [16]), torch.nn.functional.layer_norm(given, [16])))
                    self.assertTrue(torch.equal(_rows.softmax(given), torch.softmax(given, -1)))
                    self.assertTrue(torch.equal(twt.softmax(given, 0), torch.softmax(given, 0)))
                    wide = given.double()
                    exact = wide * (wide.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * weight.double()
                    for actual in (twt.rms_norm(given, 16, weight, 1e-6), _rows.rms_norm(given, weight, 1e-6)):
                        self.assertEqual(actual.dtype, dtype)
                        torch.testing.assert_close(actual.double(), exact, rtol=3 * torch.finfo(dtype).eps, atol=torch.finfo(dtype).eps)

    def test_gradients(self):
        def new(*shape):
            return torch.randn(*shape, dtype=torch.float64, requires_grad=True)

        for shape in ((3, 2, 6), (6,)):
            self.assertTrue(torch.autograd.gradcheck(lambda *t: _rows.layer_norm(*t, 1e-5), (new(*shape), new(6), new(6))))
            self.assertTrue(torch.autograd.gradcheck(lambda *t: _rows.rms_norm(*t, 1e-5), (new(*shape), new(6))))
            self.assertTrue(torch.autograd.gradcheck(_rows.softmax, (new(*shape),)))
        for interleaved in (False, True):
            self.assertTrue(torch.autograd.gradcheck(lambda *t: twt.rotary(*t, interleaved), (new(2, 3, 2, 4), new(3, 2), new(3, 2))))
        for causal in (False, True):
            for heads in (1, 2, 4):
                inputs = new(2, 3, 4, 5), new(2, 3, heads, 5), new(2, 3, heads, 5)
                self.assertTrue(torch.autograd.gradcheck(lambda *t: _attention.attention(*t, causal, 0.3)[0], inputs))

    def test_functions_of_elements(self):
        """Each is PyTorch's, with its gradient; long tensors are divided into equal parts of whole rows."""
        x = torch.linspace(-4, 4, 30, dtype=torch.double).view(5, 6)
        for f, by_pytorch in _elementwise.FUNCTIONS.items():
            with self.subTest(f):
                self.assertTrue(torch.equal(twt.elementwise(x, f, 0.75, -0.5), by_pytorch(x, 0.75, -0.5)))
                self.assertTrue(torch.equal(_elementwise.operation(x, f, 0.75, -0.5, None), by_pytorch(x, 0.75, -0.5)))
                leaf = (x + 0.01).requires_grad_()
                self.assertTrue(torch.autograd.gradcheck(lambda y: _elementwise.operation(y, f, 0.75, -0.5, None), (leaf,)))
        for by in (torch.tensor(3.0, dtype=torch.double), torch.tensor([[-0.5]], dtype=torch.double)):
            self.assertTrue(torch.equal(twt.elementwise(x, "divide", by=by), x / by))
            leaves = x.clone().requires_grad_(), by.clone().requires_grad_()
            self.assertTrue(torch.autograd.gradcheck(lambda y, s: _elementwise.operation(y, "divide", 1.0, -1.0, s), leaves))
        self.assertIs(twt.elementwise(x.half(), "divide", by=torch.ones(1)).dtype, torch.float32)  # as PyTorch has it
        for f, by, said in (("sine", None, "unknown function 'sine'; expected relu"), ("divide", None, "divide with `by`"), ("relu", x[:1, :1], "relu"), ("divide", x, "one element")):
            with self.assertRaisesRegex(tw.UsageError, said):
                twt.elementwise(x, f, by=by)
        self.assertEqual([_elementwise.row_parts(shape) for shape in ((4096, 4096), (4096, 393216), (7, 1 << 26), (1, 1 << 30))], [1, 32, 7, 1])

    def test_reductions(self):
        """Each is PyTorch's, with its gradient, over one dimension and over neighbours."""
        x, z = (torch.randn(3, 4, 5, dtype=torch.double) for _ in range(2))
        for f, by_pytorch in _reduce.FUNCTIONS.items():
            for of, terms in _reduce.TERMS.items() if f in ("sum", "mean") else [("x", lambda x, z: x)]:
                other = z if of in _reduce.PAIRS else None
                for dim in (0, 1, -1, (1, 2), None):
                    first, last = _reduce.dims_of(3, dim)
                    expected = by_pytorch(terms(x, z).flatten(first, last), first)
                    with self.subTest(f"{f} of {of} over {dim}"):
                        torch.testing.assert_close(twt.reduce(x, f, dim, of=of, other=other), expected, rtol=0, atol=0)
                        torch.testing.assert_close(_reduce.operation(x, other, f, of, first, last), expected, rtol=0, atol=0)
                        kept = [1 if first <= d <= last else x.shape[d] for d in range(3)]
                        self.assertEqual(list(twt.reduce(x, f, dim, True, of=of, other=other).shape), kept)
                        if not f.startswith("arg") and dim in (1, None):
                            leaves = [t.clone().requires_grad_() for t in (x, other) if t is not None]
                            how = (None,) * (2 - len(leaves)) + (f, of, first, last)
                            self.assertTrue(torch.autograd.gradcheck(lambda *t: _reduce.operation(*t, *how), leaves))
        for of in _reduce.PAIRS:  # the second operand has the last dimensions alone
            for other in (z[0], z[0, 0]):
                for dim in (0, 1, -1, (0, 1), (1, 2), None):
                    for f in ("sum", "mean"):
                        first, last = _reduce.dims_of(3, dim)
                        expected = _reduce.FUNCTIONS[f](_reduce.TERMS[of](x, other.expand(3, 4, 5)).flatten(first, last), first)
                        torch.testing.assert_close(twt.reduce(x, f, dim, of=of, other=other), expected)
                        kept = [1 if first <= d <= last else x.shape[d] for d in range(3)]
                        self.assertEqual(list(twt.reduce(x, f, dim, True, of=of, other=other).shape), kept)
        for wrong, said in (
            (dict(f="median"), "unknown f='median'"),
            (dict(dim=(0, 2)), "expected neighbouring dimensions"),
            (dict(of="smooth_l1"), "`other` belongs to squared_difference, smooth_l1, hinge"),
            (dict(f="max", of="abs"), "of=abs with f=max is unsupported"),
            (dict(of="smooth_l1", other=z[0, 0, :2]), "expected `other` like x"),
            (dict(of="hinge", other=z[0, 0, 0]), "expected `other` like x"),
        ):
            with self.assertRaisesRegex(tw.UsageError, said):
                twt.reduce(x, **wrong)
        self.assertEqual([_reduce._parts(*sizes) for sizes in ((128, 4096, 4095), (1, 1 << 28, 1), (112, 64, 262144))], [32, 1, 28])
        long = torch.empty(1).expand(1 << 15, 1 << 15)
        self.assertEqual([_reduce.folds_of(long, f, 0, 1) for f in ("sum", "argmax")] + [_reduce.folds_of(long, "sum", 1, 1)], [256, 1, 1])

    def test_running_sums_and_logarithms(self):
        """Beside plain formulas, with gradients, along any dimension."""
        x = torch.randn(3, 4, 5, dtype=torch.double)
        for dim in (0, 1, 2, -1):
            y = x.cumsum(dim)
            torch.testing.assert_close(twt.cumsum(x, dim), y)
            torch.testing.assert_close(twt.cumsum(x, dim, exclusive=True), y - x)
            torch.testing.assert_close(twt.cumsum(x, dim, reverse=True), x.sum(dim, keepdim=True) - y + x)
            torch.testing.assert_close(twt.cumsum(x, dim, reverse=True, exclusive=True), x.sum(dim, keepdim=True) - y)
            torch.testing.assert_close(twt.cumsum(x, dim, mask=x > 0), (x * (x > 0)).cumsum(dim))
            torch.testing.assert_close(twt.log_softmax(x, dim), torch.softmax(x, dim).log())
        leaf = x.clone().requires_grad_()
        for how in ((False, False), (True, False), (False, True), (True, True)):
            for mask in (None, x > 0):
                torch.testing.assert_close(_rows.cumsum(x, *how, mask), _rows.cumsum_by_pytorch(x, *how, mask))
                self.assertTrue(torch.autograd.gradcheck(lambda t: _rows.cumsum(t, *how, mask), (leaf,)))
        torch.testing.assert_close(_rows.log_softmax(x), torch.log_softmax(x, -1))
        self.assertTrue(torch.autograd.gradcheck(_rows.log_softmax, (leaf,)))
        with self.assertRaisesRegex(tw.UsageError, "cumsum: expected a floating-point tensor and a dimension"):
            twt.cumsum(x, 3)
        factors = torch.randn_like(x)
        torch.testing.assert_close(twt.cumsum(x, 1, mask=factors), (x * factors).cumsum(1))
        for mask in (x > 0).float(), x[0] > 0:
            with self.assertRaisesRegex(tw.UsageError, "cumsum: expected a mask of torch.bool"):
                twt.cumsum(x, mask=mask)

    def test_parts_at_any_address(self):
        """A plan is started at multiples of 16 bytes, and every part of the output is written."""

        class Plan:
            def __call__(self, *addresses):
                self.calls.append(addresses)
                ctypes.memset(addresses[-1], 1, 3)

        plan, x, out = Plan(), torch.zeros(4, 3, dtype=torch.uint8), torch.zeros(4, 3, dtype=torch.uint8)
        plan.calls = []
        _routes.start_parts(plan, 4, [x], out, x)
        self.assertEqual([len(call) for call in plan.calls], [3] * 4)
        self.assertFalse(any(address & 15 for call in plan.calls for address in call))
        self.assertTrue(bool((out == 1).all()))

    def test_long_lines_are_reduced_twice(self):
        x, z = torch.randn(1, 4, 6), torch.randn(1, 4, 6)
        with unittest.mock.patch.object(_reduce, "LONGEST_LINE", 9):
            for f in ("sum", "mean", "norm", "max", "min", "argmax"):
                torch.testing.assert_close(twt.reduce(x, f), _reduce.FUNCTIONS[f](x.flatten(), 0))
            torch.testing.assert_close(twt.reduce(x, "mean", 1, of="squared_difference", other=z), (x - z).square().mean(1))
            torch.testing.assert_close(twt.reduce(x, "max", keepdim=True), x.max().view(1, 1, 1))

    def test_attention(self):
        for dtype in (torch.float32, torch.bfloat16):
            for causal, scale, heads, sk in ((False, None, 4, 9), (True, None, 2, 7), (True, 0.2, 1, 7), (True, None, 4, 9)):
                q, k, v = (torch.randn(2, s, h, 8).to(dtype).transpose(1, 2) for s, h in ((7, 4), (sk, heads), (sk, heads)))
                exact = reference_attention(q, k, v, causal, scale)
                actual = twt.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=True)
                self.assertEqual((actual.shape, actual.dtype), (exact.shape, dtype))
                self.assertLess(rms(actual - exact), 4 * torch.finfo(dtype).eps * rms(exact))
                inside = _attention.attention(*(x.transpose(1, 2) for x in (q, k, v)), causal, scale or 8**-0.5)[0].transpose(1, 2)
                torch.testing.assert_close(inside, actual)

    def test_attention_to_caches(self):
        """Beside the definition in f64, head by head; keys after the end of a sequence are no numbers."""
        torch.manual_seed(4)
        for sq, page, has_lengths, causal, window, softcap in (
            (1, 0, True, False, 0, 0.0),
            (1, 4, True, False, 0, 3.0),
            (3, 4, False, True, 0, 0.0),
            (3, 0, True, True, 5, 2.0),
            (2, 8, True, True, 4, 0.0),
            (4, 0, False, True, 0, 0.0),
        ):
            b, hq, hkv, sk, d = 3, 4, 2, 16, 8
            q = torch.randn(b, sq, hq, d)
            k, v = (torch.randn(b, sk, hkv, d) for _ in range(2))
            lengths = torch.tensor([sq, 9, sk], dtype=torch.int32) if has_lengths else None
            for i in range(b if has_lengths else 0):
                k[i, int(lengths[i]) :], v[i, int(lengths[i]) :] = float("nan"), float("nan")
            kept, pages = (k, v), None
            if page:
                pages = torch.randperm(b * sk // page).to(torch.int32).view(b, -1)
                kept = tuple(torch.empty(b * sk // page, page, hkv, d).index_copy_(0, pages.flatten().long(), x.view(-1, page, hkv, d)) for x in (k, v))
            actual = twt.attention(q, *kept, lengths=lengths, pages=pages, is_causal=causal, window=window, softcap=softcap)
            for i in range(b):
                n = int(lengths[i]) if has_lengths else sk
                for h in range(hq):
                    scores = q[i, :, h].double() @ k[i, :n, h // 2].double().t() * d**-0.5
                    scores = softcap * torch.tanh(scores / softcap) if softcap else scores
                    for j in range(sq):
                        end = n - sq + 1 + j if causal else n
                        first = max(0, end - window) if window else 0
                        exact = torch.softmax(scores[j, first:end], -1) @ v[i, first:end, h // 2].double()
                        self.assertLess(rms(actual[i, j, h] - exact), 1e-5)
            self.assertEqual(_cached._route(q, *kept[:1], lengths, pages, causal, 0.3, window, softcap), False)
        with self.assertRaisesRegex(tw.UsageError, "expected lengths of int32"):
            twt.attention(q, k, v, lengths=torch.tensor([1, 2, 3]))
        with self.assertRaisesRegex(tw.UsageError, "a window requires is_causal"):
            twt.attention(q, k, v, window=3)
        with self.assertRaisesRegex(tw.UsageError, "no gradients"):
            twt.attention(q.requires_grad_(), k, v)

    def test_attention_of_sequences_that_follow_one_another(self):
        torch.manual_seed(5)
        q, k, v = (torch.randn(19, h, 8) for h in (4, 2, 2))
        starts = torch.tensor([0, 7, 7, 8, 19], dtype=torch.int32)
        actual = twt.varlen_attention(q, k, v, starts, 11, is_causal=True, window=4)
        for first, end in ((0, 7), (7, 8), (8, 19)):
            alone = twt.attention(*(x[None, first:end] for x in (q, k, v)), is_causal=True, window=4)[0]
            torch.testing.assert_close(actual[first:end], alone)
        keys = _cached._varlen_problem(q.shape, 2, 4, 11, True, 8**-0.5, 4, 0.0)
        self.assertEqual(keys, dict(b=4, hq=4, hkv=2, sq=11, sk=11, d=8, causal=1, window=4, tokens=19))
        with self.assertRaisesRegex(tw.UsageError, "starts of int32"):
            twt.varlen_attention(q, k, v, starts.long(), 11)

    def test_layer_norm_of_more_dimensions(self):
        x, weight, bias = torch.randn(3, 2, 4, 6), torch.randn(4, 6), torch.randn(4, 6)
        for given in (x, x.transpose(0, 1)):
            expected = torch.nn.functional.layer_norm(given, (4, 6), weight, bias)
            torch.testing.assert_close(twt.layer_norm(given, (4, 6), weight, bias), expected)
        with _routes.recording() as counted:
            twt.layer_norm(x, (4, 6), weight, bias)
        self.assertEqual(len(counted), 0)  # on the CPU
        module = twt.replace(torch.nn.Sequential(torch.nn.LayerNorm((4, 6))))
        torch.testing.assert_close(module(x), torch.nn.functional.layer_norm(x, (4, 6)))
        with self.assertRaises(RuntimeError):
            twt.layer_norm(x, (6, 4), weight, bias)

    def test_rotary(self):
        x, cos, sin = torch.randn(2, 5, 3, 8), torch.randn(5, 4), torch.randn(5, 4)
        for interleaved in (False, True):
            y = twt.rotary(x, cos, sin, interleaved)
            for p in range(4):
                i, j = (2 * p, 2 * p + 1) if interleaved else (p, p + 4)
                c, s = cos[:, p, None], sin[:, p, None]
                torch.testing.assert_close(y[..., i], x[..., i] * c - x[..., j] * s)
                torch.testing.assert_close(y[..., j], x[..., j] * c + x[..., i] * s)

    def test_rotary_of_a_part_of_longer_rows(self):
        """Queries and keys of one projection are read in place; what is not dense otherwise is copied."""
        rows = torch.randn(2, 5, 6, 8)
        keys = [_attention._rotary_keys(x.shape, x.stride(), False).get("ldx", 0) for x in (rows, rows[:, :, :4], rows[:, :, 4:], rows[:1, :, :4], rows[:, :1, :4], rows[..., :4], rows[:, ::2, :4])]
        self.assertEqual(keys, [0, 48, 48, 48, 0, 0, 0])
        cos, sin = torch.randn(5, 4), torch.randn(5, 4)
        for part in (rows[:, :, :4], rows[:, :, 4:]):
            self.assertTrue(torch.equal(_attention.rotary(part, cos, sin, False), _attention.rotary(part.contiguous(), cos, sin, False)))

    def test_attention_with_masks_and_other_shapes(self):
        q, k, v = (torch.randn(2, 3, s, 8) for s in (5, 7, 7))
        mask = torch.rand(5, 7) > 0.4
        mask[:, 0] = True
        p = torch.softmax((q @ k.transpose(-1, -2) * 0.3).masked_fill(~mask, float("-inf")), -1)
        for given in (mask, torch.zeros(5, 7).masked_fill(~mask, float("-inf"))):
            torch.testing.assert_close(twt.scaled_dot_product_attention(q, k, v, given, scale=0.3), p @ v)
        wide = torch.randn(2, 3, 7, 12)
        torch.testing.assert_close(twt.scaled_dot_product_attention(q, k, wide, mask, scale=0.3), p @ wide)
        plain = torch.softmax(q @ k.transpose(-1, -2) * 8**-0.5, -1)
        torch.testing.assert_close(twt.scaled_dot_product_attention(q, k, wide), plain @ wide)
        torch.testing.assert_close(twt.scaled_dot_product_attention(q[0], k[0], v[0]), (plain @ v)[0])
        few = twt.scaled_dot_product_attention(q, k[:, :1], wide[:, :1], enable_gqa=True)
        torch.testing.assert_close(few, torch.softmax(q @ k[:, :1].transpose(-1, -2) * 8**-0.5, -1) @ wide[:, :1])
        self.assertEqual(twt.scaled_dot_product_attention(q, k, v, dropout_p=0.5).shape, q.shape)
        with self.assertRaises((tw.UsageError, RuntimeError)):
            twt.scaled_dot_product_attention(q, k, v, mask, is_causal=True)
        with self.assertRaisesRegex(tw.UsageError, "one floating-point type"):
            twt.scaled_dot_product_attention(*(x.int() for x in (q, k, v)))

    def test_refusals(self):
        x = torch.randn(2, 5, 3, 8)
        with self.assertRaisesRegex(tw.UsageError, "tables of s x d / 2 .found .2, 5, 3, 8., .5, 8. and .5, 8.."):
            twt.rotary(x, torch.randn(5, 8), torch.randn(5, 8))
        with self.assertRaisesRegex(tw.UsageError, "enable_gqa=True"):
            twt.scaled_dot_product_attention(torch.randn(1, 4, 5, 8), torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8))
        with self.assertRaisesRegex(tw.UsageError, "a multiple of the heads of keys"):
            twt.scaled_dot_product_attention(*(torch.randn(1, h, 5, 8) for h in (4, 3, 3)), enable_gqa=True)
        with self.assertRaisesRegex(tw.UsageError, "expected .8. weights .found .7.."):
            _rows.layer_norm(x, torch.randn(7), torch.randn(7), 1e-5)
        with self.assertRaisesRegex(tw.UsageError, "expected normalized_shape=.8. .found 7."):
            twt.rms_norm(x, 7, torch.randn(7))

    def test_modules(self):
        model = torch.nn.Sequential(torch.nn.LayerNorm(12), twt.RMSNorm(12), torch.nn.Softmax(-1), torch.nn.LayerNorm((3, 12)))
        x = torch.randn(4, 3, 12)
        expected = model(x)
        twt.replace(model)
        self.assertEqual([type(m) for m in model], [twt.LayerNorm, twt.RMSNorm, twt.Softmax, twt.LayerNorm])
        torch.testing.assert_close(model(x), expected)


class Operators(unittest.TestCase):
    def test_gradients(self):
        torch_operators.gradchecks("cpu")

    @unittest.skipUnless(hasattr(torch.library, "opcheck"), "torch.library.opcheck requires PyTorch 2.4")
    def test_registration(self):
        torch_operators.opchecks("cpu", torch.float32)


class Tuning(unittest.TestCase):
    def test_pairs_compute_the_same(self):
        """The two sides of a comparison: one of them wrong would make the other look fast."""
        for op, keys in (
            ("gemm", dict(m=130, n=40, k=50, a="f32")),
            ("gemm", dict(m=130, n=40, k=50, a="f32", b_transposed=1, ldb=56)),
            ("gemm", dict(m=130, n=40, k=50, a="f32", a_transposed=1, bias="row")),
            ("gemm", dict(m=3, n=40, k=64, a="f32", b="i4", group=32, packed=1)),
            ("gemm", dict(m=3, n=40, k=64, a="f32", b="mxfp4", packed=1, bias="row")),
            ("layernorm", dict(rows=5, cols=16, eps=1e-5, a="f32")),
            ("layernorm", dict(rows=5, cols=16, eps=1e-5, norm="rms", a="f32")),
            ("softmax", dict(rows=5, cols=16, a="f32")),
            ("gate", dict(rows=5, cols=16, act="silu", a="f32")),
            ("gate", {**dict(rows=5, cols=16, act="gelu_tanh", a="f32"), "pass": "backward"}),
            ("elementwise", dict(rows=5, cols=16, f="hard_tanh", alpha=0.5, beta=-0.25, a="f32")),
            ("elementwise", dict(rows=5, cols=16, f="divide", a="f32")),
            ("pool", dict(n=3, h=9, w=10, r=3, s=2, stride=2, pad=1, dilation=1, f="mean", a="f32")),
            ("pool", dict(n=3, w=20, s=3, stride=1, pad=1, dilation=2, f="max", a="f32")),
            ("softmax", dict(rows=5, cols=16, log=1, a="f32")),
            ("cumsum", dict(rows=5, cols=16, reverse=1, a="f32")),
            ("cumsum", dict(rows=5, cols=16, exclusive=1, a="f32")),
            ("cumsum", dict(rows=5, cols=16, masked=1, reverse=1, a="f32")),
            ("layernorm", dict(rows=3, cols=16, inner=5, norm="rms", affine=0, eps=1e-5, a="f32")),
            ("reduce", dict(outer=3, n=4, inner=5, f="mean", of="smooth_l1", a="f32")),
            ("reduce", dict(outer=3, n=4, inner=5, f="mean", of="hinge", shared=1, a="f32")),
            ("reduce", dict(outer=3, n=4, inner=1, f="norm", a="f32")),
            ("rotary", dict(b=2, h=3, s=4, d=8, a="f32")),
            ("rotary", dict(b=2, h=3, s=4, d=8, ldx=40, a="f32")),
            ("attention", dict(b=2, hq=4, hkv=2, sq=6, sk=6, d=8, causal=1, a="f32")),
            ("attention", {**dict(b=2, hq=4, hkv=2, sq=6, sk=6, d=8, causal=1, a="f32"), "pass": "backward"}),
            ("attention", dict(b=2, hq=4, hkv=2, sq=2, sk=6, d=8, causal=1, lengths=1, page=4, softcap=5.0, window=3, a="f32")),
            ("attention", dict(b=3, hq=4, hkv=2, sq=6, sk=6, d=8, causal=1, tokens=14, softcap=5.0, a="f32")),
        ):
            theirs, ours = _tune.pair(op, keys, "cpu")
            a, b = theirs(), ours()
            a, b = ((x,) if isinstance(x, torch.Tensor) else x for x in (a, b))
            for x, y in zip(a, b):
                self.assertGreater(float(x.abs().max()), 0)
                torch.testing.assert_close(y, x, rtol=1e-4, atol=1e-4, msg=lambda m: f"{op} {keys}: {m}")

    def test_groups(self):
        """Group and instance normalization are PyTorch's, with gradients; the keys of kernels follow them."""
        nn = torch.nn
        affine = dict(rows=6, cols=40, eps=1e-5, groups=3, span=20)
        for module, keys in (
            (nn.GroupNorm(3, 6), affine),
            (nn.GroupNorm(3, 6, eps=0.1, affine=False), dict(rows=6, cols=40, eps=0.1, affine=0)),
            (nn.InstanceNorm2d(6), dict(rows=12, cols=20, eps=1e-5, affine=0)),
            (nn.InstanceNorm2d(6, affine=True), dict(rows=12, cols=20, eps=1e-5, groups=6, span=20)),
            (nn.InstanceNorm2d(6, track_running_stats=True), None),
        ):
            with self.subTest(str(module)):
                module = module.double()
                x, kind = torch.randn(2, 6, 4, 5, dtype=torch.double, requires_grad=True), type(module)
                module(x)  # running statistics change
                copied = copy.deepcopy(module)
                expected = module(x)
                twt.replace(copied)
                self.assertIsNot(type(copied), kind)
                torch.testing.assert_close(copied(x), expected)
                self.assertEqual(twt._modules.has_operator(copied), keys is not None)
                if keys is None:
                    continue
                groups = getattr(module, "num_groups", 6)
                self.assertEqual(_rows._group_keys(x, groups, module.affine, module.eps), keys)
                theirs, ours = _tune.pair("layernorm", dict(keys, a="f32"), "cpu")
                torch.testing.assert_close(ours(), theirs())
                inputs = (x, *((module.weight, module.bias) if module.affine else ()))
                self.assertTrue(torch.autograd.gradcheck(lambda y, *w: _rows.group_norm(y, groups, *(w or (None, None)), module.eps), inputs))
        long = torch.empty(1).expand(112, 64, 512, 512)
        self.assertEqual([_rows._group_parts(t) for t in (long, long[:3], long[:1, :1])], [28, 1, 1])

    def test_second_derivatives(self):
        """Gradients that PyTorch computes again have gradients, too; each input is one of its own, also where one is made from the other."""
        x, w, b = (torch.randn(*shape, dtype=torch.double, requires_grad=True) for shape in ((2, 3, 4), (4,), (4,)))
        for call in (
            lambda x, w, b: _rows.layer_norm(x, w, b, 1e-3),
            lambda x, w, b: _rows.rms_norm(x, w, 1e-3),
            lambda x, w, b: _rows.rms_norm(x, w * x.sum(), 1e-3),
            lambda x, w, b: _rows.group_norm(x, 3, None, None, 1e-3),
            lambda x, w, b: _rows.normalize(x, "l2", 0.1, 1),
            lambda x, w, b: _reduce.operation(x, x * w, "mean", "squared_difference", 1, 2),
            lambda x, w, b: _pool.operation(x, [2], 1, 1, 1, True) ** 2,
        ):
            self.assertTrue(torch.autograd.gradcheck(call, (x, w, b)))
            self.assertTrue(torch.autograd.gradgradcheck(call, (x, w, b)))

    def test_division_by_a_norm(self):
        x = torch.randn(3, 5, 7, dtype=torch.double, requires_grad=True)
        for f, eps, expected in (
            ("l2", 0.0, lambda x: torch.nn.functional.normalize(x, dim=-1, eps=0)),
            ("l2", 0.25, lambda x: x / (x.square().sum(-1, keepdim=True) + 0.25).sqrt()),
            ("abs", 0.25, lambda x: x / (x.abs().mean(-1, keepdim=True) + 0.25)),
            ("rms", 0.25, lambda x: x / (x.square().mean(-1, keepdim=True) + 0.25).sqrt()),
        ):
            with self.subTest(f"{f} {eps}"):
                torch.testing.assert_close(twt.normalize(x, f, eps), expected(x))
                for dim in range(3):
                    torch.testing.assert_close(twt.normalize(x, f, eps, dim - 3), expected(x.transpose(dim, -1)).transpose(dim, -1))
                    torch.testing.assert_close(_rows.normalize(x, f, eps, dim), expected(x.transpose(dim, -1)).transpose(dim, -1))
                    self.assertTrue(torch.autograd.gradcheck(lambda y: _rows.normalize(y, f, eps, dim), (x,)))
                theirs, ours = _tune.pair("layernorm", dict(rows=3, cols=8, norm=f, affine=0, eps=eps, a="f32"), "cpu")
                torch.testing.assert_close(ours(), theirs())
        with self.assertRaisesRegex(tw.UsageError, "expected f of abs, l2"):
            twt.normalize(x, "l1")
        for wrong in (dict(f="rms"), dict(dim=3)):
            with self.assertRaisesRegex(tw.UsageError, "and a dimension of x"):
                twt.normalize(x, **wrong)
        images = (112, 64, 512, 512)
        channels = dict(rows=4, cols=64, inner=512 * 512, norm="rms", affine=0, eps=1e-5)
        self.assertEqual(_rows.normalize_keys(images, "rms", 1e-5, 1), channels)
        self.assertEqual([_rows.has_normalize((8, 513), dim) for dim in (0, 1)] + [_rows.has_normalize((513, 8), 0)], [True, True, False])

    def test_pools(self):
        """A module is computed as before, with gradients; the keys of kernels follow its options."""
        nn = torch.nn
        cases = (
            (nn.MaxPool1d(4, stride=1, padding=2, dilation=3), (2, 3, 20), "n=6 w=20 s=4 stride=1 pad=2 dilation=3 f=max"),
            (nn.MaxPool2d(3), (2, 3, 9, 11), "n=6 h=9 w=11 r=3 s=3 stride=3 pad=0 dilation=1 f=max"),
            (nn.MaxPool2d((2, 3), stride=1), (2, 3, 9, 11), "n=6 h=9 w=11 r=2 s=3 stride=1 pad=0 dilation=1 f=max"),
            (nn.MaxPool3d(3, stride=2, padding=1), (2, 3, 6, 7, 8), "n=6 d=6 h=7 w=8 t=3 r=3 s=3 stride=2 pad=1 dilation=1 f=max"),
            (nn.AvgPool1d(4, stride=1, padding=2), (2, 3, 20), "n=6 w=20 s=4 stride=1 pad=2 dilation=1 f=mean"),
            (nn.AvgPool2d(3), (3, 9, 11), "n=3 h=9 w=11 r=3 s=3 stride=3 pad=0 dilation=1 f=mean"),
            (nn.AvgPool3d(3, stride=2, padding=1), (2, 3, 6, 7, 8), "n=6 d=6 h=7 w=8 t=3 r=3 s=3 stride=2 pad=1 dilation=1 f=mean"),
            (nn.MaxPool2d((2, 3)), (2, 3, 9, 11), None),
            (nn.MaxPool2d(3, ceil_mode=True), (2, 3, 10, 11), None),
            (nn.AvgPool2d(3, padding=1, count_include_pad=False), (2, 3, 9, 11), None),
            (nn.AvgPool2d(3, divisor_override=2), (2, 3, 9, 11), None),
        )
        for module, shape, problem in cases:
            with self.subTest(str(module)):
                x, kind = torch.randn(shape, requires_grad=True), type(module)
                expected = module(x)
                twt.replace(module)
                self.assertIsNot(type(module), kind)
                self.assertEqual(_pool.is_supported(module), problem is not None)
                torch.testing.assert_close(module(x), expected, rtol=0, atol=0)
                module(x).sum().backward()
                if problem is None:
                    continue
                window, f, *numbers = _pool._arguments(module)
                torch.testing.assert_close(_pool.operation(x, window, *numbers, f == "mean"), expected, rtol=0, atol=0)
                self.assertEqual(_pool._shape(x, window, *numbers), list(expected.shape))
                self.assertEqual(" ".join(f"{k}={v}" for k, v in _pool._keys(shape, window, *numbers, f == "mean").items()), problem)
                self.assertTrue(_device.problem_text("pool", dict(_pool._keys(shape, window, *numbers, f == "mean"), a="f32")))
        self.assertIs(_pool.route(torch.ones(1, 4, 4), [1, 2], 2, 0, 1, False), False)
        with self.assertRaisesRegex(tw.UsageError, "expected windows of 1 to 3 dimensions"):
            twt.pool(torch.ones(4), (2,))
        with self.assertRaisesRegex(tw.UsageError, "stride is required"):
            twt.pool(torch.ones(1, 4, 4), (2, 1))

    def test_convolutions(self):
        """A module is computed as before; a transposed one of stride 1 is a convolution with turned weights; keys of kernels follow shapes."""
        nn = torch.nn
        cases = (
            (nn.Conv1d(3, 5, 3, padding=1), (2, 3, 20), "n=2 h=1 w=22 c=3 k=5 r=1 s=3"),
            (nn.Conv2d(3, 5, (3, 5), padding=(1, 2)), (2, 3, 9, 11), "n=2 h=11 w=15 c=3 k=5 r=3 s=5"),
            (nn.Conv2d(3, 5, 3, stride=2, padding=1, bias=False), (2, 3, 9, 11), "n=2 h=9 w=11 c=3 k=5 r=3 s=3 stride=2 pad=1"),
            (nn.Conv3d(3, 5, (2, 3, 3), padding=1), (2, 3, 6, 7, 8), "n=2 d=6 h=7 w=8 c=3 k=5 t=2 r=3 s=3 pad=1"),
            (nn.ConvTranspose1d(3, 5, 3, padding=1), (2, 3, 20), "n=2 h=1 w=22 c=3 k=5 r=1 s=3"),
            (nn.ConvTranspose2d(3, 5, (3, 7), padding=(1, 3)), (2, 3, 9, 11), "n=2 h=11 w=17 c=3 k=5 r=3 s=7"),
            (nn.ConvTranspose3d(3, 5, (2, 3, 4)), (2, 3, 5, 6, 7), "n=2 d=7 h=10 w=13 c=3 k=5 t=2 r=3 s=4"),
            (nn.Conv2d(4, 4, 3, groups=2), (2, 4, 9, 9), None),
            (nn.Conv2d(4, 4, 3, dilation=2), (2, 4, 9, 9), None),
            (nn.Conv2d(4, 4, 3, padding="same"), (2, 4, 9, 9), None),
            (nn.ConvTranspose2d(4, 4, 3, stride=2), (2, 4, 9, 9), None),
        )
        for module, shape, problem in cases:
            x, kind = torch.randn(shape, requires_grad=True), type(module)
            expected = module(x)
            twt.replace(module)
            self.assertIsNot(type(module), kind)
            torch.testing.assert_close(module(x), expected)  # with gradients
            module(x).sum().backward()
            with torch.no_grad():
                torch.testing.assert_close(module(x), expected)
                self.assertEqual(_conv.is_supported(module), problem is not None, module)
                if problem is None:
                    continue
                weight, padding = module.weight, list(module.padding)
                if module.transposed:
                    weight, padding = _conv.turned(weight), [k - 1 - p for k, p in zip(module.kernel_size, padding)]
                torch.testing.assert_close(_conv.operation(x, weight, module.bias, module.stride[0], padding), expected, rtol=1e-4, atol=1e-5)
                pad, added = _conv._padding(x, padding)
                padded = torch.nn.functional.pad(x, added) if added else x
                keys = dict(_conv._keys(list(padded.shape), weight.shape, module.bias is not None, module.stride[0], pad), a="f32", b="f32", out="f32")
                self.assertIn(problem + (" bias" if module.bias is not None else " "), _device.problem_text(_conv._op(x.dim() - 2), keys))
                theirs, ours = _tune.pair(_conv._op(x.dim() - 2), keys, "cpu")
                torch.testing.assert_close(ours(), theirs())
            twt.restore(module)
            self.assertIs(type(module), kind)

    def test_a_model_without_parameters_is_where_its_inputs_are(self):
        there = types.SimpleNamespace(is_cuda=True)
        for inputs in ((torch.ones(1), there), {"x": there}):
            self.assertTrue(_tune._is_on_cuda(torch.nn.ReLU(), inputs))
        for inputs in (torch.ones(1), (torch.ones(1), 2.0), {"x": torch.ones(1)}):
            self.assertFalse(_tune._is_on_cuda(torch.nn.Linear(1, 1), inputs))

    def test_time_goes_to_calls_that_may_save_most(self):
        kinds = (("gemm", {}, 10, 1e-3, 0.9e-3), ("gemm", {"packed": 1}, 5, 1e-3, 0.1e-3), ("gemm", {"m": 1}, 9, 1e-3, 2e-3), ("softmax", {}, 2, 1e-3, 1e-3))
        calls = [twt.Call(op, keys, count, seconds, predicted=by_model) for op, keys, count, seconds, by_model in kinds]
        passes = [twt.Call("attention", {"d": 64, **more}, 1, 2e-3, predicted=1e-3, search=1) for more in ({"pass": "backward"}, {})]
        groups = _tune._groups(passes + calls)
        self.assertEqual([group[0] for group in groups], [calls[1], passes[1], calls[0], calls[2], calls[3]])
        self.assertEqual(groups[1], passes[::-1])
        for call in passes:
            call.search *= 10
        self.assertEqual(_tune._groups(passes + calls)[2], groups[1])  # 2 ms for 20 seconds come after 1 ms for 1.6
        for call in passes:
            call.search /= 10
        share, enough = _tune._share(groups, calls[1], 8)
        self.assertAlmostEqual(share, 8 * 4.5 / 7.5)
        self.assertAlmostEqual(enough, 0.1e-3 + 2e-3 / 5)  # the time is short, and attention may save 2 ms
        self.assertAlmostEqual(_tune._share(groups[1:], passes[1], 6)[1], 1.5e-3)  # not without half of the saving
        self.assertEqual(_tune._share(groups, calls[1], 600)[1], 0)
        self.assertEqual(_tune._share(groups[3:], calls[2], 5), (2.5, 0))
        self.assertEqual(_tune._share(groups[4:], calls[3], 5), (5, 0))

    def test_a_kernel_that_does_not_end_is_named(self):
        self.addCleanup(setattr, _contest, "LAUNCH_SECONDS", _contest.LAUNCH_SECONDS)
        left = [3]

        def query():
            left[0] -= 1
            return left[0] == 0

        _contest._await(types.SimpleNamespace(query=query), "softmax")
        self.assertEqual(left, [0])
        _contest.LAUNCH_SECONDS = 0.01
        with self.assertRaisesRegex(RuntimeError, "softmax rows=1: stages 1: the kernel did not end within 0.01 s"):
            _contest._await(types.SimpleNamespace(query=lambda: False), "softmax rows=1: stages 1")

    def test_passes_of_one_problem_are_searched_together(self):
        """Neither kernel is used without the other: both begin before the end, or none."""
        searched, now = [], [0.0]

        def search(call, seconds, pool, enough):
            searched.append(call)
            now[0] += 10
            call.tilewright = 1e-4
            return []

        kinds = (({}, 9e-4), ({"pass": "backward"}, 1e-4), ({"act": "silu"}, 6e-4))
        forward, backward, lone = (twt.Call("gate", {"rows": 8, **more}, 1, 1e-3, predicted=p) for more, p in kinds)
        orphan = twt.Call("attention", {"d": 64, "pass": "backward"}, 1, 1e-3, predicted=9e-4)
        forward_found = [True]
        for module, name, value in (
            (_tune, "_search", search),
            (_tune, "_is_known", lambda call: False),
            (_tune, "_has_forward", lambda call: call is not orphan and forward_found[0]),
            (_tune, "time", types.SimpleNamespace(monotonic=lambda: now[0])),
        ):
            self.addCleanup(setattr, module, name, getattr(module, name))
            setattr(module, name, value)
        told = []
        _tune._search_all([lone, backward, forward, orphan], 15, told.append)
        self.assertEqual(searched, [forward, backward])
        self.assertEqual([call.note for call in (orphan, lone)], ["not searched"] * 2)
        self.assertEqual({id(call) for call in told}, {id(call) for call in (lone, backward, forward, orphan)})
        self.assertEqual(forward.searched, 10)
        self.assertIn("(10 s)", str(forward))
        searched.clear()
        now[0], forward_found[0] = 0.0, False
        _tune._search_all([backward, forward, orphan], 15, None)
        self.assertEqual(searched, [forward])
        self.assertEqual([call.note for call in (backward, orphan)], ["the forward pass has no kernel"] * 2)

    def test_problems_are_searched_while_a_kernel_is_verified(self):
        """A wrong kernel is followed by the next one. The search of a gradient waits for the forward kernel."""
        events, may_end = [], threading.Event()

        def search(call, seconds, pool, enough):
            events.append(f"search {call.keys['m']}")
            may_end.set() if call.keys["m"] == 16 else None
            return [types.SimpleNamespace(schedule=(name,), plan=None) for name in ("first", "second")]

        def keep(op, keys, schedule, seconds):
            events.append(f"verify {keys['m']} {schedule[0]}")
            self.assertTrue(may_end.wait(10))
            events.append(f"verified {keys['m']} {schedule[0]}")
            if keys["m"] == 8 and schedule[0] == "first":
                raise tw.FailedError("wrong")
            if keys["m"] == 16:
                raise tw.Error("late")

        calls = [twt.Call("gemm", dict(m=m, n=8, k=8, a="f32", b="f32", c="f32"), 1, 1e-3, predicted=p) for m, p in ((8, 1e-4), (16, 2e-4))]
        backward = twt.Call("gemm", dict(calls[1].keys, **{"pass": "backward"}), 1, 1e-3, predicted=3e-4)
        for module, name, value in (
            (_tune, "_search", search),
            (_tune, "_in_turn", lambda call: (1e-3, 5e-4)),
            (_tune, "_is_known", lambda call: False),
            (_tune, "_has_forward", lambda call: events.append("asked") or False),
            (_contest, "keep", keep),
            (torch.cuda, "synchronize", lambda: None),
        ):
            self.addCleanup(setattr, module, name, getattr(module, name))
            setattr(module, name, value)
        told = []
        _tune._search_all([*calls, backward], float("inf"), told.append)
        expected = ["search 8", "verify 8 first", "search 16", "verified 8 first", "verify 8 second", "verified 8 second"]
        self.assertEqual([e for e in events if e != "asked"], [*expected, "verify 16 first", "verified 16 first"])
        self.assertLess(events.index("verified 16 first"), events.index("asked"))
        self.assertEqual(told, [*calls, backward])
        self.assertEqual([call.note for call in told], ["second", "late", "the forward pass has no kernel"])
        self.assertEqual([call.tilewright for call in told], [5e-4, None, None])
        pools, threads = [], _contest.threads
        _contest.threads = lambda n=0: pools.append(threads(n)) or pools[-1]
        self.addCleanup(setattr, _contest, "threads", threads)
        with self.assertRaises(ZeroDivisionError):  # what `progress` raises
            _tune._search_all(calls, float("inf"), lambda call: 1 / 0)
        for pool in pools:
            with self.assertRaisesRegex(RuntimeError, "after shutdown"):
                pool.submit(print)
        self.assertEqual(len(pools), 2)

    def test_the_model_predicts_a_kernel(self):
        """At least the time of the roofline, and a kernel that reads its operands once near it."""
        gate = dict(rows=4096, cols=14336, act="silu", a="bf16")
        for op, keys, most in (("gate", gate, 1.2), ("gemm", dict(m=4096, n=4096, k=4096, a="bf16", b="bf16", c="bf16"), 1.5)):
            bound = tw.model(op, target="cuda", **keys)[1].cost
            self.assertTrue(bound <= _contest.predicted(op, keys) <= most * bound, (op, bound))

    def test_compiled_products_with_a_kernel_in_the_backward_pass(self):
        """torch.compile keeps the operator where a product of its backward pass alone has a kernel."""
        x, weight = torch.zeros(2, 8, 32).bfloat16(), torch.zeros(64, 32).bfloat16().requires_grad_()
        self.addCleanup(setattr, _gemm, "is_known", _gemm.is_known)
        dw = ((64, 16), (1, 64), (16, 32), (32, 1), torch.bfloat16, "cpu", False, "")
        dx = ((16, 64), (64, 1), (64, 32), (32, 1), torch.bfloat16, "cpu", False, "")
        for known, of_x, expected in ((dw, False, True), (dx, False, False), (dx, True, True)):
            _gemm.is_known = lambda *given: given == known  # noqa: B023
            self.assertEqual(_gemm.gradient_has_kernel(x.detach().requires_grad_(of_x), weight), expected)
            with torch.no_grad():
                self.assertFalse(_gemm.gradient_has_kernel(x, weight))

    def test_schedules_that_are_compared(self):
        """The first steps and those that follow are schedules of the machine; packed weights have kernels of two kinds with one row."""
        linear = dict(m=1024, n=1536, k=1024, b_transposed=1, a="bf16", b="bf16", c="bf16")
        packed = dict(m=1, n=4096, k=4096, packed=1, a="bf16", b="i4", c="bf16", group=128)
        norm = dict(rows=8192, cols=4096, norm="rms", a="bf16", eps=1e-5)
        for op, keys, verbs in (("gemm", linear, {"tile", "skinny"}), ("gemm", packed, {"skinny", "sliced_k"}), ("layernorm", norm, {"row", "block", "streaming"})):
            problem = _device._problem(_device.target(), op, keys)
            first = _contest._first(problem)
            self.assertLessEqual({_contest._verb(steps[0]) for steps in first}, verbs)
            self.assertGreater(len(first), 5)
            follow = [steps for begin in first[:3] for steps in _contest._next(problem, begin)]
            for steps in first + follow:
                self.assertIn("//: kernel", tw.emit(op, target="cuda-h200", schedule=list(steps), **keys))
            self.assertEqual(len(set(follow)), len(follow))

    def test_operands_of_kernels(self):
        gemm = dict(m=64, n=64, k=64, a="bf16", b="bf16", c="bf16")
        size = dict(rows=64, cols=64, a="bf16")
        sizes = dict(b=1, hq=2, hkv=1, sq=64, sk=64, d=64, a="bf16")
        for expected, op, keys in (
            (3, "gemm", gemm),
            (4, "gemm", dict(gemm, bias="row")),
            (4, "gemm", dict(gemm, bias="full", d="c")),
            (3, "gemm", dict(gemm, glu="silu", b_transposed=1)),
            (3, "gemm", dict(gemm, glu="silu", glu_pass="sums", b_transposed=1)),
            (4, "gemm", dict(gemm, glu="silu", glu_pass="backward", ldd=192)),
            (5, "gemm", dict(gemm, rotary="halves", head=32, heads=1, positions=32)),
            (4, "gemm", dict(gemm, packed=1, b="i4", group=32)),
            (4, "layernorm", dict(size, eps=1e-5)),
            (3, "layernorm", dict(size, norm="rms", eps=1e-5)),
            (2, "softmax", size),
            (4, "rotary", dict(b=1, h=2, s=8, d=64, ldx=192, a="bf16")),
            (5, "attention", sizes),
            (5, "attention", dict(sizes, pitch=256)),
            (9, "attention", {**sizes, "pass": "backward"}),
            (7, "attention", {**sizes, "lengths": 1, "page": 2, "softcap": 5.0}),
            (6, "attention", {**sizes, "tokens": 40}),
        ):
            self.assertEqual(_tune._operands(op, keys), expected, (op, keys))

    def test_float32_is_split_on_request(self):
        """Products of bf16 parts have larger errors than PyTorch's: a route for them needs a word."""
        self.addCleanup(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
        torch.set_float32_matmul_precision("highest")
        self.assertFalse(_routes.may_split())
        twt.allow_split_float32()
        self.assertTrue(_routes.may_split())
        twt.allow_split_float32(False)
        torch.set_float32_matmul_precision("high")
        self.assertTrue(_routes.may_split())
        torch.set_float32_matmul_precision("highest")
        self.assertFalse(_gemm.is_known((8, 8), (8, 1), (8, 8), (8, 1), torch.float32, "cuda", True, ""))

    def test_convolutions_round_to_tf32_where_those_of_pytorch_do(self):
        self.addCleanup(setattr, torch.backends.cudnn, "allow_tf32", torch.backends.cudnn.allow_tf32)
        self.addCleanup(twt.allow_tf32_convolutions)
        for allowed in (True, False):
            torch.backends.cudnn.allow_tf32 = allowed
            self.assertEqual(_routes.has_tf32_convolutions(), allowed)
            twt.allow_tf32_convolutions(not allowed)
            self.assertEqual(_routes.has_tf32_convolutions(), not allowed)
            twt.allow_tf32_convolutions()

    def test_kernels_are_off_while_a_model_is_timed_without(self):
        keys = dict(m=256, n=512, k=1024, b_transposed=1, a="bf16", b="bf16", c="bf16")
        text = _device.problem_text("gemm", keys)
        _device.trials[text] = object()
        try:
            self.assertTrue(_device.has_kernel("gemm", keys))
            self.assertIs(_device.plan_for("gemm", keys, 3, torch.device("cpu")), _device.trials[text])
            _device.is_enabled = False
            self.assertFalse(_device.has_kernel("gemm", keys))
            self.assertIsNone(_device.plan_for("gemm", keys, 3, torch.device("cpu")))
        finally:
            _device.is_enabled = True
            _device.trials.clear()
        self.assertTrue(_device.is_enabled)

    def test_a_model_without_calls_on_a_device(self):
        model = torch.nn.Linear(20, 30)
        report = twt.tune(model, torch.randn(4, 20), seconds=1)
        self.assertEqual((report.calls, report.backward), ([], True))
        self.assertGreater(report.speedup, 0)
        self.assertIs(type(model), torch.nn.Linear)
        self.assertRegex(str(report), "nothing to tune: .*\nforward and backward")


class Modules(unittest.TestCase):
    def model(self):
        return torch.nn.Sequential(torch.nn.Linear(40, 50), torch.nn.ReLU(), torch.nn.Linear(50, 3, bias=False))

    def test_replace_and_restore(self):
        model, x = self.model(), torch.randn(200, 40)
        expected, state = model(x), {name: t.clone() for name, t in model.state_dict().items()}
        self.assertIs(twt.replace(model), model)
        self.assertEqual([type(m) for m in model], [twt.Linear, torch.nn.ReLU, twt.Linear])
        torch.testing.assert_close(model(x), expected, rtol=1e-4, atol=1e-5)
        self.assertEqual(list(state), list(model.state_dict()))
        twt.restore(model)
        self.assertIs(type(model[0]), torch.nn.Linear)
        with twt.replaced(model):
            self.assertIs(type(model[0]), twt.Linear)
        self.assertIs(type(model[0]), torch.nn.Linear)

    def test_replaced_modules_take_keywords(self):
        """The name is that of PyTorch's modules."""
        for module, x in (
            (torch.nn.Linear(8, 3), torch.randn(4, 8)),
            (torch.nn.LayerNorm(8), torch.randn(4, 8)),
            (torch.nn.Softmax(-1), torch.randn(4, 8)),
            (torch.nn.Conv2d(2, 3, 3), torch.randn(1, 2, 5, 5)),
        ):
            expected = module(input=x)
            torch.testing.assert_close(twt.replace(module)(input=x), expected, rtol=1e-4, atol=1e-5)

    def test_packed_weights_follow_changes(self):
        model, x = twt.replace(self.model(), pack=True), torch.randn(5, 40)
        packs, pack = [], _host.Plan.packed
        _host.Plan.packed = lambda plan, b: packs.append(1) or pack(plan, b)
        try:
            with torch.no_grad():
                for _ in range(3):
                    torch.testing.assert_close(model(x), torch.nn.functional.linear(
                        torch.relu(torch.nn.functional.linear(x, model[0].weight, model[0].bias)), model[2].weight), rtol=1e-4, atol=1e-5)
                model(torch.randn(7, 40))  # other rows, the same packed weights
                self.assertEqual(len(packs), 2)
                model[0].weight.mul_(2)
                torch.testing.assert_close(model[0](x), torch.nn.functional.linear(x, model[0].weight, model[0].bias), rtol=1e-4, atol=1e-5)
                self.assertEqual(len(packs), 3)
        finally:
            _host.Plan.packed = pack
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        before = model(x).detach()
        model(x).pow(2).sum().backward()
        optimizer.step()
        self.assertFalse(torch.equal(model(x), before))
        torch.testing.assert_close(model[0](x), torch.nn.functional.linear(x, model[0].weight, model[0].bias), rtol=1e-4, atol=1e-5)
        weight = model[0].weight
        del model, optimizer
        self.assertTrue(_kept.is_kept(weight))
        identity = id(weight)
        del weight
        self.assertNotIn(identity, _kept._all)

    def test_packed_formats(self):
        for format, group, k in (("i4", 32, 96), ("i4", 0, 70), ("i4", 32, 80), ("mxfp4", None, 96), ("ternary", None, 256), ("ternary", None, 130)):
            for bias in (False, True):
                linear = torch.nn.Linear(k, 48, bias=bias)
                packed = twt.PackedLinear.from_linear(linear, format, group)
                encoded = tw.encode(linear.weight.detach().numpy(), _packed.FORMATS[format], group=packed.group)
                values = packed.decoded()
                self.assertTrue(torch.equal(values, torch.from_numpy(encoded.decode())), (format, group, k))
                for dtype in TYPES:
                    for rows in (1, 3, 40):
                        x = torch.randn(rows, k).to(dtype)
                        module = copy.deepcopy(packed).to(dtype)
                        self.assertEqual(module.scales.dtype, packed.scales.dtype)
                        exact = torch.nn.functional.linear(x.double(), values.double(), module.bias.double() if bias else None)
                        actual = module(x)
                        self.assertEqual(actual.dtype, dtype)
                        # bf16 kernels may round the weights to bf16 (tilewright/gemm.h)
                        unit = 2**-8 if dtype == torch.bfloat16 else torch.finfo(dtype).eps / 2
                        bound = unit * exact.abs() + 3 * max(unit * (dtype == torch.bfloat16), 2**-20) * (
                            x.double().abs() @ values.double().abs().t() + 1)
                        self.assertTrue(bool(((actual.double() - exact).abs() <= bound).all()), (format, dtype, rows))

    def test_order_of_codes(self):
        for format, group in (("i4", 32), ("mxfp4", None), ("ternary", None)):
            linear = torch.nn.Linear(256, 48)
            rows, units = (twt.PackedLinear.from_linear(linear, format, group, shuffle) for shuffle in ("none", "mma"))
            self.assertFalse(torch.equal(rows.codes, units.codes))
            self.assertTrue(torch.equal(rows.decoded(), units.decoded()))
            for ours, right in zip(_packed.in_rows(units.codes, units.scales, format, "mma"), (rows.codes, rows.scales)):
                self.assertTrue(torch.equal(ours, right))
            word = 4 if format == "mxfp4" else 1  # scales of rows 0 to 15 follow one another, a word each
            self.assertTrue(torch.equal(units.scales.flatten()[: 16 * word].reshape(16, word), rows.scales[:16, :word]))
            x = torch.randn(5, 256)
            self.assertTrue(torch.equal(rows(x), units(x)))
            # thread 5 has rows 1 and 9 and the values 2, 3, 10 and 11 of each 16 along k
            bits = 2 if format == "ternary" else 4
            code = lambda row, k: int(  # noqa: E731
                rows.codes[row, k // 128 * 32 + k % 32] >> 6 - 2 * (k % 128 // 32) & 3 if bits == 2 else rows.codes[row, k // 2] >> 4 * (k % 2) & 15)
            word = int.from_bytes(bytes(units.codes.flatten()[5 * 16 : 5 * 16 + 4].tolist()), "little")
            places = {2: [(0, 6), (8, 6), (16, 6)], 4: [(0, 0), (4, 0), (16, 0)]}[bits]
            for (low, more), (row, k) in zip(places, ((1, 2), (9, 2), (1, 3))):
                self.assertEqual(word >> low + more & (1 << bits) - 1, code(row, k), (format, row, k))

    def test_packed_linear_is_a_module(self):
        packed = twt.PackedLinear.from_linear(torch.nn.Linear(64, 16), "mxfp4")
        other = twt.PackedLinear.from_linear(torch.nn.Linear(64, 16), "mxfp4")
        other.load_state_dict(packed.state_dict())
        x = torch.randn(2, 3, 64)
        self.assertTrue(torch.equal(other(x), packed(x)))
        self.assertLess(packed.codes.numel() + packed.scales.numel(), 64 * 16 * 4.3 / 8)
        given = x.clone().requires_grad_()
        packed(given).sum().backward()
        torch.testing.assert_close(given.grad, packed.decoded().sum(0).expand(2, 3, 64), rtol=1e-4, atol=1e-4)
        doubled = twt.PackedLinear.from_linear(torch.nn.Linear(6, 3).double(), "i4", 2)
        given = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(doubled, (given,)))

    def test_state_of_packed_weights_has_rows(self):
        for format, group in (("i4", 32), ("mxfp4", None), ("ternary", None)):
            linears = [torch.nn.Linear(256, 48), torch.nn.Linear(256, 48)]
            for one, other in (("none", "mma"), ("mma", "none"), ("mma", "mma")):
                saved, loaded = (
                    torch.nn.Sequential(twt.PackedLinear.from_linear(linear, format, group, shuffle)) for linear, shuffle in zip(linears, (one, other))
                )
                state = saved.state_dict()
                self.assertTrue(torch.equal(state["0.codes"], twt.PackedLinear.from_linear(linears[0], format, group).codes))
                loaded.load_state_dict(state)
                self.assertTrue(torch.equal(loaded[0].decoded(), saved[0].decoded()), (format, one, other))
            state.update({"0.codes": saved[0].codes, "0.scales": saved[0].scales})
            state._metadata["0"]["version"] = 1  # the order of the layer that wrote it: mma
            loaded.load_state_dict(state)
            self.assertTrue(torch.equal(loaded[0].decoded(), saved[0].decoded()), format)
        # codes have one shape and type in both, scales differ in the type
        with self.assertRaisesRegex(RuntimeError, "scales: expected torch.uint8 .* of mxfp4 .*load into a layer of the same format"):
            twt.PackedLinear.from_linear(linears[0], "mxfp4").load_state_dict(twt.PackedLinear.from_linear(linears[0], "i4", 32).state_dict())
        with self.assertRaisesRegex(RuntimeError, "scales: expected torch.float32"):
            twt.PackedLinear.from_linear(linears[0], "i4", 32).load_state_dict(twt.PackedLinear.from_linear(linears[0], "i4", 64).state_dict())

    def test_packed_refusals(self):
        linear = torch.nn.Linear(64, 16)
        with self.assertRaisesRegex(tw.UsageError, "unsupported format 'i3'; expected one of i4, mxfp4, ternary"):
            twt.PackedLinear.from_linear(linear, "i3")
        with self.assertRaisesRegex(tw.UsageError, "mxfp4 has its own groups"):
            twt.PackedLinear.from_linear(linear, "mxfp4", 16)
        with self.assertRaisesRegex(tw.UsageError, "unsupported shuffle 'aiter'; expected none or mma"):
            twt.PackedLinear.from_linear(linear, "i4", 32, "aiter")
        with self.assertRaisesRegex(tw.UsageError, "requires out_features to be a multiple of 16 and in_features of 128"):
            twt.PackedLinear.from_linear(linear, "ternary", None, "mma")
        with self.assertRaisesRegex(tw.UsageError, "unsupported format 'i3'"):
            twt.PackedLinear(64, 64, None, None, None, "i3", shuffle="mma")
        packed = twt.PackedLinear.from_linear(linear)
        with self.assertRaisesRegex(tw.UsageError, "PackedLinear: expected codes of n x 33"):
            packed(torch.randn(2, 66))
        with self.assertRaisesRegex(tw.UsageError, "16 values of x's type as bias"):
            packed(torch.randn(2, 64).bfloat16())


class Devices(unittest.TestCase):
    """What is decided before a device is asked."""

    def test_only_the_very_problem_is_known(self):
        keys = dict(m=256, n=512, k=1024, b_transposed=1, a="bf16", b="bf16", c="bf16")
        lib, ffi = _device.lib, _device.ffi
        problem = lambda **other: _device._problem(_device.target(), "gemm", {**keys, **other})  # noqa: E731
        known, error = _device.wisdom_of(problem(), _schedule("tile m=128 n=128 consumers=2"), 1e-3, 0.1), ffi.new("tw_error *")
        path = os.environ["TILEWRIGHT_WISDOM"]
        self.assertEqual(lib.tw_wisdom_keep(path.encode(), known, ffi.NULL, ffi.NULL, error), lib.TW_OK, ffi.string(error.text))
        twt.forget()
        self.assertTrue(_device.is_known(problem()))
        self.assertFalse(_device.is_known(problem(m=257)))
        self.assertFalse(_device.is_known(problem(a="f16", b="f16", c="f16")))
        os.remove(path)
        twt.forget()
        self.assertFalse(_device.is_known(problem()))

    def test_kernels_that_lost_are_remembered(self):
        _device.reject("gemm m=1 n=2 k=3", True)
        _device.reject("gemm m=1 n=2 k=4", True)
        _device.reject("gemm m=1 n=2 k=4", False)
        twt.forget()
        self.assertEqual(_device.rejected(), {"gemm m=1 n=2 k=3"})
        _device.rejected_path().write_text("{}")
        twt.forget()
        with self.assertRaisesRegex(tw.UsageError, "expected the list that tune writes"):
            _device.rejected()
        _device.rejected_path().unlink()
        twt.forget()


class Exchange(unittest.TestCase):
    def test_dlpack(self):
        x, weight = (np.random.default_rng(SEED).standard_normal(shape).astype(np.float32) for shape in ((200, 64), (32, 64)))
        out = np.from_dlpack(twt.linear(torch.from_dlpack(x), torch.from_dlpack(weight)))
        np.testing.assert_allclose(out, x @ weight.T, rtol=1e-4, atol=1e-4)

    def test_gemm_takes_tensors(self):
        for name, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16)):
            x, weight = torch.randn(20, 64).to(dtype), torch.randn(64, 32).to(dtype).t().contiguous().t()
            out = tw.Gemm(20, 32, 64, a=name, b=name, c="f32")(x, weight)
            np.testing.assert_allclose(out, (x.double() @ weight.double()).numpy(), rtol=1e-4, atol=1e-4)
        with self.assertRaisesRegex(tw.UsageError, "the plan wants float32"):
            tw.Gemm(20, 32, 64)(x, weight)


MODEL = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.first = nn.Linear(n, 30)

    def forward(self, A, B):
        x = torch.einsum("bik,kn->bin", A, B.T)
        x = torch.relu(self.first(x))
        return torch.tril(torch.softmax(x, dim=-1) @ B[:, :30].T)

def get_inputs():
    return [torch.rand(2, 140, 40), torch.rand(50, 40)]

def get_init_inputs():
    return [50]
"""


class References(unittest.TestCase):
    """The PyTorch in the prompts of GPUs computes what this package does, and what PyTorch's own functions do."""

    FOLDER = Path(__file__).resolve().parents[2] / "src/target/cuda/prompts"
    KEYS = {
        "gemm": dict(a_transposed=0, b_transposed=0, relu=0, gelu="none", glu="none", glu_pass="forward", rotary="none", scale=1.0),
        "softmax": dict(log=0),
        "cumsum": dict(reverse=0, exclusive=0),
        "rotary": dict(interleaved=0, transposed=0),
        "gate": dict(act="silu"),
        "attention": dict(causal=0, window=0, softcap=0, scale=0),
        "layernorm": dict(dropout=0, norm="layer", quantize="none", eps=1e-5, groups=1, span=1, inner=1),
        "conv2d": dict(stride=1, pad=0, pool=0, pool_stride=0, pool_pad=0, relu=0, scale=1.0, weight_layout="rsck", image_layout="nhwc"),
        "conv3d": dict(stride=1, pad=0, relu=0, scale=1.0, weight_layout="trsck", image_layout="ndhwc"),
    }
    OPERANDS = ("D", "mask", "g", "dO", "residual", "weight", "bias")

    def check(self, op, operands, keys, expected):
        lines = (self.FOLDER / f"{op}.reference.txt").read_text().splitlines()
        code = "\n".join(line[4:] for line in lines if line.startswith("    "))
        names = dict(self.KEYS[op], torch=torch, F=torch.nn.functional, **dict.fromkeys(self.OPERANDS), **keys)
        names.update(operands)
        exec(code, names)
        for name, value in expected.items():
            torch.testing.assert_close(names[name], value, rtol=1e-4, atol=1e-5, msg=f"{op} {keys} {name}")

    def test_products_and_convolutions(self):
        x, w, r, bias = torch.randn(9, 20), torch.randn(8, 20), torch.randn(9, 8), torch.randn(8)
        self.check("gemm", dict(A=x, B=w, D=bias[None]), dict(b_transposed=1, n=8), {"C": twt.linear(x, w, bias)})
        self.check("gemm", dict(A=x.t(), B=w.t(), D=r), dict(a_transposed=1, n=8), {"C": twt.linear(x, w, residual=r)})
        for glu, name in (("silu", "silu"), ("gelu_erf", "gelu"), ("gelu_tanh", "gelu_tanh")):
            self.check("gemm", dict(A=x, B=w), dict(b_transposed=1, n=4, glu=glu), {"C": twt.gated_linear(x, w, name)})
            both, g = torch.nn.functional.linear(x, w), torch.randn(9, 20)
            kept = torch.cat((both, twt.gated_linear(x, w, name)), 1)
            self.check("gemm", dict(A=x, B=w), dict(b_transposed=1, n=4, glu=glu, glu_pass="sums"), {"C": kept})
            down = torch.randn(20, 4)
            gradient = _mlp.gated_sums_backward(g, down, kept, name)
            self.check("gemm", dict(A=g, B=down, D=both), dict(n=4, glu=glu, glu_pass="backward"), {"C": gradient})
        cos, sin = torch.randn(3, 2), torch.randn(3, 2)
        for interleaved in (False, True):
            parts = twt.rotary_linear(x.view(3, 3, 20), torch.cat((w, w[:4])), cos, sin, (2,), interleaved)
            turned = dict(rotary="interleaved" if interleaved else "halves", head=4, heads=2, positions=3)
            self.check("gemm", dict(A=x, B=torch.cat((w, w[:4])), COS=cos, SIN=sin), dict(b_transposed=1, n=12, **turned), {"C": torch.cat(parts, 2).reshape(9, 12)})
        self.check("gemm", dict(A=x, B=w), dict(b_transposed=1, n=8, relu=1, scale=0.5), {"C": torch.relu(0.5 * x @ w.t())})
        self.check("gemm", dict(A=x, B=w), dict(b_transposed=1, n=8, gelu="erf"), {"C": torch.nn.functional.gelu(x @ w.t())})
        for op, conv, f, sizes in (("conv2d", "rsck", torch.nn.functional.conv2d, (6, 7)), ("conv3d", "trsck", torch.nn.functional.conv3d, (4, 6, 7))):
            image, weights = torch.randn(2, 3, *sizes), torch.randn(8, 3, *(3 for _ in sizes))
            y = torch.relu(f(image, weights, bias, stride=2, padding=1))
            channels_last = dict(input=image.movedim(1, -1), weights=weights.movedim(0, -1).movedim(0, -2), bias=bias[None])
            self.check(op, channels_last, dict(k=8, stride=2, pad=1, relu=1), {"output": y.movedim(1, -1)})
            alike = dict(image_layout="nchw" if op == "conv2d" else "ncdhw", weight_layout="kc" + conv[: len(sizes)])
            self.check(op, dict(input=image, weights=weights, bias=bias[None]), dict(k=8, stride=2, pad=1, relu=1, **alike), {"output": y})

    def test_rows(self):
        x, weight, bias, r = torch.randn(6, 16), torch.randn(16), torch.randn(16), torch.randn(6, 16)
        size = dict(rows=6, cols=16)
        self.check("softmax", dict(x=x), {}, {"y": twt.softmax(x)})
        self.check("softmax", dict(x=x), dict(log=1), {"y": twt.log_softmax(x)})
        for how in ({}, {"reverse": True}, {"exclusive": True}, {"reverse": True, "exclusive": True}):
            self.check("cumsum", dict(x=x, mask=x > 0), how, {"y": twt.cumsum(x, mask=x > 0, **how)})
        self.check("layernorm", dict(x=x, weight=weight, bias=bias), size, {"y": twt.layer_norm(x, (16,), weight, bias)[:, None].transpose(1, 2)})
        self.check("layernorm", dict(x=x, residual=r, weight=weight), dict(size, norm="rms"), {"y": twt.rms_norm(x + r, (16,), weight, 1e-5)[..., None]})
        image = torch.randn(2, 12, 4)
        for norm in ("rms", "l2", "abs"):
            self.check("layernorm", dict(x=image), dict(rows=2, cols=12, inner=4, norm=norm), {"y": twt.normalize(image, norm, 1e-5, 1)})
        self.check(
            "layernorm",
            dict(x=image.reshape(6, 16), weight=weight[:12], bias=bias[:12]),
            dict(size, groups=3, span=4),
            {"y": twt.group_norm(image, 3, weight[:12], bias[:12]).reshape(6, 16, 1)},
        )
        for act, name in (("silu", "silu"), ("gelu_tanh", "gelu_tanh")):
            both, g = torch.randn(6, 32, requires_grad=True), torch.randn(6, 16)
            first = torch.nn.functional.silu(both[:, :16]) if act == "silu" else torch.nn.functional.gelu(both[:, :16], approximate="tanh")
            (dx,) = torch.autograd.grad(first * both[:, 16:], both, g)
            self.check("gate", dict(x=both.detach(), g=g), dict(cols=16, act=act), {"dx": dx})

    def test_heads(self):
        q, k, v = torch.randn(2, 9, 4, 8), torch.randn(2, 11, 2, 8), torch.randn(2, 11, 2, 8)
        cos, sin = torch.randn(9, 4), torch.randn(9, 4)
        for interleaved in (False, True):
            y = twt.rotary(q, cos, sin, interleaved)
            self.check("rotary", dict(x=q, cos=cos, sin=sin), dict(interleaved=interleaved), {"y": y})
            turned = dict(x=q.permute(0, 2, 3, 1), cos=cos.t(), sin=sin.t())
            self.check("rotary", turned, dict(interleaved=interleaved, transposed=1), {"y": y.permute(0, 2, 3, 1)})
        size = dict(hq=4, hkv=2, sq=9, sk=11, d=8)
        for how in ({}, dict(causal=1), dict(causal=1, window=4), dict(softcap=2.0)):
            given = dict(is_causal=bool(how.get("causal")), window=how.get("window", 0), softcap=how.get("softcap", 0.0))
            self.check("attention", dict(Q=q, K=k, V=v), dict(size, **how), {"O": twt.attention(q, k, v, **given)})
        given = [t.clone().requires_grad_() for t in (q, k, v)]
        o, g = twt.scaled_dot_product_attention(*(t.transpose(1, 2) for t in given), enable_gqa=True).transpose(1, 2), torch.randn_like(q)
        expected = dict(zip(("dQ", "dK", "dV"), torch.autograd.grad(o, given, g)))
        self.check("attention", dict(Q=q, K=k, V=v, dO=g), size, expected)


class KernelBench(unittest.TestCase):
    """Files in KernelBench's form: what is replaced, and that the new file computes the same from the same parameters."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def run_on(self, text, *options):
        path = self.folder / "model.py"
        path.write_text(text)
        command = [sys.executable, "-m", "tilewright.kernelbench", str(path), "--device", "cpu", *options]
        return subprocess.run(command, capture_output=True, text=True)

    def test_a_new_model(self):
        result = self.run_on(MODEL, "--json", "-o", str(self.folder / "new.py"))
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["replaced"], ["matmul", "Linear", "elementwise", "softmax", "matmul"])
        self.assertEqual(report["pytorch"], ["tril"])
        scope = {}
        self.addCleanup(twt.allow_split_float32, False)  # which the new file allows
        exec((self.folder / "new.py").read_text(), scope)
        torch.manual_seed(7)
        theirs = scope["Model"](50)
        torch.manual_seed(7)
        ours = scope["ModelNew"](50)
        self.assertIsInstance(ours.first, twt.Linear)
        inputs = scope["get_inputs"]()
        torch.testing.assert_close(ours(*inputs), theirs(*inputs), rtol=1e-4, atol=1e-4)
        self.assertIn("tilewright", (self.folder / "new.py").read_text())

    def test_a_kernel_whose_result_differs_is_left_to_pytorch(self):
        """Both models agree on positive inputs only. What is rejected stays so for other processes, which run the new file."""
        keys = dict(m=256, n=512, k=1024, b_transposed=1, a="bf16", b="bf16", c="bf16")
        text = _device.problem_text("gemm", keys)
        self.addCleanup(_device.reject, text, False)
        self.addCleanup(setattr, twt, "tune", twt.tune)
        for value, agrees in ((1.0, True), (-1.0, False)):
            call = twt.Call("gemm", keys, 1, 2e-3, 1e-3)
            twt.tune = lambda *_, **more: twt.TuneReport(2e-3, 1e-3, [call], 1.0, False)  # noqa: B023
            inputs = [torch.tensor([value])]
            report = kernelbench._tuned(torch.nn.Identity(), inputs, 1, torch.nn.ReLU(), inputs)
            self.assertEqual((call.is_used, text in _device.rejected()), (agrees, not agrees))
            self.assertEqual(call.note.startswith(kernelbench.DIFFERS), not agrees)
            self.assertEqual(report.after, 1e-3 if agrees else 2e-3)

    def test_a_model_without_a_faster_kernel_stays(self):
        """The start is the user's model: the time of its calls, not that of their replacements by PyTorch."""
        slow, fast = torch.nn.Identity(), torch.nn.Identity()
        slow.register_forward_hook(lambda *_: time.sleep(5e-3))
        before, after = _tune._model_seconds(fast, (torch.zeros(4),), False, slow)
        self.assertGreater(before, after)
        scope = {}
        exec(kernelbench.new_source(MODEL, None), scope)
        self.assertEqual(scope["ModelNew"].forward, scope["Model"].forward)
        self.assertNotIn("import tilewright", kernelbench.new_source(MODEL, None))

    def test_nothing_to_replace(self):
        result = self.run_on(MODEL[: MODEL.index("        x = torch.einsum")] + "        return A\n" + MODEL[MODEL.index("\ndef get_inputs") :])
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        self.assertIn("replaced: nothing", result.stdout)
        self.assertFalse((self.folder / "model_new.py").exists())

    def test_wrong_files(self):
        for text, said in (
            ("x = 1", "expected Model, get_inputs, get_init_inputs .missing: Model"),
            ("import nothing_like_this", "does not run .ModuleNotFoundError"),
            (MODEL.replace("torch.relu(self.first(x))", "x if x.sum() > 0 else -x"), "torch.fx cannot trace Model.forward"),
        ):
            result = self.run_on(text)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, "^tilewright.kernelbench: .*" + said)
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_inputs_that_exceed_the_memory(self):
        result = self.run_on(MODEL.replace("torch.rand(2, 140, 40)", "torch.rand(1 << 50)"))
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertRegex(result.stderr, r"^tilewright\.kernelbench: .*model\.py: the memory of cpu does not suffice \(.*\); use smaller sizes in get_inputs\n$")

    def test_formulas_of_activations(self):
        """Calls and formulas become functions of elements; a mask and another formula do not."""
        body = {
            "torch.nn.functional.leaky_relu(A, negative_slope=0.2)": ["elementwise"],
            "torch.nn.functional.hardtanh(A, min_val=-2.0, max_val=0.5)": ["elementwise"],
            "A * torch.sigmoid(A)": ["elementwise"],
            "A / (1 + torch.abs(A))": ["elementwise"],
            "0.5 * A * (1.0 + torch.tanh(0.7978845608028654 * (A + 0.044715 * torch.pow(A, 3.0))))": ["elementwise"],
            "torch.sigmoid(A) * torch.tanh(A)": ["elementwise", "elementwise"],
            "A * 3.5": ["elementwise"],
            "A / torch.norm(A, p='fro')": ["reduce", "elementwise"],
            "torch.sum(A, dim=1, keepdim=True)": ["reduce"],
            "A.mean((0, 1))": ["reduce"],
            "torch.max(A, dim=0)[0]": ["reduce"],
            "A.min(1)[0]": ["reduce"],
            "torch.argmax(A, dim=1) + torch.argmin(A)": ["reduce", "reduce"],
            "A / torch.norm(A, p=2, dim=1, keepdim=True)": ["normalize"],
            "A / torch.mean(torch.abs(A), dim=-1, keepdim=True)": ["normalize"],
            "A / torch.norm(A, p=2, dim=0, keepdim=True)": ["normalize"],
            "A / torch.sqrt(torch.mean(A ** 2, dim=0, keepdim=True) + 1e-5)": ["normalize"],
            "A / torch.sqrt(torch.sum(A.square(), dim=1, keepdim=True))": ["normalize"],
            "A / (A.abs().mean(dim=0, keepdim=True) + 0.5)": ["normalize"],
            "A / torch.sqrt(torch.mean(A ** 2, dim=0, keepdim=True))": ["reduce"],
            "A / torch.sqrt(torch.mean(A ** 2, dim=0, keepdim=True) + 2)": ["reduce"],
            "A / torch.sqrt(torch.mean(A ** 2, dim=1) + 1e-5)[:, None]": ["reduce"],
            "A / torch.sqrt(torch.mean(torch.exp(A) ** 2, dim=1, keepdim=True) + 1e-5)": ["reduce"],
            "A / (torch.norm(A, p=2, dim=1, keepdim=True) + 0.5)": ["reduce"],
            "A / torch.norm(A + 1, p=2, dim=1, keepdim=True)": ["reduce"],
            "torch.mean(torch.abs(A), dim=1, keepdim=True)": ["reduce"],
            "torch.mean((A - torch.exp(A)) ** 2)": ["reduce"],
            "torch.mean((A - A[0]) ** 2)": ["reduce"],
            "torch.nn.functional.smooth_l1_loss(A, torch.exp(A))": ["reduce"],
            "torch.mean(torch.clamp(1 - A * A[0], min=0))": ["reduce"],
            "torch.relu(1.0 - A[0] * A).sum(1)": ["reduce"],
            "torch.mean(torch.clamp(1 - A * torch.exp(A), 0))": ["reduce"],
            "torch.mean(torch.clamp(1 - A * A[0], min=0, max=1))": ["reduce"],
            "torch.mean(torch.clamp(2 - A * A[0], min=0))": ["reduce"],
            "torch.nn.functional.mse_loss(A, torch.exp(A), reduction='sum')": ["reduce"],
            "torch.sum(A, dim=0, dtype=torch.float64)": [],
            "torch.max(A, dim=1)[1]": [],
            "torch.max(A)": ["reduce"],
            "torch.maximum(A, A)": [],
            "torch.norm(A, p=1)": [],
            "torch.bmm(A[None], A.t()[None])": ["bmm"],
            "torch.log_softmax(A, dim=1)": ["log_softmax"],
            "torch.cumsum(A * (A > 0), dim=1)": ["cumsum"],
            "torch.cumsum((A > 0) * A, 1)": ["cumsum"],
            "torch.cumsum(A * (A[0] > 0), dim=1)": ["cumsum"],
            "torch.cumsum(A * (A > 0), dim=0)": [],
            "torch.cumsum(A, dim=0)": [],
            "torch.cumsum(A.flip(1), dim=1).flip(1)": ["cumsum"],
            "torch.cumsum(A.flip(0), dim=1).flip(0)": ["cumsum"],
            "torch.cat((torch.zeros_like(A.select(1, 0).unsqueeze(1)), torch.cumsum(A.narrow(dim=1, start=0, length=A.size(1) - 1), dim=1)), dim=1)": ["cumsum"],
            "torch.cat((torch.zeros_like(A), torch.cumsum(A.narrow(dim=1, start=0, length=A.size(1) - 1), dim=1)), dim=1)": ["cumsum"],
            "torch.cat((torch.zeros_like(A[:, :1]), torch.cumsum(A.narrow(dim=1, start=1, length=A.size(1) - 1), dim=1)), dim=1)": ["cumsum"],
            "A * (A > 0)": [],
            "A / (1 + torch.abs(A + 1))": [],
        }
        for text, replaced in body.items():
            file = types.ModuleType("model")
            file.__file__ = "model.py"
            exec(
                "import torch\nclass Model(torch.nn.Module):\n    def forward(self, A):\n        return " + text + "\n"
                "def get_inputs():\n    return [torch.randn(4, 8)]\ndef get_init_inputs():\n    return []\n",
                file.__dict__,
            )
            model, traced, rewriter, inputs = kernelbench.rewritten(file, "cpu")
            with self.subTest(text):
                self.assertEqual(rewriter.replaced, replaced)
                torch.testing.assert_close(traced(*inputs), model(*inputs))
                if "cumsum(A *" in text:  # the mask is the kernel's, if it is like A
                    self.assertEqual("mul" in rewriter.kept, "[0]" in text or "dim=0" in text)
                if "clamp" in text or "relu(1" in text:  # a hinge loss is one call, and no other clamp is
                    self.assertEqual("clamp" in rewriter.kept, "max=1" in text or "2 -" in text)

    def test_modules_are_compared_with_pytorchs(self):
        """The model keeps PyTorch's modules: a wrong result of a replaced module shows."""
        self.addCleanup(twt.allow_split_float32, False)  # which `work` permits
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.py"
            path.write_text(
                "import torch\nclass Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                "        self.layer = torch.nn.Linear(8, 8)\n    def forward(self, A):\n        return self.layer(A)\n"
                "def get_inputs():\n    return [torch.randn(4, 8)]\ndef get_init_inputs():\n    return []\n"
            )
            self.assertTrue(kernelbench.work(path, "cpu", 1, None)["agree"])
            with unittest.mock.patch.object(twt._functions, "linear", lambda x, weight, bias: torch.zeros(4, 8)):
                self.assertFalse(kernelbench.work(path, "cpu", 1, None)["agree"])

    def test_modules_named_like_functions(self):
        """A module is no division and no product, whatever the model calls it."""
        for call in ("self.div(A, torch.norm(A, p=2, dim=1, keepdim=True))", "torch.cumsum(self.mul(A, A > 0), dim=-1)"):
            file = types.ModuleType("model")
            file.__file__ = "model.py"
            exec(
                "import torch\nclass Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                "        self.div = torch.nn.PairwiseDistance()\n        self.mul = torch.nn.MSELoss(reduction='none')\n"
                f"    def forward(self, A):\n        return {call}\n"
                "def get_inputs():\n    return [torch.randn(4, 8)]\ndef get_init_inputs():\n    return []\n",
                file.__dict__,
            )
            model, traced, _, inputs = kernelbench.rewritten(file, "cpu")
            torch.testing.assert_close(traced(*inputs), model(*inputs))

    def test_equations(self):
        for equation, right in (("bijl,lk->bijk", True), ("ik, kj -> ij", True), ("ik,kj->ji", False), ("bik,bkj->bij", False), ("iik,kj->iij", False)):
            self.assertEqual(kernelbench._is_rows_by_matrix(equation), right, equation)


class Installation(unittest.TestCase):
    def test_without_pytorch(self):
        code = (
            "import sys; sys.modules['torch'] = None\n"
            "import tilewright\n"
            "try:\n    import tilewright.torch\n"
            "except ImportError as e:\n    assert 'tilewright.torch: PyTorch is required' in str(e), e\n"
            "else:\n    raise SystemExit('imported')\n"
            "import runpy\n"
            "try:\n    runpy.run_module('tilewright.kernelbench', run_name='__main__')\n"
            "except SystemExit as e:\n    assert 'tilewright.torch: PyTorch is required' in str(e), e\n"
            "else:\n    raise SystemExit('ran')\n"
        )
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_tilewright_does_not_import_pytorch(self):
        code = "import sys, tilewright; assert 'torch' not in sys.modules"
        self.assertEqual(subprocess.run([sys.executable, "-c", code]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
