#!/usr/bin/env bash
# Every C file is as clang-format 14 would write it (./dev fmt does so).
# usage: tests/format.sh [--fix]
set -euo pipefail
cd "$(dirname "$0")/.."

if ! version=$(clang-format --version 2>/dev/null); then
    echo "skipped: clang-format is not installed"
    exit 77
fi
if [[ $version != *"version 14."* ]]; then
    echo "skipped: the format is that of clang-format 14; this is: $version"
    exit 77
fi

files() { find . \( -path ./build -o -path ./.git \) -prune -o -name '*.[ch]' -print0; }

if [[ ${1:-} == --fix ]]; then
    files | xargs -0 clang-format -i
    exit
fi
if ! output=$(files | xargs -0 clang-format --dry-run -Werror 2>&1); then
    grep -E ':[0-9]+:[0-9]+: error:' <<<"$output"
    echo "not in format; ./dev fmt puts that right"
    exit 1
fi
