#!/usr/bin/env python3
"""Compares the command kiln with NumPy: the examples, and a table of expressions.

usage: numpy_oracle.py KILN SCRATCH [--device D]

Exit status: 0, or 1 if anything differs; 77 (skipped) without NumPy 2. How values are compared is said in
harness.py; each case says how far off it may be.
"""
import argparse
import re
import sys
import warnings
from pathlib import Path

sys.dont_write_bytecode = True  # leaves nothing beside harness.py
from numpy2 import np  # noqa: E402
from harness import (ROOT, TYPES, ULPS, WIDER, Array, Oracle, call, difference, evaluate,  # noqa: E402
                     load_function, widen)
from numpy_complex import check_complex  # noqa: E402
from numpy_ops import check_ops  # noqa: E402
from numpy_types import check_types  # noqa: E402
from programs import EXAMPLE_UNITS, EXAMPLES, OTHER_EXAMPLES, PROGRAMS  # noqa: E402

# ---- examples ------------------------------------------------------------------------------------


def run_examples(oracle, random, folder, cases):
    for path in sorted((ROOT / folder).glob("*.kiln")):
        if path.stem in OTHER_EXAMPLES:
            continue
        if path.stem not in cases:
            oracle.check(path.name, "has no entry in programs.py of this test")
            continue
        shapes, scales = cases[path.stem]
        function, outputs = load_function(path, False)
        wide_function, _ = load_function(path, True)
        arrays = {n: k for n, k in function.__annotations__.items() if isinstance(k, Array)}
        for case in shapes:
            for offset in (0, 100):  # a mean far from 0 is where a sum of squares would fail
                values = {n: argument(random, n, s, offset).astype(k.dtype.own)
                          for (n, k), s in zip(arrays.items(), case)}  # fmt: skip
                run_example(oracle, path, values, (function, wide_function), outputs, scales)
        oracle.group(f"{folder}/{path.name}")


def argument(random, name, shape, offset):
    """Data for an argument; v is a variance."""
    x = random.standard_normal(shape)
    return np.abs(x) + 0.1 if name == "v" else x + (offset if name == "x" else 0)


def run_example(oracle, path, values, functions, outputs, scales):
    shape = list(next(iter(values.values())).shape)
    status, message, out = oracle.run("run", path, values)
    try:
        want = call(functions[0], values, False)
    except ValueError as raised:
        oracle.check(f"{path.stem} of {shape}", None if status == 2 else
                     f"exit {status}, not 2: NumPy raises {raised}")  # fmt: skip
        return
    if status or sorted(out) != sorted(outputs):
        oracle.check(f"{path.stem} of {shape}", f"exit {status}, wrote {sorted(out)}: {message}")
        return
    wide = call(functions[1], values, True)
    with np.errstate(all="ignore"):
        sizes = scales(**{n: widen(v) for n, v in values.items()})
    for k, name in enumerate(outputs):
        problem = difference(out[name], want[k], wide[k], EXAMPLE_UNITS, sizes[k])
        oracle.check(f"{path.stem} of {shape}, {name}", problem)


# ---- the table -----------------------------------------------------------------------------------


def array(dtype, *items):
    return np.array(items, TYPES[dtype])


I32_MIN, I64_MIN = -(2**31), -(2**63)
# Pairs are (left, right); each is 8 long. Zero divisors, both signs, wrap-around, infinities and NaN.
LEFT = {
    "b": array("bool", 1, 0, 1, 1, 0, 0, 1, 0),
    "i": array("i32", -7, 7, 0, -8, 2, 46341, 2**31 - 1, I32_MIN),
    "k": array("i64", 9, -9, 5, 0, -1, 3037000500, 2**63 - 1, I64_MIN),
    "f": array("f32", 1.5, -2.5, 0.0, 7.25, np.inf, np.nan, 123456.7, -7.0),
    "d": array("f64", -5.5, 0.1, 1e300, -0.0, -np.inf, np.nan, 1e-3, 6.0),
}
RIGHT = {
    "c": array("bool", 1, 1, 0, 1, 0, 1, 0, 0),
    "j": array("i32", 3, -3, 5, 4, 0, 46341, 2, -1),
    "l": array("i64", -4, 4, 2, 7, 3, 3037000500, 0, -1),
    "g": array("f32", -0.5, 2.0, 3.0, -3.0, 2.0, 1.0, -0.25, np.inf),
    "h": array("f64", 2.0, 0.01, 0.0, 1.0, 2.5, 1.0, np.nan, -4.0),
}
# Exponents, none negative where an integer base would meet it.
EXPONENTS = {
    "c": RIGHT["c"],
    "j": array("i32", 0, 1, 2, 3, 5, 2, 7, 3),
    "l": array("i64", 3, 2, 1, 0, 40, 3, 63, 2),
    "g": array("f32", -0.5, 2.0, 3.0, -3.0, 2.0, 1.0, 1.25, 0.0),
    "h": array("f64", 2.0, -1.0, 0.0, 1.0, 2.5, 1.0, 0.5, -4.0),
}
VALUES = LEFT | RIGHT
# Ordinary numbers: powers, and functions.
PLAIN = {
    "p": array("f32", 0.25, 1.0, 2.7, 10.3, 1e-3, 55.0, 3.1),
    "q": array("f64", 0.125, 1.0, 2.7, 10.3, 1e-5, 55.0, 3.1),
    "m": array("i32", 1, 2, 3, 4, 17, 0, 9),
    "n": array("i64", 5, 1, 2, 30, 7, 0, 11),
    "s": array("f32", -0.25, -1.0, 2.7, 80.3, -1e4, 0.0, -50.0),
    "t": array("f64", -0.25, -1.0, 2.7, 650.3, -1e6, -0.0, np.nan),
}


def is_float(text, values):
    return np.asarray(evaluate(text, values)).dtype in WIDER


def bounded(name, text, values):
    """The case of one operation: exact where it is correctly rounded, else within its bound."""
    dtype = np.asarray(evaluate(text, values)).dtype
    ulps = ULPS[name].get(dtype, 0)
    return text, ulps if ulps > 0.5 else None, None


def exact(*texts):
    return [(text, None, None) for text in texts]


def promotion(oracle):
    both = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "//": "floor_divide",
            "%": "remainder"}  # fmt: skip
    for sign, name in both.items():
        texts = [f"{a} {sign} {b}" for a in LEFT for b in RIGHT
                 if not (a == "b" and b == "c" and sign in ("-", "//", "%"))]  # fmt: skip
        oracle.eval_all([bounded(name, t, VALUES) for t in texts], VALUES)
    values = LEFT | EXPONENTS
    texts = [f"{a} ** {b}" for a in LEFT for b in EXPONENTS if a + b != "bc"]
    oracle.eval_all([bounded("power", t, values) for t in texts], values)
    oracle.group("promotion of + - * / // % **")
    for sign in ("<", "<=", ">", ">=", "==", "!="):
        oracle.eval_all(exact(*(f"{a} {sign} {b}" for a in LEFT for b in RIGHT)), VALUES)
    oracle.eval_all(exact("i < 3000000000", "i > -3000000000", "i == 2147483647", "f == 0.1",
                          "k != 2**62", "f < i", "b == 1", "b > 0.5", "3 < 4", "0.1 < f"), VALUES)  # fmt: skip
    oracle.group("comparisons")


def weak_numbers(oracle):
    texts = []
    for x in "bikfd":
        texts += [f"{x} * 2", f"{x} * 0.5", f"1 / ({x} + 2)", f"{x} / 3", f"{x} // 2", f"{x} // 0.5",
                  f"{x} % 3", f"{x} % -2", f"{x} % 0.75", f"7 // {x}", f"7 % {x}", f"-7.5 // {x}",
                  f"{x} + True", f"{x} * 1e3", f"2 - {x}", f"where({x} > 1, {x}, 0)",
                  f"where({x} > 1, 0.5, {x})", f"minimum({x}, 2)", f"maximum(0.5, {x})"]  # fmt: skip
    texts += ["i + 2147483647", "i * -2147483648", "f * 1e300", "f + 16777217", "k * 9007199254740993",
              "f / 0", "i / 0", "i // 0", "k % 0", "f // 0", "f % 0", "-f // 0.0", "i * inf", "f + nan",
              "f * pi", "d - e"]  # fmt: skip
    oracle.eval_all(exact(*texts), VALUES)
    large = {"u": np.array([0, 1, 2**63, 2**64 - 1, 2**63 - 1], np.uint64), "i": array("i32", 1, 2, 3, 4, 5),
             "k": array("i64", 0, -1, 2**63 - 1, -(2**63), 5)}  # fmt: skip
    oracle.eval_all(exact(
        "u + 9223372036854775808", "u == 18446744073709551615", "k < 9223372036854775808", "k > 9223372036854775808",
        "i == 9223372036854775808", "k == -9223372036854775808", "k + -9223372036854775808", "u // 9223372036854775808",
        "where(u > 3, u, 18446744073709551615)", "u % 0xFFFFFFFFFFFFFFFF", "maximum(u, 9223372036854775809)"),
        large)  # fmt: skip
    powers = [f"{x} ** {y}" for x in "pqmn" for y in ("2", "3", "0.5", "2.0", "0", "1")]
    powers += ["p ** -1", "q ** -2", "p ** -0.5", "f ** 2", "d ** 2", "b ** 3", "k ** 3"]
    powers += [f"{x} ** {y}" for x in ("2", "3", "2.5", "-2") for y in "pqmn"]
    oracle.eval_all([bounded("power", t, VALUES | PLAIN) for t in powers], VALUES | PLAIN)
    oracle.eval_all(
        exact("2 ** 10", "7 // -2", "-7 // 2", "-7 % 3", "7 % -3", "7.5 // -2", "-7.5 % 2", "1 / 3",
              "2 ** -1", "True", "1.5", "-3", "2 ** 40", "sqrt(2)", "abs(-2) * i",
              "f * (1 / 3)", "i + (2 ** 31 - 1)", "i + 2 ** 30", "i * (7 // 2)"), VALUES)  # fmt: skip
    typed = {"f": VALUES["f"], "i": VALUES["i"], "n": 3, "a": 2.5, "t": True}
    # On the command line a number is typed: what NumPy makes of np.int64(3), np.float64(2.5).
    subject = "f * n, i + n, f * a, n / 2, n // 2, t + n, f + t, n * 0.5"
    _, message, out = oracle.run("eval", subject, typed)
    named = {n: np.asarray(v) if isinstance(v, (bool, int, float)) else v for n, v in typed.items()}
    for k, text in enumerate(subject.split(",")):
        want = evaluate(text, named)
        oracle.check(text.strip(), difference(out[f"out{k}"], want) if out else message)
    oracle.group("Python numbers")


def choices_and_casts(oracle):
    texts = ["where(b, i, f)", "where(b, f, g)", "where(i, d, f)", "where(f, b, c)", "where(b, i, k)",
             "where(f > 0, f, 0.0)", "where(b, 1, 2)", "where(b, 1, 2.5)", "where(True, f, g)",
             "where(b, f, i > 2)", "where(c, -f, abs(f))"]  # fmt: skip
    texts += [f"{name}({a}, {b})" for name in ("minimum", "maximum")
              for a, b in ("fg", "dh", "ij", "bc", "ih", "fc", "kj", "gd")]  # fmt: skip
    texts += ["b & c", "b | c", "b ^ c", "~b", "logical_and(i, f)", "logical_or(f, c)",
              "logical_not(d)", "logical_not(b)", "~(f > 0) & b", "b + c", "b * c"]  # fmt: skip
    texts += ["np.add(i, f)", "subtract(i, 2)", "multiply(f, h)", "divide(i, j)", "floor_divide(i, j)",
              "remainder(f, 2)", "less(i, f)", "greater_equal(f, 0)", "not_equal(i, k)",
              "equal(f, f)"]  # fmt: skip
    oracle.eval_all(exact(*texts), VALUES)
    oracle.group("where, minimum, maximum, logic, names")

    small = {"b": LEFT["b"], "i": LEFT["i"], "k": LEFT["k"],
             "f": array("f32", 1.9, -1.9, 0.5, -0.0, 2.0**30, 3e-39, -5.0),
             "d": array("f64", 2.9, -2.9, 1e300, 0.1, 1 + 2.0**-30, 1e-46, 16777217.0)}  # fmt: skip
    small["h"] = array("f64", 2.9, -2.9, -0.5, 0.0, 2.0**31 - 0.5, -(2.0**31) - 0.5, 7.0)
    texts = [f"cast({x}, {t})" for x in "bikf" for t in TYPES]
    texts += [f"cast(d, {t})" for t in ("bool", "f32", "f64")] + ["cast(h, i32)", "h.astype(i64)"]
    texts += ["f.astype(f64)", "k.astype(np.int32)", "f32(i)", "i32(b)", "f64(f) * 2", "cast(2, f32)",
              "cast(cast(d, f32), f64)", "cast(0.1, f32)", "f.astype('float64')"]  # fmt: skip
    oracle.eval_all(exact(*texts), small)
    oracle.group("casts")


def functions(oracle):
    cases = []
    for name in ("sqrt", "rsqrt", "log"):
        cases += [bounded(name, f"{name}({x})", PLAIN) for x in "pqmnst"]
    for name in ("exp", "tanh", "sin", "cos", "floor", "ceil", "abs", "negative"):
        cases += [bounded(name, f"{name}({x})", PLAIN) for x in "pqmnst"]
    cases += exact("-p", "-m", "-t", "+s", "abs(s)", "square(m)", "square(s)", "np.abs(t)", "np.floor(s)")
    oracle.eval_all(cases, PLAIN)
    oracle.eval_all(exact("abs(b)", "floor(b)", "ceil(b)", "abs(i)", "abs(k)", "-i", "-k", "-f",
                          "floor(f)", "ceil(d)", "abs(d)"), LEFT)  # fmt: skip
    specials = {"f": array("f32", np.inf, -np.inf, np.nan, 0, -0.0, 1e-40, 3e38, -3e38)}
    specials["d"] = array("f64", np.inf, -np.inf, np.nan, 0, -0.0, 1e-310, 1e308, -1e308)
    oracle.eval_all([bounded(name, f"{name}({x})", specials) for x in "fd" for name in
                     ("sqrt", "rsqrt", "log", "exp", "tanh", "floor", "ceil", "abs")], specials)  # fmt: skip
    oracle.group("functions")


def reduction(name, arg, values, arguments=""):
    """The case of a reduction. Its bound: units of eps times what is summed, in absolute value; a
    product's, one a factor."""
    def make(function, x):
        return f"{function}({x}{arguments})"

    text = make(name, arg)
    plain = re.sub(r", (ddof=\d|dtype=f\d\d)", "", arguments)
    if not is_float(text, values) or name in ("min", "max", "amin", "amax"):
        return text, None, None
    if name == "prod":
        return text, float(values[arg].size), f"abs({text})"
    if name in ("sum", "mean"):
        return text, 8, make(name, f"abs({arg})")
    more = "2 * " if "ddof" in arguments else ""
    moment = f"mean(square({arg} * 1.0){plain})"
    variance = f"(sqrt({moment} * var({arg}{plain})) + var({arg}{plain}))"
    if name == "std":
        return text, 8, f"{more}({text} + sqrt({moment}))"
    return text, 8, f"{more}{variance}"


def reductions(oracle, random):
    shape = (3, 5, 4)
    values = {
        "B": random.integers(0, 2, shape) > 0,
        "I": random.integers(-9, 10, shape).astype(np.int32),
        "K": random.integers(-(2**40), 2**40, shape),
        "F": (random.standard_normal(shape) + 3).astype(np.float32),
        "D": random.standard_normal(shape) - 2,
    }
    names = ("sum", "prod", "min", "max", "any", "all", "mean", "var", "std")
    axes = ("", ", axis=0", ", axis=-1", ", axis=(0, 2)", ", axis=(-1, 0), keepdims=True", ", axis=None",
            ", axis=()", ", keepdims=True", ", axis=(0, 1, 2)", ", axis=(1,)")  # fmt: skip
    for x in values:
        oracle.eval_all([reduction(n, x, values, a) for n in names for a in axes], values)
    oracle.eval_all([reduction(n, x, values, f", axis=1, ddof={k}") for n in ("var", "std")
                     for x in "IFD" for k in (1, 2)], values)  # fmt: skip
    typed = [("sum", "I", "f32"), ("sum", "F", "f64"), ("sum", "D", "f32"), ("prod", "F", "f64"),
             ("mean", "I", "f32"), ("mean", "F", "f64"), ("var", "F", "f64"), ("std", "I", "f32"),
             ("mean", "D", "f32"), ("sum", "B", "i32"), ("prod", "I", "i32"), ("sum", "I", "i64"),
             ("sum", "K", "i32"), ("prod", "B", "f64"), ("sum", "F", "i32")]  # fmt: skip
    oracle.eval_all([reduction(n, x, values, f", axis=0, dtype={t}") for n, x, t in typed], values)
    oracle.eval_all([reduction("amax", "F", values), *exact(
        "F.max(axis=1)", "I.sum(axis=-1, keepdims=True)", "np.min(I, axis=(0, 1))", "B.any(axis=0)",
        "B.all()", "max(F.T, axis=0)", "sum(I > 2)", "sum(I, 0)", "any(F > 5, axis=(0, 1))",
        "sum(cast(B, i32), axis=2)")], values)  # fmt: skip
    oracle.group("reductions")

    values = {"z": np.zeros((0, 3), np.float32), "w": np.zeros((3, 0), np.int32),
              "v": array("f32", 1, np.nan, -2), "u": np.array(2.5), "o": np.ones((1, 1)),
              "N": np.array([[1, np.nan, 3], [4, 5, 6]])}  # fmt: skip
    texts = [f"{n}({x}{a})" for n in ("sum", "prod", "any", "all", "mean", "var", "std")
             for x in "zw" for a in ("", ", axis=0", ", axis=1", ", keepdims=True")]  # fmt: skip
    texts += ["min(z, axis=1)", "max(w, axis=0)", "max(z, axis=(1,), keepdims=True)", "z + 1", "z.T",
              "z * v", "w / 2", "reshape(z, (3, 0))", "z[:, None]", "sum(u)", "mean(u)", "max(u)",
              "var(u)", "u * 2", "-u", "sum(u, axis=())", "mean(o)", "var(o)", "std(o, axis=0)",
              "var(o, ddof=1)", "std(o, axis=1, ddof=2)", "max(v)", "min(v)", "any(v)", "all(z)",
              "sum(v)", "max(N, axis=0)", "min(N, axis=1)", "mean(N, axis=1)", "any(N != N, axis=0)"]  # fmt: skip
    oracle.eval_all(exact(*texts), values)
    oracle.group("no elements, one element, NaN")


def views(oracle, random):
    values = {"x": random.standard_normal((3, 5, 4)).astype(np.float32),
              "y": random.integers(-9, 9, (4, 6)), "r": random.standard_normal(4),
              "c": random.standard_normal((5, 1)).astype(np.float32), "o": np.ones((1, 3, 1), np.int32),
              "t": np.asfortranarray(random.standard_normal((5, 7))), "u": np.array(3, np.int32)}  # fmt: skip
    oracle.eval_all(exact(
        "x.T", "transpose(x, (2, 0, 1))", "transpose(x, (-1, 0, 1))", "x.transpose(1, 0, 2)",
        "transpose(x)", "swapaxes(x, 0, -1)", "x.swapaxes(1, 2)", "permute_dims(x, (0, 2, 1))",
        "reshape(x, (-1,))", "reshape(x, (5, -1))", "x.reshape(3, 20)", "x.reshape(-1)",
        "reshape(x, (2, 2, 15))", "x.T.reshape(-1)", "swapaxes(x, 0, 1).reshape(3, -1)", "ravel(x)",
        "x.flatten()", "ravel(x.T)", "reshape(x.T, (10, 6)).T", "x[:, None]", "x[None]", "x[..., None]",
        "x[:, :, None, :]", "r[:, None]", "r[None, :, None]", "x[...]", "expand_dims(x, -1)",
        "expand_dims(r, 0)", "squeeze(o, axis=0)", "squeeze(o, axis=(0, 2))", "squeeze(c, -1)",
        "o.squeeze(axis=-1)", "broadcast_to(r, (6, 4))", "broadcast_to(u, (2, 3))",
        "broadcast_to(c, (3, 5, 4))", "x + r", "x * c", "c + r", "x - c * r", "o + r", "x + u",
        "r[:, None] - r", "y + r[:, None]", "u + u", "t", "t.T",
        "t * 2", "t + t.T.T", "sum(t, axis=0)[None] * 0", "x.T + c.T[:, :, None]", "x + 1 > r",
        "max(x, axis=1)[:, None] - x", "x - max(x, axis=(0, 2), keepdims=True)",
        "min(x.reshape(15, 4), axis=0)", "y.T.max(axis=0)", "where(x > 0, r, u)", "u[None]",
        "x + x.shape[0]", "x * x.ndim", "x.size + u", "x / x.shape[2]", "y // x.shape[1]",
        "reshape(x, (x.shape[0], x.shape[1] * x.shape[2]))", "x.astype(x.dtype)", "y.sum() + y",
        "(x > 0).T & (x < 1).T", "reshape(u, (1, 1))", "reshape(x, (5, 3, 4)) + c[:, None]"),
        values)  # fmt: skip
    values = {"q": random.standard_normal((40, 48)), "p": random.standard_normal((48, 40)),
              "j": random.integers(-40, 40, 40)}  # fmt: skip
    oracle.eval_all(exact("take(q, j, axis=0) + p.T", "take(p.T, j, axis=0) - q", "take(p, j, axis=1) * q.T",
                          "roll(q, 3, axis=1) + p.T", "pad(p.T, 1)[1:-1, 1:-1] - q"), values)  # fmt: skip
    oracle.group("views, broadcasting, sizes")


def padding(oracle, random):
    values = {"x": random.standard_normal((3, 5)).astype(np.float32), "y": random.integers(-9, 9, (4, 1, 2)),
              "r": random.standard_normal(4), "u": np.array(2.5), "k": np.array(-3, np.int32),
              "n": np.arange(6, dtype=np.uint16).reshape(2, 3), "z": np.zeros((0, 2), np.float32),
              "p": np.array([7, -1.5]), "q": np.array([[1, 2], [3, 4]], np.float32), "one": np.array([6.0]),
              "col": np.array([[8.0], [9.0]])}  # fmt: skip
    for case in exact(
        "pad(r, 2, constant_values=(7, -1))", "pad(r, (0, 3), constant_values=(7, 1))", "pad(r, (3, 0), constant_values=[7, 1])",
        "pad(x, 1, constant_values=(7,))", "pad(x, 2, constant_values=(7, 1))", "pad(x, ((1, 2), (3, 0)), constant_values=(7, 1))",
        "pad(x, ((1, 2), (3, 4)), constant_values=((1, 2), (3, 4)))", "pad(x, 1, constant_values=((1, 2),))",
        "pad(x, ((1,), (2,)), constant_values=((8,), (9,)))", "pad(x, 1, constant_values=((5, 5), (5, 6)))",
        "pad(y, 1, constant_values=((1, 2), (3, 4), (5, 6)))", "pad(y, ((0, 1), (0, 0), (2, 0)), constant_values=(2.75, -1.5))",
        "pad(x, 1, constant_values=p)", "pad(x, ((1, 2), (3, 0)), constant_values=q)", "pad(x, 2, constant_values=one)",
        "pad(x, 1, constant_values=col)", "pad(r, 2, constant_values=q[:1])", "pad(y, 1, constant_values=p * 2)",
        "pad(x, 1, constant_values=u)", "pad(x, 2, constant_values=(u, k))", "pad(y, 1, constant_values=((k, 1), (u, k), (2, 3)))",
        "pad(n, 1, constant_values=-5)", "pad(n, 1, constant_values=(70000, -1))", "pad(n, 1, constant_values=((-5, 3),))",
        "pad(n > 3, 1, constant_values=((-5, 0), (1j, 0.0)))", "pad(n, 1, constant_values=((0, 65535), (1, 2.75)))",
        "pad(z, 1, constant_values=(4, 5))", "pad(x > 0, 1, constant_values=(True, False))", "pad(u, 3, constant_values=1)"):  # fmt: skip
        oracle.eval_all([case], values)
    oracle.eval_all(exact(
        "expand_dims(x, (0, 2))", "expand_dims(x, (-1, 0))", "expand_dims(x, [1, 2, -1])", "expand_dims(r, ())",
        "expand_dims(u, (0, 1))", "expand_dims(x, (0, 1)) + x"), values)  # fmt: skip
    for text in ("pad(x, 1, constant_values=(1, 2, 3))", "pad(x, 1, constant_values=((1, 2), (3, 4), (5, 6)))",
                 "pad(x, 1, mode='edge', constant_values=1)", "expand_dims(x, (0, 0))", "expand_dims(x, (0, -4))",
                 "expand_dims(x, (0, 4))"):  # fmt: skip
        oracle.refuse(text, {"x": values["x"]})
    for text in ("pad(n, 1, constant_values=((1, 2), (-5, 3)))", "pad(n, 0, constant_values=((1, 2), (3, 65536)))",
                 "pad(n, 1, constant_values=((1,), (-5,)))", "pad(n, 1, constant_values=((1, 2), (-5.0, 3)))",
                 "pad(n, 1, constant_values=((1, 2), (nan, 3)))", "pad(n, 1, constant_values=((1, 2), (1j, 3)))"):  # fmt: skip
        oracle.refuse(text, {"n": values["n"]})
    oracle.group("padding, new axes")


def numbers(oracle, random):
    """Python numbers that an array's type has, or has not."""
    values = {"x": random.integers(0, 99, 5).astype(np.uint8), "b": random.integers(0, 2, 5) > 0}
    held = ("full(3, 255, dtype=np.uint8)", "full_like(x, 300.75)", "full_like(x, -1.0)", "full_like(b, -5)", "np.uint8(255.9) + x",
            "np.int8(-128.9) * b", "np.float32(1e39) + x", "max(x, initial=255)", "sum(x, initial=2.75)", "max(b, initial=-5)",
            "prod(x, initial=18446744073709551615)", "np.int64(-9223372036854775808.0) + b")  # fmt: skip
    oracle.eval_all(exact(*held), values)
    for text in ("full(5, -5, dtype=np.uint8) + x", "full_like(x, 256)", "np.uint8(-1) + x", "np.uint8(256.0) + x", "np.int8(nan) + x",
                 "np.float32(1j) + x", "sum(x, initial=-1)", "max(x, initial=256.5)", "min(x, initial=inf)", "sum(x, initial=1j)",
                 "np.int64(9223372036854775808.0) + x"):  # fmt: skip
        oracle.refuse(text, {"x": values["x"]})
    oracle.group("Python numbers that a type has")


def errors(oracle):
    values = VALUES | {"x": np.ones((3, 5), np.float32), "y": np.ones((4, 5)),
                       "z": np.ones((0, 3), np.float32), "w": array("i32", 1, 2, 3)}  # fmt: skip
    for text in ("b - c", "-b", "negative(b)", "subtract(b, c)", "sum(x, axis=2)", "sum(x, axis=-3)",
                 "max(x, axis=(0, 0))", "mean(x, axis=(1, -1))", "x + y", "x + w", "x * x[:, None, None] + y",
                 "min(z)", "max(z, axis=0)", "max(z, axis=(0, 1))", "i ** -1", "2 ** w ** -2",
                 "k ** -2", "i + 2147483648", "i * -2147483649", "i + 10**12", "minimum(i, 2**40)", "k + 2**63",
                 "i + 2**31", "i * 2**70", "i ** (1 - 2)", "i + 1 // 0", "f * (1 / 0)", "1 % 0",
                 "reshape(x, (4, 4))", "reshape(x, (-1, 4))",
                 "reshape(x, (-1, -1))", "transpose(x, (0, 0))", "transpose(x, (0,))",
                 "transpose(x, (0, 2))", "swapaxes(x, 0, 2)", "squeeze(x, axis=0)",
                 "broadcast_to(x, (5,))", "broadcast_to(x, (3, 4))", "expand_dims(x, 3)",
                 "x[:, :, :]", "~f", "f & b", "sum(x, axs=0)", "minimum(f)",
                 "sum(x, axis=1.0)"):  # fmt: skip
        used = {n: v for n, v in values.items() if re.search(rf"\b{n}\b", text)}
        oracle.refuse(text, used)
    oracle.group("errors in both")


def differences(oracle):
    """docs/language.md, "Where kiln differs from NumPy", row by row."""
    i, b = array("i32", 7, -7, 0), array("bool", 1, 0, 1)
    # Integer division by zero: 0 in both, NumPy warns.
    oracle.eval_all(exact("i // 0", "i % 0", "cast(i, i64) // (i * 0)"), {"i": i})
    # An exponent that is no constant: the whole part of 1 / a**-b, where NumPy raises.
    bases, negative = array("i32", 1, -1, -1, 2, -3), array("i32", -3, -3, -2, -1, -2)
    oracle.expect("i ** j", {"i": bases, "j": negative}, array("i32", 1, -1, 1, 0, 0))
    # A float out of an integer's range, and NaN: the smallest integer.
    far = array("f64", 1e30, -1e30, np.nan, np.inf, -np.inf)
    for name, least in (("i32", I32_MIN), ("i64", I64_MIN)):
        oracle.expect(f"cast(d, {name})", {"d": far}, array(name, *[least] * 5))
        oracle.expect(f"cast(f, {name})", {"f": far.astype(np.float32)}, array(name, *[least] * 5))
    # The square of bool, whose other powers NumPy has in int64.
    oracle.expect("b ** 2", {"b": b}, array("i64", 1, 0, 1))
    # x ** 0.5 is a power, where NumPy takes the root.
    edges = array("f64", -np.inf, -0.0, 4)
    oracle.expect("x ** 0.5", {"x": edges}, array("f64", np.inf, 0.0, 2))
    # True and False are typed, where Python computes with them as integers.
    oracle.expect("True + True", {}, array("bool", 1).reshape(()))
    oracle.refuse("-True", {}, numpy_raises=False)
    # Sizes of different names are equal: a file whose N is 1 and whose M is 3.
    file = "def f(x: f32[N], y: f32[M]):\n    return x + y\n"
    one, three = np.ones(1, np.float32), np.ones(3, np.float32)
    status, message, _ = oracle.run("run", "-", {"x": one, "y": three}, stdin=file)
    oracle.check("f32[N] + f32[M]", None if status == 2 and message else f"exit {status}: {message}")
    status, message, out = oracle.run("run", "-", {"x": one, "y": three}, stdin=file.replace("N", "1"))
    oracle.check("f32[1] + f32[M]", message if status else difference(out["out0"], one + three))
    oracle.group("where kiln differs")


def main():
    parser = argparse.ArgumentParser(description="Compares the command kiln with NumPy.")
    parser.add_argument("kiln", help="the command")
    parser.add_argument("scratch", type=Path, help="a directory that is emptied first")
    parser.add_argument("--device", default="cpu", help="as of kiln run; default cpu")
    args = parser.parse_args()

    warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of means of nothing
    oracle = Oracle(args.kiln, args.scratch, args.device)
    random = np.random.default_rng(7)
    run_examples(oracle, random, "examples", EXAMPLES)
    run_examples(oracle, random, "tests/golden/programs", PROGRAMS)
    promotion(oracle)
    weak_numbers(oracle)
    choices_and_casts(oracle)
    functions(oracle)
    reductions(oracle, random)
    views(oracle, random)
    padding(oracle, random)
    numbers(oracle, random)
    check_types(oracle, random)
    check_ops(oracle, random)
    check_complex(oracle, random)
    errors(oracle)
    differences(oracle)
    print(f"{oracle.passed} passed, {oracle.failed} failed")
    return 1 if oracle.failed else 0


if __name__ == "__main__":
    sys.exit(main())
