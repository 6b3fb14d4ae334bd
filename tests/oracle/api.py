"""kiln's C API for Python, as far as the tests need it: many programs in one process, on NumPy's own memory
with whatever strides it has."""
import ctypes as c
import re
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
STATUS = re.findall(r"KILN_(?:ERR_)?(\w+)", re.search(
    r"typedef enum kiln_status \{(.*?)\} kiln_status",
    re.sub(r"/\*.*?\*/", "", (ROOT / "frontend/kiln.h").read_text(), flags=re.S), re.S)[1])  # fmt: skip
CODES = {m[3]: int(m[1]) for m in re.finditer(
    r'^DTYPE\(\w+,\s*(\d+),\s*"(\w+)".*"(\w+)"\)',
    (ROOT / "ir/dtype.def").read_text(), re.M)}  # fmt: skip


class Config(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("device", c.c_char_p), ("threads", c.c_int),
                ("alloc", c.c_void_p), ("release", c.c_void_p), ("user", c.c_void_p),
                ("emulator", c.c_char_p)]  # fmt: skip


class Io(c.Structure):
    _fields_ = [("kind", c.c_int), ("name", c.c_char_p), ("dtype", c.c_int), ("rank", c.c_int),
                ("dims", c.c_char_p), ("has_default", c.c_bool), ("dflt", c.c_double),
                ("dflt_imag", c.c_double)]  # fmt: skip


class Arg(c.Structure):
    _fields_ = [("name", c.c_char_p), ("data", c.c_void_p), ("dtype", c.c_int), ("rank", c.c_int),
                ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64))]  # fmt: skip


class Refused(Exception):
    """A status of kiln's that is not OK."""

    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status, self.message = status, message


def dtype_of(code):
    return next(np.dtype(name) for name, known in CODES.items() if known == code)


def integers(values):
    return (c.c_int64 * max(1, len(values)))(*values)


def argument(name, x):
    return Arg(name.encode(), x.ctypes.data, CODES[x.dtype.name], x.ndim, integers(x.shape),
               integers([s // x.itemsize for s in x.strides]))  # fmt: skip


class Kiln:
    """A context on one device."""

    clamps = False  # an index out of bounds is an error

    def __init__(self, library, device):
        self.lib = c.CDLL(str(library))
        self.lib.kiln_last_error.restype = c.c_char_p
        self.ctx = c.c_void_p()
        # Not kiln_config_init(): it is for the header's struct, which may have more fields than this one.
        config = Config(struct_size=c.sizeof(Config), device=device.encode())
        self.check(self.lib.kiln_ctx_create(c.byref(config), c.byref(self.ctx)))

    def close(self):
        self.lib.kiln_ctx_destroy(self.ctx)

    def check(self, status):
        if status:
            raise Refused(STATUS[status], self.lib.kiln_last_error().decode(errors="replace"))

    def run(self, text, inputs, outputs=None):
        """The outputs of a program for these arrays, by name. Memory for some of the outputs may be given;
        an input is updated in place where the program says so."""
        graph, prog = c.c_void_p(), c.c_void_p()
        try:
            self.check(self.lib.kiln_parse(self.ctx, text.encode(), b"program", c.byref(graph)))
            self.check(self.lib.kiln_compile(graph, None, c.byref(prog)))
            return self.call(prog, inputs, outputs or {})
        finally:
            self.lib.kiln_prog_destroy(prog)
            self.lib.kiln_graph_destroy(graph)

    def call(self, prog, inputs, outputs):
        args = [argument(n, x) for n, x in inputs.items()]
        io, made, self.updated = Io(), {}, []
        for k in range(self.lib.kiln_prog_io_count(prog)):
            self.check(self.lib.kiln_prog_io(prog, k, c.byref(io)))
            if io.kind == 2:
                made[io.name.decode()] = None
            if io.kind == 3:
                self.updated.append(io.name.decode())
        for name in made:
            dtype, rank, shape = c.c_int(), c.c_int(), (c.c_int64 * 16)()
            self.check(self.lib.kiln_output_shape(
                prog, name.encode(), (Arg * max(1, len(args)))(*args), len(args), c.byref(dtype),
                c.byref(rank), shape))  # fmt: skip
            given = outputs.get(name)
            made[name] = np.empty(shape[:rank.value], dtype_of(dtype.value)) if given is None else given
        args += [argument(n, x) for n, x in made.items()]
        self.check(self.lib.kiln_run(prog, None, (Arg * len(args))(*args), len(args)))
        return made
