#include "runtime/cpu/native.h"

#include <dlfcn.h>
#include <string.h>

#include "base/fenv.h"
#include "base/thread.h"
#include "runtime/cpu/cc.h"

/* Runs of a kernel that are interpreted, at least: what runs once is not worth compiling. */
enum { RUNS = 1 };
/* Threads that compile, and no more than there are cores. */
enum { MOST_WORKERS = 8 };

typedef enum state {
    NEW,  /* nobody has asked for it; its text may be there */
    BUSY, /* a thread is compiling it, or will */
    DONE, /* it is there, or cannot be had: code is NULL */
} state;

/* A phase in one case, as code. */
typedef struct code {
    void *handle; /* of the shared object */
    kn_native_phase phase;
    kn_loop loops[];
} code;

/* A phase in one case. */
typedef struct item {
    int state; /* atomic, set with the lock held */
    int phase;
    kn_c_case of;
    code *code;     /* NULL: none */
    kn_arena arena; /* the text's, until it is compiled */
    kn_c_text text;
    bool has_text;
    bool prepared; /* its text was there when the kernel was prepared: what its first run takes */
    struct item *next; /* in the queue */
    kn_native_kernel *kernel;
} item;

struct kn_native_kernel {
    char *name;
    int nphases;
    int runs;     /* atomic: of its phases */
    int users;    /* with the lock held: its owner, and those who compile it */
    item items[]; /* KN_C_CASES a phase */
};

struct kn_native {
    kn_allocator from;
    kn_native_when when;
    const kn_loops *loops;
    kn_cc cc;
    pthread_mutex_t lock; /* of what follows; never held while something is compiled */
    pthread_cond_t more, done;
    item *first, *last; /* the queue */
    bool closing;
    int nworkers, idle; /* idle: they wait for the queue */
    pthread_t workers[MOST_WORKERS];
};

kn_status kn_native_read(const char *text, kn_native_when *when)
{
    static const char *const words[] = {[KN_NATIVE_BACKGROUND] = "background",
                                        [KN_NATIVE_WAIT] = "wait",
                                        [KN_NATIVE_NEVER] = "never",
                                        [KN_NATIVE_ONLY] = "only"};
    *when = KN_NATIVE_BACKGROUND;
    for (int i = 0; text && i < 4; i++)
        if (strcmp(text, words[i]) == 0) {
            *when = (kn_native_when)i;
            return KN_OK;
        }
    return text ? kn_fail(KN_ARGUMENT,
                          "compiling for the device \"cpu\" is 'background', 'wait', 'never' or "
                          "'only', not '%s'",
                          text)
                : KN_OK;
}

/* ---- the device's ---- */

kn_status kn_native_open(kn_device *owner, kn_native_when when, const kn_loops *loops,
                         const kn_allocator *from, kn_native **out)
{
    kn_native *n = from->alloc(from->user, sizeof *n);
    if (!n)
        return kn_fail(KN_MEMORY, "out of memory: CPU device");
    *n = (kn_native){.from = *from, .when = when, .loops = loops};
    kn_cc_init(&n->cc, owner, from);
    pthread_mutex_init(&n->lock, NULL);
    pthread_cond_init(&n->more, NULL);
    pthread_cond_init(&n->done, NULL);
    *out = n;
    return KN_OK;
}

void kn_native_close(kn_native *n)
{
    pthread_mutex_lock(&n->lock);
    n->closing = true;
    pthread_cond_broadcast(&n->more);
    pthread_mutex_unlock(&n->lock);
    kn_cc_stop(&n->cc);
    for (int i = 0; i < n->nworkers; i++)
        pthread_join(n->workers[i], NULL);
    kn_cc_finish(&n->cc);
    pthread_cond_destroy(&n->done);
    pthread_cond_destroy(&n->more);
    pthread_mutex_destroy(&n->lock);
    n->from.release(n->from.user, n);
}

/* ---- one text ---- */

typedef struct writing {
    item *it;
    const kn_kernel *kernel;
} writing;

static kn_status write_text(void *user)
{
    writing *w = user;
    w->it->text = kn_c_source(&w->it->arena, w->kernel, w->it->phase, w->it->of);
    return KN_OK;
}

static void drop_text(item *it)
{
    if (it->has_text)
        kn_arena_finish(&it->arena);
    it->has_text = false;
}

static void drop_code(kn_native *n, item *it)
{
    if (!it->code)
        return;
    if (it->code->handle)
        dlclose(it->code->handle);
    n->from.release(n->from.user, it->code);
    it->code = NULL;
}

/* The functions that the text calls. */
static kn_status bind_loops(const kn_native *n, item *it)
{
    const kn_c_text *text = &it->text;
    for (int i = 0; i < text->functions.len; i++) {
        const kn_c_function *f = &text->functions.data[i];
        it->code->loops[i] = kn_loops_elem(n->loops, f->op, f->in, f->out);
        if (!it->code->loops[i])
            return kn_fail(KN_INTERNAL, "kernel %s: no loop for %s", it->kernel->name,
                           kn_ops[f->op].text);
    }
    return KN_OK;
}

/* The function that it has. */
static kn_status bind_phase(item *it)
{
    const kn_c_phase *of = &it->text.phases[it->phase];
    void *work = of->function ? dlsym(it->code->handle, of->function) : NULL;
    if (of->function && !work)
        return kn_fail(KN_COMPILE, "kernel %s: an object without %s", it->kernel->name,
                       of->function);
    it->code->phase =
        (kn_native_phase){.loops = it->code->loops, .slots = of->slots, .rows = of->rows};
    memcpy(&it->code->phase.work, &work, sizeof work);
    return KN_OK;
}

static kn_status get_text(kn_native *n, item *it, const kn_kernel *k)
{
    writing w = {it, k};
    if (it->has_text)
        return KN_OK;
    kn_arena_init(&it->arena, &n->from);
    it->has_text = true;
    return kn_protect(&it->arena, write_text, &w);
}

static kn_status make_code(kn_native *n, item *it)
{
    size_t size = sizeof(code) + sizeof(kn_loop) * (size_t)it->text.functions.len;
    it->code = n->from.alloc(n->from.user, size);
    if (!it->code)
        return kn_fail(KN_MEMORY, "out of memory: kernel %s", it->kernel->name);
    memset(it->code, 0, size);
    KN_TRY(bind_loops(n, it));
    KN_TRY(kn_cc_load(&n->cc, it->kernel->name, it->text.text, &it->code->handle));
    return bind_phase(it);
}

/* What has a text becomes code. Nobody else has the item. */
static kn_status compile(kn_native *n, item *it)
{
    kn_status status = it->text.text ? make_code(n, it) : KN_OK;
    if (status != KN_OK)
        drop_code(n, it);
    drop_text(it);
    return status;
}

static void release(kn_native *n, kn_native_kernel *kernel)
{
    pthread_mutex_lock(&n->lock);
    bool last = --kernel->users == 0;
    pthread_mutex_unlock(&n->lock);
    if (!last)
        return;
    for (int i = 0; i < kernel->nphases * KN_C_CASES; i++) {
        drop_code(n, &kernel->items[i]);
        drop_text(&kernel->items[i]);
    }
    n->from.release(n->from.user, kernel->name);
    n->from.release(n->from.user, kernel);
}

static void finish(kn_native *n, item *it)
{
    pthread_mutex_lock(&n->lock);
    __atomic_store_n(&it->state, DONE, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&n->done);
    pthread_mutex_unlock(&n->lock);
    release(n, it->kernel);
}

/* ---- the background ---- */

static item *next_item(kn_native *n)
{
    pthread_mutex_lock(&n->lock);
    n->idle++;
    while (!n->first && !n->closing)
        pthread_cond_wait(&n->more, &n->lock);
    n->idle--;
    item *it = n->first;
    if (it) {
        n->first = it->next;
        n->last = n->first ? n->last : NULL;
    }
    pthread_mutex_unlock(&n->lock);
    return it;
}

/* When the device closes, what is left in the queue ends at once, for no compiler is run any more. */
static void *work(void *user)
{
    kn_native *n = user;
    for (item *it; (it = next_item(n)) != NULL;) {
        if (compile(n, it) != KN_OK)
            kn_clear_error(); /* interpreted, then */
        finish(n, it);
    }
    return NULL;
}

/* With the lock held; false: the system has no threads for it. */
static bool enqueue(kn_native *n, item *it)
{
    const bool busy = n->idle == 0 || n->first;
    if (busy && n->nworkers < MOST_WORKERS && n->nworkers < kn_cores())
        if (kn_thread_start(&n->workers[n->nworkers], work, n))
            n->nworkers++;
    if (n->nworkers == 0)
        return false;
    it->next = NULL;
    *(n->last ? &n->last->next : &n->first) = it;
    n->last = it;
    pthread_cond_signal(&n->more);
    return true;
}

/* Takes out what is of this kernel. A program of many kernels would otherwise leave their texts there long after they are
 * gone, for compilers are slower than planners. */
static void dequeue(kn_native *n, kn_native_kernel *kernel)
{
    pthread_mutex_lock(&n->lock);
    n->last = NULL;
    for (item **at = &n->first; *at;) {
        if ((*at)->kernel == kernel) {
            *at = (*at)->next;
            kernel->users--;
        } else {
            n->last = *at;
            at = &n->last->next;
        }
    }
    pthread_mutex_unlock(&n->lock);
}

/* ---- a kernel's ---- */

/* Is it this thread's to compile? Otherwise, with `wait`, it is done on return. */
static bool claim(kn_native *n, item *it, bool wait)
{
    pthread_mutex_lock(&n->lock);
    while (wait && it->state == BUSY)
        pthread_cond_wait(&n->done, &n->lock);
    bool mine = it->state == NEW;
    if (mine) {
        __atomic_store_n(&it->state, BUSY, __ATOMIC_RELEASE);
        it->kernel->users++;
    }
    pthread_mutex_unlock(&n->lock);
    return mine;
}

static kn_status compile_now(kn_native *n, item *it, const kn_kernel *k)
{
    if (!claim(n, it, true))
        return KN_OK;
    kn_status status = get_text(n, it, k);
    if (status == KN_OK)
        status = compile(n, it);
    finish(n, it);
    if (status == KN_OK || n->when == KN_NATIVE_ONLY)
        return status;
    kn_clear_error();
    return KN_OK;
}

/* compile_now(), by a thread in the background. */
static kn_status compile_later(kn_native *n, item *it, const kn_kernel *k)
{
    if (!claim(n, it, false))
        return KN_OK;
    kn_status status = get_text(n, it, k);
    pthread_mutex_lock(&n->lock);
    bool queued = status == KN_OK && enqueue(n, it);
    pthread_mutex_unlock(&n->lock);
    if (!queued)
        finish(n, it);
    return status;
}

/* All that a run of the kernel as it was prepared takes: they are compiled side by side. */
static kn_status compile_prepared(kn_native *n, kn_native_kernel *kernel, const kn_kernel *k)
{
    for (int i = 0; i < kernel->nphases * KN_C_CASES; i++) {
        item *it = &kernel->items[i];
        if (it->prepared && __atomic_load_n(&it->state, __ATOMIC_ACQUIRE) == NEW)
            KN_TRY(compile_later(n, it, k));
    }
    return KN_OK;
}

static kn_native_kernel *new_kernel(kn_native *n, const kn_kernel *k)
{
    const size_t items = (size_t)k->phases.len * KN_C_CASES;
    const size_t size = sizeof(kn_native_kernel) + items * sizeof(item);
    kn_native_kernel *kernel = n->from.alloc(n->from.user, size);
    char *name = n->from.alloc(n->from.user, strlen(k->name) + 1);
    if (!kernel || !name) {
        if (kernel)
            n->from.release(n->from.user, kernel);
        if (name)
            n->from.release(n->from.user, name);
        return NULL;
    }
    memset(kernel, 0, size);
    kernel->name = strcpy(name, k->name);
    kernel->nphases = k->phases.len;
    kernel->users = 1;
    for (int i = 0; i < (int)items; i++) {
        kernel->items[i].kernel = kernel;
        kernel->items[i].phase = i / KN_C_CASES;
        kernel->items[i].of = kn_c_case_at(i % KN_C_CASES);
    }
    return kernel;
}

kn_status kn_native_prepare(kn_native *n, const kn_kernel *k, const kn_c_case *cases,
                            kn_native_kernel **out)
{
    *out = NULL;
    if (n->when == KN_NATIVE_NEVER)
        return KN_OK;
    kn_native_kernel *kernel = new_kernel(n, k);
    if (!kernel)
        return kn_fail(KN_MEMORY, "out of memory: kernel %s", k->name);
    kn_status status = KN_OK;
    for (int p = k->phases.len - 1; p >= 0 && status == KN_OK; p--) {
        item *it = &kernel->items[p * KN_C_CASES + kn_c_case_index(cases[p])];
        it->prepared = true;
        status = n->when == KN_NATIVE_BACKGROUND      ? get_text(n, it, k)
                 : n->when == KN_NATIVE_WAIT && p > 0 ? compile_later(n, it, k)
                                                      : compile_now(n, it, k);
    }
    for (int p = 1; p < k->phases.len && status == KN_OK && n->when == KN_NATIVE_WAIT; p++)
        status = compile_now(n, &kernel->items[p * KN_C_CASES + kn_c_case_index(cases[p])], k);
    if (status != KN_OK)
        release(n, kernel);
    else
        *out = kernel;
    return status;
}

void kn_native_discard(kn_native *n, kn_native_kernel *kernel)
{
    if (!kernel)
        return;
    dequeue(n, kernel);
    release(n, kernel);
}

kn_status kn_native_get(kn_native *n, kn_native_kernel *kernel, const kn_kernel *k, int phase,
                        kn_c_case of, kn_native_phase *out)
{
    *out = (kn_native_phase){0};
    if (!kernel)
        return KN_OK;
    item *it = &kernel->items[phase * KN_C_CASES + kn_c_case_index(of)];
    if (__atomic_load_n(&it->state, __ATOMIC_ACQUIRE) != DONE) {
        if (n->when != KN_NATIVE_BACKGROUND)
            KN_TRY(compile_now(n, it, k));
        else if (__atomic_add_fetch(&kernel->runs, 1, __ATOMIC_RELAXED) > RUNS * k->phases.len)
            KN_TRY(it->prepared ? compile_prepared(n, kernel, k) : compile_later(n, it, k));
    }
    if (__atomic_load_n(&it->state, __ATOMIC_ACQUIRE) == DONE && it->code)
        *out = it->code->phase;
    if (out->work || n->when != KN_NATIVE_ONLY)
        return KN_OK;
    return kn_fail(KN_COMPILE,
                   "kernel '%s', phase %d cannot be compiled, and is not to be interpreted",
                   kernel->name, phase);
}
