#!/usr/bin/env bash
# Holds digests.txt, a line a program (digests.c says which), to what is generated. A change to what is generated says why at
# the top of digests.txt, newest first, and brings the lines up to date:
#   tests/golden/digests.sh DIGESTS SCRATCH --update
# What differs is seen by `DIGESTS show NAME ARCH` of two builds.
# usage: tests/golden/digests.sh DIGESTS SCRATCH [--update]
set -uo pipefail
digests=$1 scratch=$2 update=${3:-}
expected=$(cd "$(dirname "$0")" && pwd)/digests.txt
"$digests" >"$scratch/digests.got" || exit 1
if [[ $update == --update ]]; then
    { grep '^#' "$expected" && cat "$scratch/digests.got"; } >"$scratch/digests.new" && cp "$scratch/digests.new" "$expected"
    exit
fi
changed=$(diff <(grep -v '^#' "$expected") "$scratch/digests.got" | sed -n 's/^> \([^ ]*\).*/\1/p')
lines=$(wc -l <"$scratch/digests.got")
if ! diff -q <(grep -v '^#' "$expected") "$scratch/digests.got" >/dev/null; then
    echo "$changed" | head -40
    echo "$(echo "$changed" | wc -w) of $lines programs' source or binding changed; digests.sh says what to do"
    exit 1
fi
echo "$lines programs, 0 changed"
((lines > 0))
