#include "codegen/model/probes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codegen/kir/target.h"

/* Of an H200: measured on an H100, which has the same multiprocessors and caches; `copy` is larger there by as much as
 * `memory` is. */
static const kn_probes reference = {
    .copy = 3970,
    .cached = 5600,
    .block = 132,
    .adds = 227.5,
    .adds_f64 = 123.4,
    .add = 2.32,
    .load = 336,
    .launch = 3000,
    .barrier = 1360,
    .cache_bytes = 50 << 20,
    .near_bytes = 228 << 10,
};

kn_machine kn_machine_probed(const kn_probes *p)
{
    kn_machine m = *kn_machine_of(&(kn_target){.sm = 90}); /* an H200's */
    const kn_probes *of = &reference;
    const double memory = p->copy / of->copy, cache = p->cache_bytes / of->cache_bytes;
    const double step = p->add / of->add;
    m.launch *= p->launch / of->launch;
    m.memory *= memory;
    m.stream *= memory;
    m.cache *= p->cached / of->cached;
    m.cache_bytes *= cache;
    m.evict_first *= cache;
    m.evict_last *= cache;
    m.near_bytes *= p->near_bytes / of->near_bytes;
    m.unit *= p->block / of->block;
    m.latency *= p->load / of->load;
    m.adds *= p->adds / of->adds;
    m.wide *= p->adds / p->adds_f64 / (of->adds / of->adds_f64);
    double *const waits[] = {&m.warp, &m.block, &m.cluster, &m.peer,  &m.start, &m.cluster_start,
                             &m.last, &m.part,  &m.merge,   &m.ranks, &m.rank};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        *waits[i] *= step;
    m.grid *= p->barrier > 0 ? p->barrier / of->barrier : 1;
    return m;
}

/* ---- text ---- */

static const struct {
    const char *name;
    size_t at;
} fields[] = {
#define FIELD(name)                                                                                \
    {                                                                                              \
#name, offsetof(kn_probes, name)                                                           \
    }
    FIELD(copy), FIELD(cached), FIELD(block),   FIELD(adds),        FIELD(adds_f64),   FIELD(add),
    FIELD(load), FIELD(launch), FIELD(barrier), FIELD(cache_bytes), FIELD(near_bytes),
#undef FIELD
};
enum { NFIELDS = sizeof fields / sizeof *fields };
enum { THOUSANDTHS = 1000 }; /* whole numbers look alike in all locales */
static const long long MOST_THOUSANDTHS = 1000000000000000; /* 1 TB, 17 minutes */

void kn_probes_put(kn_text *t, const kn_probes *p)
{
    for (int i = 0; i < NFIELDS; i++)
        kn_putf(t, "%s %lld\n", fields[i].name,
                llround(THOUSANDTHS * *(const double *)((const char *)p + fields[i].at)));
}

bool kn_probes_read(const char *text, kn_probes *p)
{
    *p = (kn_probes){0};
    for (int i = 0; i < NFIELDS; i++) {
        char name[32];
        long long x;
        int n = 0;
        if (sscanf(text, "%31s %lld\n%n", name, &x, &n) != 2 || !n || text[n - 1] != '\n' ||
            strcmp(name, fields[i].name) != 0 || x < 0 || x > MOST_THOUSANDTHS)
            return false;
        *(double *)((char *)p + fields[i].at) = (double)x / THOUSANDTHS;
        if (!x && fields[i].at != offsetof(kn_probes, barrier))
            return false;
        text += n;
    }
    return !*text;
}
