"""machine_runner.py: what the runners of this folder share: the protocol of `tilewright evaluate`, retries and time limits.

A runner reads trials from standard input and writes an outcome for each on standard output, one JSON object a line. `tilewright emit
--from` writes the program that runs a kernel on the real machine, checks its result and times it; a runner builds that program,
runs it there and reads what it prints. Set TILEWRIGHT_EVALUATOR to a name of the machine, its compiler and driver: a search takes outcomes of
one machine only.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TILEWRIGHT = os.environ.get('TILEWRIGHT', 'tilewright')  # `tilewright tune --runner` sets it to its own path


class NotEvaluated(Exception):
    """Says nothing about the kernel: a connection, a board or a tool failed."""


class Unbuildable(Exception):
    """The compiler rejects the kernel."""


class Runner:
    unit = 'seconds'        # of cost
    retries = 2             # after a connection was lost
    build_seconds = 300
    run_seconds = 300

    def build(self, folder, trial):
        """Builds the program of `folder`. Raises Unbuildable."""

    def run(self, folder, trial):
        """Runs it on the machine and returns what it prints. Raises NotEvaluated."""
        raise NotImplementedError

    def cost(self, text):
        """The cost in what the program prints, or None."""
        raise NotImplementedError

    def is_right(self, text):
        """Does the program say that its result is right?"""
        return re.search(r'^right', text, re.M) is not None

    def is_wrong(self, text):
        return re.search(r'WRONG|wrong:', text) is not None

    # ---- tools for runners ----

    def command(self, words, folder=None, seconds=None, error=NotEvaluated, accept=(0,)):
        try:
            p = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors='replace', timeout=seconds or self.run_seconds)
        except subprocess.TimeoutExpired:
            raise NotEvaluated('%s did not end within %g s' % (words[0], seconds or self.run_seconds)) from None
        except OSError as e:
            raise NotEvaluated('%s: %s' % (words[0], e.strerror)) from None
        if p.returncode not in accept:
            raise error('%s ended with status %d: %s' % (words[0], p.returncode, p.stdout.strip()[-600:]))
        return p.stdout

    def again(self, do):
        """A connection that was lost is tried again, after a while. What it did may be done twice."""
        for attempt in range(self.retries + 1):
            try:
                return do()
            except NotEvaluated:
                if attempt == self.retries:
                    raise
                time.sleep(0.2 * 4 ** attempt)

    def ssh(self, host, words, seconds=None, accept=(0, 1)):
        """Status 255 is ssh's own, and says nothing about the kernel."""
        line = ['ssh', '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=15', host] + words
        return self.again(lambda: self.command(line, seconds=seconds, accept=accept))

    def copy(self, host, files, to):
        line = ['scp', '-q', '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=15'] + files + ['%s:%s' % (host, to)]
        return self.again(lambda: self.command(line))

    # ---- the protocol ----

    def emit(self, trial, folder):
        source = os.path.join(folder, 'trial-source')
        with open(source, 'wb') as f:
            f.write(bytes.fromhex(trial['source_hex']) if 'source_hex' in trial else trial['source'].encode())
        self.command([TILEWRIGHT, 'emit'] + trial['problem'].split() +
                     ['-t', trial['target'], '--from', source, '--out', folder], seconds=120, error=Unbuildable)

    def evaluate(self, trial):
        folder = tempfile.mkdtemp(prefix='tilewright-runner-')
        try:
            self.emit(trial, folder)
            self.build(folder, trial)
            return self.judge(self.run(folder, trial))
        except Unbuildable as e:
            return {'verdict': 'does not build', 'status': 1, 'message': str(e)[:1900]}
        except NotEvaluated as e:
            return {'verdict': 'not evaluated', 'status': 3, 'message': str(e)[:1900]}
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def judge(self, text):
        if self.is_wrong(text):
            return {'verdict': 'wrong', 'status': 1, 'message': text.strip()[-600:]}
        cost = self.cost(text)
        if not self.is_right(text) or cost is None or cost <= 0:
            raise NotEvaluated('the program printed no result: %s' % text.strip()[-600:])
        return {'verdict': 'correct', 'status': 0, 'message': '', 'cost': cost, 'coverage': self.coverage(text)}

    def coverage(self, text):
        match = re.search(r'^right:? *(.*)$', text, re.M)
        return (match.group(1) or 'as the program says')[:230] if match else 'as the program says'

    def serve(self):
        for line in sys.stdin:
            if not line.strip():
                continue
            start = time.time()
            out = {'tilewright': 'outcome', 'version': 1, 'coverage': '', 'cost': 0, 'counters': [], 'memory': [], 'instructions': 0,
                   'utilization': 0}
            out.update(self.evaluate(json.loads(line)))
            out['took'] = time.time() - start
            out['cycles'] = out['cost'] if self.unit == 'cycles' else 0
            out['seconds'] = out['cost'] if self.unit == 'seconds' else 0
            if 'TILEWRIGHT_EVALUATOR' in os.environ:
                out['evaluator'] = os.environ['TILEWRIGHT_EVALUATOR'][:64]
            print(json.dumps(out), flush=True)
