#include "runtime/cpu/user_fold.h"

#include <string.h>

#include "runtime/cpu/move.h"

/* Lanes that a combine's steps take at a time, so that its values stay in the first-level cache. */
enum { CHUNK = 128, WIDEST = 16 };

/* Scratch: a chunk for each step, then four arrays of `lanes` for each carried value. */
typedef struct areas {
    char *steps, *spread[KN_MAX_CARRIED], *even[KN_MAX_CARRIED], *odd[KN_MAX_CARRIED],
        *met[KN_MAX_CARRIED];
} areas;

size_t kn_user_fold_scratch(const kn_user_fold *fold, size_t lanes)
{
    return ((size_t)fold->by->nsteps * CHUNK + 4 * (size_t)fold->by->count * lanes) * WIDEST;
}

static areas lay_out(const kn_user_fold *fold, size_t lanes, char *scratch)
{
    areas s = {.steps = scratch};
    char *at = scratch + (size_t)fold->by->nsteps * CHUNK * WIDEST;
    for (int c = 0; c < fold->by->count; c++, at += 4 * lanes * WIDEST) {
        s.spread[c] = at;
        s.even[c] = at + lanes * WIDEST;
        s.odd[c] = at + 2 * lanes * WIDEST;
        s.met[c] = at + 3 * lanes * WIDEST;
    }
    return s;
}

kn_status kn_user_fold_make(kn_arena *a, const kn_loops *loops, const kn_reducer *by,
                            const kn_user_fold **out)
{
    kn_user_fold *fold = KN_NEW(a, kn_user_fold);
    *out = fold;
    fold->by = kn_reducer_clone(a, by);
    fold->loop = KN_NEW_ARRAY(a, kn_loop, by->nsteps + 1);
    fold->constant = kn_alloc(a, sizeof *fold->constant * (size_t)(by->nsteps + 1));
    for (int i = 0; i < by->nsteps; i++) {
        const kn_combine_step *s = &by->steps[i];
        kn_dtype in[3] = {KN_NO_DTYPE};
        for (int k = 0; k < s->nin; k++)
            in[k] = kn_reducer_type(by, s->in[k]);
        if (s->op == KN_OP_CONST)
            kn_scalar_store(s->value, fold->constant[i]);
        else if (!(fold->loop[i] = kn_loops_elem(loops, s->op, in, s->dtype)))
            return kn_fail(KN_INTERNAL, "reduce_by: no loop for %s to %s", kn_ops[s->op].text,
                           kn_dtypes[s->dtype].text);
    }
    return KN_OK;
}

/* The lanes of value `value` from `at` on. */
static const void *lanes_of(const kn_user_fold *fold, int value, const void *const *a,
                            const void *const *b, int64_t at, const areas *s)
{
    int count = fold->by->count, step = value - 2 * count;
    if (step < 0) {
        const char *from = value < count ? a[value] : b[value - count];
        return from + at * kn_bytes(fold->by->dtype[value % count]);
    }
    return fold->loop[step] ? (const void *)(s->steps + (size_t)step * CHUNK * WIDEST)
                            : fold->constant[step];
}

static bool is_constant(const kn_user_fold *fold, int value)
{
    const kn_combine_step *s = kn_reducer_step(fold->by, value);
    return s && s->op == KN_OP_CONST;
}

/* out[i] = combine(a[i], b[i]); out may be a or b. */
static void combine(const kn_user_fold *fold, int64_t n, const void *const *a, const void *const *b,
                    char *const *out, const areas *s)
{
    const kn_reducer *by = fold->by;
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t lanes = n - at < CHUNK ? n - at : CHUNK;
        for (int i = 0; i < by->nsteps; i++) {
            const kn_combine_step *step = &by->steps[i];
            const void *in[3] = {0};
            unsigned uniform = 0;
            if (!fold->loop[i])
                continue;
            for (int k = 0; k < step->nin; k++) {
                in[k] = lanes_of(fold, step->in[k], a, b, at, s);
                uniform |= (unsigned)is_constant(fold, step->in[k]) << k;
            }
            fold->loop[i](lanes, s->steps + (size_t)i * CHUNK * WIDEST, in, uniform);
        }
        /* Results that are operands, e.g. of a swap, are copied first: the results may overwrite the operands. */
        char kept[KN_MAX_CARRIED][CHUNK * WIDEST];
        for (int c = 0; c < by->count; c++) {
            int bytes = kn_bytes(by->dtype[c]), from = by->result[c];
            const void *made = lanes_of(fold, from, a, b, at, s);
            if (is_constant(fold, from))
                kn_mover_of(bytes)->splat(lanes, kept[c], made);
            else
                memcpy(kept[c], made, (size_t)(lanes * bytes));
        }
        for (int c = 0; c < by->count; c++) {
            int bytes = kn_bytes(by->dtype[c]);
            memcpy(out[c] + at * bytes, kept[c], (size_t)(lanes * bytes));
        }
    }
}

void kn_user_fold_start(const kn_user_fold *fold, int64_t n, char *const *acc)
{
    for (int c = 0; c < fold->by->count; c++) {
        double element[2];
        kn_scalar_store(fold->by->identity[c], element);
        kn_mover_of(kn_bytes(fold->by->dtype[c]))->splat(n, acc[c], element);
    }
}

/* Copies operands to arrays with an element for each lane. */
static void spread(const kn_user_fold *fold, int64_t n, const kn_operand *in, const areas *s,
                   const void **out)
{
    for (int c = 0; c < fold->by->count; c++) {
        out[c] = in[c].data;
        if (in[c].same) {
            kn_mover_of(kn_bytes(fold->by->dtype[c]))->splat(n, s->spread[c], in[c].data);
            out[c] = s->spread[c];
        }
    }
}

static void add_to(const kn_user_fold *fold, int64_t n, char *const *acc, const void *const *x,
                   const areas *s)
{
    const void *so_far[KN_MAX_CARRIED];
    for (int c = 0; c < fold->by->count; c++)
        so_far[c] = acc[c];
    combine(fold, n, so_far, x, acc, s);
}

void kn_user_fold_accumulate(const kn_user_fold *fold, int64_t n, char *const *acc,
                             const kn_operand *in, size_t lanes, char *scratch)
{
    const void *x[KN_MAX_CARRIED];
    areas s = lay_out(fold, lanes, scratch);
    spread(fold, n, in, &s, x);
    add_to(fold, n, acc, x, &s);
}

/* A tree: neighbours are combined, in order, into half as many lanes, until one is left. */
void kn_user_fold_reduce(const kn_user_fold *fold, int64_t n, char *const *acc,
                         const kn_operand *in, size_t lanes, char *scratch)
{
    const void *x[KN_MAX_CARRIED], *even[KN_MAX_CARRIED], *odd[KN_MAX_CARRIED];
    areas s = lay_out(fold, lanes, scratch);
    spread(fold, n, in, &s, x);
    for (; n > 1; n = n / 2 + n % 2) {
        int64_t pairs = n / 2;
        for (int c = 0; c < fold->by->count; c++) {
            int bytes = kn_bytes(fold->by->dtype[c]);
            const kn_mover *move = kn_mover_of(bytes);
            move->read(pairs, s.even[c], x[c], 2 * bytes);
            move->read(pairs, s.odd[c], (const char *)x[c] + bytes, 2 * bytes);
            if (n % 2) /* an odd one waits for the next round */
                memmove(s.met[c] + pairs * bytes, (const char *)x[c] + (n - 1) * bytes,
                        (size_t)bytes);
            even[c] = s.even[c];
            odd[c] = s.odd[c];
            x[c] = s.met[c];
        }
        combine(fold, pairs, even, odd, s.met, &s);
    }
    add_to(fold, n, acc, x, &s);
}
