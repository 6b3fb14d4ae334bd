"""The elementwise functions of every type beside NumPy; kiln's own ones are in tests/sweep."""
import numpy as np

from harness import REALS, ULPS, evaluate
from numpy_types import NAMES, OTHERS, exact, sample

UNARY = """exp2 expm1 log2 log10 log1p cbrt tan arcsin arccos arctan sinh cosh arcsinh arccosh arctanh sqrt exp
    log tanh sin cos""".split()
EXACT = """trunc rint sign isnan isinf isfinite signbit fabs square nan_to_num modf_fraction modf_whole frexp_mantissa
    frexp_exponent deg2rad rad2deg negative abs floor ceil""".split()
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm")
FORMULAS = {"logaddexp": 4, "logaddexp2": 4}  # units of the last place


def bounded(name, text, values):
    dtype = np.asarray(evaluate(text, values)).dtype
    ulps = ULPS.get(name, {}).get(dtype, FORMULAS.get(name, 0))
    # NumPy's own result in f16 is f32's, rounded; that of an integer cannot be had any wider.
    return text, max(ulps, 1) if ulps > 0.5 else None, None


def refuse_or(oracle, texts, values):
    """Cases that NumPy knows; those that it refuses, kiln must refuse too."""
    known = []
    for text in texts:
        try:
            evaluate(text, values)
            known.append(text)
        except TypeError:
            oracle.refuse(text, values)
    return known


def check_ops(oracle, random):
    values = {NAMES[t]: sample(d, False) for t, d in REALS.items()}
    values |= {OTHERS[t]: sample(d, True) for t, d in REALS.items()}
    # Of large integers in f64, long double has other digits.
    small = {n: np.clip(v, 0 if v.dtype.kind == "u" else -7, 9) if v.dtype.kind in "iu" else v
             for n, v in values.items()}  # fmt: skip
    for t, x in NAMES.items():
        texts = refuse_or(oracle, [f"{n}({x})" for n in UNARY], small)
        oracle.eval_all([bounded(text.split("(")[0], text, small) for text in texts], small)
        oracle.eval_all(exact(*refuse_or(oracle, [f"{n}({x})" for n in EXACT], values)), values)
    oracle.group("functions of every type")

    cases = []
    for t in REALS:
        x, y = NAMES[t], OTHERS[t]
        texts = [f"{n}({x}, {y})" for n in BITWISE + ("fmin", "fmax", "fmod", "copysign", "heaviside", "logical_xor")]
        texts += [f"{x} {sign} {y}" for sign in ("&", "|", "^", "<<", ">>")] + [f"~{x}"]
        texts += [f"clip({x}, {y}, 5)", f"clip({x}, 0, 5)", f"reciprocal(x_{t} * 0 + 3)" if t != "bool" else f"~{y}"]
        cases += exact(*refuse_or(oracle, texts, values))
        if t[0] == "f":
            texts = [f"{n}({x}, {y})" for n in ("arctan2", "hypot", "logaddexp", "logaddexp2")]
            cases += [bounded(text.split("(")[0], text, values) for text in texts]
            cases += [(f"sinc({x})", 4, f"where({x} > 0, 1.0, 1.0)")]
            cases += exact(f"ldexp({x}, x_i8)", f"ldexp({x}, x_i32)", f"round({x}, 1)", f"round({x})")
            if t != "f16":
                cases += exact(f"round({x} * 10, decimals=-2)", f"np.round({x}, 2)")
        else:
            cases += exact(f"ldexp({x}, y_i8)")
    cases += exact("copysign(x_i8, y_u16)", "copysign(x_u8, y_i8)", "copysign(x_i32, y_f16)", "heaviside(x_u16, y_i16)")
    cases += exact("round(x_i32, -1)", "round(x_u8)", "x_i32 << 33", "x_i8 >> 9", "x_u64 >> 64", "x_i32 & 255", "x_u8 | 3",
                   "x_bool & 3", "x_i16 ^ x_u16", "1 << 10", "~5 & 12", "x_i64 >> 2", "np.bitwise_not(x_u16)", "x_f32.round(1)",
                   "x_f64.clip(0, 1)", "np.degrees(x_f64)", "asin(x_f32 * 0)", "np.atan2(x_f64 * 0, y_f64)", "fix(x_f64)")
    # Bounds that a type does not reach are none; on the other side they are no numbers of it.
    for t, d in REALS.items():
        if t[0] in "iu":
            low, high = np.iinfo(d).min, np.iinfo(d).max
            cases += exact(f"clip({NAMES[t]}, {low - 1}, {high + 1})", f"clip({NAMES[t]}, None, {high + 1})",
                           f"clip({NAMES[t]}, {low - 1}, None)", f"clip({NAMES[t]}, {low}, 5)") if t[1:] != "64" else []
    cases += exact("clip(x_i32, -5000000000, 2.5)", "clip(x_u8, -5, x_u8 * 0 + 3)", "clip(x_u64, -1, 7)")
    # What no integer type holds both of is compared by value.
    cases += exact(*(f"x_i64 {sign} y_u64" for sign in ("<", "<=", ">", ">=", "==", "!=")),
                   *(f"x_u64 {sign} y_i8" for sign in ("<", "<=", ">", ">=", "==", "!=")))
    oracle.eval_all(cases, values)
    for text in ("1 << -1", "1.5 & 2", "x_f32 << 1", "x_f64 & x_i8", "x_i64 & x_u64", "round(x_f32, 1.5)", "ldexp(x_f32, 1.5)",
                 "clip(x_u8, 300, 400)", "clip(x_i8, -300, -200)", "clip(x_u8, -9, -5)", "maximum(x_u8, -5)"):
        oracle.refuse(text, values)
    oracle.group("bits, rounding, parts of numbers")
