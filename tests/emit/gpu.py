"""Programs emitted for GPUs, on a driver whose GPU is the emulator: gpu.py KILN DIR DRIVER FILE.kiln ...

DRIVER is the folder of driver.c's libcuda.so.1, which is to be in LD_LIBRARY_PATH. Machine code is only looked at; what runs is
the source that kiln emit writes beside it, so that numbers, blocks, memory and the choice of plans are what is tested. Skipped
where there is no NVRTC.
"""
import ctypes
import os
import shutil
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)

from run import LANGUAGES, TYPES, Program, compile_all, data, run_kiln, same

HOST = "is memory of the host"
TARGETS, GIVEN = ["--arch", "sm_90", "--cpu"], "N=12 M=4"


class Device:
    """The driver, by what a test asks of it, and its memory."""

    def __init__(self, folder):
        self.driver = ctypes.CDLL(os.path.join(folder, "libcuda.so.1"))
        self.driver.cuInit(0)

    def array(self, value, misalign=0):
        """A copy on the device; its address, and the block to free."""
        block = ctypes.c_uint64()
        assert self.driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(max(value.nbytes, 1) + misalign)) == 0
        ctypes.memmove(block.value + misalign, value.ctypes.data, value.nbytes)
        return block.value + misalign, block


class Emitted:
    """A program's library, on the device that the driver is."""

    def __init__(self, folder, name, device, libraries):
        self.program = Program(os.path.join(folder, name + ".h"))
        self.library, self.device = libraries["gcc"], device
        for call, type in (("message", ctypes.c_char_p), ("workspace", ctypes.c_int64)):
            getattr(self.library, f"{name}_{call}").restype = type
        os.environ["KILN_FAKE_SOURCES"] = folder
        self.context = ctypes.c_void_p()
        self.status = self.call("create", ctypes.byref(self.context), b"cuda")

    def call(self, what, *arguments):
        return getattr(self.library, f"{self.program.name}_{what}")(*arguments)

    def words(self, status):
        return self.call("message", status).decode()

    def workspace(self, sizes):
        return self.call("workspace", self.context, *[ctypes.c_int64(sizes[s]) for s in self.program.sizes])

    def run(self, inputs, sizes, workspace=None, misalign=0):
        """The status and the outputs by name."""
        program, arguments, arrays = self.program, [], {}
        for name in program.parameters:
            if name in sizes:
                arguments.append(ctypes.c_int64(sizes[name]))
            elif name == "workspace":
                arguments.append(ctypes.c_void_p(workspace))
            elif program.arrays[name][1] is None:
                arguments.append(ctypes.c_float(inputs[name].item()))
            else:
                dtype, _, how = program.arrays[name]
                shape = program.shape(name, sizes)
                value = inputs[name] if name in inputs else np.full([max(n, 0) for n in shape], 77).astype(dtype)
                arrays[name] = (*self.device.array(value, misalign), value)
                arguments.append(ctypes.c_void_p(arrays[name][0]))
        status = self.call("run", self.context, None, *arguments)
        outputs = {}
        for name, (address, block, value) in arrays.items():
            if "written" in program.arrays[name][2]:
                outputs[name] = value.copy()
                ctypes.memmove(outputs[name].ctypes.data, address, value.nbytes)
            self.device.driver.cuMemFree_v2(block)
        return status, outputs


def inputs_of(program, sizes, seed):
    rng = np.random.default_rng(seed)
    return {name: data(rng, dtype, program.shape(name, sizes) or ()) for name, (dtype, dims, how) in program.arrays.items()
            if how != ", written"}


def emit(kiln, file, folder, name, targets, sizes=None):
    shutil.rmtree(folder, ignore_errors=True)
    words = []
    if sizes:
        emit(kiln, file, folder, name, ["--cpu"])
        program = Program(os.path.join(folder, name + ".h"))
        for array, (dtype, dims, how) in program.arrays.items():
            if how != ", written" and dims is not None:
                text = next(t for t, d in TYPES.items() if d == dtype)
                words.append(f"{array}={text}[{','.join(map(str, program.shape(array, sizes)))}]")
    done = subprocess.run([kiln, "emit", file, *words, *targets, "--name", name, "-o", folder], capture_output=True, text=True)
    if "NVRTC" in done.stderr:
        print("skipped:", done.stderr)
        sys.exit(77)
    assert done.returncode == 0, done.stderr


def check_run(kiln, file, emitted, sizes, seed, folder, **how):
    inputs = inputs_of(emitted.program, sizes, seed)
    expected = run_kiln(kiln, file, inputs, folder)
    status, outputs = emitted.run(inputs, sizes, **how)
    assert status == 0, f"{file} at {sizes}: {emitted.words(status)}"
    for name, value in outputs.items():
        assert same(expected[name], value), f"{file} at {sizes}, {how}: {name}"


def check_memory(kiln, file, emitted, sizes, folder):
    """Memory of the context's, of the caller's, and of a graph's; none is taken anew for each run."""
    driver = emitted.device.driver
    need = emitted.workspace(sizes)
    inputs = inputs_of(emitted.program, sizes, 5)
    before = driver.fake_allocations()
    first = emitted.run(inputs, sizes)
    again = emitted.run(inputs, sizes)
    arrays = sum(dims is not None for _, dims, _ in emitted.program.arrays.values())
    assert driver.fake_allocations() - before <= 2 * arrays + 1
    block = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(max(need, 1))) == 0
    given = emitted.run(inputs, sizes, workspace=block.value)
    driver.cuMemFree_v2(block)
    for status, outputs in (again, given):
        assert status == first[0] == 0, emitted.words(status)
        assert all(np.array_equal(first[1][n], outputs[n], equal_nan=True) for n in outputs)
    return need


def check_batchnorm(kiln, folder, file, device):
    """Given sizes and others, on every kind of GPU; what is refused."""
    given = {"N": 2, "C": 3, "H": 8, "W": 16}
    emit(kiln, file, folder, "norm", ["--arch", "sm_90,sm_80,sm_80"], given)
    libraries = compile_all(folder, "norm")  # by all, without a warning
    for sm in "90", "86", "120":  # its own machine code, that of an older one, PTX
        os.environ["KILN_FAKE_SM"] = sm
        emitted = Emitted(folder, "norm", device, libraries)
        assert emitted.status == 0, emitted.words(emitted.status)
        check_run(kiln, file, emitted, given, 1, folder)
        if sm == "90":
            check_run(kiln, file, emitted, {"N": 3, "C": 2, "H": 1, "W": 7}, 2, folder)
            check_run(kiln, file, emitted, given, 3, folder, misalign=4)
            check_refusals(emitted, given, device.driver)
        emitted.call("destroy", emitted.context)
    os.environ["KILN_FAKE_SM"] = "75"
    emitted = Emitted(folder, "norm", device, libraries)
    assert "no architecture that this GPU runs" in emitted.words(emitted.status)
    os.environ["KILN_FAKE_SM"] = "90"


def check_refusals(emitted, sizes, driver):
    inputs = inputs_of(emitted.program, sizes, 4)
    driver.fake_host.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    driver.fake_host(1, 2 ** 63 - 1)
    status, _ = emitted.run(inputs, sizes)
    driver.fake_host(None, None)
    assert HOST in emitted.words(status), emitted.words(status)
    status, _ = emitted.run(inputs, {**sizes, "N": -2})
    assert "a size is negative" in emitted.words(status)
    context = ctypes.c_void_p()
    for device, words in ((b"cuda:1", "no such GPU"), (b"gpu", "there are the devices"), (b"cuda:", "there are the devices")):
        assert words in emitted.words(emitted.call("create", ctypes.byref(context), device))


def check_again(kiln, file, folder, stem):
    """The same files, to the byte."""
    copy = folder + ".again"
    emit(kiln, file, copy, stem, TARGETS)
    for name in os.listdir(copy):
        with open(os.path.join(folder, name)) as a, open(os.path.join(copy, name)) as b:
            assert a.read() == b.read(), name


def check_captured(emitted, sizes):
    """A graph's runs have memory of their own."""
    driver, inputs = emitted.device.driver, inputs_of(emitted.program, sizes, 6)
    first = emitted.run(inputs, sizes)
    array, release = emitted.device.array, driver.cuMemFree_v2
    driver.fake_capture(0)
    emitted.device.array = lambda *a: (driver.fake_capture(0), array(*a), driver.fake_capture(1))[1]
    status, outputs = emitted.run(inputs, sizes)
    driver.fake_capture(0)
    emitted.device.array = array
    assert status == 0, emitted.words(status)
    assert all(np.array_equal(first[1][n], outputs[n]) for n in outputs)


def main():
    kiln, folder, driver, batchnorm, *files = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    os.environ.pop("LD_LIBRARY_PATH", None)  # it is this process's alone: NVRTC asks drivers for more than this one knows
    device = Device(driver)
    check_batchnorm(kiln, os.path.join(folder, "norm"), batchnorm, device)
    for file in files:
        stem = os.path.splitext(os.path.basename(file))[0]
        own = os.path.join(folder, stem)
        emit(kiln, file, own, stem, TARGETS + (["--sizes", GIVEN] if stem == "whole" else []))
        if stem == "groups":
            check_again(kiln, file, own, stem)
        emitted = Emitted(own, stem, device, compile_all(own, stem, {"gcc": LANGUAGES["gcc"]}))
        assert emitted.status == 0, emitted.words(emitted.status)
        for seed in 1, 2:
            sizes = {s: n for s, n in zip(emitted.program.sizes, ([12, 4, 20], [6, 6, 2])[seed - 1])}
            if stem == "groups":
                sizes = {"N": 2, "C": 8, "L": 5, "G": 4}
            check_run(kiln, file, emitted, sizes, seed, own)
            need = check_memory(kiln, file, emitted, sizes, own)
        if need:
            check_captured(emitted, sizes)
        emitted.call("destroy", emitted.context)
    print(f"batchnorm and {len(files)} programs, {device.driver.fake_launches()} launches")


main()
