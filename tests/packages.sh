#!/usr/bin/env bash
# Makes the Debian packages of a build, installs them into a root of their own, and builds a program against them by
# pkg-config; and holds that the recipes for other package managers are of this version.
# usage: tests/packages.sh BUILD_DIR SCRATCH_DIR
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 scratch=$(realpath "$2")
version=$(sed -nE 's/^project\(kiln VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)

echo "== recipes of $version"
for recipe in packaging/conan/conanfile.py packaging/vcpkg/kiln/vcpkg.json packaging/spack/packages/kiln/package.py \
    packaging/conda/meta.yaml; do
    grep -q "\"$version\"" "$recipe" || { echo "$recipe is of another version"; exit 1; }
done
python3 - packaging/conan/conanfile.py packaging/spack/packages/kiln/package.py <<'EOF'
import ast, json, sys
for recipe in sys.argv[1:]:
    ast.parse(open(recipe).read(), recipe)
json.load(open("packaging/vcpkg/kiln/vcpkg.json"))
EOF

for tool in cpack dpkg dpkg-deb dpkg-shlibdeps; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool, so no Debian packages"; exit 77; }
done
rm -rf "$scratch"
mkdir -p "$scratch"
echo "== packages"
cpack -G DEB --config "$build/CPackConfig.cmake" -B "$scratch" >"$scratch/cpack.log" 2>&1 || { cat "$scratch/cpack.log"; exit 1; }
packages=("$scratch"/*.deb)
((${#packages[@]} == 3)) || { echo "not three packages: ${packages[*]}"; exit 1; }
for package in "${packages[@]}"; do
    name=$(dpkg-deb -f "$package" Package)
    echo "$name: $(dpkg-deb -f "$package" Depends)"
    dpkg-deb -c "$package" | awk '!/\/$/ {print $6}' | sed 's,^\./usr/,,' >"$scratch/$name.files"
    grep -qx "share/doc/$name/copyright" "$scratch/$name.files" || { echo "$name says no licence"; exit 1; }
done
cmake --install "$build" --prefix "$scratch/all" >"$scratch/install.log"
if ! diff <(cd "$scratch/all" && find . \( -type f -o -type l \) | sed 's,^\./,,' | sort) \
    <(sort "$scratch"/*.files | grep -v '/copyright$'); then
    echo "what is installed (<) and what the packages have (>) differ: is the COMPONENT of an install() missing?"
    exit 1
fi

echo "== installed"
root=$scratch/root
mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers}
touch "$root/var/lib/dpkg/status"
# a library's package runs ldconfig, for the machine: not for this root
mkdir "$scratch/bin"
ln -s /bin/true "$scratch/bin/ldconfig"
PATH=$scratch/bin:$PATH dpkg --root="$root" --force-not-root --force-depends --force-script-chrootless --log=/dev/null -i "${packages[@]}" >"$scratch/dpkg.log" 2>&1 ||
    { cat "$scratch/dpkg.log"; exit 1; }
"$root/usr/bin/kiln" --version
[[ -f $root/usr/share/bash-completion/completions/kiln ]]
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$root" -name kiln.pc)")
read -ra flags < <(pkg-config --cflags --libs kiln)
gcc -std=c11 -Wall -Wextra -Wpedantic -Werror tests/install/app.c -o "$scratch/app" "${flags[@]}"
LD_LIBRARY_PATH=$(dirname "$(find "$root" -name 'libkiln.so.?.?')") "$scratch/app"
