#!/usr/bin/env python3
"""Holds that what the documents and the comments of the code point to exists: files, headings, pictures, and the names of the code
that the documents use.

usage: links.py
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMED_FILE = re.compile(r"`((?:\w+/)+[\w.]+\.(?:c|h|cuh|py|sh|def|md|kiln))`")
NAMED_DOC = re.compile(r"\bdocs/[\w/-]+\.md")
NAMED_CODE = re.compile(r"`((?:kn|kiln|KN|KILN)_\w+)(?:\(\))?`")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def tracked(*patterns):
    """Files that git has or would take; outside of a checkout there is nothing to hold."""
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=ROOT, capture_output=True, text=True)
    return [Path(name) for name in done.stdout.split() if (ROOT / name).exists()]


def prose(path):
    return re.sub(r"^```.*?^```", "", (ROOT / path).read_text(), flags=re.M | re.S)


def anchors(path):
    titles = re.findall(r"^#+ (.+)$", prose(path), re.M)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {title.replace(" ", "-") for title in plain}


def broken_links(path):
    for link in LINK.findall(prose(path)):
        if link.startswith("http"):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file) if file else path
        if not (ROOT / target).exists():
            yield f"{path} links to {link}, which is not there"
        elif anchor and anchor not in anchors(target):
            yield f"{path} links to {link}: there is no such heading"


def broken_names(path, pattern):
    text = (ROOT / path).read_text(errors="replace")
    for name in pattern.findall(text):
        if "NAME" not in name and not (ROOT / name).exists():
            yield f"{path} names {name}, which is not there"


def broken_code(path, known):
    """NAME and TEXT stand for any."""
    for name in sorted(set(NAMED_CODE.findall((ROOT / path).read_text())) - known):
        if not re.search("NAME|TEXT", name):
            yield f"{path} uses {name}, which nothing is called"


documents = tracked("*.md")
sources = [path for path in tracked("*.c", "*.h", "*.cuh", "*.py", "*.sh", "*.cpp", "*.def", "*.txt")]
problems = [problem for path in documents for problem in [*broken_links(path), *broken_names(path, NAMED_FILE)]]
problems += [problem for path in sources for problem in broken_names(path, NAMED_DOC)]
known = {name for path in [*sources, *tracked("CMakeLists.txt", "*.cmake", "dev")] for name in re.findall(r"\w+", (ROOT / path).read_text(errors="replace"))}
records = ("docs/lab", "CHANGELOG.md")  # of what once was
problems += [problem for path in documents if not str(path).startswith(records) for problem in broken_code(path, known)]
print("\n".join(problems) or f"{len(documents)} documents, {len(sources)} sources")
sys.exit(bool(problems))
