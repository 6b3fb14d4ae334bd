"""The command kiln beside NumPy: a text as a Python function, running the command, comparing results.

NumPy says the type and the shape of every result, and the value of every result that both must round
in the same way. Other values are compared with the same text run one size up (f32 in f64, f64 in long
double), and may be off by a number of units that each case states: of the last place of the result, or
of the type's eps times a magnitude that is natural to it, such as sum(abs(x)) for sum(x). The bounds of
single operations are those of ir/ops.def.
"""
import ast
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
TYPES = {"bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
         "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
         "f16": np.float16, "f32": np.float32, "f64": np.float64, "c64": np.complex64,
         "c128": np.complex128}  # fmt: skip
REALS = {t: d for t, d in TYPES.items() if t[0] != "c"}
WIDER = {np.dtype(np.float16): np.float32, np.dtype(np.float32): np.float64,
         np.dtype(np.float64): np.longdouble, np.dtype(np.complex64): np.complex128,
         np.dtype(np.complex128): np.clongdouble}  # fmt: skip
FUNCTIONS = """sqrt exp log tanh sin cos floor ceil minimum maximum where sum prod min max any all mean
    var std add subtract multiply divide floor_divide remainder power negative square amin amax less
    less_equal greater greater_equal equal not_equal logical_and logical_or logical_not reshape ravel
    transpose permute_dims swapaxes broadcast_to expand_dims squeeze newaxis inf nan pi e nansum nanprod
    nanmin nanmax nanmean nanvar nanstd ptp count_nonzero average dot vdot inner argmin argmax flip flipud fliplr
    diagonal trace tril triu moveaxis arange full zeros ones full_like zeros_like ones_like
    divmod modf frexp concatenate concat stack pad take take_along_axis repeat tile roll
    exp2 expm1 log2 log10 log1p cbrt tan arcsin arccos arctan sinh cosh arcsinh arccosh arctanh arctan2
    hypot trunc rint sign copysign fmod fmin fmax bitwise_and bitwise_or bitwise_xor invert left_shift
    right_shift gcd lcm isnan isinf isfinite signbit clip positive reciprocal logical_xor nan_to_num
    round ldexp fabs logaddexp logaddexp2 sinc heaviside deg2rad rad2deg asin acos atan asinh acosh
    atanh atan2 pow mod absolute degrees radians fix real imag conj conjugate angle""".split()

# operation of complex numbers: its bound in units of the last place of the larger part
COMPLEX = {m[1].lower(): float(m[2]) for m in re.finditer(
    r"^(?:COMPLEX|MADE)\((\w+),(?:\s*\d,\s*\w+,)?\s*([\d.]+),", (ROOT / "ir/ops.def").read_text(), re.M)}
# operation: its bound in ULP for f32 and for f64
ULPS = {
    m[1]: {np.dtype(np.float16): 0.5 + (float(m[2]) > 0.5) * float(m[2]) * 2.0**-13,
           np.dtype(np.float32): float(m[2]), np.dtype(np.float64): float(m[3])}
    for m in re.finditer(
        r'^ELEM\(\w+,\s*"(\w+)",\s*\d,\s*\w+,\s*([\d.]+),\s*([\d.]+)',
        (ROOT / "ir/ops.def").read_text(), re.M)
}  # fmt: skip


# ---- the text form as Python ---------------------------------------------------------------------


class Array:
    """f32[N, C]: what an annotation says."""

    def __init__(self, dtype, dims):
        self.dtype, self.dims = dtype, dims


class Type:
    """The name f32: an annotation, a dtype for NumPy, and a conversion."""

    def __init__(self, own, dtype):
        self.own, self.dtype = np.dtype(own), np.dtype(dtype)

    def __getitem__(self, dims):
        return Array(self, dims if isinstance(dims, tuple) else (dims,))

    def __call__(self, x):
        return np.asarray(x).astype(self.dtype)


def widen(x):
    x = np.asarray(x)
    return x.astype(WIDER.get(x.dtype, x.dtype))


def float_of(x):
    x = np.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def logsumexp(x, axis=None, keepdims=False):
    x = float_of(x)
    m = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    m = np.where(np.isfinite(m), m, x.dtype.type(0))
    log = np.log(np.sum(np.exp(x - m), axis=axis, keepdims=keepdims))
    return log + m.reshape(log.shape)


def softmax(x, axis=None):
    e = np.exp(float_of(x) - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x, axis=None):
    x = float_of(x)
    m = np.max(x, axis=axis, keepdims=True)
    d = x - np.where(np.isfinite(m), m, x.dtype.type(0))
    return d - np.log(np.sum(np.exp(d), axis=axis, keepdims=True))


def names_of(wide):
    """What a text sees: NumPy's functions, kiln's own, and the types."""
    env = {name: getattr(np, name) for name in FUNCTIONS}
    for name, dtype in TYPES.items():
        env[name] = Type(dtype, WIDER.get(np.dtype(dtype), dtype) if wide else dtype)
    env["abs"] = abs  # Python's own: abs(-2) stays a Python number
    env["np"] = np
    env.update(norm=np.linalg.norm, logsumexp=logsumexp, softmax=softmax, log_softmax=log_softmax)
    env["rsqrt"] = lambda x: 1 / np.sqrt(x)
    for name, part in (("frexp_mantissa", 0), ("frexp_exponent", 1)):
        env[name] = lambda x, part=part: np.frexp(x)[part]
    for name, part in (("modf_fraction", 0), ("modf_whole", 1)):
        env[name] = lambda x, part=part: np.modf(x)[part]
    env["cast"] = lambda x, dtype: np.asarray(x).astype(np.dtype(dtype))
    return env


def evaluate(text, values, wide=False):
    env = names_of(wide)
    env.update({n: widen(v) if wide else v for n, v in values.items()})
    with np.errstate(all="ignore"):
        return eval(text.strip(), env)


def load_function(path, wide):
    """The function in a .kiln file. Its sizes are names that call() gives values."""
    text = path.read_text()
    definition = next(s for s in ast.parse(text).body if isinstance(s, ast.FunctionDef))
    env = names_of(wide)
    for arg in definition.args.args:
        for node in ast.walk(arg.annotation):
            if isinstance(node, ast.Name):
                env.setdefault(node.id, node.id)
    exec(compile(text, str(path), "exec"), env)
    returned = definition.body[-1].value
    returned = returned.elts if isinstance(returned, ast.Tuple) else [returned]
    return env[definition.name], [n.id for n in returned]


def call(function, values, wide):
    """Runs it; a default is rounded to its parameter's type first, as in kiln."""
    names = list(function.__annotations__)
    defaults = dict(zip(reversed(names), reversed(function.__defaults__ or ())))
    given = {}
    for name, kind in function.__annotations__.items():
        if isinstance(kind, Array):
            given[name] = values[name]
            function.__globals__.update(
                {d: n for d, n in zip(kind.dims, values[name].shape) if isinstance(d, str)})
        else:
            given[name] = kind.own.type(values.get(name, defaults.get(name)))
        given[name] = widen(given[name])[()] if wide else given[name]
    with np.errstate(all="ignore"):
        out = function(**given)
    return out if isinstance(out, tuple) else (out,)


# ---- comparing -----------------------------------------------------------------------------------


def difference(got, want, wide=None, ulps=None, scale=None):
    """None, or how `got` differs. Without `ulps` the values must be NumPy's to the bit; with `scale` a
    unit is eps * scale, else it is the last place of the result."""
    want = np.asarray(want)
    if got.dtype != want.dtype:
        return f"is {got.dtype}, NumPy has {want.dtype}"
    if got.shape != want.shape:
        return f"has shape {got.shape}, NumPy {want.shape}"
    exact = ulps is None or want.dtype not in WIDER
    with np.errstate(all="ignore"):
        ref = want if exact else np.asarray(wide).astype(WIDER[want.dtype])
        near = ref.astype(want.dtype)
        ok = (got == near) | ((got != got) & (near != near))
        if want.dtype.kind == "f" and want.dtype in WIDER and scale is None:
            ok &= (got != 0) | (np.signbit(got) == np.signbit(near))
        if not exact:
            # The reference is itself rounded: a hundredth of a place, or one where long double is double.
            slack = 0.01 if np.finfo(ref.dtype).eps < np.finfo(want.dtype).eps else 1
            info = np.finfo(want.dtype)
            larger = np.maximum(np.abs(near.real), np.abs(near.imag))
            unit = np.spacing(larger).astype(ref.real.dtype)
            if scale is not None:
                unit = info.eps * np.asarray(scale).astype(ref.real.dtype) + info.smallest_subnormal
            ok |= np.isfinite(near) & (np.abs(got.astype(ref.dtype) - ref) <= (ulps + slack) * unit)
    if ok.all():
        return None
    at = tuple(int(k) for k in np.argwhere(~ok)[0])
    off = f" (allowed: {ulps} units of {unit[at]:.3g})" if not exact else ""
    return (f"differs in {np.count_nonzero(~ok)} of {ok.size}: at {list(at)} it is {got[at]!r}, "
            f"NumPy has {want[at]!r}, exactly {ref[at]!r}{off}")  # fmt: skip


class Oracle:
    def __init__(self, kiln, scratch, device):
        self.kiln, self.device, self.scratch = kiln, device, scratch
        self.passed = self.failed = self.group_failed = self.group_passed = 0
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        self.saved = {}

    def value(self, name, x):
        """NAME=VALUE: arrays through a file, numbers of 64 bits as they are written."""
        if isinstance(x, (int, float)):
            return f"{name}={x!r}"
        key = (x.dtype.str, x.shape, x.tobytes(order="A"), x.flags.f_contiguous)
        if key not in self.saved:
            self.saved[key] = self.scratch / f"in{len(self.saved)}.npy"
            np.save(self.saved[key], x)
        return f"{name}={self.saved[key]}"

    def run(self, command, subject, values, stdin=None):
        out = self.scratch / "out"
        shutil.rmtree(out, ignore_errors=True)
        words = [self.kiln, command, "--device", self.device, "-o", out, "--", subject]
        words += [self.value(n, v) for n, v in values.items()]
        done = subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=100)
        files = {f.stem: np.load(f) for f in out.glob("*.npy")} if done.returncode == 0 else {}
        return done.returncode, done.stderr.strip(), files

    def check(self, what, problem):
        if problem:
            print(f"FAIL {what}: {problem}")
            self.failed += 1
            self.group_failed += 1
        else:
            self.passed += 1
            self.group_passed += 1

    def group(self, name):
        failed = f", {self.group_failed} failed" if self.group_failed else ""
        print(f"{name}: {self.group_passed} passed{failed}")
        self.group_passed = self.group_failed = 0

    def eval_all(self, cases, values):
        """Cases (text, ulps, scale), many in one process."""
        for start in range(0, len(cases), 48):
            self.eval_some(cases[start:start + 48], values)

    def eval_some(self, cases, values):
        subject = ", ".join(text for text, _, _ in cases)
        used = {n: v for n, v in values.items() if re.search(rf"\b{n}\b", subject)}
        status, message, out = self.run("eval", subject, used)
        if status and len(cases) > 1:
            for case in cases:  # which one is it?
                self.eval_some([case], values)
            return
        for k, (text, ulps, scale) in enumerate(cases):
            if status:
                self.check(text, f"exit {status}: {message}")
                continue
            wide = evaluate(text, used, True) if ulps is not None else None
            size = evaluate(scale, used, True) if scale else None
            want = evaluate(text, used)
            self.check(text, difference(out[f"out{k}"], want, wide, ulps, size))

    def expect(self, text, values, want):
        """Where kiln differs: the value that its reference states."""
        status, message, out = self.run("eval", text, values)
        self.check(text, f"exit {status}: {message}" if status else difference(out["out0"], want))

    def refuse(self, text, values, numpy_raises=True):
        """Exit status 2 and a message; NumPy raises too, unless the case says that it does not."""
        try:
            evaluate(text, values)
            raised = False
        except (TypeError, ValueError, OverflowError, ZeroDivisionError, IndexError):
            raised = True
        if raised != numpy_raises:
            self.check(text, f"the table is wrong: NumPy {'raises' if raised else 'does not raise'}")
            return
        status, message, _ = self.run("eval", text, values)
        self.check(text, None if status == 2 and message else f"exit {status}, not 2: {message}")
