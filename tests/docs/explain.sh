#!/usr/bin/env bash
# README.md shows what `kiln explain` says, but for predicted times, which follow from measured machines.
# usage: explain.sh KILN
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

times() { sed -E 's/predicted [0-9.]+ us/predicted/'; }

sed -n '/^\$ kiln explain /,/^```$/p' README.md | sed '$d' >"$work/shown"
command=$(sed -n '1s/^\$ kiln //p' "$work/shown")
sed 1d "$work/shown" | times >"$work/expected"
eval "\"\$1\" $command" 2>&1 | times >"$work/said"
if [[ -s $work/expected ]] && diff -u "$work/expected" "$work/said"; then
    echo "ok - what README.md shows"
else
    echo "not ok - explain says something else than README.md"
    exit 1
fi
