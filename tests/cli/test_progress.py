#!/usr/bin/env python3
"""What takes long says so on a terminal, in a line that is gone at the end, and is silent elsewhere.

usage: test_progress.py KILN
"""
import os
import pty
import select
import subprocess
import sys
import time

KILN = sys.argv[1]
PATIENCE = 120  # seconds until the line must have come


def on_terminal(arguments, until):
    """What standard error, a terminal, got until it has `until`, or the program ended."""
    ours, theirs = pty.openpty()
    program = subprocess.Popen([KILN, *arguments], stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    seen, end = b"", time.monotonic() + PATIENCE
    while until not in seen and time.monotonic() < end:
        if not select.select([ours], [], [], 1)[0]:
            continue
        try:
            seen += os.read(ours, 4096)
        except OSError:  # all of the terminal's other ends are closed
            break
    return program, seen


def main():
    failed = 0

    def result(ok, what, *said):
        nonlocal failed
        print("ok" if ok else "not ok", "-", what, *([] if ok else said))
        failed += not ok

    slow = ["run", "examples/softmax.kiln", "x=f32[20000,20000]", "--device", "ref"]
    program, seen = on_terminal(slow, b" s")
    result(b"kiln: " in seen and b" s" in seen, "what takes long says so", seen)
    program.kill()
    program.wait()
    program, seen = on_terminal(["eval", "--device", "cpu", "1 + 1"], b"never")
    result(program.wait() == 0 and seen == b"", "what does not says nothing", seen)
    # in a pipe: as many seconds, and nothing
    program = subprocess.Popen([KILN, *slow], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        _, seen = program.communicate(timeout=4)
    except subprocess.TimeoutExpired:
        program.kill()
        _, seen = program.communicate()
    result(seen == b"", "nor does anything in a pipe", seen)
    sys.exit(failed > 0)


main()
