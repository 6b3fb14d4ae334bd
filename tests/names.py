#!/usr/bin/env python3
"""Holds that no name of the library stands for two things: what has a prefix for names shared between files, kn_ or KN_, is
one type, one function, one enumerator or one macro in all of its sources.

usage: names.py
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("base", "shapes", "ir", "codegen", "runtime", "frontend", "kernels_cache", "cli")

# Declared once, and defined by each device for itself (runtime/device/device.h).
BY_DEVICE = {"kn_code", "kn_peer_block"}

COMMENT = re.compile(r"/\*.*?\*/", re.S)
TYPES = (re.compile(r"\b(?:struct|enum|union) (kn_\w+) \{"), re.compile(r"^\} (kn_\w+);", re.M),
         re.compile(r"^typedef (?!struct|enum|union)[^;{}()]*?\b(kn_\w+);", re.M),
         re.compile(r"^typedef [^;{}]*?\(?\*?\b(kn_\w+)\)?\([^;{}]*\);", re.M))
FUNCTION = re.compile(r"^(?!typedef)[A-Za-z_][\w \t*]*?\b(kn_\w+)\([^;{}]*\)\n?\s*\{", re.M)
ENUM = re.compile(r"\benum(?: \w+)? \{(.*?)\}", re.S)
ENUMERATOR = re.compile(r"(?:^|,)\s*(KN_\w+)\s*(?=[=,]|\Z)")
MACRO = re.compile(r"^#define (KN_\w+)", re.M)


def names(text):
    """(name, kind) of all that a file defines."""
    text = COMMENT.sub(" ", text)
    found = {(name, "type") for pattern in TYPES for name in pattern.findall(text)}
    found |= {(name, "function") for name in FUNCTION.findall(text)}
    found |= {(name, "macro") for name in MACRO.findall(text)}
    for body in ENUM.findall(text):
        found |= {(name, "enumerator") for name in ENUMERATOR.findall(body)}
    return found


def twice(files):
    """name -> where it is defined and as what, of the names that are defined more than once. The linker finds two
    functions, and a macro may be defined anew for each of several uses."""
    defined = defaultdict(set)
    for file, text in files.items():
        for name, kind in names(text):
            defined[name].add((kind, file if kind in ("type", "enumerator") else ""))
    return {name: places for name, places in defined.items() if len(places) > 1 and name not in BY_DEVICE}


def self_test():
    """Made-up files: what is defined twice is found, what is declared twice is not."""
    files = {"a.h": "typedef struct kn_a kn_a;\nenum { KN_ONE, KN_TWO = KN_ONE, KN_ROWS(KN_ROW) };\nint kn_f(kn_a *a);\n",
             "b.c": "struct kn_a {\n    int n;\n};\nint kn_f(kn_a *a)\n{\n    return a->n; /* struct kn_b { */\n}\n"}
    assert twice(files) == {}, twice(files)
    files["c.c"] = "typedef struct kn_a {\n    int n;\n} kn_a;\n#define KN_TWO 2\ntypedef int kn_f;\n"
    assert sorted(twice(files)) == ["KN_TWO", "kn_a", "kn_f"], twice(files)


def main():
    self_test()
    files = {str(file.relative_to(ROOT)): file.read_text()
             for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.[ch]"))}
    found = twice(files)
    for name, places in sorted(found.items()):
        print(f"{name}: " + ", ".join(f"{kind} {file}".strip() for kind, file in sorted(places)))
    print(f"{len(files)} files, {len(found)} names that stand for two things")
    return len(found) > 0


if __name__ == "__main__":
    sys.exit(main())
