#!/usr/bin/env bash
# The C that the CPU device compiles, under the address and undefined behaviour sanitizers; the program that runs it has none.
# The optimiser adds no errors to see, and takes most of the time: -O0, behind what the library asks for. So do messages and
# inlined checks: undefined behaviour is an illegal instruction; what it was says a run with a compiler of other options in KILN_CC.
# usage: sanitized.sh PROGRAM [COMPILER]; 77: the compiler has no sanitizers
set -euo pipefail
program=$1 compiler=${2:-gcc}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
runtime=$("$compiler" -print-file-name=libasan.so 2>/dev/null) || exit 77
options=(-O0 -fsanitize=address,undefined -fsanitize-undefined-trap-on-error)
[[ $compiler == *clang* ]] || options+=(--param asan-instrumentation-with-call-threshold=0)
printf '#!/bin/sh\nunset LD_PRELOAD\nexec %s "$@" %s\n' "$compiler" "${options[*]}" > "$dir/cc"
chmod +x "$dir/cc"
echo 'int x;' > "$dir/x.c"
if [[ ! -e $runtime ]] || ! "$dir/cc" -shared -fPIC "$dir/x.c" -o "$dir/x.so" 2>/dev/null; then
    echo "$compiler has no sanitizers"
    exit 77
fi
[[ -z ${KILN_THOROUGH:-} ]] || export KILN_FUZZ=${KILN_FUZZ:-30}
KILN_EVERY=3 KILN_CC=$dir/cc KILN_CACHE_DIR=$dir/cache LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0 "$program"
