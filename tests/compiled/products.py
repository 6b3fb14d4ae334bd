#!/usr/bin/env python3
"""Quotients that compiled kernels have as products (kn_quotient32 and kn_quotient64 of codegen/emit/c/helpers.h) are those of
divisions, to the bit: of f32 every numerator, or every 1009th, by usual and unusual divisors; of f64 numbers drawn by chance.

usage: products.py KILN COMPILER

Exit status: 0, 1 if there is such a quotient, or 77 if this processor fuses no multiply-adds, or the compiler is none for it.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLAGS = ["-std=gnu11", "-w", "-O3", "-march=native", "-ffp-contract=off"]
MAIN = r"""
int printf(const char *, ...);
static u64 seed = 88172645463325252;
static u64 any(void)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
}
static int of_f32(f32 s, u64 step)
{
    const kn_divisor by = kn_divisor_of(s);
    u64 wrong = 0;
    for (u64 u = 0; u < 0x100000000; u += step) {
        const f32 x = kn_of_bits((u32)u), a = kn_quotient32(x, by), b = x / s;
        wrong += a == a ? kn_bits_of(a) != kn_bits_of(b) : b == b;
    }
    if (wrong)
        printf("%llu quotients of f32 by %a differ\n", (unsigned long long)wrong, s);
    return wrong != 0;
}
/* Mantissas of all kinds: of few bits, next to 1 and 2, so that quotients are close to the middle of two numbers. */
static f64 number(u64 exponents)
{
    static const u64 masks[] = {-1, 0xff, 0xffff, ~(u64)0xffffffff};
    u64 m = any() & masks[any() % 4];
    m = (any() % 4 ? m : ~m) & 0xfffffffffffff;
    return kn_of_bits64((any() & 1) << 63 | (1023 - exponents / 2 + any() % exponents) << 52 | m);
}
static int of_f64(int pairs)
{
    int wrong = 0, quick = 0;
    for (int i = 0; i < pairs; i++) {
        const f64 s = number(i % 8 ? 900 : 2046);
        const kn_divisor64 by = kn_divisor64_of(s);
        for (int k = 0; k < 16; k++) {
            f64 x = number(k % 8 ? 900 : 2046);
            x = k == 1 ? 0 : k == 2 ? (x + x * 0x1p-53) * s : x;
            const f64 a = kn_quotient64(x, s, by), b = x / s;
            if (by.odd || kn_is_odd(x))
                continue;
            quick++;
            wrong += kn_bits_of64(a) != kn_bits_of64(b);
        }
    }
    if (wrong || quick < 4 * pairs)
        printf("%d of %d quotients of f64 differ\n", wrong, quick);
    return wrong || quick < 4 * pairs;
}
int main(void)
{
    static const f32 divisors[] = {3, 0.9f, 0, -0.0f, 1, 6, -10, 0x1p-149f, 0x1p-126f, -0x1.8p-140f, 0x1.fffffep127f, 0x1p127f,
                                   16777216, 33554430, 0x1.fffffep0f, 0x1.000002p0f, __builtin_inff(), -__builtin_inff(),
                                   __builtin_nanf(""), 100};
    int wrong = 0;
#if !KN_FUSED
    return 77;
#endif
    for (int i = 0; i < 20; i++)
        wrong |= of_f32(divisors[i], i ? 1009 : 1);
    for (int i = 0; i < 100; i++)
        wrong |= of_f32(kn_of_bits((u32)any()), 100003);
    return wrong | of_f64(200000);
}
"""


# What becomes products: quotients by one number for a row, of f32 where rows are long.
TEXTS = {
    "kn_quotient64(": ("f64", "exp(x) / sum(exp(x), axis=1, keepdims=True)"),
    "KN_QUOTIENT(": ("f32", "x / sum(x, axis=1, keepdims=True)"),
}


def require_products(kiln):
    for call, (dtype, formula) in TEXTS.items():
        with tempfile.NamedTemporaryFile("w", suffix=".kiln") as file:
            file.write(f"def f(x: {dtype}[N, C]):\n    return {formula}\n")
            file.flush()
            command = [kiln, "explain", file.name, f"x={dtype}[64,5000]", "--device", "cpu", "--stage", "c"]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        if call not in text:
            sys.exit(f"{formula} of {dtype} is no product: {call} is not in its C")


def main():
    kiln, compiler = sys.argv[1:]
    require_products(kiln)
    text = "".join((ROOT / "codegen/emit/c" / name).read_text() for name in ("prelude.h", "functions.h", "helpers.h", "conversions.h"))
    with tempfile.TemporaryDirectory() as name:
        source, program = Path(name) / "products.c", Path(name) / "products"
        source.write_text(text + MAIN)
        if subprocess.run([compiler, *FLAGS, source, "-o", program, "-lm"]).returncode:
            sys.exit(77)
        sys.exit(subprocess.run([program]).returncode)


main()
