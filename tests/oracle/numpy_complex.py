"""Complex numbers beside NumPy: types that meet, Python's complex numbers, functions, casts, reductions, what raises."""
import numpy as np

from harness import COMPLEX, TYPES
from numpy_types import exact, sample

NAMES = {t: f"x_{t}" for t in TYPES}
OTHERS = {t: f"y_{t}" for t in TYPES}
SIGNS = ("+", "-", "*", "/")
FUNCTIONS = """sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh
    arctanh sign""".split()
EXACT = """real imag conj conjugate negative positive rint isnan isinf isfinite logical_not nan_to_num""".split()
RAISES = ("floor({0})", "ceil({0})", "trunc({0})", "{0} // 2", "{0} % 2", "fmod({0}, 2)", "arctan2({0}, {0})", "hypot({0}, 1)",
          "cbrt({0})", "copysign({0}, 1)", "signbit({0})", "heaviside({0}, 0)", "{0} & 1", "{0} << 1", "~{0}", "gcd({0}, 2)",
          "logaddexp({0}, {0})", "deg2rad({0})", "fabs({0})", "ldexp({0}, 2)", "modf({0})[0]", "frexp({0})[0]",
          "x_f32 // 1j", "take(x_f32, {0})", "sum(x_f32, initial=1j)")  # fmt: skip


def values_of(dtype, second=False):
    x = sample(np.float32, second)
    return (x + 1j * sample(np.float32, not second)).astype(dtype)


def plain(dtype):
    """Ordinary numbers on every side of every branch cut, and on the cuts."""
    return np.array([0.5 + 0.25j, -0.5 + 2j, 2 - 0.125j, -3 - 1j, 2, -2, 3j, -3j, 0.125, -0.5j, 20 + 20j, 1e-4 - 1e-3j],
                    dtype)  # fmt: skip


def check_complex(oracle, random):
    values = {NAMES[t]: sample(TYPES[t], False) if t[0] != "c" else values_of(TYPES[t]) for t in TYPES}
    values |= {OTHERS[t]: sample(TYPES[t], True) if t[0] != "c" else values_of(TYPES[t], True) for t in TYPES}
    finite = {n: np.nan_to_num(v, posinf=7, neginf=-7) if v.dtype.kind in "fc" else v for n, v in values.items()}
    for z in ("c64", "c128"):
        cases, near = [], []
        for t in TYPES:
            x, y = NAMES[z], OTHERS[t]
            near += [(f"{x} {sign} {y}", COMPLEX[name], None)
                     for sign, name in zip(SIGNS, ("add", "sub", "mul", "div"))]  # fmt: skip
            cases += exact(f"{x} == {y}", f"{x} < {y}", f"{y} >= {x}", f"maximum({x}, {y})", f"fmin({y}, {x})",
                           f"where({y}, {x}, {y})", f"logical_and({x}, {y})", f"concatenate(({x}, {y}))")  # fmt: skip
        # what integers do not hold of a cast is in numpy_types.py
        cases += exact(*(f"cast(p_{z}, {t})" for t in TYPES if t[0] != "u"), *(f"cast(y_{t}, {z})" for t in TYPES))
        cases += exact(*(f"{n}(x_{z})" for n in EXACT), f"x_{z}.real", f"x_{z}.T.conj()",
                       f"argmax(x_{z})", f"max(x_{z})", f"min(p_{z})", f"any(x_{z})", f"all(x_{z})", f"count_nonzero(x_{z})",
                       f"tril(reshape(x_{z}, (2, 4)))", f"x_{z}[::-2]", f"clip(p_{z}, -1, 1j)", f"ptp(p_{z})",
                       f"round(x_{z}, 1)", f"nanmin(x_{z})")  # fmt: skip
        sample_values = values | {f"p_{z}": plain(TYPES[z])}
        oracle.eval_all(cases, sample_values)
        oracle.eval_all(near, finite)
        for template in RAISES:
            oracle.refuse(template.format(f"p_{z}"), sample_values)
    oracle.group("complex numbers and every type")

    cases = []
    for t in TYPES:
        x = NAMES[t]
        cases += exact(f"{x} + 1j", f"({x} + 0j).real", f"where({x} > 1, {x}, 2j)", f"real({x})", f"imag({x})", f"conj({x})",
                       f"{x} == 1j", f"zeros_like({x}, dtype=complex)", f"full(({x}.shape[0],), 1 - 2j)")  # fmt: skip
    cases += [(f"{NAMES[t]} * (2 - 3j)", COMPLEX["mul"], None) for t in TYPES]
    cases += [(f"angle({NAMES[t]})", 5, None) for t in TYPES]
    cases += [("abs(1 + 2j) * x_f32", 1, None), ("(1j ** 2) * x_f64", 0, None)]
    oracle.eval_all([c for c in cases if "angle(x_u64)" not in c[0] and "angle(x_i64)" not in c[0]], finite)
    oracle.group("Python's complex numbers")

    cases, values = [], {f"p_{z}": plain(TYPES[z]) for z in ("c64", "c128")}
    for x in values:
        cases += [(f"{n}({x})", 2 * COMPLEX[n] if n in COMPLEX else 16, None) for n in FUNCTIONS]
        cases += [(f"{x} ** {n}", 8 * abs(n) + 8, None) for n in (2, 3, -1, -4, 7)]
        cases += [(f"{x} ** {n}", 400, None) for n in ("0.5", "(1 - 2j)", "-1.25")]
        cases += [(f"square({x})", 8, None), (f"reciprocal({x})", 8, None), (f"abs({x})", 4, None), (f"angle({x})", 4, None)]
        size = f"abs({x})"
        cases += [(f"sum({x})", 8, f"sum({size})"), (f"mean({x})", 2, f"mean({size})"), (f"prod({x})", 32, f"prod({size})"),
                  (f"var({x})", 16, f"mean({size} * {size})"), (f"std({x}, ddof=1)", 16, f"max({size})"),
                  (f"nansum({x})", 8, f"sum({size})"), (f"nanvar({x})", 16, f"mean({size} * {size})"),
                  (f"norm({x})", 16, f"max({size})"), (f"norm({x}, 1)", 16, f"sum({size})"), (f"norm({x}, inf)", 4, None),
                  (f"vdot({x}, {x} * 1j)", 32, f"sum({size} * {size})"), (f"dot({x}, {x})", 32, f"sum({size} * {size})"),
                  (f"average({x}, weights={size})", 32, f"max({size})"), (f"sum({x}, where={size} < 2)", 8, f"sum({size})"),
                  (f"sum({x}, initial=1j)", 8, f"sum({size})"), (f"sum({x}, dtype=c128)", 8, f"sum({size})")]  # fmt: skip
    oracle.eval_all(cases, values)
    oracle.group("functions and reductions of complex numbers")
