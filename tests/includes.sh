#!/usr/bin/env bash
# Holds the direction of includes between the layers, and that every project header is named by its
# path from the root. Programs (cli, examples) see kiln.h and their own headers, no other; benchmarks also measure parts.
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A may=(
    [base]="base"
    [shapes]="base shapes"
    [ir]="base shapes ir"
    [codegen]="base shapes ir codegen"
    [kernels_cache]="base kernels_cache"
    [runtime]="base shapes ir codegen kernels_cache runtime"
    [frontend]="base shapes ir codegen kernels_cache runtime frontend"
    [cli]="cli"
    [examples]="examples"
    [bench]="base shapes ir codegen kernels_cache runtime frontend bench"
)
programs=" cli examples "

count=0
offences=0
offence() {
    echo "$1"
    offences=$((offences + 1))
}

while IFS=: read -r file line text; do
    layer=${file%%/*}
    [[ $text =~ [\"\<]([^\">]+) ]] && header=${BASH_REMATCH[1]}
    count=$((count + 1))
    case $header in
    kiln.h | frontend/kiln.h) [[ $programs == *" $layer "* ]] && continue ;;
    esac
    if [[ $header == */* ]]; then
        target=${header%%/*}
        [[ -n ${may[$target]:-} || $text == *'"'* ]] || continue # a system header such as <sys/mman.h>
    elif [[ $text == *'"'* ]]; then
        [[ $programs == *" $layer "* && -f $layer/$header ]] && continue
        offence "$file:$line: \"$header\" is not a path from the root"
        continue
    else
        continue # a system header
    fi
    if [[ " ${may[$layer]} " != *" $target "* ]]; then
        offence "$file:$line: $layer may not include \"$header\""
    elif [[ ! -f $header ]]; then
        offence "$file:$line: there is no \"$header\""
    fi
done < <(grep -rnE --include='*.[ch]' --include='*.def' '^[ \t]*#[ \t]*include[ \t]*["<]' "${!may[@]}")

if ((offences)); then
    echo "$offences of $count includes go against the layers"
    exit 1
fi
echo "$count includes checked"
