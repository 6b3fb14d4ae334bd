"""Every pair of element types beside NumPy: promotion, arithmetic, casts, Python numbers, reductions."""
import numpy as np

from harness import REALS, ULPS, evaluate

INTEGERS = [t for t in REALS if t[0] in "iu"]
NAMES = {t: f"x_{t}" for t in REALS}
OTHERS = {t: f"y_{t}" for t in REALS}


def sample(dtype, second):
    """Eight values: small ones of both signs, zero, and the ends of the type."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([1, 0, 1, 1, 0, 0, 1, 0], bool) ^ second
    if kind == "f":
        far = [2.5, -0.5, 3.0, 0.0, np.inf, np.nan, -7.25, 1.0]
        near = [1.5, -2.5, 0.1, 7.25, 0.0, 3.0, 1000.5, np.inf]
        return np.array(far if second else near, dtype)
    info = np.iinfo(dtype)
    low = 0 if kind == "u" else -7
    near = [low, 7, 0, 5, 2, 100, info.max, info.min]
    far = [3, 4 if kind == "u" else -4, 5, 0, 1, 2, 3, info.max]
    return np.array(far if second else near, dtype)


def exact(*texts):
    return [(text, None, None) for text in texts]


def bounded(name, text, values):
    """Exact in f64: both take the C library's remainder of operands that long double would not round so."""
    dtype = np.asarray(evaluate(text, values)).dtype
    ulps = 0 if dtype == np.float64 else ULPS[name].get(dtype, 0)
    return text, ulps if ulps > 0.5 else None, None


def pairs(oracle, values):
    signs = {"+": "add", "*": "multiply", "-": "subtract", "/": "divide", "//": "floor_divide",
             "%": "remainder"}  # fmt: skip
    for a in REALS:
        cases = []
        for b in REALS:
            x, y = NAMES[a], OTHERS[b]
            both = a == b == "bool"
            cases += [bounded(name, f"{x} {sign} {y}", values) for sign, name in signs.items()
                      if not (both and sign == "-")]  # fmt: skip
            if {a[0], b[0]} != {"i", "u"} or "u64" not in (a, b):
                cases += exact(f"{x} < {y}", f"{x} >= {y}", f"{x} == {y}")
            cases += exact(f"maximum({x}, {y})", f"where({x}, {x}, {y})")
        oracle.eval_all(cases, values)
    oracle.group("every pair of types")


def numbers(oracle, values):
    cases = []
    for t, x in NAMES.items():
        cases += exact(f"{x} * 2", f"{x} * 0.5", f"{x} + 1", f"3 - {x}", f"{x} > 1", f"{x} // 3", f"{x} % 3",
                       f"minimum({x}, 1)", f"{x} / 3", f"abs({x})", f"where({x} > 1, {x}, 1)")  # fmt: skip
        cases += exact(f"{x} + 0.1") if t != "bool" else []
    cases += exact("x_u8 < 300", "x_u8 > -1", "x_u64 > -1", "x_i8 == 200", "x_u16 <= 65536", "-x_u8", "-x_u64",
                   "x_f16 * 70000.0", "x_u32 != 2**40")  # fmt: skip
    oracle.eval_all(cases, values)
    for text in ("x_u8 + 256", "x_u8 - -1", "x_i8 * 128", "x_u16 + -1", "x_u64 + -1", "x_i16 + 40000"):
        oracle.refuse(text, values)
    oracle.group("Python numbers and every type")


def casts(oracle, values):
    values = dict(values)
    for t in ("f16", "f32", "f64"):  # what integers can hold, for those that cannot hold the rest
        values[f"s_{t}"] = np.array([0, 1.9, 2.5, 100.7, 127], REALS[t])
        values[f"n_{t}"] = np.array([-1.9, -100.7, -128], REALS[t])
    cases = []
    for a, x in NAMES.items():
        for b in REALS:
            if a[0] == "f" and b in INTEGERS:
                cases += exact(f"cast(s_{a}, {b})")
                cases += exact(f"cast(n_{a}, {b})") if b[0] == "i" else []
            else:
                cases += exact(f"cast({x}, {b})")
    far = np.array([65504, 65519.99, 65520, 1e5, -1e6, 6e-8, 2.9e-8, 3e-8, 1 + 2.0**-11 + 2.0**-40, np.nan])
    values |= {"r": far, "t": far.astype(np.float32), "big": np.array([65519, 65520, -70000, 2049, 2051])}
    cases += exact("cast(r, f16)", "cast(t, f16)", "cast(big, f16)", "cast(cast(r, f16), f64)", "x_f16.astype(f32)")
    oracle.eval_all(cases, values)
    # Out of range is undefined in C; kiln has what x86 gives.
    wild = np.array([300.7, -5.5, np.nan, 1e20, 40000.0, 3e9])
    for name, want in (("u8", [44, 251, 0, 0, 64, 0]), ("i16", [300, -5, 0, 0, -25536, 0]),
                       ("u32", [300, 2**32 - 5, 0, 0, 40000, 3000000000]),
                       ("u64", [300, 2**64 - 5, 2**63, 0, 40000, 3000000000])):  # fmt: skip
        oracle.expect(f"cast(d, {name})", {"d": wild}, np.array(want, REALS[name]))
    oracle.group("casts of every type")


def reductions(oracle, random):
    cases, values = [], {}
    for t, dtype in REALS.items():
        whole = random.integers(0, 2 if t == "bool" else 100, (3, 5, 7))
        values[f"r_{t}"] = (whole - (50 if t[0] in "if" else 0)).astype(dtype)
        x = f"r_{t}"
        cases += exact(f"sum({x}, axis=1)", f"max({x}, axis=(0, 2))", f"min({x})", f"any({x}, axis=0)", f"all({x})",
                       f"sum({x})")  # fmt: skip
        cases += exact(f"prod({x}, axis=0)", f"mean({x}, axis=2)") if t != "f16" else []
        scale = f"abs({x})"
        if t[0] == "f":
            cases += [(f"mean({x}, axis=0)", 1, f"mean({scale}, axis=0)"),
                      (f"prod({x}, axis=0)", 4, f"abs(prod({x}, axis=0))")]  # fmt: skip
    values["r_f16"] = values["r_f16"] / np.float16(8)
    cases += [(f"var({x}, axis=1)", 4, f"mean(square({x} * 1.0), axis=1)") for x in ("r_f16", "r_i8", "r_u16")]
    cases += exact("sum(r_i8, axis=0, dtype=i8)", "sum(r_u8, dtype=u8)", "sum(r_u16, dtype=f16)", "prod(r_u8, dtype=u64)",
                   "sum(r_f16, dtype=f32)", "max(r_u64.T, axis=0)")  # fmt: skip
    oracle.eval_all(cases, values)
    # A sum that leaves f16 on the way, and one that needs more than its digits.
    oracle.eval_all(exact("sum(h)", "sum(o)", "mean(o)"), {
        "h": np.array([60000, 60000, -60000, -59000], np.float16), "o": np.full(4096, 8.0, np.float16)})
    oracle.group("reductions of every type")


def check_types(oracle, random):
    values = {NAMES[t]: sample(d, False) for t, d in REALS.items()}
    values |= {OTHERS[t]: sample(d, True) for t, d in REALS.items()}
    pairs(oracle, values)
    numbers(oracle, values)
    casts(oracle, values)
    reductions(oracle, random)
