#!/usr/bin/env bash
# Holds the direction of includes between the layers, and that every project header is named by its
# path from the root. Programs (cli, examples) see kiln.h, kiln_dlpack.h and their own headers, no other; benchmarks also measure parts.
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A may=(
    [base]="base"
    [shapes]="base shapes"
    [ir]="base shapes ir"
    [codegen/kir]="base shapes ir codegen/kir"
    [codegen/model]="base shapes ir codegen/kir codegen/model"
    [codegen/sched]="base shapes ir codegen/kir codegen/model codegen/sched"
    [codegen/plan]="base shapes ir codegen/kir codegen/model codegen/sched codegen/plan"
    [codegen/emit]="base shapes ir codegen/kir codegen/model codegen/emit"
    [kernels_cache]="base kernels_cache"
    [runtime/device]="base shapes ir codegen kernels_cache runtime/device"
    [runtime/cpu]="base shapes ir codegen kernels_cache runtime/device runtime/cpu"
    [runtime/cuda]="base shapes ir codegen kernels_cache runtime/device runtime/cuda"
    [runtime/emu]="base shapes ir codegen kernels_cache runtime/device runtime/emu"
    [runtime]="base shapes ir codegen kernels_cache runtime"
    [frontend/parse]="base shapes ir frontend/parse"
    [frontend/python]="frontend frontend/python"
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

# A path's layer: the innermost folder above it that is listed; else its folder at the root.
layer_of() {
    layer=${1%/*}
    while [[ $layer == */* && -z ${may[$layer]:-} ]]; do
        layer=${layer%/*}
    done
}

while IFS=: read -r file line text; do
    layer_of "$file" && from=$layer
    [[ $text =~ [\"\<]([^\">]+) ]] && header=${BASH_REMATCH[1]}
    count=$((count + 1))
    case $header in
    kiln.h | kiln_*.h | frontend/kiln.h | frontend/kiln_dlpack.h)
        [[ $programs == *" $from "* ]] && continue
        [[ $file == frontend/kiln*.h ]] && continue # installed side by side
        ;;
    esac
    if [[ $header == */* ]]; then
        layer_of "$header" && target=$layer
        [[ -n ${may[$target]:-} || $text == *'"'* ]] || continue # a system header such as <sys/mman.h>
    elif [[ $text == *'"'* ]]; then
        [[ $file == examples/emitted/* ]] && continue # what kiln emit writes
        [[ $programs == *" $from "* && -f $from/$header ]] && continue
        offence "$file:$line: \"$header\" is not a path from the root"
        continue
    else
        continue # a system header
    fi
    if [[ " ${may[$from]} " != *" $target "* && " ${may[$from]} " != *" ${target%%/*} "* ]]; then
        offence "$file:$line: $from may not include \"$header\""
    elif [[ ! -f $header ]]; then
        offence "$file:$line: there is no \"$header\""
    fi
done < <(grep -rnE --include='*.[ch]' --include='*.def' '^[ \t]*#[ \t]*include[ \t]*["<]' "${!may[@]}" | sort -u)

if ((offences)); then
    echo "$offences of $count includes go against the layers"
    exit 1
fi
echo "$count includes checked"
