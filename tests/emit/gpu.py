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
import threading

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)

from run import LANGUAGES, Program, compile_all, run_kiln, same

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

    def run(self, inputs, sizes, workspace=None, misalign=0, stream=None, during=lambda on: None):
        """The status, and the outputs by name. during: what is switched on for the call."""
        placed = []

        def place(value):
            placed.append(self.device.array(value, misalign))
            return placed[-1][0]

        arguments, values = self.program.arguments(sizes, inputs, workspace, place)
        during(1)
        status = self.call("run", self.context, ctypes.c_void_p(stream), *arguments)
        during(0)
        for (address, block), value in zip(placed, values.values()):
            ctypes.memmove(value.ctypes.data, address, value.nbytes)
            self.device.driver.cuMemFree_v2(block)
        return status, self.program.written(values)


def inputs_of(program, sizes, seed):
    return program.inputs(sizes, np.random.default_rng(seed))


def emit(kiln, file, folder, name, targets, sizes=None):
    shutil.rmtree(folder, ignore_errors=True)
    words = []
    if sizes:
        emit(kiln, file, folder, name, ["--cpu"])
        words = Program(os.path.join(folder, name + ".h")).words(sizes)
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
    status, _ = emitted.run(inputs, sizes, workspace=32)
    assert "not aligned" in emitted.words(status)
    driver.fake_host(64, 65)
    status, _ = emitted.run(inputs, sizes, workspace=64)
    driver.fake_host(None, None)
    assert "workspace " + HOST in emitted.words(status), emitted.words(status)
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


def agree(emitted, sizes, **how):
    """A run gives what one in the default stream gives."""
    inputs = inputs_of(emitted.program, sizes, 6)
    first = emitted.run(inputs, sizes)
    status, outputs = emitted.run(inputs, sizes, **how)
    assert status == 0, emitted.words(status)
    assert all(np.array_equal(first[1][n], outputs[n]) for n in outputs), how


def check_captured(emitted, sizes):
    """A graph's runs have memory of their own, which is not lost where they fail."""
    driver = emitted.device.driver
    agree(emitted, sizes, during=driver.fake_capture)
    before = driver.fake_living()

    def no_memsets(on):
        driver.fake_capture(on)
        driver.fake_memsets(not on)

    emitted.run(inputs_of(emitted.program, sizes, 6), sizes, during=no_memsets)
    assert driver.fake_living() == before


def check_streams(emitted, sizes, empty):
    """Each stream has memory of its own, of 32 streams at most; `empty`: blocks on the device before there were any."""
    driver, inputs = emitted.device.driver, inputs_of(emitted.program, sizes, 6)
    agree(emitted, sizes, stream=100, during=driver.fake_capture_elsewhere)
    for stream in range(101, 135):
        status, _ = emitted.run(inputs, sizes, stream=stream, during=driver.fake_capture_elsewhere)
        assert status == 0, emitted.words(status)
    assert driver.fake_living() - empty == 32
    arrays = sum(dims is not None for _, dims, _ in emitted.program.arrays.values())
    for stream, made in (134, 0), (101, 1), (101, 0), (134, 0):
        before = driver.fake_allocations()
        assert emitted.run(inputs, sizes, stream=stream)[0] == 0
        assert driver.fake_allocations() - before == arrays + made, stream
    assert driver.fake_living() - empty == 32


def check_threads(emitted, sizes):
    """The handle of "the thread's default stream" is another stream in each thread, whether the driver tells or not."""
    driver, inputs = emitted.device.driver, inputs_of(emitted.program, sizes, 6)
    counted, both = [], threading.Barrier(2)

    def run(first):
        if not first:
            both.wait()
        before = driver.fake_allocations()
        assert emitted.run(inputs, sizes, stream=2)[0] == 0
        counted.append(driver.fake_allocations() - before)
        if first:
            both.wait()
        both.wait()

    driver.fake_ids(0)
    threads = [threading.Thread(target=run, args=(first,)) for first in (True, False)]
    for call in threading.Thread.start, threading.Thread.join:
        for thread in threads:
            call(thread)
    driver.fake_ids(1)
    assert len(counted) == 2 and counted[0] == counted[1], counted


def check_own_memory(emitted, sizes, empty):
    check_captured(emitted, sizes)
    check_threads(emitted, sizes)
    check_streams(emitted, sizes, empty)


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
        empty = device.driver.fake_living()
        emitted = Emitted(own, stem, device, compile_all(own, stem, {"gcc": LANGUAGES["gcc"]}))
        assert emitted.status == 0, emitted.words(emitted.status)
        for seed in 1, 2:
            sizes = {s: n for s, n in zip(emitted.program.sizes, ([12, 4, 20], [6, 6, 2])[seed - 1])}
            if stem == "groups":
                sizes = {"N": 2, "C": 8, "L": 5, "G": 4}
            check_run(kiln, file, emitted, sizes, seed, own)
            need = check_memory(kiln, file, emitted, sizes, own)
        if need:
            check_own_memory(emitted, sizes, empty)
        emitted.call("destroy", emitted.context)
        assert device.driver.fake_living() == empty
    print(f"batchnorm and {len(files)} programs, {device.driver.fake_launches()} launches")


main()
