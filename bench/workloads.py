#!/usr/bin/env python3
"""Fused against unfused on a list of workloads, as a Markdown table.

    bench/workloads.py KILN [--device cuda] [--quick]

Runs `kiln bench --json` for each: random inputs, medians of 21 runs by device events with the L2 cache flushed before each, the copy
bandwidth measured in the same run. `floor` is the time in which a copy kernel moves what must move once: every input read, every
output written."""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXAMPLES = {name: os.path.join(ROOT, "examples", name + ".kiln")
            for name in ("batchnorm", "softmax", "layernorm", "standardize", "double_center")}
PROGRAMS = {
    "var": "def var_(x: f32[N]):\n    return var(x)\n",
    "sum_i32": "def sum_(x: i32[N]):\n    return sum(x)\n",
    "sum_f32": "def sum_(x: f32[N]):\n    return sum(x)\n",
    "column_sum": "def column_sum(x: f32[N, C]):\n    return sum(x, axis=0)\n",
    "unit_norm": "def unit_norm(x: f32[N]):\n    return x / sqrt(sum(x * x))\n",
    "x_plus_xx": "def x_plus_xx(x: f32[N]):\n    return x + x * x\n",
    "adam": "def adam(p: f32[N], g: f32[N], m: f32[N], v: f32[N], lr: f32 = 1e-3):\n"
            "    m2 = 0.9 * m + 0.1 * g\n    v2 = 0.999 * v + 0.001 * g * g\n"
            "    p2 = p - lr * m2 / (sqrt(v2) + 1e-8)\n    return p2, m2, v2\n",
}


def batchnorm(n, c, h, w):
    return "batchnorm", (n, c, h, w), {"x": f"f32[{n},{c},{h},{w}]", "gamma": f"f32[{c}]", "beta": f"f32[{c}]"}, \
        8 * n * c * h * w


def one(program, shape, dtype="f32", size=4, writes=1):
    count = 1
    for s in shape:
        count *= s
    return program, shape, {"x": f"{dtype}[{','.join(map(str, shape))}]"}, size * count * (1 + writes)


def layernorm(n, c):
    return "layernorm", (n, c), {"x": f"f32[{n},{c}]", "gamma": f"f32[{c}]", "beta": f"f32[{c}]"}, 8 * n * c


def adam(n):
    data = f"f32[{n}]"
    return "adam", (n,), {"p": data, "g": data, "m": data, "v": data + "@uniform(0,1)"}, 28 * n


QUICK = [batchnorm(8, 64, 56, 56), one("softmax", (512, 1000)), layernorm(512, 768), one("standardize", (4096, 64)),
         one("double_center", (512, 512), "f64", 8), one("sum_f32", (1 << 20,), writes=0)]
FULL = [batchnorm(32, 256, 56, 56), batchnorm(32, 64, 112, 112), batchnorm(32, 512, 28, 28), batchnorm(32, 2048, 7, 7),
        layernorm(16384, 4096), one("softmax", (16384, 8192)), one("softmax", (262144, 256)), one("softmax", (1 << 20, 128)),
        one("softmax", (8192, 50257)), one("softmax", (256, 262144)), one("standardize", (65536, 1024)),
        one("double_center", (8192, 4096), "f64", 8), one("column_sum", (65536, 1024), writes=0),
        one("var", (1 << 26,), writes=0), one("sum_i32", (1 << 25,), "i32", 4, 0), one("sum_f32", (1 << 28,), writes=0),
        one("unit_norm", (1 << 26,)), one("unit_norm", (1 << 22,)), one("x_plus_xx", (1 << 26,)), adam(1 << 25)]


def main(args):
    if not args:
        sys.exit(__doc__)
    kiln, options = args[0], [a for a in args[1:] if a != "--quick"]
    print("| workload | launches | us | unfused us | unfused launches | times faster | floor us | floor / us | host us | compile ms |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for program, shape, inputs, moved in QUICK if "--quick" in args else FULL:
            file = EXAMPLES.get(program)
            if not file:
                file = os.path.join(scratch, program + ".kiln")
                with open(file, "w") as out:
                    out.write(PROGRAMS[program])
            values = [f"{name}={value}" for name, value in inputs.items()]
            done = subprocess.run([kiln, "bench", file, *values, "--json", *options], capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            r = json.loads(done.stdout)
            fused, unfused, floor = r["fused"], r["unfused"], moved / r["copy_gbps"] / 1e3
            print(f"| {program} {'x'.join(map(str, shape))} | {fused['launches']} | {fused['us']:.1f} | {unfused['us']:.1f} "
                  f"| {unfused['launches']} | {unfused['us'] / fused['us']:.2f} | {floor:.1f} | {floor / fused['us']:.2f} "
                  f"| {fused['host_us']:.1f} | {fused['compile_ms']:.0f} |", flush=True)


main(sys.argv[1:])
