#!/usr/bin/env bash
# Builds darknet, which Debian has as a source package, with kiln in its batch normalisation and without, and compares both.
# usage: darknet.sh BUILD_DIR SCRATCH_DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1") scratch=$(realpath "$2")

mkdir -p "$scratch/lists/partial"
cd "$scratch"
if ! compgen -G 'darknet-*/src' >/dev/null; then
    echo 'deb-src http://deb.debian.org/debian bookworm main' >sources.list
    apt=(apt-get -qq -o "Dir::Etc::sourcelist=$scratch/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$scratch/lists")
    { "${apt[@]}" update && "${apt[@]}" source darknet; } >apt.log 2>&1 || { echo "skipped: no source package (see $scratch/apt.log)"; exit 77; }
fi
darknet=("$scratch"/darknet-*/)
cd "${darknet[0]}"
mkdir -p obj backup results
make -s -j2 libdarknet.a >"$scratch/make.log" 2>&1 || { tail "$scratch/make.log"; exit 1; }

cp "$here/batchnorm.kiln" .
flags=(-Iinclude -Isrc -I"$here/../../frontend" -Wall -Wno-unused-result -Ofast)
gcc "${flags[@]}" -c src/batchnorm_layer.c -o original.o -Dforward_batchnorm_layer=original_forward_batchnorm_layer \
    -Dbackward_batchnorm_layer=original_backward_batchnorm_layer -Dmake_batchnorm_layer=original_make \
    -Dresize_batchnorm_layer=original_resize -Dmean_delta_cpu=original_mean_delta -Dvariance_delta_cpu=original_variance_delta \
    -Dnormalize_delta_cpu=original_normalize_delta -Dbackward_scale_cpu=original_backward_scale
# the layer without the two functions that kiln takes the place of
sed -e '/^void forward_batchnorm_layer(/,/^}/d' -e '/^void backward_batchnorm_layer(/,/^}/d' src/batchnorm_layer.c >rest.c
gcc "${flags[@]}" -c rest.c -o rest.o
gcc "${flags[@]}" -c "$here/darknet_batchnorm.c" -o kiln_layer.o
gcc "${flags[@]}" -c "$here/measure.c" -o measure.o
libraries=("$build/libkiln.a" -lxxhash -l:libboost_context.a -lpthread -ldl -lm)
cp libdarknet.a libwith.a && ar d libwith.a batchnorm_layer.o
gcc measure.o original.o kiln_layer.o rest.o libwith.a "${libraries[@]}" -o with_kiln
gcc measure.o original.o libdarknet.a -lm -lpthread -o without_kiln

cat >small.cfg <<'EOF'
[net]
batch=16
height=28
width=28
channels=3
learning_rate=0.05
momentum=0.9
decay=0.0005

[convolutional]
batch_normalize=1
filters=16
size=3
stride=1
pad=1
activation=leaky

[maxpool]
size=2
stride=2

[convolutional]
batch_normalize=1
filters=32
size=3
stride=1
pad=1
activation=leaky

[convolutional]
filters=10
size=1
stride=1
pad=1
activation=leaky

[avgpool]

[softmax]
EOF
echo "== losses: darknet, and with kiln"
paste <(./without_kiln train small.cfg 2>/dev/null) <(./with_kiln train small.cfg 2>/dev/null)
for threads in 1 2; do
    echo "== the layer, kiln with $threads threads"
    DARKNET_THREADS=$threads ./with_kiln layer 2>/dev/null
done
