#!/usr/bin/env python3
"""Holds that the table of coefficients in docs/model.md has those of codegen/model/machine.c.

usage: machine.py
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNITS = {"us": 1e3, "kB": 1e3, "MB": 1e6}  # of nanoseconds, of bytes


def in_code(machine):
    text = (ROOT / "codegen/model/machine.c").read_text()
    fields = re.search(rf"kn_machine {machine} = {{(.*?)}};", text, re.S).group(1)
    return {name: float(value) for name, value in re.findall(r"\.(\w+) = ([\d.e]+)", fields)}


def numbers(cell, n):
    """Those of n coefficients: one for all of them, or one each; none is 0. The unit behind the last is of all."""
    unit = re.search(r"\d (\w+)", cell)
    scale = UNITS.get(unit.group(1), 1) if unit else 1
    found = [float(x) * scale for x in re.findall(r"\d[\d.]*", cell)] or [0.0]
    return found * n if len(found) == 1 else found


def in_docs():
    table = (ROOT / "docs/model.md").read_text().split("| coefficient |")[1].split("\n\n")[0]
    for row in table.splitlines()[2:]:
        names, gpu, cpu = (cell.strip() for cell in row.split("|")[1:4])
        names = names.split(", ")
        yield from zip(names, numbers(gpu, len(names)), numbers(cpu, len(names)), strict=True)


gpu, cpu = in_code("gpu"), in_code("cpu")
code = {name: (gpu.get(name, 0.0), cpu.get(name, 0.0)) for name in gpu | cpu}
docs = {name: values for name, *values in in_docs()}
faults = 0
for name in code | docs:
    there, said = code.get(name), docs.get(name)
    if not there or not said or any(abs(a - b) > 1e-9 * abs(a) for a, b in zip(there, said)):
        print(f"{name}: machine.c has {there}, docs/model.md has {said}")
        faults += 1
# The GPUs that differ from it in their memory.
text = (ROOT / "codegen/model/machine.c").read_text()
known = re.findall(r'{"NVIDIA (\w+)[^"]*", (\d+), (\d+)}', text)
page = (ROOT / "docs/model.md").read_text()
for name, memory, stream in known:
    if f"{name} has `memory` {memory} and `stream` {stream}" not in " ".join(page.split()):
        print(f"docs/model.md does not say that an {name} has memory {memory} and stream {stream}")
        faults += 1
print(f"{len(code)} coefficients of {1 + len(known)} machines, {faults} differ")
sys.exit(faults > 0 or len(code) < 15 or not known)
