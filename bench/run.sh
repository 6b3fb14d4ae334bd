#!/usr/bin/env bash
# kiln and its peers on this machine, each workload of bench/speed/workloads.def: a Markdown table, a chart and the numbers.
# usage: bench/run.sh SPEED OUT [DEVICE [--random SEED [--count N] [--bytes FROM:TO]]] [options of peers.py]
#   SPEED  the program `speed`, OUT a folder for kiln.json, peers.json, table.md and chart.svg; of workloads that are drawn also summary.txt
set -uo pipefail
speed=$1 out=$2 device=${3:-auto}
here=$(cd "$(dirname "$0")" && pwd)
python=${KILN_PYTHON:-python3}
shift $(($# > 3 ? 3 : $#))
drawn=()
while [[ ${1:-} =~ ^--(random|count|bytes)$ ]]; do
    drawn+=("$1" "$2")
    shift 2
done
mkdir -p "$out"
rm -f "$out"/{kiln,peers}.json
status=0
"$speed" --device "$device" --json "$out/kiln.json" "${drawn[@]}" || status=1
plain=$(dirname "$speed")/../peers.so
"$python" "$here/peers.py" "$out/kiln.json" -o "$out/peers.json" --plain-c "$plain" "$@" || status=1
"$python" "$here/report.py" "$out/kiln.json" "$out/peers.json" --svg "$out/chart.svg" | tee "$out/table.md"
[[ ${#drawn[@]} == 0 ]] || "$python" "$here/drawn.py" "$out/kiln.json" "$out/peers.json" | tee "$out/summary.txt"
exit $status
