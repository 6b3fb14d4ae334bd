"""Random programs, emitted, against kiln run: random_programs.py KILN DIR [FIRST COUNT]"""
import ctypes
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))
from grow import Program as Grown  # noqa: E402
from run import Program, run_emitted, run_kiln, same, split  # noqa: E402

# Programs that have no sizes by which an example could stand for others, and what emit does not have.
REFUSED = r"complex numbers|cannot be emitted|needs .* but it is|is not a whole number|takes sizes"


def sizes_of(program, inputs):
    """The sizes by the inputs' shapes."""
    sizes = {}
    for name, x in inputs.items():
        dims = program.arrays[name][1]
        for dim, size in zip(split(dims) if dims and dims != "()" else [], x.shape):
            if dim.strip().isidentifier():
                sizes[dim.strip()] = size
    return sizes if set(program.sizes) <= set(sizes) else None


def check(kiln, folder, seed):
    """What became of the program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grown = Grown(np.random.default_rng([20250, seed]))
    if grown.raised:
        return "raises"
    name, file = f"p{seed}", f"{folder}/p{seed}.kiln"
    with open(file, "w") as f:
        f.write(grown.text)
    done = subprocess.run([kiln, "emit", file, "--cpu", "-o", folder, "--name", name], capture_output=True, text=True)
    if done.returncode == 2 and re.search(REFUSED, done.stderr):
        return "refused"
    assert done.returncode == 0, f"{grown.text}\n{done.stderr}"
    path = f"{folder}/{name}.so"
    # every second one stores past the caches whatever it can
    subprocess.run(["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC",
                    *["-DKN_STREAM_BYTES=1.0"][seed % 2:], f"{folder}/{name}.c", "-o", path, "-lm"], check=True)
    program = Program(f"{folder}/{name}.h")
    inputs = {n: np.array(x, order="C") for n, x in grown.inputs.items()}
    sizes = sizes_of(program, inputs)
    if sizes is None:
        return "sizes unknown"
    expected = run_kiln(kiln, file, inputs, folder)
    status, outputs = run_emitted(ctypes.CDLL(path), program, sizes, inputs, None)
    assert (expected is None) == (status != 0), f"seed {seed}: status {status}\n{grown.text}"
    for output, value in outputs.items() if status == 0 else []:
        assert same(expected[output], value.reshape(expected[output].shape)), f"seed {seed}: {output}\n{grown.text}"
    return "run"


def main():
    kiln, folder = sys.argv[1:3]
    first, count = map(int, sys.argv[3:5]) if len(sys.argv) > 3 else (1, 40)
    os.makedirs(folder, exist_ok=True)
    found = {}
    for seed in range(first, first + count):
        what = check(kiln, folder, seed)
        found[what] = found.get(what, 0) + 1
    print(", ".join(f"{n} {what}" for what, n in found.items()))
    assert found.get("run", 0) > count // 4


main()
