#!/usr/bin/env python3
"""Gradients of several arrays clipped by their common norm, and a step of Adam: kiln's one program beside PyTorch's foreach functions.
usage: foreach.py KILN [COUNT ...]
  KILN   the command; COUNT arrays of f32, of 64 to 10^7 elements evenly apart by their logarithms, in random order

Prints device times in us, caches flushed, PyTorch's foreach functions also as a CUDA graph; the floor is what reads p, g, m, v and
writes p, m, v takes at the rate of a copy that kiln measures in the same run."""
import json
import random
import subprocess
import sys
import tempfile

from timers import Timer


def sizes(count):
    found = [round(64 * (1e7 / 64) ** (i / (count - 1))) for i in range(count)]
    random.Random(count).shuffle(found)
    return found


def program(count):
    params = ", ".join(f"{name}{i}: f32[N{i}]" for i in range(count) for name in "pgmv")
    lines = [f"def clip_adam({params}, c: f32 = 1.0, lr: f32 = 1e-3, b1: f32 = 0.9, b2: f32 = 0.999, eps: f32 = 1e-8):",
             "    n = sqrt(" + " + ".join(f"sum(g{i} * g{i})" for i in range(count)) + ")",
             "    s = minimum(c / (n + 1e-6), 1)"]
    for i in range(count):
        lines += [f"    h{i} = g{i} * s",
                  f"    m{i}[:] = b1 * m{i} + (1 - b1) * h{i}",
                  f"    v{i}[:] = b2 * v{i} + (1 - b2) * h{i} * h{i}",
                  f"    p{i}[:] = p{i} - lr * m{i} / (sqrt(v{i}) + eps)"]
    return "\n".join(lines) + "\n"


def kiln(command, lengths):
    with tempfile.NamedTemporaryFile("w", suffix=".kiln") as file:
        file.write(program(len(lengths)))
        file.flush()
        values = [f"{name}{i}=f32[{n}]" + ("@uniform(0,1)" if name == "v" else "")
                  for i, n in enumerate(lengths) for name in "pgmv"]
        out = subprocess.run([command, "bench", file.name, *values, "--device", "cuda", "--json"],
                             capture_output=True, text=True, check=True).stdout
    return json.loads(out)


def peers(torch, lengths):
    params = [torch.randn(n, device="cuda", requires_grad=True) for n in lengths]
    for p in params:
        p.grad = torch.randn_like(p)

    def step_of(**how):
        optimiser = torch.optim.Adam(params, lr=1e-3, **how)

        def step():
            torch.nn.utils.clip_grad_norm_(params, 1.0, foreach=True)
            optimiser.step()
        for _ in range(3):
            step()
        return step

    foreach = step_of(foreach=True, capturable=True)
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        foreach()
    torch.cuda.current_stream().wait_stream(stream)
    with torch.cuda.graph(graph):
        foreach()
    timer = Timer(torch)
    return {"foreach": timer.median(foreach), "foreach, CUDA graph": timer.median(graph.replay),
            "foreach norm, fused Adam": timer.median(step_of(fused=True))}


def main():
    try:
        import torch
    except ImportError:
        torch = None
    for count in [int(n) for n in sys.argv[2:]] or [2, 4, 8, 16]:
        lengths = sizes(count)
        found = kiln(sys.argv[1], lengths)
        fused, unfused = found["fused"], found["unfused"]
        floor = 28 * sum(lengths) / found["copy_gbps"] / 1e3  # bytes an element: p, g, m, v in and p, m, v out
        print(f"{count} arrays, {sum(lengths)} elements: kiln {fused['us']:.1f} us in {fused['launches']} launch(es), "
              f"unfused {unfused['us']:.1f} in {unfused['launches']}, floor {floor:.1f}")
        if torch:
            print("   ", ", ".join(f"{name} {us:.1f} us" for name, us in peers(torch, lengths).items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
