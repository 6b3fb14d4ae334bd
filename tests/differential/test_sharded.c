/* Programs of arrays that are divided over 1 to 5 ranks, which are threads, against the reference interpreter's results
 * for whole arrays. On the CPU device and the emulator.*/
#include <stdio.h>
#include <string.h>

#include "frontend/parse/parse.h"
#include "tests/differential/check.h"
#include "tests/differential/ranks.h"

static kn_context *contexts[MOST_RANKS];
static const char *path;

typedef struct sharded {
    const char *what, *text, *sizes;
} sharded;

static const sharded programs[] = {
    {"sum",
     "def f(x: f32[shard(N), C], w: f32[C]):\n"
     "    s = sum(x, axis=0)\n"
     "    return s, x * w + s, sum(x), N * s\n",
     "N=37 shard(N)=37 C=5"},
    {"batchnorm",
     "def f(x: f32[shard(N), C, H], g: f32[C], b: f32[C]):\n"
     "    m = mean(x, axis=(0, 2), keepdims=True)\n"
     "    v = var(x, axis=(0, 2), keepdims=True)\n"
     "    return (x - m) / sqrt(v + 1e-5) * g[None, :, None] + b[None, :, None], m, v\n",
     "N=11 shard(N)=11 C=6 H=33"},
    {"rmsnorm of a divided hidden axis",
     "def f(x: bf16[B, shard(D)], w: bf16[shard(D)]):\n"
     "    xf = x.astype(f32)\n"
     "    r = rsqrt(mean(xf * xf, axis=1, keepdims=True) + 1e-6)\n"
     "    return (xf * r * w.astype(f32)).astype(bf16)\n",
     "B=7 D=257 shard(D)=257"},
    {"clip by the global norm",
     "def f(a: f32[shard(N)], b: f32[shard(M)], most: f32):\n"
     "    norm = sqrt(sum(a * a) + sum(b * b))\n"
     "    s = minimum(1.0, most / norm)\n"
     "    return a * s, b * s, norm\n",
     "N=1000 shard(N)=1000 M=77 shard(M)=77"},
    {"softmax along a divided axis",
     "def f(x: f32[B, shard(N)]):\n"
     "    m = max(x, axis=1, keepdims=True)\n"
     "    e = exp(x - m)\n"
     "    return e / sum(e, axis=1, keepdims=True)\n",
     "B=5 N=203 shard(N)=203"},
    {"argmax, any, all, prod",
     "def f(x: f32[shard(N), C]):\n"
     "    return argmax(x, axis=0), argmin(x, axis=0), any(x > 1.5, axis=0), all(x > 0.6, axis=0), "
     "prod(x, axis=0), max(x), min(x, axis=1)\n",
     "N=9 shard(N)=9 C=4"},
    {"variance with ddof, of 16-bit floats, of a middle axis",
     "def f(x: f16[A, shard(N), C]):\n"
     "    return var(x, axis=1, ddof=1), std(x.astype(f64)), mean(x, axis=(1, 2))\n",
     "A=3 N=40 shard(N)=40 C=8"},
    {"the whole size as a number",
     "def f(x: f32[shard(N), C]):\n"
     "    i = arange(x.shape[0])\n"
     "    return x.shape[0] * x + N, i, x * (i < N // 2)[:, None], dropout(x, 0.5, 7, 1)\n",
     "N=6 shard(N)=6 C=3"},
    {"a step of k-means",
     "def f(x: f32[shard(N), D], c: f32[K, D]):\n"
     "    d = sum((x[:, None, :] - c[None, :, :]) ** 2, axis=2)\n"
     "    k = argmin(d, axis=1)\n"
     "    mine = (k[:, None] == arange(K)[None, :]).astype(f32)\n"
     "    n = sum(mine, axis=0)\n"
     "    s = sum(mine[:, :, None] * x[:, None, :], axis=0)\n"
     "    return s / maximum(n, 1)[:, None], n, k\n",
     "N=50 shard(N)=50 D=3 K=4"},
    {"gradient of a batchnorm",
     "def f(x: f32[shard(N), C], g: f32[C], dy: f32[shard(N), C]):\n"
     "    m = mean(x, axis=0)\n"
     "    v = var(x, axis=0)\n"
     "    y = (x - m) / sqrt(v + 1e-5) * g\n"
     "    dx, dg = vjp(y, dy, (x, g))\n"
     "    return dx, dg\n",
     "N=23 shard(N)=23 C=7"},
    {"two exchanges, one after the other",
     "def f(x: f32[shard(N), C], z: f32[shard(N)]):\n"
     "    a = sum(x, axis=0)\n"
     "    b = sum(x * a, axis=1)\n"
     "    return sum(b * z), max(x - a), a\n",
     "N=19 shard(N)=19 C=4"},
    {"a reshape that keeps ranges",
     "def f(x: f32[shard(N), C, H]):\n"
     "    y = reshape(x, (-1, C * H))\n"
     "    z = reshape(x, (N, H, C)) + reshape(x, (x.shape[0], H, C))\n"
     "    return y - mean(y, axis=0), sum(reshape(x, -1)), var(z, axis=(0, 1))\n",
     "N=8 shard(N)=8 C=3 H=2"},
};

static program *read_program(kn_arena *a, const sharded *s, uint64_t seed)
{
    program *p = program_of_text(a, s->text, NULL, s->sizes, seed);
    if (!p)
        fail_msg("%s: %s", s->what, kn_last_error());
    return p;
}

static void check_one(const sharded *s, int ranks, uint64_t seed, tally *seen)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    rng r = {seed * 31 + (uint64_t)ranks};
    kn_program_options options = {.fusion = seed % 3 != 1};
    ranked of = {.p = read_program(&a, s, seed), .ranks = ranks, .path = path, .options = &options};
    memcpy(of.ctx, contexts, sizeof of.ctx);
    ranked_divide(&of, &r);
    kn_text why = kn_text_new(&a);
    if (!ranked_check(&of, &why, seen))
        fail_msg("%s, seed %d: %s", s->what, (int)seed, kn_text_str(&why));
    kn_arena_finish(&a);
}

/* Programs from number `first` on, each `step`-th, over up to so many ranks. */
typedef struct choice {
    int first, step, least, most;
} choice;

static void on_device(const char *device, choice of)
{
    const int n = (int)(sizeof programs / sizeof *programs);
    tally seen = {0};
    if (setting("KILN_FUZZ", 0))
        of = (choice){0, 1, 1, MOST_RANKS};
    for (int r = 0; r < MOST_RANKS; r++)
        if (kn_context_open(&(kn_context_config){.device = device, .threads = 1}, &contexts[r]) !=
            KN_OK)
            fail_msg("%s", kn_last_error());
    for (int i = of.first; i < n; i += of.step)
        for (int ranks = of.least; ranks <= of.most; ranks++)
            check_one(&programs[i], ranks, (uint64_t)(i + ranks), &seen);
    for (int r = 0; r < MOST_RANKS; r++)
        kn_context_close(contexts[r]);
    must_have_compared(&seen);
}

static void test_cpu(void **state)
{
    (void)state;
    path = NULL;
    on_device("cpu", (choice){0, 1, EFFORT(1, 2), EFFORT(MOST_RANKS, 3)});
}

/* Kernels that exchange while they run: few, for each rank compiles its own. */
static void test_emu(void **state)
{
    (void)state;
    path = NULL;
    on_device("emu", (choice){1, 2 * (int)(sizeof programs / sizeof *programs), 2, 2});
    on_device("emu", (choice){3, 2 * (int)(sizeof programs / sizeof *programs), 2, 2});
}

/* The same, cut where ranks exchange by the host. */
static void test_cut(void **state)
{
    (void)state;
    path = "host";
    on_device("emu", (choice){0, 2 * (int)(sizeof programs / sizeof *programs), 2, 2});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_emu),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
