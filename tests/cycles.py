#!/usr/bin/env python3
"""Holds the structure of what is linked: which file of the library and of its command uses symbols that which other
defines. Folders use each other one way only, in the order that tests/includes.sh holds includes to. Files use each other
one way too, but for cycles of three files inside codegen and those listed below.

usage: cycles.py BUILD     (a build folder, whose objects.txt names the object files)
"""
import re
import subprocess
import sys
from collections import deque
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Files that use each other because what they work on contains its like: the files of one cycle, and why.
RECURSION = {
    "shapes/{dim,part,symbols}.c": "a dimension is made of symbols, and a symbol may be known to equal a dimension, or be its part",
    "ir/{build_complex,build_elem,formula}.c": "operations on complex numbers, and formulas, are made of operations",
    "frontend/parse/{call,expr,index}.c": "expressions are arguments and indices of expressions",
}
# Not untied yet: the files of one cycle each; layers whose folders use each other.
KNOWN = []
KNOWN_FOLDERS = set()
CODEGEN_MOST = 3  # files that a cycle inside codegen may have without being listed

# What the build writes, and the folder whose it is.
GENERATED = {"prelude": "codegen/emit/cuda/prelude", "c": "codegen/emit/c", "shim": "runtime/emu/compile/shim",
             "generator.c": "codegen/emit/cuda/generator.c", "explain_page_css.c": "runtime/explain_page_css.c",
             "cuda_probes.c": "runtime/cuda/cuda_probes.c"}


def files_of(pattern):
    """The files that "folder/{a,b}.c" stands for."""
    before, names, after = re.fullmatch(r"(.*)\{(.*)\}(.*)", pattern).groups()
    return {before + name + after for name in names.split(",")}


def layers():
    """Of each layer, those that it may use: the table of tests/includes.sh."""
    table = re.search(r"declare -A may=\((.*?)\)", (ROOT / "tests/includes.sh").read_text(), re.S).group(1)
    return {layer: may.split() for layer, may in re.findall(r'\[([\w/]+)\]="([^"]*)"', table)}


def layer_of(file, may):
    """The innermost listed folder that a file is in."""
    return max((layer for layer in may if file.startswith(layer + "/")), key=len)


def source(obj):
    """The file that an object was compiled from, as a path from the root."""
    path = re.sub(r"^.*\.dir/(\./)?|\.o(bj)?$", "", obj)
    first, _, rest = path.partition("/")
    return "/".join(filter(None, (GENERATED.get(first, first), rest)))


def symbols(objects):
    """file -> what it defines, file -> what it leaves undefined."""
    text = subprocess.run(["nm", "-P", "-g", *objects], check=True, capture_output=True, text=True).stdout
    defined, undefined = {}, {}
    for line in text.splitlines():
        if line.endswith(":"):
            file = source(line[:-1])
            defined[file], undefined[file] = set(), set()
        elif line:
            name, kind = line.split()[:2]
            (undefined if kind in "Uwv" else defined)[file].add(name)
    return defined, undefined


def linked(defined, undefined):
    """The graph of files: graph[a][b] are the symbols of b that a uses."""
    owner = {name: file for file, names in defined.items() for name in names}
    graph = {file: {} for file in undefined}
    for file, names in undefined.items():
        for name in sorted(names & owner.keys()):
            graph[file].setdefault(owner[name], []).append(name)
    return graph


def folder(file):
    return file.rpartition("/")[0]


def folders(graph):
    """The graph of folders, whose arrows say which file uses what."""
    result = {folder(file): {} for file in graph}
    for file, uses in graph.items():
        for other, names in uses.items():
            if folder(other) != folder(file):
                result[folder(file)].setdefault(folder(other), []).extend(f"{file}: {name}" for name in names)
    return result


def components(graph):
    """The strongly connected components of more than one node, each sorted, the largest first (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found, key=lambda c: (-len(c), c))


def shortest_cycle(graph, node):
    """The nodes of a shortest cycle through a node of a component, from it."""
    before, queue = {}, deque([node])
    while queue:
        at = queue.popleft()
        for other in sorted(graph[at]):
            if other == node:
                cycle = [at]
                while cycle[-1] != node:
                    cycle.append(before[cycle[-1]])
                return cycle[::-1]
            if other not in before:
                before[other] = at
                queue.append(other)


def describe(graph, component):
    """Short cycles that have every node of a component between them, with the symbols that close them."""
    lines, shown = [], set()
    for node in component:
        if node in shown:
            continue
        cycle = shortest_cycle(graph, node)
        shown.update(cycle)
        for a, b in zip(cycle, cycle[1:] + cycle[:1]):
            names = graph[a][b]
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            lines.append(f"    {a} -> {b}: {', '.join(names[:4])}{more}")
        lines.append("")
    return "\n".join(lines)


def against_order(graph, may):
    """The arrows between layers that their order does not have. Programs may use what is public."""
    lines = []
    for file, uses in graph.items():
        for other, names in uses.items():
            mine = layer_of(file, may)
            if may[mine] == [mine]:
                names = [name for name in names if not name.startswith("kiln_")]
            if names and not any(other.startswith(layer + "/") for layer in may[mine]):
                lines.append(f"    {file} -> {other}: {', '.join(names)}")
    return lines


def judge(graph, may, listed, most, known_folders):
    """What offends, each with its lines."""
    offences = []
    order = against_order(graph, may)
    if order:  # cycles follow from it
        return ["these go against the order of the layers (tests/includes.sh):\n" + "\n".join(order)]
    between = folders(graph)
    for component in components(between):
        if {name.partition("/")[0] for name in component} - known_folders:
            offences.append(f"{len(component)} folders use each other: {', '.join(component)}\n"
                            + describe(between, component))
    met = []
    for component in components(graph):
        inside = all(file.startswith("codegen/") for file in component)
        if set(component) in listed:
            met.append(set(component))
        elif not inside or len(component) > most:
            offences.append(f"{len(component)} files use each other: {', '.join(component)}\n"
                            + describe(graph, component))
    for files in listed:
        if files not in met:
            offences.append("listed here as a cycle, and is none: " + ", ".join(sorted(files)))
    return offences


def self_test():
    """A made-up library: what must be found is found, and nothing else."""
    may = {"base": ["base"], "top": ["base", "top"], "codegen": ["base", "codegen"], "codegen/a": ["codegen/a"],
           "cli": ["cli"]}
    clean = {"base/a.c": {}, "top/b.c": {"base/a.c": ["f"]}, "cli/m.c": {"top/b.c": ["kiln_g"]},
             "codegen/x.c": {"codegen/y.c": ["y"]}, "codegen/y.c": {"codegen/z.c": ["z"]},
             "codegen/z.c": {"codegen/x.c": ["x"]}}

    def offends(changes, *listed):
        graph = {file: dict(uses) for file, uses in clean.items()}
        for file, other in changes:
            graph.setdefault(file, {})[other] = ["h"]
            graph.setdefault(other, {})
        return len(judge(graph, may, listed, 3, set()))

    assert files_of("a/{b,c}.c") == {"a/b.c", "a/c.c"}
    assert components(clean) == [["codegen/x.c", "codegen/y.c", "codegen/z.c"]]
    assert shortest_cycle(clean, "codegen/y.c") == ["codegen/y.c", "codegen/z.c", "codegen/x.c"]
    assert offends([]) == 0
    assert offends([("base/a.c", "top/b.c")]) == 1  # against the order
    assert offends([("top/s/c.c", "top/b.c"), ("top/b.c", "top/s/c.c")]) == 2  # folders, files
    assert offends([("cli/m.c", "base/a.c")]) == 1  # a private symbol
    assert offends([("codegen/a/t.c", "codegen/z.c")]) == 1  # against the order in a layer
    assert offends([("top/b.c", "top/c.c"), ("top/c.c", "top/b.c")]) == 1
    assert offends([("top/b.c", "top/c.c"), ("top/c.c", "top/b.c")], {"top/b.c", "top/c.c"}) == 0
    assert offends([], {"top/b.c", "top/c.c"}) == 1  # a list that is not true any more
    assert offends([("codegen/w.c", "codegen/x.c"), ("codegen/x.c", "codegen/w.c")]) == 1  # four files
    assert offends([("codegen/s/t.c", "codegen/u.c"), ("codegen/u.c", "codegen/s/t.c")]) == 1  # two folders


def main():
    self_test()
    graph = linked(*symbols((Path(sys.argv[1]) / "objects.txt").read_text().splitlines()))
    listed = [files_of(pattern) for pattern in [*RECURSION, *KNOWN]]
    offences = judge(graph, layers(), listed, CODEGEN_MOST, KNOWN_FOLDERS)
    for offence in offences:
        print(offence)
    cycles = components(graph)
    print(f"{sum(map(len, cycles))} of {len(graph)} files in {len(cycles)} cycles, the largest of "
          f"{max(map(len, cycles), default=0)}: " + ", ".join(f"{len(c)} ({c[0]})" for c in cycles))
    return bool(offences) or len(graph) < 200


sys.exit(main())
