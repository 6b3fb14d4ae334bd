#!/usr/bin/env python3
"""Rows of bf16 of lengths drawn at random: kiln beside quack's operators, on one GPU.

usage: quack_rows.py SEED [--count N] [--only TEXT] [--seconds N] [-o FILE.json]
  with the packages kiln, torch and quack-kernels; N rows an operator, 1 Ki to 256 Ki elements each, 128 MB in all

Both have the same inputs; results that differ by more than bf16's accuracy are named, with the one of the two that has NaN. Medians of
device events, caches flushed before each run, the two in turns; a copy of the bytes that must move once, by PyTorch, beside them. Quack's
log-sum-exp is that of its cross entropy."""
import argparse
import json
import math
import random
import statistics
import sys
import time

import kiln
import torch
from quack.cross_entropy import cross_entropy_fwd
from quack.rmsnorm import layernorm_bwd, layernorm_fwd, rmsnorm_bwd, rmsnorm_fwd
from quack.softmax import softmax_bwd, softmax_fwd
from timers import Timer

REPEATS, BYTES = 15, 128 << 20
EPS = 1e-6


def rows(shape):
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16)


def gains(shape, dtype=torch.bfloat16):
    return torch.randn(shape[1], device="cuda").to(dtype)


def softmax(shape):
    x = rows(shape)
    return (x,), lambda: softmax_fwd(x)


def softmax_backward(shape):
    y, dy = torch.softmax(rows(shape).float(), -1).bfloat16(), rows(shape)
    return (dy, y), lambda: softmax_bwd(dy, y)


def rmsnorm(shape):
    x, g = rows(shape), gains(shape)
    return (x, g), lambda: rmsnorm_fwd(x, g, eps=EPS)[0]


def residual_rmsnorm(shape):
    x, r, g = rows(shape), rows(shape), gains(shape)
    return (x, r, g), lambda: rmsnorm_fwd(x, g, residual=r, eps=EPS)[:2]


def rmsnorm_backward(shape):
    x, g, dy = rows(shape), gains(shape), rows(shape)
    rstd = torch.rsqrt(x.float().pow(2).mean(-1) + EPS)
    return (x, g, dy, rstd), lambda: rmsnorm_bwd(x, g, dy, rstd)[:2]


def layernorm(shape):
    x, g, b = rows(shape), gains(shape, torch.float32), gains(shape, torch.float32)
    return (x, g, b), lambda: layernorm_fwd(x, g, b, EPS)


def layernorm_backward(shape):
    x, g, dy = rows(shape), gains(shape, torch.float32), rows(shape)
    m = x.float().mean(-1)
    rstd = torch.rsqrt(x.float().var(-1, correction=0) + EPS)
    return (x, g, dy, rstd, m), lambda: layernorm_bwd(x, g, dy, rstd, m)


def cross_entropy(shape):
    x, t = rows(shape), torch.randint(shape[1], (shape[0],), device="cuda")
    return (x, t), lambda: cross_entropy_fwd(x, t)


def log_sum_exp(shape):
    x, t = rows(shape), torch.zeros(shape[0], dtype=torch.int64, device="cuda")
    return (x,), lambda: cross_entropy_fwd(x, t, return_lse=True)[1]


KEEP = "axis=1, keepdims=True"
# operator: quack's, the same in kiln's language
OPERATORS = {
    softmax: f"""(x: bf16[N, C]):
    e = exp(cast(x, f32) - max(cast(x, f32), {KEEP}))
    y = cast(e / sum(e, {KEEP}), bf16)
    return y
""",
    rmsnorm: f"""(x: bf16[N, C], g: bf16[C]):
    h = cast(x, f32)
    y = cast(h * rsqrt(mean(h * h, {KEEP}) + {EPS}) * cast(g, f32), bf16)
    return y
""",
    layernorm: f"""(x: bf16[N, C], g: f32[C], b: f32[C]):
    h = cast(x, f32)
    d = h - mean(h, {KEEP})
    y = cast(d * rsqrt(mean(d * d, {KEEP}) + {EPS}) * g + b, bf16)
    return y
""",
    residual_rmsnorm: f"""(x: bf16[N, C], r: bf16[N, C], g: bf16[C]):
    h = cast(x, f32) + cast(r, f32)
    s = cast(h, bf16)
    y = cast(h * rsqrt(mean(h * h, {KEEP}) + {EPS}) * cast(g, f32), bf16)
    return y, s
""",
    log_sum_exp: f"""(x: bf16[N, C]):
    h = cast(x, f32)
    m = max(h, axis=1)
    y = m + log(sum(exp(h - m[:, None]), axis=1))
    return y
""",
    cross_entropy: f"""(x: bf16[N, C], t: i64[N]):
    h = cast(x, f32)
    m = max(h, axis=1)
    y = m + log(sum(exp(h - m[:, None]), axis=1)) - take_along_axis(h, t[:, None], axis=1)[:, 0]
    return y
""",
    softmax_backward: f"""(dy: bf16[N, C], y: bf16[N, C]):
    p = cast(y, f32)
    q = cast(dy, f32)
    dx = cast(p * (q - sum(p * q, {KEEP})), bf16)
    return dx
""",
    rmsnorm_backward: f"""(x: bf16[N, C], g: bf16[C], dy: bf16[N, C], rstd: f32[N]):
    h = cast(x, f32) * rstd[:, None]
    w = cast(dy, f32) * cast(g, f32)
    dx = cast(rstd[:, None] * (w - h * mean(w * h, {KEEP})), bf16)
    dg = cast(sum(cast(dy, f32) * h, axis=0), bf16)
    return dx, dg
""",
    layernorm_backward: f"""(x: bf16[N, C], g: f32[C], dy: bf16[N, C], rstd: f32[N], m: f32[N]):
    h = (cast(x, f32) - m[:, None]) * rstd[:, None]
    q = cast(dy, f32)
    w = q * g
    dx = cast(rstd[:, None] * (w - mean(w, {KEEP}) - h * mean(w * h, {KEEP})), bf16)
    dg = sum(q * h, axis=0)
    db = sum(q, axis=0)
    return dx, dg, db
""",
}


def draw(seed, count):
    """(operator, rows, columns): columns even by their logarithms, every second one a multiple of 8 only, which is what quack asks for."""
    dice = random.Random(seed)
    for operator in OPERATORS:
        for i in range(count):
            columns = 2 ** dice.uniform(10, 18)
            columns = max(1024, 8 * round(columns / 8) if i % 2 else 256 * round(columns / 256))
            yield operator, max(1, BYTES // 2 // columns), columns


def tuple_of(results):
    return results if isinstance(results, (tuple, list)) else (results,)


def distance(found, expected):
    """The largest difference, beside the largest value of its array."""
    most = 0.0
    for f, e in zip(tuple_of(found), tuple_of(expected), strict=True):
        f, e = f.float(), e.float()
        assert f.shape == e.shape, (f.shape, e.shape)
        d = ((f - e).abs().max() / e.abs().max().clamp(min=1e-30)).item()
        most = max(most, math.inf if math.isnan(d) else d)
    return most


def have_nan(results):
    return any(t.isnan().any().item() for t in tuple_of(results))


def measure(operator, shape, program, timer):
    inputs, quack = operator(shape)
    outputs = tuple(torch.full_like(t, math.nan) for t in tuple_of(program(*inputs)))
    place = outputs if len(outputs) > 1 else outputs[0]
    program(*inputs, out=place)
    expected = quack()
    nan = [name for name, results in (("kiln", outputs), ("quack", expected)) if have_nan(results)]
    moved = sum(t.numel() * t.element_size() for t in (*inputs, *outputs))
    source, target = (torch.empty(moved // 2, dtype=torch.uint8, device="cuda") for _ in range(2))
    ours, theirs, copy = timer.in_turns([lambda: program(*inputs, out=place), quack, lambda: target.copy_(source)], REPEATS)
    return {"kiln": ours, "quack": theirs, "copy": copy, "off": distance(outputs, expected), "nan": nan}


def mean_of(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no row after so long")
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    start, timer = time.monotonic(), Timer(torch)
    programs = {operator: kiln.compile(f"def {operator.__name__}{text}") for operator, text in OPERATORS.items()}
    found, wrong = [], 0
    print("| operator | rows | columns | kiln us | quack us | copy us | copy / kiln | quack / kiln |\n|---|---|---|---|---|---|---|---|")
    for operator, n, columns in draw(options.seed, options.count):
        if options.only not in operator.__name__ or time.monotonic() - start > options.seconds:
            continue
        torch.manual_seed(options.seed)
        try:
            r = measure(operator, (n, columns), programs[operator], timer)
        except Exception as e:  # quack has no kernel for every length
            print(f"{operator.__name__} {n}x{columns}: {str(e).splitlines()[0] if str(e) else type(e).__name__}", file=sys.stderr)
            continue
        finally:
            torch.cuda.empty_cache()
        differ = f" differ by {r['off']:g}, NaN in {' and '.join(r['nan']) or 'none'}" if r["off"] > 0.02 else ""
        wrong += r["off"] > 0.02 and r["nan"] != ["quack"]
        found.append({"operator": operator.__name__, "rows": n, "columns": columns, **r})
        print(f"| {operator.__name__} | {n} | {columns} | {r['kiln']:.1f} | {r['quack']:.1f} | {r['copy']:.1f} | "
              f"{r['copy'] / r['kiln']:.2f} | {r['quack'] / r['kiln']:.2f} |{differ}", flush=True)
    if not found:
        return 1
    ratios = [r["quack"] / r["kiln"] for r in found]
    print(f"\nquack / kiln: geometric mean {mean_of(ratios):.3f}, least {min(ratios):.2f}; "
          f"copy / kiln: {mean_of([r['copy'] / r['kiln'] for r in found]):.3f}")
    if options.output:
        with open(options.output, "w") as file:
            json.dump(found, file, indent=1)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
