#!/usr/bin/env bash
# The library and its command read the environment in base/env.c only, and start programs by the file that it finds;
# docs/process.md lists every variable that they read.
set -euo pipefail
cd "$(dirname "$0")/.."
folders=(base shapes ir codegen kernels_cache runtime frontend cli)
bad=0

offences=$(grep -rnE '\<(getenv|secure_getenv|exec[lv][a-z]*|posix_spawnp|popen|system|tempnam|tmpnam)\(|\<environ\>[^m]' \
    --include='*.[ch]' "${folders[@]}" | grep -v '^base/env\.c:' || true)
if [[ $offences ]]; then
    echo "only base/env.c reads the environment, and programs are started by posix_spawn():"
    echo "$offences"
    bad=1
fi

names=$(grep -rhoE 'kn_env\("[A-Za-z_]+"\)' --include='*.c' "${folders[@]}" | sed 's/.*"\(.*\)".*/\1/' | sort -u)
calls=$(grep -rhoE 'kn_env\([^)]*\)' --include='*.c' "${folders[@]}" | grep -cvE '"[A-Z_]+"|const char' || true)
if ((calls)); then
    echo "kn_env() is called with a name that is no literal"
    bad=1
fi
for name in $names; do
    if ! grep -qE "^\| .*\`$name\`" docs/process.md; then
        echo "docs/process.md does not list $name"
        bad=1
    fi
done
for name in $(grep -E '^\| `' docs/process.md | cut -d'|' -f2 | grep -oE '`[A-Z_]+`' | tr -d '`'); do
    if ! grep -qx "$name" <<<"$names"; then
        echo "docs/process.md lists $name, which nothing reads"
        bad=1
    fi
done
((bad)) || echo "$(wc -w <<<"$names") variables"
exit $bad
