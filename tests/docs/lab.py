#!/usr/bin/env python3
"""Holds that docs/lab/README.md lists every note of docs/lab: its question, the answer's first sentence, its date.

usage: lab.py [--update]

A note begins with its question as a title, then the day on which it was written, then a paragraph `**Answer:** ...`.
"""
import re
import sys
from pathlib import Path

LAB = Path(__file__).resolve().parents[2] / "docs/lab"
BEGIN, END = "<!-- written by tests/docs/lab.py -->\n", "<!-- end -->\n"
NOTE = re.compile(r"# (?P<question>[^\n]+\?)\n\n(?P<date>\d{4}-\d\d-\d\d)\b.*?\n\n\*\*Answer:\*\* (?P<answer>.+?)(?:\.\s|$)", re.S)


def row(path):
    note = NOTE.match(path.read_text())
    if not note:
        sys.exit(f"{path.name} does not begin with a question, a date and an answer")
    answer = " ".join(re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", note["answer"]).split())
    return f"| [{note['question']}]({path.name}) | {answer} | {note['date']} |"


notes = sorted(path for path in LAB.glob("*.md") if path.name != "README.md")
table = "\n".join(["| question | answer | date |", "|---|---|---|", *map(row, notes)]) + "\n"
index = LAB / "README.md"
text = index.read_text()
start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
if sys.argv[1:] == ["--update"]:
    index.write_text(text[:start] + table + text[end:])
elif text[start:end] != table:
    sys.exit("docs/lab/README.md lists other notes: tests/docs/lab.py --update writes it")
print(f"{len(notes)} notes")
