"""The Python package in the place of api.py's Kiln: the same programs, through its calls and its exceptions. On a GPU arrays
are CuPy's, laid out as NumPy's are."""
import kiln
import numpy as np
from api import Refused

STATUS = {kiln.ArgumentError: "ARGUMENT", kiln.SyntaxError: "SYNTAX", kiln.TypeError: "TYPE", kiln.ShapeError: "SHAPE",
          kiln.MemoryError: "MEMORY", kiln.DeviceError: "DEVICE", kiln.RunError: "RUN", kiln.InternalError: "INTERNAL"}  # fmt: skip


def to_gpu(x):
    """A copy with the same strides."""
    import cupy

    low, high = np.lib.array_utils.byte_bounds(x)
    memory = cupy.zeros(max(high - low, 1) + x.itemsize, np.uint8)
    at = cupy.cuda.MemoryPointer(memory.data.mem, memory.data.ptr - memory.data.mem.ptr + x.ctypes.data - low)
    made = cupy.ndarray(x.shape, x.dtype, at if x.size else None, x.strides if x.size else None)
    if x.size:
        made[...] = cupy.asarray(x)
    return made


class Package:
    def __init__(self, device):
        self.device = device
        self.clamps = device.startswith("cuda")  # an index out of bounds takes the nearest element: docs/language.md

    def close(self):
        pass

    def run(self, text, inputs, outputs=None):
        try:
            program = kiln.compile(text, file="program", device=self.device)
            self.updated = [n for n in program.outputs if n in inputs]
            names = [n for n in program.outputs if n not in inputs]
            given = [(outputs or {}).get(n) for n in names]
            whole = bool(names) and all(g is not None for g in given)
            call = self.call_on_gpu if self.clamps else self.call
            return dict(zip(names, call(program, inputs, given if whole else None)))
        except kiln.Error as error:
            raise Refused(STATUS[type(error)], getattr(error, "msg", None) or str(error)) from None

    def call(self, program, inputs, given):
        got = program(**inputs, **({"out": tuple(given)} if given else {}))
        return got if isinstance(got, tuple) else [] if got is None else [got]

    def call_on_gpu(self, program, inputs, given):
        arrays = {n: to_gpu(x) for n, x in inputs.items()}
        got = self.call(program, arrays, [to_gpu(x) for x in given] if given else None)
        for n in self.updated:
            inputs[n][...] = arrays[n].get()
        if not given:
            return [x.get() for x in got]
        for x, y in zip(given, got):
            x[...] = y.get()
        return given
