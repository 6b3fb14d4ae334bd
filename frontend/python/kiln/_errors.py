"""kiln's failures as Python's exceptions. Each is a kiln.Error and what Python has for the like."""
import builtins
import re

_PLACE = re.compile(r"(?P<file>[^\n]*?):(?P<line>\d+):(?P<column>\d+): (?P<said>[^\n]*)\n    (?P<text>[^\n]*)\n *\^?")


class Error(Exception):
    """What kiln refuses or cannot do; `file`, `line` and `column` where it is in a program's text."""

    file = line = column = None


class ArgumentError(Error, ValueError):
    """An argument is missing, unknown, or not what the program wants."""


class SyntaxError(Error, builtins.SyntaxError):
    """The text is none of kiln's language."""


class TypeError(Error, builtins.TypeError):
    """An operation has no meaning for these element types."""


class ShapeError(Error, ValueError):
    """Shapes that do not fit, a violated assertion."""


class MemoryError(Error, builtins.MemoryError):
    """Out of memory, the host's or the device's."""


class IoError(Error, OSError):
    """A file cannot be read."""


class DeviceError(Error, RuntimeError):
    """No such device, no driver, no compiler."""


class CompileError(Error, RuntimeError):
    """The kernel compiler refused: a bug of kiln's."""


class RunError(Error, RuntimeError):
    """The driver reported an error."""


class InternalError(Error, RuntimeError):
    """A broken invariant of kiln's own."""


_BY_STATUS = [Error, ArgumentError, SyntaxError, TypeError, ShapeError, MemoryError, IoError, DeviceError, CompileError,
              RunError, InternalError]  # fmt: skip


def made(status, message):
    """The exception of a kiln_status."""
    kind = _BY_STATUS[status]
    place = _PLACE.match(message)
    if kind is SyntaxError and place:
        # Python shows the line and the caret itself
        error = kind(place["said"], (place["file"], int(place["line"]), int(place["column"]), place["text"] + "\n"))
    else:
        error = kind(message)
    if place:
        error.file, error.line, error.column = place["file"], int(place["line"]), int(place["column"])
    return error


def moved(error, by):
    """The same of a text whose lines stand `by` columns further to the right in the file."""
    if error.column is None or not by:
        return error
    error.column += by
    if isinstance(error, SyntaxError):
        error.offset += by
        error.text = " " * by + error.text
        return error
    old = f"{error.file}:{error.line}:{error.column - by}: "
    shown = str(error).replace(old, f"{error.file}:{error.line}:{error.column}: ", 1)
    again = type(error)(shown)
    again.file, again.line, again.column = error.file, error.line, error.column
    return again
