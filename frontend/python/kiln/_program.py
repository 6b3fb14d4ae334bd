"""Programs: from a text, from a file, from a function's source."""
import ast
import ctypes
import functools
import glob
import importlib.util
import inspect
import os
import threading
from pathlib import Path

from . import _kiln
from ._errors import Error, moved
from ._types import Size

_contexts = {}
_lock = threading.Lock()
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # DLPack's device types


@functools.cache
def find_nvrtc():
    """Loads the kernel compiler of the packages nvidia-cuda-nvrtc*, where they are installed beside this one; kiln finds
    it then by its name."""
    if os.environ.get("KILN_NVRTC"):
        return
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(glob.glob(f"{folder}/cu*/lib/libnvrtc.so.1[0-9]"), reverse=True):
            try:
                ctypes.CDLL(path)
                return
            except OSError:
                continue


def context(device):
    """The context of a device, of which there is one in the process."""
    if device.startswith("cuda") or device == "auto":
        find_nvrtc()
    with _lock:
        if device not in _contexts:
            _contexts[device] = _kiln.Context(device)
        return _contexts[device]


class Program(_kiln.Program):
    """A program, called with arrays and numbers: by position in the order of its parameters, or by name.

    f(x, gamma, eps=1e-5) returns its output, or a tuple of them, as arrays of the library that the first array is of; None
    where the program only updates parameters. It runs on the device that the arrays are on (`device`: on this one) and, on
    a GPU, in the current stream of their library.

    out=     arrays for the outputs, instead of new ones: one, or a tuple
    stream=  the address of a CUDA stream, instead of the current one
    """

    def __init__(self, text, file=None, name=None, *, device=None, halves=(), **options):
        self._device = device
        self._source = text, file, name, options
        self._halves = halves
        super().__init__(text, file, name, options, device is not None, halves)

    def _context(self, kind, index):
        if self._device:
            return context(self._device)
        if kind in (CPU, CUDA_HOST):
            return context("cpu")
        if kind in (CUDA, CUDA_MANAGED):
            return context(f"cuda:{index}")
        raise TypeError(f"kiln has no device of DLPack's type {kind}")

    @property
    def parameters(self):
        """The parameters as text: {"x": "f32[N, C]", "eps": "f32"}."""
        return {n: _type_text(k, t, d) for k, n, t, d in self._io() if k != "output"}

    @property
    def outputs(self):
        """The outputs and updated parameters as text."""
        return {n: _type_text(k, t, d) for k, n, t, d in self._io() if k in ("output", "updated")}

    def explain(self, *, stage=None, arch="sm_90", verbose=False, **shapes):
        """What would run and why, as text: explain(x=(1024, 4096)), or of arrays; sizes that do not follow are assumed.
        stage: "html" (a page of drawings), "graph", "ir", "schedule", "cuda", ...; arch: a GPU's architecture, "cpu", or None
        for the program's device."""
        if stage in ("ptx", "resources"):
            find_nvrtc()
        return self._explain(_shapes(shapes), stage, arch, verbose)

    def split(self, late, *, save=None, arch="sm_90", **shapes):
        """Two programs of one: what can be computed before the parameters `late` are known, as "dy" that comes from outside,
        and the rest. The first one returns, behind its own outputs, values that it saves, which the second one has as
        parameters of the same names. Either may be split again:

            forward, backward = f.split("dy", x=(1024, 4096))
            y, *saved = forward(x, gamma)
            dx = backward(dy=dy, **{n: v for n, v in zip(forward.saved, saved)} | {"x": x, "gamma": gamma})

        save: names of values with commas, "" for none; else they are chosen by the time predicted for these shapes on a GPU
        of architecture `arch`."""
        text, file, name, options = self._source
        types = {n: t for _, n, t, _ in self._io()}
        if unknown := shapes.keys() - types:
            raise TypeError(f"{self.name} has no parameter '{min(unknown)}'")
        given = [(n, types[n], s) for n, s in _shapes(shapes)]

        def half(which, save):
            of = which, late, save, arch, given
            return Program(text, file, name, device=self._device, halves=(*self._halves, of), **options)

        forward = half(0, save)
        saved = [n for n in forward.outputs if n not in self.outputs]
        if save is None:  # the same on every device
            forward = half(0, ",".join(saved))
        backward = half(1, ",".join(saved))
        forward.saved = saved
        return forward, backward

    def bench(self, *args, **kwargs):
        """Measures a call fused, and as one kernel an operation: launches, device_us and host_us (medians, cold caches),
        bytes moved, compile_ms, and copy_gbps of a large copy."""
        text, file, name, options = self._source
        unfused = Program(text, file, name, device=self._device, halves=self._halves, **{**options, "fusion": False})
        return {"fused": self._measure(*args, **kwargs), "unfused": unfused._measure(*args, **kwargs)}

    def __repr__(self):
        return f"<kiln.Program {self.name}({', '.join(f'{n}: {t}' for n, t in self.parameters.items())})>"


def _shapes(given):
    return [(n, tuple(getattr(s, "shape", s if isinstance(s, tuple) else (s,)))) for n, s in given.items()]


def _type_text(kind, dtype, dims):
    return dtype if kind == "number" else f"{dtype}[{dims or '()'}]"


def compile(text, name=None, *, file=None, device=None, **options):
    """The program of a text: of its function `name`, or of its only one. Options are those of kiln_options: fusion,
    schedule, reuse, max_threads, max_kinds, fast_math, autotune, batch_invariant."""
    return Program(text, file, name, device=device, **options)


def parse_file(path, name=None, *, device=None, **options):
    """The program of a .kiln file."""
    return Program(Path(path).read_text(encoding="utf-8"), str(path), name, device=device, **options)


def sizes(names):
    """Names for annotations that Python evaluates: N, C = kiln.sizes("N C")."""
    made = [Size(n) for n in names.replace(",", " ").split()]
    return made[0] if len(made) == 1 else made


def _source(function):
    """The function's text on the lines that it has in its file, without decorators; and how many columns further to the
    right it stands there."""
    lines, first = inspect.getsourcelines(function)
    indent = len(lines[0]) - len(lines[0].lstrip())
    lines = [line[indent:] if not line[:indent].strip() else line for line in lines]
    node = ast.parse("".join(lines)).body[0]
    if not isinstance(node, ast.FunctionDef):
        raise TypeError("kiln.jit wants a function that was written with def")
    text = "\n" * (first + node.lineno - 2) + "".join(lines[node.lineno - 1 :])
    return text, indent


def jit(function=None, *, device=None, **options):
    """Makes a program of a function, whose source is its text: @kiln.jit, or @kiln.jit(autotune=2000). The annotations are
    kiln's types: with `from __future__ import annotations`, f32[N, C] needs neither f32 nor N to be defined."""
    if function is None:
        return functools.partial(jit, device=device, **options)
    text, indent = _source(function)
    file = inspect.getsourcefile(function)
    try:
        program = Program(text, file, None, device=device, **options)
    except Error as error:
        raise moved(error, indent) from None
    return functools.update_wrapper(program, function)
