#!/usr/bin/env bash
# The chart of docs/performance.md shows the numbers of the table there.
set -euo pipefail
cd "$(dirname "$0")/../.."

if cmp docs/h200.svg <(python3 bench/report.py docs/performance.md --svg /dev/stdout); then
    echo "ok - docs/h200.svg"
else
    echo "not ok - docs/h200.svg is of another table; bench/report.py docs/performance.md --svg docs/h200.svg"
    exit 1
fi
