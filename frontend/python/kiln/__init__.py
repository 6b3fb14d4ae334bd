"""kiln: array expressions compiled to one kernel.

    from __future__ import annotations   # N and C are sizes, which Python need not know
    import kiln, torch

    @kiln.jit
    def softmax(x: f32[N, C]):
        e = exp(x - max(x, axis=1, keepdims=True))
        y = e / sum(e, axis=1, keepdims=True)
        return y

    y = softmax(torch.randn(1024, 4096, device="cuda"))

The function's text is the program, in kiln's language (docs/language.md); Python never runs it. Arrays come and go through
DLPack without a copy: PyTorch's, NumPy's, JAX's, CuPy's.
"""

from . import _kiln
from ._errors import (ArgumentError, CompileError, DeviceError, Error, InternalError, IoError, MemoryError, RunError,
                      ShapeError, SyntaxError, TypeError)  # fmt: skip
from ._program import Program, compile, jit, parse_file, sizes
from ._types import *  # noqa: F403
from ._types import __all__ as _types

__version__ = _kiln.version()


def doctor():
    """What this machine has, and what to do about what is missing."""
    from ._program import find_nvrtc

    find_nvrtc()
    return _kiln.doctor()


__all__ = ["ArgumentError", "CompileError", "DeviceError", "Error", "InternalError", "IoError", "MemoryError", "Program",
           "RunError", "ShapeError", "SyntaxError", "TypeError", "compile", "doctor", "jit", "parse_file", "sizes",
           *_types]  # fmt: skip
