#!/usr/bin/env python3
"""The workloads of a run of `speed`, by other libraries: whichever of PyTorch, JAX, CuPy, NumPy and numexpr is installed; and
on a CPU those that bench/c has as plain C.

    bench/peers.py KILN.json [-o PEERS.json] [--only TEXT] [--seconds N] [--max-autotune] [--plain-c peers.so]

A workload's text is Python with NumPy's meaning, so each library runs that very text with its own functions behind the names: `torch` one
operator at a time, `torch.compile`, `jax` (jit), `cupy`, `cupy.fuse`, `numpy`; `native` is PyTorch's own fused operator and `numexpr` an
expression of the same meaning. As for kiln: caches flushed before each run, medians of device events (for JAX, which
has none, those of jax_events.cpp). The device is busy until a call is handed over: no time of the host's is in them."""
import argparse
import ast
import ctypes
import functools
import gc
import json
import os
import statistics
import sys
import time

import jax_events
import timers

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

PATIENCE = 0.4  # seconds for the repeats of one measurement
FLUSH = {"cuda": timers.FLUSH, "cpu": 64 << 20}
DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
          "i32": "int32", "i8": "int8", "u8": "uint8", "bool": "bool"}  # fmt: skip


def program(workload, names):
    """The workload's function, its names those of a library."""
    scope = dict(names)
    for value in workload["inputs"]:  # N, C, ... in the text are sizes
        scope.update(zip((d.strip() for d in value["dims"].split(",")), value["shape"]))
    tree = ast.parse("from __future__ import annotations\n" + workload["text"])
    differentiate(tree.body[1])
    exec(compile(ast.fix_missing_locations(tree), workload["name"], "exec"), scope)
    return scope[workload["program"]]


def differentiate(function):
    """`dx, dw = vjp(y, dy, (x, w))` as libraries have it: what stands before becomes a function of x and w, and vjp() one of three
    arguments: that function, dy, and the values as a tuple. It gives y and the gradients."""
    for place, statement in enumerate(function.body):
        call = getattr(statement, "value", None)
        if not (isinstance(call, ast.Call) and getattr(call.func, "id", "") == "vjp"):
            continue
        y, _, by = call.args
        by = by.elts if isinstance(by, ast.Tuple) else [by]
        forward = ast.parse(f"def forward({', '.join(x.id for x in by)}): pass").body[0]
        forward.body = [*function.body[:place], ast.Return(y)]
        call.args[0] = ast.Name("forward", ast.Load())
        call.args[2] = ast.Tuple(by, ast.Load())
        to = statement.targets[0] if isinstance(statement.targets[0], ast.Tuple) else ast.Tuple(statement.targets, ast.Store())
        statement.targets = [ast.Tuple([ast.Name(y.id, ast.Store()), to], ast.Store())]
        function.body[:place] = [forward]
        return


def storage(value):
    """Elements of an array's memory, and whether it is compact."""
    span = 1 + value["offset"] + sum((n - 1) * s for n, s in zip(value["shape"], value["strides"]))
    count = 1
    for n in value["shape"]:
        count *= n
    dense = [1]
    for n in reversed(value["shape"][1:]):
        dense.insert(0, dense[0] * n)
    return span, not value["offset"] and all(n == 1 or s == d for n, s, d in zip(value["shape"], value["strides"], dense))


def repeated(once):
    """Median of once(), in microseconds, of as many repeats as patience allows."""
    once()
    start = time.perf_counter()
    times = [once()]
    each = time.perf_counter() - start
    times += [once() for _ in range(min(timers.REPEATS - 1, int(PATIENCE / max(each, 1e-6))))]
    return statistics.median(times)


def host_time(call, sync):
    """Median time to hand over one call of many, the device keeping up."""
    times = []
    for _ in range(15):
        sync()
        start = time.perf_counter()
        for _ in range(200):
            call()
        times.append((time.perf_counter() - start) / 200 * 1e6)
    sync()
    return statistics.median(times)


# ---- PyTorch --------------------------------------------------------------------------------------------


class Torch:
    def __init__(self, device, options):
        import torch

        self.torch, self.device = torch, device
        self.version = f"PyTorch {torch.__version__}"
        self.modes = {"torch.compile": {}}
        if options.max_autotune:
            self.modes["torch.compile max-autotune"] = {"mode": "max-autotune-no-cudagraphs"}
        if device == "cuda" and not torch.cuda.is_available():
            raise ImportError("no CUDA")
        self.timer = timers.Timer(torch) if device == "cuda" else None
        self.flush = torch.empty(FLUSH["cpu"], dtype=torch.uint8)

    def names(self):
        t = self.torch

        def reduce(fn):
            return lambda x, axis=None, keepdims=False: fn(x) if axis is None else fn(x, dim=axis, keepdim=keepdims)

        def spread(fn):
            return lambda x, axis=None, keepdims=False: fn(x, dim=axis, correction=0, keepdim=keepdims)

        def vjp(forward, seed, by):
            y, pull = t.func.vjp(forward, *by)
            grads = pull(seed.to(y.dtype) if isinstance(seed, t.Tensor) else t.full_like(y, seed))
            return y, grads

        f = t.nn.functional
        names = {n: getattr(t, n) for n in ("exp", "log", "log1p", "sin", "cos", "sqrt", "rsqrt", "tanh", "abs", "where", "sigmoid", "relu")}
        names |= {"sum": reduce(t.sum), "mean": reduce(t.mean), "max": reduce(t.amax), "min": reduce(t.amin), "argmax": reduce(t.argmax),
                  "var": spread(t.var), "std": spread(t.std), "clip": t.clamp, "rint": t.round, "minimum": lambda a, b: t.clamp(b, max=a),
                  "silu": f.silu, "gelu_tanh": lambda x: f.gelu(x, approximate="tanh"), "softplus": f.softplus,
                  "roll": lambda x, n, axis: t.roll(x, n, axis), "vjp": vjp,
                  "take_along_axis": lambda x, i, axis: t.take_along_dim(x, i.long(), axis),
                  "cast": lambda x, d: x.to(d) if isinstance(x, t.Tensor) else float(x)}  # fmt: skip
        names |= softmaxes(names)
        return names | {short: getattr(t, name) for short, name in DTYPES.items()}

    def input(self, value):
        t, dtype = self.torch, getattr(self.torch, DTYPES[value["dtype"]])
        span, _ = storage(value)
        if dtype == t.bool:
            flat = t.rand(span, device=self.device) < 0.5
        elif not dtype.is_floating_point:
            flat = t.randint(-1000, 1000, (span,), device=self.device).to(dtype)
        else:
            flat = (t.randn(span, dtype=t.float32, device=self.device) + 0.5).to(dtype)
        return (flat.abs() if value["nonnegative"] else flat).as_strided(value["shape"], value["strides"], value["offset"])

    def variants(self, workload, inputs):
        fn = program(workload, self.names())
        yield "torch", lambda: fn(*inputs)
        native = self.native(workload["program"], inputs)
        if native:
            yield "native", native
        for name, options in self.modes.items():
            self.torch._dynamo.reset()
            compiled = self.torch.compile(fn, dynamic=False, **options)
            yield name, lambda compiled=compiled: compiled(*inputs)

    def native(self, name, inputs):
        t = self.torch
        f = t.nn.functional
        if name == "batchnorm_backward":
            dy, x, gamma, m, v = inputs
            saved = m.flatten(), (v.flatten() + 1e-5).rsqrt()
            return lambda: t.ops.aten.native_batch_norm_backward(dy, x, gamma, None, None, *saved, True, 1e-5, [True] * 3)
        table = {
            "batchnorm": lambda x, g, b: f.batch_norm(x, None, None, g, b, training=True),
            "layernorm": lambda x, g, b: f.layer_norm(x, x.shape[-1:], g, b),
            "rmsnorm": lambda x, g: f.rms_norm(x, x.shape[-1:], g, 1e-6),
            "groupnorm": lambda x, g, b: f.group_norm(x, 32, g, b),
            "softmax": lambda x: t.softmax(x, -1),
            "logsumexp": lambda x: t.logsumexp(x, 1, keepdim=True),
            "unit_norm": lambda x: f.normalize(x, dim=0),
            "gelu": lambda x: f.gelu(x, approximate="tanh"),
        }
        return (lambda: table[name](*inputs)) if name in table else None

    def time(self, call):
        if self.timer:
            return repeated(lambda: self.timer.once(call))
        return repeated(lambda: wall(self.flush.zero_, call))

    def sync(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def tidy(self):
        if self.device == "cuda":
            self.torch.cuda.empty_cache()


def wall(flush, call):
    flush()
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e6


# ---- libraries with NumPy's names -----------------------------------------------------------------------


def softmaxes(names):
    """These of several axes, too."""
    exp, log, most, add = (names[n] for n in ("exp", "log", "max", "sum"))

    def log_softmax(x, axis):
        d = x - most(x, axis=axis, keepdims=True)
        return d - log(add(exp(d), axis=axis, keepdims=True))

    def softmax(x, axis):
        e = exp(x - most(x, axis=axis, keepdims=True))
        return e / add(e, axis=axis, keepdims=True)

    return {"softmax": softmax, "log_softmax": log_softmax}


def numpy_names(np, types):
    own = ("exp", "log", "log1p", "sin", "cos", "sqrt", "tanh", "abs", "sum", "mean", "max", "min", "argmax", "var", "std", "where",
           "clip", "rint", "minimum", "roll", "take_along_axis")  # fmt: skip
    names = {n: getattr(np, n) for n in own}
    names["rsqrt"] = lambda x: 1 / np.sqrt(x)
    names["cast"] = lambda x, d: x.astype(d) if hasattr(x, "astype") else d(x)
    names["relu"] = lambda x: np.maximum(x, 0)
    names["sigmoid"] = lambda x: 1 / (1 + np.exp(-x))
    names["silu"] = lambda x: x / (1 + np.exp(-x))
    names["softplus"] = lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    names["gelu_tanh"] = lambda x: 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    names["vjp"] = without_gradients
    return names | softmaxes(names) | {short: getattr(types, name) for short, name in DTYPES.items() if hasattr(types, name)}


def without_gradients(*_):
    raise NotImplementedError("it has no gradients")


class Jax:
    def __init__(self, device, options):
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax, self.np, self.device = jax, jax.numpy, device
        self.version = f"JAX {jax.__version__}"
        if (jax.default_backend() == "cpu") != (device == "cpu"):
            raise ImportError(f"its backend is {jax.default_backend()}")
        self.buffer = self.np.zeros(FLUSH[device] // 4, dtype="int32")
        self.step = jax.jit(lambda b: b + 1)
        if device == "cuda":
            self.elapsed = jax_events.register(jax)

    def input(self, value):
        span, compact = storage(value)
        if not compact:
            raise NotImplementedError("strides")
        key, dtype = self.jax.random.key(1), DTYPES[value["dtype"]]
        if dtype == "bool":
            return self.jax.random.bernoulli(key, 0.5, value["shape"])
        if "int" in dtype:
            return self.jax.random.randint(key, value["shape"], -1000, 1000, dtype="int32").astype(dtype)
        x = (self.jax.random.normal(key, value["shape"], dtype="float32") + 0.5).astype(dtype)
        return self.np.abs(x) if value["nonnegative"] else x

    def vjp(self, forward, seed, by):
        y, pull = self.jax.vjp(forward, *by)
        return y, pull(self.np.broadcast_to(self.np.asarray(seed, dtype=y.dtype), y.shape))

    def variants(self, workload, inputs):
        names = numpy_names(self.np, self.np) | {"rsqrt": self.jax.lax.rsqrt, "vjp": self.vjp}
        fn = self.jax.jit(program(workload, names))
        yield "jax", functools.partial(fn, *inputs)

    def time(self, call):
        if self.device == "cpu":
            flush = lambda: self.step(self.buffer).block_until_ready()
            return repeated(lambda: wall(flush, lambda: self.jax.block_until_ready(call())))

        timed = self.jax.jit(jax_events.timed(self.jax, call.func))

        def once():
            flushed = self.buffer
            for _ in range(timers.AHEAD):
                flushed = self.step(flushed)
            self.jax.block_until_ready(timed(*call.args))
            return self.elapsed(0) * 1e3

        return repeated(once)

    def sync(self):
        self.jax.effects_barrier()
        self.jax.block_until_ready(self.buffer)

    def tidy(self):
        self.jax.clear_caches()


class Cupy:
    def __init__(self, device, options):
        if device != "cuda":
            raise ImportError("no CUDA")
        import cupy

        self.np = cupy
        self.version = f"CuPy {cupy.__version__}"
        self.flush = cupy.empty(FLUSH[device] // 4, dtype="int32")

    def input(self, value):
        if value["dtype"] == "bf16":
            raise NotImplementedError("bf16")
        np, dtype = self.np, DTYPES[value["dtype"]]
        span, _ = storage(value)
        if dtype == "bool":
            flat = np.random.random(span) < 0.5
        elif "int" in dtype:
            flat = np.random.randint(-1000, 1000, span, dtype="int32").astype(dtype)
        else:
            flat = (np.random.standard_normal(span, dtype="float32") + 0.5).astype(dtype)
        flat = np.abs(flat) if value["nonnegative"] else flat
        strides = [s * flat.itemsize for s in value["strides"]]
        return np.lib.stride_tricks.as_strided(flat[value["offset"] :], value["shape"], strides)

    def variants(self, workload, inputs):
        fn = program(workload, numpy_names(self.np, self.np))
        fused = self.np.fuse(fn)
        yield "cupy", lambda: fn(*inputs)
        yield "cupy.fuse", lambda: fused(*inputs)

    def time(self, call):
        cuda = self.np.cuda

        def once():
            before, after = cuda.Event(), cuda.Event()
            for _ in range(timers.AHEAD):
                self.flush.fill(0)
            before.record()
            call()
            after.record()
            after.synchronize()
            return cuda.get_elapsed_time(before, after) * 1e3

        return repeated(once)

    def sync(self):
        self.np.cuda.Device().synchronize()

    def tidy(self):
        self.np.get_default_memory_pool().free_all_blocks()


class Numpy:
    def __init__(self, device, options):
        if device != "cpu":
            raise ImportError("a GPU is measured")
        import numpy

        self.np, self.version, self.numexpr = numpy, f"NumPy {numpy.__version__}", None
        try:
            import numexpr

            self.numexpr = numexpr
            numexpr.set_num_threads(len(os.sched_getaffinity(0)))
            self.version += f", numexpr {numexpr.__version__}"
        except ImportError:
            pass
        self.flush = numpy.zeros(FLUSH["cpu"], dtype="uint8")

    def input(self, value):
        if value["dtype"] == "bf16":
            raise NotImplementedError("bf16")
        np, dtype = self.np, DTYPES[value["dtype"]]
        span, _ = storage(value)
        random = np.random.default_rng(1)
        if dtype == "bool":
            flat = random.random(span) < 0.5
        elif "int" in dtype:
            flat = random.integers(-1000, 1000, span, dtype="int32").astype(dtype)
        else:
            flat = (random.standard_normal(span, dtype="float32") + np.float32(0.5)).astype(dtype)
        flat = np.abs(flat) if value["nonnegative"] else flat
        strides = [s * flat.itemsize for s in value["strides"]]
        return np.lib.stride_tricks.as_strided(flat[value["offset"] :], value["shape"], strides)

    def variants(self, workload, inputs):
        fn = program(workload, numpy_names(self.np, self.np))
        yield "numpy", lambda: fn(*inputs)
        expression = self.numexpr and self.expression(workload["program"], inputs)
        if expression:
            yield "numexpr", expression

    def expression(self, name, inputs):
        """numexpr has no reductions but whole ones, at the end: the others are NumPy's. A Python number would make f32 into f64."""
        np, ne = self.np, self.numexpr.evaluate
        kind = inputs[0].dtype.type
        if len(inputs) > 1 and any(i.dtype != inputs[0].dtype for i in inputs):
            return None
        numbers = {n: kind(v) for n, v in {"one": 1, "half": 0.5, "c": 0.7978845608028654, "k": 0.044715, "lr": 1e-3,
                                           "d1": 0.9, "e1": 0.1, "d2": 0.999, "e2": 0.001, "tiny": 1e-8, "eps": 1e-5,
                                           "p0": 0.2, "p1": 0.3, "p2": 0.4, "p3": 0.6}.items()}  # fmt: skip

        def run(text, **arrays):
            return ne(text, local_dict=arrays | numbers, global_dict={})

        def normed(x, axis, scale, shift):
            d = run("x - m", x=x, m=x.mean(axis=axis, keepdims=True))
            v = run("d * d", d=d).mean(axis=axis, keepdims=True)
            return run("d / sqrt(v + eps) * s + b", d=d, v=v, s=scale, b=shift)

        def softmax(x):
            e = run("exp(x - m)", x=x, m=x.max(axis=-1, keepdims=True))
            return run("e / s", e=e, s=e.sum(axis=-1, keepdims=True))

        def adam(p, g, m, v):
            m2 = run("d1 * m + e1 * g", m=m, g=g)
            v2 = run("d2 * v + e2 * g * g", v=v, g=g)
            return run("p - lr * (m2 / e1) / (sqrt(v2 / e2) + tiny)", p=p, m2=m2, v2=v2), m2, v2

        table = {
            "x_plus_xx": lambda x: run("x + x * x", x=x),
            "polynomial": lambda x: run("(((p0 * x + p1) * x - p2) * x + half) * x - p3", x=x),
            "hypot": lambda a, b: run("sqrt(a * a + b * b)", a=a, b=b),
            "add": lambda a, b: run("a + b", a=a, b=b),
            "gelu": lambda x: run("half * x * (one + tanh(c * (x + k * x * x * x)))", x=x),
            "adam": adam,
            "total": lambda x: run("sum(x)", x=x),
            "distance": lambda a, b: np.sqrt(run("sum((a - b) * (a - b))", a=a, b=b)),
            "unit_norm": lambda x: run("x / n", x=x, n=kind(np.sqrt(run("sum(x * x)", x=x)))),
            "softmax": softmax,
            "layernorm": lambda x, g, b: normed(x, -1, g, b),
            "rmsnorm": lambda x, g: run("x / sqrt(v + eps) * g", x=x, v=run("x * x", x=x).mean(axis=-1, keepdims=True), g=g),
            "batchnorm": lambda x, g, b: normed(x, (0, 2, 3), g[:, None, None], b[:, None, None]),
            "column_zscore": lambda x: normed(x, 0, numbers["one"], kind(0)),
            "double_center": lambda x: run("x - r - s + t", x=x, r=x.mean(axis=1, keepdims=True),
                                           s=x.mean(axis=0, keepdims=True), t=x.mean()),
        }  # fmt: skip
        return (lambda: table[name](*inputs)) if name in table else None

    def time(self, call):
        return repeated(lambda: wall(lambda: self.flush.fill(0), call))

    def sync(self):
        pass

    def tidy(self):
        pass


class PlainC(Numpy):
    """The functions of bench/c/peers.c, on NumPy's arrays: of each workload whose function is there, and what it gives."""

    FUNCTIONS = {
        "batchnorm": ("c_batchnorm", lambda np, x: [np.empty_like(x)]),
        "layernorm": ("c_layernorm", lambda np, x: [np.empty_like(x)]),
        "rmsnorm": ("c_rmsnorm", lambda np, x: [np.empty_like(x)]),
        "softmax": ("c_softmax", lambda np, x: [np.empty_like(x)]),
        "gelu": ("c_gelu", lambda np, x: [np.empty_like(x)]),
        "x_plus_xx": ("c_x_plus_xx", lambda np, x: [np.empty_like(x)]),
        "hypot": ("c_hypot", lambda np, x: [np.empty_like(x)]),
        "total": ("c_total", lambda np, x: [np.empty((), x.dtype)]),
        "column_sum": ("c_column_sums", lambda np, x: [np.empty(x.shape[1:], x.dtype)]),
        "row_argmax": ("c_argmax", lambda np, x: [np.empty(x.shape[:1], "int64")]),
    }

    def __init__(self, device, options):
        super().__init__(device, options)
        self.library = ctypes.CDLL(options.plain_c)
        self.version = "plain C"

    def variants(self, workload, inputs):
        name, results = self.FUNCTIONS.get(workload["program"], (None, None))
        if not name or not all(x.dtype == "float32" and x.flags.c_contiguous for x in inputs):
            return
        arrays = [*inputs, *results(self.np, inputs[0])]
        sizes = [n for x in inputs for n in x.shape]
        call = functools.partial(getattr(self.library, name), (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays)),
                                 (ctypes.c_int64 * len(sizes))(*sizes))  # fmt: skip
        yield "C", lambda: (call(), arrays)


# ---- all of them ----------------------------------------------------------------------------------------


def libraries(device, options):
    for kind in (Torch, Jax, Cupy, Numpy, *([PlainC] if options.plain_c else [])):
        try:
            yield kind(device, options)
        except Exception as e:  # not installed, or not for this machine
            print(f"without {kind.__name__}: {str(e).splitlines()[0] if str(e) else type(e).__name__}", file=sys.stderr)


def measure(library, workload, times, host):
    small = workload["bytes"] < 1 << 20
    try:
        inputs = [library.input(value) for value in workload["inputs"]]
        for name, call in library.variants(workload, inputs):
            try:
                times[name] = library.time(call)
                if small:
                    host[name] = host_time(call, library.sync)
            except Exception as e:  # what a library cannot do is no failure of ours
                print(f"  {workload['name']}: {name}: {str(e).splitlines()[0][:120] if str(e) else type(e).__name__}",
                      file=sys.stderr)  # fmt: skip
    except Exception as e:
        print(f"  {workload['name']}: {type(library).__name__}: {str(e).splitlines()[0][:120]}", file=sys.stderr)
    gc.collect()
    library.tidy()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kiln")
    parser.add_argument("-o", "--output", default="peers.json")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no workload after so long")
    parser.add_argument("--max-autotune", action="store_true", help="torch.compile in that mode too: minutes more")
    parser.add_argument("--plain-c", help="the module of bench/c/peers.c")
    options = parser.parse_args()
    with open(options.kiln) as f:
        kiln = json.load(f)
    start = time.monotonic()
    device = "cuda" if kiln["device"].startswith("cuda") else "cpu"
    found = list(libraries(device, options))
    result = {"device": kiln["device"], "versions": [x.version for x in found], "workloads": {}}
    for workload in kiln["workloads"]:
        if options.only not in workload["name"]:
            continue
        if time.monotonic() - start > options.seconds:
            print(f"{workload['name']}: no time left", file=sys.stderr)
            continue
        times, host = {}, {}
        for library in found:
            measure(library, workload, times, host)
        result["workloads"][workload["name"]] = {"us": times, "host_us": host}
        with open(options.output, "w") as f:
            json.dump(result, f, indent=1)
        print(f"{workload['name']}: kiln {workload['us']:.1f}, " + ", ".join(f"{n} {t:.1f}" for n, t in times.items()),
              flush=True)  # fmt: skip


main()
