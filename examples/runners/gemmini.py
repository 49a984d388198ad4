#!/usr/bin/env python3
"""gemmini.py [--host HOST] [--run COMMAND]: a Gemmini on a board, on FireSim or in Verilator, for `tilewright tune --runner`.

    tilewright tune gemm m=512 n=512 k=512 -t gemmini-16x16-int8 --out run --jobs 1 \\
      --runner 'examples/runners/gemmini.py --host board'

Builds the bare-metal program here, by the compiler and gemmini-rocc-tests at $ROCC, copies it to HOST and runs COMMAND there, with {} for the
program [default: ./run-baremetal {}]. COMMAND must print what the program prints. On FireSim it starts the workload and prints its uartlog.
"""
import argparse
import os
import re

from machine_runner import Runner, Unbuildable

BUILD = ('-DPREALLOCATE=1 -DMULTITHREAD=1 -DBAREMETAL=1 -mcmodel=medany -march=rv64gc -mabi=lp64d -std=gnu99 -O2 -fno-common '
         '-fno-builtin-printf -fno-tree-loop-distribute-patterns -I. -I{r} -I{r}/riscv-tests -I{r}/riscv-tests/env '
         '-I{r}/riscv-tests/benchmarks/common -nostdlib -nostartfiles -static -T {r}/riscv-tests/benchmarks/common/test.ld '
         'main.c operands.S {r}/riscv-tests/benchmarks/common/syscalls.c {r}/riscv-tests/benchmarks/common/crt.S -lm -lgcc -o kernel-baremetal')


class Gemmini(Runner):
    unit = 'cycles'

    def __init__(self, arguments):
        self.arguments = arguments

    def build(self, folder, trial):
        words = BUILD.format(r=os.environ.get('ROCC', 'gemmini-rocc-tests')).split()
        self.command([os.environ.get('RISCV_GCC', 'riscv64-unknown-elf-gcc')] + words, folder, self.build_seconds, Unbuildable)

    def run(self, folder, trial):
        program = os.path.join(folder, 'kernel-baremetal')
        if not self.arguments.host:
            return self.command(self.arguments.run.replace('{}', program).split(), folder, accept=(0, 1))
        there = 'tilewright-%d-baremetal' % os.getpid()
        self.copy(self.arguments.host, [program], there)
        return self.ssh(self.arguments.host, self.arguments.run.replace('{}', there).split())

    def cost(self, text):
        match = re.search(r'^cycles: (\d+)', text, re.M)
        return int(match.group(1)) if match else None


parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('--host', help='the computer of the board [default: this one]')
parser.add_argument('--run', default='./run-baremetal {}', help='command that runs the program {} and prints what it prints')
Gemmini(parser.parse_args()).serve()
