#!/usr/bin/env python3
"""Sums of f32 are of f32 within a loop. With AVX-512, f32 of which deviations are summed become f64 from memory, not from
registers (KN_TERMS of codegen/emit/c/conversions.h): no loop has a conversion of a register but those of columns that take what
is left of the members. Compiles to assembly, for a processor that need not be this one.

usage: terms.py KILN COMPILER

Exit status: 0, 1 if there is such a conversion, or 77 if the compiler is no gcc for x86-64.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLAGS = ["-std=gnu11", "-w", "-O3", "-march=skylake-avx512", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-fno-trapping-math",
         "-fno-thread-jumps", "-fno-tree-pre", "-fno-split-paths"]  # fmt: skip

# The result of a program of x: f32[N, C], its sizes, the walk, and how many vectors its loops convert: at least, at most, from registers.
SUMS = [
    ("sum(x, axis=1)", "4096,256", "short", 0, 0, 0),
    ("sum(x, axis=1) / max(x, axis=1)", "64,65536", "rows", 0, 0, 0),
    ("var(x, axis=1)", "4096,768", "short", 2, 99, 0),
    ("sum(x, axis=0)", "4096,512", "cols", 0, 0, 0),
    ("var(x, axis=0)", "4096,512", "cols", 16, 99, 4),
]


def loops(assembly):
    """The bodies of innermost loops."""
    lines = [line for line in assembly.splitlines() if re.match(r"\.L\d+:|\t[a-z]", line)]
    at = {line[:-1]: i for i, line in enumerate(lines) if line.endswith(":")}
    ends = [(at[m[1]], i) for i, line in enumerate(lines) if (m := re.match(r"\tj\w+\t(\.L\d+)", line)) and at.get(m[1], i) < i]
    return [lines[a:b] for a, b in ends if not any((c, d) != (a, b) and a <= c and d <= b for c, d in ends)]


def assembly(kiln, compiler, expression, sizes, walk, folder):
    (folder / "f.kiln").write_text(f"def f(x: f32[N, C]):\n    return {expression}\n")
    out = subprocess.run([kiln, "explain", folder / "f.kiln", f"x=f32[{sizes}]", "--device", "cpu", "--stage", "c"],
                         capture_output=True, text=True, check=True).stdout  # fmt: skip
    walks = [part for part in re.split(r"(?=/\* ---- phase )", out) if re.match(rf"/\* ---- phase 0 by {walk}:", part)]
    parts = [(ROOT / "codegen/emit/c" / name).read_text() for name in ("prelude.h", "functions.h", "helpers.h", "conversions.h")]
    wide = '#pragma GCC target("prefer-vector-width=512")\n'
    (folder / "f.c").write_text(wide + "".join(parts) + walks[0])
    return subprocess.run([compiler, *FLAGS, "-S", "-o", "-", folder / "f.c"], capture_output=True, text=True, check=True).stdout


def main():
    kiln, compiler = sys.argv[1:]
    macros = subprocess.run([compiler, "-dM", "-E", "-march=skylake-avx512", "-"], input="", capture_output=True, text=True).stdout
    if "__AVX512F__" not in macros or "__clang__" in macros:
        return 77
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for expression, sizes, walk, least, most, rest in SUMS:
            found = [line for body in loops(assembly(kiln, compiler, expression, sizes, walk, Path(folder))) for line in body
                     if "vcvtps2pd" in line and "zmm" in line]  # fmt: skip
            moved = [line for line in found if "(" not in line]
            if not least <= len(found) <= most or len(moved) > rest:
                print(f"{expression} of {sizes}, {walk}: {len(found)} conversions in loops, of which {len(moved)} are of registers")
                bad += 1
    print(f"{len(SUMS) - bad} of {len(SUMS)}")
    return 1 if bad else 0


sys.exit(main())
