#!/usr/bin/env python3
"""probe.py - writes ../isa/instructions.def: every opcode of gfx942 and gfx950, found by asking llvm-mc-22 to disassemble
each opcode of each encoding with a register of its own in every field.

    python3 probe.py > new.def && mv new.def ../isa/instructions.def

The format of a row is described in ../isa/isa.h. Columns of meaning are kept from the file that is there; a row that it does
not have gets columns by its encoding and is named on stderr: they are to be written by hand. The bytes of an encoding are facts of the instruction set (AMD's "CDNA3"
and "CDNA4" ISA documents); this asks for them one by one."""
import itertools
import os
import re
import subprocess
import sys

SEPARATOR = 0xBF92005A  # s_trap 0x5a


def text_of(words):
    return "[" + ",".join("0x%02x" % (w >> s & 255) for w in words for s in (0, 8, 16, 24)) + "]"


def disassemble(cpu, encodings):
    """The text of each encoding, None where it is not one instruction; llvm-mc crashes on a few."""
    if len(encodings) > 512:
        half = len(encodings) // 2
        return disassemble(cpu, encodings[:half]) + disassemble(cpu, encodings[half:])
    out = disassemble_at_once(cpu, encodings)
    if len(out) == len(encodings):
        return out
    if len(encodings) <= 1:
        return [None] * len(encodings)
    half = len(encodings) // 2
    return disassemble(cpu, encodings[:half]) + disassemble(cpu, encodings[half:])


def disassemble_at_once(cpu, encodings):
    source = "\n".join(text_of(words) + "\n" + text_of([SEPARATOR]) for words in encodings)
    run = subprocess.run(["llvm-mc-22", "--disassemble", "-triple=amdgcn", "-mcpu=" + cpu],
                         input=source + "\n", capture_output=True, text=True)
    out, texts = [], []
    for line in run.stdout.splitlines():
        line = line.strip()
        if not line or line.startswith("."):
            continue
        if line == "s_trap 0x5a":
            out.append(texts[0] if len(texts) == 1 else None)
            texts = []
        else:
            texts.append(line.split("//")[0].strip())
    return out


class Encoding:
    """base: fixed bits; op: (lowest bit, opcodes); fields: letter -> (lowest bit, width, value of a VGPR or None, value
    of an SGPR or None); the value tells the field from its text. words: dwords without a literal."""

    def __init__(self, name, base, op, opcodes, fields, words, set_bits=()):
        self.name, self.base, self.op, self.opcodes, self.fields, self.words = name, base, op, opcodes, fields, words
        self.set_bits = set_bits

    def encode(self, opcode, choice, extra=0):
        bits = self.base | opcode << self.op | extra
        for letter, kind in choice.items():
            low, width, v, s = self.fields[letter]
            bits |= {"v": v, "s": s, "0": 0, "o": 0x7F}[kind] << low
        return bits

    def dwords(self, bits, literal=None):
        out = [bits >> 32 * i & 0xFFFFFFFF for i in range(self.words)]
        return out + ([literal] if literal is not None else [])


def vgpr(n):
    return 256 + n


E = [
    Encoding("SOP2", 2 << 30, 23, range(96), {"D": (16, 7, None, 24), "0": (0, 8, None, 40), "1": (8, 8, None, 56)}, 1),
    Encoding("SOPK", 0xB << 28, 23, range(29), {"D": (16, 7, None, 24)}, 1),
    Encoding("SOP1", 0x17D << 23, 8, range(256), {"D": (16, 7, None, 24), "0": (0, 8, None, 40)}, 1),
    Encoding("SOPC", 0x17E << 23, 16, range(128), {"0": (0, 8, None, 40), "1": (8, 8, None, 56)}, 1),
    Encoding("SOPP", 0x17F << 23, 16, range(128), {}, 1),
    Encoding("SMEM", 0x30 << 26 | 1 << 17, 18, range(256), {"D": (6, 7, None, 24), "B": (0, 6, None, 20)}, 2),
    Encoding("VOP2", 0, 25, range(62), {"D": (17, 8, 32, None), "0": (0, 9, vgpr(48), 40), "1": (9, 8, 64, None)}, 1),
    Encoding("VOP1", 0x3F << 25, 9, range(256), {"D": (17, 8, 32, 24), "0": (0, 9, vgpr(48), 40)}, 1),
    Encoding("VOPC", 0x3E << 25, 17, range(256), {"0": (0, 9, vgpr(48), 40), "1": (9, 8, 64, None)}, 1),
    Encoding("VOP3", 0x34 << 26, 16, range(0x380), {"D": (0, 8, 32, None), "S": (8, 7, None, 16), "0": (32, 9, vgpr(48), 40),
             "1": (41, 9, vgpr(64), 56), "2": (50, 9, vgpr(80), 72)}, 2),
    Encoding("VOP3P", 0x1A7 << 23, 16, range(128), {"D": (0, 8, 32, None), "0": (32, 9, vgpr(48), 40),
             "1": (41, 9, vgpr(64), 56), "2": (50, 9, vgpr(80), 72)}, 2),
    Encoding("DS", 0x36 << 26, 17, range(256), {"A": (32, 8, 48, None), "W": (40, 8, 64, None), "X": (48, 8, 80, None),
             "D": (56, 8, 32, None)}, 2),
] + [
    Encoding(name, 0x37 << 26 | seg << 14 | (1 << 13 if seg == 1 else 0) | (0x7F << 48 if seg else 0), 18, range(128),
             {"A": (32, 8, 48, None), "W": (40, 8, 64, None), "D": (56, 8, 32, None)}, 2)
    for seg, name in enumerate(["FLAT", "SCRATCH", "GLOBAL"])
] + [
    Encoding("MUBUF", 0x38 << 26 | 1 << 12, 18, range(128), {"A": (32, 8, 48, None), "W": (40, 8, 64, None),
             "B": (48, 5, None, 10), "O": (56, 8, None, 88)}, 2),
    Encoding("MTBUF", 0x3A << 26 | 4 << 23 | 1 << 19 | 1 << 12, 15, range(16), {"A": (32, 8, 48, None),
             "W": (40, 8, 64, None), "B": (48, 5, None, 10), "O": (56, 8, None, 88)}, 2),
]
SCALED = {"B": 2, "MUBUF_B": 4}


def register_value(encoding, letter, kind):
    low, width, v, s = encoding.fields[letter]
    value = v if kind == "v" else s
    if kind == "v" and value >= 256:
        value -= 256
    if letter == "B":
        value *= 2 if encoding.name == "SMEM" else 4
    return value


def find_base(cpu, encoding, opcodes):
    """For each opcode the choice of kinds of registers that decodes, with most fields in use."""
    letters = list(encoding.fields)
    options = []
    for letter in letters:
        low, width, v, s = encoding.fields[letter]
        options.append(([] if v is None else ["v"]) + ([] if s is None else ["s"]) + ["0"])
    choices = sorted(itertools.product(*options), key=lambda c: (sum(k == "0" for k in c), sum(k == "s" for k in c)))
    found, wanted = {}, list(opcodes)
    literal = 0x12345678 if encoding.words == 1 else None
    for choice in choices:
        if not wanted:
            break
        kinds = dict(zip(letters, choice))
        if encoding.name == "VOP3" and kinds["S"] == "0":
            kinds.pop("S")
        texts = disassemble(cpu, [encoding.dwords(encoding.encode(o, kinds)) for o in wanted])
        with_literal = [None] * len(wanted)
        if literal is not None:
            with_literal = disassemble(cpu, [encoding.dwords(encoding.encode(o, kinds), literal) for o in wanted])
        rest = []
        for o, t, tl in zip(wanted, texts, with_literal):
            if t is not None or tl is not None:
                if encoding.name == "VOP3" and kinds.get("S") and not re.search(r"\bs\[16:17\]", t):
                    rest.append(o)
                    continue
                found[o] = (kinds, t if t is not None else tl, t is None)
            else:
                rest.append(o)
        wanted = rest
    return found


def parse_operands(encoding, kinds, text):
    """[(letter, kind, width)] in the order of the text, the bare name, and what follows."""
    name, _, rest = text.partition(" ")
    where = {}
    for letter, kind in kinds.items():
        if kind != "0":
            where[register_value(encoding, letter, kind)] = (letter, kind)
    out, tail = [], ""
    for part in [p.strip() for p in rest.split(",")] if rest else []:
        if tail:
            tail += "," + part
            continue
        first, _, more = part.partition(" ")
        m = re.fullmatch(r"-?\|?([vsa])(?:(\d+)|\[(\d+):(\d+)\])\|?", first)
        if m:
            low = int(m[2] or m[3])
            width = 1 if m[2] else int(m[4]) - low + 1
            if low in where:
                letter, _ = where[low]
                out.append((letter, "v" if m[1] in "va" else "s", width, m[1]))
            elif low == 0:
                out.append(("?", "v" if m[1] in "va" else "s", width, m[1]))
            else:
                raise SystemExit("what is %s in %s %s" % (part, encoding.name, text))
        elif first == "vcc":
            out.append(("C", "s", 2, "s"))
        elif first == "off":
            out.append(("Z", "z", 0, "z"))
        elif first == "0x12345678":
            out.append(("K", "k", 1, "k"))
        else:
            out.append(("M", "m", 0, part))
        if more:
            tail = more
    return name, out, tail


def rows_of(cpu, encoding):
    rows = {}
    found = find_base(cpu, encoding, encoding.opcodes)
    jobs, keys = [], []
    for opcode, (kinds, text, literal) in found.items():
        name, operands, tail = parse_operands(encoding, kinds, text)
        base = encoding.encode(opcode, kinds)
        used = {o[0] for o in operands}
        free = (1 << 32 * encoding.words) - 1
        for letter in kinds:
            if letter in used:
                low, width, v, s = encoding.fields[letter]
                free &= ~(((1 << width) - 1) << low)
        # with fields that no operand shows at zero where that decodes
        rows[opcode] = dict(kinds=kinds, name=name, operands=operands, tail=tail, literal=literal, base=base, mbz=0, shown=0,
                            text=text)
        for bit in range(32 * encoding.words):
            if free >> bit & 1 and not (encoding.op <= bit < encoding.op + 10 and encoding.name == "VOP3"):
                jobs.append(encoding.dwords(base ^ 1 << bit, 0x12345678 if literal else None))
                keys.append((opcode, "bit", bit))
        for letter, kind in kinds.items():  # may the field hold a VGPR, an SGPR, a constant?
            low, width, v, s = encoding.fields[letter]
            if letter in "012" and letter in used:
                mask = ~(((1 << width) - 1) << low)
                for what, value in (("v", v), ("s", s), ("c", 0x85)):
                    if value is not None:
                        jobs.append(encoding.dwords(base & mask | value << low,
                                                    0x12345678 if literal else None))
                        keys.append((opcode, "holds", (letter, what)))
        if encoding.name in ("VOP1", "VOP2", "VOPC") and not literal and "0" in used:
            for what, code, more in (("dpp", 0xFA, 0xFF00E400 | 48), ("sdwa", 0xF9, 0x06060600 | 48)):
                if what == "sdwa" and encoding.name == "VOPC":
                    more = 0x06060000 | 48
                if what == "sdwa" and encoding.name == "VOP1":
                    more = 0x00060600 | 48
                jobs.append([base & ~0x1FF | code, more])
                keys.append((opcode, "form", what))
    texts = disassemble(cpu, jobs)
    for (opcode, what, detail), text in zip(keys, texts):
        row = rows[opcode]
        if what == "bit":
            if text is None or text.split(" ")[0] != row["name"]:
                row["mbz"] |= 1 << detail
            elif text != row["text"]:
                row["shown"] |= 1 << detail
        elif what == "holds" and text is not None:
            row.setdefault("holds", {}).setdefault(detail[0], set()).add(detail[1])
        elif what == "form" and text is not None and text.split(" ")[0].endswith("_" + detail):
            row.setdefault("forms", set()).add(detail)
    return rows


# Where a source has to be a scalar, the search finds a choice that leaves other fields in use.
OPERANDS = {"v_readlane_b32": "Dr1 0v1 1s1", "v_writelane_b32": "Dv1 0s1 1s1"}


def bare(name):
    return re.sub(r"_(e32|e64)$", "", name)


def operand_text(row):
    if bare(row["name"]) in OPERANDS:
        return OPERANDS[bare(row["name"])]
    out = []
    for letter, kind, width, raw in row["operands"]:
        if letter in "012":
            holds = row.get("holds", {}).get(letter, set())
            if raw == "a":
                kind = "a"
            elif "v" in holds and ("s" in holds or "c" in holds):
                kind = "x"
            elif "v" in holds:
                kind = "v"
            elif "c" in holds:
                kind = "s"
            else:
                kind = "r"
        elif raw == "a":
            kind = "a"
        elif letter == "M":
            out.append("M")
            continue
        elif letter == "Z":
            out.append("Z")
            continue
        out.append("%s%s%d" % (letter, kind, width))
    return " ".join(out)


# Opcodes without a register, or with one alone, which the search for operands does not meet: text and masks were found
# by turning every bit of their encodings.
BARE = {
    "SMEM": [
        (32, "s_dcache_inv", "", 0xfffe0000, 0x0),
        (33, "s_dcache_wb", "", 0xfffe0000, 0x0),
        (34, "s_dcache_inv_vol", "", 0xfffe0000, 0x0),
        (35, "s_dcache_wb_vol", "", 0xfffe0000, 0x0),
        (36, "s_memtime", "Ds2", 0xfffe0000, 0x0),
        (37, "s_memrealtime", "Ds2", 0xfffe0000, 0x0),
    ],
    "MUBUF": [
        (40, "buffer_wbl2", "", 0x800000fdfd3000, 0xc000),
        (41, "buffer_inv", "", 0x800000fdfd3000, 0xc000),
    ],
    "DS": [
        (152, "ds_gws_sema_release_all", "", 0xfffffffffffe0000, 0x1ffff),
        (153, "ds_gws_init", "Av1", 0xffffff00fffe0000, 0x1ffff),
        (154, "ds_gws_sema_v", "", 0xfffffffffffe0000, 0x1ffff),
        (155, "ds_gws_sema_br", "Av1", 0xffffff00fffe0000, 0x1ffff),
        (156, "ds_gws_sema_p", "", 0xfffffffffffe0000, 0x1ffff),
        (157, "ds_gws_barrier", "Av1", 0xffffff00fffe0000, 0x1ffff),
    ],
}


MEANING = re.compile(r'I\((\w+), \d+, \d+, "(\w+)", "[^"]*", \d+, \w+, \w+, (.*)\)$')
CLASS = {"SMEM": "SMEM", "DS": "LDS", "FLAT": "VMEM", "SCRATCH": "VMEM", "GLOBAL": "VMEM", "MUBUF": "VMEM", "MTBUF": "VMEM",
         "SOPP": "INTERNAL"}


def meanings():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "isa", "instructions.def")
    with open(path, encoding="ascii") as f:
        rows = [MEANING.match(line) for line in f]
    return {(m[1], m[2]): m[3] for m in rows if m}


def meaning(known, encoding, name):
    if (encoding, name) in known:
        return known[encoding, name]
    print("new: %s in %s; write its last five columns by hand" % (name, encoding), file=sys.stderr)
    klass = CLASS.get(encoding, "VALU" if encoding.startswith("VOP") else "SALU")
    return '%s, ACCESS_NONE, 0, LANES, ""' % klass


def main():
    known = meanings()
    print("/* instructions.def - made by ../generate/probe.py with llvm-mc-22; isa.h says what a row is. */")
    for encoding in E:
        table = {cpu: rows_of(cpu, encoding) for cpu in ("gfx942", "gfx950")}
        plain = {row[0]: row for row in BARE.get(encoding.name, [])}
        for opcode in sorted(set(table["gfx942"]) | set(table["gfx950"]) | set(plain)):
            if opcode in plain:
                print('I(%s, %d, 3, "%s", "%s", 0, 0x%x, 0x%x, %s)' %
                      ((encoding.name,) + plain[opcode] + (meaning(known, encoding.name, plain[opcode][1]),)))
                continue
            lines = {}
            for bit, cpu in ((1, "gfx942"), (2, "gfx950")):
                row = table[cpu].get(opcode)
                if row:
                    forms = row.get("forms", set())
                    key = (bare(row["name"]), operand_text(row), (1 if "dpp" in forms else 0) | (2 if "sdwa" in forms else 0) |
                           (4 if row["name"].endswith("_e64") else 0) | (8 if row["name"].endswith("_e32") else 0),
                           row["mbz"] & ~(((1 << 10) - 1) << 16 if encoding.name == "VOP3" else 0), row["shown"])
                    lines[key] = lines.get(key, 0) | bit
            for (name, operands, forms, mbz, shown), cpus in lines.items():
                print('I(%s, %d, %d, "%s", "%s", %d, 0x%x, 0x%x, %s)' %
                      (encoding.name, opcode, cpus, name, operands, forms, mbz, shown, meaning(known, encoding.name, name)))


if __name__ == "__main__":
    main()
