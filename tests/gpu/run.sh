#!/usr/bin/env bash
# Runs the tests and the examples of a folder made by `./dev gpu`, on a machine that has a GPU, its driver and NVRTC, and
# perhaps nothing else: as many at a time as there are processors. What fails is shown as it does.
# usage: tests/gpu/run.sh
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

scratch=$(mktemp -d) || exit
trap 'rm -rf "$scratch"' EXIT
# Not the user's own compiled kernels, and none from before.
export KILN_CACHE_DIR=$scratch/kernels

programs=()
for program in tests/*/test_* examples/*; do
    [[ -f $program && -x $program && $program != *.* ]] && programs+=("$program")
done

# Runs the program $2, whose output goes into the folder $1: its status, its seconds and its name.
one='"$2" >"$1/${2//\//.}" 2>&1 </dev/null; echo "$? $SECONDS $2"'

passed=0 failed=0 skipped=0 longest=0 slowest=''
while read -r code seconds program; do
    output=$scratch/${program//\//.}
    case $code in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) && echo "skipped: $program: $(tail -n 1 "$output")" ;;
    *)
        failed=$((failed + 1))
        echo "FAILED: $program, status $code"
        cat "$output"
        ;;
    esac
    ((seconds < longest)) || { longest=$seconds slowest=$program; }
done < <(printf '%s\n' "${programs[@]}" | xargs -P "$(nproc)" -I {} bash -c "$one" one "$scratch" {})
echo "$passed passed, $failed failed, $skipped skipped in $SECONDS s, of which $slowest took $longest"
((failed == 0 && passed + skipped == ${#programs[@]} && passed > 0))
