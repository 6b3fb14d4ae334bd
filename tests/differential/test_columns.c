/* Columns whose later sweeps find on chip what earlier ones read: in a block's shared memory or over a cluster's, brought
 * there by copies or through registers, from tiles too. What is kept where is as said here, and the results are those of
 * the reference interpreter, at every width of elements, with edges and layouts; written over operands: unit/test_alias.c. */
#include "tests/differential/cases.h"

#define SOFTMAX(type)                                                                              \
    "def f(x: " type "[C, N]):\n"                                                                  \
    "    e = exp(x - max(x, axis=0))\n"                                                            \
    "    return e / sum(e, axis=0)\n"
#define TURNED(type)                                                                               \
    "def f(x: " type "[C, N]):\n"                                                                  \
    "    e = exp(x.T - max(x, axis=0)[:, None])\n"                                                 \
    "    return e / sum(e, axis=1, keepdims=True)\n"
#define CENTRED(type)                                                                              \
    "def f(x: " type "[C, N]):\n"                                                                  \
    "    d = x - mean(x, axis=0)\n"                                                                \
    "    v = mean(d * d, axis=0)\n"                                                                \
    "    return d / sqrt(v + 1), v\n"

#define CHANNELS(type)                                                                             \
    "def f(x: " type "[N, C, P], g: f32[C]):\n"                                                    \
    "    m = mean(x, axis=(0, 2), keepdims=True)\n"                                                \
    "    v = mean((x - m) ** 2, axis=(0, 2), keepdims=True)\n"                                     \
    "    return (x - m) * rsqrt(v + 1) * g[:, None], m, v\n"

/* how: groups side by side, blocks of a cluster, what is kept and how it comes, or that groups are abreast; results that leave from there. */
static const scheduled_case cases[] = {
    /* a line of memory side by side; elements that are too narrow for a copy */
    {CENTRED("f32"), "N=100 C=300", NULL, "32 x 1 in_x by copies"},
    {CENTRED("f32"), "N=101 C=37", NULL, "32 x 1 in_x by copies"},
    {CENTRED("f64"), "N=70 C=90", NULL, "16 x 1 in_x by copies"},
    {CENTRED("f16"), "N=132 C=75", NULL, "64 x 1 in_x by copies"},
    {CENTRED("f16"), "N=67 C=75", NULL, "32 x 1 in_x"},
    {"def f(x: i8[C, N]):\n    return x - max(x, axis=0), min(x, axis=0)\n", "N=140 C=33", NULL,
     "128 x 1 in_x by copies"},
    {"def f(x: c64[C, N]):\n    return x / sum(x, axis=0)\n", "N=35 C=50", NULL,
     "16 x 1 in_x by copies"},
    /* few groups, few members, none */
    {SOFTMAX("f32"), "N=3 C=400", NULL, "32 x 1 in_x exp by copies"},
    {SOFTMAX("f32"), "N=200 C=2", NULL, "32 x 1 in_x exp by copies"},
    {SOFTMAX("f32"), "N=0 C=30", NULL, ""},
    {CENTRED("f32"), "N=40 C=0", NULL, ""},
    /* what is computed takes the place of what was loaded; two arrays; several axes */
    {SOFTMAX("f32"), "N=64 C=130", "whole", "32 x 1 in_x exp by copies"},
    {"def f(x: f32[C, N], y: f32[C, N], w: f32[C]):\n"
     "    z = x * w[:, None] + y\n"
     "    return z / max(abs(z), axis=0), sum(y, axis=0)\n",
     "N=77 C=45", NULL, "32 x 1 in_x in_y by copies"},
    {"def f(x: f32[B, C, H, W], g: f32[C]):\n"
     "    d = x - mean(x, axis=1, keepdims=True)\n"
     "    return d * rsqrt(mean(d * d, axis=1, keepdims=True) + 1) * g[:, None, None]\n",
     "B=3 C=20 H=5 W=12", NULL, "32 x 1 in_x by copies"},
    {"def f(x: f32[A, B, N]):\n    return x / sum(x, axis=(0, 1))\n", "A=7 B=9 N=70", NULL,
     "32 x 1 in_x by copies"},
    /* a cluster's blocks, with two lines side by side where they are few: more than there are members for, ends within a
     * row, more than one at a time */
    {SOFTMAX("f32"), "N=100 C=300", "cluster=3", "64 x 3 in_x exp by copies"},
    {SOFTMAX("f32"), "N=33 C=5", "cluster=4", "32 x 4 in_x exp by copies"},
    {CENTRED("f64"), "N=40 C=203", "cluster=16", "16 x 16 in_x by copies"},
    {CENTRED("f16"), "N=67 C=90", "cluster=2", "32 x 2 in_x"},
    {"def f(x: bool[C, N], y: i64[C, N]):\n"
     "    return y - sum(y, axis=0), any(x & (y > 0), axis=0), all(x | (y > 0), axis=0), max(y, axis=0)\n",
     "N=36 C=70", "cluster=5", "16 x 5 in_y by copies"},
    {"def f(x: c64[C, N]):\n    return x / sum(x, axis=0)\n", "N=35 C=50", "cluster=2",
     "32 x 2 in_x by copies"},
    {CENTRED("f32"), "N=40 C=0", "cluster=2", ""},
    /* too tall for one block; for lines */
    {SOFTMAX("f32"), "N=32 C=2000", "cluster", "32 x 2 in_x exp by copies"},
    {CENTRED("f64"), "N=10 C=15000", "cluster=8", "8 x 8 in_x by copies"},
    /* results, and operands, that lie along the members */
    {TURNED("f32"), "N=70 C=133", "tiles", "32 x 1 in_x exp by copies"},
    {TURNED("f32"), "N=68 C=300", "cluster=3", "32 x 3 in_x exp out_out0 by copies"},
    {TURNED("f64"), "N=37 C=100", "tiles", "16 x 1 in_x exp out_out0 by copies"},
    /* clusters that ask for the next tile while they store one, more of them and less */
    {TURNED("f64"), "N=126 C=112", "cluster=2", "16 x 2 in_x exp out_out0 by copies"},
    {TURNED("f32"), "N=332 C=68", "cluster=2", "32 x 2 in_x exp out_out0 by copies"},
    {TURNED("f16"), "N=72 C=136", "cluster=2", "64 x 2 in_x cast out_out0 by copies"},
    {TURNED("f16"), "N=71 C=137", "tiles", "32 x 1 in_x cast"},
    {"def f(x: f32[C, N], y: f32[C, N]):\n"
     "    d = x.T - max(x * y, axis=0)[:, None]\n"
     "    return d, y.T + d, d.T, cast(d, f64)\n",
     "N=66 C=92", "tiles", "32 x 1 in_x in_y out_d out_out1 out_out3 by copies"},
    {"def f(x: f32[C, N], y: f32[N, C]):\n    return x - max(x + y.T, axis=0)\n", "N=68 C=90",
     "cluster=2", "32 x 2 in_x by copies"},
    {"def f(x: f32[C, N], y: f32[N, C]):\n    z = x - y.T\n    return z / sum(z * z, axis=0)\n",
     "N=68 C=90", "tiles", "32 x 1 in_x in_y"},
    /* groups abreast: odd runs and even, a last tile that is not full, a thread without a column, fewer rows than threads
     * for them; runs that vectors fit, too few groups, not whole vectors */
    {CHANNELS("f32"), "N=32 C=48 P=49", NULL, "4 x 1 in_x abreast"},
    {CHANNELS("f32"), "N=9 C=100 P=25", NULL, "8 x 1 in_x abreast"},
    {CHANNELS("f32"), "N=3 C=98 P=10", NULL, "8 x 1 in_x abreast"},
    {"def f(x: i32[N, C, P]):\n"
     "    return x - max(x, axis=(0, 2), keepdims=True), min(x, axis=(0, 2))\n",
     "N=3 C=52 P=63", NULL, "4 x 1 in_x abreast"},
    {CHANNELS("f32"), "N=3 C=100 P=48", NULL, ""},
    {CHANNELS("f32"), "N=3 C=44 P=49", NULL, ""},
    {CHANNELS("f32"), "N=3 C=102 P=49", NULL, ""},
};
enum { CASES = sizeof cases / sizeof *cases };

static void describe(kn_text *t, const kn_kernel *k, const kn_phase *ph)
{
    bool any = false;
    for (int i = 0; i < ph->nest.values.len; i++)
        any = any || ph->nest.values.data[i].kept;
    if (!any || ph->how.walk != KN_WALK_COLS)
        return;
    kn_putf(t, "%d x %d", kn_cols_width(ph), kn_kernel_cluster(k));
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        if (v->kept)
            kn_putf(t, " %s",
                    v->kind == KN_V_LOAD ? k->bufs.data[v->access.buf].name : kn_ops[v->op].text);
    }
    for (int i = 0; i < ph->nest.stores.len; i++)
        if (ph->nest.stores.data[i].by_registers)
            kn_putf(t, " %s", k->bufs.data[ph->nest.stores.data[i].access.buf].name);
    kn_put(t, ph->how.async ? " by copies" : ph->how.packed ? " abreast" : "");
}

static void test_emu(void **state)
{
    (void)state;
    check_scheduled(cases, CASES, 3, 1, describe);
}

/* ---- so short that a thread has all of a column, and so many that this fills the machine ---- */

static const text_case shorts[] = {
    {"def f(x: f32[N, C]):\n    return mean(x, axis=0), max(x, axis=0)\n", "N=5 C=8196", true},
    {"def f(x: f16[N, C], t: f32[N]):\n"
     "    return t[minimum(sum(x > 0, axis=0), 2)], sum(x, axis=0)\n",
     "N=40 C=16400", true},
    {"def f(x: f64[N, C]):\n    return sum(x, axis=0) / 2\n", "N=3 C=8301", true},
    {"def f(x: f32[N, C]):\n    return sum(x, axis=0)\n", "N=300 C=16000", false},
    /* and keeps it, of vectors: less than it has steps for, all of them and more; of several axes; two arrays that are not
     * of one width */
    {CENTRED("f32"), "N=2052 C=5", true},
    {SOFTMAX("f16"), "N=2052 C=16", true},
    {CENTRED("f32"), "N=2052 C=9", false},
    {"def f(x: f32[B, C, H, W], y: f16[C]):\n"
     "    d = x - mean(x, axis=(0, 1), keepdims=True)\n"
     "    return d * y[:, None, None], max(abs(d), axis=(0, 1))\n",
     "B=2 C=3 H=20 W=104", true},
    {"def f(x: f16[C, N], y: i32[C, N]):\n"
     "    m = max(x, axis=0)\n"
     "    return x - m, y - min(y, axis=0) + m\n",
     "N=519 C=7", true},
    /* threads without a column gather nothing */
    {"def f(x: f16[N, C], t: f32[N]):\n    return t[argmax(x, axis=0)], sum(x, axis=0)\n",
     "N=40 C=200", false},
};
enum { SHORTS = sizeof shorts / sizeof *shorts };

static bool is_one_thread(const kn_phase *ph)
{
    return ph->how.walk == KN_WALK_COLS && ph->how.tpg == 1;
}

static void test_short(void **state)
{
    (void)state;
    check_cases("emu", shorts, SHORTS, 2, is_one_thread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_emu), cmocka_unit_test(test_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
