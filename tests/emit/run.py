"""Emitted programs: they compile without a warning, as C11 and C++17, and compute what `kiln run` does, for many sizes.

    run.py KILN DIR [--by COMPILER] FILE.kiln ...

Each program is emitted into DIR, compiled by the compilers that are there, or by one, and run at sizes drawn by chance, some
of which it refuses: then kiln must, too.
"""
import ctypes
import os
import random
import re
import shutil
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)

TYPES = {"bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8,
         "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64}
SCALARS = {np.float32: ctypes.c_float, np.float64: ctypes.c_double, np.int32: ctypes.c_int32, np.int64: ctypes.c_int64,
           np.bool_: ctypes.c_uint8}
SIZES = [0, 1, 1, 2, 3, 4, 5, 8, 16, 17, 31, 64, 200, 300]
FLAGS = ["-O1", "-Wall", "-Wextra", "-pedantic", "-Werror"]
LANGUAGES = {"gcc": ["-std=c11"], "clang": ["-std=c11"], "g++": ["-x", "c++", "-std=c++17"],
             "clang++": ["-x", "c++", "-std=c++17"]}


class Program:
    """An emitted program, by what its header says of it."""

    def __init__(self, header):
        with open(header) as f:
            text = f.read()
        self.name = re.search(r"/\* (\w+): made by kiln", text)[1]
        self.arrays = {}
        for m in re.finditer(r"^ \*     (\w+): (\w+)(?:\[(.*?)\])?(, .*)?$", text, re.M):
            self.arrays[m[1]] = (TYPES[m[2]], m[3], m[4] or "")
        run = re.search(r"int %s_run\(.*?\*stream, (.*?)\);" % self.name, text, re.S)[1]
        self.parameters = [re.split(r"[ *]+", p.strip())[-1] for p in run.split(",")]
        sizes = re.search(r"int64_t %s_workspace\(\w+ \*ctx(.*?)\);" % self.name, text)[1]
        self.sizes = [p.split()[-1] for p in sizes.split(",")[1:]]

    def shape(self, name, sizes):
        dims = self.arrays[name][1]
        if dims is None:
            return None
        if dims in ("", "()"):
            return ()
        return tuple(eval(re.sub("/+", "//", d), {"min": min, "max": max}, dict(sizes)) for d in split(dims))

    def inputs(self, sizes, rng):
        return {name: data(rng, dtype, self.shape(name, sizes) or ()) for name, (dtype, dims, how) in self.arrays.items()
                if how != ", written"}

    def words(self, sizes):
        """These sizes as the command takes them: x=f32[2,3]."""
        return [f"{name}={next(t for t, d in TYPES.items() if d == dtype)}[{','.join(map(str, self.shape(name, sizes)))}]"
                for name, (dtype, dims, how) in self.arrays.items() if how != ", written" and dims is not None]

    def arguments(self, sizes, inputs, workspace, place):
        """What a run takes behind its stream, and the arrays by name; place(array) is the address to give for it."""
        values, arguments = {}, []
        for name in self.parameters:
            if name in sizes:
                arguments.append(ctypes.c_int64(sizes[name]))
            elif name == "workspace":
                arguments.append(ctypes.c_void_p(workspace))
            elif self.arrays[name][1] is None:
                arguments.append(SCALARS[self.arrays[name][0]](inputs[name].item()))
            else:
                shape = [max(n, 0) for n in self.shape(name, sizes)]
                values[name] = inputs[name].copy() if name in inputs else np.full(shape, 77).astype(self.arrays[name][0])
                arguments.append(ctypes.c_void_p(place(values[name])))
        return arguments, values

    def written(self, values):
        return {n: v for n, v in values.items() if "written" in self.arrays[n][2]}


def split(dims):
    """At commas that are in no parentheses."""
    parts, depth = [""], 0
    for c in dims:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def compile_all(folder, name, languages=LANGUAGES):
    made = {}
    for compiler, language in languages.items():
        if not shutil.which(compiler):
            continue
        path = os.path.join(folder, f"{name}.{compiler}.so")
        link = ["-lstdc++"] if "c++" in compiler else []
        subprocess.run([compiler, *language, *FLAGS, "-shared", "-fPIC", os.path.join(folder, name + ".c"), "-o", path,
                        "-lm", *link], check=True)
        made[compiler] = ctypes.CDLL(path)
    return made


def data(rng, dtype, shape):
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        return rng.integers(0, 10, shape).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


def run_kiln(kiln, file, inputs, folder):
    """The outputs by name; None where kiln refuses."""
    out = os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    words = []
    for name, value in inputs.items():
        path = os.path.join(folder, name + ".npy")
        np.save(path, value)
        words.append(f"{name}={path}")
    done = subprocess.run([kiln, "run", file, *words, "-o", out, "--device", "cpu"], capture_output=True, text=True)
    if done.returncode == 2 or "out of bounds" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    return {f[:-4]: np.load(os.path.join(out, f)) for f in os.listdir(out)}


def run_emitted(library, program, sizes, inputs, workspace):
    """The status, and the outputs by name."""
    arguments, values = program.arguments(sizes, inputs, workspace, lambda array: array.ctypes.data)
    return getattr(library, program.name + "_run")(None, None, *arguments), program.written(values)


def same(a, b):
    if np.issubdtype(a.dtype, np.floating):
        bound = {np.dtype(np.float16): 4e-3}.get(a.dtype, 3e-5)
        return np.allclose(a, b, rtol=bound, atol=bound, equal_nan=True)
    return np.array_equal(a, b)


def check_sizes(kiln, file, program, libraries, sizes, folder, rng):
    try:
        inputs = program.inputs(sizes, rng)
    except ZeroDivisionError:
        return False
    expected = run_kiln(kiln, file, inputs, folder)
    for compiler, library in libraries.items():
        message = getattr(library, program.name + "_message")
        message.restype = ctypes.c_char_p
        size_of = getattr(library, program.name + "_workspace")
        size_of.restype = ctypes.c_int64
        need = size_of(None, *[ctypes.c_int64(sizes[s]) for s in program.sizes])
        status, outputs = run_emitted(library, program, sizes, inputs, None)
        what = f"{program.name} by {compiler} at {sizes}: {message(status).decode()}"
        assert (expected is None) == (status != 0), what
        assert (need < 0) == (status != 0 and "that it indexes" not in what), what
        if expected is None:
            continue
        memory = np.zeros(need + 64, np.uint8)
        at = memory.ctypes.data + -memory.ctypes.data % 64
        again = run_emitted(library, program, sizes, inputs, at)
        assert again[0] == 0, what
        for name, value in outputs.items():
            assert same(expected[name], value), f"{what}: {name}"
            assert np.array_equal(value, again[1][name], equal_nan=value.dtype.kind == "f"), what
    return expected is not None


def check_given(kiln, file, program, sizes, folder, rng):
    """Sizes that were given to kiln emit, and others."""
    folder = os.path.join(folder, "given")
    subprocess.run([kiln, "emit", file, *program.words(sizes), "--cpu", "-o", folder, "--name", program.name], check=True,
                   stdout=subprocess.DEVNULL)
    libraries = compile_all(folder, program.name, {"gcc": LANGUAGES["gcc"]})
    assert check_sizes(kiln, file, program, libraries, sizes, folder, rng)
    check_sizes(kiln, file, program, libraries, {s: 2 * n for s, n in sizes.items()}, folder, rng)


def check(kiln, folder, file, seed, languages):
    stem = os.path.splitext(os.path.basename(file))[0]
    folder = os.path.join(folder, stem)
    shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run([kiln, "emit", file, "--cpu", "-o", folder, "--name", stem], capture_output=True, text=True)
    assert done.returncode == 0, f"{file}: {done.stderr}"
    again = subprocess.run([kiln, "emit", file, "--cpu", "-o", folder + ".again", "--name", stem], capture_output=True)
    assert again.returncode == 0
    for name in os.listdir(folder):  # to the byte
        with open(os.path.join(folder, name)) as a, open(os.path.join(folder + ".again", name)) as b:
            assert a.read() == b.read(), name
    program = Program(os.path.join(folder, stem + ".h"))
    libraries = compile_all(folder, stem, languages)
    rng, chance = np.random.default_rng(seed), random.Random(seed)
    ran = refused = 0
    given = None
    while ran < 6 and ran + refused < 60:
        sizes = {s: chance.choice(SIZES) for s in program.sizes}
        if chance.random() < 0.3:  # sizes that are alike satisfy more programs
            sizes = {s: 4 * 2 ** i for i, s in enumerate(program.sizes)}
            if chance.random() < 0.5:
                sizes = dict(zip(sizes, reversed(list(sizes.values()))))
        if check_sizes(kiln, file, program, libraries, sizes, folder, rng):
            ran += 1
            given = sizes if min(sizes.values(), default=1) > 1 else given
        else:
            refused += 1
    assert ran, f"{file}: no sizes were found that it takes"
    if given:
        check_given(kiln, file, program, given, folder, rng)
    print(f"{stem}: {ran} sizes run, {refused} refused, by {', '.join(libraries)}")


def main():
    kiln, folder, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    languages = LANGUAGES
    if files[0] == "--by":
        languages, files = {files[1]: LANGUAGES[files[1]]}, files[2:]
    os.makedirs(folder, exist_ok=True)
    for file in files:
        check(kiln, folder, file, 1, languages)


if __name__ == "__main__":
    main()
