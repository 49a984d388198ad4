#!/usr/bin/env python3
"""gemmini_tinympc.py [tables | paper FILE] [PART]: the numbers of docs/lab/2026-11-gemmini-tinympc.md, each measured now.

tables      tunes the two passes for each size from nothing and prints the page's tables. PART: only rows that contain it, as in "backward 12 x 4".
paper FILE  runs the three programs of figures 33 to 37 of the Autocomp paper. FILE: the text of the paper's HTML page, a line for each line of code.

TILEWRIGHT: the command to use. The searches use one thread and seed 2, and do not depend on the machine's speed.
"""
import usage  # answers --help
import json
import os
import re
import subprocess
import sys
import tempfile

COMMAND = os.environ.get('TILEWRIGHT', 'build/tilewright')
TARGET = 'gemmini-4x4-fp32'
SIZES = [(12, 4), (4, 1), (32, 8)]
HORIZONS = [5, 10, 20]
ARRAY = 16    # products a cycle; a product of a matrix and one vector can use a column of 4


def most(states, steps, products):
    """Of peak, what a kernel could reach that takes the recurrence step by step and does all else in no time. 56 cycles: the first line of code;
    109: one load, product and store; the others are the steps, each after the last block of the state before it."""
    blocks = -(-states // 4)
    return products / ARRAY / (56 + 109 + (steps - 1) * (4 * blocks * blocks + 34 - 4 * (blocks - 1)))


def tune(words, folder):
    line = [COMMAND, 'tune'] + words.split() + ['-t', TARGET, '--no-wisdom', '--seed', '2', '--jobs', '1', '--json', '--out', folder]
    p = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode:
        sys.exit('gemmini_tinympc.py: %s\n%s' % (' '.join(line), p.stderr.strip()))
    return json.loads(p.stdout)


def tables(part):
    for name in 'forward', 'backward':
        print('\n| %s | N | start | best | speed-up | of peak | of a column | at most | candidates |' % name)
        print('| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |')
        for states, inputs in SIZES:
            for horizon in HORIZONS:
                if part not in '%s %d x %d %d' % (name, states, inputs, horizon):
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    r = tune('mpc_%s horizon=%d states=%d inputs=%d' % (name, horizon, states, inputs), os.path.join(folder, 'run'))
                steps = horizon if name == 'forward' else horizon - 1
                products = steps * (2 * states * inputs + states ** 2 + (0 if name == 'forward' else inputs ** 2))
                best, start = r['best']['cycles'], r['start']['cycles']
                print('| %d x %d | %d | %s | %s | %.2f | %.1f%% | %.1f%% | %.1f%% | %d |' % (
                    states, inputs, horizon, format(start, ','), format(best, ','), start / best, 100 * products / ARRAY / best,
                    100 * products / 4 / best, 100 * most(states, steps, products), r['samples']), flush=True)


# ---- the paper's programs ----

def programs(path):
    """The texts of figures 33 and 34, of 35, and of 36 and 37: each stands before its caption and begins with `void test(`."""
    text, out, last = open(path).read(), [], 0
    for first, end in (33, 34), (35, 35), (36, 37):
        parts = []
        for figure in range(first, end + 1):
            caption = re.search(r'^Figure %d: .*$' % figure, text, re.M)
            if not caption:
                sys.exit('gemmini_tinympc.py: %s has no line that begins "Figure %d: "' % (path, figure))
            code = text[last:caption.start()]
            if figure == first:
                code = code[code.rindex('void test(float Adyn'):]
            parts.append(code)
            last = caption.end()
        # A comma is missing between two parameters in the printed text.
        out.append('\n'.join(parts).replace('float Bdyn[12][4] float', 'float Bdyn[12][4], float'))
    return out


def paper(path):
    print('| program | cycles | of a column | published | cycles against published |\n| --- | ---: | ---: | ---: | --- |')
    names = 'figures 33, 34: the start', 'figure 35: hardware loop, by hand', 'figures 36, 37: found by a search'
    for name, source, published in zip(names, programs(path), (5.7, 10.9, 15.7)):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, 'kernel.c')
            with open(file, 'w') as f:
                f.write(source)
            p = subprocess.run([COMMAND, 'run', file, 'mpc_forward', 'horizon=5', 'states=12', 'inputs=4', '-t', TARGET, '--json'],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        rejected = re.search(r'as simulated it takes (\d+) cycles and its result is (\w+)', p.stdout + p.stderr)
        if p.returncode and not rejected:
            sys.exit('gemmini_tinympc.py: %s: %s' % (name, p.stderr.strip()))
        cycles = int(rejected.group(1)) if rejected else json.loads(p.stdout)['cycles']
        column = 100 * 5 * (2 * 12 * 4 + 12 ** 2) / 4 / cycles
        off = published / column - 1
        print('| %s | %s%s | %.1f%% | %.1f%% | %.0f%% too %s |' % (
            name, format(cycles, ','), ', rejected, result %s' % rejected.group(2) if rejected else '', column, published, 100 * abs(off),
            'slow' if off > 0 else 'fast'))


if __name__ == '__main__':
    words = sys.argv[1:] or ['tables']
    if words[0] == 'paper' and len(words) == 2:
        paper(words[1])
    elif words[0] == 'tables' and len(words) <= 2:
        tables(words[1] if len(words) == 2 else '')
    else:
        sys.exit(__doc__)
