#!/usr/bin/env python3
"""What a call from Python costs beyond kiln_run(): six arrays without elements, in short rounds that measure both by turns,
of which the quickest count, for whatever else the machine does only adds to them.

usage: python_call.py      with the package installed, and NumPy or PyTorch, whose tensors are on the GPU, too, where there is one
"""
import time

import kiln

TEXT = """
def f(a: f32[N], b: f32[N], c: f32[N], d: f32[N], e: f32[N], g: f32[N]):
    a += b + c + d + e + g
"""
CALLS, ROUNDS, MEASURED = 50, 1000, 100


def call_us(f, arrays):
    start = time.perf_counter()
    for _ in range(CALLS):
        f(*arrays)
    return (time.perf_counter() - start) / CALLS * 1e6


def measure(name, arrays):
    f = kiln.compile(TEXT)
    f(*arrays)
    calls, runs = [], []
    for i in range(ROUNDS):
        calls.append(call_us(f, arrays))
        if i % MEASURED == 0:
            runs.append(f._measure(*arrays)["host_us"])
    call, run = min(calls), min(runs)
    print(f"{name}: a call {call:.2f} us, kiln_run() {run:.2f} us, beyond it {call - run:.2f} us")


try:
    import torch

    for device in ["cpu"] + ["cuda"] * torch.cuda.is_available():
        measure(f"PyTorch, {device}", [torch.zeros(0, device=device) for _ in range(6)])
except ImportError:
    print("no PyTorch")
try:
    import numpy

    measure("NumPy", [numpy.zeros(0, numpy.float32) for _ in range(6)])
except ImportError:
    print("no NumPy")
