/* Small reductions without a barrier.
 *
 * Before: a phase without groups that reads little and whose results other phases read, each behind a grid
 * barrier. After: every such reader has the phase as a local one of its own, worked on by each block for itself:
 * some kilobytes read by every block, through the cache, cost less than that all of them wait. The first reader
 * stores the results that are outputs. */
#include <string.h>

#include "codegen/plan.h"

enum {
    MOST_BYTES = 64 * 1024, /* read by each block */
    MOST_READERS = 4,
};

int64_t kn_phase_bytes_read(const kn_phase *ph, const kn_buf *bufs)
{
    int64_t bytes = 0, n;
    for (int i = 0; i < ph->values.len; i++) {
        const kn_access *acc = &ph->values.data[i].access;
        if (!kn_is_read(&ph->values.data[i]))
            continue;
        n = kn_bytes(bufs[acc->buf].dtype);
        for (int a = 0; a < ph->naxes; a++)
            if (acc->axes >> a & 1 && __builtin_mul_overflow(n, ph->axes[a].extent, &n))
                return INT64_MAX;
        if (__builtin_add_overflow(bytes, n, &bytes))
            return INT64_MAX;
    }
    return bytes;
}

static bool can_be_local(const kn_planner *p, const kn_phase *ph)
{
    if (ph->ngroup || ph->split || ph->local || !ph->reds.len)
        return false;
    for (int i = 0; i < ph->stores.len; i++)
        if (ph->stores.data[i].kind != KN_STORE_GROUP)
            return false;
    for (int i = 0; i < ph->values.len; i++)
        if (ph->values.data[i].kind == KN_V_LOCAL)
            return false;
    return kn_phase_bytes_read(ph, p->bufs.data) <= MOST_BYTES;
}

/* Which store of `from` writes what value v of another phase loads; -1 for none. */
static int store_behind(const kn_phase *from, const kn_value *v)
{
    for (int i = 0; v->kind == KN_V_LOAD && i < from->stores.len; i++)
        if (from->stores.data[i].access.buf == v->access.buf)
            return i;
    return -1;
}

static bool reads(const kn_phase *reader, const kn_phase *from)
{
    for (int i = 0; i < reader->values.len; i++)
        if (store_behind(from, &reader->values.data[i]) >= 0)
            return true;
    return false;
}

static int exports_before(const kn_planner *p, int host)
{
    int n = 0;
    for (int i = host - 1; i >= 0 && p->phases.data[i].local; i--)
        n += p->phases.data[i].exports.len;
    return n;
}

/* Outputs among the results are stored by the host. */
static void store_outputs(kn_planner *p, kn_phase *host, const kn_phase *from, const int *value)
{
    for (int i = 0; i < from->stores.len; i++) {
        kn_store st = from->stores.data[i];
        if (p->bufs.data[st.access.buf].kind != KN_BUF_OUTPUT)
            continue;
        st.value = value[i];
        st.stage = 0;
        st.once = (1u << host->ngroup) - 1;
        kn_push(p->arena, &host->stores, st);
    }
}

/* In the host, the values of `from` come from its local copy, whose exports start at number `first`. */
static void read_locally(kn_planner *p, kn_phase *host, const kn_phase *from, int first,
                         bool outputs)
{
    int *value = KN_NEW_ARRAY(p->arena, int, from->stores.len + 1);
    int n = from->stores.len, old = host->values.len;
    KN_VEC(kn_value) values = {0};
    for (int i = 0; i < n; i++) {
        const kn_value *v = &from->values.data[from->stores.data[i].value];
        value[i] = i;
        kn_push(p->arena, &values,
                ((kn_value){.kind = KN_V_LOCAL,
                            .dtype = v->dtype,
                            .level = KN_GROUP,
                            .index = first + i,
                            .name = v->name,
                            .loc = v->loc}));
    }
    int *to = KN_NEW_ARRAY(p->arena, int, old + 1); /* locals first: operands come before users */
    for (int i = 0; i < old; i++) {
        kn_value v = host->values.data[i];
        int st = store_behind(from, &v);
        to[i] = st >= 0 ? value[st] : values.len;
        for (int k = 0; k < v.nin; k++)
            v.in[k] = to[v.in[k]];
        if (st < 0)
            kn_push(p->arena, &values, v);
    }
    memcpy(&host->values, &values, sizeof host->values);
    for (int i = 0; i < host->reds.len; i++)
        host->reds.data[i].value = to[host->reds.data[i].value];
    for (int i = 0; i < host->stores.len; i++)
        if (host->stores.data[i].kind != KN_STORE_PARTIAL)
            host->stores.data[i].value = to[host->stores.data[i].value];
    if (outputs)
        store_outputs(p, host, from, value);
}

static void insert_phase(kn_planner *p, int at, kn_phase ph, int region)
{
    kn_push(p->arena, &p->phases, ph);
    kn_push(p->arena, &p->region_of, region);
    for (int i = p->phases.len - 1; i > at; i--) {
        p->phases.data[i] = p->phases.data[i - 1];
        p->region_of.data[i] = p->region_of.data[i - 1];
    }
    p->phases.data[at] = ph;
    p->region_of.data[at] = region;
}

/* A copy of `from` in front of the host at `at`. */
static void add_local(kn_planner *p, int at, const kn_phase *from)
{
    kn_phase local = kn_phase_copy(p->arena, from);
    local.local = true;
    local.stores.len = 0;
    for (int i = 0; i < from->stores.len; i++)
        kn_push(p->arena, &local.exports, from->stores.data[i].value);
    insert_phase(p, at, local, p->region_of.data[at]);
}

static void drop_phase(kn_planner *p, int at)
{
    for (int i = at; i + 1 < p->phases.len; i++) {
        p->phases.data[i] = p->phases.data[i + 1];
        p->region_of.data[i] = p->region_of.data[i + 1];
    }
    p->phases.len--;
    p->region_of.len--;
}

/* Does the reader gather from what `from` stores? That wants it in memory. */
static bool gathers(const kn_phase *reader, const kn_phase *from)
{
    for (int i = 0; i < reader->values.len; i++)
        for (int k = 0; reader->values.data[i].kind == KN_V_GATHER && k < from->stores.len; k++)
            if (from->stores.data[k].access.buf == reader->values.data[i].access.buf)
                return true;
    return false;
}

/* A local phase that reads them keeps them from going: it cannot have local phases of its own. */
static int count_readers(const kn_planner *p, int index)
{
    int readers = 0;
    for (int i = index + 1; i < p->phases.len; i++) {
        const kn_phase *reader = &p->phases.data[i], *from = &p->phases.data[index];
        if (gathers(reader, from))
            return MOST_READERS + 1;
        if (reads(reader, from))
            readers += reader->local ? MOST_READERS + 1 : 1;
    }
    return readers;
}

void kn_make_local(kn_planner *p)
{
    for (int i = 0; i < p->phases.len; i++) {
        if (!can_be_local(p, &p->phases.data[i]))
            continue;
        int readers = count_readers(p, i);
        if (readers < 1 || readers > MOST_READERS)
            continue;
        kn_phase from = p->phases.data[i];
        bool first = true;
        for (int j = i + 1; j < p->phases.len; j++) {
            if (!reads(&p->phases.data[j], &from))
                continue;
            read_locally(p, &p->phases.data[j], &from, exports_before(p, j), first);
            add_local(p, j++, &from);
            first = false;
        }
        drop_phase(p, i--);
    }
}
