#!/usr/bin/env python3
"""xdna2.py [--host HOST]: the NPU of a Ryzen AI laptop, with mlir-aie, Peano and XRT there, and no tilewright.

    tilewright tune gemm m=2048 n=2048 k=2048 -t xdna2 --out run --jobs 1 --runner 'examples/runners/xdna2.py --host laptop'

Copies design.mlir, kernel.cc and run.py to HOST, compiles both there ($PEANO_INSTALL_DIR, $MLIR_AIE_INSTALL_DIR), runs run.py and reads the
time. An NPU runs one design at a time: use --jobs 1.
"""
import argparse
import os
import re

from machine_runner import NotEvaluated, Runner, Unbuildable

KERNEL = ('$PEANO_INSTALL_DIR/bin/clang++ -O2 -std=c++20 --target=aie2p-none-unknown-elf -DNDEBUG -Wno-parentheses -Wno-attributes '
          '-Wno-macro-redefined -Wno-empty-body -I $MLIR_AIE_INSTALL_DIR/include -c kernel.cc -o {}')


class Xdna2(Runner):
    build_seconds = run_seconds = 900  # aiecc takes minutes

    def __init__(self, arguments):
        self.arguments = arguments

    def there(self, folder, script, error=NotEvaluated):
        words = ['cd %s && { %s; } 2>&1; echo "status:$?"' % (folder, script)]
        text = self.ssh(self.arguments.host, words, accept=(0,)) if self.arguments.host else self.command(['sh', '-c'] + words)
        match = re.search(r'^status:(\d+)$', text, re.M)
        if not match:
            raise NotEvaluated('the connection to %s ended early' % self.arguments.host)
        if match.group(1) != '0' and not (match.group(1) == '1' and self.is_wrong(text)):
            raise error(text.strip()[-600:])
        return text

    def run(self, folder, trial):
        there = folder
        if self.arguments.host:
            there = 'tilewright-%d' % os.getpid()
            self.ssh(self.arguments.host, ['mkdir', '-p', there], accept=(0,))
            self.copy(self.arguments.host, [os.path.join(folder, f) for f in ('design.mlir', 'kernel.cc', 'run.py', 'operands.bin')], there)
        with open(os.path.join(folder, 'README.md')) as f:
            commands = f.read()
        name = re.search(r'-c kernel\.cc -o (\S+\.o)', commands).group(1)
        array = re.search(r'^    (aiecc --get-xclbin .*)$', commands, re.M).group(1)
        self.there(there, KERNEL.format(name), Unbuildable)
        self.there(there, array, Unbuildable)
        return self.there(there, self.arguments.python + ' run.py')

    def cost(self, text):
        match = re.search(r'^([0-9.]+) us, ', text, re.M)
        return float(match.group(1)) * 1e-6 if match else None


parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('--host', help='[default: this computer]')
parser.add_argument('--python', default='python3', help='there, with NumPy and pyxrt [default: python3]')
Xdna2(parser.parse_args()).serve()
