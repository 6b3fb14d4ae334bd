#!/usr/bin/env python3
"""With AVX-512 no loop of compiled kernels reads a vector where two halves of it were written just before: processors forward
what one store wrote, and such a load waits until both are in the cache. Looks at what the compiler makes of them.

usage: forwarded.py KILN COMPILER

Exit status: 0, 1 if one does, or 77 if the compiler is none for it.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# A compiler for KILN_CC that leaves the assembly of each kernel for such a processor too.
SHIM = """#!/bin/sh
for a in "$@"; do case $a in *.c) c=$a;; esac; done
all=$(echo " $* " | sed 's/ -march=native / /; s/ -shared / /; s/ -o [^ ]* / /')
grep -q 'phase [0-9]* by' "$c" 2> /dev/null && {compiler} $all -march=skylake-avx512 -S -o {folder}/kernel.s
exec {compiler} "$@"
"""
PROGRAMS = {
    "dequantise": ("q: i8[N, C], scale: f32[C]", "cast(cast(q, f32) * scale * 0.01, bf16)", ["q=i8[512,512]", "scale=f32[512]"]),
    "quantise": ("x: f32[N, C], s: f32[()]", "cast(clip(rint(x / s), -127, 127), i8)", ["x=f32[512,512]", "s=f32[()]"]),
    "narrowed": ("x: f32[N, C], y: f32[N, C]", "cast(x * y + 1, bf16)", ["x=f32[512,512]", "y=f32[512,512]"]),
    "masked": ("keep: bool[N, C], x: f32[N, C]", "where(keep, x, 0) * 2", ["keep=bool[512,512]", "x=f32[512,512]"]),
    "stencil": ("x: f16[N, C]", "cast(cast(x, f32) - cast(roll(x, 1, axis=-1), f32), f16)", ["x=f16[512,512]"]),
}
WIDTH = {"x": 16, "y": 32, "z": 64}
STORED = re.compile(r"\tv\S+\s+(?:\$\d+, )?%([xyz])mm\d+, (-?\d*)\((%r[sb]p)\)$")
READ = re.compile(r"\tv\S+\s+(?:\$\d+, )?(-?\d*)\((%r[sb]p)\)(?:, %zmm\d+)*, %(z)mm\d+")
NEAR = 60  # instructions


def assembly(kiln, name, folder, environment):
    args, value, inputs = PROGRAMS[name]
    path = folder / f"{name}.kiln"
    path.write_text(f"def {name}({args}):\n    y = {value}\n    return y\n")
    subprocess.run([kiln, "run", path, *inputs, "--device", "cpu"], check=True, env=environment, stdout=subprocess.DEVNULL)
    made = folder / "kernel.s"
    lines = made.read_text().splitlines() if made.exists() else []
    made.unlink(missing_ok=True)
    return lines


def waits(assembly):
    """The loads that do."""
    stores, found = [], []
    for at, line in enumerate(assembly):
        stored, read = STORED.match(line), READ.match(line)
        if stored:
            stores.append((at, stored[3], int(stored[2] or 0), WIDTH[stored[1]]))
        elif read:
            first = int(read[1] or 0)
            over = [s for s in stores if at - s[0] < NEAR and s[1] == read[2] and s[2] < first + 64 and first < s[2] + s[3]]
            if over and over[-1][3] < 64:
                found.append(line.strip())
    return found


def main():
    kiln, compiler = sys.argv[1:3]
    if "clang" in subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout:
        return 77
    failures = compiled = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shim = folder / "compiler"
        shim.write_text(SHIM.format(compiler=compiler, folder=folder))
        shim.chmod(0o700)
        environment = {**os.environ, "KILN_CC": str(shim), "KILN_CACHE": "off", "KILN_CPU_COMPILE": "only"}
        for program in PROGRAMS:
            lines = assembly(kiln, program, folder, environment)
            compiled += any("zmm" in line for line in lines)
            for load in waits(lines):
                print(f"{program}: {load}")
                failures += 1
    if not compiled:
        return 77
    return failures > 0


sys.exit(main())
