/* A compiler takes longer than measuring does. So all workloads are compiled first, in several threads, by contexts of
 * their own that leave the kernels in the cache on disk, where the one that measures finds them with the time that each
 * took. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/thread.h"
#include "bench/speed/speed.h"

enum { MOST_THREADS = 64 };

typedef struct ahead {
    const asked *o;
    const machine *m;
    pthread_mutex_t lock;
    int next; /* workload */
} ahead;

/* A kernel that is not kept would be compiled twice. */
static bool keeps_kernels(const machine *m)
{
    kiln_cache_info info;
    kiln_cache_info_init(&info);
    return kiln_cache_stats(m->ctx, &info) == KILN_OK && info.dir[0] && !info.problem[0];
}

static const workload *take(ahead *a)
{
    const workload *w = NULL;
    pthread_mutex_lock(&a->lock);
    while (!w && a->next < a->o->count) {
        w = &a->o->all[a->next++];
        w = is_wanted(a->o, a->m, w) ? w : NULL;
    }
    pthread_mutex_unlock(&a->lock);
    return w;
}

/* What fails fails again where it is measured, and is reported there. */
static void compile_one(machine *m, const asked *o, const workload *w)
{
    job j = {.w = w};
    if (workload_compile(m->ctx, w, w->dtype, &o->how, &j.prog) == KILN_OK && job_shapes(&j) &&
        job_memory(m, &j))
        (void)kiln_prepare(j.prog, j.args, j.n, NULL);
    job_release(m, &j);
    kiln_prog_destroy(j.prog);
}

static void *work(void *user)
{
    ahead *a = user;
    machine m = {0};
    kiln_config config;
    kiln_config_init(&config);
    config.device = a->o->device;
    if (failed("ahead", kiln_ctx_create(&config, &m.ctx)))
        return NULL;
    for (const workload *w; (w = take(a));)
        compile_one(&m, a->o, w);
    kiln_ctx_destroy(m.ctx);
    return NULL;
}

void compile_ahead(const asked *o, const machine *m)
{
    pthread_t threads[MOST_THREADS];
    ahead a = {.o = o, .m = m};
    int n = 0, most = o->ahead < MOST_THREADS ? o->ahead : MOST_THREADS;
    if (!keeps_kernels(m))
        return;
    pthread_mutex_init(&a.lock, NULL);
    while (n < most && pthread_create(&threads[n], NULL, work, &a) == 0)
        n++;
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&a.lock);
}
