"""Random programs of the text form, grown by running them on NumPy."""
import re

import numpy as np

from api import CODES, ROOT
from harness import ULPS, WIDER, Array, names_of, widen

KINDS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
TEXTS = {m[2]: m[1] for m in re.finditer(r'^DTYPE\(\w+,\s*\d+,\s*"(\w+)".*"(\w+)"\)',
                                         (ROOT / "ir/dtype.def").read_text(), re.M)
         if hasattr(np, m[2])}  # fmt: skip
INTEGERS = {t: np.iinfo(n) for n, t in TEXTS.items() if np.dtype(n).kind in "iu"}
ARITY = {m[1]: int(m[2]) for m in re.finditer(r'^ELEM\(\w+,\s*"(\w+)",\s*(\d)',
                                              (ROOT / "ir/ops.def").read_text(), re.M)}  # fmt: skip
NUMPY = {n: k for n, k in ARITY.items() if isinstance(getattr(np, n, None), np.ufunc)}
# power of integers and shifts are written with exponents that NumPy takes
UNARY = [n for n, k in NUMPY.items() if k == 1 and getattr(np, n).nout == 1]
BINARY = [n for n, k in NUMPY.items() if k == 2 and n != "power"]
# What the language's reference says that kiln does not have, or has otherwise than NumPy.
DIFFERENT = [
    r"not supported yet: only '&', '\|' and '\^' of bool", r"not supported yet: only of bool",
    r"float16, which is not supported", r"int8, which is not supported",
    r"but it is (1 == \d+|\d+ == 1) \(",  # sizes that happen to be 1 do not broadcast
    r"do not broadcast, as far as can be known", r"D0 \+ 1\b.* do not broadcast",
    r"depends on strides",  # whether a reshape is a view
    r"has been assigned to since",  # the same, or a part of a complex array, which is one
    r"the parts of a complex array",  # which cannot be written through
    r"a width(,.* can be| is) negative",
    r"broadcast_to: \[.*(max|min|//)\(.* does not broadcast",  # the same of a part
    r"an element is assigned one number",  # NumPy takes one of bool in an array
    r"\[.*(max|min)\(.* but it goes to",  # the same of an assignment
]  # fmt: skip
MOST = 3000  # elements


def axes_text(rng, rank, wild=0.03, single=False):
    """An axis, several, or none, most of them valid."""
    if rng.random() < wild:
        return "1" if rank == 0 else rng.choice([str(rank), str(-rank - 1), "(0, 0)", f"({rank},)"])
    if rank == 0:  # NumPy lets 0 and -1 pass for a 0-d array in some functions
        return None if single else rng.choice(["None", "()"])
    count = 1 if single else int(rng.integers(0, rank + 1))
    axes = [int(a) - (rank if rng.random() < 0.5 else 0) for a in rng.permutation(rank)[:count]]
    if count == 1 and (single or rng.random() < 0.7):
        return str(axes[0])
    return "(" + ", ".join(map(str, axes)) + ("," if count == 1 else "") + ")"


def copied(x):
    """x in memory of its own, with its strides."""
    if x.size == 0 or any(s == 0 and n > 1 for s, n in zip(x.strides, x.shape)):
        return x.copy()
    low = sum(min(0, s * (n - 1)) for s, n in zip(x.strides, x.shape))
    high = sum(max(0, s * (n - 1)) for s, n in zip(x.strides, x.shape)) + x.itemsize
    memory = np.zeros(high - low, np.uint8)
    made = np.ndarray(x.shape, x.dtype, memory.data, -low, x.strides)
    made[...] = x
    return made


class Program:
    def __init__(self, rng):
        self.rng = rng
        self.inputs, self.outputs, self.ops = {}, {}, []
        self.raised, self.updates, self.scale, self.eps = None, bool(rng.random() < 0.4), 1.0, 0.0
        self.env = [names_of(False), names_of(True)]
        self.sizes, self.vars, self.lines, self.params = {}, {}, [], []
        self.make_params()
        for k in range(int(rng.integers(1, 7))):
            if not self.make_statement(f"v{k}"):
                break
        self.make_return()
        self.text = "\n".join([f"def program({', '.join(self.params)}):", *self.lines, ""])

    def may_refuse(self, message):
        empty = any(np.size(x) == 0 for x, _ in self.vars.values())
        return any(re.search(d, message) for d in DIFFERENT) or \
            empty and re.search("out of bounds for an axis with size|taken of an axis with size 0", message) is not None

    # ---- parameters ----

    def values(self, shape, dtype):
        rng = self.rng
        if dtype.kind == "b":
            return rng.random(shape) < 0.5
        if dtype.kind == "u":
            return rng.integers(0, 9, shape).astype(dtype)
        if dtype.kind == "i":
            return rng.integers(-8, 9, shape).astype(dtype)
        x = rng.integers(-32, 33, shape) / 8  # exact in every float type
        if dtype.kind == "c":
            return (x + 1j * rng.integers(-32, 33, shape) / 8).astype(dtype)
        if rng.random() < 0.15:
            special = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
            x = np.where(rng.random(shape) < 0.2, special, x)
        return x.astype(dtype)

    def laid_out(self, shape, dtype):
        """Values in memory of some order, with steps and directions of some kind."""
        rng, how = self.rng, self.rng.integers(0, 6)
        if how == 0:
            return np.array(self.values(shape, dtype), order="F")
        if how == 1:
            return self.values(tuple(2 * n for n in shape), dtype)[tuple(slice(None, None, 2) for _ in shape)]
        if how == 2:
            return self.values(shape, dtype)[tuple(slice(None, None, -1) for _ in shape)]
        if how == 3 and shape and not self.updates:
            return np.broadcast_to(self.values((1,) + shape[1:], dtype), shape)
        if how == 4:
            order = rng.permutation(len(shape))
            return self.values(tuple(shape[a] for a in order), dtype).transpose(np.argsort(order))
        return self.values(shape, dtype)

    def make_params(self):
        rng = self.rng
        rank = int(rng.choice(5, p=[0.05, 0.3, 0.35, 0.2, 0.1]))
        base = tuple(int(n) for n in rng.choice([0, 1, 2, 3, 4, 5, 7, 13], rank,
                                                p=[0.02, 0.12, 0.16, 0.2, 0.16, 0.16, 0.1, 0.08]))  # fmt: skip
        types = [np.dtype(t) for t in TEXTS]
        for name in "xyz"[:int(rng.integers(1, 4))]:
            shape = base[int(rng.integers(0, len(base) + 1)) if name != "x" and rng.random() < 0.3 else 0:]
            shape = tuple(1 if name != "x" and rng.random() < 0.2 else n for n in shape)
            x = np.asarray(self.laid_out(shape, types[int(rng.integers(len(types)))]))
            self.inputs[name] = x
            self.params.append(f"{name}: {TEXTS[x.dtype.name]}[{self.dims(shape)}]")
            self.bind(name, x.copy(order="K") if self.updates else x, widen(x))

    def dims(self, shape):
        """As symbols where they are not 1."""
        def one(n):
            if n == 1 or self.rng.random() < 0.2:
                return str(n)
            self.sizes[f"D{n}"] = n
            for env in self.env:
                env[f"D{n}"] = n
            return f"D{n}"
        return ", ".join(map(one, shape)) or "()"

    def bind(self, name, narrow, wide):
        self.vars[name] = (narrow, wide)
        self.env[0][name], self.env[1][name] = narrow, wide
        x = np.asarray(wide)
        if x.dtype.kind in "fc":
            self.eps = max(self.eps, float(np.finfo(np.asarray(narrow).dtype).eps))
        if x.dtype.kind in "iufc" and x.size:
            with np.errstate(all="ignore"):
                finite = np.abs(x[np.isfinite(x)])
            self.scale = max(self.scale, float(finite.max()) if finite.size else 0)

    # ---- statements ----

    def pick(self, kinds="biufc", rank=0):
        fit = [n for n, (x, _) in self.vars.items() if np.asarray(x).dtype.kind in kinds and np.ndim(x) >= rank]
        return str(self.rng.choice(fit)) if fit else None

    def of(self, name):
        return np.asarray(self.vars[name][0])

    def has_nan(self, name):
        """A NaN's sign is not defined."""
        return bool((self.of(name) != self.of(name)).any())

    def number(self, x):
        """x, or the number in it: an array of rank 0 is one here, unless it shows a parameter."""
        shown = np.ndim(x) or any(np.shares_memory(x, pair[i]) for pair in self.vars.values() for i in (0, 1))
        return x if shown else np.asarray(x)[()]

    def make_statement(self, name):
        """Adds `name = ...`; False after one that makes NumPy raise."""
        for _ in range(40):
            if self.updates and self.rng.random() < 0.5:
                done = self.make_assignment()
                if done is None:
                    continue
                return done
            make = TEMPLATES[int(self.rng.integers(len(TEMPLATES)))]
            text = make(self)
            if not text:
                continue
            try:
                with np.errstate(all="ignore"):
                    narrow = self.number(eval(text, self.env[0]))
                    wide = self.number(eval(text, self.env[1]))
            except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError) as raised:
                if self.rng.random() < 0.5 or self.is_of_nothing(text, raised):
                    continue
                self.raised = raised
                self.lines.append(f"    {name} = {text}")
                return False
            x = np.asarray(narrow)
            if x.dtype.name not in CODES or x.size > MOST or x.ndim > 8 or not self.steady(narrow, wide):
                continue
            self.ops += re.findall(r"[a-z_]\w+(?=\()|[-+*/%<>=!&|^~@]+|\[", text)
            self.bind(name, narrow, wide)
            self.lines.append(f"    {name} = {text}")
            return True
        return True

    def is_of_nothing(self, text, raised):
        """NumPy looks at indices and at the axis of max or argmax even where the result has no elements; kiln does not."""
        zeros = max((self.of(n).shape.count(0) for n in re.findall(r"\b[a-z]\d*\b", text) if n in self.vars), default=0)
        return zeros > 0 and "out of bounds for axis" in str(raised) or \
            zeros > 1 and re.search("of an empty sequence|which has no identity|extend empty axis", str(raised)) is not None

    def make_assignment(self):
        """Adds an assignment to a part of an array; None where there is nothing to add."""
        text = assignment(self)
        if not text:
            return None
        arrays = [x for pair in self.vars.values() for x in pair if isinstance(x, np.ndarray) and x.flags.writeable]
        before = [x.copy() for x in arrays]
        try:
            with np.errstate(all="ignore"):
                for env in self.env:
                    exec(text, env)
            good = all(self.steady(*pair) for pair in self.vars.values())
        except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError) as raised:
            good = self.rng.random() < 0.5 and not self.is_of_nothing(text, raised)
            good = good and "cannot convert float" not in str(raised)  # of an element
            self.raised = raised if good else None
        if not good or self.raised:
            for x, was in zip(arrays, before):
                x[...] = was
        if not good:
            return None
        self.ops += ["assign"] + re.findall(r"(?<= )[-+*/%&|^]+=", text)
        self.lines.append("    " + text)
        for name, (narrow, wide) in self.vars.items():
            self.bind(name, narrow, wide)
        return not self.raised

    def steady(self, narrow, wide):
        """Rounding has not yet taken over."""
        x, w = np.asarray(narrow), np.asarray(wide)
        if x.dtype.kind not in "fc":
            return bool(np.all(x == w))
        with np.errstate(all="ignore"):
            near = w.astype(x.dtype)
            both = (x != x) & (near != near)
            left = (x != 0) & (np.abs(x) < 1e-6 * self.scale) & (x.dtype != np.float16)  # of a cancellation
            return bool(np.all(both | (x == near) | (np.abs(x - near) <= 1e-3 * np.abs(near))) and
                        not left.any())

    def make_return(self):
        names = list(self.vars)
        last = names[-1] if self.raised is None else self.lines[-1].split()[0]
        last = last if last.isidentifier() else names[-1]
        others = [str(n) for n in self.rng.permutation(names)[:int(self.rng.integers(0, 3))] if n != last]
        returned = [last, *others]
        self.lines.append(f"    return {', '.join(returned)}")
        for k, name in enumerate(returned if self.raised is None else []):
            self.outputs[f"out{k}" if name in self.inputs else name] = self.vars[name]


# ---- statements ----------------------------------------------------------------------------------


def unary(p):
    x, op = p.pick(), str(p.rng.choice(UNARY))
    return None if op == "signbit" and p.has_nan(x) else f"{op}({x})"


def operator(p):
    x, y = p.pick(), p.pick()
    literal = str(p.rng.choice(["2", "3", "-1", "0.5", "1.25", "7", "True", "1j", "(2-0.5j)"]))
    if p.rng.random() < 0.1:  # integers that some types do not hold
        literal = str(p.rng.choice(["127", "128", "-129", "300", "70000", "3000000000", "9223372036854775808"]))
    op = str(p.rng.choice(["+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=", ">", ">=", "&", "|", "^"]))
    y = literal if p.rng.random() < 0.3 else y
    x, y = (x, y) if p.rng.random() < 0.8 else (y, x)
    return f"{x} {op} {y}"


def prefix(p):
    return p.rng.choice(["-", "~", "+"]) + p.pick()


def power(p):
    x = p.pick("iufc")
    return x and f"{x} ** {p.rng.choice(['2', '3', '2.0', '1', '0'])}"


def part(p):
    x = p.pick("c") or p.pick()
    return str(p.rng.choice([f"{x}.real", f"{x}.imag", f"np.real({x})", f"imag({x})", f"conj({x})", f"{x}.conj()",
                             f"np.conjugate({x})", f"angle({x})", f"abs({x})"]))


def binary(p):
    x, y, op = p.pick(), p.pick(), str(p.rng.choice(BINARY))
    return None if op == "copysign" and p.has_nan(y) else f"{op}({x}, {y})"


def select(p):
    return f"where({p.pick()}, {p.pick()}, {p.rng.choice([p.pick(), '0', '1.5'])})"


def convertible(values, to):
    """A float out of an integer's range, or NaN, has no value there."""
    info, values = INTEGERS.get(to), values.real
    return values.dtype.kind != "f" or not info or bool(((values > info.min) & (values < info.max)).all())


def cast(p):
    x = p.pick()
    values, to = p.of(x), str(p.rng.choice(list(TEXTS.values())))
    if not convertible(values, to):
        return None
    return f"cast({x}, {to})" if p.rng.random() < 0.5 else f"{x}.astype({to})"


def reduction(p):
    rng = p.rng
    x = p.pick()
    name = str(rng.choice("""sum prod min max any all mean var std nansum nanprod nanmin nanmax nanmean nanvar
        nanstd ptp count_nonzero logsumexp norm average""".split()))
    args, rank = [x], p.of(x).ndim
    axes = axes_text(rng, rank)
    if name == "logsumexp" and axes == "()":
        axes = None
    turned = p.of(x).dtype.kind == "c"
    if name == "logsumexp" and turned:
        return None
    if axes is not None and rng.random() < 0.85:
        args.append(f"axis={axes}")
    if rng.random() < 0.4:
        args.append("keepdims=True")
    plain = name.removeprefix("nan")
    if plain == "prod" and p.of(x).dtype.kind == "c" and not np.isfinite(p.of(x)).all():
        return None  # in another order it is NaN
    if name == "average" and p.of(x).size == 0:
        return None  # NumPy divides Python numbers there
    if plain in ("sum", "prod", "mean", "var", "std") and rng.random() < 0.2 and not (turned and plain in ("var", "std")):
        args.append(f"dtype={rng.choice(['f32', 'f64', 'i64', 'i32'][:2 if plain in ('mean', 'var', 'std') else 4])}")
    if plain in ("var", "std") and rng.random() < 0.4:
        args.append(f"ddof={rng.integers(-1, 4)}")
    masks = [m for m in p.vars if p.of(m).dtype.kind == "b" and p.of(m).ndim <= rank]
    if plain in "sum prod min max any all mean var std".split() and masks and rng.random() < 0.5:
        args.append(f"where={rng.choice(masks)}")
    if plain in ("sum", "prod", "min", "max") and rng.random() < 0.3:
        args.append(f"initial={rng.choice(['1', '0', '-2', '2.5', '300', '-129.5'])}")
    if not all(convertible(p.of(x), a[6:]) for a in args if a.startswith("dtype=")):
        return None
    return f"{name}({', '.join(args)})"


def normalised(p):
    x = p.pick("f")
    if x is None or p.of(x).size == 0 or p.of(x).ndim == 0:
        return None
    axis = axes_text(p.rng, p.of(x).ndim, single=True)
    return axis and f"{p.rng.choice(['softmax', 'log_softmax'])}({x}, axis={axis})"


def dot(p):
    fit = [n for n in p.vars if p.of(n).ndim == 1]
    if not fit:
        return None
    a, b = p.rng.choice(fit), p.rng.choice(fit)
    return str(p.rng.choice([f"dot({a}, {b})", f"{a} @ {b}", f"inner({a}, {b})", f"{a}.dot({b})", f"vdot({a}, {b})"]))


def moved_axes(p):
    x = p.pick(rank=1)
    if x is None:
        return None
    rank = p.of(x).ndim
    order = [int(a) - (rank if p.rng.random() < 0.3 else 0) for a in p.rng.permutation(rank)]
    a, b = (int(k) for k in p.rng.integers(-rank, rank + (p.rng.random() < 0.03), 2))
    return str(p.rng.choice([f"{x}.T", f"transpose({x}, ({', '.join(map(str, order))},))",
                             f"{x}.swapaxes({a}, {b})", f"swapaxes({x}, {a}, {b})", f"transpose({x})"]))  # fmt: skip


def reshaped(p):
    x = p.pick()
    shape, size = p.of(x).shape, p.of(x).size
    if p.rng.random() < 0.4 and shape:
        cut = int(p.rng.integers(0, len(shape)))
        parts = [*shape[:cut], -1]
    else:
        parts, left = [], size
        for n in (2, 3, 5, 7):
            if left and left % n == 0 and p.rng.random() < 0.6:
                parts.append(n)
                left //= n
        parts.insert(int(p.rng.integers(0, len(parts) + 1)), left if p.rng.random() < 0.5 else -1)
    if size == 0 and -1 in parts:
        return None
    return f"reshape({x}, ({', '.join(map(str, parts))},))"


def regrouped(p):
    x = p.pick()
    rank = p.of(x).ndim
    ones = [a for a, n in enumerate(p.of(x).shape) if n == 1]
    ways = [f"ravel({x})", f"{x}.flatten()", f"expand_dims({x}, {p.rng.integers(-rank - 1, rank + 1)})"]
    if ones:
        ways.append(f"squeeze({x}, axis={p.rng.choice(ones)})")
    if rank:
        ways.append(f"{x}[{', '.join(p.rng.permutation([':', 'None', '...']))}]")
    return str(p.rng.choice(ways))


def broadcast(p):
    x, y = p.pick(), p.pick()
    return f"broadcast_to({x}, {y}.shape)"


def sliced(p, of=None):
    rng, x = p.rng, of or p.pick(rank=1)
    if x is None:
        return None
    shape = p.of(x).shape
    items = []
    for n in shape[:int(rng.integers(1, len(shape) + 1))]:
        how = rng.random()
        lo, hi = (int(k) for k in rng.integers(-n - 2, n + 3, 2))
        step = int(rng.choice([1, 1, 2, 3, -1, -1, -2]))
        if how < 0.2 and (n or rng.random() < 0.1):
            items.append(str(int(rng.integers(-n, n)) if n and rng.random() < 0.97 else n))
        elif how < 0.3:
            items.append(":")
        else:
            items.append(f"{rng.choice(['', str(lo)])}:{rng.choice(['', str(hi)])}"
                         f"{'' if step == 1 else f':{step}'}")
        if rng.random() < 0.1:
            items.append("None")
    if rng.random() < 0.2 and len(shape) < 8:
        items.insert(int(rng.integers(0, len(items) + 1)), "...")
    return f"{x}[{', '.join(items)}]"


def viewed(p):
    rng, x = p.rng, p.pick(rank=1)
    if x is None:
        return None
    rank, k = p.of(x).ndim, int(rng.integers(-3, 4))
    ways = [f"flip({x}, axis={axes_text(rng, rank)})", f"flip({x})", f"flipud({x})", f"argmax({x})", f"argmin({x})",
            f"argmin({x}, axis={axes_text(rng, rank, single=True)})",
            f"argmax({x}, axis={axes_text(rng, rank, single=True)}, keepdims=True)"]  # fmt: skip
    if rank > 1:
        a, b = (int(i) for i in rng.permutation(rank)[:2])
        ways += [f"diagonal({x}, {k}, {a}, {b})", f"trace({x}, {k}, {a}, {b})", f"tril({x}, {k})", f"triu({x}, k={k})",
                 f"moveaxis({x}, {a}, {b - rank})", f"fliplr({x})"]  # fmt: skip
    way = str(rng.choice(ways))
    return None if "=()" in way and "flip" not in way else way


def made(p):
    rng, x = p.rng, p.pick()
    a, b, step = (int(k) for k in rng.integers(-6, 9, 3))
    dtype = rng.choice(["", ", dtype=f32", ", dtype=i32", ", dtype=f64"])
    rank = p.of(x).ndim
    ways = [f"arange({a}, {b}, {step or 1}{dtype})", f"arange({b}{dtype})", f"arange({a}, {b}, 0.25)",
            f"zeros_like({x}{dtype})", f"ones_like({x}{dtype})", f"full_like({x}, {b % 7}{dtype})", f"zeros({x}.shape{dtype})",
            f"full({x}.shape, {a}{dtype})", f"full_like({x}, {rng.choice(['255', '-129', '70000', '2.5'])})", f"ones(({abs(a)}, {abs(b)}){dtype})"]  # fmt: skip
    if rank:
        ways += [f"arange({x}.shape[-1])", f"arange(len({x}), 0, -1)"] * 3
    return str(rng.choice(ways))


def assignment(p):
    rng = p.rng
    fit = [n for n, (x, _) in p.vars.items() if isinstance(x, np.ndarray) and x.ndim]
    if not fit:
        return None
    x = str(rng.choice(fit))
    y = str(rng.choice([p.pick(), x, f"{x}[0]", "3", "-1", "0.5", "2"]))
    how = rng.random()
    target = sliced(p, x) if how < 0.6 else f"{x}[...]" if how < 0.75 else x
    if rng.random() < 0.3:
        y = str(rng.choice([f"{target} * 2", f"{x}[::-1]", sliced(p, x)]))
    ops = ["+", "-", "*", "/", "//", "%"] + ["&", "|"] * (p.of(x).dtype.kind in "biu")
    op = str(rng.choice(ops)) if target == x or rng.random() < 0.4 else ""
    if not op and not y.startswith(x):
        try:
            with np.errstate(all="ignore"):
                if not convertible(np.asarray(eval(y, p.env[0])), TEXTS[p.of(x).dtype.name]):
                    return None
        except (TypeError, ValueError, IndexError):
            return None
    return f"{target} {op}= {y}"


def paired(p):
    x, y = p.pick("iuf"), p.pick("iuf")
    k = int(p.rng.integers(0, 2))
    return x and str(p.rng.choice([f"divmod({x}, {y})[{k}]", f"modf({x})[{k}]", f"frexp({x})[{k}]"]))


def joined(p):
    rng, x = p.rng, p.pick(rank=1)
    if x is None:
        return None
    rank = p.of(x).ndim
    axis = int(rng.integers(-rank, rank + (rng.random() < 0.02)))
    like = [n for n in p.vars if p.of(n).ndim == rank]
    others = ", ".join([x] + [str(rng.choice(like)) for _ in range(int(rng.integers(0, 3)))])
    n, k = int(rng.integers(0, 4)), int(rng.integers(-5, 6))
    mode = rng.choice(["edge", "wrap", "reflect", "symmetric"])
    widths = ", ".join(f"({a}, {b})" for a, b in rng.integers(0, 4, (rank, 2)))
    constants = rng.integers(-5, 6, (rank, 2)) if rng.random() < 0.7 else rng.integers(-5, 6, (rank, 2)) / 4
    values = ", ".join(f"({a}, {b})" for a, b in constants)
    indices = [i for i in p.vars if p.of(i).dtype.kind in "iu"]
    ways = [f"concatenate(({others},), axis={axis})", f"stack(({others},), axis={axis})", f"concatenate(({x}, {x}[:1], {x}))",
            f"pad({x}, {n})", f"pad({x}, ({widths},), constant_values={k})", f"pad({x}, ({widths},), mode='{mode}')",
            f"pad({x}, ({widths},), constant_values=({k}, {n}))", f"pad({x}, {n}, constant_values=({values},))",
            f"repeat({x}, {n}, axis={axis})", f"{x}.repeat({n})", f"tile({x}, {n})", f"tile({x}, (2, {n}))",
            f"roll({x}, {k}, axis={axis})", f"roll({x}, {k})", f"take({x}, {k}, axis={axis})",
            f"take_along_axis({x}, argmax({x}, axis={axis}, keepdims=True), axis={axis})"]  # fmt: skip
    if indices:
        i = str(rng.choice(indices))
        ways += [f"take({x}, {i}, axis={axis})", f"take({x}, {i} % 3, axis={axis})", f"{x}.take({i}, mode='wrap')",
                 f"take({x}, {i}, axis={axis}, mode='clip')"] * 2  # fmt: skip
    return str(rng.choice(ways))


def indexed(p):
    """An index with an array of indices among numbers, slices and new axes."""
    x, i = p.pick(rank=1), p.pick("iu")
    if x is None or i is None:
        return None
    rng, rank = p.rng, p.of(x).ndim
    items = [str(rng.choice([":", ":", "0", "-1", "::-1", "1:"])) for _ in range(int(rng.integers(0, rank)))]
    items.insert(int(rng.integers(0, len(items) + 1)), ":")
    if rng.random() < 0.3:
        items.insert(int(rng.integers(0, len(items) + 1)), str(rng.choice(["...", "None"])))
    try:
        if eval(f"{x}[{', '.join(items)}]", p.env[0]).size == 0:  # see is_of_nothing()
            return None
    except IndexError:
        pass
    slices = [k for k, item in enumerate(items) if item == ":"]
    items[int(rng.choice(slices))] = str(rng.choice([i, f"{i} % 2", f"abs({i}) % 3"]))
    return f"{x}[{', '.join(items)}]"


def replaced(p):
    x = p.pick("f") or p.pick()
    ways = [f"nan_to_num({x}, nan=1.5)", f"nan_to_num({x}, True, 2, posinf=3.5)", f"nan_to_num({x}, neginf=-1, posinf=None)",
            f"clip({x}, None, 2)", f"clip({x}, 1, None)", f"{x}.clip(max=1)", f"np.clip({x}, a_min=0, a_max=3)",
            f"np.clip({x}, min=1)"]  # fmt: skip
    return str(p.rng.choice(ways))


TEMPLATES = [indexed] * 3 + [replaced] + [unary] * 3 + [operator] * 5 + [binary] * 3 + [prefix, power, part, part, select, select, cast] + \
    [reduction] * 6 + [sliced] * 5 + [joined] * 5 + [paired] + [viewed] * 4 + [made] * 2 + [normalised, dot, moved_axes, moved_axes, reshaped, regrouped, regrouped, broadcast]  # fmt: skip
