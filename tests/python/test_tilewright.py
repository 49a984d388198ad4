"""The package's promises: values as in C, objects, exceptions with the C line, progress, interruption, arrays in and out."""

import dataclasses
import os
import signal
import tempfile
import threading
import unittest

import numpy as np

import tilewright as tw

SMALL = dict(m=32, n=32, k=32, target="gemmini-16x16-int8")


class Search(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        before = os.environ.get("TILEWRIGHT_WISDOM")
        os.environ["TILEWRIGHT_WISDOM"] = os.path.join(folder.name, "wisdom.json")
        self.addCleanup(lambda: os.environ.pop("TILEWRIGHT_WISDOM") if before is None else os.environ.update(TILEWRIGHT_WISDOM=before))

    def test_lists(self):
        self.assertIn("gemm", tw.ops())
        names = [t.name for t in tw.targets()]
        self.assertIn("gemmini-16x16-int8", names)
        self.assertEqual(len(names), len(set(names)))

    def test_tune_run_emit_model(self):
        seen = []
        found = tw.tune("gemm", **SMALL, iterations=2, inputs=7, progress=lambda p: seen.append(p.done))
        self.assertEqual(seen, sorted(seen))
        self.assertLess(found.best.cost, found.start.cost)
        self.assertGreaterEqual(found.best.cost, found.bound.cost)
        self.assertEqual(found.ladder[0].step, "start")
        self.assertFalse(found.ladder[0].within_error)
        self.assertGreater(found.error, 0)  # the simulator's
        base, text = found.ladder[0].cost, str(found)
        for rung in found.ladder[1:]:
            self.assertEqual(rung.within_error, abs(rung.cost / base - 1) < found.error)
            base = base if rung.within_error else rung.cost
        shown = [rung for rung in found.ladder if not rung.within_error]
        self.assertEqual(sum(line.endswith("  " + rung.step) for line, rung in zip(text.split("\n"), shown)), len(shown))
        self.assertEqual(len(text.split("\n")), len(shown) + (len(shown) < len(found.ladder)))
        self.assertLess(len(repr(found)), 3000)
        self.assertNotIn("void test", repr(found))
        self.assertAlmostEqual(found.speedup, found.start.cost / found.best.cost)
        self.assertGreater(found.best.counters["array_busy"].value, 0)
        used, size = found.best.memory["scratchpad"]
        self.assertTrue(0 < used <= size == 256 * 1024)
        # The recipe makes the source, and the source costs what was said.
        self.assertEqual(tw.emit("gemm", **SMALL, schedule=found.schedule), found.source)
        ran = tw.run(found.source, "gemm", **SMALL)
        self.assertEqual(ran.measurement.cost, found.best.cost)
        self.assertIn("every element", ran.coverage)
        cost, bound = tw.model("gemm", **SMALL, schedule=found.schedule)
        self.assertGreaterEqual(cost, bound.cost)

    def test_a_second_call_is_answered_by_wisdom(self):
        with tempfile.TemporaryDirectory() as folder:
            wisdom = os.path.join(folder, "own.json")
            options = dict(**SMALL, iterations=1, inputs=7, wisdom=wisdom)
            first = tw.tune("gemm", **options)
            self.assertFalse(first.from_wisdom)
            second = tw.tune("gemm", **options, progress=lambda p: self.fail("a search"))
            self.assertTrue(second.from_wisdom)
            self.assertEqual((second.source, second.schedule, second.best.cost), (first.source, first.schedule, first.best.cost))
            self.assertIsNone(second.start)
            self.assertIn("from wisdom", str(second))
            again = tw.tune("gemm", **options, again=True)
            self.assertFalse(again.from_wisdom)
            self.assertLessEqual(again.best.cost, first.best.cost)
            os.remove(wisdom)
            tw.tune("gemm", **{**options, "wisdom": False})
            self.assertFalse(os.path.exists(wisdom))

    def test_errors_have_the_line_of_the_library(self):
        with self.assertRaisesRegex(tw.UsageError, "unknown target 'gemini'.*gemmini-16x16-int8"):
            tw.tune("gemm", m=1, n=1, k=1, target="gemini")
        with self.assertRaisesRegex(ValueError, "m"):
            tw.emit("gemm", m=0, n=1, k=1, target="gemmini-16x16-int8")
        with self.assertRaisesRegex(tw.FailedError, "kernel.c"):
            tw.run("void test(int8_t A[32][32]) { nonsense }", "gemm", **SMALL)
        right = tw.emit("gemm", **SMALL)
        with self.assertRaisesRegex(tw.FailedError, r"C\[\d+\]\[\d+\]"):
            tw.run(right.replace("mvout(", "(void)(", 1), "gemm", **SMALL)
        with self.assertRaisesRegex(tw.LateError, "did not end within 1e-06 s: interrupted"):
            tw.run(right, "gemm", seconds=1e-6, **SMALL)
        with self.assertRaisesRegex(tw.UsageError, "seconds is -1"):
            tw.run(right, "gemm", seconds=-1, **SMALL)

    def test_programs_branch_on_what_an_error_says(self):
        with self.assertRaises(tw.UnsupportedError) as caught:
            tw.emit("softmax", target="gemmini-16x16-int8", rows=8, cols=8)
        self.assertIsInstance(caught.exception, tw.UsageError)
        with self.assertRaises(tw.UsageError) as caught:
            tw.emit("gemm", target="gemmini-16x16-int8", m=0, n=1, k=1)
        self.assertNotIsInstance(caught.exception, tw.UnsupportedError)

    def test_no_prediction_is_none(self):
        cost, bound = tw.model("gemm", target="cuda-h200", m=64, n=64, k=64)
        self.assertIsNone(cost)
        self.assertGreater(bound.cost, 0)

    def test_a_schedule_is_a_list_or_a_text(self):
        steps = tw.tune("gemm", **SMALL, iterations=1, inputs=7).schedule
        self.assertGreater(len(steps), 0)
        source = tw.emit("gemm", **SMALL, schedule=steps)
        for schedule in (tuple(steps), "\n".join(steps), "# a comment\n" + "\n".join(steps) + "\n"):
            self.assertEqual(tw.emit("gemm", **SMALL, schedule=schedule), source)
        plain = tw.emit("gemm", **SMALL)
        self.assertEqual([tw.emit("gemm", **SMALL, schedule=s) for s in (None, [], "")], [plain] * 3)
        cost = tw.model("gemm", **SMALL, schedule=steps)
        self.assertEqual(tw.model("gemm", **SMALL, schedule="\n".join(steps)), cost)
        started = tw.tune("gemm", **SMALL, iterations=1, plans=1, kernels=1, inputs=7, start="\n".join(steps), again=True)
        self.assertLessEqual(started.best.cost, tw.run(source, "gemm", **SMALL).measurement.cost)
        with self.assertRaisesRegex(tw.UsageError, "step 'foo'"):
            tw.model("gemm", **SMALL, schedule="foo")
        for wrong in (b"tile", [b"tile"], [["tile"]], [1]):
            with self.subTest(wrong), self.assertRaisesRegex(tw.UsageError, "list of strings"):
                tw.emit("gemm", **SMALL, schedule=wrong)
        for wrong in (0, False, 3):  # not the empty schedule
            with self.subTest(wrong), self.assertRaises(TypeError):
                tw.emit("gemm", **SMALL, schedule=wrong)

    def test_agents_are_a_list_or_one(self):
        one = tw.tune("gemm", **SMALL, iterations=1, inputs=7, agents="rules")
        self.assertEqual(one.source, tw.tune("gemm", **SMALL, iterations=1, inputs=7, agents=["rules"], wisdom=False).source)
        with self.assertRaisesRegex(tw.UsageError, "unknown agent 'ruels'"):
            tw.tune("gemm", **SMALL, agents="ruels", again=True)
        with self.assertRaisesRegex(tw.UsageError, "list of strings"):
            tw.tune("gemm", **SMALL, agents=[None])
        for agents in ("llm:m@localhost:8000/v1", ["llm:m@host"], ["rules", "llm:http://host"]):
            with self.subTest(agents), self.assertRaisesRegex(tw.UsageError, "llm:"):
                tw.tune("gemm", **SMALL, agents=agents, again=True)

    def test_empty_names_are_no_defaults(self):
        for name in ("journal", "runner"):
            with self.subTest(name), self.assertRaisesRegex(tw.UsageError, name):
                tw.tune("gemm", **SMALL, **{name: ""})
        with self.assertRaises(tw.UsageError):
            tw.Gemm(4, 4, 4, kernel="")

    def test_keys_of_numpy_are_keys(self):
        self.assertEqual(
            tw.emit("gemm", m=np.int64(32), n=32, k=32, relu=np.bool_(True), target=SMALL["target"]),
            tw.emit("gemm", m=32, n=32, k=32, relu=1, target=SMALL["target"]),
        )

    def test_what_progress_raises_ends_the_search(self):
        def angry(progress):
            if progress.done >= 3:
                raise KeyError("enough")

        with self.assertRaisesRegex(KeyError, "enough"):
            tw.tune("gemm", **SMALL, progress=angry)

    def test_ctrl_c_keeps_the_best(self):
        def interrupt(progress):
            if progress.done == 10:
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(tw.Interrupted) as caught:
            tw.tune("gemm", **SMALL, jobs=1, progress=interrupt)
        self.assertIsNotNone(caught.exception.result)
        self.assertLessEqual(caught.exception.result.best.cost, caught.exception.result.start.cost)

    def test_journal_resumes(self):
        with tempfile.TemporaryDirectory() as folder:
            journal = os.path.join(folder, "journal.sqlite")
            first = tw.tune("gemm", **SMALL, iterations=2, inputs=7, journal=journal, wisdom=False)
            again = tw.tune("gemm", **SMALL, iterations=2, inputs=7, journal=journal, wisdom=False)
        self.assertEqual(first.source, again.source)


class Binding(unittest.TestCase):
    def test_sizes_are_known(self):
        from tilewright._library import ffi, lib

        unknown = [n for n in ffi.list_types()[0] if n.endswith(("_options", "measurement")) and not lib.tw_size_of(n.encode())]
        self.assertEqual(unknown, [])


class Formats(unittest.TestCase):
    def test_every_format_comes_back(self):
        x = np.linspace(-3, 3, 4 * 256, dtype=np.float32).reshape(4, 256)
        for name in tw.formats():
            with self.subTest(name):
                encoded = tw.encode(x, name)
                once = encoded.decode()
                self.assertEqual(once.shape, x.shape)
                self.assertLess(np.abs(once - x).max(), 2.0)
        self.assertEqual(np.abs(tw.encode(x, "f32").decode() - x).max(), 0)

    def test_known_codes(self):
        x = np.zeros((1, 32), np.float32)
        x[0, :4] = [0.5, -6.0, 1.5, 4.0]
        encoded = tw.encode(x, "mxfp4")
        self.assertEqual(encoded.scales.tolist(), [127])
        self.assertEqual(encoded.codes[:2].tolist(), [0xF1, 0x63])
        self.assertTrue((encoded.decode() == x).all())

    def test_refusals(self):
        with self.assertRaisesRegex(tw.UsageError, "unknown format 'fp3'"):
            tw.encode(np.zeros((1, 32)), "fp3")
        with self.assertRaisesRegex(tw.UsageError, "3 dimensions"):
            tw.encode(np.zeros((1, 1, 32)), "mxfp4")


class OnlyDLPack:
    """Any library's array."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keys):
        return self.array.__dlpack__(**keys)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Products(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(1)
        self.a = random.integers(-4, 5, (5, 64)).astype(np.float32)
        self.b = random.integers(-4, 5, (64, 7)).astype(np.float32)

    def test_f32(self):
        plan = tw.Gemm(5, 7, 64, activation="relu")
        bias = np.arange(7, dtype=np.float32)
        expected = np.maximum(self.a @ self.b + bias, 0)
        packed = plan.pack(self.b)
        for a in (self.a, np.asfortranarray(self.a), OnlyDLPack(self.a)):
            self.assertTrue((plan(a, packed, bias=bias) == expected).all())
        out = np.empty((5, 7), np.float32)
        self.assertIs(plan(self.a, packed, out, bias=bias), out)
        self.assertTrue((np.from_dlpack(out) == expected).all())
        self.assertIn(plan.kernel, repr(plan))

    def test_beta_adds_to_out(self):
        plan = tw.Gemm(5, 7, 64, beta=1.0)
        out = np.ones((5, 7), np.float32)
        plan(self.a, self.b, out)
        self.assertTrue((out == self.a @ self.b + 1).all())
        with self.assertRaisesRegex(tw.UsageError, "beta"):
            plan(self.a, self.b)

    def test_alpha_0_is_0(self):
        for alpha in (0, 0.0, -0.0):
            plan = tw.Gemm(5, 7, 64, alpha=alpha, beta=1.0)
            out, bias = np.full((5, 7), 3, np.float32), np.arange(7, dtype=np.float32)
            self.assertTrue((plan(self.a, self.b, out) == 3).all())
            self.assertTrue((plan(self.a, self.b, out, bias=bias, row_scale=np.ones(5, np.float32)) == 3 + bias).all())
            scales = np.full(7, 2, np.float32)
            self.assertTrue((tw.Gemm(5, 7, 64, alpha=alpha)(self.a, self.b, column_scale=scales) == 0).all())
        self.assertTrue((tw.Gemm(5, 7, 64, alpha=0.5)(self.a, self.b) == 0.5 * (self.a @ self.b)).all())
        with self.assertRaises(TypeError):
            tw.Gemm(5, 7, 64, alpha=None)
        with self.assertRaisesRegex(tw.UsageError, "alpha"):
            tw.Gemm(5, 7, 64, a="i8", b="i8", c="i32", alpha=0)

    def test_b_is_packed_again_by_each_call(self):
        plan = tw.Gemm(5, 7, 64)
        for b in (self.b, self.b + 1, np.asfortranarray(self.b + 2), self.b + 3):
            self.assertTrue((plan(self.a, b) == self.a @ b).all())
        b = self.b.copy()
        plan(self.a, b)
        b += 1  # in place
        self.assertTrue((plan(self.a, b) == self.a @ b).all())
        for wrong in (self.b.astype(np.float64), self.b[:, :-1], self.b.T):
            with self.assertRaisesRegex(tw.UsageError, "b is"):
                plan(self.a, wrong)
        with self.assertRaisesRegex(tw.UsageError, "b is float64"):
            tw.Gemm(5, 7, 64, b="i4", group=32, b_transposed=True)(self.a, np.ones((7, 64)))

    def test_vectors_of_other_layouts_are_copied(self):
        plan, every = tw.Gemm(5, 7, 64), np.arange(14, dtype=np.float32)
        expected = self.a @ self.b + every[::2]
        for _ in range(100):
            self.assertTrue((plan(self.a, self.b, bias=every[::2]) == expected).all())
            self.assertTrue((plan(self.a, self.b) == self.a @ self.b).all())  # no vector stays from the call before

    def test_large_results_and_weights_are_in_large_pages(self):
        m, n, k = 512, 2048, 256
        a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
        plan = tw.Gemm(m, n, k)
        packed, c = plan.pack(b), None
        c = plan(a, packed)
        self.assertEqual(c.ctypes.data % (2 << 20), 0)
        del plan, packed
        self.assertTrue((c == k).all() and c.flags.writeable and c.shape == (m, n))
        view = c[1:, ::2]
        del c
        self.assertTrue((view == k).all())  # it keeps the memory

    def test_threads_share_a_plan(self):
        plan = tw.Gemm(5, 7, 64, threads=1)
        packed, expected, wrong = plan.pack(self.b), self.a @ self.b, []

        def work(factor):
            for _ in range(300):
                if not (plan(self.a * np.float32(factor), packed) == factor * expected).all():
                    wrong.append(factor)

        threads = [threading.Thread(target=work, args=(i + 1,)) for i in range(4)]
        [t.start() for t in threads], [t.join() for t in threads]
        self.assertEqual(wrong, [])

    def test_integers(self):
        a, b = self.a.astype(np.int8), self.b.astype(np.int8)
        c = tw.Gemm(5, 7, 64, a="i8", b="i8", c="i32")(a, b)
        self.assertTrue((c == a.astype(np.int32) @ b.astype(np.int32)).all())

    def test_quantized_weights(self):
        weights = tw.encode(self.b.T, "mxfp4")  # n x k
        plan = tw.Gemm(5, 7, 64, b="mxfp4", b_transposed=True)
        expected = self.a.astype(np.float64) @ weights.decode().T
        self.assertLess(np.abs(plan(self.a, weights) - expected).max(), 1e-3)

    def test_weights_of_another_shape_or_format_are_refused(self):
        plan = tw.Gemm(5, 7, 64, b="i4", b_transposed=True, group=32)
        plan.pack(tw.encode(self.b.T, "i4", group=32))
        others = (tw.encode(self.b.T, "i4", group=16), tw.encode(self.b.T, "i4"), tw.encode(self.b.T, "mxfp4"))
        for other in (*others, tw.encode(self.b.T[:6], "i4", group=32), tw.encode(self.b.T[:, :32], "i4", group=32)):
            with self.subTest(other.format), self.assertRaisesRegex(tw.UsageError, "the plan wants 7 x 64 of i4"):
                plan.pack(other)
        cut = dataclasses.replace(others[2], codes=others[2].codes[:-1])
        with self.assertRaisesRegex(tw.UsageError, "codes and scales"):
            cut.decode()

    def test_refusals(self):
        plan = tw.Gemm(5, 7, 64)
        with self.assertRaisesRegex(tw.UsageError, r"a is float64 \(5, 64\)"):
            plan(self.a.astype(np.float64), self.b)
        with self.assertRaisesRegex(tw.UsageError, "another plan"):
            plan(self.a, tw.Gemm(5, 7, 64).pack(self.b))
        with self.assertRaisesRegex(tw.UsageError, "there is no type 'f31'"):
            tw.Gemm(1, 1, 1, a="f31")
        with self.assertRaises(tw.UsageError):
            tw.Gemm(0, 1, 1)


if __name__ == "__main__":
    unittest.main()
