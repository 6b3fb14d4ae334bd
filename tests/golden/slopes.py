#!/usr/bin/env python3
"""What the backward of a formula computes for an element: the rules of ir/grad.def, and that they share with the forward.

usage: slopes.py KILN

Counts divisions and transcendental functions of the planned kernel (kiln explain --stage ir): of the
backward alone, of forward and backward in one program, and of second derivatives.

Exit status: 0, or 1 if anything differs.
"""
import collections
import re
import sys

from explained import explained

# A formula of x and z, then for each of the three its divisions and functions.
CASES = [
    ("sigmoid(x)", "1: exp", "2: exp", "3: exp"),
    ("softplus(x)", "1: exp", "1: exp log1p", "1: exp"),
    ("silu(x)", "1: exp", "2: exp", "3: exp"),
    ("gelu(x)", "0: erfc exp", "0: erfc exp", "0: exp exp"),
    ("gelu_tanh(x)", "0: tanh", "0: tanh", "0: tanh"),
    ("logaddexp(x, z)", "1: exp", "1: exp log1p", "2: exp"),
    ("sinc(x)", "2: cos sin", "2: cos sin", "4: cos sin sin"),
    ("sigmoid(x) * softplus(x) + silu(x)", "3: exp log1p", "3: exp log1p", None),
]
FUNCTIONS = "exp log1p erfc tanh sin cos exp2 expm1 log".split()


def returned(formula):
    one = f"vjp({formula}, dy, x)"
    return one, "y, vjp(y, dy, x)", f"vjp({one}, ddx, x)"


def counted(formula, value, dtype):
    text = f"def f(x: {dtype}[N], z: {dtype}[N], dy: {dtype}[N], ddx: {dtype}[N]):\n    y = {formula}\n    return {value}\n"
    sizes = [f"{name}={dtype}[1048576]" for name in ("x", "z", "dy", "ddx")]
    ir = explained(text, *sizes, "--stage", "ir", "--arch", "sm_90")
    ops = collections.Counter(re.findall(r"^ *v\d+ = (\w+)", ir, re.M))
    functions = sorted(f for f in FUNCTIONS for _ in range(ops[f]))
    return f"{ops['divide']}: {' '.join(functions)}"


def main():
    failed = 0
    for formula, *want in CASES:
        for value, count in zip(returned(formula), want):
            for dtype in ("f32", "bf16"):
                got = count and counted(formula, value, dtype)
                if got != count:
                    failed += 1
                    print(f"{value} of {dtype}: {got}, not {count}")
    print(f"{len(CASES)} formulas, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
