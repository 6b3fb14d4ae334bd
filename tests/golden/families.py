#!/usr/bin/env python3
"""Families of expressions that are recognised however they are written: mean, variance, softmax, logsumexp.

usage: families.py KILN

The first spelling of a family is the named one. Every other, written by hand, must get kernels that read, write, keep and
wait as those do: explain --json of each is compared for groups that stay on chip, that do not, and that are split, on a
GPU and on the CPU.

Exit status: 0, or 1 if anything differs.
"""
import sys

from explained import plan

# Statements that end in one that sets y. {k} keeps the axis, so that y has a reduction's shape.
FAMILIES = {
    "mean": [
        "y = mean(x, axis={a})",
        "y = sum(x, axis={a}) / x.shape[{a}]",
        "y = x.mean(axis={a})",
    ],
    "var": [
        "y = var(x, axis={a})",
        "y = mean((x - mean(x, axis={a}, keepdims=True)) ** 2, axis={a})",
        "y = mean(square(x - mean(x, axis={a}, keepdims=True)), axis={a})",
        "d = x - mean(x, axis={a}, keepdims=True); y = mean(d * d, axis={a})",
        "d = x - mean(x, axis={a}, keepdims=True); y = sum(d * d, axis={a}) / x.shape[{a}]",
        "d = x - sum(x, axis={a}, keepdims=True) / x.shape[{a}]; y = sum(d ** 2, axis={a}) / x.shape[{a}]",
    ],
    "var with ddof": [
        "y = var(x, axis={a}, ddof=1)",
        "d = x - mean(x, axis={a}, keepdims=True); y = sum(d * d, axis={a}) / (x.shape[{a}] - 1)",
    ],
    "z-score": [
        "y = (x - mean(x, axis={a}, keepdims=True)) / std(x, axis={a}, keepdims=True)",
        "d = x - mean(x, axis={a}, keepdims=True); y = d / sqrt(mean(d ** 2, axis={a}, keepdims=True))",
    ],
    "logsumexp": [
        "y = logsumexp(x, axis={a})",
        "m = max(x, axis={a}, keepdims=True); y = (log(sum(exp(x - m), axis={a}, keepdims=True)) + m).sum(axis={a})",
        "y = log(sum(exp(x - max(x, axis={a}, keepdims=True)), axis={a})) + max(x, axis={a})",
        "y = max(x, axis={a}) + log(sum(exp(x - max(x, axis={a}, keepdims=True)), axis={a}))",
    ],
    "softmax": [
        "y = softmax(x, axis={a})",
        "e = exp(x - max(x, axis={a}, keepdims=True)); y = e / sum(e, axis={a}, keepdims=True)",
        "e = exp(x - x.max(axis={a}, keepdims=True)); y = e / e.sum(axis={a}, keepdims=True)",
    ],
    "log_softmax": [
        "y = log_softmax(x, axis={a})",
        "d = x - max(x, axis={a}, keepdims=True); y = d - log(sum(exp(d), axis={a}, keepdims=True))",
    ],
}  # fmt: skip

# Groups on chip; not on chip; few and split; columns.
CALLS = [("f32[16384,8192]", 1), ("f32[1024,1048576]", 1), ("f32[8,16777216]", 1), ("f32[65536,1024]", 0)]


def census(statements, size, axis, arch):
    body = "".join(f"    {s.strip()}\n" for s in statements.format(a=axis).split(";"))
    made = plan(f"def f(x: f32[N, C]):\n{body}    return y\n", f"x={size}", "--arch", arch)
    return {
        "launches": made["launches"],
        "workspace": made["workspace"],
        **{what: made[what]["after"] for what in ("temporaries", "barriers", "bytes")},
        "sweeps": [[p["sweeps"] for p in k["phases"]] for k in made["kernels"]],
    }


def main():
    failed = compared = 0
    for name, spellings in FAMILIES.items():
        for arch in ("sm_90", "cpu"):
            for size, axis in CALLS:
                want = census(spellings[0], size, axis, arch)
                for by_hand in spellings[1:]:
                    got = census(by_hand, size, axis, arch)
                    compared += 1
                    if got != want:
                        failed += 1
                        print(f"{name} of {size} along {axis} for {arch}: {by_hand}\n  {got}\nnot {want}")
    print(f"{compared} spellings compared, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
