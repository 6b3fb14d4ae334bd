#!/usr/bin/env python3
"""Which values are kept for later sweeps, and where: codegen/sched/keep.c, rows.c
and resident.c.

usage: kept.py KILN

Exit status: 0, or 1 if anything differs.
"""
import sys

from explained import plan

SOFTMAX = ["e = exp(x - max(x, axis=1, keepdims=True))", "y = e / sum(e, axis=1, keepdims=True)"]
COLUMNS = ["e = exp(x - max(x, axis=0, keepdims=True))", "y = e / sum(e, axis=0, keepdims=True)"]
VARIANCE = ["y = var(x, axis=0)"]
NEEDS_X = [*SOFTMAX, "y = y + x"]
CENTRED = ["d = x - mean(x, axis=1, keepdims=True)", "y = d / sqrt(mean(d * d, axis=1, keepdims=True))"]
CHAIN = [*SOFTMAX, "s = tanh(y)", "y = s / max(s, axis=1, keepdims=True)"]
WIDER = ["e = cast(exp(x - max(x, axis=1, keepdims=True)), f64)", "y = e / sum(e, axis=1, keepdims=True)"]

GROWN = ["t = tanh(x)", "d = t - mean(t, axis=1, keepdims=True)", "y = d * rsqrt(mean(d * d, axis=1, keepdims=True) + 1)"]
BESIDE = [*GROWN, "y = y * x[0]"]
SCALED = [*GROWN, "y = y * x[0] + x[1]"]
HALVES = ["h = cast(x, f32)", "e = exp(h - max(h, axis=1, keepdims=True))", "y = cast(e / sum(e, axis=1, keepdims=True), bf16)"]
HALF_CENTRED = ["h = cast(x, f32)", "d = h - mean(h, axis=1, keepdims=True)", "y = cast(d / mean(d * d, axis=1, keepdims=True), bf16)"]

# statements, size (of another type than f32 behind that), options, then what is kept where
X, E = ("in_x", "registers"), ("e", "registers")
SHARED = [("in_x", "shared"), ("t", "shared")]
RESIDENT = [("in_x", "shared"), ("in_x", "shared")]
CASES = [
    (SOFTMAX, "16384,4096", "--arch sm_90", [X, E]),
    (SOFTMAX, "16384,4096", "--arch sm_90 --reuse keep", [X, E]),
    (SOFTMAX, "16384,4096", "--arch sm_90 --reuse recompute", [X]),
    (SOFTMAX, "16384,64", "--arch sm_90", [X, E]),
    (SOFTMAX, "1024,1048576", "--arch sm_90", [("in_x", "shared")]), # most of it; maximum and sum in one sweep
    (SOFTMAX, "1024,2000000", "--arch sm_90", []),
    (COLUMNS, "4096,4096", "--arch sm_90", [("in_x", "shared"), ("e", "shared")]),
    (COLUMNS, "1048576,4096", "--arch sm_90", RESIDENT),
    (COLUMNS, "1048576,4096", "--arch sm_90 --schedule split", []),
    (COLUMNS, "4096,4096", "--arch sm_80", RESIDENT), # half a line would do, but there are no clusters
    (COLUMNS, "8,1048576", "--arch sm_90", [X, E]),
    (COLUMNS, "9,1048576", "--arch sm_90", [("in_x", "shared"), ("e", "shared")]),
    (COLUMNS, "16384,4096", "--arch sm_90", RESIDENT), # rather than half a line by 16 blocks
    # variances alone are found in one sweep, unless the second is over registers
    (VARIANCE, "4096,4096", "--arch sm_90", []),
    (VARIANCE, "8,1048576", "--arch sm_90", [X]),
    # x is needed to the end: there is room for both beside four steps, not beside eight
    (NEEDS_X, "16384,4096", "--arch sm_90", [X, E]),
    (NEEDS_X, "4096,16384", "--arch sm_90", [X]),
    # f64 does not go where f32 was, but there are registers for it
    (WIDER, "16384,4096", "--arch sm_90", [X, E]),
    # a subtraction is not worth a copy
    (CENTRED, "16384,4096", "--arch sm_90", [X]),
    (CENTRED, "16384,4096", "--arch sm_90 --reuse keep", [X, ("d", "registers")]),
    (CHAIN, "16384,4096", "--arch sm_90", [X, E, ("s", "registers")]),
    # nor f32 where bf16 was: there are registers for it in short rows, longer ones have more threads instead
    (HALVES, "bf16:16384,4096", "--arch sm_90", [X]),
    (HALVES, "bf16:16384,128", "--arch sm_90", [X, E]),
    (HALVES, "bf16:4096,32768", "--arch sm_90", [X]),
    (HALF_CENTRED, "bf16:16384,4096", "--arch sm_90", [X]),
    # in the place of a load in shared memory too: of a block, of a cluster's blocks
    (GROWN, "1024,20001", "--arch sm_90", SHARED),
    (GROWN, "1024,20001", "--arch sm_90 --reuse recompute", SHARED[:1]),
    (GROWN, "1024,20001", "--arch sm_90 --reuse keep", [*SHARED, ("d", "shared")]),
    (GROWN, "1024,50001", "--arch sm_90", SHARED),
    (GROWN, "1024,50001", "--arch sm_90 --schedule whole", SHARED),
    # the threads of a cluster load x into registers; bulk copies bring more than these hold, and what leaves none of them
    # for a sweep's other loads
    (GROWN, "1024,50000", "--arch sm_90", SHARED),
    (GROWN, "1024,50000", "--arch sm_90 --schedule cluster=8", [X, ("t", "registers")]),
    (GROWN, "1024,400000", "--arch sm_90", SHARED),
    (BESIDE, "1024,50000", "--arch sm_90", SHARED),
    (BESIDE, "1024,64000", "--arch sm_90", SHARED),
    (SCALED, "1024,64000", "--arch sm_90", [*SHARED, X, X]), # what all rows share, from a block's first to its last
    (BESIDE, "1024,200000", "--arch sm_90", SHARED),
    # over a grid barrier: left by one phase, found by the next; as much of it as there is room for
    (SOFTMAX, "8,524288", "--arch sm_90", RESIDENT),
    (SOFTMAX, "8,524288", "--arch sm_90 --schedule split", []),
    (SOFTMAX, "4,16777216", "--arch sm_90", RESIDENT),
    (SOFTMAX, "4,1048576", "--arch sm_75 --schedule resident", RESIDENT),
    (CENTRED, "16,524288", "--arch sm_90", RESIDENT),
    (COLUMNS, "1048576,16", "--arch sm_90 --schedule resident", RESIDENT),
    (SOFTMAX, "16384,4096", "--arch cpu", [("e", "cache")]),
    (SOFTMAX, "16384,4096", "--arch cpu --reuse recompute", []),
    (SOFTMAX, "1024,1048576", "--arch cpu", []),
    (NEEDS_X, "16384,4096", "--arch cpu", [("e", "cache")]),
    (CHAIN, "16384,4096", "--arch cpu", [("e", "cache"), ("s", "cache")]),
]  # fmt: skip


def kept(statements, size, options):
    body = "".join(f"    {s}\n" for s in statements)
    dtype, size = size.split(":") if ":" in size else ("f32", size)
    made = plan(f"def f(x: {dtype}[N, C]):\n{body}    return y\n", f"x={dtype}[{size}]", *options.split())
    phases = [p for k in made["kernels"] for p in k["phases"]]
    return [(v["name"], v["in"]) for p in phases for v in p["kept"]]


def main():
    failed = 0
    for statements, size, options, want in CASES:
        got = kept(statements, size, options)
        if got != want:
            failed += 1
            print(f"{'; '.join(statements)}\n  of [{size}], {options}: {got}, not {want}")
    print(f"{len(CASES)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
