#!/usr/bin/env python3
"""Random programs on kiln and on NumPy: equal types and shapes, values within bounds, errors where NumPy raises.

usage: differential.py LIBKILN|python [--count N] [--seed N] [--device D,...] [--verbose]

`python` is the Python package, where it is installed. A program is grown a statement at a time by running it on NumPy, in the types it is in and one size up (f32 in
f64, f64 in long double). The difference of the two says how far rounding may move each element; where it
moves a result that cannot move a little (a comparison, a floor, an index), the element does not count. A
program whose last statement makes NumPy raise must be refused by kiln, for a reason of the same kind.
"""
import argparse
import functools
import sys
import warnings

sys.dont_write_bytecode = True
from numpy2 import np  # noqa: E402
from api import Kiln, Refused  # noqa: E402
from grow import Program, copied  # noqa: E402

REASONS = {  # what NumPy raises, and the kiln_status that says the same
    TypeError: {"TYPE", "SYNTAX", "SHAPE"},
    ValueError: {"SHAPE", "TYPE", "SYNTAX", "ARGUMENT"},
    IndexError: {"SHAPE", "SYNTAX", "RUN", "TYPE"},  # sizes are known later than types
    OverflowError: {"TYPE"},
    ZeroDivisionError: {"TYPE"},
}


def problem_of(got, narrow, wide, scale, eps):
    """None, or how `got` differs from NumPy's `narrow`, which in exact arithmetic is about `wide`;
    `eps` is that of the shortest type on the way."""
    narrow, wide = np.asarray(narrow), np.asarray(wide)
    if got.dtype != narrow.dtype:
        return f"is {got.dtype}, NumPy has {narrow.dtype}"
    if got.shape != narrow.shape:
        return f"has shape {got.shape}, NumPy {narrow.shape}"
    ok = (got == narrow) | ((got != got) & (narrow != narrow))
    if narrow.dtype.kind in "fc":
        near = wide.astype(narrow.dtype)
        with np.errstate(all="ignore"):
            moved = np.abs(narrow - near)
            allowed = 16 * moved + 64 * eps * (np.abs(narrow) + scale)
            ok |= np.isfinite(moved) & (np.abs(got - narrow) <= allowed)
            # the two of NumPy differ altogether: nothing is known
            ok |= moved > 0.01 * (np.abs(narrow) + scale)
            ok |= np.isfinite(narrow) != np.isfinite(near)
            ok |= np.isnan(narrow) != np.isnan(near)
    else:
        ok |= narrow != wide.astype(narrow.dtype)
    if ok.all():
        return None
    at = tuple(int(k) for k in np.argwhere(~ok)[0])
    return f"at {list(at)} it is {got[at]!r}, NumPy has {narrow[at]!r}, and {wide[at]!r} one size up"


def spread(narrow, order):
    """Memory for an output, every third element of some that nobody may touch, in some order of axes."""
    axes = np.random.default_rng(order).permutation(narrow.ndim)
    memory = np.full(tuple(3 * narrow.shape[a] for a in axes), 77).astype(narrow.dtype)
    return memory, memory[(*(slice(1, None, 3) for _ in axes), ...)].transpose(np.argsort(axes))


def check(kiln, program, order=None):
    """What is wrong, or None. With an order, outputs have strides."""
    given = {}
    if order is not None and not program.raised:
        given = {n: spread(np.asarray(narrow), order) for n, (narrow, _) in program.outputs.items()}
    inputs = {n: copied(x) if program.updates else x for n, x in program.inputs.items()}
    try:
        got = kiln.run(program.text, inputs, {n: out for n, (_, out) in given.items()})
    except Refused as refused:
        if program.may_refuse(refused.message):
            return None
        if not program.raised:
            return f"refused: {refused}"
        if any(refused.status in REASONS.get(kind, ()) for kind in type(program.raised).__mro__):
            return None
        return f"refused for another reason: {refused}, NumPy: {program.raised!r}"
    if program.raised:
        return None if kiln.clamps and isinstance(program.raised, IndexError) else f"NumPy raises {program.raised!r}"
    for name in kiln.updated:
        narrow, wide = program.vars[name]
        difference = problem_of(inputs[name], narrow, wide, program.scale, program.eps)
        if difference:
            return f"{name}, updated, {difference}"
    for name, (narrow, wide) in program.outputs.items():
        own = np.size(narrow) == 0 or any(np.shares_memory(narrow, program.vars[n][0]) for n in kiln.updated)
        if name not in got and kiln.updated and own:
            continue  # it is the parameter itself
        difference = problem_of(got[name], narrow, wide, program.scale, program.eps)
        if difference:
            return f"{name} {difference}"
        if name in given and got[name] is given[name][1]:
            memory, out = given[name]
            out[...] = 77
            if (memory != np.full((), 77).astype(memory.dtype)).any():
                return f"{name}, which has strides: something between its elements was written"
    return None


class Long:
    """A program of a very long or very tall array."""

    def __init__(self, shape, expression):
        x = (np.arange(1_000_000) * 7919 % 1009 / 64).astype(np.float32).reshape(shape)
        self.text = f"def program(x: f32[N, M]):\n    y = {expression}\n    return y\n"
        results = [eval(expression, {"np": np}, {"x": np.asarray(x, t)}) for t in (np.float32, np.float64)]
        self.inputs, self.outputs = {"x": x}, {"y": tuple(results)}
        self.raised, self.updates, self.scale, self.eps = None, False, float(np.abs(results[1]).max()), 1.2e-7

    def may_refuse(self, _):
        return False


LONG = ("np.sum(x, axis=0)", "np.sum(x, axis=1, keepdims=True)", "np.mean(x)", "np.argmax(x, axis=0)", "x - np.max(x, axis=(0, 1))",
        "x.T[::-1] * 2", "np.std(x, axis=1)", "np.concatenate((x, x), axis=1)[:, 1:]")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("library")
    parser.add_argument("--count", type=int, default=2400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="ref,cpu")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.library == "python":
        from package import Package as make
    else:
        make = functools.partial(Kiln, args.library)
    devices = {d: make(d) for d in args.device.split(",")}
    failed = raised = refused = 0
    used = {}
    for seed in range(args.seed, args.seed + args.count):
        program = Program(np.random.default_rng([20250, seed]))
        raised += program.raised is not None
        for op in program.ops:
            used[op] = used.get(op, 0) + 1
        for device, kiln in devices.items():
            problem = check(kiln, program, seed if seed % 2 else None)
            if problem:
                failed += 1
                shapes = ", ".join(f"{n} {x.dtype}{list(x.shape)} strides {x.strides}"
                                   for n, x in program.inputs.items())  # fmt: skip
                print(f"FAIL --seed {seed} --count 1 on {device}: {problem}\n  {shapes}")
                print("  " + program.text.replace("\n", "\n  "))
                break
        if failed >= 20:
            print("stopped after 20 failures")
            break
    for shape in ((1_000_000, 1), (1, 1_000_000)):
        for expression in LONG:
            problem = check(devices["cpu"], Long(shape, expression)) if "cpu" in devices else None
            failed += problem is not None
            if problem:
                print(f"FAIL {expression} of {shape}: {problem}")
    for kiln in devices.values():
        kiln.close()
    if args.verbose:
        print(", ".join(f"{n} {k}" for k, n in sorted(used.items(), key=lambda item: -item[1])))
    print(f"{args.count} programs on {args.device}: {failed} failed; NumPy raised in {raised}, "
          f"{len(used)} different operations")  # fmt: skip
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
