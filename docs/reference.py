#!/usr/bin/env python3
"""Writes the reference from what it is about: kiln(1) from the command's help, kiln(3) and a page of HTML from the public
headers, whose comments are its text.

usage: reference.py KILN OUT_DIR      makes OUT_DIR/man1/kiln.1, OUT_DIR/man3/*.3 and OUT_DIR/kiln.html
"""
import html
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADERS = ["kiln.h", "kiln_dlpack.h"]
SECTION = re.compile(r"^/\* -{2,4} (.+?) -+ \*/$")
FUNCTION = re.compile(r"^KILN_API [^;]*?\b(kiln_\w+)\(|^static inline kiln_arg (kiln_\w+)\(", re.M)
INIT = re.compile(r"^KILN_INIT\((kiln_\w+)\)", re.M)


# ---- the headers ----


def prose(comment):
    """A comment's paragraphs: (kind, text) each. An "item" of a list begins with a dash and goes on in indented lines; other
    indented lines are "code"."""
    parts = []
    for line in comment.strip()[2:-2].strip().split("\n"):
        line = re.sub(r"^ \* ?", "", line)
        kind, text = parts[-1] if parts else ("", "")
        if line.lstrip().startswith("- "):
            parts.append(("item", line.strip()[2:]))
        elif not line.strip():
            parts.append(("", ""))
        elif line.startswith("    ") and kind != "item":
            parts = [*parts[:-1], ("code", f"{text}\n{line}")] if kind == "code" else [*parts, ("code", line)]
        elif kind in ("item", "text"):
            parts[-1] = (kind, f"{text} {line.strip()}")
        else:
            parts.append(("text", line.strip()))
    return [p for p in parts if p[1]]


def blocks(text):
    """The header as (title, [(comment, code), ...]) sections. A comment goes with the declarations right below it."""
    text = text[text.index("#define KILN_VERSION_MAJOR") if "KILN_VERSION_MAJOR" in text else text.index("struct DLM") :]
    text = text.split("/* ---- numbers as values")[0]
    text = re.sub(r"^/\*(?:(?!\*/)[^\n])*\*/\n(?=#define)", "", text, flags=re.M)
    text = re.sub(r"^KILN_INIT\((\w+)\)", r"void \1_init(\1 *s); /* its size and the defaults */", text, flags=re.M)
    text = re.sub(r"^KILN_API ([^;]*;)", lambda m: m[1].replace("\n         ", "\n"), text, flags=re.M)
    text = re.sub(r"^#(?:.*\\\n)*.*\n|^extern \"C\".*\n|^\} /\* extern.*\n", "", text, flags=re.M)
    sections, comment, code, depth = [("Calls", [])], "", [], 0

    def end():
        nonlocal comment, code
        while code and not code[-1].strip():
            code.pop()
        if comment or code:
            sections[-1][1].append((comment, "\n".join(code)))
        comment, code = "", []

    lines = iter(text.split("\n"))
    for line in lines:
        title = SECTION.match(line)
        if title:
            end()
            sections.append((title[1].capitalize(), []))
        elif line.startswith("/*"):
            end()
            comment = line
            while not line.endswith("*/"):
                line = next(lines)
                comment += "\n" + line
        elif line.strip() or depth:
            code.append(line)
            depth += line.count("{") - line.count("}")
        else:
            end()
    end()
    return [s for s in sections if s[1]]


def reference():
    """(what the header says in front, its sections) of each header."""
    for name in HEADERS:
        text = (ROOT / "frontend" / name).read_text()
        yield name, prose(text[: text.index("*/") + 2]), blocks(text)


def functions():
    text = "".join((ROOT / "frontend" / name).read_text() for name in HEADERS)
    return sorted({a or b for a, b in FUNCTION.findall(text)} | {f"{s}_init" for s in INIT.findall(text)})


# ---- man pages ----


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def man_code(text):
    return f".PP\n.in +4n\n.nf\n{roff(text)}\n.fi\n.in\n"


def man_prose(parts):
    heads = {"text": ".PP", "item": ".IP \\(bu 2"}
    return "".join(man_code(t) if kind == "code" else f"{heads[kind]}\n{roff(t)}\n" for kind, t in parts)


def man3(version):
    (name, front, sections), *others = reference()
    out = [f'.TH KILN 3 "" "kiln {version}" "kiln"\n.SH NAME\nkiln \\- array expressions compiled to one GPU kernel\n'
           f".SH SYNOPSIS\n.nf\n#include <{name}>\n.fi\n.PP\ncc ... $(pkg\\-config \\-\\-cflags \\-\\-libs kiln)\n"
           ".SH DESCRIPTION\n" + man_prose(front)]  # fmt: skip
    for name, front, sections in [(None, [], sections), *others]:
        if name:
            out.append(f".SH <{name.upper()}>\n" + man_prose(front))
        for title, items in sections:
            out.append(f".SH {roff(title.upper())}\n")
            for comment, code in items:
                out.append((man_prose(prose(comment)) if comment else "") + (man_code(code) if code else ""))
    out.append(".SH SEE ALSO\n.BR kiln (1)\n")
    return "".join(out)


def said(kiln, *words):
    return subprocess.run([kiln, *words], check=True, capture_output=True, text=True).stdout


def man1(kiln, version):
    summary = said(kiln, "--help")
    out = [f'.TH KILN 1 "" "kiln {version}" "kiln"\n.SH NAME\nkiln \\- run, explain and measure array programs\n'
           f".SH SYNOPSIS\n.nf\n{roff(summary.split(chr(10) + chr(10))[1])}\n.fi\n.SH DESCRIPTION\n"
           + f".PP\n{roff(summary.split(chr(10) + chr(10))[2])}\n"]  # fmt: skip
    for command in re.findall(r"^  kiln (\w+)", summary, re.M):
        usage, rest = said(kiln, "help", command).split("\n\n", 1)
        out.append(f".SH {command.upper()}\n.nf\n{roff(usage)}\n\n{roff(rest.rstrip())}\n.fi\n")
    out.append(".SH SEE ALSO\n.BR kiln (3)\n")
    return "".join(out)


# ---- HTML ----

STYLE = """body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }
pre { background: #f4f4f4; padding: .6em 1em; overflow-x: auto } nav { columns: 3 }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd } pre { background: #242424 } a { color: #8cf } }"""


def html_prose(parts):
    tags = {"text": "p", "item": "li", "code": "pre"}
    return "".join(f"<{tags[kind]}>{html.escape(t)}</{tags[kind]}>\n" for kind, t in parts)


def html_code(code):
    text = html.escape(code)
    return "<pre>" + re.sub(r"\b(kiln_\w+)(?=\()", r'<b id="\1">\1</b>', text) + "</pre>\n"


def page(version):
    links = "\n".join(f'<a href="#{f}">{f}</a><br>' for f in functions())
    out = [f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>kiln {version}</title>\n<style>{STYLE}</style>\n'
           f"<h1>kiln {version}</h1>\n<nav>{links}</nav>\n"]  # fmt: skip
    for name, front, sections in reference():
        out.append(f"<h2>&lt;{name}&gt;</h2>\n" + html_prose(front))
        for title, items in sections:
            out.append(f"<h3>{html.escape(title)}</h3>\n")
            out += [html_prose(prose(c) if c else []) + (html_code(d) if d else "") for c, d in items]
    return "".join(out) + "</html>\n"


def main():
    kiln, out = sys.argv[1], Path(sys.argv[2])
    version = said(kiln, "--version").split()[1]
    for section in ("man1", "man3"):
        (out / section).mkdir(parents=True, exist_ok=True)
    (out / "man1/kiln.1").write_text(man1(kiln, version))
    (out / "man3/kiln.3").write_text(man3(version))
    for f in functions():
        (out / f"man3/{f}.3").write_text(".so man3/kiln.3\n")
    (out / "kiln.html").write_text(page(version))


main()
