/* For tests of the CPU device: making kernels by hand, and a walker of the kernel IR that knows
 * nothing of blocks and threads, to compare with. Inputs are small whole numbers. */
#ifndef KN_TESTS_UNIT_CPU_KERNELS_H
#define KN_TESTS_UNIT_CPU_KERNELS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/eval.h"
#include "runtime/launch.h"

/* ---- making kernels ---- */

enum { MAX_BUFS = 32 };

#define S(...) ((const int64_t[]){__VA_ARGS__})

typedef struct world {
    kn_arena arena;
    kn_kernel *k;
    void *data[MAX_BUFS]; /* what bufs point to: blocks of their exact size */
    void *bufs[MAX_BUFS]; /* element (0, 0, ...) */
    size_t bytes[MAX_BUFS];
    kn_scalar scalars[4];
} world;

static inline kn_phase *last_phase(world *w) { return &w->k->phases.data[w->k->phases.len - 1]; }

static inline void world_init(world *w)
{
    memset(w, 0, sizeof *w);
    kn_arena_init(&w->arena, NULL);
    w->k = KN_NEW(&w->arena, kn_kernel);
    w->k->name = "test";
    w->k->disjoint = true;
}

static inline void world_finish(world *w)
{
    for (int i = 0; i < w->k->bufs.len; i++)
        free(w->data[i]);
    kn_arena_finish(&w->arena);
}

/* A buffer of `count` elements; element (0, ...) is the one at `first`. */
static inline int buffer(world *w, kn_buf_kind kind, kn_dtype t, int64_t count, int64_t first)
{
    int b = w->k->bufs.len;
    kn_buf buf = {.kind = kind, .index = b, .dtype = t, .name = "b"};
    kn_push(&w->arena, &w->k->bufs, buf);
    w->bytes[b] = (size_t)(count * kn_bytes(t));
    w->data[b] = calloc(w->bytes[b] + 1, 1);
    w->bufs[b] = (char *)w->data[b] + first * kn_bytes(t);
    for (int64_t i = 0; i < count && kind == KN_BUF_INPUT; i++) {
        kn_scalar v = {.dtype = KN_I64, .i = i * 7 % 11 - 4};
        kn_scalar_store(kn_eval_cast(v, t), (char *)w->data[b] + i * kn_bytes(t));
    }
    return b;
}

static inline void phase(world *w, kn_walk walk, int naxes, int ngroup, const int64_t *extents,
                         int nsweeps)
{
    kn_phase p = {.nest.name = "p",
                  .how.walk = walk,
                  .nest.naxes = naxes,
                  .nest.ngroup = ngroup,
                  .nest.nsweeps = nsweeps,
                  .how.vec = 1,
                  .how.tpg = 1,
                  .nest.groups = 1,
                  .nest.members = 1,
                  .num.splits = 1};
    for (int a = 0; a < naxes; a++) {
        p.nest.axes[a] = (kn_axis){.name = "a", .member = a >= ngroup, .extent = extents[a]};
        *(a < ngroup ? &p.nest.groups : &p.nest.members) *= extents[a];
    }
    p.num.chunk = p.nest.members;
    kn_push(&w->arena, &w->k->phases, p);
}

static inline kn_access access_to(const kn_phase *p, int buf, const int64_t *strides)
{
    kn_access a = {.buf = buf};
    for (int i = 0; i < p->nest.naxes; i++) {
        a.stride[i] = strides[i];
        a.axes |= (uint32_t)(strides[i] != 0) << i;
        a.kind[i] = strides[i] ? KN_STRIDE_PARAM : KN_STRIDE_ZERO;
    }
    return a;
}

static inline int value(world *w, kn_value v)
{
    return kn_nest_add(&w->arena, &last_phase(w)->nest, v);
}

static inline int load(world *w, kn_level level, int buf, const int64_t *strides)
{
    kn_access acc = access_to(last_phase(w), buf, strides);
    return value(w, (kn_value){.kind = KN_V_LOAD,
                               .dtype = w->k->bufs.data[buf].dtype,
                               .level = level,
                               .access = &acc});
}

static inline int number(world *w, kn_dtype t, double x)
{
    kn_scalar v = {.dtype = KN_F64, .f = x};
    return value(w, (kn_value){.kind = KN_V_CONST, .dtype = t, .value = kn_eval_cast(v, t)});
}

static inline int op(world *w, kn_op o, kn_dtype t, int a, int b, int c)
{
    kn_value v = {.kind = KN_V_ELEM, .op = o, .dtype = t, .nin = kn_ops[o].arity, .in = {a, b, c}};
    for (int k = 0; k < v.nin; k++) {
        const kn_value *x = &last_phase(w)->nest.values.data[v.in[k]];
        v.level = x->level == KN_ELEMENT ? KN_ELEMENT : v.level;
        v.stage = x->stage > v.stage ? x->stage : v.stage;
    }
    return value(w, v);
}

/* Gives the reduction's number. */
static inline int reduce(world *w, kn_op o, int v)
{
    kn_phase *p = last_phase(w);
    const kn_value *x = &p->nest.values.data[v];
    kn_red r = {.op = o, .value = v, .dtype = x->dtype, .stage = x->stage};
    kn_push(&w->arena, &p->nest.reds, r);
    return p->nest.reds.len - 1;
}

static inline int result(world *w, int red)
{
    const kn_red *r = &last_phase(w)->nest.reds.data[red];
    return value(
        w, (kn_value){.kind = KN_V_RESULT, .dtype = r->dtype, .stage = r->stage + 1, .index = red});
}

static inline void store(world *w, kn_store_kind kind, int v, int buf, const int64_t *strides,
                         uint32_t once)
{
    kn_phase *p = last_phase(w);
    kn_store s = {.kind = kind, .value = v, .access = access_to(p, buf, strides), .once = once};
    s.stage = kind == KN_STORE_PARTIAL ? p->nest.nsweeps : p->nest.values.data[v].stage;
    kn_push(&w->arena, &p->nest.stores, s);
}

/* ---- the walker ---- */

static inline char *at(world *w, const kn_access *a, const kn_phase *p, const int64_t *index,
                       int64_t split)
{
    int64_t e = split * a->split_stride;
    for (int i = 0; i < p->nest.naxes; i++)
        e += index[i] * a->stride[i];
    return (char *)w->bufs[a->buf] + e * kn_bytes(w->k->bufs.data[a->buf].dtype);
}

static inline void walk_index(const kn_phase *p, int from, int to, int64_t n, int64_t *index)
{
    for (int a = to - 1; a >= from; a--) {
        index[a] = n % p->nest.axes[a].extent;
        n /= p->nest.axes[a].extent;
    }
}

static inline void walk_values(world *w, const kn_phase *p, kn_level level, int stage,
                               const int64_t *index, const kn_scalar *results, kn_scalar *val)
{
    for (int i = 0; i < p->nest.values.len; i++) {
        const kn_value *v = &p->nest.values.data[i];
        kn_scalar in[KN_MAX_IN];
        if (v->level != level || v->stage > stage)
            continue;
        for (int k = 0; k < v->nin; k++)
            in[k] = val[v->in[k]];
        switch (v->kind) {
        case KN_V_LOAD: val[i] = kn_scalar_load(v->dtype, at(w, v->access, p, index, 0)); break;
        case KN_V_SCALAR: val[i] = w->scalars[v->index]; break;
        case KN_V_CONST: val[i] = v->value; break;
        case KN_V_EXTENT:
            val[i] = (kn_scalar){.dtype = KN_I64, .i = w->k->extents.data[v->index].value};
            break;
        case KN_V_ELEM: val[i] = kn_eval(v->op, v->dtype, in); break;
        case KN_V_RESULT: val[i] = results[v->index]; break;
        case KN_V_GATHER:
        case KN_V_INDEX:
        case KN_V_RANK:
            fail();
            break;              /* these kernels neither count nor gather, and are of one rank */
        case KN_V_LOCAL: break; /* the CPU has none */
        }
    }
}

static inline void walk_stores(world *w, const kn_phase *p, kn_store_kind kind, int stage,
                               const int64_t *index, int64_t split, const kn_scalar *from)
{
    for (int s = 0; s < p->nest.stores.len; s++) {
        const kn_store *st = &p->nest.stores.data[s];
        bool here = st->kind == kind && st->stage == stage;
        for (int a = 0; a < p->nest.naxes; a++)
            here = here && !(st->once >> a & 1 && index[a] != 0);
        if (here)
            kn_scalar_store(from[st->value], at(w, &st->access, p, index, split));
    }
}

static inline void walk_group(world *w, const kn_phase *p, int64_t group, int64_t split)
{
    kn_scalar *val = calloc((size_t)p->nest.values.len + 1, sizeof *val);
    kn_scalar *results = calloc((size_t)p->nest.reds.len + 1, sizeof *results);
    int64_t index[KN_MAX_RANK] = {0}, end = (split + 1) * p->num.chunk;
    walk_index(p, 0, p->nest.ngroup, group, index);
    for (int t = 0; t <= p->nest.nsweeps; t++) {
        memset(index + p->nest.ngroup, 0, sizeof *index * (size_t)(p->nest.naxes - p->nest.ngroup));
        walk_values(w, p, KN_GROUP, t, index, results, val);
        if (split == 0)
            walk_stores(w, p, KN_STORE_GROUP, t, index, 0, val);
        for (int r = 0; r < p->nest.reds.len; r++)
            if (p->nest.reds.data[r].stage == t) {
                kn_dtype d = p->nest.reds.data[r].dtype;
                results[r] = kn_identity(p->nest.reds.data[r].op, d == KN_F32 ? KN_F64 : d);
            }
        for (int64_t m = split * p->num.chunk;
             m < p->nest.members && m < end && t < p->nest.nsweeps; m++) {
            walk_index(p, p->nest.ngroup, p->nest.naxes, m, index);
            walk_values(w, p, KN_ELEMENT, t, index, results, val);
            walk_stores(w, p, KN_STORE_ELEMENT, t, index, 0, val);
            for (int r = 0; r < p->nest.reds.len; r++)
                if (p->nest.reds.data[r].stage == t) {
                    kn_scalar v = val[p->nest.reds.data[r].value];
                    v.dtype = results[r].dtype; /* f32 in double */
                    results[r] = kn_eval(kn_ops[p->nest.reds.data[r].op].combine, v.dtype,
                                         (kn_scalar[]){results[r], v});
                }
        }
        for (int r = 0; r < p->nest.reds.len; r++)
            if (p->nest.reds.data[r].stage == t)
                results[r] = kn_eval_cast(results[r], p->nest.reds.data[r].dtype);
    }
    memset(index + p->nest.ngroup, 0, sizeof *index * (size_t)(p->nest.naxes - p->nest.ngroup));
    walk_stores(w, p, KN_STORE_PARTIAL, p->nest.nsweeps, index, split, results);
    free(val);
    free(results);
}

static inline void walk(world *w)
{
    for (int i = 0; i < w->k->phases.len; i++) {
        const kn_phase *p = &w->k->phases.data[i];
        for (int64_t g = 0; g < p->nest.groups; g++)
            for (int64_t s = 0; s < p->num.splits; s++)
                walk_group(w, p, g, s);
    }
}

/* ---- running ---- */

static kn_device *devices[3]; /* of 1, 2 and 5 threads */

static inline void run_on(kn_device *dev, world *w)
{
    kn_code *code;
    kn_call call = {.bufs = w->bufs, .scalars = w->scalars};
    kn_launch launch;
    if (dev->ops->prepare(dev, w->k, &code) != KN_OK ||
        kn_launch_make(&w->arena, dev, w->k, code, &launch) != KN_OK ||
        dev->ops->launch(dev, &launch, &call, NULL) != KN_OK)
        fail_msg("%s", kn_last_error());
    dev->ops->discard(dev, code);
}

/* What the walker computes, on each device; bit by bit, but for the sign of NaN. */
static inline void check(world *w, const char *what)
{
    void *want[MAX_BUFS];
    walk(w);
    for (int b = 0; b < w->k->bufs.len; b++) {
        want[b] = malloc(w->bytes[b] + 1);
        memcpy(want[b], w->data[b], w->bytes[b]);
    }
    for (int d = 0; d < 3; d++) {
        for (int b = 0; b < w->k->bufs.len; b++)
            if (w->k->bufs.data[b].kind != KN_BUF_INPUT)
                memset(w->data[b], 0, w->bytes[b]);
        run_on(devices[d], w);
        for (int b = 0; b < w->k->bufs.len; b++) {
            kn_dtype t = w->k->bufs.data[b].dtype;
            for (size_t i = 0; i < w->bytes[b]; i += (size_t)kn_bytes(t)) {
                kn_scalar x = kn_scalar_load(t, (char *)w->data[b] + i);
                kn_scalar y = kn_scalar_load(t, (char *)want[b] + i);
                if (kn_is_float(t) ? x.f != y.f && !(isnan(x.f) && isnan(y.f)) : x.i != y.i)
                    fail_msg("%s, device %d, buffer %d, byte %zu: %g, not %g", what, d, b, i,
                             kn_is_float(t) ? x.f : (double)x.i,
                             kn_is_float(t) ? y.f : (double)y.i);
            }
        }
    }
    for (int b = 0; b < w->k->bufs.len; b++)
        free(want[b]);
}

static inline int open_devices(void)
{
    static const int counts[] = {1, 2, 5};
    for (int d = 0; d < 3; d++) {
        kn_device_config config = {.threads = counts[d]};
        if (kn_cpu_device.open(&config, &devices[d]) != KN_OK)
            return 1;
    }
    return 0;
}

static inline void close_devices(void)
{
    for (int d = 0; d < 3; d++)
        kn_cpu_device.close(devices[d]);
}

#endif
