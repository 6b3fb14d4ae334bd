#include "codegen/emit/c/c.h"

#include "codegen/emit/c/writer.h"

/* made of the files of those names by the build */
extern const char kn_c_prelude[], kn_c_functions[], kn_c_helpers[], kn_c_conversions[];

/* What a store or a reduction needs. */
static void find_needed(kn_c_writer *w)
{
    const kn_phase *p = w->ph;
    w->needed = KN_NEW_ARRAY(w->a, bool, p->nest.values.len + 1);
    for (int s = 0; s < p->nest.stores.len; s++)
        if (p->nest.stores.data[s].kind != KN_STORE_PARTIAL)
            w->needed[p->nest.stores.data[s].value] = true;
    for (int r = 0; r < p->nest.reds.len; r++)
        w->needed[p->nest.reds.data[r].value] = true;
    for (int v = p->nest.values.len - 1; v >= 0; v--)
        for (int k = 0; w->needed[v] && k < p->nest.values.data[v].nin; k++)
            w->needed[p->nest.values.data[v].in[k]] = true;
}

/* Does the phase read an array that it writes, or may it? */
static bool may_overlap(const kn_c_writer *w)
{
    const kn_phase *p = w->ph;
    if (!w->k->disjoint)
        return true;
    for (int s = 0; s < p->nest.stores.len; s++)
        for (int v = 0; v < p->nest.values.len; v++)
            if (w->needed[v] && kn_is_read(&p->nest.values.data[v]) &&
                kn_c_access(p, v)->buf == kn_c_store_access(p, s)->buf)
                return true;
    return false;
}

bool kn_c_can_tile_rows(const kn_phase *p)
{
    return p->how.walk == KN_WALK_ROWS && p->how.transposes.len > 0;
}

bool kn_c_can_tile_cols(const kn_phase *p)
{
    return p->how.walk == KN_WALK_COLS && p->how.transposes.len > 0;
}

const char *kn_c_refusal(const kn_phase *p)
{
    if (p->local || p->how.mixed || p->how.cluster)
        return "its schedule is a GPU's";
    for (int r = 0; r < p->nest.reds.len; r++)
        if (p->nest.reds.data[r].by)
            return "it has a reduction of the user's own";
    return NULL;
}

bool kn_c_can_be_short(const kn_phase *p)
{
    return p->nest.ngroup > 0 && p->nest.naxes == p->nest.ngroup + 1 && p->nest.reds.len > 0 &&
           !p->how.split;
}

bool kn_c_can_be_narrow(const kn_phase *p)
{
    bool can = p->nest.ngroup > 0 && p->nest.naxes == p->nest.ngroup + 1 && p->nest.reds.len > 0 &&
               !p->how.scatter_sum;
    for (int v = 0; v < p->nest.values.len; v++)
        can = can && (p->nest.values.data[v].kind != KN_V_GATHER ||
                      p->nest.values.data[v].level == KN_GROUP);
    for (int s = 0; s < p->nest.stores.len; s++) /* groups are stored behind the sweeps */
        can = can &&
              (p->nest.stores.data[s].kind != KN_STORE_ELEMENT || !p->nest.stores.data[s].once);
    return can;
}

static bool can_be_tiles(const kn_phase *p)
{
    bool can = p->how.walk == KN_WALK_FLAT && p->nest.ngroup == 0 && p->nest.naxes >= 2 &&
               p->nest.reds.len == 0 && !p->how.split;
    for (int v = 0; v < p->nest.values.len; v++)
        can = can && p->nest.values.data[v].kind != KN_V_GATHER;
    for (int s = 0; s < p->nest.stores.len; s++)
        can = can && !p->nest.stores.data[s].once;
    return can;
}

static bool can_walk(const kn_phase *p, kn_c_mode mode)
{
    switch (mode) {
    case KN_C_ROWS: return true;
    case KN_C_SHORT: return kn_c_can_be_short(p);
    case KN_C_COLS: return p->how.walk != KN_WALK_FLAT && p->nest.ngroup > 0;
    case KN_C_TILES: return can_be_tiles(p);
    case KN_C_TILED_ROWS: return kn_c_can_tile_rows(p);
    case KN_C_TILED_COLS: return kn_c_can_tile_cols(p);
    default: return kn_c_can_tile_rows(p) && kn_c_can_be_short(p);
    }
}

static void put_phase(kn_c_writer *w, kn_c_phase *info)
{
    find_needed(w);
    w->ordered = may_overlap(w);
    kn_putf(w->t, "/* ---- phase %d by %s: %s ---- */\n\n", w->p, kn_c_mode_text(w->mode),
            w->ph->nest.name);
    if (kn_c_by_tiles(w->mode))
        kn_c_put_tiled(w);
    else
        kn_c_put_walk(w);
    info->function = kn_c_printed(w, "%s_work", kn_c_state(w));
    info->slots = w->slots;
    info->rows = w->rows;
}

/* Of phases [first, end). Is there any? */
static bool put_walks(kn_text *t, const kn_kernel *k, int first, int end, kn_c_case of,
                      kn_c_text *out)
{
    bool any = false;
    out->phases = KN_NEW_ARRAY(t->arena, kn_c_phase, k->phases.len + 1);
    for (int i = first; i < end; i++) {
        kn_c_writer w = {
            .a = t->arena, .t = t, .k = k, .p = i, .mode = of.mode, .by_runs = of.runs, .out = out};
        w.ph = &k->phases.data[i];
        if (kn_c_refusal(w.ph) || !can_walk(w.ph, of.mode))
            continue;
        put_phase(&w, &out->phases[i]);
        any = true;
    }
    return any;
}

/* Asks for vectors of 64 bytes (kn_c_is_wide). */
static const char wide[] = "#if defined(__AVX512F__) && !defined(__clang__)\n"
                           "#pragma GCC target(\"prefer-vector-width=512\")\n"
                           "#define KN_LINE_VECTORS 1\n"
                           "#endif\n";

kn_c_text kn_c_source(kn_arena *a, const kn_kernel *k, int phase, kn_c_case of)
{
    kn_text t = kn_text_new(a);
    kn_c_text out = {0};
    kn_put(&t, kn_c_is_wide(&k->phases.data[phase]) ? wide : "");
    kn_putf(
        &t, "#define KN_STREAMS(c) %d\n#define KN_RUNS(c) %d\n#define KN_IS_WHOLE(n, lanes) %s\n",
        of.streams, of.runs, of.whole ? "((lanes) <= KN_FOLD_LANES || (n) % (lanes) == 0)" : "0");
    kn_put(&t, kn_c_prelude);
    kn_put(&t, kn_c_functions);
    kn_put(&t, kn_c_helpers);
    kn_put(&t, kn_c_conversions);
    kn_put(&t, "\n");
    out.text = put_walks(&t, k, phase, phase + 1, of, &out) ? kn_text_str(&t) : NULL;
    return out;
}

kn_c_text kn_c_walks(kn_text *t, const kn_kernel *k, kn_c_mode mode)
{
    kn_c_text out = {0};
    put_walks(t, k, 0, k->phases.len, (kn_c_case){.mode = mode}, &out);
    return out;
}
