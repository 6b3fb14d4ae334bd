#!/usr/bin/env python3
"""Writes a gallery: programs, what they become as drawings for an sm_90 with the CUDA source, and what they take on this
machine; and programs in C with what they print.

usage: gallery.py KILN OUT_DIR [DEVICE [PROGRAM ...]]
makes OUT_DIR/index.html and a page a program, all of them or those that are named; DEVICE is auto without it
"""
import html
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What each is, its file, and the values that it is drawn for; on a CPU it is measured with a part of the rows.
PROGRAMS = [
    ("Batch normalisation", "examples/batchnorm.kiln", ["x=f32[32,256,56,56]", "gamma=f32[256]", "beta=f32[256]"]),
    ("Its gradients", "tests/golden/programs/batchnorm_backward.kiln",
     ["dy=f32[32,256,56,56]", "x=f32[32,256,56,56]", "gamma=f32[256]", "m=f32[1,256,1,1]", "v=f32[1,256,1,1]@ones"]),
    ("Softmax of rows", "examples/softmax.kiln", ["x=f32[16384,8192]"]),
    ("Layer normalisation", "examples/layernorm.kiln", ["x=f32[16384,4096]", "gamma=f32[4096]", "beta=f32[4096]"]),
    ("Dropout, residual, layer normalisation", "examples/dropout_norm.kiln",
     ["x=f32[16384,4096]", "r=f32[16384,4096]", "gamma=f32[4096]", "beta=f32[4096]", "seed=1", "offset=2"]),
    ("Their gradients", "examples/dropout_norm_backward.kiln",
     ["x=f32[16384,4096]", "r=f32[16384,4096]", "gamma=f32[4096]", "beta=f32[4096]", "seed=1", "offset=2",
      "dy=f32[16384,4096]"]),
    ("A step of Sinkhorn's iteration", "tests/golden/programs/sinkhorn.kiln", ["k=f32[8192,8192]@uniform(1,2)"]),
    ("Double centring", "examples/double_center.kiln", ["x=f64[8192,8192]"]),
    ("Columns standardised", "tests/golden/programs/zscore_columns.kiln", ["x=f32[65536,1024]"]),
    ("A matrix and another, transposed", "tests/golden/programs/transposed_add.kiln", ["a=f32[8192,8192]", "b=f32[8192,8192]"]),
]  # fmt: skip
# Programs in C, which are shown with what they print: what a title says, and the file in examples/.
IN_C = [("A batch normalisation trained in C", "train_batchnorm"), ("A model fitted by gradient descent, in C", "fit")]
SMALL = {16384: 512, 65536: 2048, 8192: 1024, 32: 2}

STYLE = """article { margin-top: 46px } article header { display: flex; gap: 26px; flex-wrap: wrap; align-items: start }
article .text { margin: 0 } .measured { margin: 0; color: var(--soft) } .measured b { color: var(--ink); font-size: 19px }
article pre { overflow-x: auto; font-size: 12px; line-height: 1.45; margin: 0 } article pre.printed { color: var(--soft) }
article > a { display: inline-block; margin-top: 8px } a { color: var(--in) }"""


def small(value):
    """The same array with fewer rows, that a CPU measures in a moment."""
    return re.sub(r"\b\d+", lambda m: str(SMALL.get(int(m[0]), m[0])), value.split("@")[0]) + "".join(value.partition("@")[1:])


def said(*command):
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {run.stderr}")
    return run.stdout


def exhibit(kiln, device, title, file, values, out):
    """What the gallery shows of a program. Its own page is made beside it."""
    page = out / f"{Path(file).stem}.html"
    said(kiln, "explain", ROOT / file, *values, "--html", page)
    text = page.read_text()
    measured = json.loads(said(kiln, "bench", ROOT / file, *map(small, values) if device == "cpu" else values,
                               "--device", device, "--json"))  # fmt: skip
    fused, unfused = measured["fused"], measured["unfused"]
    program = re.search(r'<div class="code text">.*?</div>\n</div>', text, re.S)[0]
    flows = re.search(r'<div class="flows".*?</div></section>', text, re.S)[0].removesuffix("</section>")
    sizes = ", ".join(html.escape(small(v) if device == "cpu" else v) for v in values)
    return (f'<article><h2>{html.escape(title)}</h2>\n<header>{program}\n<p class="measured"><b>{fused["us"]:.1f} us</b> fused, '
            f'{unfused["us"]:.1f} us unfused: {unfused["us"] / fused["us"]:.2f} times as fast<br>measured on {measured["device"]}, '
            f'{fused["launches"]} launch{"es" * (fused["launches"] != 1)} instead of {unfused["launches"]}<br>{sizes}</p></header>\n'
            f'{flows}\n<a href="{page.name}">{page.name}: the roofline, the schedule, the CUDA source</a></article>\n'), text  # fmt: skip


def example(kiln, title, name):
    """What the gallery shows of a program in C, which is built beside kiln."""
    source = html.escape((ROOT / f"examples/{name}.c").read_text())
    printed = html.escape(said(Path(kiln).parent / "examples" / name))
    return (f'<article><h2>{html.escape(title)}</h2>\n<header><pre>{source}</pre>'
            f'<pre class="printed">{printed}</pre></header></article>\n')  # fmt: skip


def main():
    kiln, out = sys.argv[1], Path(sys.argv[2])
    device = sys.argv[3] if len(sys.argv) > 3 else "auto"
    if device == "auto":  # what that is here
        device = json.loads(said(kiln, "bench", ROOT / "examples/softmax.kiln", "x=f32[8,8]", "--json"))["device"]
    out.mkdir(parents=True, exist_ok=True)
    articles = []
    shown = [p for p in PROGRAMS if len(sys.argv) < 5 or Path(p[1]).stem in sys.argv[4:]]
    for i, (title, file, values) in enumerate(shown):
        if sys.stderr.isatty():
            print(f"\r\033[K{i + 1} of {len(shown)}: {title}", end="", file=sys.stderr, flush=True)
        article, text = exhibit(kiln, device, title, file, values, out)
        articles.append(article)
    if len(sys.argv) < 5:
        articles += [example(kiln, *one) for one in IN_C]
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    style = re.search(r"<style>(.*?)</style>", text, re.S)[1]
    (out / "index.html").write_text(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">\n'
        f"<title>kiln: a gallery</title>\n<style>{style}{STYLE}</style></head>\n<body><h1>What becomes of programs</h1>\n"
        "<p class=\"note\">Each as it is drawn for an sm_90, unfused and fused, with predicted times; beside the program what this "
        "machine took.</p>\n" + "".join(articles) + "</body></html>\n")  # fmt: skip


main()
