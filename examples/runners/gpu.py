#!/usr/bin/env python3
"""gpu.py --host HOST [--compiler hipcc|nvcc]: an AMD or NVIDIA GPU of another computer that has ROCm or CUDA, and no tilewright.

    tilewright tune gemm m=4096 n=4096 k=4096 a=bf16 b=bf16 c=bf16 -t cdna3 --out run --jobs 1 \\
      --runner 'examples/runners/gpu.py --host mi300x --compiler hipcc'

Copies the program of each kernel to HOST, compiles it there and runs it. Its time is that of a launch, of many in a row.
"""
import argparse
import os
import re

from machine_runner import NotEvaluated, Runner, Unbuildable

FILES = {'hipcc': ['kernel.hip', 'host.cpp', 'operands.bin'], 'nvcc': ['launch.cu', 'test.cu', 'operands.bin']}
ARCHITECTURES = {'cdna3': 'gfx942', 'cdna4': 'gfx950', 'cuda-a100-sxm': 'sm_80', 'cuda-h100-sxm': 'sm_90a', 'cuda-h200': 'sm_90a'}


class Gpu(Runner):
    def __init__(self, arguments):
        self.arguments = arguments

    def there(self, script, error=NotEvaluated):
        """A marker tells the shell there from a connection that ended early."""
        text = self.ssh(self.arguments.host, ['cd %s && { %s; }; echo "status:$?"' % (self.folder, script)], accept=(0,))
        match = re.search(r'^status:(\d+)$', text, re.M)
        if not match:
            raise NotEvaluated('the connection to %s ended early' % self.arguments.host)
        if match.group(1) not in ('0', '1') or (error is Unbuildable and match.group(1) != '0'):
            raise error(text.strip()[-600:])
        return text

    def run(self, folder, trial):
        compiler = self.arguments.compiler
        architecture = ARCHITECTURES.get(trial['target'])
        if not architecture:
            raise Unbuildable('gpu.py does not know the architecture of %s' % trial['target'])
        self.folder = 'tilewright-%d' % os.getpid()
        self.ssh(self.arguments.host, ['mkdir', '-p', self.folder], accept=(0,))
        self.copy(self.arguments.host, [os.path.join(folder, f) for f in FILES[compiler]], self.folder)
        if compiler == 'hipcc':
            self.there('hipcc --genco --offload-arch=%s -O3 -ffp-contract=fast kernel.hip -o kernel.co 2>&1' % architecture, Unbuildable)
            self.there('hipcc -std=c++17 -O2 host.cpp -o host 2>&1', Unbuildable)
            return self.there('./host 2>&1')
        self.there('nvcc -std=c++17 -gencode=arch=%s,code=%s test.cu -o test 2>&1' % (architecture.replace('sm', 'compute'), architecture), Unbuildable)
        return self.there('./test 2>&1')

    def cost(self, text):
        match = re.search(r'^([0-9.e+-]+) us each', text, re.M)
        return float(match.group(1)) * 1e-6 if match else None


parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('--host', required=True)
parser.add_argument('--compiler', choices=sorted(FILES), default='hipcc')
Gpu(parser.parse_args()).serve()
