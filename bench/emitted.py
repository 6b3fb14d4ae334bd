#!/usr/bin/env python3
"""An emitted batchnorm beside the library's, on a GPU: device times in turns, caches flushed, and the first call.

usage: emitted.py FOLDER      with the packages kiln and torch, and a C compiler
  FOLDER  what `kiln emit examples/batchnorm.kiln 'x=f32[32,256,56,56]' 'gamma=f32[256]' 'beta=f32[256]' --arch ...` wrote"""
import ctypes
import os
import subprocess
import sys
import tempfile
import time

import kiln
import torch
from timers import Timer

SIZES, RUNS = (32, 256, 56, 56), 101
TEXT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../examples/batchnorm.kiln")


def build(folder):
    with tempfile.TemporaryDirectory() as made:
        path = os.path.join(made, "batchnorm.so")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", os.path.join(folder, "batchnorm.c"), "-o", path, "-lm",
                        "-ldl", "-lpthread"], check=True)
        return ctypes.CDLL(path)


class Emitted:
    def __init__(self, folder):
        self.library, self.context = build(folder), ctypes.c_void_p()
        self.library.batchnorm_message.restype = ctypes.c_char_p
        self.check(self.library.batchnorm_create(ctypes.byref(self.context), b"cuda"))

    def check(self, status):
        if status:
            sys.exit(self.library.batchnorm_message(status).decode())

    def call(self, inputs, outputs):
        x, gamma, beta = (ctypes.c_void_p(a.data_ptr()) for a in inputs)
        y, m, v = (ctypes.c_void_p(a.data_ptr()) for a in outputs)
        sizes = [ctypes.c_int64(n) for n in inputs[0].shape]
        run, stream = self.library.batchnorm_run, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        return lambda: self.check(run(self.context, stream, x, *sizes, gamma, beta, ctypes.c_float(1e-5), y, m, v, None))


def main():
    n, c, h, w = SIZES
    inputs = [torch.randn(*shape, device="cuda") for shape in (SIZES, (c,), (c,))]
    ours, theirs = ([torch.empty(s, device="cuda") for s in (SIZES, (1, c, 1, 1), (1, c, 1, 1))] for _ in range(2))
    library = kiln.parse_file(TEXT, "batchnorm")
    emitted = Emitted(sys.argv[1])
    call = emitted.call(inputs, theirs)
    start = time.perf_counter()
    call()
    first = (time.perf_counter() - start) * 1e3
    own = lambda: library(*inputs, out=tuple(ours))
    own()
    same = all(torch.equal(a, b) for a, b in zip(ours, theirs))
    timer = Timer(torch)
    own_us, emitted_us = timer.in_turns([own, call], RUNS)
    print(f"batchnorm of {SIZES}: kiln {own_us:.2f} us, emitted {emitted_us:.2f} us ({(emitted_us / own_us - 1) * 100:+.2f} %), "
          f"first call {first:.2f} ms, results {'the same to the bit' if same else 'differ'}")


if __name__ == "__main__":
    main()
