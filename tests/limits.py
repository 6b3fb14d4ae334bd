#!/usr/bin/env python3
"""Holds what a reader is asked to keep in mind at once: no function of the library or of its command is longer than a
screen, and hardly any takes many parameters.

usage: limits.py
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("base", "shapes", "ir", "codegen", "runtime", "frontend", "kernels_cache", "cli")

LINES = 60  # of a function's body
PARAMETERS = 6
MOST = 10        # functions that may take more parameters than that

DEFINITION = re.compile(r"^[A-Za-z_][\w \t*]*?\b(\w+)\(([^;{}]*?)\)[ \t]*\n\{\n(.*?)^\}", re.M | re.S)


def blank(match):
    """A comment, of which only the ends of its lines stay."""
    return re.sub(r"[^\n]", " ", match.group(0))


def count(parameters):
    """How many a list has: commas in the parentheses of a function's type separate none of them."""
    depth, n = 0, 1
    for char in parameters:
        depth += (char == "(") - (char == ")")
        n += char == "," and depth == 0
    return n


def functions(text):
    """Each function that a file defines: its name, the lines of its body, the number of its parameters."""
    text = re.sub(r"/\*.*?\*/", blank, text, flags=re.S)
    return [(name, body.count("\n"), count(parameters)) for name, parameters, body in DEFINITION.findall(text)]


def self_test():
    """A made-up file: functions are found, and what they are is counted."""
    text = """
FILE *opened(int a)
{
    return NULL;
}
int declared(int a, int b);
static kn_node *first(kn_graph *g, int (*fn)(void *user, int n),
                      void *user) /* one, two, three */
{
    if (g)
        return second(g);

    return fn(user, 1);
}
struct table {
    int entries;
};
void second(void)
{
}
"""
    assert functions(text) == [("opened", 1, 1), ("first", 4, 3), ("second", 0, 1)], functions(text)


def main():
    self_test()
    found = [(file.relative_to(ROOT), *function) for folder in FOLDERS
             for file in sorted((ROOT / folder).rglob("*.c")) for function in functions(file.read_text())]
    long = [f for f in found if f[2] > LINES]
    many = [f for f in found if f[3] > PARAMETERS]
    for file, name, lines, _ in long:
        print(f"{file}: {name} has {lines} lines, more than {LINES}")
    if len(many) > MOST:
        print(f"{len(many)} functions take more than {PARAMETERS} parameters; {MOST} may:")
        for file, name, _, parameters in sorted(many, key=lambda f: -f[3]):
            print(f"    {file}: {name} takes {parameters}")
    print(f"{len(found)} functions, the longest of {max(f[2] for f in found)} lines; "
          f"{len(many)} take more than {PARAMETERS} parameters")
    return bool(long) or len(many) > MOST or len(found) < 2000


sys.exit(main())
