#!/usr/bin/env python3
"""The cheat sheet is true: its expressions evaluate, its calls, options and files of the command are there; and, with a
browser, it is printed on one page.

usage: cheatsheet.py KILN SCRATCH_DIR
"""
import html
import re
import shutil
import subprocess
import sys
from pathlib import Path

SHEET = Path("docs/cheatsheet.html")
VALUES = {"x": "x=f32[4,6]", "g": "g=f32[6]", "i": "i=i64[3]@randint(0,3)"}
NAMES = re.compile(r"(?<![\w.])[a-z]\w*(?!\s*[\w(=])")


def main():
    kiln, scratch = sys.argv[1], Path(sys.argv[2])
    text, wrong = SHEET.read_text(), []
    expressions = [html.unescape(e) for e in re.findall(r'<code class="e">(.*?)</code>', text)]
    for e in expressions:
        values = [VALUES[n] for n in sorted(set(NAMES.findall(e))) if n in VALUES]
        run = subprocess.run([kiln, "eval", e, *values, "--device", "cpu"], capture_output=True, text=True)
        if run.returncode:
            wrong.append(f"{e}: {run.stderr}")
    program = html.unescape(re.search(r"<pre>(def .*?)</pre>", text, re.S)[1])
    (scratch / "program.kiln").write_text(program)
    run = subprocess.run([kiln, "explain", scratch / "program.kiln"], capture_output=True, text=True)
    wrong += [run.stderr] if run.returncode else []
    header = Path("frontend/kiln.h").read_text()
    wrong += [f"{call}() is no call" for call in sorted(set(re.findall(r"\b(kiln_\w+)\(", text))) if f"{call}(" not in header and f"KILN_INIT({call.removesuffix('_init')})" not in header]
    commands = subprocess.run([kiln, "--help"], capture_output=True, text=True).stdout
    for command, rest in re.findall(r"\bkiln (run|eval|bench|explain|emit|kernel|cache|doctor)\b(.*)", html.unescape(text)):
        said = subprocess.run([kiln, "help", command], capture_output=True, text=True).stdout
        wrong += [f"kiln {command} has no {o}" for o in re.findall(r"--[a-z]+", rest) if o not in said]
        wrong += [] if f"kiln {command}" in commands else [f"there is no kiln {command}"]
    browser = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    if browser:
        pdf = scratch / "sheet.pdf"
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={scratch / 'profile'}",
                        f"--print-to-pdf={pdf}", "--no-pdf-header-footer", SHEET.resolve().as_uri()],
                       capture_output=True, timeout=120)  # fmt: skip
        pages = len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes()))
        wrong += [] if pages == 1 else [f"it is printed on {pages} pages"]
    print(f"{'not ok' if wrong else 'ok'} - {len(expressions)} expressions", *wrong, sep="\n    ")
    sys.exit(bool(wrong))


main()
