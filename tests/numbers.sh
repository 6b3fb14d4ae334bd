#!/usr/bin/env bash
# The library's numbers do not depend on the application's locale, nor the command's on what its process is made to have: text
# with floats in it is made by base/number.c and cli/number.c only, and read by them; and the command leaves the locale alone.
set -euo pipefail
cd "$(dirname "$0")/.."
layers=(base shapes ir codegen kernels_cache runtime frontend)
bad=0
say() {
    [[ -z $2 ]] || { echo "$1:"; echo "$2"; bad=1; }
}
say "read with kn_read_float() and written with kn_format()" \
    "$(grep -rnE '\<(strto(d|f|ld)(_l)?|atof|vs?n?f?printf)\(' --include='*.[ch]' "${layers[@]}" | grep -v '^base/number\.c:' || true)"
say "read with kn_cli_read()" \
    "$(grep -rnE '\<(strto(d|f|ld)(_l)?|atof)\(' --include='*.[ch]' cli | grep -v '^cli/number\.c:' | grep -v '^[^:]*:[^:]*: \*' || true)"
say "floats in a printf() that follows the locale" \
    "$(grep -rPzo --include='*.[ch]' '\b(s|sn|f|d)?printf\([^"]*"([^"]*"\s*\w*\s*")*[^"]*%[-+ 0#]*[0-9.*]*l?[fFeEgGaA][^;]*;' "${layers[@]}" cli | tr '\0' '\n')"
say "the locale is the application's" \
    "$(grep -rnE '\<setlocale\(' --include='*.[ch]' "${layers[@]}" cli || true)"
((bad)) || echo "no number follows the locale"
exit $bad
