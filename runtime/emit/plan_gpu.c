/* One plan as a C function for a GPU, and its kernels:
 *
 *     static int sm_90_plan0(kn_gpu_run *run, sizes, void *const *array, const void *const *scalar)
 *
 * array: inputs, then outputs; scalar: per input, where it is a number. The memory has copies of inputs that the program
 * updates where that is needed, and temporaries. */
#include <string.h>

#include "codegen/emit/cuda/cuda.h"
#include "codegen/kir/grid.h"
#include "codegen/kir/params.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/emit/impl.h"

_Static_assert(4 * KN_BARRIER_WORDS == 2048, "runtime/emit/gpu.h has it as KN_GPU_HEAD");

/* ---- machine code ---- */

/* static const uint64_t image0[] = {...}; */
static void put_image(kn_text *t, const char *name, const char *data, size_t bytes)
{
    kn_putf(t, "static const uint64_t %s[] = {", name);
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, data + i, bytes - i < 8 ? bytes - i : 8);
        kn_putf(t, "%s0x%016llxu,", i % 48 ? " " : "\n    ", (unsigned long long)word);
    }
    kn_put(t, "\n};\n\n");
}

typedef struct image {
    kn_text *t;
    const char *name, *data;
    size_t bytes;
} image;

static kn_status put_protected(void *user)
{
    const image *i = user;
    put_image(i->t, i->name, i->data, i->bytes);
    return KN_OK;
}

static kn_status put_ptx(kn_emitter *e, const kn_kernel *k, int sm, kn_emitted_code *code)
{
    char *ptx;
    size_t size;
    const kn_allocator *from = &e->a->from;
    KN_TRY(kn_nvrtc_ptx(k->name, k->source, kn_sprintf(e->a, "compute_%d", sm), from, &ptx, &size));
    code->ptx = kn_sprintf(e->a, "text%d", e->codes.len);
    image i = {&e->images, code->ptx, ptx, size + 1};
    kn_status status = kn_protect(e->a, put_protected, &i); /* ptx is not the arena's */
    from->release(from->user, ptx);
    return status;
}

/* Compiles a kernel; its number is that of the last code then. */
static kn_status compile(kn_writer *w, kn_kernel *k)
{
    kn_emitter *e = w->e;
    const kn_target *target = w->of->target;
    const kn_allocator *from = &e->a->from;
    kn_binary cubin;
    kn_emitted_code code = {.kernel = k, .of = w->of, .ptx = "0"};
    k->source = kn_cuda_source(e->a, k);
    KN_TRY(kn_nvrtc_cubin(k->name, k->source, target->sm, from, &cubin));
    code.image = kn_sprintf(e->a, "image%d", e->codes.len);
    code.bytes = cubin.size;
    image i = {&e->images, code.image, cubin.data, cubin.size};
    kn_status status = kn_protect(e->a, put_protected, &i);
    kn_binary_finish(&cubin, from);
    if (status == KN_OK && w->of->oldest)
        status = put_ptx(e, k, target->sm, &code);
    kn_push(e->a, &e->codes, code);
    return status;
}

/* ---- parameters ---- */

/* "int64_t num[] = {...};" and the list of addresses. Each number has a formula, or none has. */
static kn_status put_parameters(kn_writer *w)
{
    kn_arena *a = w->e->a;
    const bool formulas = !w->of->pinned;
    const int n = kn_kernel_params(w->k, NULL, NULL, 0);
    kn_param *params = KN_NEW_ARRAY(a, kn_param, n + 1);
    kn_text list = kn_text_new(a), numbers = kn_text_new(a);
    int count = 0;
    KN_TRY(kn_count_params(w->k, &(int){0}));
    kn_kernel_params(w->k, a, params, n);
    for (int i = 0; i < n; i++) {
        const kn_param *p = &params[i];
        kn_put(&list, i ? ", " : "");
        if (p->kind == KN_PARAM_BUF)
            kn_putf(&list, "&buf[%d]", p->index);
        else if (p->kind == KN_PARAM_SCALAR)
            kn_putf(&list, "(void *)scalar[%d]", w->k->scalars.data[p->index].input);
        else if (p->kind == KN_PARAM_BARRIER)
            kn_put(&list, "&run->memory");
        else {
            if (formulas && !p->formula && p->kind != KN_PARAM_POLICY)
                return kn_fail(KN_INTERNAL, "%s: the number %s has no formula", w->e->g->name,
                               p->name);
            kn_putf(&list, "&num[%d]", count);
            kn_putf(&numbers, "%s%s", count++ ? ", " : "",
                    kn_emitted_number(w, formulas ? p->formula : NULL, p->value));
        }
    }
    kn_putf(w->t, "        void *buf[] = {%s};\n", kn_buffer_list(w));
    kn_putf(w->t, "        int64_t num[] = {%s};\n", count ? kn_text_str(&numbers) : "0");
    kn_putf(w->t, "        void *params[] = {%s};\n", n ? kn_text_str(&list) : "0");
    kn_put(w->t, "        (void)buf, (void)num;\n");
    return KN_OK;
}

/* ---- blocks: as codegen/kir/grid.h counts them ---- */

static const char *extents(kn_writer *w, const kn_nest *nest, int from, int to)
{
    kn_text t = kn_text_new(w->e->a);
    for (int x = from; x < to; x++)
        kn_putf(&t, "%s(%s)", x > from ? " * " : "",
                kn_put_dim(&w->scope, kn_extent_formula(nest, x)));
    return from < to ? kn_text_str(&t) : "1";
}

static const char *phase_blocks(kn_writer *w, const kn_phase *p)
{
    kn_arena *a = w->e->a;
    const kn_nest *nest = &p->nest;
    const int threads = w->k->threads, at_once = threads / p->how.tpg;
    switch (p->how.walk) {
    case KN_WALK_FLAT:
        return kn_sprintf(a, "kn_ceiling(%s, %d)", extents(w, nest, 0, nest->naxes),
                          threads * p->how.vec);
    case KN_WALK_ROWS:
        return kn_sprintf(a, "kn_ceiling(%s, %d)", extents(w, nest, 0, nest->ngroup),
                          at_once > 1 ? at_once : 1);
    case KN_WALK_COLS:
        return kn_sprintf(a, "kn_ceiling(%s, %d)", extents(w, nest, 0, nest->ngroup),
                          kn_cols_width(p));
    }
    return "0";
}

/* "work, share" */
static kn_status blocks_text(kn_writer *w, const char **out)
{
    kn_arena *a = w->e->a;
    const kn_kernel *k = w->k;
    const char *work = "1", *share = "1";
    const kn_grid_wants by = kn_grid_goes_by(k);
    *out = kn_sprintf(a, "%lld, %lld", (long long)by.work, (long long)by.share);
    if (w->of->pinned)
        return KN_OK;
    for (int i = 0; i < k->phases.len; i++) {
        const kn_phase *p = &k->phases.data[i];
        if (p->local || p->how.beside || p->how.split || p->how.mixed || k->shared)
            return kn_fail(KN_INTERNAL, "%s: the schedule of phase %s is for few sizes",
                           w->e->g->name, p->nest.name);
        const char *blocks = phase_blocks(w, p);
        work = kn_sprintf(a, "kn_greater(%s, %s)", work, blocks);
        share = p->how.walk == KN_WALK_FLAT ? kn_sprintf(a, "kn_greater(%s, kn_ceiling(%s, %d))",
                                                         share, blocks, p->how.unroll)
                                            : kn_sprintf(a, "kn_greater(%s, %s)", share, blocks);
    }
    *out = kn_sprintf(a, "%s, %s", work, by.persistent || !kn_grid_at_once(k) ? work : share);
    return KN_OK;
}

/* ---- the function ---- */

static kn_status put_kernel(kn_writer *w, kn_kernel *k)
{
    kn_text *const out = w->t;
    kn_text body = kn_text_new(w->e->a);
    const char *blocks;
    w->k = k;
    k->name = kn_sprintf(w->e->a, "%s_%s", k->name, w->of->name);
    KN_TRY(compile(w, k));
    w->t = &body;
    w->scope.t = out; /* derived sizes are defined in front of the block */
    KN_TRY(put_parameters(w));
    KN_TRY(blocks_text(w, &blocks));
    w->t = out;
    kn_putf(out, "    { /* %s */\n%s", k->name, kn_text_str(&body));
    kn_putf(out, "        status = kn_gpu_launch(run, %d, %s, params);\n", w->e->codes.len - 1,
            blocks);
    kn_put(out, "        if (status)\n            return status;\n    }\n");
    return KN_OK;
}

/* Does it take any memory; and do blocks count each other there? */
static bool takes_memory(const kn_writer *w, bool *meets)
{
    bool takes = false;
    *meets = false;
    for (int i = 0; i < w->e->g->inputs.len; i++)
        takes = takes || w->staged[i];
    for (int k = 0; k < w->plan->kernels.len; k++) {
        const kn_kernel *kernel = w->plan->kernels.data[k];
        *meets = *meets || kn_kernel_meets(kernel);
        for (int j = 0; j < kernel->bufs.len; j++)
            takes = takes || kernel->bufs.data[j].kind == KN_BUF_TEMP;
    }
    return takes || *meets;
}

kn_status kn_put_gpu_plan(kn_emitter *e, kn_text *t, const kn_emitted_plan *of)
{
    kn_text body = kn_text_new(e->a);
    kn_writer w = kn_writer_new(e, &body, of);
    bool meets;
    kn_put_staging(&w);
    KN_TRY(kn_put_temporaries(&w));
    const bool takes = takes_memory(&w, &meets);
    kn_putf(
        t, "static int %s(kn_gpu_run *run%s%s, void *const *array, const void *const *scalar)\n{\n",
        of->name, e->sizes.len ? ", " : "", e->sizes.len ? kn_size_list(e, true) : "");
    kn_put(t, "    (void)array, (void)scalar");
    for (int i = 0; i < e->sizes.len; i++)
        kn_putf(t, ", (void)%s", e->size[e->sizes.data[i]]);
    kn_putf(t, ";\n    int status = 0;\n    int64_t top = %s;\n%s", takes ? "KN_GPU_HEAD" : "0",
            kn_text_str(&body));
    kn_putf(t,
            "    if (run->asks) {\n        run->bytes = kn_greater(run->bytes, top);\n"
            "        run->meets = %d;\n        return status;\n    }\n",
            meets);
    kn_put(t, takes ? "    char *const memory = run->memory;\n    (void)memory;\n" : "");
    for (int i = 0; i < e->g->inputs.len; i++)
        if (w.staged[i])
            kn_putf(t,
                    "    status = kn_gpu_copy(run, memory + copy%d, array[%d], bytes%d);\n"
                    "    if (status)\n        return status;\n",
                    i, i, i);
    w.t = t;
    for (int i = 0; i < w.plan->kernels.len; i++)
        KN_TRY(put_kernel(&w, w.plan->kernels.data[i]));
    kn_put(t, "    return 0;\n}\n\n");
    return KN_OK;
}

/* ---- all kernels ---- */

void kn_put_codes(kn_emitter *e, kn_text *t)
{
    kn_put(t, "static const kn_gpu_code codes[] = {\n");
    for (int i = 0; i < e->codes.len; i++) {
        const kn_emitted_code *c = &e->codes.data[i];
        const kn_kernel *k = c->kernel;
        kn_putf(t, "    {%s, %s, \"%s\", %d, %lld, %d, %d, %d, %d},\n", c->image, c->ptx, k->name,
                k->threads, (long long)k->shared, kn_kernel_cluster(k), kn_kernel_in_clusters(k),
                kn_kernel_cooperative(k), kn_grid_persistent(k));
    }
    kn_put(t, "};\n\n");
}
