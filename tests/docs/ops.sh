#!/usr/bin/env bash
# The tables of operations in docs/language.md are what the program ops_table writes.
# usage: ops.sh OPS_TABLE [--update]
set -euo pipefail
doc=docs/language.md
begin='<!-- tables of ops.def: written by tests/docs/ops.sh -->' end='<!-- end of the tables of ops.def -->'

with_tables() {
    sed "\\|^$begin\$|q" "$doc"
    "$1"
    sed -n "\\|^$end\$|,\$p" "$doc"
}

grep -qxF "$begin" "$doc" && grep -qxF "$end" "$doc" || {
    echo "not ok - $doc has no place for the tables"
    exit 1
}
if [[ ${2:-} == --update ]]; then
    new=$(with_tables "$1") || exit 1
    printf '%s\n' "$new" >"$doc"
elif diff -u "$doc" <(with_tables "$1"); then
    echo "ok - the tables of operations"
else
    echo "not ok - $doc is old; bash tests/docs/ops.sh build/release/tests/docs/ops_table --update"
    exit 1
fi
