#!/usr/bin/env python3
"""What compiled kernels do by fewer instructions is the same (codegen/emit/c/conversions.h): f32 narrowed to integers of 1 and 2
bytes, a vector at a time and one by one; limits by a constant; greatest absolute values. Of every f32, or every 1009th.

usage: narrow.py KILN COMPILER [STEP]

Exit status: 0, 1 if something differs, or 77 if the compiler is none for it.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLAGS = ["-std=gnu11", "-w", "-O3", "-march=native", "-ffp-contract=off", "-fno-trapping-math"]
MAIN = r"""
int printf(const char *, ...);
static u64 wrong;
static void check(f32 x, u64 a, u64 b, const char *what)
{
    if (a != b && wrong++ < 10)
        printf("%s of %a: %llx, not %llx\n", what, x, (unsigned long long)a, (unsigned long long)b);
}
static void narrow(const f32 *x, int lanes)
{
    u8 bytes[16];
    u16 halves[16];
    kn_narrow_8(bytes, x, lanes);
    kn_narrow_16(halves, x, lanes);
    for (int j = 0; j < lanes; j++) {
        check(x[j], bytes[j], KN_TO_u8(x[j]), "narrow_8");
        check(x[j], bytes[j], (u8)KN_TO_i8(x[j]), "narrow_8");
        check(x[j], halves[j], KN_TO_u16(x[j]), "narrow_16");
        check(x[j], halves[j], (u16)KN_TO_i16(x[j]), "narrow_16");
    }
}
static u32 bits(f32 x) { return x == x ? kn_bits_of(x) : 0x7fc00000; }
static void limit(const f32 *x)
{
#define LIMIT(c)                                                                                                                \
    for (int j = 0; j < 16; j++) {                                                                                              \
        check(x[j], bits(KN_AT_LEAST(x[j], c)), bits(kn_maximum_f32(x[j], c)), "KN_AT_LEAST(" #c ")");                         \
        check(x[j], bits(KN_AT_MOST(x[j], c)), bits(kn_minimum_f32(x[j], c)), "KN_AT_MOST(" #c ")");                           \
    }
    LIMIT(-127.0f)
    LIMIT(127.0f)
    LIMIT(0x1p-149f)
    LIMIT(__builtin_inff())
    LIMIT(-__builtin_inff())
    for (int j = 0; j < 16; j++) {
        check(x[j], bits(KN_AT_LEAST(x[j], 0.0f) + 0), bits(kn_maximum_f32(x[j], 0.0f)), "KN_AT_LEAST(0)");
        check(x[j], bits(KN_AT_MOST(x[j], 0.0f)), bits(kn_minimum_f32(x[j], 0.0f)), "KN_AT_MOST(0)");
    }
}
static void magnitude(const f32 *x)
{
    i32 lane = KN_LEAST_f32;
    f32 best = -__builtin_inff();
    check(best, bits(kn_magnitude_f32(lane)), bits(best), "magnitude of nothing");
    for (int j = 0; j < 16; j++) {
        const i32 near = (i32)kn_bits_of_f32(__builtin_fabsf(x[j]));
        lane = near > lane ? near : lane;
        best = kn_maximum_f32(best, __builtin_fabsf(x[j]));
        check(x[j], bits(kn_magnitude_f32(lane)), bits(best), "magnitude");
    }
}
int main(void)
{
    const u64 step = STEP;
    for (u64 u = 0; u < 0x100000000; u += 16 * step) {
        f32 x[16];
        for (int j = 0; j < 16; j++)
            x[j] = kn_of_bits((u32)(u + j * step));
        narrow(x, 16);
        narrow(x + 3, KN_COLUMN_LANES == 16 ? 0 : 8);
        limit(x);
        magnitude(x);
    }
    return wrong != 0;
}
"""


# What has each of them in its C.
TEXTS = {
    "kn_narrow_i8(": "cast(rint(x), i8)",
    "KN_AT_LEAST(": "maximum(x, -1)",
    "kn_magnitude_f32(": "max(abs(x), axis=1)",
}


def require_calls(kiln):
    for call, formula in TEXTS.items():
        with tempfile.NamedTemporaryFile("w", suffix=".kiln") as file:
            file.write(f"def f(x: f32[N, C]):\n    return {formula}\n")
            file.flush()
            command = [kiln, "explain", file.name, "x=f32[64,500]", "--device", "cpu", "--stage", "c"]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        if call not in text:
            sys.exit(f"{call} is not in the C of {formula}")


def main():
    kiln, compiler = sys.argv[1:3]
    require_calls(kiln)
    text = "".join((ROOT / "codegen/emit/c" / name).read_text() for name in ("prelude.h", "functions.h", "helpers.h", "conversions.h"))
    step = sys.argv[3] if len(sys.argv) > 3 else "1009"
    with tempfile.TemporaryDirectory() as name:
        source, program = Path(name) / "narrow.c", Path(name) / "narrow"
        source.write_text(text + MAIN)
        if subprocess.run([compiler, *FLAGS, f"-DSTEP={step}", source, "-o", program, "-lm"]).returncode:
            sys.exit(77)
        sys.exit(subprocess.run([program]).returncode)


main()
