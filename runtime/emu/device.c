/* The emulator as a device: host memory, and CUDA source run thread by thread. A launch is done when it
 * returns, so streams mean nothing here. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/aligned.h"
#include "base/env.h"
#include "base/thread.h"
#include "codegen/kir/grid.h"
#include "codegen/kir/params.h"
#include "runtime/device/hosted.h"
#include "runtime/device/params.h"
#include "runtime/emu/check/check.h"
#include "runtime/emu/exec/exec.h"

/* A small machine that still exercises every part of a schedule: several blocks, several waves each. */
enum { UNITS = 4, BLOCKS_A_UNIT = 2 };

/* ---- open and close ---- */

static kn_status read_option(kn_emu_options *o, const char *s, size_t n)
{
    if (n == 7 && !memcmp(s, "relaxed", n)) {
        o->relaxed = true;
    } else if (n == 9 && !memcmp(s, "unchecked", n)) {
        o->unchecked = true;
    } else if (n == 8 && !memcmp(s, "reversed", n)) {
        o->order = KN_EMU_REVERSED;
    } else if (n > 5 && !memcmp(s, "seed=", 5)) {
        char *end;
        o->order = KN_EMU_SEEDED;
        o->seed = strtoull(s + 5, &end, 10);
        if (end != s + n)
            return kn_fail(KN_ARGUMENT, "emulator option '%.*s': a seed is a number", (int)n, s);
    } else if (n) {
        return kn_fail(KN_ARGUMENT,
                       "unknown emulator option '%.*s'; there are relaxed, unchecked, reversed and "
                       "seed=N",
                       (int)n, s);
    }
    return KN_OK;
}

static kn_status read_options(kn_emu_options *o, const char *text)
{
    while (text && *text) {
        size_t n = strcspn(text, ",");
        KN_TRY(read_option(o, text, n));
        text += n + (text[n] == ',');
    }
    return KN_OK;
}

static kn_status emu_open(const kn_device_config *config, kn_device **out)
{
    kn_allocator from = config->from.alloc ? config->from : kn_malloc_allocator;
    kn_emu_options options = {0};
    KN_TRY(read_options(&options, config->emulator));
    if (kn_env_privileged())
        return kn_fail(
            KN_DEVICE,
            "the device \"emu\" runs a compiler, which a program with more rights than who started it "
            "(setuid) must not do for them");
    kn_emu *dev = from.alloc(from.user, sizeof *dev);
    if (!dev)
        return kn_fail(KN_MEMORY, "out of memory: the emulator");
    *dev = (kn_emu){.base = {.ops = &kn_emu_device, .disk = config->disk},
                    .from = from,
                    .options = options,
                    .compiler.folder.name = "kiln-emulator-",
                    .threads = config->threads > 0 ? config->threads : kn_cores(),
                    .target = {.kind = "cuda",
                               .sm = 90,
                               .units = UNITS,
                               .max_block = KN_EMU_MAX_THREADS,
                               .max_threads_unit = BLOCKS_A_UNIT * KN_EMU_MAX_THREADS,
                               .smem_block = KN_EMU_MAX_SHARED,
                               .cooperative = true,
                               .cluster = kn_target_most_cluster(90)}};
    pthread_mutex_init(&dev->compiler.lock, NULL);
    pthread_mutex_init(&dev->lock, NULL);
    pthread_mutex_init(&dev->running, NULL);
    *out = &dev->base;
    return KN_OK;
}

static void emu_close(kn_device *base)
{
    if (!base)
        return;
    kn_emu *dev = kn_emu_of(base);
    while (dev->idle) {
        kn_emu_worker *w = dev->idle;
        dev->idle = w->next;
        kn_emu_worker_free(w);
    }
    kn_emu_shadow_free(dev);
    kn_folder_close(&dev->compiler.folder);
    free(dev->allocations);
    pthread_mutex_destroy(&dev->compiler.lock);
    pthread_mutex_destroy(&dev->lock);
    pthread_mutex_destroy(&dev->running);
    kn_allocator from = dev->from;
    from.release(from.user, dev);
}

static const kn_target *emu_target(const kn_device *dev) { return &((const kn_emu *)dev)->target; }

/* ---- memory ---- */

static kn_status emu_alloc(kn_device *base, size_t bytes, void **ptr)
{
    kn_emu *dev = kn_emu_of(base);
    void *p = kn_aligned_alloc(&dev->from, bytes);
    if (!p || !kn_emu_remember(dev, (kn_emu_allocation){p, bytes, false})) {
        kn_aligned_free(&dev->from, p);
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes", bytes);
    }
    *ptr = p;
    return KN_OK;
}

static void emu_release(kn_device *base, void *ptr)
{
    kn_emu *dev = kn_emu_of(base);
    if (!ptr)
        return;
    kn_emu_forget(dev, ptr);
    kn_aligned_free(&dev->from, ptr);
}

/* ---- kernels ---- */

static kn_status emu_load(kn_device *dev, const char *entry, const char *text, kn_code **code)
{
    return kn_emu_module_load(kn_emu_of(dev), entry, text, code);
}

static kn_status emu_prepare(kn_device *dev, const kn_kernel *kernel, kn_code **code)
{
    int nparams;
    if (!kernel->source)
        return kn_fail(KN_INTERNAL, "kernel '%s' has no source text", kernel->name);
    KN_TRY(kn_count_params(kernel, &nparams));
    return emu_load(dev, kernel->name, kernel->source, code);
}

static void emu_discard(kn_device *dev, kn_code *code)
{
    (void)dev;
    kn_emu_module_unload(code);
}

/* A user's kernel may touch what this device allocated. */
static kn_status emu_start(kn_device *base, kn_code *code, const kn_grid *grid, void *const *params,
                           int nparams, void *stream)
{
    (void)stream;
    enum { NAME = 48 };
    kn_emu *dev = kn_emu_of(base);
    if (nparams != code->nparams)
        return kn_fail(KN_ARGUMENT, "kernel '%s' has %d parameters; %d were given", code->name,
                       code->nparams, nparams);
    pthread_mutex_lock(&dev->lock);
    int n = dev->nallocations;
    kn_emu_span *spans = calloc((size_t)n + 1, sizeof *spans + NAME);
    char *names = spans ? (char *)(spans + n + 1) : NULL;
    for (int i = 0; spans && i < n; i++) {
        const kn_emu_allocation *a = &dev->allocations[i];
        char *name = names + (size_t)i * NAME;
        snprintf(name, NAME, "the allocation of %zu bytes", a->bytes);
        spans[i] = (kn_emu_span){
            .low = a->low, .high = a->low + a->bytes, .name = name, .mailbox = a->mailbox};
        kn_emu_span_of_params(code, params, &spans[i]);
        spans[i].unwatched |= a->mailbox;
    }
    pthread_mutex_unlock(&dev->lock);
    if (!spans)
        return kn_fail(KN_MEMORY, "out of memory");
    kn_status status = kn_emu_launch_run(dev, code, grid, params, spans, n);
    free(spans);
    return status;
}

static void emu_grid(const kn_device *dev, const kn_code *code, const kn_kernel *k, kn_grid *grid)
{
    (void)dev, (void)code;
    *grid = (kn_grid){.grid = {kn_grid_blocks(k, BLOCKS_A_UNIT, UNITS), 1, 1},
                      .block = {(unsigned)k->threads, 1, 1},
                      .cluster = {(unsigned)kn_kernel_cluster(k), 1, 1},
                      .shared = (size_t)k->shared,
                      .cooperative = kn_kernel_cooperative(k)};
}

/* An input among whose bytes no output has any. */
static bool is_constant(const kn_kernel *k, const kn_call *call, int buf)
{
    const kn_span *s = &call->spans[buf];
    bool constant = k->bufs.data[buf].kind == KN_BUF_INPUT;
    for (int i = 0; i < k->bufs.len && constant; i++)
        constant = k->bufs.data[i].kind == KN_BUF_INPUT || call->spans[i].low >= s->high ||
                   s->low >= call->spans[i].high;
    return constant;
}

/* Memory that a kernel which exchanges with other ranks may also touch: its table of ranks, and mailboxes, at most
 * `most` of them (communicators made meanwhile have some too). Returns how many. */
static int put_mailboxes(kn_emu *dev, const void *ranks, kn_emu_span *spans, int most)
{
    int n = 0;
    pthread_mutex_lock(&dev->lock);
    for (int i = 0; i < dev->nallocations && n < most; i++) {
        const kn_emu_allocation *a = &dev->allocations[i];
        if (a->mailbox || a->low == ranks)
            n++;
        if (spans && (a->mailbox || a->low == ranks))
            spans[n - 1] = (kn_emu_span){.low = a->low,
                                         .high = a->low + a->bytes,
                                         .name = a->mailbox ? "mailbox" : "ranks",
                                         .mailbox = a->mailbox,
                                         .unwatched = a->mailbox};
    }
    pthread_mutex_unlock(&dev->lock);
    return n;
}

/* A generated kernel may touch its buffers, each to the byte, and the words that blocks count in. */
static kn_status emu_launch(kn_device *base, const kn_launch *launch, const kn_call *call,
                            void *stream)
{
    (void)stream;
    const kn_kernel *k = launch->kernel;
    kn_packed_params params;
    if (launch->params.n != launch->code->nparams)
        return kn_fail(KN_INTERNAL, "kernel '%s' has %d parameters, its code was made for %d",
                       k->name, launch->params.n, launch->code->nparams);
    KN_TRY(kn_params_pack(&launch->params, call, &params));
    const int mailboxes =
        call->ranks ? put_mailboxes(kn_emu_of(base), call->ranks, NULL, INT_MAX) : 0;
    kn_emu_span *spans = calloc((size_t)k->bufs.len + (size_t)mailboxes + 1, sizeof *spans);
    if (!spans)
        return kn_fail(KN_MEMORY, "out of memory");
    for (int i = 0; i < k->bufs.len; i++)
        spans[i] = (kn_emu_span){.low = call->spans[i].low,
                                 .high = call->spans[i].high,
                                 .name = k->bufs.data[i].name,
                                 .constant = is_constant(k, call, i)};
    int nspans = k->bufs.len;
    if (kn_kernel_meets(k))
        spans[nspans++] =
            (kn_emu_span){.low = call->barrier,
                          .high = (char *)call->barrier + KN_BARRIER_WORDS * sizeof(unsigned),
                          .name = "barrier"};
    if (mailboxes)
        nspans += put_mailboxes(kn_emu_of(base), call->ranks, spans + nspans, mailboxes);
    kn_status status = kn_emu_launch_run(kn_emu_of(base), launch->code, &launch->grid,
                                         params.pointers, spans, nspans);
    free(spans);
    return status;
}

void kn_emu_doctor(kn_text *t)
{
    const kn_device_config config = {0};
    kn_device *dev;
    char line[256] = "";
    kn_status status = emu_open(&config, &dev);
    if (status == KN_OK) {
        status = kn_emu_find_compiler(kn_emu_of(dev));
        const char *version = kn_emu_of(dev)->compiler.host.version;
        snprintf(line, sizeof line, "%.*s", (int)strcspn(version, "\n"), version);
        emu_close(dev);
    }
    kn_putf(t, "emulator  %s%s\n", status == KN_OK ? "compiles with " : "",
            status == KN_OK ? line : kn_last_error());
}

const kn_device_ops kn_emu_device = {
    .kind = "emu",
    .runs_source = true,
    .open = emu_open,
    .close = emu_close,
    .target = emu_target,
    .alloc = emu_alloc,
    .release = emu_release,
    .upload = kn_hosted_move,
    .download = kn_hosted_move,
    .copy = kn_hosted_copy,
    .zero = kn_hosted_zero,
    .sync = kn_hosted_sync,
    .prepare = emu_prepare,
    .discard = emu_discard,
    .grid = emu_grid,
    .launch = emu_launch,
    .load = emu_load,
    .start = emu_start,
    .describe = kn_emu_describe_param,
    .time = kn_hosted_time,
    .peer = &kn_emu_peer_ops,
};
