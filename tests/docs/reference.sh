#!/usr/bin/env bash
# The reference has every public function and nothing that its readers stumble over.
# usage: reference.sh KILN CALLS SCRATCH_DIR
set -euo pipefail
cd "$(dirname "$0")/../.."
[[ -x $2 ]] || { echo "not ok - $2 is not built"; exit 1; }
rm -rf "${3:?}"/*
python3 docs/reference.py "$1" "$2" "$3"

bad=0
if [[ $("$2" own_kernel) == "== own_kernel"$'\n'x* ]]; then # there is a compiler for the emulator
    diff docs/calls/expected.txt <("$2") || { echo "not ok - docs/calls prints something else than expected.txt has"; bad=1; }
fi
for name in $(sed -n 's/^function \(kiln_[a-z0-9_]*\)$/\1/p' tests/abi.txt | sed 's/_init_size$/_init/'); do
    grep -q "$name(" "$3/man3/kiln.3" && grep -q "id=\"$name\"" "$3/kiln.html" && [[ -f $3/man3/$name.3 ]] ||
        { echo "not ok - the reference lacks $name"; bad=1; }
done
for command in run eval bench explain kernel cache doctor; do
    grep -q "^\.SH ${command^^}$" "$3/man1/kiln.1" || { echo "not ok - kiln(1) lacks $command"; bad=1; }
done
if grep -nE 'KILN_API|KILN_INIT|^#(define|if|undef)' "$3/man3/kiln.3" <(sed '/<h2>Examples/,$d' "$3/kiln.html"); then
    echo "not ok - macros of the header's own"
    bad=1
fi
if command -v groff >/dev/null; then
    warnings=$(groff -man -Tutf8 -ww -z "$3/man1/kiln.1" "$3/man3/kiln.3" 2>&1)
    [[ -z $warnings ]] || { echo "not ok - $warnings"; bad=1; }
fi
((bad)) || echo "ok - the reference"
exit $bad
