#!/usr/bin/env python3
"""Holds the ABI: what programs that were linked with this version of libkiln.so rely on is in tests/abi.txt, which is the
functions it exports, the sizes of public structs with the places of their fields, and the values of constants.

What is new is added by --update. What is gone or changed breaks those programs: it needs another SOVERSION and a line in
CHANGELOG.md, or better another way. A struct that begins with struct_size may grow at its end.

usage: abi.py LIBKILN.so [--update]
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests/abi.txt"
HEADERS = sorted(path.name for path in ROOT.glob("frontend/kiln*.h"))  # kiln.h is the first

# "int a, b[3], *c", "void *(*alloc)(void *, size_t)": the names of the fields
FUNCTION = re.compile(r"\(\*(\w+)\)")
FIELD = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")


def fields_of(body):
    for declaration in body.split(";"):
        pointer = FUNCTION.search(declaration)
        if pointer:
            yield pointer[1]
        elif declaration.strip():
            yield from (FIELD.search(part.strip())[1] for part in declaration.split(","))


def questions(text):
    """Lines of C that print what the compiler knows of the headers."""
    text = re.sub(r"/\*.*?\*/|^#.*?$", "", text, flags=re.S | re.M)
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.S):
        fields = list(fields_of(body))
        kind = "sized" if fields[0] == "struct_size" else "struct"
        yield f'printf("{kind} {name} %zu\\n", sizeof({name}));'
        for f in fields:
            yield f'printf("field {name}.{f} %zu %zu\\n", offsetof({name}, {f}), sizeof((({name} *)0)->{f}));'
    for body in re.findall(r"enum \w*\s*\{(.*?)\}", text, re.S):
        for name in re.findall(r"\b(KILN_\w+)", body):
            if f"= {name}" not in body:
                yield f'printf("value {name} %d\\n", (int){name});'


def ask(scratch):
    text = "".join((ROOT / "frontend" / h).read_text() for h in HEADERS)
    source = Path(scratch) / "abi.c"
    source.write_text("#include <stddef.h>\n#include <stdio.h>\n" + "".join(f'#include "{h}"\n' for h in HEADERS)
                      + "int main(void)\n{\n" + "\n".join(dict.fromkeys(questions(text))) + "\nreturn 0;\n}\n")  # fmt: skip
    program = Path(scratch) / "abi"
    subprocess.run(["cc", "-std=c11", f"-I{ROOT}/frontend", source, "-o", program], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout.split("\n")


def exported(library):
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return [f"function {line.split()[-1]}" for line in symbols.splitlines()]


def facts(lines):
    """What each line is about, and what it says of it."""
    return {" ".join(line.split()[:2]): line.split()[2:] for line in lines if line and line[0] != "#"}


def main():
    library, update = sys.argv[1], "--update" in sys.argv
    if not Path(library).exists():
        sys.exit(f"not ok - {library} is not built")
    with tempfile.TemporaryDirectory() as scratch:
        now = facts(sorted(exported(library) + ask(scratch)))
    if not now.get("struct kiln_arg") or sys.maxsize < 2**32:
        sys.exit("abi.py has found no structs, or this is no 64-bit machine")
    then = facts(FILE.read_text().split("\n")) if FILE.exists() else {}
    broken, new = [], []
    for what, was in then.items():
        if what not in now:
            broken.append(f"gone: {what}")
        elif now[what] != was:
            grown = what.startswith("sized") and int(now[what][0]) > int(was[0])
            (new if grown else broken).append(f"{what} was {' '.join(was)}, and is {' '.join(now[what])}")
    new += [f"new: {what}" for what in now if what not in then]
    print("\n".join(broken + new))
    if update:
        FILE.write_text("# Written by tests/abi.py --update: functions; structs, their fields' offsets and sizes; values.\n"
                        + "".join(" ".join([what, *said]) + "\n" for what, said in now.items()))  # fmt: skip
        return
    if broken:
        sys.exit("programs that were linked with this version would break")
    if new:
        sys.exit("tests/abi.py LIBKILN.so --update adds it to tests/abi.txt")
    print(f"{len(now)} facts of the ABI hold")


main()
