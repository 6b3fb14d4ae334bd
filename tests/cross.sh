#!/usr/bin/env bash
# Every source of the library means something to a compiler for aarch64, without warnings: there is no code for x86-64 alone.
#   cross.sh BUILD SCRATCH HEADER...
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 scratch=$2 headers=("${@:3}")
compiler=aarch64-linux-gnu-gcc
if ! command -v $compiler >/dev/null; then
    echo "skipped: there is no $compiler (package gcc-aarch64-linux-gnu)"
    exit 77
fi
# Of the host's headers only these, which are the same everywhere.
mkdir -p "$scratch/include"
cp "${headers[@]}" "$scratch/include/"
# Every source of the library: folders are CMake's business.
mapfile -t sources < <(find base shapes ir codegen kernels_cache runtime frontend cli -name '*.c' \
    -not -path 'frontend/python/*') # that is for the Python of this machine
sources+=("$build"/{prelude,shim}/*.c "$build/generator.c")
printf '%s\0' "${sources[@]}" |
    xargs -0 -P "$(nproc)" -n 16 $compiler -fsyntax-only -std=c11 -O1 -D_GNU_SOURCE -I. -I"$scratch/include" -Ifrontend \
        -Wall -Wextra -Wconversion -Wshadow -Wmissing-prototypes -Werror -ffp-contract=off
echo "${#sources[@]} sources checked"
