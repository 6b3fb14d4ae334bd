/* Vectors that are assembled of the aligned words around them: arrays that begin anywhere, whose rows are any distance apart and of
 * any length, of every size of elements, by columns and by rows. Nothing outside an array is read. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/hostile.h"
#include "tests/on_device.h"
#include "tests/random.h"

/* Of x, y: TYPE[N, C] and k: bool[N, C]: a result for each index of an axis, and another or one for each element. All are f64, so that
 * types are compared alike. */
static const struct {
    const char *text;
    int axis;
    bool elements;
} bodies[] = {
    {"    s = sum(where(k, cast(x, f64), cast(y, f64)), axis=0)\n    return s, cast(max(x, axis=0), f64)\n",
     1, false},
    {"    m = mean(cast(x, f64), axis=0)\n    return m, (cast(x, f64) - m) * (1 + cast(k, f64)) - cast(y, f64)\n",
     1, true},
    {"    s = sum(where(k, cast(x, f64), cast(y, f64)), axis=1)\n    return s, cast(max(x, axis=1), f64)\n",
     0, false},
    {"    s = sum(abs(cast(x, f32)) + abs(cast(y, f32)), axis=1)\n    return cast(s, f64), cast(max(where(k, x, y), axis=1), f64)\n",
     0, false},
};
static const struct {
    kiln_dtype dtype;
    const char *name;
    bool is_float;
} types[] = {{KILN_I8, "i8", false},  {KILN_F16, "f16", true}, {KILN_BF16, "bf16", true},
             {KILN_F32, "f32", true}, {KILN_F64, "f64", true}, {KILN_I64, "i64", false}};
static const char *const schedules[] = {NULL,
                                        "assembled",
                                        "assembled, whole",
                                        "assembled, split",
                                        "assembled, resident",
                                        "assembled, cluster=2"};
enum {
    BODIES = sizeof bodies / sizeof *bodies,
    TYPES = sizeof types / sizeof *types,
    SCHEDULES = sizeof schedules / sizeof *schedules,
    ARRAYS = 3,
    OUTPUTS = 2,
    MOST_OFF = 9,
    ROUNDS = 48
};

typedef struct array {
    const char *name;
    kiln_dtype dtype;
    bool is_float;
    int64_t strides[2], offset, elements;
} array;

typedef struct problem {
    int body, type;
    const char *schedule;
    int64_t shape[2], results[OUTPUTS];
    array in[ARRAYS];
} problem;

/* Any bytes; those of floats begin as those of numbers near 1 do. */
static void fill(const array *a, unsigned char *to, uint64_t seed)
{
    const int64_t size = (int64_t)kiln_dtype_size(a->dtype);
    for (int64_t i = 0; i < a->elements * size; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const unsigned char byte = (unsigned char)(seed >> 56);
        to[i] = a->dtype == KILN_BOOL                 ? byte & 1
                : a->is_float && i % size == size - 1 ? 0x3c | (byte & 0x80)
                                                      : byte;
    }
}

static int64_t below(uint64_t *state, int64_t n)
{
    return (int64_t)((random_64(state) >> 33) % (uint64_t)n);
}

static problem draw(int round, uint64_t *state)
{
    static const char *const names[ARRAYS] = {"x", "y", "k"};
    problem p = {.body = round % BODIES,
                 .type = round / BODIES % TYPES,
                 .schedule = schedules[below(state, SCHEDULES)],
                 .shape = {2 + below(state, 90), 60 + below(state, 240)}};
    for (int i = 0; i < ARRAYS; i++) {
        array *a = &p.in[i];
        *a = (array){.name = names[i],
                     .dtype = i < 2 ? types[p.type].dtype : KILN_BOOL,
                     .is_float = i < 2 && types[p.type].is_float,
                     .strides = {0, below(state, 8) == 0 ? 2 : 1},
                     .offset = below(state, MOST_OFF)};
        a->strides[0] = p.shape[1] * a->strides[1] + below(state, 2) * below(state, MOST_OFF);
        a->elements =
            a->offset + (p.shape[0] - 1) * a->strides[0] + (p.shape[1] - 1) * a->strides[1] + 1;
    }
    p.results[0] = p.shape[bodies[p.body].axis];
    p.results[1] = bodies[p.body].elements ? p.shape[0] * p.shape[1] : p.results[0];
    return p;
}

/* What the outputs are on a device, one behind the other. */
static double *results_on(const char *device, const problem *p)
{
    char text[512];
    kiln_options options;
    kiln_options_init(&options);
    options.schedule = p->schedule;
    const char *type = types[p->type].name;
    snprintf(text, sizeof text, "def f(x: %s[N, C], y: %s[N, C], k: bool[N, C]):\n%s", type, type,
             bodies[p->body].text);
    kiln_ctx *ctx = open_device(device);
    kiln_prog *prog = compile_with(ctx, text, &options);
    kiln_arg args[ARRAYS + OUTPUTS];
    void *memory[ARRAYS + OUTPUTS];
    for (int i = 0; i < ARRAYS; i++) {
        const array *a = &p->in[i];
        const size_t size = kiln_dtype_size(a->dtype), bytes = size * (size_t)a->elements;
        unsigned char *host = malloc(bytes);
        fill(a, host, (uint64_t)i);
        good(kiln_alloc(ctx, bytes, &memory[i]));
        good(kiln_upload(ctx, memory[i], host, bytes));
        free(host);
        args[i] = (kiln_arg){a->name,  (char *)memory[i] + size * (size_t)a->offset,
                             a->dtype, 2,
                             p->shape, a->strides};
    }
    for (int i = 0; i < OUTPUTS; i++) {
        kiln_io io;
        good(kiln_prog_io(prog, ARRAYS + i, &io));
        good(kiln_alloc(ctx, sizeof(double) * (size_t)p->results[i], &memory[ARRAYS + i]));
        args[ARRAYS + i] = (kiln_arg){io.name,
                                      memory[ARRAYS + i],
                                      io.dtype,
                                      io.rank,
                                      io.rank == 2 ? p->shape : &p->shape[bodies[p->body].axis],
                                      NULL};
    }
    good(run_hostile(prog, args, ARRAYS + OUTPUTS));
    good(kiln_sync(ctx, NULL));
    double *all = malloc(sizeof(double) * (size_t)(p->results[0] + p->results[1])), *to = all;
    for (int i = 0; i < OUTPUTS; to += p->results[i++])
        good(kiln_download(ctx, to, memory[ARRAYS + i], sizeof(double) * (size_t)p->results[i]));
    for (int i = 0; i < ARRAYS + OUTPUTS; i++)
        kiln_free(ctx, memory[i]);
    kiln_prog_destroy(prog);
    kiln_ctx_destroy(ctx);
    return all;
}

static int compare(int round, const problem *p, const char *device)
{
    double *want = results_on("ref", p), *got = results_on(device, p);
    int failed = 0;
    for (int64_t i = 0; i < p->results[0] + p->results[1] && !failed; i++) {
        if (fabs(got[i] - want[i]) <= 1e-5 * (fabs(want[i]) + 1))
            continue;
        print_error("round %d, program %d, %s, schedule %s: result %lld is %g, not %g\n", round,
                    p->body, types[p->type].name, p->schedule ? p->schedule : "chosen",
                    (long long)i, got[i], want[i]);
        failed = 1;
    }
    free(want);
    free(got);
    return failed;
}

static void check(const char *device)
{
    uint64_t state = 1;
    int failed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const problem p = draw(round, &state);
        failed += compare(round, &p, device);
    }
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_DEVICE(check, "emu"), ON_DEVICE(check, "cuda")};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
