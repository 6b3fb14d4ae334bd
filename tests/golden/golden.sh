#!/usr/bin/env bash
# The stages of a few programs, held to the letter: tests/golden/NAME.kiln has its expected graph, kernel IR, census (explain
# --json, for sm_90) and values in NAME.expected. A change that is meant shows in the diff of these files:
#   tests/golden/golden.sh KILN SCRATCH --update
# usage: tests/golden/golden.sh KILN SCRATCH [--update]
set -uo pipefail
kiln=$1 scratch=$2 update=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
passed=0 failed=0
for program in "$here"/*.kiln; do
    name=$(basename "$program" .kiln)
    # a program's first line has the shapes to explain for ("# x=f32[32,256]"), its second those to run with
    read -r -a shapes <<<"$(sed -n '1s/^# *//p' "$program")"
    read -r -a inputs <<<"$(sed -n '2s/^# *//p' "$program")"
    got=$scratch/$name.got
    {
        for stage in graph ir; do
            echo "== $stage"
            "$kiln" explain "$program" "${shapes[@]}" --arch sm_90 --stage "$stage"
        done
        echo "== json"
        "$kiln" explain "$program" "${shapes[@]}" --arch sm_90 --json | grep -v '^ *"predicted' # times: test_predict.c
        echo "== values"
        "$kiln" run "$program" "${inputs[@]}" --device ref --seed 7
    } >"$got" 2>&1
    if [[ $update == --update ]]; then
        cp "$got" "$here/$name.expected"
    elif diff -u "$here/$name.expected" "$got"; then
        echo "ok - $name"
        passed=$((passed + 1))
    else
        echo "not ok - $name"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
((failed == 0))
