#!/usr/bin/env python3
"""How loads treat the caches: codegen/sched/traffic.c.

usage: hints.py KILN

Exit status: 0, or 1 if anything differs.
"""
import re
import sys

from explained import explained

# An expression of x: f32[N, C] and i: i64[N], its sizes, what loads or copies x, and what its policy says.
CASES = [
    ("sum(x, axis=1)", "16384,4096", "kn_load_with_policy", "evict first"),
    ("sum(x, axis=1)", "16384,6144", "kn_load_with_policy", ""),  # to evict more first gains nothing
    ("max(x, axis=1) + sum(x * x, axis=1)", "16384,4096", "kn_load_with_policy", "evict first"),
    # read again, by itself and by index, where no sweep needs it
    ("sum(x, axis=1) * x[:, 0]", "16384,4096", "kn_load", "evict first"),
    ("sum(x, axis=1) * take(x[:, 0], i)", "16384,4096", "kn_load", "evict first"),
    ("sum(x * take(x[0], i)[:, None], axis=1)", "16384,4096", "kn_load", "evict first"),
    # but an element of its own row
    ("sum(x, axis=1) * take_along_axis(x, i[:, None], axis=1)[:, 0]", "16384,4096", "kn_load_with_policy", "evict first"),
    # writes as much: in one go, in registers, in shared memory by bulk copies
    ("x * 2", "16384,4096", "kn_load_with_policy", "evict last"),
    ("x / sum(x, axis=1, keepdims=True)", "16384,4096", "kn_load_with_policy", "evict last"),
    ("x / sum(x, axis=1, keepdims=True) + x[0]", "2048,32768", "kn_copy_bulk kn_load", "evict last"),
    ("x * 2", "1024,4096", "kn_load_with_policy", ""),  # whoever comes next may find there what was written
    # over a grid barrier: what stays on chip, and the rest, read twice
    ("x / sum(x)", "1024,2048", "kn_load_streaming kn_load_with_policy", ""),
    ("x - mean(x, axis=0)", "32768,2048", "kn_load_streaming kn_load_with_policy", "evict last"),
]


def loads(expression, sizes):
    """The functions that load or copy x in a sweep, and what the policy says."""
    text = explained(f"def f(x: f32[N, C], i: i64[N]):\n    return {expression}\n", f"x=f32[{sizes}]", f"i=i64[{sizes.split(',')[0]}]",
                     "--stage", "ir,cuda", "--arch", "sm_90")
    functions = set(re.findall(r"(kn_load\w*(?=<)|kn_copy_bulk(?=\())[^;]*\bin_x", text))
    return functions, "".join(re.findall(r"^kernel .*(evict first|evict last)", text, re.M))


def main():
    failed = 0
    for expression, sizes, functions, policy in CASES:
        got = loads(expression, sizes)
        want = set(functions.split()), policy
        if got != want:
            failed += 1
            print(f"{expression} of [{sizes}]: {got}, not {want}")
    print(f"{len(CASES)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
