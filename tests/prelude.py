#!/usr/bin/env python3
"""Holds that the functions of one name are in one file of codegen/emit/cuda/prelude/, but those of a type that is their file's own:
kernels come with the files whose names they use, and would take another function of the name without a word.

usage: prelude.py
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LISTED = re.search(r"set\(prelude ([^)]*)\)", (ROOT / "CMakeLists.txt").read_text()).group(1).split()
# A function and its parameters; one that a macro makes.
FUNCTION = r"(?:__forceinline__|^KN_\w+)\s[^;{}()]*?\b(kn_\w+)\(([^)]*)\)"
MADE = r"^KN_\w+\((kn_\w+),"

faults = 0
functions = 0
owner = {}
for file in LISTED:
    text = (ROOT / f"codegen/emit/cuda/prelude/{file}.cuh").read_text()
    for name in re.findall(r"\b(?:kn|KN)_\w+", text):
        owner.setdefault(name, file)
    found = re.findall(FUNCTION, text, re.M) + [(name, "") for name in re.findall(MADE, text, re.M)]
    functions += len(found)
    for name, parameters in found:
        types = re.findall(r"\bkn_\w+", parameters)
        if owner[name] != file and not any(owner[t] == file for t in types):
            print(f"{file}.cuh has a {name}({parameters}), the first one is in {owner[name]}.cuh")
            faults += 1
missing = {p.stem for p in ROOT.glob("codegen/emit/cuda/prelude/*.cuh")} ^ set(LISTED)
if missing:
    print("not in both the folder and CMakeLists.txt:", *sorted(missing))
print(f"{functions} functions in {len(LISTED)} files, {faults} in the wrong one")
sys.exit(faults > 0 or bool(missing) or functions < 200)
