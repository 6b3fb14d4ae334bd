#!/usr/bin/env python3
"""Which indices are looked for in 32 bits, and what is found where there is none: codegen/plan/form/narrow.c. Which
products of 64 bits, and roundings to 16, are one instruction: codegen/emit/cuda/value.c. What is computed in pairs:
codegen/emit/cuda/pairs.c.

usage: narrow.py KILN

Exit status: 0, or 1 if anything differs.
"""
import re
import subprocess
import sys

from explained import explained

SEARCH = "min(where(x > {}, arange(100), 9223372036854775807), axis=1)"
# An expression of x: f32[N, C], its sizes, and the type of the last accumulator.
TYPES = [
    ("argmax(x, axis=1)", "64,4096", "int"),
    ("argmin(x, axis=0)", "64,4096", "int"),
    ("argmax(x)", "16384,4096", "long long"),  # partial results are in memory
    ("argmax(x, axis=1)", "4096,2147483647", "int"),
    ("argmax(x, axis=1)", "4096,2147483648", "long long"),  # 2^31 - 1 would be both an index and none
    ("min(where(x > 0, arange(C), 5), axis=1)", "64,4096", "long long"),
]
# What is found in x of random numbers between 0 and 1.
FOUND = [("argmax(x * 0, axis=1)", "0"), (SEARCH.format(-1), "0"), (SEARCH.format(2), "9223372036854775807")]
# Of x: T[N, C]: the type, what the kernel says, and how often.
WRITTEN = [
    ("x * cast(random_bits(1, 2, x.shape), f32)", "f32", "kn_multiply_wide(", 19),  # block 0 of 2^32 is known
    ("x * cast(random_bits(1, 2, x.shape), f32)", "f32", "kn_multiply(", 0),
    ("x * cast(cast(x, u64) * 3, f32)", "f32", "kn_multiply_wide(", 0),
    ("sqrt(sqrt(x))", "bf16", "kn_round_to_bf16(", 1),
    ("sqrt(where(x > 0, sqrt(x), 0))", "bf16", "kn_round_to_bf16(", 1),
    ("sqrt(sqrt(x))", "f16", "kn_round_to_bf16(", 0),
    ("(x + x * x) * -x", "bf16", "kn_widen", 0),  # computed in pairs
    ("(x + x * x) * -x", "bf16", "const kn_pair<kn_bf16> ", 5),
    ("(x + x * x) * -x", "f16", "const kn_pair<kn_f16> ", 5),
    ("(x + x * x) * -x", "f32", "kn_pair<", 0),
]


def source(expression, sizes, kind="f32"):
    text = f"def f(x: {kind}[N, C]):\n    return {expression}\n"
    return explained(text, f"x={kind}[{sizes}]", "--stage", "cuda", "--arch", "sm_90")


def main():
    failed = 0
    for expression, sizes, want in TYPES:
        text = source(expression, sizes)
        got = re.findall(r"^ *([a-z][a-z ]*) acc\d+(?:\[\d+\])?(?:;| =)", text, re.MULTILINE)[-1]
        if got != want:
            failed += 1
            print(f"{expression} of [{sizes}]: {got}, not {want}")
    for expression, kind, words, want in WRITTEN:
        got = source(expression, "64,4096", kind).split("kiln_f(")[1].count(words)
        if got != want:
            failed += 1
            print(f"{expression} of {kind}: {words} {got} times, not {want}")
    for expression, want in FOUND:
        for device in ("cpu", "emu"):
            command = [sys.argv[1], "eval", "--device", device, expression, "x=f32[3,100]@uniform(0,1)"]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            if f"min={want} " not in text or f"max={want} " not in text:
                failed += 1
                print(f"{expression} on {device}: {text}, not {want}")
    print(f"{len(TYPES) + len(WRITTEN) + 2 * len(FOUND)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
