#!/usr/bin/env bash
# Signals and limits leave no file behind: `kiln run -o` that is interrupted while it writes, and one that may not write so
# much; and what has no end is not read to its end.
#
#     tests/cli/test_signals.sh KILN SCRATCH
set -eu
kiln=$1
[[ $kiln == /* ]] || kiln=$PWD/$kiln
cd "$2"
rm -rf out
fail() { echo "not ok - $1"; exit 1; }

cat >outer.kiln <<'EOF'
def outer(x: f32[N]):
    y = x[:, None] + x
    return y
EOF

# Sends SIGNAL once there is a half-written file. True: it came in time.
interrupt() { # SIGNAL SIZE
    env --default-signal="$1" "$kiln" run outer.kiln "x=f32[$2]" --device cpu -o out >stdout 2>stderr &
    local pid=$! status=0
    while kill -0 $pid 2>/dev/null && ! compgen -G 'out/.y.npy.*' >/dev/null; do :; done
    kill "-$1" $pid 2>/dev/null || true
    wait $pid || status=$?
    ((status == 128 + $(kill -l "$1")))
}

for signal in INT TERM HUP; do
    came=false
    for size in 8000 12000 16000; do
        rm -rf out
        if interrupt $signal $size; then
            came=true
            break
        fi
    done
    $came || fail "SIG$signal never came while a file was written"
    [[ ! -e out ]] || fail "SIG$signal left $(ls -A out)"
    echo "ok - SIG$signal leaves nothing"
done

# The emulator's folder, at the first compile.
export TMPDIR=$PWD/temporary KILN_CACHE=off
rm -rf temporary && mkdir temporary
for signal in INT TERM; do
    status=0
    env --default-signal=$signal "$kiln" run outer.kiln 'x=f32[10]' --device emu >stdout 2>stderr &
    pid=$!
    while kill -0 $pid 2>/dev/null && ! compgen -G 'temporary/kiln-emulator-*/support.cpp' >/dev/null; do :; done
    kill -$signal $pid
    wait $pid || status=$?
    ((status == 128 + $(kill -l $signal))) || fail "SIG$signal came too late for the emulator: status $status"
    ! compgen -G 'temporary/kiln-*' >/dev/null || fail "SIG$signal left $(ls -A temporary)"
    echo "ok - SIG$signal leaves no folder of the emulator's"
done

status=0
(ulimit -f 100 && exec "$kiln" run outer.kiln 'x=f32[2000]' --device cpu -o out) 2>stderr || status=$?
((status == 3)) || fail "a limit on file sizes: status $status"
grep -q "cannot write" stderr || fail "a limit on file sizes: $(cat stderr)"
[[ ! -e out ]] || fail "a limit on file sizes left $(ls -A out)"
echo "ok - a limit on file sizes is an error"

status=0
"$kiln" run /dev/zero 2>stderr || status=$?
[[ $status == 2 && $(cat stderr) == *"not a text file"* ]] || fail "/dev/zero: status $status, $(cat stderr)"
status=0
yes 2>/dev/null | "$kiln" run - 2>stderr || status=$?
[[ $status == 2 && $(cat stderr) == *"which no program is"* ]] || fail "an endless text: status $status, $(cat stderr)"
echo "ok - an endless text is an error"
