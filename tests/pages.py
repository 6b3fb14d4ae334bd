#!/usr/bin/env python3
"""The pages and drawings that the command writes: each is one file that asks for no other, well-formed, and, with a
browser, legible: no text over another or out of its drawing, no page wider than its window, dark where that is asked for.

usage: pages.py KILN CALLS SCRATCH_DIR [browser]
"""
import html.parser
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

PROGRAMS = Path("tests/golden/programs")
BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
WIDTHS = [1440, 1024, 480]
ALONE = {"area", "br", "col", "hr", "img", "input", "link", "meta", "path", "rect", "circle", "line"}

# What it finds becomes the page's title.
LOOK = """<script>
addEventListener("load", () => {
  const wrong = [];
  const say = t => t.textContent.trim().slice(0, 30);
  if (document.documentElement.scrollWidth > innerWidth + 1)
    wrong.push("wider than its window: " + document.documentElement.scrollWidth);
  for (const svg of document.querySelectorAll("svg")) {
    const edge = svg.getBoundingClientRect(), texts = [];
    for (const t of svg.querySelectorAll("text")) {
      const r = t.getBoundingClientRect();
      if (r.left < edge.left - 1 || r.right > edge.right + 1 || r.top < edge.top - 1 || r.bottom > edge.bottom + 1)
        wrong.push("out of its drawing: " + say(t));
      if (!t.hasAttribute("transform")) texts.push([t, r]);
    }
    texts.forEach(([t, r], i) => texts.slice(i + 1).forEach(([u, q]) => {
      const w = Math.min(r.right, q.right) - Math.max(r.left, q.left);
      const h = Math.min(r.bottom, q.bottom) - Math.max(r.top, q.top);
      if (w > 2 && h > Math.min(r.height, q.height) / 3) wrong.push(say(t) + " over " + say(u));
    }));
  }
  const light = c => c.match(/[0-9.]+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 3;
  const style = getComputedStyle(document.body ?? document.documentElement);
  document.title = JSON.stringify({wrong: wrong.slice(0, 5), paper: light(style.backgroundColor), ink: light(style.color)});
});
</script>"""


class Tags(html.parser.HTMLParser):
    """Are they closed in order?"""

    def __init__(self):
        super().__init__()
        self.open, self.wrong = [], None

    def handle_starttag(self, tag, attributes):
        if tag not in ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ALONE and (not self.open or self.open.pop() != tag):
            self.wrong = self.wrong or f"</{tag}> at {self.getpos()}"


def is_sound(text, is_page):
    """What is wrong with a file by itself; None: nothing."""
    namespace = 'xmlns="http://www.w3.org/2000/svg"'
    alone = text.replace(namespace, "")
    asks = re.search(r"<script|<link|<img|<iframe|@import|url\(|\bsrc=|https?://", alone)
    if asks:
        return f"it asks for something: {alone[asks.start() : asks.start() + 60]!r}"
    for svg in re.findall(r"<svg.*?</svg>", text, re.S):
        try:
            xml.fromstring(svg)
        except xml.ParseError as error:
            return f"a drawing is no XML: {error}"
    if is_page:
        tags = Tags()
        tags.feed(text)
        if tags.wrong or tags.open:
            return tags.wrong or f"not closed: {tags.open}"
    return None


def look(browser, page, scratch, width, dark):
    """What the browser finds wrong."""
    import json

    text = page.read_text()
    shown = scratch / "shown.html"
    if page.suffix == ".svg":
        text = f"<!doctype html><html><head></head><body>{text}</body></html>"
    shown.write_text(text.replace("</head>", LOOK + "</head>", 1))
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={scratch / 'profile'}",
               f"--window-size={width},900", "--virtual-time-budget=5000", "--dump-dom"]
    if dark:
        command.append("--blink-settings=preferredColorScheme=0")
    run = subprocess.run([*command, shown.resolve().as_uri()], capture_output=True, text=True, timeout=120)
    title = re.search(r"<title>(\{.*?\})</title>", run.stdout)
    if not title:
        return [f"the browser says nothing: {run.stderr[-200:]}"]
    found = json.loads(html.unescape(title[1]))
    if page.suffix == ".html" and (found["paper"] < found["ink"]) != dark:
        found["wrong"].append(f"paper {found['paper']}, ink {found['ink']}, dark: {dark}")
    return found["wrong"]


def explained(kiln, scratch):
    """Pages of programs of every kind: one kernel and several, all devices, without a text's lines, with long names."""
    long = scratch / "long.kiln"
    long.write_text("def a_function_with_quite_a_long_name(an_input_with_a_long_name: f32[Rows, Columns]):\n"
                    "    the_first_intermediate_value = an_input_with_a_long_name * 2 # a < b && \"c\" — ü\n"
                    "    the_result_of_it_all = the_first_intermediate_value / sum(the_first_intermediate_value, axis=1)[:, None]\n"
                    "    return the_result_of_it_all\n")
    none = scratch / "none.kiln"
    none.write_text("def none(x: f32[N, C]):\n    return sum(x, axis=1)\n")
    many = scratch / "many.kiln"
    steps = [f"    y{i + 1} = y{i} / sum(y{i}, axis={i % 2}, keepdims=True)\n" for i in range(30)]
    many.write_text("def many(y0: f32[N, C]):\n" + "".join(steps) + "    return y30\n")
    cases = [(p, []) for p in sorted(PROGRAMS.glob("*.kiln"))] + [(none, ["x=f32[0,5]"]), (many, [])]
    cases += [(long, []), (PROGRAMS / "softmax.kiln", ["--device", "cpu"]), (PROGRAMS / "sinkhorn.kiln", ["--arch", "sm_70"]),
              (PROGRAMS / "batchnorm.kiln", ["--fusion", "off"]), (PROGRAMS / "adam.kiln", ["--device", "cpu"])]
    for program, options in cases:
        page = scratch / ("_".join([program.stem, *options]) + ".html")
        page.unlink(missing_ok=True)
        subprocess.run([kiln, "explain", program, "--html", page, *options], check=True)
        yield page


def measured(kiln, scratch):
    """Charts of a program that is quicker fused, and of one that is the same."""
    for program, values in [("softmax", ["x=f32[64,256]"]), ("transposed_add", ["a=f32[32,48]", "b=f32[48,32]"])]:
        chart = scratch / f"{program}.svg"
        chart.unlink(missing_ok=True)
        subprocess.run([kiln, "bench", PROGRAMS / f"{program}.kiln", *values, "--device", "cpu", "--svg", chart], check=True,
                       stdout=subprocess.DEVNULL)
        yield chart


def documented(kiln, calls, scratch):
    """The reference, the cheat sheet, and a part of the gallery."""
    subprocess.run([sys.executable, "docs/reference.py", kiln, calls, scratch / "reference"], check=True)
    yield scratch / "reference/kiln.html"
    yield Path("docs/cheatsheet.html")
    subprocess.run([sys.executable, "docs/gallery.py", kiln, scratch / "gallery", "cpu", "softmax"], check=True)
    yield scratch / "gallery/index.html"


def main():
    kiln, calls, scratch = *sys.argv[1:3], Path(sys.argv[3])
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    wants_browser = sys.argv[4:] == ["browser"]
    if wants_browser and not browser:
        print("skipped: there is none of", *BROWSERS)
        sys.exit(77)
    pages, failed = [*explained(kiln, scratch), *measured(kiln, scratch), *documented(kiln, calls, scratch)], 0
    for i, page in enumerate(pages):
        if wants_browser:  # each page in one of the ways, the first in all
            ways = [(w, d) for w in WIDTHS for d in (False, True)]
            ways = ways if i == 0 else [ways[i % len(ways)]]
            wrong = [f"{w} wide{', dark' if d else ''}: {x}" for w, d in ways for x in look(browser, page, scratch, w, d)]
        else:
            wrong = list(filter(None, [is_sound(page.read_text(), page.suffix == ".html")]))
        print(f"{'not ok' if wrong else 'ok'} - {page.name}", *wrong, sep="\n    ")
        failed += bool(wrong)
    sys.exit(failed > 0)


main()
