#!/usr/bin/env bash
# Installs a build into a scratch prefix and uses it as an application would: through find_package, through
# pkg-config, and from C++. Then looks at what the shared library exports.
# usage: tests/install.sh BUILD_DIR SCRATCH_DIR
set -euo pipefail
cd "$(dirname "$0")/install"
build=$1 scratch=$2
prefix=$scratch/prefix

rm -rf "$scratch"
mkdir -p "$scratch"
cmake --install "$build" --prefix "$prefix" >"$scratch/install.log"

echo "== find_package(kiln)"
cmake -S . -B "$scratch/app" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/configure.log"
cmake --build "$scratch/app" >"$scratch/build.log" || { cat "$scratch/build.log"; exit 1; }
"$scratch/app/app_shared"
"$scratch/app/app_static"

echo "== one library, by BUILD_SHARED_LIBS"
for shared in OFF ON; do
    one=$scratch/one.$shared
    cmake -S ../.. -B "$one/build" -G Ninja -DKILN_DEVELOPER=OFF -DBUILD_SHARED_LIBS=$shared -DCMAKE_BUILD_TYPE=Release >"$one.log"
    cp -a "$build"/{kiln,libkiln.*} "$one/build" # as built already
    [[ ! -d $build/reference ]] || cp -a "$build/reference" "$one/build"
    cmake --install "$one/build" --prefix "$one/prefix" >>"$one.log"
    other=$([[ $shared == ON ]] && echo libkiln.a || echo libkiln.so)
    [[ -z $(find "$one/prefix" -name "$other") ]] || { echo "BUILD_SHARED_LIBS=$shared installs $other"; exit 1; }
    cmake -S ../../packaging/conan/test_package -B "$one/app" -G Ninja -DCMAKE_PREFIX_PATH="$one/prefix" >>"$one.log"
    cmake --build "$one/app" >>"$one.log" || { cat "$one.log"; exit 1; }
    "$one/app/app"
    read -ra flags < <(PKG_CONFIG_PATH=$(dirname "$(find "$one/prefix" -name kiln.pc)") pkg-config --cflags --libs kiln)
    gcc -std=c11 app.c -o "$one/app_pc" "${flags[@]}"
done

echo "== pkg-config"
pc=$(dirname "$(find "$prefix" -name kiln.pc)")
lib=$(dirname "$(find "$prefix" -name libkiln.so)")
export PKG_CONFIG_PATH=$pc
read -ra flags < <(pkg-config --cflags --libs kiln)
gcc -std=c11 -Wall -Wextra -Wpedantic -Werror app.c -o "$scratch/app_pc" "${flags[@]}" -Wl,-rpath,"$lib"
"$scratch/app_pc"

echo "== C++17"
g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror app.cpp -o "$scratch/app_cxx" "${flags[@]}" \
    -Wl,-rpath,"$lib"
"$scratch/app_cxx"

echo "== kiln_add_program()"
cmake -S ../../examples/emitted -B "$scratch/emitted" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/emitted.log"
cmake --build "$scratch/emitted" >>"$scratch/emitted.log" || { cat "$scratch/emitted.log"; exit 1; }
"$scratch/emitted/emitted"
if ldd "$scratch/emitted/emitted" | grep -E 'kiln|cuda|nvrtc'; then
    echo "an emitted program needs libraries"
    exit 1
fi

# For GPUs, where there are NVRTC and the toolkit: that it builds, and what it needs.
if [[ -f ${CUDA_HOME:-/usr/local/cuda}/include/cuda_runtime.h ]] && "$prefix/bin/kiln" doctor | grep -q '^NVRTC *NVRTC'; then
    cmake "$scratch/emitted" -DARCHS='sm_80;sm_90' -DCUDAToolkit_ROOT="${CUDA_HOME:-/usr/local/cuda}" >>"$scratch/emitted.log"
    cmake --build "$scratch/emitted" >>"$scratch/emitted.log" || { cat "$scratch/emitted.log"; exit 1; }
    if ldd "$scratch/emitted/emitted_gpu" | grep -E 'kiln|cuda|nvrtc'; then
        echo "an emitted program needs libraries"
        exit 1
    fi
    echo "emitted_gpu is built"
fi

echo "== the command"
"$prefix/bin/kiln" --version

echo "== the texts"
texts=$prefix/share/doc/kiln
links=$(grep -oE '\]\([^)#: ]+' "$texts/README.md" | sed 's/^](//' | sort -u)
for doc in $links; do
    [[ -f $texts/$doc ]] || { echo "README.md links to $doc, which was not installed"; exit 1; }
done
echo "$(wc -w <<<"$links") links of README.md"

echo "== exported symbols"
exported=$(nm -D --defined-only "$lib/libkiln.so" | awk '{print $NF}')
strays=$(grep -v '^kiln_' <<<"$exported" || true)
if [[ -n $strays ]]; then
    echo "libkiln.so exports what is not kiln_*: ${strays//$'\n'/ }"
    exit 1
fi
# Each of them is declared in the public header, and each declared function is there.
declared=$({
    grep -hoE '^KILN_API .*' "$prefix"/include/kiln*.h | grep -oE 'kiln_[a-z0-9_]+\(' | tr -d '('
    sed -nE 's/^KILN_INIT\((kiln_[a-z0-9_]+)\).*/\1_init_size/p' "$prefix"/include/kiln*.h
} | sort -u)
if ! diff <(echo "$declared") <(sort -u <<<"$exported"); then
    echo "the headers (<) and libkiln.so (>) differ"
    exit 1
fi
echo "$(wc -l <<<"$exported") symbols, all of the headers"
