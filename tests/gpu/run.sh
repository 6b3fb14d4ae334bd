#!/usr/bin/env bash
# Runs the unit tests and the examples of a folder made by `./dev gpu`, on a machine that has a GPU, its
# driver and NVRTC, and perhaps nothing else.
# usage: tests/gpu/run.sh
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

# Not the user's own compiled kernels, and none from before.
KILN_CACHE_DIR=$(mktemp -d) || exit
export KILN_CACHE_DIR
trap 'rm -rf "$KILN_CACHE_DIR"' EXIT

passed=0 failed=0 skipped=0
for program in tests/*/test_* examples/*; do
    [[ -f $program && -x $program && $program != *.* ]] || continue
    output=$("$program" 2>&1)
    case $? in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) && echo "skipped: $program: ${output##*$'\n'}" ;;
    *)
        failed=$((failed + 1))
        printf 'FAILED: %s\n%s\n' "$program" "$output"
        ;;
    esac
done
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0 && passed > 0))
