"""The Python package in the place of api.py's Kiln: the same programs, through its calls and its exceptions."""
import kiln
from api import Refused

STATUS = {kiln.ArgumentError: "ARGUMENT", kiln.SyntaxError: "SYNTAX", kiln.TypeError: "TYPE", kiln.ShapeError: "SHAPE",
          kiln.MemoryError: "MEMORY", kiln.DeviceError: "DEVICE", kiln.RunError: "RUN", kiln.InternalError: "INTERNAL"}  # fmt: skip


class Package:
    def __init__(self, device):
        self.device = device

    def close(self):
        pass

    def run(self, text, inputs, outputs=None):
        try:
            program = kiln.compile(text, file="program", device=self.device)
            self.updated = [n for n in program.outputs if n in inputs]
            names = [n for n in program.outputs if n not in inputs]
            given = [(outputs or {}).get(n) for n in names]
            whole = names and all(g is not None for g in given)
            got = program(**inputs, **({"out": tuple(given)} if whole else {}))
        except kiln.Error as error:
            raise Refused(STATUS[type(error)], getattr(error, "msg", None) or str(error)) from None
        return dict(zip(names, got if isinstance(got, tuple) else [got]))

