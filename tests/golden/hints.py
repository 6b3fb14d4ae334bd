#!/usr/bin/env python3
"""Which loads let go of the caches: kn_cuda_load_function() in codegen/cuda_caches.c.

usage: hints.py KILN

Exit status: 0, or 1 if anything differs.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# An expression of x: f32[N, C] and i: i64[N], its sizes, and whether x is loaded once.
CASES = [
    ("sum(x, axis=1)", "16384,4096", True),
    ("sum(x, axis=1)", "16384,6144", False),  # more than the caches let go of at a gain
    ("x * 2", "16384,4096", False),  # writes as much
    ("max(x, axis=1) + sum(x * x, axis=1)", "16384,4096", True),
    ("x / sum(x, axis=1, keepdims=True)", "1024,1048576", False),
    # read again, by itself and by index, where no sweep needs it
    ("sum(x, axis=1) * x[:, 0]", "16384,4096", False),
    ("sum(x, axis=1) * take(x[:, 0], i)", "16384,4096", False),
    ("sum(x * take(x[0], i)[:, None], axis=1)", "16384,4096", False),
]  # fmt: skip


def loads(kiln, folder, expression, sizes):
    """The functions that load x in a sweep."""
    path = Path(folder) / "f.kiln"
    path.write_text(f"def f(x: f32[N, C], i: i64[N]):\n    return {expression}\n")
    command = [kiln, "explain", "--stage", "cuda", "--arch", "sm_90", path, f"x=f32[{sizes}]", f"i=i64[{sizes.split(',')[0]}]"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{expression}: {done.stderr}")
    return set(re.findall(r"(kn_load\w*)<\d+>\(in_x", done.stdout))


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for expression, sizes, once in CASES:
            got = loads(sys.argv[1], folder, expression, sizes)
            want = {"kn_load_once" if once else "kn_load"}
            if got != want:
                failed += 1
                print(f"{expression} of [{sizes}]: {got}, not {want}")
    print(f"{len(CASES)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
