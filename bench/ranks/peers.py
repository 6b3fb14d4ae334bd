#!/usr/bin/env python3
"""What several GPUs divide among them: the programs of bench/ranks by kiln, and the same by PyTorch and NCCL and by JAX, as far as they
are installed.

    bench/ranks/peers.py KILN [--ranks N] [-o FILE.json] [--only TEXT]

kiln's times are of `kiln bench --ranks N`: medians on the slowest device, caches flushed, all begin together. PyTorch's are too: one
process a GPU, and before each run an all-reduce, behind which all begin. So are JAX's, one process for all."""
import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import jax_peers  # noqa: E402
from timers import Timer  # noqa: E402

PROGRAMS = os.path.join(HERE, "programs.kiln")
EPS = 1e-5


def batchnorm(shape):
    n, c, h, w = shape
    x, each = f"f32[{n},{c},{h},{w}]", f"f32[{c}]"
    return [f"sync_batchnorm {shape}", "sync_batchnorm", [f"x={x}", f"gamma={each}", f"beta={each}"], shape]


def backward(shape):
    n, c, h, w = shape
    x, each = f"f32[{n},{c},{h},{w}]", f"f32[{c}]"
    values = [f"x={x}", f"gamma={each}", f"dy={x}", f"m={each}", f"r={each}@uniform(0.5,1)"]
    return [f"sync_batchnorm_backward {shape}", "sync_batchnorm_backward", values, shape]


# label, program, kiln's values, sizes: of one GPU's part
WORKLOADS = [
    *(batchnorm(shape) for shape in [(32, 256, 56, 56), (32, 64, 112, 112), (32, 2048, 7, 7)]),
    backward((32, 256, 56, 56)),
    ["rmsnorm bf16 16384 x (n x 4096)", "rmsnorm", ["x=bf16[16384,4096]", "w=bf16[4096]"], (16384, 4096)],
    ["clip 256 MB a GPU", "clip", ["g=f32[67108864]"], (67108864,)],
]


def kiln(command, ranks, program, values):
    done = subprocess.run([command, "bench", f"{PROGRAMS}:{program}", *values, "--ranks", str(ranks), "--json"],
                          capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr.strip()}


# ---- PyTorch: what runs in each process ----


def calls(torch, dist, ranks, program, sizes):
    """By name, functions that do what the program does."""
    def randn(*shape, dtype=torch.float32):
        return torch.randn(*shape, device="cuda", dtype=dtype)

    if program == "sync_batchnorm":
        x, layer = randn(*sizes), torch.nn.SyncBatchNorm(sizes[1], device="cuda")
        yield "SyncBatchNorm", lambda: layer(x)
    elif program == "sync_batchnorm_backward":
        x, dy, layer = randn(*sizes).requires_grad_(), randn(*sizes), torch.nn.SyncBatchNorm(sizes[1], device="cuda")
        y = layer(x)
        yield "SyncBatchNorm", lambda: torch.autograd.grad(y, (x, layer.weight, layer.bias), dy, retain_graph=True)
    elif program == "rmsnorm":
        x, w = randn(*sizes, dtype=torch.bfloat16), randn(sizes[1], dtype=torch.bfloat16)

        def squares(x):
            return x.float().square().sum(dim=1, keepdim=True)

        def scale(s, x, w):
            return (x.float() * torch.rsqrt(s / (ranks * sizes[1]) + EPS) * w.float()).to(torch.bfloat16)

        yield from halves(torch, dist, squares, scale, x, w)
    else:
        def squares(g):
            return (g * g).sum()

        def scale(s, g):
            return g * torch.clamp(1 / (torch.sqrt(s) + 1e-6), max=1)

        yield from halves(torch, dist, squares, scale, randn(*sizes))


def halves(torch, dist, first, second, *args):
    """Functions on both sides of an all-reduce: of the first argument, and of its sum and all arguments."""
    def run(first, second):
        s = first(args[0])
        dist.all_reduce(s)
        return second(s, *args)

    compiled = torch.compile(first), torch.compile(second)
    yield "torch.compile and NCCL", lambda: run(*compiled)
    yield "eager and NCCL", lambda: run(first, second)


def slowest_time(torch, dist, call, timer):
    for _ in range(3):
        call()
    slowest = torch.tensor([timer.median(call)], device="cuda")
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return slowest.item()


def work(rank, ranks, workloads, meeting, out):
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
    token = torch.zeros(1, device="cuda")
    timer = Timer(torch, lambda: dist.all_reduce(token))
    found = {}
    for label, program, _, sizes in workloads:
        found[label] = {name: slowest_time(torch, dist, call, timer)
                        for name, call in calls(torch, dist, ranks, program, sizes)}
    if rank == 0:
        with open(out, "w") as file:
            json.dump({"version": f"PyTorch {torch.__version__}, NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}",
                       "us": found}, file)
    dist.destroy_process_group()


def by_torch(ranks, workloads):
    import torch.multiprocessing as processes

    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        processes.spawn(work, (ranks, workloads, os.path.join(folder, "meeting"), out), nprocs=ranks)
        with open(out) as file:
            found = json.load(file)
    return found["version"], found["us"]


def by_jax(ranks, workloads):
    with multiprocessing.get_context("spawn").Pool(1) as process:  # which gives the GPUs' memory back
        version, found = process.apply(jax_peers.measure, (ranks, workloads))
    return version, {label: {"JAX": us} for label, us in found.items()}


def peers(ranks, workloads):
    """Versions of what is installed, and microseconds by label and name."""
    versions, found = [], {label: {} for label, *_ in workloads}
    for measure in by_torch, by_jax:
        try:
            version, times = measure(ranks, workloads)
        except ImportError as why:
            print(f"left out: {why}", file=sys.stderr)
            continue
        versions.append(version)
        for label, us in times.items():
            found[label].update(us)
    return {"version": ", ".join(versions), "us": found}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("kiln")
    options.add_argument("--ranks", type=int, default=2)
    options.add_argument("-o", dest="out")
    options.add_argument("--only", default="")
    given = options.parse_args()
    workloads = [w for w in WORKLOADS if given.only in w[0]]
    ours = {label: kiln(given.kiln, given.ranks, program, values) for label, program, values, _ in workloads}
    others = peers(given.ranks, workloads)
    print(f"{given.ranks} GPUs, times in us; {others['version'] or 'no peers'}")
    for label, *_ in workloads:
        m = ours[label]
        said = m.get("error") or f"{m['fused']['us']:9.1f} ({m['fused']['launches']} launches, path {m['path']})"
        print(f"{label:45} kiln {said}" + "".join(f"; {name} {us:.1f}" for name, us in others["us"][label].items()))
    if given.out:
        with open(given.out, "w") as file:
            json.dump({"ranks": given.ranks, "kiln": ours, "peers": others}, file, indent=1)


if __name__ == "__main__":
    main()
