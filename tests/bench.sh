#!/usr/bin/env bash
# bench/speed checks a small workload and measures it; the report shows it, with a peer's time beside it. --merges checks
# and measures each of its variants, and lists those that are quicker than fused. --random draws workloads.
# usage: tests/bench.sh SPEED SCRATCH
set -euo pipefail
speed=$1 scratch=$2
fail() {
    echo "$*"
    exit 1
}
"$speed" --device cpu --only 'layernorm f32 64x64' --repeats 3 --autotune 50 --json "$scratch/kiln.json" >"$scratch/log" || fail "$(cat "$scratch/log")"
grep -q '^layernorm f32 64x64 .* 1 ' "$scratch/log" || fail "$(cat "$scratch/log")"
name='layernorm f32 64x64'
printf '{"device": "cpu", "versions": ["a peer"], "workloads": {"%s": {"us": {"slow": 1e9, "fast": 1e-9}, "host_us": {}}}}' "$name" >"$scratch/peers.json"
python3 bench/report.py "$scratch/kiln.json" "$scratch/peers.json" --svg "$scratch/chart.svg" >"$scratch/table.md"
grep -q "^| $name | 1 | .*| fast | 0.00 |$" "$scratch/table.md" || fail "$(cat "$scratch/table.md")"
grep -q "^Below 0.98: $name (0.00)" "$scratch/table.md" || fail "$(cat "$scratch/table.md")"
python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$scratch/chart.svg"
python3 bench/fit.py "$scratch/kiln.json" >"$scratch/fit" || fail "$(cat "$scratch/fit")"
grep -q "^| $name | whole | .* |$" "$scratch/fit" && grep -q "over 1 of 1 measurements" "$scratch/fit" || fail "$(cat "$scratch/fit")"
"$speed" --merges --device cpu --only 'layernorm f32 64x64' --repeats 3 --json "$scratch/merges.json" >"$scratch/merges" || fail "$(cat "$scratch/merges")"
python3 - "$scratch/merges.json" "$scratch/merges" <<'END' || fail "$(cat "$scratch/merges")"
import json, re, sys
measured = json.load(open(sys.argv[1]))
printed = open(sys.argv[2]).read()
(workload,) = measured["workloads"]
fused, unfused, *undone = workload["variants"]
assert workload["ok"] and measured["checked"]
assert fused["fusion"] and not unfused["fusion"] and unfused["launches"] > fused["launches"]
assert len(undone) > 1 and all(v["schedule"] == f"undo {i + 1}" and v["undone"] for i, v in enumerate(undone))
assert all(v["us"] > 0 and v["predicted_us"] > 0 and v["error"] < 2e-5 for v in workload["variants"])
assert fused["ratio"] == fused["p90"] == 1 and not fused["quicker"]
title = {"": "unfused"} | {v["schedule"]: f"{v['schedule']}: {v['undone']}" for v in undone}
own = [v for i, v in enumerate(workload["variants"]) if v["same_as"] == i]
assert all(workload["variants"][v["same_as"]] in own for v in undone) and own[:2] == [fused, unfused]
quicker = [title[v["schedule"]] for v in own if v["quicker"]]
rows, listed = printed.split("\nfused is not the quickest:")
assert all(f"\n  {t} " in rows for t in title.values())
assert re.findall(r"^  layernorm f32 64x64, (.*): \d\.\d\d of fused's time, predicted \d+\.\d\d$", listed, re.M) == quicker
assert quicker or listed == " nowhere\n"
END
# Drawn workloads: the same in every process, whatever their number; right on the CPU and on the emulator; predicted without either.
"$speed" --list --random 5 --count 40 >"$scratch/drawn.json" && "$speed" --list --random 5 --count 10 --only '5.7 ' >"$scratch/one.json"
"$speed" --device cpu --random 5 --count 12 --bytes 8K:64K --repeats 1 --json "$scratch/measured.json" >"$scratch/log" || fail "$(cat "$scratch/log")"
"$speed" --device emu --random 5 --count 3 --bytes 2K:4K --repeats 1 >"$scratch/log" || fail "$(cat "$scratch/log")"
"$speed" --predict sm_90 --random 5 --count 40 --json "$scratch/predicted.json" >"$scratch/log" || fail "$(cat "$scratch/log")"
python3 - "$scratch"/{drawn,one,predicted}.json <<'END' || fail "drawn workloads are not as they should be"
import json, sys
drawn, (one,), predicted = (json.load(open(path))["workloads"] for path in sys.argv[1:])
assert [w["name"].split()[0] for w in drawn] == [f"5.{i}" for i in range(40)]
assert all(one[k] == drawn[7][k] for k in ("text", "shapes", "dtype", "inputs"))
assert all(w["ok"] and w["shapes"] == d["shapes"] and w["bound_us"] >= w["floor_us"] > 0 for w, d in zip(predicted, drawn, strict=True))
assert len({w["text"] for w in drawn}) > 30 and {"f32", "bf16", "f16"} <= {w["dtype"] for w in drawn}
assert {":t", ":pad", ":2", ":off"} <= {part for w in drawn for part in w["name"].split()}
END
for measured in measured predicted; do
    python3 bench/drawn.py "$scratch/$measured.json" --worst 3 --tuned "$scratch/$measured.json" >"$scratch/summary" || fail "$(cat "$scratch/summary")"
    grep -q "of an empty kernel's time" "$scratch/summary" && grep -q '^Chosen / tuned over .* mean 1.000' "$scratch/summary" || fail "$(cat "$scratch/summary")"
done
# Those that no gradient is in are NumPy's too.
python=${KILN_PYTHON:-python3}
if "$python" -c 'import numpy' 2>/dev/null; then
    "$python" bench/peers.py "$scratch/measured.json" -o "$scratch/peers.json" --seconds 10 >"$scratch/log" 2>"$scratch/lacks"
    grep -vE 'without |: (it has no gradients|Numpy: bf16|name .bf16. is not defined|Jax: strides|no time left)$' "$scratch/lacks" && fail "a peer cannot run what is drawn"
    python3 bench/drawn.py "$scratch/measured.json" "$scratch/peers.json" >"$scratch/beside" || fail "$(cat "$scratch/beside")"
    grep -q '^Best peer / kiln' "$scratch/beside" || fail "no peer is in the summary"
fi
grep -q '^bound / time: geometric mean' "$scratch/summary" && grep -q '^[0-9.]*  5\.' "$scratch/summary" || fail "$(cat "$scratch/summary")"
"$speed" --merges --schedule split 2>/dev/null && fail "merges of a schedule that is forced"
"$speed" --device cpu --repeats none 2>/dev/null && fail "a number of repeats that is none"
echo "ok"
