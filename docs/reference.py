#!/usr/bin/env python3
"""Writes the reference from what it is about: kiln(1) from the command's help, kiln(3) and a page of HTML from the public
headers, whose comments are its text.

usage: reference.py KILN CALLS OUT_DIR      makes OUT_DIR/man1/kiln.1, OUT_DIR/man3/*.3 and OUT_DIR/kiln.html; CALLS is
                                            docs/calls, built: the page shows these examples and what they print
"""
import html
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADERS = sorted(path.name for path in ROOT.glob("frontend/kiln*.h"))  # kiln.h is the first
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
    text = text[text.index("#define KILN_VERSION_MAJOR") if "KILN_VERSION_MAJOR" in text else text.index('#include "kiln.h"') :]
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


# ---- examples ----


class Example:
    def __init__(self, name, said, code):
        self.name, self.said, self.code, self.prints = name, said, code, ""
        self.calls = set(re.findall(r"\b(kiln_\w+)\(", code))


def examples(calls):
    """The functions of docs/calls that take a context, each with what it prints."""
    found = {}
    for path in sorted((ROOT / "docs/calls").glob("*.c")):
        text = path.read_text()
        for said, code, name in re.findall(r"(?:/\*((?:(?!\*/).)*)\*/\n)?(void (\w+)\(kiln_ctx \*ctx[^{]*\{\n.*?^\}\n)", text, re.M | re.S):
            found[name] = Example(name, " ".join(said.replace(" * ", " ").split()), code)
    order = re.findall(r"^EXAMPLE\((\w+)\)", (ROOT / "docs/calls/calls.def").read_text(), re.M)
    found = {name: found[name] for name in [*order, *found]}
    main = (ROOT / "docs/calls/main.c").read_text()
    found["main"] = Example("main", "What runs the others, on one thread of the CPU, keeping nothing on disk.", main)
    said = subprocess.run([calls], check=True, capture_output=True, text=True).stdout
    for part in re.split(r"^== ", said, flags=re.M)[1:]:
        name, prints = part.split("\n", 1)
        found[name].prints = prints
    return found


def shortest_of(call, found):
    """The example that shows a call."""
    using = [e for e in found.values() if call in e.calls]
    if not using:
        sys.exit(f"docs/calls has no example of {call}()")
    return min(using, key=lambda e: len(e.code))


# ---- HTML ----

STYLE = """:root { color-scheme: light dark; --paper: #fbfaf8; --card: #fff; --ink: #1d1d1f; --soft: #6b6b70; --rule: #dedbd5; --link: #2c6cb0 }
@media (prefers-color-scheme: dark) { :root { --paper: #16171a; --card: #1f2125; --ink: #e8e6e3; --soft: #9c9ca3; --rule: #373a40;
--link: #6aa9e9 } }
body { font: 15px/1.55 system-ui, "DejaVu Sans", sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1.2em; background: var(--paper);
color: var(--ink) }
h2 { margin-top: 2.2em } h3 { margin-top: 2em } a { color: var(--link); text-decoration: none } a:hover { text-decoration: underline }
pre, nav { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: .7em 1em; overflow-x: auto }
pre { font: 13px/1.5 ui-monospace, Menlo, "DejaVu Sans Mono", monospace } pre.prints { border-style: dashed; color: var(--soft) }
nav { columns: 15em auto; font-size: 13px } .see { color: var(--soft); font-size: 13px; margin-top: -.6em } li { margin: .2em 0 .2em 1.2em }"""


def html_prose(parts):
    tags = {"text": "p", "item": "li", "code": "pre"}
    return "".join(f"<{tags[kind]}>{html.escape(t)}</{tags[kind]}>\n" for kind, t in parts)


def html_code(code):
    text = html.escape(code)
    return "<pre>" + re.sub(r"\b(kiln_\w+)(?=\()", r'<b id="\1">\1</b>', text) + "</pre>\n"


def html_examples(code, found):
    """Which examples show the calls of a piece of the header."""
    names = sorted({shortest_of(call, found).name for call in re.findall(r"\b(kiln_\w+)(?=\()", code) if call in functions()})
    links = ", ".join(f'<a href="#example-{n}">{n}</a>' for n in names)
    return f'<p class="see">example{"s" * (len(names) > 1)}: {links}</p>\n' if names else ""


def html_example(e):
    calls = re.sub(r"\b(kiln_\w+)(?=\()", lambda m: f'<a href="#{m[1]}">{m[1]}</a>' if m[1] in functions() else m[1],
                   html.escape(e.code))  # fmt: skip
    prints = f'<pre class="prints">{html.escape(e.prints)}</pre>\n' if e.prints else ""
    return f'<h3 id="example-{e.name}">{e.name}</h3>\n<p>{html.escape(e.said)}</p>\n<pre>{calls}</pre>\n{prints}'


def page(version, found):
    links = "\n".join(f'<a href="#{f}">{f}</a><br>' for f in functions())
    out = [f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
           f'<title>kiln {version}</title>\n<style>{STYLE}</style>\n</head><body>\n'
           f"<h1>kiln {version}</h1>\n<nav>{links}</nav>\n"]  # fmt: skip
    for name, front, sections in reference():
        out.append(f"<h2>&lt;{name}&gt;</h2>\n" + html_prose(front))
        for title, items in sections:
            out.append(f"<h3>{html.escape(title)}</h3>\n")
            out += [html_prose(prose(c) if c else []) + (html_code(d) + html_examples(d, found) if d else "")
                    for c, d in items]  # fmt: skip
    out.append("<h2>Examples</h2>\n<p>All of them are compiled and run where this page is made; what they print is below each. "
               "They include <code>docs/calls/calls.h</code>, which includes the header.</p>\n")  # fmt: skip
    out += [html_example(e) for e in found.values()]
    return "".join(out) + "</body></html>\n"


def main():
    kiln, calls, out = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    version = said(kiln, "--version").split()[1]
    for section in ("man1", "man3"):
        (out / section).mkdir(parents=True, exist_ok=True)
    (out / "man1/kiln.1").write_text(man1(kiln, version))
    (out / "man3/kiln.3").write_text(man3(version))
    for f in functions():
        (out / f"man3/{f}.3").write_text(".so man3/kiln.3\n")
    (out / "kiln.html").write_text(page(version, examples(calls)))


main()
