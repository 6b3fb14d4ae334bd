#!/usr/bin/env python3
"""The Python package: programs from functions and texts on arrays of NumPy, and of PyTorch, JAX and CuPy where they are.

usage: test_kiln.py, with the package installed
"""
from __future__ import annotations

import ctypes
import importlib.util
import sys
import threading
import time
import traceback

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)

import kiln

try:
    import torch
except ImportError:
    torch = None
try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = None
try:
    import cupy

    cupy = cupy if cupy.cuda.is_available() else None
except ImportError:
    cupy = None

BATCHNORM = """
def batchnorm(x: f32[N, C, H, W], gamma: f32[C], beta: f32[C], eps: f32 = 1e-5):
    m = mean(x, axis=(0, 2, 3), keepdims=True)
    d = x - m
    v = mean(d * d, axis=(0, 2, 3), keepdims=True)
    y = d * rsqrt(v + eps) * gamma[:, None, None] + beta[:, None, None]
    return y, m, v
"""


@kiln.jit
def softmax(x: f32[N, C], t: f32 = 1.0):
    """Softmax of rows."""
    e = exp((x - max(x, axis=1, keepdims=True)) / t)
    y = e / sum(e, axis=1, keepdims=True)
    return y


def expected(x, t=1.0):
    e = np.exp((x - x.max(axis=1, keepdims=True)) / t)
    return e / e.sum(axis=1, keepdims=True)


def raises(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
        return error
    raise AssertionError(f"no {kind.__name__} with {text!r}")


def numbers(*shape):
    return np.random.default_rng(1).standard_normal(shape, np.float32)


def test_jit():
    x = numbers(5, 7)
    y = softmax(x)
    assert type(y) is np.ndarray and y.dtype == np.float32
    np.testing.assert_allclose(y, expected(x), rtol=1e-5)
    np.testing.assert_allclose(softmax(x.T, t=np.float64(0.5)), expected(x.T, 0.5), rtol=1e-5)
    np.testing.assert_allclose(softmax(x=x[::2, ::-1], t=2), expected(x[::2, ::-1], 2), rtol=1e-5)
    out = np.empty_like(x)
    assert softmax(x, out=out) is out
    np.testing.assert_allclose(out, expected(x), rtol=1e-5)
    assert softmax.__doc__ == "Softmax of rows." and softmax.name == "softmax"
    assert softmax.parameters == {"x": "f32[N, C]", "t": "f32"} and softmax.outputs == {"y": "f32[N, C]"}
    assert repr(softmax) == "<kiln.Program softmax(x: f32[N, C], t: f32)>"


def test_annotations_that_are_evaluated():
    scope = {}
    text = """import kiln
f32, i64 = kiln.f32, kiln.i64
N, M = kiln.sizes("N M")
def f(x: f32[N, 2 * M + 1], i: i64[N], k: kiln.f32): pass
"""
    exec(compile(text, "text", "exec", dont_inherit=True), scope)
    assert repr(scope["f"].__annotations__["x"]) == "f32[N, (2) * (M) + 1]"
    f = kiln.compile("def f(x: kiln.f32[N], i: i64[N], k: kiln.f32):\n    return x * k + i\n")
    assert f(numbers(3), np.arange(3), 2).dtype == np.float64


def test_outputs():
    f = kiln.compile(BATCHNORM)
    x, gamma, beta = numbers(4, 3, 5, 6), numbers(3), numbers(3)
    y, m, v = f(x, gamma, beta, eps=1e-3)
    np.testing.assert_allclose(m[0, :, 0, 0], x.mean(axis=(0, 2, 3)), atol=1e-5)
    np.testing.assert_allclose(v[0, :, 0, 0], x.var(axis=(0, 2, 3)), rtol=1e-5)
    outs = np.empty_like(y), np.empty_like(m), np.empty_like(v)
    assert f(x, gamma, beta, 1e-3, out=outs) == outs
    assert all(np.array_equal(a, b) for a, b in zip(outs, (y, m, v)))
    raises(TypeError, "out= is a tuple of 3", lambda: f(x, gamma, beta, out=outs[0]))
    raises(ValueError, "3 outputs, out= 2", lambda: f(x, gamma, beta, out=outs[:2]))
    assert f.prepare(x, gamma, beta)["launches"] >= 1
    assert kiln.compile("def f(x: f32[N]):\n    return sum(x)")(np.ones(3, np.float32)).shape == ()
    assert kiln.compile("def f(n: i32):\n    return n * 2")(21) == 42


def test_updates():
    f = kiln.compile("def f(x: f32[N]):\n    x[1:] = x[:-1]\n")
    x = np.arange(4, dtype=np.float32)
    assert f(x) is None and list(x) == [0, 0, 1, 2]
    x.flags.writeable = False
    error = raises(kiln.ArgumentError, "x is written by the program, but read-only", lambda: f(x))
    assert isinstance(error, (kiln.Error, ValueError))
    assert list(softmax(np.zeros((1, 2), np.float32), out=np.empty((1, 2), np.float32))[0]) == [0.5, 0.5]


def test_numbers():
    f = kiln.compile("def f(b: bool, i: i8, u: u64, h: f16, c: c64):\n    return b, i, u, h, c\n")
    got = f(True, -3, 2**64 - 1, 0.5, 1 + 2j)
    assert [x.item() for x in got] == [True, -3, 2**64 - 1, 0.5, 1 + 2j]
    raises(OverflowError, "i: 300 is out of bounds for i8", lambda: f(True, 300, 0, 0, 0))
    raises(TypeError, "", lambda: f(True, 1.5, 0, 0, 0))
    raises(TypeError, "", lambda: f(True, 1, 0, "x", 0))


def test_calls_that_are_wrong():
    x = numbers(2, 3)
    raises(TypeError, "argument 'x' is missing", lambda: softmax())
    raises(TypeError, "takes 2 arguments, 3 were given", lambda: softmax(x, 1, 2))
    raises(TypeError, "has no parameter 'tt'", lambda: softmax(x, tt=1))
    raises(TypeError, "'x' is given twice", lambda: softmax(x, x=x))
    raises(TypeError, "speaks DLPack, not list", lambda: softmax([1, 2]))
    raises(kiln.TypeError, "x is f32[N, C], but f64 was given", lambda: softmax(x.astype(float)))
    raises(kiln.ShapeError, "rank 1", lambda: softmax(x[0]))
    raises(TypeError, "there is no option 'fuse'", lambda: kiln.compile(BATCHNORM, fuse=False))
    empty = kiln.Program.__new__(kiln.Program)
    for use in (lambda: empty(x), lambda: empty.name, lambda: repr(empty), lambda: empty.explain()):
        raises(TypeError, "not initialised", use)
    raises(kiln.SyntaxError, "", lambda: empty.__init__("def f(", None, None))
    raises(TypeError, "made once", lambda: empty.__init__("def f(", None, None))


def test_errors_have_places():
    lines = open(__file__, encoding="utf-8").read().split("\n")

    def unknown():
        @kiln.jit
        def f(x: f32[N]):
            y = x + 1
            return rsqt(y)

    error = raises(kiln.SyntaxError, "unknown name 'rsqt'; did you mean 'rsqrt'?", unknown)
    assert isinstance(error, SyntaxError) and error.filename == __file__
    assert lines[error.lineno - 1] == "            return rsqt(y)" and error.offset == 20
    shown = "".join(traceback.format_exception_only(error))
    assert "    return rsqt(y)\n" in shown and "^" in shown

    def types():
        @kiln.jit()
        def f(x: f32[N]):
            return x & x

    error = raises(kiln.TypeError, ":22: bitwise_and of f32", types)
    assert lines[error.line - 1] == "            return x & x" and (error.file, error.column) == (__file__, 22)
    assert str(error).startswith(f"{__file__}:{error.line}:22: ") and str(error).endswith("^")
    raises(TypeError, "written with def", lambda: kiln.jit(lambda x: x))
    raises(kiln.ArgumentError, "several functions: f, g", lambda: kiln.compile("def f(x: f32):\n  return x\ndef g(x: f32):\n  return x"))  # fmt: skip


def test_errors_that_quote_a_part():
    for skipped in range(4):
        line = "    return rsqt(x)  # " + "." * skipped + "\u00e9\u20ac\U0001d465" * 500 + "\n"
        error = raises(kiln.SyntaxError, "rsqt", lambda: kiln.compile("def f(x: f32[N]):\n" + line))
        assert line.startswith(error.text.rstrip("\n"))
    raises(kiln.ArgumentError, "has no function '\u00e9", lambda: kiln.compile(BATCHNORM, "\u00e9" * 99))
    raises(kiln.ArgumentError, "has no function 'e\u00e9", lambda: kiln.compile(BATCHNORM, "e" + "\u00e9" * 99))


def test_looking():
    text = softmax.explain(x=(1024, 4096))
    assert "1 loop nest" in text and "sm_90" in text
    assert "__global__" in softmax.explain(stage="cuda", x=numbers(4, 4))
    raises(TypeError, "no parameter 'z'", lambda: softmax.explain(z=(1,)))
    bench = softmax.bench(numbers(64, 64))
    assert bench["fused"]["launches"] < bench["unfused"]["launches"] and bench["fused"]["device_us"] > 0
    assert "cpu" in kiln.doctor() and kiln.__version__.count(".") == 2


def test_split():
    norm = kiln.compile("def f(x: f32[N, C], g: f32[C], dy: f32[N, C]):\n"
                        "    d = x - mean(x, axis=1, keepdims=True)\n"
                        "    y = d * rsqrt(mean(d * d, axis=1, keepdims=True) + 1e-5) * g\n"
                        "    dx, dg = vjp(y, dy, (x, g))\n"
                        "    return y, dx, dg\n")  # fmt: skip
    x, g, dy = numbers(33, 64), numbers(64), numbers(33, 64)
    whole = norm(x, g, dy)
    for save in (None, "", "mean"):
        forward, backward = norm.split("dy", save=save, x=(4096, 1024), g=(1024,))
        assert save is None or forward.saved == ([save] if save else [])
        assert list(forward.outputs) == ["y", *forward.saved]
        y, *saved = forward(x, g) if forward.saved else (forward(x, g),)
        dx, dg = backward(**dict(zip(forward.saved, saved)), x=x, g=g, dy=dy)
        for got, want in zip((y, dx, dg), whole):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    raises(kiln.ArgumentError, "no input 'dz'", lambda: norm.split("dz"))
    twice = kiln.compile("def f(x: f32[N], dy: f32[N], ddx: f32[N]):\n"
                         "    y = tanh(x)\n    dx = vjp(y, dy, x)\n    return y, dx, vjp(dx, ddx, x)\n")  # fmt: skip
    first, rest = twice.split("dy, ddx")
    second, third = rest.split("ddx")
    assert list(first.outputs)[0] == "y" and "dx" in second.outputs and "ddx" in third.parameters


def test_nvrtc_of_sibling_packages():
    if importlib.util.find_spec("nvidia") and importlib.util.find_spec("nvidia").submodule_search_locations:
        assert "\n.target sm_90" in softmax.explain(stage="ptx", x=(64, 64))


def test_devices():
    f = kiln.compile(BATCHNORM, device="ref")
    g = kiln.compile(BATCHNORM)
    x, gamma = numbers(2, 3, 4, 4), numbers(3)
    for a, b in zip(f(x, gamma, gamma), g(x, gamma, gamma)):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    raises(kiln.ArgumentError, "unknown device 'gpu'", lambda: kiln.compile(BATCHNORM, device="gpu"))


def test_calls_within_calls():
    from kiln import _frameworks

    f = kiln.compile("def f(x: f32[N]):\n    return x + 1, x * 2\n")
    empty, inner = _frameworks.empty, []

    def call_in_between(*args):
        if not inner:
            inner.append(None)
            inner.append(f(np.ones(7, np.float32)))
        return empty(*args)

    _frameworks.empty = call_in_between
    try:
        outer = f(np.ones(3, np.float32))
    finally:
        _frameworks.empty = empty
    assert [y.shape for y in (*outer, *inner[1])] == [(3,), (3,), (7,), (7,)]


def test_threads():
    x = numbers(64, 64)
    want, bad = softmax(x), []

    def work():
        bad.extend(1 for _ in range(200) if not np.array_equal(softmax(x), want))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad


def capsule_of_version(major):
    """A tensor of which nothing but its version is there."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    memory = (ctypes.c_uint32 * 2)(major, 0)
    return memory, new(ctypes.addressof(memory), b"dltensor_versioned", None)


class Asked:
    """An array of a library of its own, which says how it was asked."""

    def __init__(self, device, capsule=None):
        self.device, self.capsule, self.how = device, capsule, None

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, **how):
        self.how = how
        return self.capsule


def test_versions():
    memory, capsule = capsule_of_version(2)
    raises(BufferError, "a tensor of DLPack 2; kiln knows version 1", lambda: softmax(Asked(1, capsule)))
    del memory


def test_unsigned_strides():
    """CuPy's strides are bytes divided by the size of an element, as unsigned numbers."""
    strides_at = 64  # in DLManagedTensorVersioned
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    for dtype, name in [(np.int8, "i8"), (np.int16, "i16"), (np.float32, "f32"), (np.float64, "f64"), (np.complex128, "c128")]:
        x = np.arange(24).reshape(4, 6).astype(dtype)[::-1, ::-2]
        capsule = x.__dlpack__(max_version=(1, 0))
        strides = ctypes.POINTER(ctypes.c_uint64).from_address(address(capsule, b"dltensor_versioned") + strides_at)
        for k in range(2):
            assert ctypes.c_int64(strides[k]).value * x.itemsize == x.strides[k]
            strides[k] = x.strides[k] % 2**64 // x.itemsize
        f = kiln.compile(f"def f(x: {name}[N, C]):\n    return x + x\n", device="cpu")
        out = np.empty(x.shape, dtype)
        f(Asked(1, capsule), out=out)
        assert np.array_equal(out, x + x), dtype


def test_streams():
    """Whoever names a stream gets memory that may be used there; 0 is the legacy default stream, which is 1 to DLPack."""
    from kiln import _frameworks

    for given, asked in [(None, 1), (77, 77), (0, 1)]:
        x = Asked(2)
        _frameworks.capsule(x, given)
        assert x.how["stream"] == asked, (given, x.how)
    x = Asked(1)
    _frameworks.capsule(x, 77)
    assert "stream" not in x.how


def test_explain_lets_others_run():
    f, steps, done = kiln.compile(BATCHNORM), [], threading.Event()

    def count():
        while not done.is_set():
            steps.append(1)
            time.sleep(0)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)  # nobody takes the lock from who does not give it away
    other = threading.Thread(target=count)
    other.start()
    try:
        before = len(steps)
        for _ in range(20):
            f.explain()
        after = len(steps)
    finally:
        done.set()
        sys.setswitchinterval(interval)
        other.join()
    assert after > before


def test_references():
    x = numbers(8, 8)
    softmax(x)
    before = sys.getrefcount(x), sys.getrefcount(softmax)
    for _ in range(100):
        softmax(x)
        raises(TypeError, "", lambda: softmax(x, [1]))
        raises(TypeError, "", lambda: softmax(x, tt=1))
    assert (sys.getrefcount(x), sys.getrefcount(softmax)) == before


def test_torch():
    x = torch.randn(5, 7)
    y = softmax(x.T)
    assert type(y) is torch.Tensor and torch.allclose(y, torch.softmax(x.T, 1))
    out = torch.empty(5, 7)
    assert softmax(x, out=out) is out and torch.allclose(out, torch.softmax(x, 1))
    f = kiln.compile("def f(x: bf16[N], y: bf16[N]):\n    x += y\n    return x.astype(f32).sum()")
    x = torch.ones(8, dtype=torch.bfloat16)
    assert f(x, x.clone()).item() == 16 and x[3] == 2
    del y
    for _ in range(300):  # 1.2 GB in all
        y = softmax(torch.zeros(1000, 1000))
        assert y[5, 5] == 0.001
    if torch.cuda.is_available():
        on_gpu()


def on_gpu():
    x = torch.randn(512, 4096, device="cuda")
    want = torch.softmax(x, 1)
    assert torch.allclose(softmax(x), want, atol=1e-6)
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(10**8)
        late = x * 2
        y = softmax(late)
    torch.cuda.synchronize()
    assert torch.allclose(y, torch.softmax(x * 2, 1), atol=1e-6)
    graph, out = torch.cuda.CUDAGraph(), torch.empty_like(x)
    with torch.cuda.graph(graph):
        softmax(x, out=out)
    for contents in torch.randn(512, 4096, device="cuda"), want * 3:
        x.copy_(contents)
        graph.replay()
        assert torch.allclose(out, torch.softmax(contents, 1), atol=1e-6)
    raises(kiln.ArgumentError, "y is on cpu:0", lambda: softmax(x, out=torch.empty(512, 4096)))


def test_jax():
    x = jnp.asarray(numbers(5, 7))
    y = softmax(x)
    assert isinstance(y, jax.Array)
    np.testing.assert_allclose(np.asarray(y), expected(np.asarray(x)), rtol=1e-5)
    f = kiln.compile("def f(x: bf16[N]):\n    return x * 2")
    assert f(jnp.ones(3, jnp.bfloat16)).dtype == jnp.bfloat16


def test_cupy():
    x = cupy.asarray(numbers(5, 7))
    with cupy.cuda.Stream(non_blocking=True) as stream:
        y = softmax(x.T * 2)
        assert type(y) is cupy.ndarray
        stream.synchronize()
    np.testing.assert_allclose(y.get(), expected(x.get().T * 2), rtol=1e-5)
    out = cupy.zeros((5, 14), np.float32)[:, ::2]
    assert softmax(x, out=out) is out
    np.testing.assert_allclose(out.get(), expected(x.get()), rtol=1e-5)


LIBRARIES = {"test_torch": torch, "test_jax": jax, "test_cupy": cupy}


def main():
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or not LIBRARIES.get(name, True):
            continue
        try:
            test()
            print(f"ok - {name}")
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"not ok - {name}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
