#!/usr/bin/env bash
# A launcher of the compiler: an object that a build has made by this very command, since its source changed, is copied.
# usage: reuse.sh TABLE COMPILER OPTION ...; TABLE is what compiled.py prints
set -euo pipefail
table=$1
shift
command=() object='' depends=''
words=("$@")
for ((i = 0; i < ${#words[@]}; i++)); do
    case ${words[i]} in
    -MD) ;;
    -MT) i=$((i + 1)) ;;
    -MF) i=$((i + 1)) && depends=${words[i]} ;;
    -o) i=$((i + 1)) && object=${words[i]} ;;
    *) command+=("${words[i]}") ;;
    esac
done
while IFS=$'\t' read -r made from; do
    if [[ $made == "${command[*]}" && $from -nt ${words[-1]} ]]; then
        cp "$from" "$object"
        [[ -z $depends ]] || echo "$object:" >"$depends"
        echo "$object" >>"$(dirname "$table")/reused"
        exit
    fi
done <"$table"
exec "$@"
