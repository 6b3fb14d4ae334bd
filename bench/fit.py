#!/usr/bin/env python3
"""Predicted times beside measured ones, and the coefficients that would predict better.

    bench/fit.py MEASURED.json ...       what `speed --json` wrote, with or without --schedule

The model is codegen/model/predict.c; each measured workload carries what it predicts, part by part (`kiln explain --json`). A part is
proportional to one coefficient of codegen/model/machine.c, so that other coefficients are factors on the parts: those are looked for that
make the mean of |log(predicted / measured)| least. Times are multiplied by their factor, rates divided. Workloads with phases
side by side are left out."""
import argparse
import json
import math

# part: what to multiply by its factor, or to divide
COEFFICIENTS = {
    "launch": "launch",
    "memory": "/ memory, stream",
    "cache": "/ cache",
    "transfer": "/ unit",
    "instructions": "/ adds",
    "starts": "start",
    "waits": "latency",
    "combines": "warp, block, cluster, peer",
    "in_step": "in_step",
    "barriers": "grid, last",
}
STEPS = (0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.25)


def phase_us(part):
    memory = max(part["memory"], part["cache"])
    units = max(part["transfer"], part["instructions"], part["waits"] + part["combines"])
    return max((memory**3 + units**3) ** (1 / 3), part["starts"]) + part["in_step"] + part["barriers"]


def predicted_us(workload, factors):
    total = 0
    for kernel in workload["explained"]["kernels"]:
        total += kernel["predicted"]["launch"] * factors["launch"]
        for phase in kernel["phases"]:
            total += phase_us({name: phase["predicted"][name] * factor for name, factor in factors.items()})
    return total


def off(workload, factors):
    return math.log(predicted_us(workload, factors) / workload["us"])


def mean_off(workloads, factors):
    return sum(abs(off(w, factors)) for w in workloads) / len(workloads)


def fit(workloads):
    """Coordinate descent: one factor after the other, as long as any step makes it better."""
    factors = dict.fromkeys(COEFFICIENTS, 1.0)
    best, better = mean_off(workloads, factors), True
    while better:
        better = False
        for name in factors:
            for step in STEPS:
                tried = {**factors, name: factors[name] * step}
                error = mean_off(workloads, tried)
                if error < best - 1e-5:
                    best, factors, better = error, tried, True
    return factors


def one_after_another(workload):
    """Whether the sum of its phases is what kiln said, but for rounding: phases side by side overlap."""
    us, said = predicted_us(workload, dict.fromkeys(COEFFICIENTS, 1.0)), workload["predicted_us"]
    return abs(us - said) <= 0.01 + 1e-3 * said


def read(paths):
    for path in paths:
        with open(path) as f:
            measured = json.load(f)
        for w in measured["workloads"]:
            if w["ok"] and w["us"] > 0 and w["explained"]:
                yield {**w, "forced": measured.get("schedule") or ""}


def table(workloads):
    yield "| workload | schedule | us | predicted us | predicted / us | most of it |"
    yield "|---|---|---|---|---|---|"
    for w in workloads:
        longest = max(w["explained"]["kernels"], key=lambda kernel: kernel["predicted"]["us"])
        yield (f"| {w['name']} | {w['forced'] or w['explained']['schedule']} | {w['us']:.1f} | {w['predicted_us']:.1f} "
               f"| {w['predicted_us'] / w['us']:.2f} | {longest['predicted']['bound']} |")  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("measured", nargs="+")
    all_of_them = list(read(parser.parse_args().measured))
    workloads = [w for w in all_of_them if one_after_another(w)]
    if 2 * len(workloads) < len(all_of_them):
        raise SystemExit("most workloads' parts do not add up to what kiln predicts: has predict.c another formula?")
    ones = dict.fromkeys(COEFFICIENTS, 1.0)
    print("\n".join(table(workloads)))
    error = mean_off(workloads, ones)
    print(f"\nOff by a factor of {math.exp(error):.3f} in the geometric mean over {len(workloads)} of {len(all_of_them)} measurements.")
    factors = fit(workloads)
    print(f"With these factors by {math.exp(mean_off(workloads, factors)):.3f}:\n")
    for name, factor in factors.items():
        print(f"    {name:13} {factor:5.2f}   {COEFFICIENTS[name]}")


main()
