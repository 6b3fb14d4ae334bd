#!/usr/bin/env python3
"""What loops over runs of lanes that lie apart fetch ahead is what they read later, in the same run or in one that follows
(KN_FETCH_RUN, codegen/emit/c/helpers.h); runs that follow each other without gaps are one.

usage: later_runs.py KILN COMPILER

Exit status: 0, 1 if it is not, or 77 if there is no compiler.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
# The address of each fetch instead of a fetch.
MAIN = """
static int wrong(i64 n, i64 step)
{
    static f32 x[1];
    const i64 later = kn_later_run(n * 4, step * 4);
    for (i64 first = 0; first < n; first += n > 300 ? 256 : n) /* a block may begin within a run */
        for (i64 from = 0; first + from + 16 <= n; from += 16) {
            fetched = 0;
            const f32 *const p = x + first;
            KN_FETCH_RUN(p, from, n - first, later);
            const i64 at = (fetched - (const char *)x) / 4, run = at / step, lane = at % step;
            const i64 ahead = run * n + lane - first - from;
            if (lane >= n || ahead < KN_AHEAD / 4 || ahead > KN_AHEAD / 4 + n)
                return 1;
        }
    return 0;
}

int main(void)
{
    for (i64 n = 16; n < 5000; n += n < 100 ? 1 : 97)
        for (i64 step = n; step < 20 * n; step += n / 2 + 5)
            if (wrong(n, step))
                return 1;
    return kn_later_run(0, 5) != 0;
}
"""
FETCH = "static const char *fetched;\n#define __builtin_prefetch(p, ...) (fetched = fetched ? fetched : (const char *)(p))\n"
# A formula of x: f32[N, C, H, W], and whether its C fetches so.
FORMULAS = {
    "x / (sum(abs(x), axis=(0, 2, 3), keepdims=True) + 1)": True,
    "x / (sum(abs(x), axis=(2, 3), keepdims=True) + 1)": False,
}


def fetches(kiln, folder, formula):
    path = Path(folder) / "f.kiln"
    path.write_text(f"def f(x: f32[N, C, H, W]):\n    return {formula}\n")
    command = [kiln, "explain", path, "x=f32[64,32,30,30]", "--device", "cpu", "--stage", "c"]
    return "    KN_FETCH_RUN(" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    kiln, compiler = sys.argv[1:]
    text = "".join((ROOT / "codegen/emit/c" / name).read_text() for name in ("prelude.h", "functions.h", "helpers.h"))
    with tempfile.TemporaryDirectory() as folder:
        for formula, expected in FORMULAS.items():
            if fetches(kiln, folder, formula) != expected:
                sys.exit(f"{formula}: its C {'does not fetch' if expected else 'fetches'} from later runs")
        source, program = Path(folder) / "later.c", Path(folder) / "later"
        source.write_text(FETCH + text + MAIN)
        if subprocess.run([compiler, "-std=gnu11", "-w", "-O1", source, "-o", program, "-lm"]).returncode:
            sys.exit(77)
        if subprocess.run([program]).returncode:
            sys.exit("KN_FETCH_RUN fetches what is not read later")


main()
