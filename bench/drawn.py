#!/usr/bin/env python3
"""The summary of a run of `speed --random`, or of `speed --predict --random`.

    bench/drawn.py KILN.json [PEERS.json] [--worst N] [--tuned TUNED.json]

Of workloads of 1 MB and more: deciles of bound / time and of copy / time, their geometric means and 10th percentiles, the best peer beside
kiln, and the N that are furthest from their bound with what `explain` says limits them. The bound is the time of a copy of what must move
once and of what no chip of this size can keep (bench/speed/bound.c). Of smaller ones: time over that of a launch that does nothing. Then
what the compiler took, and how much faster another run of the same workloads is, such as one with --autotune. Workloads run again alone by their name: speed --random SEED --only 'SEED.INDEX '."""
import argparse
import json
import math
import os

from report import best_peer, mean

LARGE = 1 << 20
AHEAD = 0.95  # a peer is, below that


def quantile(values, fraction):
    values = sorted(values)
    return values[min(len(values) - 1, int(fraction * len(values)))]


def spread(name, values):
    deciles = " ".join(f"{quantile(values, k / 10):.2f}" for k in range(1, 10))
    return (f"{name}: geometric mean {mean(values):.3f}, 10th percentile {quantile(values, 0.1):.3f}, worst {min(values):.3f}; "
            f"deciles {deciles}")  # fmt: skip


def reason(w):
    """What limits the longest phase of the longest kernel, by the model, and what is read more than once."""
    e = w["explained"]
    kernel = max(e["kernels"], key=lambda k: k["predicted"]["us"], default=None)
    if not kernel:
        return ""
    phase = max(kernel["phases"], key=lambda p: p["predicted"]["us"])
    parts = {k: v for k, v in phase["predicted"].items() if k not in ("us", "bound", "launch") and v >= 0.2 * phase["predicted"]["us"]}
    largest = " ".join(f"{k} {v:.1f}" for k, v in sorted(parts.items(), key=lambda item: -item[1]))
    axes = " ".join(f"{a['name']}={a['size']} of {a['of']}" for a in phase["axes"])
    walk = (f"{phase['name']}: {phase['walk']} of {axes}, {phase['sweeps']} sweeps, {phase['threads_a_group']} threads a group, "
            f"vectors of {phase['vector']}")  # fmt: skip
    walk += f", {phase['splits']} splits" if phase["splits"] > 1 else ""
    kept = ", ".join(f"{k['name']} in {k['in']}" for k in phase["kept"])
    again = ", ".join(f"{i['name']} {i['read']['after'] / i['bytes']:.1f} times" for i in e["inputs"]
                      if i["bytes"] and i["read"]["after"] > 1.05 * i["bytes"])  # fmt: skip
    phases = [f"{p['name']} {p['predicted']['us']:.1f}" for k in e["kernels"] for p in k["phases"]]
    kernels = f"{len(e['kernels'])} {'kernels' if len(e['kernels']) > 1 else 'kernel'} of {', '.join(phases)} us; " if len(phases) > 1 else ""
    return (f"{kernels}{kernel['predicted']['bound']}; {phase['predicted']['us']:.1f} us in {walk}"
            f"{'; kept ' + kept if kept else ''}; {largest}{'; reads ' + again if again else ''}")  # fmt: skip


def large_ones(rows):
    yield spread("bound / time", [w["bound_us"] / w["us"] for w in rows])
    yield spread("copy / time ", [w["floor_us"] / w["us"] for w in rows])
    again = [w for w in rows if w["again"]]
    yield f"{len(again)} of {len(rows)} read again what does not fit: {sum(w['again'] for w in again) / sum(w['bytes'] for w in rows):.2f} of all bytes."


def predicted_well(rows):
    off = {w["name"]: w["predicted_us"] / w["us"] for w in rows}
    worst = sorted(off.items(), key=lambda item: -abs(math.log(item[1])))[:5]
    yield (f"The model is off by a factor of {mean(max(r, 1 / r) for r in off.values()):.3f} in the geometric mean; predicted / measured "
           f"furthest off: {', '.join(f'{name} {r:.2f}' for name, r in worst)}")  # fmt: skip


def layouts(w):
    return {part for value in w["shapes"].split() for part in value.split(":")[1:]} - {"abs"} or {"compact"}


def by_kind(rows):
    """The geometric mean of bound / time of each kind of workload, the worst kind first."""
    kinds = {"programs": lambda w: {w["program"]}, "types": lambda w: {w["dtype"]}, "layouts": layouts}
    for title, kind in kinds.items():
        means = {k: [w["bound_us"] / w["us"] for w in rows if k in kind(w)] for k in set().union(*map(kind, rows))}
        means = sorted((mean(values), k, len(values)) for k, values in means.items())
        yield f"bound / time by {title}: " + ", ".join(f"{k} {m:.2f} ({n})" for m, k, n in means)


def peers_beside(rows, peers):
    ratios = {w["name"]: best[1] / w["us"] for w in rows if (best := best_peer(peers, w["name"]))}
    if ratios:
        behind = {n: r for n, r in ratios.items() if r < AHEAD}
        yield (f"Best peer / kiln over {len(ratios)}: geometric mean {mean(ratios.values()):.3f}; below {AHEAD}: "
               f"{len(behind)} ({len(behind) / len(ratios):.0%})")  # fmt: skip
        for name, ratio in sorted(behind.items(), key=lambda item: item[1])[:20]:
            yield f"  {name}: {ratio:.2f} ({best_peer(peers, name)[0]})"


def chosen_beside(rows, tuned):
    """The time of what was chosen, over that of what a run with autotune has found."""
    ratios = {w["name"]: w["us"] / tuned[w["name"]]["us"] for w in rows if tuned.get(w["name"], {}).get("ok")}
    if ratios:
        yield f"Chosen / tuned over {len(ratios)}: geometric mean {mean(ratios.values()):.3f}; the most:"
        for name, ratio in sorted(ratios.items(), key=lambda item: -item[1])[:10]:
            yield f"  {name}: {ratio:.2f} ({tuned[name]['explained']['schedule']})"


def compiled(rows):
    times = sorted(w["compile_ms"] for w in rows if w["compile_ms"] > 0)
    if times:
        yield (f"Compiler over {len(times)} workloads: median {quantile(times, 0.5):.0f} ms, 90th percentile {quantile(times, 0.9):.0f}, "
               f"most {times[-1]:.0f}; above 150: {sum(t > 150 for t in times)}, above 400: {sum(t > 400 for t in times)}")  # fmt: skip


def worst_ones(rows, worth, count):
    for w in sorted(rows, key=worth)[:count]:
        yield f"{worth(w):.2f}  {w['name']}: {w['us']:.1f} us, bound {w['bound_us']:.1f}, predicted {w['predicted_us']:.1f} us"
        yield f"      {w['shapes']}"
        yield f"      {reason(w)}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kiln")
    parser.add_argument("peers", nargs="?")
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--tuned")
    options = parser.parse_args()
    with open(options.kiln) as f:
        kiln = json.load(f)
    peers, tuned = {}, {}
    if options.tuned:
        with open(options.tuned) as f:
            tuned = {w["name"]: w for w in json.load(f)["workloads"]}
    if options.peers and os.path.exists(options.peers):
        with open(options.peers) as f:
            peers = json.load(f)["workloads"]
    done = [w for w in kiln["workloads"] if w["ok"]]
    large = [w for w in done if w["bytes"] >= LARGE]
    small = [w for w in done if w["bytes"] < LARGE]
    what = "predicted" if kiln["predicted"] else "measured"
    print(f"{kiln['device']}, seed {kiln['seed']}, {what}: {len(large)} workloads of 1 MB and more, {len(small)} smaller ones")
    lines = []
    if large:
        lines += [*large_ones(large), *by_kind(large), *peers_beside(large, peers)]
        lines += [] if kiln["predicted"] else predicted_well(large)
    if small:
        lines += [spread("empty / time of the smaller ones", [kiln["empty_us"] / w["us"] for w in small])]
        lines += [f"Smaller ones take {mean(w['us'] / kiln['empty_us'] for w in small):.2f} of an empty kernel's time in the geometric mean.",
                  *peers_beside(small, peers)]  # fmt: skip
    lines += [*compiled(done), *chosen_beside(done, tuned)]
    if large:
        lines += ["", f"The {options.worst} furthest from their bound:", *worst_ones(large, lambda w: w["bound_us"] / w["us"], options.worst)]
    if small:
        lines += ["", "Of the smaller ones:", *worst_ones(small, lambda w: kiln["empty_us"] / w["us"], options.worst)]
    failed = [w["name"] for w in kiln["workloads"] if not w["ok"]]
    if failed:
        lines += ["", f"Failed: {', '.join(failed)}."]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
