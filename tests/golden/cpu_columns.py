#!/usr/bin/env python3
"""Which columns the threads of the CPU device divide by their members: codegen/sched/split.c. A tile of columns is one
thread's work otherwise. And a quotient that two sweeps of columns need is computed again, not written to an array.

usage: cpu_columns.py KILN

Exit status: 0, 1 if anything differs, or 77 if there is one thread.
"""
import re
import sys

from explained import explained

# An expression of x: f32[N, C], its sizes, and whether members are divided.
COLUMNS = [
    ("sum(x, axis=0)", "1048576,4", True),
    ("min(x, axis=0) + max(x, axis=0)", "1048576,4", True),
    ("(x - mean(x, axis=0)) / sqrt(var(x, axis=0))", "25088,64", True),
    ("sum(x, axis=0)", "100000,128", True),
    ("sum(x, axis=0)", "100000,512", False),  # two tiles at least
    ("sum(x, axis=0)", "100,64", False),  # too little
    ("(x - mean(x, axis=0)) / sqrt(var(x, axis=0))", "256,56", False),  # not worth a second thread
    ("(x - mean(x, axis=0)) / sqrt(var(x, axis=0))", "1024,56", True),
]

QUOTIENT = """def f(keep: bool[N, C], x: bf16[N, C], g: f32[C], dy: bf16[N, C]):
    h = where(keep, cast(x, f32) / 0.9, 0)
    y = h * rsqrt(mean(h * h, axis=0, keepdims=True) + 1e-6) * g
    dx, dg = vjp(y, dy, (x, g))
    return dx, dg
"""


def writes_quotient():
    values = [f"{name}[{sizes}]" for name, sizes in (("keep=bool", "10000,633"), ("x=bf16", "10000,633"), ("g=f32", "633"), ("dy=bf16", "10000,633"))]
    return "workspace 0 B" not in explained(QUOTIENT, *values, "--arch", "cpu")


def main():
    bad = 0
    for expression, sizes, divided in COLUMNS:
        text = explained(f"def f(x: f32[N, C]):\n    return {expression}\n", f"x=f32[{sizes}]", "--arch", "cpu")
        threads = re.search(r"for cpu, (\d+) thread", text)
        if threads and int(threads[1]) == 1:
            return 77
        if not threads or ("members split in" in text) != divided:
            print(f"{expression} of {sizes}: expected {'parts' if divided else 'whole columns'}\n{text}")
            bad += 1
    if writes_quotient():
        print("a quotient that two sweeps need is written to an array")
        bad += 1
    print(f"{len(COLUMNS) + 1 - bad} of {len(COLUMNS) + 1}")
    return 1 if bad else 0


sys.exit(main())
