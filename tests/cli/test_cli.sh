#!/bin/sh
# The command `kiln` from outside: what it prints, its exit status, and that it leaves nothing half-written.
#
#     tests/cli/test_cli.sh KILN SCRATCH [EXAMPLES]
#
# KILN is the program, SCRATCH a directory for files (made if missing), EXAMPLES that of the .kiln files.
# Prints a line for each check; exits with 1 if one failed.

if [ $# -lt 2 ]; then
    echo "usage: $0 KILN SCRATCH [EXAMPLES]" >&2
    exit 2
fi
kiln=$1
scratch=$2
examples=${3:-$(dirname "$0")/../../examples}
examples=$(cd "$examples" && pwd) || exit 2
case $kiln in
/*) ;;
*) kiln=$PWD/$kiln ;;
esac
mkdir -p "$scratch" && cd "$scratch" || exit 2
rm -rf out made kernels && mkdir made || exit 2
# A sanitizer's malloc aborts when asked for more than there can be; the real one says no.
export ASAN_OPTIONS="allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
failures=0

result() { # STATUS WHAT
    if [ "$1" = 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        failures=$((failures + 1))
        sed 's/^/    stdout: /' stdout
        sed 's/^/    stderr: /' stderr
    fi
}

# check WHAT STATUS TEXT ARG...: `kiln ARG...` exits with STATUS; TEXT is an extended regular expression
# that its standard output has when STATUS is 0, and otherwise its error message; "" is not looked for.
check() {
    what=$1 want=$2 text=$3
    shift 3
    "$kiln" "$@" >stdout 2>stderr
    got=$?
    bad=0
    [ "$got" = "$want" ] || bad=1
    if [ "$want" = 0 ]; then
        [ -s stderr ] && bad=1
        grep -Eq -e "$text" stdout || bad=1
    else
        [ -s stdout ] && bad=1
        grep -q '^kiln: ' stderr || bad=1
        # the message may be several lines: match it as one
        tr '\n' ' ' <stderr | grep -Eq -e "$text" || bad=1
    fi
    [ "$bad" = 0 ] || echo "    status $got, expected $want"
    result $bad "$what"
}

# npy FILE DESCR FORTRAN SHAPE BYTES: a .npy file with that many bytes 0 of data.
npy() {
    {
        dict="{'descr': '$2', 'fortran_order': $3, 'shape': $4, }"
        length=$((${#dict} + 1))
        printf '\223NUMPY\001\000'
        # shellcheck disable=SC2059 # the format is the byte
        printf "\\$(printf %03o "$length")\\000"
        printf '%s\n' "$dict"
        head -c "$5" /dev/zero
    } >"$1"
}

# no_file WHAT DIR: nothing was left in DIR, hidden files included.
no_file() {
    left=$(ls -A "$2" 2>/dev/null)
    [ -z "$left" ] || echo "    left in $2: $left"
    [ -z "$left" ]
    result $? "$1"
}

cat >add.kiln <<'EOF'
def add_rows(x: f32[N, C], b: f32[C], eps: f32 = 0.5):
    y = x + b + eps
    s = sum(x, axis=0)
    return y, s
EOF
npy x.npy '<f4' False '(2, 3)' 24
npy xt.npy '<f4' True '(2, 3)' 24
npy x1.npy '<f4' False '(6,)' 24
npy x64.npy '<f8' False '(2, 3)' 48
npy short.npy '<f4' False '(2, 3)' 23
npy long.npy '<f4' False '(2, 3)' 25
npy big.npy '>f4' False '(2, 3)' 24
npy quad.npy '<f16' False '(2, 3)' 96
npy huge.npy '<f4' False '(4294967296, 4294967296)' 24
npy empty.npy '<f4' False '(0, 3)' 0
npy scalar.npy '<f4' False '()' 4
echo 'not an array' >foreign.npy

# usage
check "--version" 0 '^kiln [0-9]+\.[0-9]+\.[0-9]+$' --version
check "--help" 0 'kiln explain' --help
check "help" 0 'kiln explain' help
for command in run eval bench explain emit kernel cache doctor; do
    check "help $command" 0 "usage: kiln $command" help $command
    check "$command --help" 0 "usage: kiln $command" $command --help
done
check "doctor" 0 '.' doctor
KILN_CXX=/nope check "doctor, no compiler for the emulator" 0 "^emulator .*KILN_CXX is '/nope'" doctor
check "no command" 2 'no command given'
check "unknown command" 2 "no command 'frob'" frob
check "help on an unknown command" 2 "no command 'frob'" help frob
check "run without a file" 2 'run needs FILE' run
check "unknown option" 2 "no option '--frob'" run add.kiln --frob
check "an option of another command" 2 "no option '--json'" run add.kiln --json
check "option without its value" 2 'device needs a value' run add.kiln --device
check "bad --fusion" 2 "'maybe'" run add.kiln --fusion maybe
check "bad --seed" 2 "'-1'" run add.kiln --seed -1
check "a word that is no NAME=VALUE" 2 "NAME=VALUE, found 'x'" run add.kiln x
check "a name twice" 2 'x is given twice' run add.kiln x=x.npy x=x.npy
check "missing file" 2 'none.kiln: cannot open' run none.kiln
check "a directory as file" 2 'made: cannot' run made

# what works, on every device that needs no GPU
for device in ref cpu; do
    on="--device=$device"
    check "run on $device" 0 '^y  f32\[2, 3\]  min=1.5 mean=1.5 max=1.5$' \
        run add.kiln x=x.npy 'b=f32[3]@ones' "$on"
    check "outputs are in order on $device" 0 '^s  f32\[3\]  min=0 mean=0 max=0  \[0, 0, 0\]$' \
        run add.kiln x=x.npy 'b=f32[3]@ones' "$on"
    check "a scalar is given on $device" 0 '^y  f32\[2, 3\]  min=3 ' \
        run add.kiln x=x.npy 'b=f32[3]@ones' eps=2 "$on"
    check "a scalar from a file on $device" 0 '^y  f32\[2, 3\]  min=1 ' \
        run add.kiln x=x.npy 'b=f32[3]@ones' eps=scalar.npy "$on"
    check "--fusion off on $device" 0 '^y  f32\[2, 3\]  min=1.5 ' \
        run add.kiln x=x.npy 'b=f32[3]@ones' --fusion off "$on"
    check "a column-major file on $device" 0 '^y  f32\[2, 3\]  min=1.5 ' \
        run add.kiln x=xt.npy 'b=f32[3]@ones' "$on"
    check "a zero-size file on $device" 0 '^y  f32\[0, 3\]  empty$' \
        run add.kiln x=empty.npy 'b=f32[3]@ones' "$on"
    check "a sum of nothing on $device" 0 '^s  f32\[3\]  min=0 .*\[0, 0, 0\]$' \
        run add.kiln x=empty.npy 'b=f32[3]@ones' "$on"
    check "a size of zero on every axis on $device" 0 '^y  f32\[0, 0\]  empty$' \
        run add.kiln 'x=f32[0,0]' 'b=f32[0]' "$on"
    check "eval on $device" 0 '^out0  f32\[\(\)\]  min=6 mean=6 max=6  6$' \
        eval 'sum(x * 2)' 'x=f32[3]@ones' "$on"
    check "round numbers have no exponent on $device" 0 '\[10, 2\.5e\+16, 100000\]$' \
        eval 'where(arange(3) == 1, 2.5e16, 1e5) * x * where(arange(3) == 0, 1e-4, 1)' 'x=f64[3]@ones' "$on"
    check "eval of several outputs on $device" 0 '^out1  i64\[2, 2\]  min=1 ' \
        eval 'x + 1, n * y' 'x=f32[3]' 'y=i64[2,2]@ones' n=1 "$on"
    check "eval broadcasts an axis of size 1 on $device" 0 '^out0  f32\[4, 5\]  min=2 ' \
        eval 'x + y' 'x=f32[4,1]@ones' 'y=f32[5]@ones' "$on"
    check "eval of complex numbers on $device" 0 '^out0  c128\[2\]  min=\(0\+2j\) mean=\(0\+2j\) max=\(0\+2j\)  \[\(0\+2j\), \(0\+2j\)\]$' \
        eval '(x + z.imag) * c64(1j)' 'x=c64[2]@ones' 'z=0.5+1j' "$on"
    check "eval of a mean of nothing is nan on $device" 0 '^out0  f64\[\(\)\]  min=nan mean=nan max=nan  nan$' \
        eval 'mean(x)' 'x=f64[0]' "$on"
    check "bool output on $device" 0 '^out0  bool\[2\]  min=True .*\[True, True\]$' \
        eval 'x > 0' 'x=i32[2]@ones' "$on"
done
check "an expression that begins with a minus" 0 '^out0  f32\[2\]  min=-1 ' \
    eval --device cpu -- '-x' 'x=f32[2]@ones'
printf 'def f(x: f32[N]):\n    y = x[-5] + x[4]\n    return y\n' >index.kiln
check "an index out of bounds says where" 2 '^kiln: index.kiln: index -5 at 2:10 is out of bounds for axis 0 with size 4' \
    run index.kiln 'x=f32[4]'
printf 'def f(x: f32[N], i: i32[M]):\n    y = take(x, i)\n    z = y[:3] + 1\n    return max(z[1:])\n' >taken.kiln
check "an index that is not there" 3 '^kiln: taken.kiln: y at 2:9: index .* is out of bounds' \
    run taken.kiln 'x=f32[4]' 'i=i32[5]@randint(4,9)' --device ref
check "nothing to reduce" 2 '^kiln: taken.kiln: max at 4:12: nothing to reduce' run taken.kiln 'x=f32[4]' 'i=i32[1]'
# A size is a Python integer: it has to fit the type that it meets, but is compared by its value.
cat >fits.kiln <<'EOF'
def f(x: i8[M], u: u16[M], y: f32[N]):
    x[0] = M
    u += M
    return x < N, u >= -N, x == N + 200, x + (N - 255), x / N, minimum(u, N), y[:2]
EOF
check "sizes that fit" 0 '^out0  bool\[2\]  min=True ' run fits.kiln 'x=i8[2]@ones' 'u=u16[2]' 'y=f32[300]' --device cpu
grep -q '^out1  bool\[2\]  min=True ' stdout && grep -q '^out2  bool\[2\]  min=False .*max=False' stdout
result $? "compared by value"
check "a size that does not fit" 2 'fits.kiln: add at 4:[0-9]*.* needs N - 255 <= 127, but it is 145 <= 127 \(N is 400\)' \
    run fits.kiln 'x=i8[2]' 'u=u16[2]' 'y=f32[400]'
check "one that is too small" 2 'needs -128 <= N - 255' run fits.kiln 'x=i8[2]' 'u=u16[2]' 'y=f32[100]'
check "nor in an assignment" 2 'assignment at 2:12 needs M <= 127' run fits.kiln 'x=i8[200]' 'u=u16[200]' 'y=f32[300]'
check "what joins must fit" 2 'concatenate of \[3\] and \[3, 2\]: their numbers of dimensions differ' \
    eval 'concatenate((x, y))' 'x=f32[3]' 'y=f32[3,2]'
check "eval speaks of sizes" 2 '^kiln: expression:1:3: add: shapes \[3\] and \[4\] do not broadcast' \
    eval 'x + y' 'x=f32[3]' 'y=f32[4]'
# What needs sizes as numbers has them so.
for text in 'squeeze(x)|f32\[3\]' 'x[:1] + y|f32\[1, 3, 3\]' 'z[:1] + z|f32\[5\]' 'z[len(z) - 8:]|f32\[3\]' \
    'sum(x.reshape(y.shape) + y)|f32\[\(\)\]' 'w.reshape(2, -1) + w.reshape(2, 6)|f32\[2, 6\]' 'z[:3] + x[0, :, 0]|f32\[3\]' \
    'concatenate((ravel(w), ravel(w.T))) + ravel(v)|f32\[24\]' 'z[-7:] + z|f32\[5\]' 'where(i < z.shape[0] * 60, i, 0)|i8\[2\]' \
    'size0 + size__1|f32\[2\]'; do
    check "eval of ${text%%|*}" 0 "^out0  ${text##*|}" eval "${text%%|*}" 'x=f32[1,3,1]' 'y=f32[1,1,3]' 'z=f32[5]' \
        'w=f32[3,4]' 'v=f32[2,3,4]' 'i=i8[2]@ones' 'size0=f32[2]' 'size__1=f32[2]' --device cpu
done
check "a number that an integer cannot be" 2 'Python integer 300 is out of bounds for i8' \
    eval 'i + x.shape[0]' 'i=i8[2]' 'x=f32[300]' --device cpu
check "a bound from the end" 0 '\[1, 1, 1\]$' eval 'x[len(x) - 8:]' 'x=f32[5]@ones' --device cpu
check "a program from standard input" 2 '<stdin>' run - </dev/null
cat >two.kiln <<'EOF'
def twice(x: f32[N]):
    return 2 * x
def thrice(x: f32[N]):
    return 3 * x
EOF
cp two.kiln two:twice
check "a function of several" 0 'mean=3 ' run two.kiln:thrice 'x=f32[4]@ones' --device cpu
check "bench of one of several" 0 '^thrice on' bench two.kiln:thrice 'x=f32[4]' --device cpu
check "explain of one of several" 0 '^twice for' explain two.kiln:twice
check "a function of several from standard input" 0 'mean=2 ' run -:twice 'x=f32[4]@ones' --device cpu <two.kiln
check "several functions" 2 'several functions: twice, thrice; .*FILE:twice' run two.kiln 'x=f32[4]'
check "no such function" 2 "no function 'twise'; it has twice, thrice; did you mean 'twice'\?" run two.kiln:twise
check "a file with a colon in its name" 2 'two:twice:3:5: there are several' run two:twice 'x=f32[4]'
check "a function of that" 0 'mean=2 ' run two:twice:twice 'x=f32[4]@ones' --device cpu
for file in "$examples"/*.kiln; do
    name=$(basename "$file" .kiln)
    type=f32
    [ "$name" = double_center ] && type=f64
    set -- "x=${type}[6,5]@uniform(-1,1)"
    [ "$name" = batchnorm ] && set -- 'x=f32[3,5,2,2]'
    case $name in batchnorm | layernorm | dropout_norm*) set -- "$@" 'gamma=f32[5]' 'beta=f32[5]' ;; esac
    case $name in
    dropout_norm) set -- "$@" 'r=f32[6,5]' seed=1 offset=2 ;;
    dropout_norm_backward) set -- "$@" 'r=f32[6,5]' 'dy=f32[6,5]' seed=1 offset=2 ;;
    embedding_backward) set -- 'table=f32[9,5]' 'i=i32[6]@ones' 'dy=f32[6,5]' ;;
    esac
    check "example $name" 0 'min=' run "$file" "$@" --device cpu
    check "explain of example $name" 0 '.' explain "$file" "$@"
    check "explain of example $name, sizes assumed" 0 '.' explain "$file"
done
printf 'def f(x: f32[shard(N), C]):\n    return x[1:]\n' >divided.kiln
check "an index of what other ranks have" 2 'divided.kiln: index at 2:13: elements of other ranks' explain divided.kiln 'x=f32[8,4]'
printf 'def squares(z: c64[N]):\n    return z * z\n' >complex.kiln
printf 'def two(x: f32[N], y: f32[M]):\n    return sum(x) + sum(y)\n' >sums.kiln
check "emit" 0 '^emitted/softmax.c$' emit "$examples/softmax.kiln" --cpu -o emitted
check "emit under another name" 0 '^emitted/norm2.h$' emit "$examples/softmax.kiln" --cpu -o emitted --name norm2
check "emit for no device" 2 'what the program is to run on: --cpu, --arch' emit "$examples/softmax.kiln"
check "emit for an unknown GPU" 2 "for cpu, sm_70, .*, not for 'sm_1'" emit "$examples/softmax.kiln" --arch sm_1 -o emitted
check "emit for sizes by name" 0 'softmax.c$' emit "$examples/softmax.kiln" --cpu --sizes 'N=2 C=8 | N=3,C=9' -o emitted
check "emit for too few sizes" 2 'does not say what C is' emit "$examples/softmax.kiln" --cpu --sizes 'N=2' -o emitted
check "emit for sizes that are none" 2 "has no size 'D'" emit "$examples/softmax.kiln" --cpu --sizes 'N=2 C=3 D=4' -o emitted
check "emit complex numbers" 2 'squares has complex numbers' emit complex.kiln --cpu -o emitted
check "emit into a file" 3 'add.kiln/softmax.h: ' emit "$examples/softmax.kiln" --cpu -o add.kiln
check "emit for some sizes" 2 'all together or not at all: M ' emit sums.kiln 'x=f32[4]' --cpu -o emitted
check "emit for all sizes" 0 'two.c$' emit sums.kiln 'x=f32[4]' 'y=f32[3]' --cpu -o emitted
check "explain --json" 0 '^\{' explain "$examples/softmax.kiln" --json
check "explain speaks of a GPU" 0 '^softmax for cuda sm_90' explain "$examples/softmax.kiln"
check "explain --device cpu speaks of the CPU" 0 '^softmax for cpu' explain "$examples/softmax.kiln" --device cpu
check "explain --arch cpu speaks of the CPU" 0 '^softmax for cpu' explain "$examples/softmax.kiln" --arch cpu
check "explain of the reference" 0 '^softmax for cuda sm_90' explain "$examples/softmax.kiln" --device ref
cat >wider.kiln <<'EOF'
def f(x: f32[N, V + P], t: i32, i: i32[N], d: f64[N]):
    unused = sqrt(i)
    m = x * (1 - 0.9**t) / sqrt(N)
    y = x / sqrt(cast(N, f32)) + zeros((N, 1), f32) + x * 0.5
    return m + mean(i), zeros(N), y, d + 1, sum(i, dtype=f64), i > 0.5, x**0.5, softmax(x, axis=1)
EOF
check "explain says what became f64" 0 '^wider than their operands' explain wider.kiln 'x=f32[8192,32]'
sed -n '/^wider/,/^$/p' stdout >lines
printf '  %s\n' '** at 3:21: f64 of a float and i32' 'sqrt at 3:28: f64 of a size' 'mean at 5:16: f64 of i32' \
    'zeros without dtype= at 5:25: f64 of a size' >wanted
sed 1d lines | sed '$d' | cmp -s - wanted
result $? "each with its place, and no more"
printf 'def f(x: f64[N], i: i32[N]):\n    return x * i / sqrt(N)\n' >double.kiln
check "explain of a program in f64" 0 '^f for cuda' explain double.kiln
! grep -q wider stdout
result $? "says nothing of f64"
check "explain --json has it" 0 '"wider": \[' explain wider.kiln --json
printf 'def f(x: f32[N, V + P]):\n    assert (V + P) %% 4 == 0\n    x[:, 2] = 0\n    return softmax(x, axis=1)\n' >rely.kiln
check "a sum that is divided has parentheses" 0 '^  \(V \+ P\) % 4 == 0 \(stated at 2:5\)$' explain rely.kiln
! grep -q '^  (V + P) % 4 == 0$' stdout
result $? "and is not said again of the kernels"
printf 'def f(x: f32[N, V + P]):\n    return softmax(x, axis=1)\n' >rely.kiln
check "where they need it" 0 '^  \(V \+ P\) % 4 == 0$' explain rely.kiln
printf 'def f(x: f32[3, 1, N]):\n    x[2] = 1\n    return squeeze(x, 1)\n' >known.kiln
check "facts that are evident are none" 0 'rely on' explain known.kiln
! grep -q '2 < 3\|1 == 1' stdout
result $? "and are left out"
check "explain --stage cuda" 0 '__global__' \
    explain "$examples/softmax.kiln" 'x=f32[64,1000]' --stage cuda --arch sm_90
check "explain of several stages" 0 '.' explain "$examples/softmax.kiln" --stage graph,schedule
check "explain --fast-math" 0 'fast math' explain "$examples/softmax.kiln" --fast-math
check "explain -v" 0 '^  fold .* constants; nothing changed$' explain "$examples/softmax.kiln" -v
check "explain" 0 '^  merge ' explain "$examples/softmax.kiln"
! grep -q 'nothing changed\|^  fold' stdout
result $? "says what changed, without -v"
check "explain --json" 0 '"name": "merge"' explain "$examples/softmax.kiln" --json
! grep -q '"name": "fold"' stdout
result $? "does so too"
check "explain -v --json" 0 '"name": "fold"' explain "$examples/softmax.kiln" --json -v
check "explain --fast-math shows its step" 0 '"name": "relax"' explain "$examples/softmax.kiln" --json --fast-math
check "0 / 0 is NaN" 0 'min=nan mean=nan max=nan' eval --device cpu 'x / x' 'x=f32[2]@zeros'
check "but to fast_math" 0 'min=1 mean=1 max=1' eval --device cpu 'x / x' 'x=f32[2]@zeros' --fast-math
check "rows that begin anywhere" 0 'rows along C begin alike in all arrays, within vectors of 4' \
    explain "$examples/softmax.kiln" 'x=f32[8192,50257]'
! grep -q 'C % 4 == 0' stdout
result $? "rely on no length"
check "explain --html" 0 '^<!doctype html>' explain "$examples/softmax.kiln" --html /dev/stdout
check "explain --html where nothing can be written" 3 'none/page.html: cannot write' \
    explain "$examples/softmax.kiln" --html none/page.html
check "explain --html and --json" 2 'exclude each other' explain "$examples/softmax.kiln" --html page.html --json
cat >split.kiln <<'END'
def f(x: f32[N, C], dy: f32[N, C]):
    m = mean(x, axis=1, keepdims=True)
    y = tanh(x - m)
    return y, vjp(y, dy, x)
END
check "explain --split" 0 '^f_forward for cuda' explain split.kiln 'x=f32[64,512]' --split dy
check "explain --split has both" 0 '^f_backward for cuda' explain split.kiln 'x=f32[64,512]' --split dy
check "explain --split --save" 0 'reads saved      m f32\[N, 1\] \(256 bytes\)$' \
    explain split.kiln 'x=f32[64,512]' --split dy --save m
check "explain --split --save none" 0 'reads saved      nothing' explain split.kiln --split dy --save none
check "explain --split --json" 0 '"split": "the backward knows dy' explain split.kiln --split dy --json
check "explain --split: sizes of what is saved" 0 'reads x, m, dy; writes out1' \
    explain split.kiln 'x=f32[64,512]' --split dy --save m --stage schedule,graph --arch sm_80
check "explain --split of no parameter" 2 "no input 'dz'" explain split.kiln --split dz
check "run --split, in two" 0 '^out1  f32\[4, 8\]  min=' run split.kiln 'x=f32[4,8]' 'dy=f32[4,8]' --device cpu --split dy
# rows that are long enough to be summed alike in all plans
whole=$("$kiln" run split.kiln 'x=f32[4,80]' 'dy=f32[4,80]' --device cpu)
for save in m none; do
    [ "$("$kiln" run split.kiln 'x=f32[4,80]' 'dy=f32[4,80]' --device cpu --split dy --save $save)" = "$whole" ]
    result $? "run --split --save $save gives what the whole gives"
done
check "explain --save alone" 2 'that --split divides' explain split.kiln --save m
check "explain --save of no value" 2 "no value 'q'.* m," explain split.kiln --split dy --save q
check "explain of an unknown architecture" 2 'sm_80, .*sm_90, .*cpu' explain "$examples/softmax.kiln" --arch sm_9
check "explain of an unknown stage" 2 'frob' explain "$examples/softmax.kiln" --stage frob
check "bench" 0 '^speed-up ' bench "$examples/softmax.kiln" 'x=f32[32,32]' --device cpu
one='\{"launches":[0-9]+,"us":[0-9.e+-]+,"bytes":[0-9]+,"host_us":[0-9.e+-]+,"compile_ms":[0-9.e+-]+,"disk_hits":[0-9]+\}'
check "bench on the CPU says how it ran" 0 ' on cpu, interpreted; ' bench "$examples/softmax.kiln" 'x=f32[32,32]' --device cpu
sharded="$examples/../bench/ranks/programs.kiln"
check "bench --ranks" 0 'the slowest of 2, by path host' bench "$sharded:sync_batchnorm" 'x=f32[2,3,4,4]' 'gamma=f32[3]' 'beta=f32[3]' --device cpu --ranks 2
check "bench --ranks, of a part each" 0 '"ranks":3,"path":"host"' bench "$sharded:clip" 'g=f32[100]' --device cpu --ranks 3 --json
check "bench --ranks 0" 2 '1 to 64' bench "$sharded:clip" 'g=f32[100]' --ranks 0
check "bench --svg" 0 '^</svg>' bench "$examples/softmax.kiln" 'x=f32[32,32]' --device cpu --svg /dev/stdout
check "explain --schedule LINE, with the chunk of async copies left out" 0 'async, chunk 4096, persistent' \
    explain "$examples/softmax.kiln" 'x=f32[1024,64000]' --arch sm_90 --stage schedule \
    --schedule 'threads 512: rows tpg 512 vec 4, cluster 8 of 8000, async, persistent, hold v0_x shared'
check "bench --schedule, which is of the fused kernel" 0 '^unfused +5 ' \
    bench "$examples/softmax.kiln" 'x=f32[32,32]' --device cpu \
    --schedule "$("$kiln" explain "$examples/softmax.kiln" 'x=f32[32,32]' --device cpu --stage schedule | head -1)"
check "bench --json" 0 "^\\{\"fused\":$one,\"unfused\":$one,\"copy_gbps\":[0-9.e+-]+,\"device\":\"cpu\",\"cpu\":\"interpreted\"" \
    bench "$examples/softmax.kiln" 'x=f32[32,32]' --device cpu --json
check "bench --split" 0 '^backward +1 ' bench split.kiln 'x=f32[4,8]' 'dy=f32[4,8]' --device cpu --split dy
check "bench --split --json" 0 "^\\{\"whole\":$one,\"forward\":$one,\"backward\":$one,\"copy_gbps\"" \
    bench split.kiln 'x=f32[4,8]' 'dy=f32[4,8]' --device cpu --split dy --json
check "bench --split --svg" 2 'measures neither' bench split.kiln 'x=f32[4,8]' 'dy=f32[4,8]' --split dy --svg a.svg

# the user's mistakes
b='b=f32[3]'
check "unknown name" 2 "no parameter 'z'.*x: f32\[N, C\].*b: f32\[C\].*eps: f32" run add.kiln z=3
check "an output is no parameter" 2 "no parameter 'y'" run add.kiln y=3
check "missing value" 2 'b is missing.*f32\[C\]' run add.kiln x=x.npy
check "wrong element type" 2 'x is f32\[N, C\], but x64.npy is f64\[2, 3\]' run add.kiln x=x64.npy "$b"
check "wrong element type of random data" 2 'b is f32\[C\], but i32\[3\] was given' run add.kiln x=x.npy 'b=i32[3]'
check "wrong rank of a file" 2 'x is f32\[N, C\], but x1.npy is f32\[6\]' run add.kiln x=x1.npy "$b"
check "a number for an array" 2 'x is f32\[N, C\], but 3 is a number' run add.kiln x=3 "$b"
check "an array for a scalar" 2 'eps is f32, but x.npy is f32\[2, 3\]' run add.kiln x=x.npy "$b" eps=x.npy
check "a bool for a float" 2 'eps is f32, but True is a bool' run add.kiln x=x.npy "$b" eps=True
check "sizes that disagree" 2 '3.*4|4.*3' run add.kiln x=x.npy 'b=f32[4]'
check "shapes that cannot broadcast" 2 '3.*4' eval 'x + y' 'x=f32[2,3]' 'y=f32[2,4]' --device cpu
cat >shapes.kiln <<'EOF'
def f(x: f32[2, 3], y: f32[4]):
    return x + y
EOF
check "both shapes are named" 2 'shapes.kiln:2:.*2, 3.*4' run shapes.kiln 'x=f32[2,3]' 'y=f32[4]'
check "wrong arity" 2 'where' eval 'where(x, x)' 'x=f32[3]'
check "unknown operation" 2 'frob' eval 'frob(x)' 'x=f32[3]'
check "unknown variable" 2 'q' eval 'x + q' 'x=f32[3]'
check "axis out of range" 2 'axis 2' eval 'sum(x, axis=2)' 'x=f32[3,4]'
check "operation without meaning for bool" 2 'bool' eval 'x - x' 'x=bool[3]'
check "minimum of nothing" 2 '' eval 'min(x)' 'x=f32[0]' --device cpu
check "syntax error with line and caret" 2 '1:.*\^' eval 'x + * 2' 'x=f32[3]'
printf 'def f(x: f32[N]:\n    return x\n' >syntax.kiln
check "syntax error names the file" 2 'syntax.kiln:1:' run syntax.kiln 'x=f32[3]'
printf '\000\001\002' >binary.kiln
check "a program that is no text" 2 'binary.kiln: not a text file' run binary.kiln
check "value of no kind" 2 'x=what: expected a .npy file' run add.kiln x=what
check "unknown element type" 2 "no element type 'f31'" run add.kiln 'x=f31[2]'
check "element count overflows" 2 'more elements' run add.kiln 'x=f32[4294967296,4294967296]' "$b"
check "a size that is no number" 2 "a size, found 'N\]'" run add.kiln 'x=f32[N]' "$b"
check "truncated file" 2 'short.npy: the file is shorter' run add.kiln x=short.npy "$b"
check "overlong file" 2 'long.npy: the file is longer' run add.kiln x=long.npy "$b"
check "foreign file" 2 'foreign.npy: not a .npy file' run add.kiln x=foreign.npy "$b"
check "big-endian file" 2 "big.npy: .*'>f4' is big-endian" run add.kiln x=big.npy "$b"
check "element type that kiln lacks" 2 "quad.npy: .*'<f16' is not supported" run add.kiln x=quad.npy "$b"
check "file whose size overflows" 2 'huge.npy: .*more elements' run add.kiln x=huge.npy "$b"
check "missing .npy file" 2 'none.npy: cannot open' run add.kiln x=none.npy "$b"
check "unknown schedule" 2 'frob' run add.kiln x=x.npy "$b" --schedule frob --device cpu

# what cannot be done
check "memory that there is not" 3 'memory' run add.kiln 'x=f32[1099511627776,65536]' 'b=f32[65536]' \
    --device cpu
check "unknown device" 2 'frob' run add.kiln x=x.npy "$b" --device frob
if "$kiln" eval 'x' 'x=f32[1]' --device cuda >stdout 2>stderr; then
    echo "ok - no GPU # SKIP there is one"
else
    check "no GPU" 3 '.' run add.kiln x=x.npy "$b" --device cuda
fi
check "an output directory that cannot be made" 3 'none/out: cannot make' \
    run add.kiln x=x.npy "$b" --device cpu -o none/out
check "an output directory that is a file" 3 'cannot' run add.kiln x=x.npy "$b" --device cpu -o x.npy
if [ -w /dev/full ]; then
    "$kiln" --version >/dev/full 2>stderr
    [ $? = 3 ]
    result $? "standard output is full"
fi

# output files
"$kiln" run add.kiln x=x.npy 'b=f32[3]@ones' --device cpu -o out >stdout 2>stderr
status=$?
set -- $(ls -A out)
[ $status = 0 ] && [ ! -s stdout ] && [ "$*" = "s.npy y.npy" ]
result $? "-o makes the directory and one file an output"
[ "$(wc -c <out/y.npy)" = 152 ] && [ "$(wc -c <out/s.npy)" = 140 ]
result $? "-o writes headers of 128 bytes and the elements"
check "what was written reads back" 0 '^out0  f32\[2, 3\]  min=1.5 mean=1.5 max=1.5$' \
    eval 'y' y=out/y.npy --device cpu
cp out/y.npy y.npy
"$kiln" run add.kiln x=x.npy 'b=f32[3]@ones' eps=7 --device cpu -o out >stdout 2>stderr
status=$?
[ $status = 0 ] && ! cmp -s out/y.npy y.npy
result $? "-o replaces files"
rm -rf out
check "a failing run leaves nothing" 2 '' run add.kiln x=short.npy "$b" --device cpu -o out
[ ! -e out ]
result $? "not even the directory"
mkdir -p made/s.npy
check "an output that cannot be written" 3 'made/s.npy: cannot write' \
    run add.kiln x=x.npy "$b" --device cpu -o made
rmdir made/s.npy
no_file "then no output is written" made
(
    ulimit -f 1
    trap '' XFSZ
    "$kiln" eval 'x, y' 'x=f32[4]' 'y=f32[4096]' --device cpu -o made >stdout 2>stderr
    [ $? = 3 ]
)
result $? "a full disk"
no_file "leaves nothing" made

# the same seed gives the same data
"$kiln" eval x 'x=f32[1000]' --seed 5 --device cpu >one 2>stderr
"$kiln" eval x 'x=f32[1000]' --seed 5 --device ref >two 2>stderr
"$kiln" eval x 'x=f32[1000]' --seed 6 --device cpu >three 2>stderr
[ -s one ] && cmp -s one two && ! cmp -s one three
result $? "random data depends on --seed only"

# kernels of one's own
cat >scale.cu <<'EOF'
template <typename T> __global__ void scale(const T *x, T *y, T a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i];
}
EOF
shape='--grid 2 --block 4'
# shellcheck disable=SC2086 # $shape is several words
{
    check "no entry" 2 'needs --entry NAME' kernel scale.cu $shape
    check "no grid" 2 'needs --grid' kernel scale.cu --entry scale --block 4
    check "no block" 2 'needs --block' kernel scale.cu --entry scale --grid 4
    check "a bad grid" 2 ".-grid is X, X,Y or X,Y,Z, not '1,2,3,4'" \
        kernel scale.cu --entry scale --grid 1,2,3,4 --block 1
    check "bad shared memory" 2 '.-shared is a number of bytes' \
        kernel scale.cu --entry scale $shape --shared 4k
    check "no such source" 2 'absent.cu: cannot open' kernel absent.cu --entry scale $shape
    check "a type and no number" 2 "n=i32:f32\[2\]: expected a number after 'i32:'" \
        kernel scale.cu --entry scale $shape 'n=i32:f32[2]'
    check "options of a launch are the kernel's" 2 "run has no option '--grid'" \
        run add.kiln --grid 1
    check "out: is the kernel's" 2 'expected NAME=VALUE' run add.kiln 'out:y=f32[2]'
    check "a device that runs no source" 3 'the device "cpu" runs no CUDA source' \
        kernel scale.cu --entry 'scale<float>' $shape --device cpu
}
# On a GPU or the emulator, where there is one.
on_source() { # WHAT STATUS TEXT ARG...
    "$kiln" kernel scale.cu --entry 'scale<float>' --grid 2 --block 4 'x=f32[1]' 'y=f32[1]' a=1.0 n=0 \
        >stdout 2>stderr
    if [ $? = 3 ]; then
        echo "skipped - $1: $(head -n 1 stderr)"
    else
        check "$@"
    fi
}
on_source "a kernel" 0 '^y  f32\[3\]  min=2.5 mean=2.5 max=2.5  \[2.5, 2.5, 2.5\]$' \
    kernel scale.cu --entry 'scale<float>' --grid 2 --block 4 'x=f32[3]@ones' 'out:y=f32[3]' a=2.5 n=3
on_source "what it does not write" 0 '^y  i32\[3\]  min=-1 mean=.* max=7  \[7, 7, -1\]$' \
    kernel scale.cu --entry 'scale<int>' --grid 1 --block 4 'x=i32[3]@ones' 'out:y=i32[3]' a=7 n=2
on_source "numbers with a type" 0 '^y  f64\[2\].*\[0.1, 0\]$' \
    kernel scale.cu --entry 'scale<double>' --grid 1 --block 4 'x=f64[2]@ones' 'out:y=f64[2]@zeros' \
    a=f64:0.1 n=i32:1
on_source "a kernel that is not there" 3 'has no kernel .absent|absent' \
    kernel scale.cu --entry absent --grid 1 --block 1
# The emulator knows the parameters' types; a GPU's driver their sizes.
on_emulator() { # WHAT STATUS TEXT ARG...
    on_source "$@" --device emu
}
on_emulator "an int for a float" 2 "a=2 is of the type i32, but the kernel's parameter 3, 'a', is of f32" \
    kernel scale.cu --entry 'scale<float>' --grid 1 --block 4 'x=f32[3]' 'out:y=f32[3]' a=2 n=3
on_emulator "elements of another type" 2 "x has elements of the type f64, but .*'x', points to f32" \
    kernel scale.cu --entry 'scale<float>' --grid 1 --block 4 'x=f64[3]' 'out:y=f32[3]' a=2.0 n=3
on_emulator "an array for a number" 2 "n=i32\[3\] is an array, but .* is a value of i32" \
    kernel scale.cu --entry 'scale<float>' --grid 1 --block 4 'x=f32[3]' 'out:y=f32[3]' a=2.0 'n=i32[3]'
on_emulator "a number for an array" 2 "x=3 is a number, but .* is a pointer to f32" \
    kernel scale.cu --entry 'scale<float>' --grid 1 --block 4 x=3 'out:y=f32[3]' a=2.0 n=3
on_emulator "an entry that is not there" 3 "no kernel 'scal' in the source; it has scale" \
    kernel scale.cu --entry scal --grid 1 --block 1
on_emulator "no instance of a kernel" 3 "no kernel 'scale<nothing>' in the source; it has scale; an instance .*nothing" \
    kernel scale.cu --entry 'scale<nothing>' --grid 1 --block 1
on_emulator "a template" 3 "no kernel 'scale' in the source; it has scale; an instance .* named as in" \
    kernel scale.cu --entry scale --grid 1 --block 1
printf '__global__ void scale(int *y)\n{ *y = nonsense; }\n' >broken.cu
on_source "an error names file and line" 3 'broken.cu[(:]2.*nonsense' \
    kernel broken.cu --entry scale --grid 1 --block 1

# ---- cache ----

mkdir -p kernels
KILN_CACHE_DIR=$scratch/kernels
export KILN_CACHE_DIR
check "cache clear" 0 '^removed [0-9]+ file' cache clear
check "cache stats, empty" 0 '^files +0$' cache stats
if "$kiln" eval x+1 'x=f32[4]' --device emu >stdout 2>stderr; then
    check "cache list" 0 ' emu kiln_eval$' cache list
    check "cache stats" 0 '^directory +.*/kernels$' cache stats
    check "cache stats --json" 0 '^\{"directory":".*/kernels","problem":"","files":2,"bytes":[0-9]+,"limit":268435456\}$' cache stats --json
    check "bench compiles" 0 '"compile_ms":[1-9][0-9.]*,"disk_hits":0\},"unf' bench "$examples/softmax.kiln" 'x=f32[4,8]' --device emu --json
    check "bench again" 0 '"compile_ms":[1-9][0-9.]*,"disk_hits":1\},"unf' bench "$examples/softmax.kiln" 'x=f32[4,8]' --device emu --json
    check "doctor names it" 0 '^cache .*/kernels: [1-9][0-9]* files' doctor
    check "cache trim, nothing to do" 0 '^removed 0 files, 0 bytes$' cache trim
    check "cache trim" 0 '^removed [0-9]+ files, [0-9]+ bytes$' cache trim --bytes 1K
    check "cache stats after it" 0 '^files +0$' cache stats
    # sizes are no numbers in the kernels of an expression, nor does it matter which are equal
    for i in 2 3 5 7 8 9 12 15 16 20 31 32 33 40 57 64 65 96 100 101; do
        "$kiln" eval 'x * x + 1.0' "x=f32[$i,$((i * 37 % 97))]" --device emu >stdout 2>stderr || break
        "$kiln" eval 'x * x + 1.0' "x=f32[$i,$i]" --device emu >stdout 2>stderr || break
        "$kiln" eval '(x - y) * x.T.T' "x=f32[$i,$((i * 37 % 97))]" "y=f32[$((i * 37 % 97))]" --device emu >stdout 2>stderr || break
    done
    result $? "eval of two expressions for 20 and 40 shapes"
    check "cache list of their kernels" 0 . cache list
    [ "$(grep -c 'emu kiln_eval' stdout)" -le 4 ]
    result $? "two kernels for each"
fi
x='x=f32[64,4096]'
check "explain --autotune, before" 0 'not measured yet' explain "$examples/softmax.kiln" "$x" --device cpu --autotune
check "explain --autotune --json, before" 0 '"forced": "", "us": null}, .*"forced": ".*threads [0-9]+: rows tpg' explain "$examples/softmax.kiln" "$x" --device cpu --autotune --json
line=$("$kiln" explain "$examples/softmax.kiln" "$x" --device cpu --autotune | sed -n '/^autotune/,/^$/s/^  \(.*: rows .*\)/\1/p' | head -1)
check "run --schedule LINE, of explain --autotune" 0 '^y  f32\[64, 4096\]' run "$examples/softmax.kiln" "$x" --device cpu --schedule "$line"
check "run --autotune" 0 '^y  f32\[64, 4096\]' run "$examples/softmax.kiln" "$x" --device cpu --autotune=1000
check "explain --autotune, after" 0 ' us taken ' explain "$examples/softmax.kiln" "$x" --device cpu --autotune
check "explain --autotune --json" 0 '"autotune": \{"measured": true' explain "$examples/softmax.kiln" "$x" --device cpu --autotune --json
check "cache list of what was measured" 0 ' tuning of softmax, up to N 64, C 4096$' cache list
check "bench --autotune" 0 '^speed-up ' bench "$examples/softmax.kiln" 'x=f32[32,32]' --device cpu --autotune
printf 'def f(x: f32[6, 700]):\n    return sum(x, axis=1)\n' >sizes.kiln
check "explain of sizes that are numbers" 0 'groups 6; members 700;' explain sizes.kiln
check "explain --autotune where there is one plan" 0 'one plan only is worth a try' explain index.kiln --device cpu --autotune
check "--autotune without a number" 2 "from 1, not 'soon'" run "$examples/softmax.kiln" "$x" --autotune=soon
check "--autotune=0" 2 "from 1, not '0'" run "$examples/softmax.kiln" "$x" --autotune=0
check "--autotune takes no word behind it" 2 'write --autotune=100' run "$examples/softmax.kiln" --autotune 100 "$x"
check "--autotune before another word" 0 '^y' run --autotune "$examples/softmax.kiln" 'x=f32[4,4]' --device cpu
check "cache clear of it" 0 '^removed [1-9]' cache clear
chmod 777 kernels
check "an unsafe directory" 0 '^not used +it must be' cache stats
check "doctor on an unsafe directory" 0 '^cache .* is not used: it must be' doctor
chmod 700 kernels
KILN_CACHE=off check "no directory" 0 '^not used +KILN_CACHE is off' cache stats
check "cache trim --bytes without a number" 2 "'x'" cache trim --bytes x
check "cache trim --bytes with two units" 2 "'1KK'" cache trim --bytes 1KK
check "cache trim --bytes that overflows" 2 "G'" cache trim --bytes 18446744073709551615G
check "cache without a word" 2 'cache needs WHAT' cache
check "cache with another word" 2 'stats, list, clear and trim' cache frob
check "cache list --json" 2 '--json is for cache stats' cache list --json
check "cache clear --bytes" 2 '--bytes is for cache trim' cache clear --bytes 1M
check "cache with a value" 2 'takes no values' cache stats x=3

[ $failures = 0 ] || echo "$failures failed"
[ $failures = 0 ]
