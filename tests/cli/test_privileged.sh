#!/usr/bin/env bash
# A setuid program believes nothing of its caller's environment: no compiler of theirs is run, no cache of theirs is used.
# Making such a program takes root.
set -euo pipefail
kiln=$1
skip() { echo "skipped: $1"; exit 77; }
fail() { echo "$1"; exit 1; }
[[ $(id -u) == 0 ]] || skip "only root can make a setuid program"
command -v setpriv >/dev/null || skip "there is no setpriv"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
mkdir -m 777 "$dir/theirs"
cat >"$dir/theirs/g++" <<EOF
#!/bin/sh
echo ran >>"$dir/theirs/proof"
echo "g++ 12"
EOF
chmod 755 "$dir/theirs/g++"
as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups env "PATH=$dir/theirs:$PATH" "$@"
}
install -m 4755 "$(command -v id)" "$dir/id"
install -m 4755 "$kiln" "$dir/kiln"
as_nobody "$dir/id" | grep -q "euid=0" || skip "the file system of temporary files knows no setuid programs"

for variable in A=1 "KILN_CXX=$dir/theirs/g++" "CXX=$dir/theirs/g++"; do
    out=$(as_nobody "$variable" "$dir/kiln" eval 'x + 1' 'x=f32[4]' --device emu 2>&1) &&
        fail "the emulator works with $variable"
    [[ $out == *setuid* ]] || fail "another failure with $variable: $out"
done
out=$(as_nobody "KILN_CACHE_DIR=$dir/theirs/cache" "$dir/kiln" doctor)
[[ $out == *"no KILN_CACHE_DIR"* ]] || fail "the caller's cache is used: $out"
[[ ! -e $dir/theirs/proof ]] || fail "a compiler of the caller's was run"

as_nobody g++ >/dev/null # what would have been run
[[ -e $dir/theirs/proof ]] || fail "the test's own compiler does not work"
