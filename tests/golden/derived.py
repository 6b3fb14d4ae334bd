#!/usr/bin/env python3
"""Backwards that vjp() and grad() derive are as quick as those that a person writes.

usage: derived.py KILN [bench]

With `bench` they are measured instead, on the machine's GPU (kiln bench). Else:
Both are planned for an sm_90 and for the CPU: the derived one must take no more launches and no
more predicted time. What each is worth beyond that, tests/differential/test_gradients.c holds.

Exit status: 0, or 1 if anything is worse.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

from explained import plan

NORM = """
    m = mean(x, axis={axes}, keepdims=True)
    d = x - m
    v = mean(d * d, axis={axes}, keepdims=True)
"""
SUMS = NORM.replace("mean(x, axis={axes}, keepdims=True)", "sum(x, axis={axes}, keepdims=True) / {n}")

# name: parameters, sizes, derived, by hand
PAIRS = {
    "batchnorm": (
        "x: f32[N, C, H, W], gamma: f32[C], beta: f32[C], dy: f32[N, C, H, W]",
        "x=f32[32,256,56,56] gamma=f32[256] beta=f32[256] dy=f32[32,256,56,56]",
        NORM.format(axes="(0, 2, 3)") + """
    y = d * rsqrt(v + 1e-5) * gamma[:, None, None] + beta[:, None, None]
    dx, dgamma, dbeta = vjp(y, dy, (x, gamma, beta))
    return dx, dgamma, dbeta
""",
        NORM.format(axes="(0, 2, 3)") + """
    h = d * rsqrt(v + 1e-5)
    n = cast(N * H * W, f32)
    dbeta = sum(dy, axis=(0, 2, 3))
    dgamma = sum(dy * h, axis=(0, 2, 3))
    dx = gamma[:, None, None] * rsqrt(v + 1e-5) * (dy - dbeta[:, None, None] / n - h * (dgamma[:, None, None] / n))
    return dx, dgamma, dbeta
"""),
    "layernorm": (
        "x: f32[N, C], gamma: f32[C], beta: f32[C], dy: f32[N, C]",
        "x=f32[16384,4096] gamma=f32[4096] beta=f32[4096] dy=f32[16384,4096]",
        SUMS.format(axes=1, n="C") + """
    y = d * rsqrt(v + 1e-5) * gamma + beta
    dx, dgamma, dbeta = vjp(y, dy, (x, gamma, beta))
    return dx, dgamma, dbeta
""",
        SUMS.format(axes=1, n="C") + """
    h = d * rsqrt(v + 1e-5)
    g = dy * gamma
    dx = rsqrt(v + 1e-5) * (g - mean(g, axis=1, keepdims=True) - h * mean(g * h, axis=1, keepdims=True))
    return dx, sum(dy * h, axis=0), sum(dy, axis=0)
"""),
    "rmsnorm": (
        "x: f32[N, C], gamma: f32[C], dy: f32[N, C]",
        "x=f32[16384,4096] gamma=f32[4096] dy=f32[16384,4096]",
        """
    y = x * rsqrt(mean(x * x, axis=1, keepdims=True) + 1e-5) * gamma
    dx = vjp(y, dy, x)
    return dx
""",
        """
    r = rsqrt(mean(x * x, axis=1, keepdims=True) + 1e-5)
    g = dy * gamma
    dx = r * (g - x * (r * r * mean(g * x, axis=1, keepdims=True)))
    return dx
"""),
    "softmax": (
        "x: f32[N, C], dy: f32[N, C]", "x=f32[16384,8192] dy=f32[16384,8192]",
        """
    e = exp(x - max(x, axis=1, keepdims=True))
    y = e / sum(e, axis=1, keepdims=True)
    dx = vjp(y, dy, x)
    return dx
""",
        """
    e = exp(x - max(x, axis=1, keepdims=True))
    y = e / sum(e, axis=1, keepdims=True)
    dx = y * (dy - sum(dy * y, axis=1, keepdims=True))
    return dx
"""),
    "cross entropy": (
        "x: f32[N, C], t: i64[N]", "x=f32[16384,8192] t=i64[16384]",
        """
    loss = -mean(take_along_axis(log_softmax(x, axis=1), t[:, None], axis=1))
    dx = grad(loss, x)
    return dx
""",
        """
    e = exp(x - max(x, axis=1, keepdims=True))
    p = e / sum(e, axis=1, keepdims=True)
    dx = (p - cast(arange(C) == t[:, None], f32)) / N
    return dx
"""),
    "logsumexp": (
        "x: f32[N, C], dy: f32[N]", "x=f32[16384,8192] dy=f32[16384]",
        """
    dx = vjp(logsumexp(x, axis=1), dy, x)
    return dx
""",
        """
    dx = softmax(x, axis=1) * dy[:, None]
    return dx
"""),
}
SLACK = 1.02  # of predicted time: what an operation more in registers may be worth
# The derived one also has a gradient where the maximum is infinite: tests and choices a person leaves out.
MORE_SLACK = {"logsumexp": 1.10}


def bench(kiln):
    with tempfile.TemporaryDirectory() as folder:
        for name, (params, sizes, *texts) in PAIRS.items():
            for kind, text in zip(("derived", "by_hand"), texts):
                path = Path(folder) / f"{kind}.kiln"
                path.write_text(f"def {kind}({params}):{text}")
                print(f"{name}, {kind}", flush=True)
                subprocess.run([kiln, "bench", str(path), *sizes.split()], check=True)


def main():
    wrong = 0
    if sys.argv[2:] == ["bench"]:
        return bench(sys.argv[1])
    for name, (params, sizes, *texts) in PAIRS.items():
        for where in (["--arch", "sm_90"], ["--device", "cpu"]):
            derived, by_hand = (plan(f"def p({params}):{text}", *sizes.split(), *where) for text in texts)
            worse = [f"{what} {derived[what]} against {by_hand[what]}"
                     for what, most in (("launches", 1), ("predicted_us", MORE_SLACK.get(name, SLACK)))
                     if derived[what] > by_hand[what] * most]
            wrong += bool(worse)
            print(f"{name}, {where[1]}: {derived['launches']} launches, {derived['predicted_us']:.1f} us against "
                  f"{by_hand['launches']}, {by_hand['predicted_us']:.1f}{', WORSE' if worse else ''}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
