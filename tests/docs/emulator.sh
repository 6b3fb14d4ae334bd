#!/usr/bin/env bash
# docs/emulator.md shows what the emulator says of the kernel that stands there.
# usage: emulator.sh KILN
set -euo pipefail
KILN=$(realpath "$1")
doc=$(realpath docs/emulator.md)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

sed -n '/^```cuda$/,/^```$/p' "$doc" | sed '1d;$d' >sum.cu
sed -n '/^\$ kiln /,/^```$/p' "$doc" | sed '$d' >shown
command=$(sed -n '1s/^\$ kiln //p' shown)
sed 1d shown >expected
eval "\"\$KILN\" $command" >said 2>&1 || true
if [[ -s expected ]] && diff -u expected said; then
    echo "ok - what docs/emulator.md shows"
else
    echo "not ok - the emulator says something else than docs/emulator.md"
    exit 1
fi
