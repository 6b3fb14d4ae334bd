#!/usr/bin/env python3
"""The kernels of the golden programs and of the benchmark compile for every architecture, and fit in registers.

usage: resources.py KILN SPEED

Each program's plan for an architecture goes through NVRTC (`kiln explain --stage resources`), for those that this NVRTC compiles for;
no GPU is needed. What it does not compile for is tried with the NVRTC that KILN_NVRTC_12 names: 13 has left out sm_70. No kernel uses local
memory, of f64 no softmax. A block's registers fit in a multiprocessor. With KILN_THOROUGH in the environment all programs are compiled for all architectures, else a choice that takes seconds.

Exit status: 0, 1 if anything is wrong, 77 without NVRTC."""
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

KILN, SPEED = sys.argv[1:3]
HERE = Path(__file__).resolve().parent
ARCHS = ["sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]
REGISTERS = 65536  # of a multiprocessor and of a block, since sm_70: CUDA C++ Programming Guide, "Compute Capabilities"
LINE = re.compile(r"(\w+): (\d+) threads, (\d+) registers, (\d+) B local, (\d+) B spilled, (\d+) B shared")
# Bytes that a program's kernels may spill: CUDA 12's compiler gives log_softmax of long rows 32 of 64 registers for sm_70, and spills 40.
# For softmax of f64 it would have 78, and takes 64, so that two blocks fit.
SPILLED = {("log_softmax", "sm_70"): 40, ("softmax", "sm_90"): 16, ("softmax", "sm_120"): 64}
# What is compiled for every architecture when there is little time.
FEW = {"softmax", "batchnorm"}
# What is compiled in f64 too, and for what. Other kernels of f64 may spill some bytes, and are the quicker for it.
WIDE = {"softmax", "log_softmax", "transposed_softmax"}
WIDE_ARCHS = ["sm_90", "sm_120"]


def golden():
    """(name, file, sizes) of every size of every golden program."""
    for path in sorted((HERE / "golden/programs").glob("*.kiln")):
        for line in path.read_text().splitlines()[1:]:
            if line.startswith("# ") and "=" in line:
                yield path.stem, path, line[2:].split()


def wide(scratch):
    """Those of WIDE in f64."""
    for name, path, sizes in golden():
        if name in WIDE:
            copy = Path(scratch, path.name)
            copy.write_text(path.read_text().replace("f32", "f64"))
            yield name, copy, [size.replace("f32", "f64") for size in sizes]


def halves(scratch):
    """Vectors of 16-bit elements, loaded by policy: NVRTC 13.0 has crashed on them for some architectures."""
    path = Path(scratch, "halves.kiln")
    path.write_text("def halves(x: bf16[N], k: i16[N]):\n    return x + x, k + k\n")
    yield "halves", path, ["x=bf16[1024]", "k=i16[1024]"]


def benchmark(scratch):
    listed = subprocess.run([SPEED, "--list"], capture_output=True, text=True, check=True).stdout
    for workload in json.loads(listed)["workloads"]:
        if not workload["gpu"]:
            continue
        path = Path(scratch, workload["name"].replace(" ", "_") + ".kiln")
        path.write_text(workload["text"])
        yield workload["name"], path, [f"{i['name']}={i['dtype']}[{','.join(map(str, i['shape']))}]" for i in workload["inputs"]]


def resources(path, sizes, arch, nvrtc):
    environment = os.environ | ({"KILN_NVRTC": nvrtc} if nvrtc else {})
    done = subprocess.run([KILN, "explain", path, *sizes, "--arch", arch, "--stage", "resources"],
                          capture_output=True, text=True, env=environment)  # fmt: skip
    return done, "does not take that architecture" in done.stderr


def check(job):
    name, path, sizes, arch = job
    done, other_arch = resources(path, sizes, arch, None)
    if other_arch and os.environ.get("KILN_NVRTC_12"):
        done, other_arch = resources(path, sizes, arch, os.environ["KILN_NVRTC_12"])
    if done.returncode:
        if other_arch:
            return arch, []
        return None, [f"{name} {' '.join(sizes)} for {arch}: {done.stderr.strip()}"]
    kernels = LINE.findall(done.stdout)
    problems = [] if kernels else [f"{name} for {arch}: no kernel in '{done.stdout}'"]
    for kernel, *numbers in kernels:
        threads, registers, local, spilled, _ = map(int, numbers)
        if max(local, spilled) > SPILLED.get((name, arch), 0):
            problems.append(f"{name} {' '.join(sizes)} for {arch}: {kernel} has {local} B of local memory, {spilled} B spilled")
        if threads * registers > REGISTERS:
            problems.append(f"{name} {' '.join(sizes)} for {arch}: {threads} threads of {registers} registers")
    return None, problems


def main():
    doctor = subprocess.run([KILN, "doctor"], capture_output=True, text=True).stdout
    if re.search(r"^NVRTC +no ", doctor, re.M):
        print("skipped: no NVRTC")
        return 77
    thorough = bool(os.environ.get("KILN_THOROUGH"))
    with tempfile.TemporaryDirectory() as scratch:
        programs = list(golden())
        jobs = [(*p, "sm_90") for p in programs + (list(benchmark(scratch)) if thorough else [])]
        seen = set()
        for p in programs:
            if thorough or (p[0] in FEW and p[0] not in seen):
                jobs += [(*p, arch) for arch in ARCHS if arch != "sm_90"]
            seen.add(p[0])
        jobs += [(*p, arch) for p in wide(scratch) for arch in WIDE_ARCHS]
        jobs += [(*p, arch) for p in halves(scratch) for arch in ARCHS]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(check, jobs))
    without = sorted({arch for arch, _ in results if arch})
    problems = [text for _, found in results for text in found]
    print("\n".join(problems + [f"{len(jobs)} plans, {len(problems)} problems"]))
    if without:
        print(f"not with this NVRTC: {', '.join(without)}")
    return 1 if problems else 0


sys.exit(main())
