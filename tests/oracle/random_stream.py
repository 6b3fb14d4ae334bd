#!/usr/bin/env python3
"""The library's random bits, on the CPU device, before a battery of statistical tests: PractRand's RNG_test or
dieharder, whichever is installed.

usage: random_stream.py LIBRARY | random_stream.py LIBRARY write

`write` only writes the bits, without an end, to standard output. Exit status: 0, or 1 where a battery says that they are
not random; 77 (skipped) without any.
"""
import os
import re
import shutil
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)

sys.dont_write_bytecode = True  # leaves nothing beside api.py
from api import Kiln  # noqa: E402

SEED, WORDS = 20260101, 1 << 20
# of dieharder's tests those that its authors call good and that take some seconds; with KILN_THOROUGH=1 some more
DIEHARDER = {0: "birthdays", 2: "binary rank", 15: "runs", 100: "monobit", 101: "sts runs"}
MORE = {8: "count the ones", 11: "minimum distance", 17: "gcd", 205: "bytes", 206: "dct"}


def write(library):
    """Chunk after chunk, each by its offset."""
    kiln = Kiln(library, "cpu")
    offset = 0
    while True:
        made = kiln.run(f"def f(s: u64, o: u64):\n    return random_bits(s, o, ({WORDS},))\n",
                        {"s": np.array(SEED, "uint64"), "o": np.array(offset, "uint64")})  # fmt: skip
        try:
            sys.stdout.buffer.write(next(iter(made.values())).tobytes())
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            sys.stderr.close()  # nothing more is wanted
            return 0
        offset += 1


def judged(library, command):
    """What the command says of the bits."""
    bits = subprocess.Popen([sys.executable, __file__, library, "write"], stdout=subprocess.PIPE)
    try:
        return subprocess.run(command, stdin=bits.stdout, capture_output=True, text=True, check=False).stdout
    finally:
        bits.stdout.close()
        bits.kill()
        bits.wait()


def by_practrand(library):
    said = judged(library, ["RNG_test", "stdin32", "-tlmin", "64MB", "-tlmax", "1GB" if os.environ.get("KILN_THOROUGH") else "128MB", "-multithreaded"])
    print(said)
    return "no anomalies" in said and "FAIL" not in said


def by_dieharder(library):
    good = True
    for number, name in (DIEHARDER | (MORE if os.environ.get("KILN_THOROUGH") else {})).items():
        said = judged(library, ["dieharder", "-g", "200", "-S", "1", "-d", str(number), "-p", "20", "-D", "test_name", "-D", "pvalues",
                                "-D", "assessment"])  # fmt: skip
        found = re.findall(r"(0\.\d+)\s*\|\s*(PASSED|WEAK|FAILED)", said)
        print(f"{name}: {', '.join(' '.join(f) for f in found) or said}", flush=True)
        good = good and bool(found) and all(f[1] != "FAILED" for f in found)
    return good


def main():
    library = sys.argv[1]
    if sys.argv[2:] == ["write"]:
        return write(library)
    for command, by in (("RNG_test", by_practrand), ("dieharder", by_dieharder)):
        if shutil.which(command):
            return 0 if by(library) else 1
    print("skipped: neither PractRand's RNG_test nor dieharder is installed")
    return 77


if __name__ == "__main__":
    sys.exit(main())
