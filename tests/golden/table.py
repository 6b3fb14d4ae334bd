#!/usr/bin/env python3
"""What the optimiser must reach for the programs of tests/golden/programs, and what it does reach.

usage: table.py KILN [--update]

Each program's first line says what it is; the lines `# NAME=f32[...]` after it are the sizes it is planned
for, for an sm_90, by `kiln explain --json`. Two things are held:

  - AIMS, with MISSES. A number that is better than its aim is fine. One that is not must stand in MISSES, and
    exactly so: whoever makes it better or worse edits it there.
  - the table in docs/optimizer.md, which --update writes.

Exit status: 0, or 1 if anything differs.
"""
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parents[1] / "docs/optimizer.md"
BEGIN, END = "<!-- written by tests/golden/table.py -->\n", "<!-- end -->\n"

# Temporaries: none, or vectors and partial results only, which are small beside the arrays; a partial result for each
# column and block where the rows are reduced in the same sweep.
NONE, SMALL, COLUMNS = 0.0, 0.01, 0.04

# program: for each of its sizes (temporaries' bytes as a part of the largest input's, grid barriers, reads of each
# large input). Rows and channels that fit in the shared memory and registers of a cluster are read once, others twice, but
# for what the shared memory of the whole machine holds of them where they are split over it; a result
# that has no elements of its own to write (logsumexp, cosine) needs one reading in any case.
AIMS = {
    "batchnorm": [(NONE, 0, 1)],
    "batchnorm_backward": [(NONE, 0, 1)],
    "softmax": [(NONE, 0, 1), (NONE, 0, 1), (SMALL, 1, 1.95)],
    "log_softmax": [(NONE, 0, 1), (NONE, 0, 1)],
    "logsumexp": [(NONE, 0, 1), (NONE, 0, 1)],
    "layernorm": [(NONE, 0, 1), (NONE, 0, 1)],
    "rmsnorm": [(NONE, 0, 1), (NONE, 0, 1)],
    "groupnorm": [(NONE, 0, 1)],
    "cosine": [(NONE, 0, 1), (NONE, 0, 1)],
    "zscore_rows": [(NONE, 0, 1), (NONE, 0, 1), (SMALL, 1, 1.95)],
    "zscore_columns": [(SMALL, 2, 2)],
    "double_center": [(COLUMNS, 2, 1.95)],
    "normalise": [(SMALL, 1, 1.9), (SMALL, 1, 1)],
    "sinkhorn": [(COLUMNS, 1, 2)],
    "power_iteration": [(SMALL, 3, 3)],
    "adam": [(NONE, 0, 1)],
    "transposed_add": [(NONE, 0, 1)],
    "transposed_softmax": [(SMALL, 1, 2), (NONE, 0, 2)],
}

# (program, number of its sizes, what): where the aim is not reached, today's number.
MISSES = {}


def programs():
    """(name, number, sizes, explained) for every size of every program."""
    for path in sorted((HERE / "programs").glob("*.kiln")):
        lines = path.read_text().splitlines()
        sizes = [line[2:] for line in lines[1:] if line.startswith("# ") and "=" in line]
        for number, size in enumerate(sizes):
            yield path.stem, number, size, explain(path, size)


def explain(path, sizes):
    command = [sys.argv[1], "explain", "--json", "--arch", "sm_90", path, *sizes.split()]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{path.name}: {done.stderr}")
    return json.loads(done.stdout)


def large_inputs(plan):
    most = max(i["bytes"] for i in plan["inputs"])
    return most, [i for i in plan["inputs"] if i["bytes"] == most]


def numbers(plan):
    """What is held to an aim."""
    largest, inputs = large_inputs(plan)
    return {
        "launches": plan["launches"],
        "temporaries": plan["temporaries"]["after"]["bytes"],
        "grid barriers": plan["barriers"]["after"]["grid"],
        "reads": max(i["reads"] for i in inputs),
        "writes": max(o["writes"] for o in plan["outputs"]),
    }, largest  # fmt: skip


def check_aims(name, number, plan, seen):
    small, grid, reads = AIMS[name][number]
    got, largest = numbers(plan)
    aims = {"launches": 1, "temporaries": int(small * largest), "grid barriers": grid,
            "reads": reads, "writes": 1}  # fmt: skip
    problems = []
    for what, aim in aims.items():
        key, value = (name, number, what), got[what]
        if key in MISSES:
            seen.add(key)
            if value != MISSES[key]:
                problems.append(f"{key} is {value}, MISSES has {MISSES[key]} (aim: at most {aim})")
            elif value <= aim:
                problems.append(f"{key} is {value}, which reaches the aim: it goes out of MISSES")
        elif value > aim:
            problems.append(f"{key} is {value}, the aim is at most {aim}")
    return problems


def size_text(n):
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= scale:
            return f"{n / scale:.1f} {unit}"
    return f"{n} B"


def row(name, sizes, plan):
    before, after = ({k: plan[k][when] for k in ("temporaries", "barriers", "bytes")}
                     for when in ("before", "after"))  # fmt: skip
    temporaries = [f"{t['count']}: {size_text(t['bytes'])}" if t["count"] else "0"
                   for t in (before["temporaries"], after["temporaries"])]  # fmt: skip
    barriers = after["barriers"]
    local = ", ".join(f"{barriers[k]} {k}" for k in ("cluster", "block", "warp") if barriers[k])
    _, inputs = large_inputs(plan)
    reads = ", ".join(f"{i['name']} {i['read']['before'] / i['bytes']:g} → {i['reads']:g}" for i in inputs)
    return (f"| {name} | `{sizes}` | {temporaries[0]} | {temporaries[1]} | {size_text(plan['workspace'])} | {before['barriers']['grid']} | "
            f"{barriers['grid']} | {local or '0'} | {reads} |")  # fmt: skip


HEAD = """| program | sizes | temporaries before | after | workspace | grid barriers before | after | others after | reads |
|---|---|---|---|---|---|---|---|---|"""


def main():
    problems, rows, seen = [], [HEAD], set()
    for name, number, sizes, plan in programs():
        problems += check_aims(name, number, plan, seen)
        rows.append(row(name, sizes, plan))
    problems += [f"{key} stands in MISSES, but nothing is planned for it" for key in set(MISSES) - seen]
    text = DOCUMENT.read_text()
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    table = "\n".join(rows) + "\n"
    if sys.argv[2:] == ["--update"]:
        DOCUMENT.write_text(text[:start] + table + text[end:])
    elif text[start:end] != table:
        problems.append(f"the table in docs/{DOCUMENT.name} is another one: table.py KILN --update writes it")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
