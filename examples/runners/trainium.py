#!/usr/bin/env python3
"""trainium.py HOST: a NeuronCore of an AWS instance, for `tilewright tune --runner`.

    tilewright tune gemm m=2048 n=2048 k=2048 a=bf16 b=bf16 a_transposed=1 -t trn2 --jobs 1 \\
      --runner 'python3 examples/runners/trainium.py HOST'

`tilewright evaluate` on this computer checks each kernel first, by the model. A correct kernel is copied to HOST with its driver and timed
there: its cost is the median latency. REMOTE_PYTHON names the interpreter on HOST, of the environment with nki and torch_xla [python3].
"""
import argparse
import json
import os
import subprocess

from machine_runner import NotEvaluated, Runner, TILEWRIGHT


class Trainium(Runner):
    def __init__(self, host):
        self.host = host
        self.python = os.environ.get('REMOTE_PYTHON', 'python3')
        try:
            self.model = subprocess.Popen([TILEWRIGHT, 'evaluate', '--jobs', '1'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except OSError as e:
            raise SystemExit('trainium.py: cannot run %s: %s; name the command in TILEWRIGHT' % (TILEWRIGHT, e.strerror)) from None

    def outcome_of_model(self, trial):
        self.model.stdin.write(json.dumps(trial) + '\n')
        self.model.stdin.flush()
        return json.loads(self.model.stdout.readline())

    def evaluate(self, trial):
        outcome = self.outcome_of_model(trial)
        if outcome['verdict'] != 'correct' or trial.get('check_only'):
            return outcome
        timed = super().evaluate(trial)
        if timed['verdict'] == 'correct':
            timed['counters'] = outcome['counters'] + [{'name': 'real_machine', 'unit': '', 'help': 'timed on a NeuronCore', 'value': 1.0}]
            timed['coverage'] = outcome['coverage']
        return timed

    def run(self, folder, trial):
        there = os.path.basename(folder)
        self.copy(self.host, ['-r', folder], there)
        return self.ssh(self.host, ['cd %s && %s driver.py --json; status=$?; cd .. && rm -r %s; exit $status' % (there, self.python, there)])

    def answer(self, text):
        try:
            return json.loads(text.strip().split('\n')[-1])
        except ValueError:
            raise NotEvaluated('the driver printed no result: %s' % text.strip()[-600:]) from None

    def is_right(self, text):
        return self.answer(text).get('correct', True)

    def is_wrong(self, text):
        return not self.is_right(text)

    def cost(self, text):
        return 1e-6 * self.answer(text).get('p50_us', 0)


parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('host', help='the instance, a name for ssh')
Trainium(parser.parse_args().host).serve()
