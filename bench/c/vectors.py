#!/usr/bin/env python3
"""Which loops over lanes of compiled CPU kernels does gcc make no vectors of? Prints them, with the program and the walk.

    build/release/bench/speed --list --random SEED --count N --device cpu > drawn.json
    bench/c/vectors.py build/release/kiln drawn.json

All walks of a kernel are compiled, also those that no call takes: columns whose lanes stride are no vectors."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]


def flags():
    """Those of the CPU device."""
    text = (ROOT / "runtime/cpu/cc.c").read_text()
    lists = re.findall(r"\*const (?:always|of_gcc)\[\] = \{(.*?)\};", text, re.S)
    return [f for f in re.findall(r'"(-.*?)"', " ".join(lists)) if f not in ("-shared", "-nostartfiles")]


def source(kiln, workload, folder):
    """The C of all its walks, with what they begin with."""
    path = folder / "drawn.kiln"
    path.write_text(workload["text"])
    values = [f"{v['name']}={v['dtype']}[{','.join(map(str, v['shape']))}]" for v in workload["inputs"]]
    out = subprocess.run([kiln, "explain", path, *values, "--device", "cpu", "--stage", "c"], capture_output=True, text=True)
    begin = out.stdout.find("/* ---- phase")
    parts = (ROOT / "codegen/emit/c" / n for n in ("prelude.h", "functions.h", "helpers.h", "conversions.h"))
    return "".join(p.read_text() for p in parts) + out.stdout[begin:] if begin >= 0 else ""


def body(lines, at):
    depth, end = 0, at
    while end < len(lines) and end < at + 40:
        depth += lines[end].count("{") - lines[end].count("}")
        end += 1
        if depth <= 0:
            break
    return lines[at:end]


def main():
    kiln, drawn = sys.argv[1:]
    loops = missed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for workload in json.loads(pathlib.Path(drawn).read_text())["workloads"]:
            path, walk = folder / "k.c", ""
            path.write_text(source(kiln, workload, folder))
            said = subprocess.run(["gcc", *flags(), "-fopt-info-vec", "-c", path, "-o", folder / "k.o"], capture_output=True, text=True)
            vectors = {int(n) for n in re.findall(r"k\.c:(\d+):\d+: optimized: loop vectorized", said.stderr)}
            lines = path.read_text().splitlines()
            for i, line in enumerate(lines):
                walk = next(iter(re.findall(r"phase \d+ by (\w+)", line)), walk)
                if "KN_LANES" not in line or "#define" in line:
                    continue
                loops += 1
                if not {i + 1, i + 2, i + 3, i + 4} & vectors:
                    missed += 1
                    print(f"{workload['name']}, by {walk}:", *body(lines, i + 1), sep="\n")
    print(f"{missed} of {loops} loops over lanes are no vectors")


main()
