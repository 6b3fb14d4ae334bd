#!/usr/bin/env bash
# bench/speed checks a small workload and measures it; the report shows it, with a peer's time beside it.
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
grep -q "^| $name | whole | .* |$" "$scratch/fit" && grep -q "over 1 measurements" "$scratch/fit" || fail "$(cat "$scratch/fit")"
"$speed" --device cpu --repeats none 2>/dev/null && fail "a number of repeats that is none"
echo "ok"
