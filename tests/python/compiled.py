#!/usr/bin/env python3
"""Prints what a build has compiled, for reuse.sh: a line an object, its command without the object's name, a tab, the object.

usage: compiled.py BUILD_DIR"""
import json
import shlex
import sys
from pathlib import Path

build = Path(sys.argv[1]).resolve()
launcher = [line.split("=", 1)[1].split(";") for line in (build / "CMakeCache.txt").read_text().splitlines()
            if line.startswith("CMAKE_C_COMPILER_LAUNCHER:")]  # fmt: skip
for entry in json.loads((build / "compile_commands.json").read_text()):
    words = shlex.split(entry["command"])
    if launcher and Path(words[0]).name == Path(launcher[0][0]).name:
        words = words[len(launcher[0]) :]
    at = words.index("-o")
    target = Path(entry["directory"], words[at + 1])
    if target.exists():
        print(" ".join(words[:at] + words[at + 2 :]), target, sep="\t")
