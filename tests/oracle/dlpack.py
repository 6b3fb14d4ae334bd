#!/usr/bin/env python3
"""NumPy's arrays, and PyTorch's tensors where it is installed, through DLPack: as arguments with whatever strides they
have, and outputs as arrays of theirs.

usage: dlpack.py LIBKILN
"""
import ctypes as c
import gc
import resource
import sys

sys.dont_write_bytecode = True  # leaves nothing beside api.py
from numpy2 import np  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

from api import Arg, Kiln, Refused  # noqa: E402

NAMES = {True: b"dltensor_versioned", False: b"dltensor"}
pointer_of = c.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
capsule_of = c.pythonapi.PyCapsule_New
capsule_of.restype, capsule_of.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]

SCALE = "def f(x: {t}[N, C]):\n    y = x + x\n    return y\n"


class Tensor:
    """What kiln exports, as libraries want it: __dlpack__() gives it away."""

    def __init__(self, address, versioned):
        self.capsule = capsule_of(address, NAMES[versioned], None)

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


def suffix(versioned):
    return "_versioned" if versioned else ""


def take(kiln, prog, name, capsule, versioned):
    """The kiln_arg of a capsule, which must stay."""
    arg = Arg()
    address = c.c_void_p(pointer_of(capsule, NAMES[versioned]))
    call = kiln.lib["kiln_arg_from_dlpack" + suffix(versioned)]
    kiln.check(call(prog, name, address, c.byref(arg)))
    return arg


def export(kiln, prog, name, args, versioned):
    address = c.c_void_p()
    call = kiln.lib["kiln_output_to_dlpack" + suffix(versioned)]
    kiln.check(call(prog, name, (Arg * len(args))(*args), len(args), c.byref(address)))
    return address


def compiled(kiln, text):
    graph, prog = c.c_void_p(), c.c_void_p()
    kiln.check(kiln.lib.kiln_parse(kiln.ctx, text.encode(), b"text", c.byref(graph)))
    kiln.check(kiln.lib.kiln_compile(graph, None, c.byref(prog)))
    kiln.lib.kiln_graph_destroy(graph)
    return prog


def doubled(kiln, x, capsule, versioned, dtype):
    """x + x by a program that sees x through the capsule, as a Tensor."""
    prog = compiled(kiln, SCALE.format(t=dtype))
    try:
        arg = take(kiln, prog, b"x", capsule, versioned)
        assert arg.rank == x.ndim and list(arg.shape[: x.ndim]) == list(x.shape)
        address = export(kiln, prog, b"y", [arg], versioned)
        y = Tensor(address.value, versioned)
        out = take(kiln, prog, b"y", y.capsule, versioned)
        kiln.check(kiln.lib.kiln_run(prog, None, (Arg * 2)(arg, out), 2))
        return y
    finally:
        kiln.lib.kiln_prog_destroy(prog)


def refused(status, text, call):
    try:
        call()
    except Refused as e:
        assert e.status == status and text in e.message, e
        return
    raise AssertionError(f"not refused: {text}")


def of_numpy(kiln):
    whole = np.arange(48).reshape(4, 12)
    for dtype in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                  "float16", "float32", "float64", "complex64", "complex128", "bool"]:  # fmt: skip
        name = {"float": "f", "int": "i", "uint": "u", "complex": "c"}
        kind = dtype.rstrip("0123456789")
        text = dtype if dtype == "bool" else name[kind] + dtype[len(kind) :]
        data = whole.astype(dtype)
        for x in [data, data.T, data[::2, 3:9:2], data[::-1], data[:, :0], data[1:2]]:
            for versioned in (True, False):
                capsule = x.__dlpack__(max_version=(1, 0)) if versioned else x.__dlpack__()
                y = np.from_dlpack(doubled(kiln, x, capsule, versioned, text))
                assert y.dtype == x.dtype and np.array_equal(y, x + x), (dtype, x.strides)
    print("ok - arrays of NumPy, 14 dtypes")


def read_only(kiln):
    x = np.ones((2, 3), np.float32)
    x.setflags(write=False)
    capsule = x.__dlpack__(max_version=(1, 0))
    prog = compiled(kiln, "def f(x: f32[N, C]):\n    x += 1\n")
    refused("ARGUMENT", "read-only", lambda: take(kiln, prog, b"x", capsule, True))
    kiln.lib.kiln_prog_destroy(prog)
    assert np.array_equal(np.from_dlpack(doubled(kiln, x, capsule, True, "f32")), x + x)
    print("ok - what is read-only is read only")


def memory(kiln):
    """Tensors that NumPy has released are released by kiln."""
    x = np.ones((1024, 1024), np.float32)
    for _ in range(200):  # 800 MB in all
        y = np.from_dlpack(doubled(kiln, x, x.__dlpack__(max_version=(1, 0)), True, "f32"))
        assert y[1023, 1023] == 2
        del y
    gc.collect()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    assert peak < 700, f"{peak} MB"
    print("ok - memory of outputs goes with them")


def of_torch(kiln):
    for dtype, name in [(torch.float32, "f32"), (torch.bfloat16, "bf16"), (torch.float16, "f16"),
                        (torch.int64, "i64"), (torch.bool, "bool"), (torch.complex64, "c64")]:  # fmt: skip
        data = torch.arange(48).reshape(4, 12).to(dtype)
        for x in [data, data.T, data[::2, 3:9:2]]:
            y = torch.from_dlpack(doubled(kiln, x, x.__dlpack__(), False, name))
            assert y.dtype == x.dtype and torch.equal(y, x + x), (dtype, x.stride())
    print("ok - tensors of PyTorch")


def main():
    for device in ("cpu", "ref"):
        kiln = Kiln(sys.argv[1], device)
        of_numpy(kiln)
        read_only(kiln)
        if torch:
            of_torch(kiln)
        if device == "cpu":
            memory(kiln)
        kiln.close()


main()
