#!/usr/bin/env python3
"""A run of `speed`, and of peers.py if there is one, as a Markdown table and a chart.

    bench/report.py KILN.json [PEERS.json] [--svg FILE]
    bench/report.py TABLE.md --svg FILE                 the chart of a table that this program wrote

`of floor` is the time of a copy that moves the bytes that must move once, over kiln's time; `peer / kiln` is the time of the fastest peer
over kiln's, and its geometric mean stands below the table with the rows where a peer is ahead by more than 2 in 100. Plain C is no peer:
it has columns of its own, where there is any."""
import argparse
import json
import math
import os

AHEAD = 0.98
PLAIN_C = "C"


def best_peer(peers, name):
    times = {n: t for n, t in peers.get(name, {}).get("us", {}).items() if t > 0 and n != PLAIN_C}
    return min(times.items(), key=lambda item: item[1], default=None)


def plain_c(peers, name):
    return peers.get(name, {}).get("us", {}).get(PLAIN_C)


def table(kiln, peers):
    has_c = any(plain_c(peers, name) for name in peers)
    head = " C us | C / kiln |" if has_c else ""
    yield f"| workload | launches | us | floor us | of floor | predicted us | host us | compile ms |{head} best peer us | which | peer / kiln |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|" + "---|---|" * has_c
    for w in kiln["workloads"]:
        if not w["ok"]:
            yield f"| {w['name']} | FAILED |" + " |" * (9 + 2 * has_c)
            continue
        best = best_peer(peers, w["name"])
        peer = f"{best[1]:.1f} | {best[0]} | {best[1] / w['us']:.2f}" if best else " | | "
        c = plain_c(peers, w["name"])
        c = f" {c:.1f} | {c / w['us']:.2f} |" if c else " | |" * has_c
        yield (f"| {w['name']} | {w['launches']} | {w['us']:.1f} | {w['floor_us']:.1f} | {w['floor_us'] / w['us']:.2f} "
               f"| {w['predicted_us']:.1f} | {w['host_us']:.1f} | {w['compile_ms']:.0f} |{c} {peer} |")  # fmt: skip


def summary(kiln, peers):
    done = [w for w in kiln["workloads"] if w["ok"]]
    if done:
        yield f"Geometric mean of floor / time over {len(done)} workloads: {mean(w['floor_us'] / w['us'] for w in done):.3f}."
    ratios = {w["name"]: best[1] / w["us"] for w in done if (best := best_peer(peers, w["name"]))}
    if ratios:
        yield f"Geometric mean of best peer / kiln over {len(ratios)} workloads: {mean(ratios.values()):.3f}."
        behind = [f"{name} ({r:.2f})" for name, r in sorted(ratios.items(), key=lambda item: item[1]) if r < AHEAD]
        yield f"Below {AHEAD}: {', '.join(behind) if behind else 'none'}."
    ratios = [c / w["us"] for w in done if (c := plain_c(peers, w["name"]))]
    if ratios:
        yield f"Geometric mean of C / kiln over {len(ratios)} workloads: {mean(ratios):.3f}, the least {min(ratios):.2f}."
    for w in done:
        host = peers.get(w["name"], {}).get("host_us", {})
        if host:
            yield f"Host time a call, {w['name']}: kiln {w['host_us']:.1f} us, " + ", ".join(
                f"{n} {t:.1f}" for n, t in host.items()) + "."  # fmt: skip
    failed = [w["name"] for w in kiln["workloads"] if not w["ok"]]
    if failed:
        yield f"Failed: {', '.join(failed)}."


def mean(values):
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs))


def from_table(path):
    """What the chart needs, of a Markdown text that has the table below a heading that names the device."""
    with open(path) as f:
        above, below = f.read().split("\n| workload ")
    kiln, peers = {"device": above.split("\n## ")[-1].split("\n")[0], "workloads": []}, {}
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in below.splitlines()]
    for name, _, us, floor, *_, best, which, _ in (row for row in rows[1:] if len(row) in (11, 13) and row[0] != "---"):
        kiln["workloads"].append({"name": name, "ok": True, "us": float(us), "floor_us": float(floor)})
        peers[name] = {"us": {which: float(best)}} if best else {}
    return kiln, peers


def write_chart(path, kiln, peers):
    with open(path, "w") as f:
        f.write("\n".join(chart(kiln, peers)) + "\n")


def chart(kiln, peers):
    """Bars of fraction of the floor; a mark where the best peer is."""
    rows = [w for w in kiln["workloads"] if w["ok"]]
    left, width, step = 280, 520, 20
    height = 50 + step * len(rows)
    x = lambda fraction: left + width * min(fraction, 1.1) / 1.1  # noqa: E731
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{height}" '
           'font-family="sans-serif" font-size="12">')  # fmt: skip
    yield f'<rect width="100%" height="100%" fill="white"/><text x="{left}" y="16">time of a copy / time, {kiln["device"]}; ' \
          'line: the fastest peer</text>'  # fmt: skip
    for tick in (0, 0.25, 0.5, 0.75, 1):
        yield f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="24" y2="{height - 20}" stroke="#ccc"/>'
        yield f'<text x="{x(tick):.1f}" y="{height - 6}" text-anchor="middle">{tick:g}</text>'
    for i, w in enumerate(rows):
        y, fraction = 28 + i * step, w["floor_us"] / w["us"]
        yield f'<text x="{left - 6}" y="{y + 12}" text-anchor="end">{w["name"]}</text>'
        yield f'<rect x="{left}" y="{y}" width="{x(fraction) - left:.1f}" height="14" fill="#4477aa"/>'
        yield f'<text x="{x(fraction) + 4:.1f}" y="{y + 12}">{fraction:.2f}</text>'
        best = best_peer(peers, w["name"])
        if best:
            at = x(w["floor_us"] / best[1])
            yield f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y - 2}" y2="{y + 16}" stroke="#cc3311" stroke-width="3"/>'
    yield "</svg>"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kiln")
    parser.add_argument("peers", nargs="?")
    parser.add_argument("--svg")
    options = parser.parse_args()
    if options.kiln.endswith(".md"):
        return write_chart(options.svg, *from_table(options.kiln))
    with open(options.kiln) as f:
        kiln = json.load(f)
    peers, versions = {}, []
    if options.peers and os.path.exists(options.peers):
        with open(options.peers) as f:
            measured = json.load(f)
        peers, versions = measured["workloads"], measured["versions"]
    print("\n".join(table(kiln, peers)), "\n", sep="\n")
    print("\n".join(summary(kiln, peers)))
    if versions:
        print(f"Peers: {', '.join(versions)}.")
    if options.svg:
        write_chart(options.svg, kiln, peers)


if __name__ == "__main__":
    main()
