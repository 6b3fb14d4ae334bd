/* Kernels as text, for people, and as the key under which compiled kernels are found. */
#include "codegen/kir/schedule_text.h"

static const char stride_letter[] = "01s";

/* Access i, of a value or of a store. */
static void print_access(kn_text *t, const kn_kernel *k, const kn_phase *ph, int i, bool numbers)
{
    const kn_access *acc =
        i < ph->nest.values.len ? kn_value_at(ph, i)->access : &kn_store_at(ph, i)->access;
    const kn_transfer *by = kn_transfer_of(ph, i);
    kn_put(t, acc->buf == KN_BUF_COUNT ? "count" : k->bufs.data[acc->buf].name);
    kn_put(t, "[");
    if (numbers && acc->shifted)
        kn_putf(t, "%lld:", (long long)acc->offset);
    else if (acc->shifted)
        kn_put(t, "+");
    for (int a = 0; a < ph->nest.naxes; a++)
        if (numbers) {
            kn_put(t, a ? "," : "");
            kn_puti(t, acc->stride[a]);
        } else {
            kn_putn(t, &stride_letter[acc->kind[a]], 1);
        }
    kn_put(t, by->linear ? ":l" : "");
    kn_put(t, !by->vector                ? "]"
              : by->form == KN_BY_SHIFT  ? ":s]"
              : by->form == KN_BY_SHIFTS ? ":r]"
                                         : ":v]");
    kn_put(t, by->cache == KN_CACHE_POLICY      ? " by policy"
              : by->cache == KN_CACHE_STREAMING ? " streaming"
                                                : "");
}

static void put_number(kn_text *t, const char *before, int n)
{
    kn_put(t, before);
    kn_puti(t, n);
}

static void print_value(kn_text *t, const kn_kernel *k, const kn_phase *ph, int i, bool numbers)
{
    const kn_value *v = &ph->nest.values.data[i];
    put_number(t, "    v", i);
    kn_put(t, " = ");
    switch (v->kind) {
    case KN_V_LOAD:
        kn_put(t, "load ");
        print_access(t, k, ph, i, numbers);
        break;
    case KN_V_GATHER:
        kn_put(t, "gather ");
        print_access(t, k, ph, i, numbers);
        for (int j = 0; j < v->nin; j++) {
            kn_putf(t, " + v%d", v->in[j]);
            if (numbers)
                kn_putf(t, " * %lld", (long long)v->access->gathered[j].stride);
        }
        kn_put(t, v->access->checked ? " checked" : "");
        break;
    case KN_V_INDEX:
        kn_put(t, "index ");
        print_access(t, k, ph, i, numbers);
        break;
    case KN_V_RANK:
        kn_putf(t, "rank %d of v%d ", v->rank, v->in[0]);
        print_access(t, k, ph, i, numbers);
        break;
    case KN_V_SCALAR: kn_putf(t, "scalar %s", k->scalars.data[v->index].name); break;
    case KN_V_CONST:
        if (kn_is_float(v->dtype))
            kn_putf(t, "const %.17g", v->value.f);
        else if (kn_is_complex(v->dtype))
            kn_putf(t, "const %.17g%+.17gj", v->value.f, v->value.im);
        else if (kn_is_unsigned(v->dtype))
            kn_putf(t, "const %llu", (unsigned long long)v->value.i);
        else
            kn_putf(t, "const %lld", (long long)v->value.i);
        break;
    case KN_V_EXTENT: kn_putf(t, "extent %s", k->extents.data[v->index].name); break;
    case KN_V_RESULT: kn_putf(t, "result r%d", v->index); break;
    case KN_V_LOCAL: kn_putf(t, "local x%d", v->index); break;
    case KN_V_ELEM:
        kn_put(t, kn_ops[v->op].text);
        for (int j = 0; j < v->nin; j++)
            put_number(t, j ? ", v" : " v", v->in[j]);
        break;
    }
    kn_put(t, " : ");
    kn_put(t, kn_dtypes[v->dtype].text);
    put_number(t, v->level == KN_ELEMENT ? " element stage " : " group stage ", v->stage);
    const kn_hold *h = kn_hold_of(ph, i);
    if (h && h->where == KN_KEEP_RESIDENT)
        kn_putf(t, " resident from byte %d on%s", h->offset, h->once ? " once" : "");
    kn_put(t, v->name ? "  # " : "");
    kn_put(t, v->name ? v->name : "");
    kn_put(t, "\n");
}

static const char *const part_text[] = {[KN_PART_RESULT] = "",
                                        [KN_PART_MEAN] = "'s mean",
                                        [KN_PART_COUNT] = "'s count",
                                        [KN_PART_EXPSUM] = "'s sum of exp"};

static void print_red(kn_text *t, const kn_phase *ph, int r)
{
    const kn_red *red = &ph->nest.reds.data[r];
    kn_putf(t, "    r%d = sweep %d %s%s%s v%d : %s", r, red->stage, kn_ops[red->op].text,
            part_text[red->part], red->across ? " across groups" : "", red->value,
            kn_dtypes[red->dtype].text);
    if (red->by)
        kn_putf(t, " carried %d of {%s}", red->carried, red->by->text);
    kn_put(t, "\n");
}

static void print_store(kn_text *t, const kn_kernel *k, const kn_phase *ph, int i, bool numbers)
{
    const kn_store *s = &ph->nest.stores.data[i];
    static const char *const kind_text[] = {
        [KN_STORE_ELEMENT] = "element", [KN_STORE_GROUP] = "group", [KN_STORE_PARTIAL] = "partial"};
    kn_putf(t, "    %s %s ", s->sends ? "send" : "store", kind_text[s->kind]);
    print_access(t, k, ph, ph->nest.values.len + i, numbers);
    kn_putf(t, " = %c%d stage %d once %x\n", s->kind == KN_STORE_PARTIAL ? 'r' : 'v', s->value,
            s->stage, s->once);
}

static void print_phase(kn_text *t, const kn_kernel *k, int p, bool numbers)
{
    const kn_phase *ph = &k->phases.data[p];
    kn_putf(t, "  %sphase %d %s%s: ", ph->local ? "local " : "", p, ph->nest.name,
            kn_begins_round(k, p) ? " after exchange"
            : ph->barrier         ? " after grid barrier"
                                  : "");
    kn_phase_put(t, k, p, numbers);
    kn_put(t, "\n");
    for (int a = 0; a < ph->nest.naxes; a++) {
        kn_putf(t, "    %s %s", a < ph->nest.ngroup ? "group" : "member", ph->nest.axes[a].name);
        if (numbers)
            kn_putf(t, " = %lld", (long long)ph->nest.axes[a].extent);
        kn_put(t, "\n");
    }
    for (int i = 0; i < ph->nest.values.len; i++)
        print_value(t, k, ph, i, numbers);
    for (int r = 0; r < ph->nest.reds.len; r++)
        print_red(t, ph, r);
    for (int i = 0; i < ph->exports.len; i++)
        kn_putf(t, "    export v%d\n", ph->exports.data[i]);
    for (int i = 0; i < ph->nest.stores.len; i++)
        print_store(t, k, ph, i, numbers);
}

void kn_kernel_print(kn_text *t, const kn_kernel *k, bool numbers)
{
    kn_putf(t, "kernel %s ", k->name);
    if (numbers || !k->bound)
        kn_putf(t, "threads %d ", k->threads);
    if (k->bound)
        kn_putf(t, "at most %d threads ", k->bound);
    if (k->min_blocks)
        kn_putf(t, "min blocks %d ", k->min_blocks);
    if (numbers && k->resident_steps)
        kn_putf(t, "resident steps %lld ", (long long)k->resident_steps);
    kn_putf(t, "index %d%s%s%s\n", k->wide ? 64 : 32, k->disjoint ? " disjoint" : "",
            !numbers                       ? ""
            : k->policy == KN_POLICY_FIRST ? " evict first"
            : k->policy == KN_POLICY_LAST  ? " evict last"
                                           : "",
            k->fast ? " fast math" : "");
    static const char *const kind_text[] = {"in", "out", "temp"};
    for (int i = 0; i < k->bufs.len; i++) {
        kn_putf(t, "  %s %s: %s", kind_text[k->bufs.data[i].kind], k->bufs.data[i].name,
                kn_dtypes[k->bufs.data[i].dtype].text);
        if (numbers && k->bufs.data[i].kind == KN_BUF_TEMP)
            kn_putf(t, " %lld bytes at %lld", (long long)k->bufs.data[i].bytes,
                    (long long)k->bufs.data[i].offset);
        kn_put(t, k->ranks && kn_is_exchanged(&k->bufs.data[i]) ? ", exchanged\n" : "\n");
    }
    for (int i = 0; i < k->scalars.len; i++)
        kn_putf(t, "  scalar %s: %s\n", k->scalars.data[i].name,
                kn_dtypes[k->scalars.data[i].dtype].text);
    for (int i = 0; i < k->phases.len; i++)
        print_phase(t, k, i, numbers);
}
