#!/usr/bin/env bash
# Builds the wheel of the Python package, installs it into an environment of its own and tests it there. The library is that
# of the build; with KILN_THOROUGH=1 it is made as a part of the wheel, as a user's is. What the build has compiled by the very
# same command is not compiled again (reuse.sh).
# usage: wheel.sh BUILD_DIR SCRATCH_DIR
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1 scratch=$(realpath "$2")
python=$scratch/venv/bin/python

if ! {
    [[ -x $python ]] || python3 -m venv "$scratch/venv"
    "$python" -m pip install -q --retries 1 --timeout 20 --disable-pip-version-check 'numpy>=2' 'scikit-build-core>=0.10'
} >"$scratch/venv.log" 2>&1; then
    echo "skipped: no NumPy or scikit-build-core from PyPI (see $scratch/venv.log)"
    exit 77
fi
include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
if [[ ! -f $include/Python.h ]]; then
    echo "skipped: no $include/Python.h (package python3-dev)"
    exit 77
fi

options=(-C cmake.define.KILN_WERROR=ON)
if [[ -z ${KILN_THOROUGH:-} ]]; then
    rm -rf "$scratch/prefix"
    cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/install.log"
    options+=(-C cmake.define.KILN_INSTALLED=ON -C "cmake.define.CMAKE_PREFIX_PATH=$scratch/prefix")
else
    cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
    printf '#!/bin/bash\nexec bash %q %q "$@"\n' "$PWD/tests/python/reuse.sh" "$scratch/compiled" >"$scratch/launcher"
    chmod +x "$scratch/launcher"
    : >"$scratch/reused"
    python3 tests/python/compiled.py "$build" >"$scratch/compiled"
    options+=(-C cmake.build-type=Release -C "cmake.define.CMAKE_C_COMPILER=$(cached CMAKE_C_COMPILER)"
        -C "cmake.define.CMAKE_C_FLAGS_RELEASE=$(cached CMAKE_C_FLAGS_RELEASE)"
        -C "cmake.define.CMAKE_C_COMPILER_LAUNCHER=$scratch/launcher")
fi
rm -rf "$scratch/wheels"
"$python" -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps -w "$scratch/wheels" "${options[@]}" \
    frontend/python >"$scratch/wheel.log" 2>&1 || { cat "$scratch/wheel.log"; exit 1; }
wheels=("$scratch"/wheels/*-cp310-abi3-*.whl)
"$python" -m pip install -q --disable-pip-version-check --no-deps --force-reinstall "${wheels[0]}"

[[ -z ${KILN_THOROUGH:-} ]] || echo "$(wc -l <"$scratch/reused") objects are the build's"

cd "$scratch"
echo "== $(basename "${wheels[0]}")"
module=$("$python" -c 'import kiln._kiln; print(kiln._kiln.__file__)')
strays=$(nm -D --defined-only "$module" | awk '{print $NF}' | grep -v '^PyInit__kiln$' || true)
if [[ -n $strays ]]; then
    echo "the module exports more than it must: ${strays//$'\n'/ }"
    exit 1
fi
if ldd "$module" | grep -vE 'linux-vdso|ld-linux|/lib(c|m|mvec|dl|pthread)\.so\.'; then
    echo "the module needs libraries that a bare machine has not"
    exit 1
fi
root=$OLDPWD
"$python" "$root/tests/python/test_kiln.py"
echo "== random programs"
"$python" "$root/tests/oracle/differential.py" python --count "$([[ -z ${KILN_THOROUGH:-} ]] && echo 200 || echo 400)"
