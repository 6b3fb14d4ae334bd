#!/usr/bin/env bash
# The completion of the command line for bash: commands, options and files.
# usage: test_completion.sh KILN SCRATCH_DIR
set -u
kiln=$(realpath "$1")
source cli/completion.bash
cd "$2" || exit 1
rm -rf a.kiln b.kiln b.cu x.npy notes.txt out
touch a.kiln b.kiln b.cu x.npy notes.txt
mkdir out

failures=0
# check WHAT EXPECTED WORD...: what completes the last word is EXPECTED.
check() {
    local what=$1 want=$2
    shift 2
    COMP_WORDS=("$kiln" "$@") COMP_CWORD=$#
    _kiln
    local got
    got=$(printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' ')
    if [[ $got == "$want " ]]; then
        echo "ok - $what"
    else
        echo "not ok - $what: '$got', not '$want '"
        failures=$((failures + 1))
    fi
}

check "commands" "bench" b
check "all commands" "--help --version bench cache doctor emit eval explain help kernel run" ""
check "help of a command" "explain" help ex
check "options of bench" "--json" bench --j
check "a chart" "out" bench a.kiln --svg o
check "explain has none of another" "" explain --entry
check "short options" "-o" run -o
check "options of a kernel's launch" "--cluster --cooperative" kernel --c
check "a device" "cpu cuda" run a.kiln --device c
check "stages" "schedule" explain a.kiln --stage s
check "a page" "out" explain a.kiln --html o
check "files" "a.kiln b.kiln out x.npy" run ""
check "sources" "b.cu out x.npy" kernel ""
check "what to do with the cache" "clear" cache c
exit $((failures > 0))
