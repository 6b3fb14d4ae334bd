#!/usr/bin/env python3
"""Gradients beside JAX's vjp: the programs that test_gradients has, on the CPU device: some of those at random, with
KILN_THOROUGH=1 all 500; and second derivatives of the first of these, 3 or 50.

usage: gradients.py LIBRARY TEST_GRADIENTS

A program that uses what JAX has not, or has otherwise, is named with the reason. Exit status: 0, or 1 if anything
differs; 77 (skipped) without JAX.
"""
import os
import re
import subprocess
import sys

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError:
    print("skipped: this Python has no JAX")
    sys.exit(77)

sys.dont_write_bytecode = True  # leaves nothing beside api.py
from api import Kiln, Refused  # noqa: E402

jax.config.update("jax_enable_x64", True)

NEAR = 1e-9  # of the largest element of a gradient
# Of a text: why JAX has something else there.
OTHERWISE = {
    r"\b(at_add|scalb|frexp_mantissa|complex_of|dropout)\(": "JAX has no such function",
    r"\bnorm\(": "has other names and arguments there",
    r"\bx @ y": "is of Python's own arrays there",
    r"\bsign\(z\)": "the sign of complex numbers has the gradient 0 there",
    r"fmod\(": "a remainder's gradient by the divisor is rounded otherwise",
}
SIZES = {"N": 3, "M": 4, "K": 2}  # as test_gradients.c has them
NAMES = {name: getattr(jnp, name) for name in dir(jnp) if not name.startswith("_")}
NAMES |= {"rsqrt": jax.lax.rsqrt, "erf": jax.scipy.special.erf, "erfc": jax.scipy.special.erfc,
          "erfinv": jax.scipy.special.erfinv, "gamma": jax.scipy.special.gamma, "lgamma": jax.scipy.special.gammaln,
          "sigmoid": jax.nn.sigmoid, "softplus": jax.nn.softplus, "silu": jax.nn.silu, "gelu_tanh": jax.nn.gelu,
          "gelu": lambda x: jax.nn.gelu(x, approximate=False), "relu": jax.nn.relu, "leaky_relu": jax.nn.leaky_relu,
          "softmax": jax.nn.softmax, "log_softmax": jax.nn.log_softmax, "logsumexp": jax.scipy.special.logsumexp,
          "cast": lambda x, t: x.astype(t), "i32": jnp.int32, "i64": jnp.int64, "f64": jnp.float64, "f32": jnp.float32,
          "min": jnp.min, "max": jnp.max, "sum": jnp.sum, "abs": jnp.abs, "cbrt": jnp.cbrt, "range": None}  # fmt: skip


def programs(binary):
    """JAX compiles each program, some seconds: all of them only where that is asked for. Sizes are written as numbers,
    for results have them too."""
    most = 10**6 if os.environ.get("KILN_THOROUGH") else 20
    text = subprocess.run([binary, "write"], check=True, capture_output=True, text=True).stdout
    for m in re.finditer(r"# (\S+) (\S+)\n(def f\((.*)\):\n((?:    .*\n)+))", text):
        at_random = m[1] == "-1.5"
        most -= at_random
        if not at_random or most >= 0:
            sized = (re.sub(r"\b[NMK]\b", lambda name: str(SIZES[name[0]]), text) for text in m.group(4, 5))
            yield float(m[1]), float(m[2]), *sized


def parameters(text):
    """name -> type, shape"""
    found = {}
    for m in re.finditer(r"(\w+): (\w+)(?:\[([^\]]*)\])?", text):
        dims = [d for d in (m[3] or "").replace("()", "").split(",") if d.strip()]
        found[m[1]] = (m[2], tuple(eval(d, dict(SIZES)) for d in dims))
    return found


def draw(random, kind, shape, low, high):
    if kind in ("i32", "i64"):
        return random.integers(0, 2, shape, dtype=kind.replace("i", "int"))
    x = random.uniform(low, high, shape)
    return x + 1j * random.uniform(low, high, shape) if kind == "c128" else x


def drawn_like(random, x):
    return draw(random, "c128" if jnp.issubdtype(x.dtype, jnp.complexfloating) else "f64", x.shape, -1, 1)


def by_jax(params, body, values, wrt, random, twice):
    scope = NAMES | SIZES
    exec(f"def f({', '.join(params)}):\n{body}", scope)

    def function(*xs):
        made = scope["f"](**(values | dict(zip(wrt, xs))))
        return made if isinstance(made, tuple) else (made,)

    xs = [jnp.asarray(values[n]) for n in wrt]
    ys = jax.eval_shape(function, *xs)
    seeds = [drawn_like(random, y) for y in ys]

    def back(xs, seeds):
        return jax.vjp(function, *xs)[1](seeds)

    def again(xs, seeds, more):
        return jax.vjp(lambda *xs: back(xs, seeds), *xs)[1](more)

    given = tuple(jnp.asarray(s, y.dtype) for s, y in zip(seeds, ys))
    if not twice:
        return seeds, [], jax.jit(back)(xs, given)
    more = [drawn_like(random, x) for x in xs]
    return seeds, more, jax.jit(again)(xs, given, tuple(jnp.asarray(m, x.dtype) for m, x in zip(more, xs)))


def by_kiln(kiln, head, body, values, wrt, seeds, more):
    """The gradients, or with `more` those of all gradients, whose seeds these are."""
    names = [f"s{i}" for i in range(len(seeds) + len(more))]
    for name, seed in zip(names, seeds + more):
        dims = ", ".join(map(str, np.shape(seed))) or "()"
        head += f", {name}: {'c128' if np.iscomplexobj(seed) else 'f64'}[{dims}]"
    body = re.sub(r"^    return ", "    ys = ", body, flags=re.M)
    first, second = names[: len(seeds)], names[len(seeds) :]
    given = f"({', '.join(first)})" if len(first) > 1 else first[0]
    text = f"def f({head}):\n{body}    g = vjp(ys, {given}, ({', '.join(wrt)},))\n"
    if more:
        text += f"    g = vjp(g, ({', '.join(second)},), ({', '.join(wrt)},))\n"
    out = kiln.run(text + "    return g\n", values | {n: np.array(s) for n, s in zip(names, seeds + more)})
    return text, list(out.values())


def compare(kiln, program, random, twice):
    """How many gradients differ."""
    low, high, head, body = program
    params = parameters(head)
    values = {n: np.asarray(draw(random, kind, shape, low, high)) for n, (kind, shape) in params.items()}
    wrt = [n for n, (kind, _) in params.items() if kind in ("f64", "c128")]
    seeds, more, want = by_jax(params, body, values, wrt, random, twice)
    try:
        text, got = by_kiln(kiln, head, body, values, wrt, seeds, more)
    except Refused as refused:
        print(f"{body}{refused}")
        return 1
    wrong = 0
    for name, g, w in zip(wrt, got, want):
        off = np.max(np.abs(g - w), initial=0) / max(np.max(np.abs(w), initial=0), 1e-3)
        if not off <= NEAR:
            print(f"{text}differs by {off:.2g} in the gradient by {name}:\n{g}\n{w}\n")
            wrong += 1
    return wrong


def main():
    kiln, random, wrong, same, twice = Kiln(sys.argv[1], "cpu"), np.random.default_rng(1), 0, 0, 0
    most_twice = 50 if os.environ.get("KILN_THOROUGH") else 3
    for program in programs(sys.argv[2]):
        body = program[3]
        why = next((why for pattern, why in OTHERWISE.items() if re.search(pattern, body)), None)
        if why:
            print(f"not compared: {body.strip()}: {why}", flush=True)
            continue
        wrong += compare(kiln, program, random, False)
        if program[0] == -1.5 and twice < most_twice:  # at random
            wrong += compare(kiln, program, random, True)
            twice += 1
        same += 1
        if same % 50 == 0:
            jax.clear_caches()  # which grow with every program
    print(f"{same} programs beside JAX {jax.__version__}, {twice} also twice, {wrong} gradients differ")
    kiln.close()
    return wrong > 0 or same < 50


if __name__ == "__main__":
    sys.exit(main())
