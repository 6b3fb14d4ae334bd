/* One step of a sweep: loads, element values, accumulations, stores. */
#include "codegen/emit/cuda/writer.h"

/* What write_vector_load() does where the elements are a vector in memory, too. Of a peeled vector only the lanes that
 * are members may be loaded. */
static void write_vector_access(kn_cuda_writer *w, int i, const char *type, const char *to)
{
    const char *constant = *type ? "const " : "";
    const char *load = w->in_last_vector ? kn_cuda_edge(w, i)
                       : kn_is_shifted(w->ph, i)
                           ? kn_cuda_assembled(w, i, kn_cuda_around(w, i))
                           : kn_cuda_loaded(w, i, w->ph->how.vec, kn_cuda_address(w, i, NULL));
    if (!w->ph->how.unaligned) {
        kn_cuda_line(w, "%s%s%s = %s;", constant, type, to, load);
        return;
    }
    kn_cuda_line(w, "%s%s%s =", constant, type, to);
    kn_cuda_line(w, "    whole ? %s", load);
    kn_cuda_line(w, "          : %s;", kn_cuda_edge(w, i));
}

/* Loads this step's elements to the vector `to`, which it declares as of `type` unless that is "". */
static void write_vector_load(kn_cuda_writer *w, int i, const char *type, const char *to)
{
    const kn_transpose *tile = kn_cuda_tile_of(w, i);
    if (kn_cuda_is_tile_vector(w, i)) {
        kn_cuda_line(w, "const %s%s = *(const %s *)&%s;", type, to, kn_cuda_vector_type(w, i),
                     kn_cuda_in_tile(w, tile, NULL));
        return;
    }
    if (!tile && (kn_transfer_of(w->ph, i)->vector || w->ph->how.vec == 1)) {
        write_vector_access(w, i, type, to);
        return;
    }
    if (*type)
        kn_cuda_line(w, "%s%s;", type, to);
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_line(w, "for (int l = 0; l < %d; ++l)", w->ph->how.vec);
    w->indent++;
    kn_cuda_guarded(w, kn_cuda_may_be_partial(w) ? kn_cuda_lane_is_member(w) : "",
                    tile ? kn_cuda_printed(w, "%s.at[l] = %s;", to, kn_cuda_in_tile(w, tile, "l"))
                         : kn_cuda_printed(w, "%s.at[l] = %s.at[0];", to,
                                           kn_cuda_loaded(w, i, 1, kn_cuda_address(w, i, "l"))));
    w->indent--;
}

/* Does a value that this sweep computes, or one before has computed, replace what is kept of this load? */
static bool is_overwritten(const kn_cuda_writer *w, int load)
{
    for (int i = 0; i < w->ph->nest.values.len; i++) {
        const kn_hold *h = kn_hold_of(w->ph, i);
        if (h && kn_value_at(w->ph, i)->kind == KN_V_ELEM && h->room == load &&
            h->since <= w->sweep)
            return true;
    }
    return false;
}

/* This step's elements of a value that is kept in shared memory: from there, once a sweep has stored it. */
static void write_kept_in_shared(kn_cuda_writer *w, int i, const char *at)
{
    const char *type = kn_cuda_printed(w, "%s ", kn_cuda_vector_type(w, i));
    if (w->loaded[i]) {
        kn_cuda_line(w, "const %s%s = %s;", type, at,
                     w->in_register_tile ? kn_cuda_printed(w, "%s_regs[r]", kn_cuda_value(w, i))
                                         : kn_cuda_shared_vector(w, i));
    } else if (w->ph->nest.values.data[i].kind == KN_V_ELEM) {
        kn_cuda_line(w, "%s%s;", type, at);
    } else {
        write_vector_load(w, i, type, at);
        if (!is_overwritten(w, i))
            kn_cuda_line(w, "%s = %s;", kn_cuda_shared_vector(w, i), at);
    }
}

/* Stores to shared memory what this step has computed to be kept, and what a batch has loaded. */
static void store_kept_in_shared(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.values.len; i++) {
        const kn_value *v = &w->ph->nest.values.data[i];
        if (w->need[i] && !w->loaded[i] && v->kind == KN_V_ELEM &&
            kn_kept(w->ph, i) == KN_KEEP_SHARED)
            kn_cuda_line(w, "%s = %s_vec;", kn_cuda_shared_vector(w, i), kn_cuda_value(w, i));
        if (w->need[i] && kn_cuda_is_batched(w, i) && kn_cuda_in_shared(w, i) &&
            !is_overwritten(w, i))
            kn_cuda_line(w, "%s = %s;", kn_cuda_shared_vector(w, i), kn_cuda_vector(w, i));
    }
}

/* A value that is kept in registers is in <name>_kept[step] from the first sweep that needs it. */
void kn_cuda_kept_loads(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        const char *to = kn_cuda_printed(w, "%s[step]", kn_cuda_registers(w, i));
        if (!kn_cuda_keeps_now(w, i) || v->kind != KN_V_LOAD)
            continue;
        if (ph->how.mixed && w->resident)
            kn_cuda_line(w, "%s = %s;", to, kn_cuda_shared_vector(w, i));
        else if (kn_is_prefetched(ph, i))
            kn_cuda_line(w, "%s = %s;", to, kn_cuda_prefetched_vector(w, i));
        else if (kn_is_shifted(ph, i))
            kn_cuda_line(w, "%s_around[step] = %s;", kn_cuda_value(w, i), kn_cuda_around(w, i));
        else
            write_vector_load(w, i, "", to);
    }
}

void kn_cuda_store_resident(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (w->need[i])
            kn_cuda_line(w, "%s = %s_kept[step];", kn_cuda_shared_vector(w, i),
                         kn_cuda_value(w, i));
}

void kn_cuda_assemble_step(kn_cuda_writer *w)
{
    for (int i = 0; w->around && i < w->ph->nest.values.len; i++)
        if (w->around[i])
            kn_cuda_line(w, "%s[step] = %s;", kn_cuda_registers(w, i),
                         kn_cuda_assembled(
                             w, i, kn_cuda_printed(w, "%s_around[step]", kn_cuda_value(w, i))));
}

/* Is the step's vector of value i assembled behind all loads of the step, so that these are in flight together? */
static bool is_assembled_later(const kn_cuda_writer *w, int i)
{
    return w->need[i] && !w->in_last_vector && !kn_cuda_in_registers(w, i) &&
           !kn_cuda_in_shared(w, i) && kn_is_read(kn_value_at(w->ph, i)) &&
           kn_value_at(w->ph, i)->level == KN_ELEMENT && kn_is_shifted(w->ph, i);
}

/* All loads of a step come first, so that they are in flight together. */
static void write_loads(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.values.len; i++) {
        const kn_value *v = &w->ph->nest.values.data[i];
        bool shared = kn_cuda_in_shared(w, i), load = kn_has_access(v) && v->kind != KN_V_GATHER;
        if (!w->need[i] || v->level != KN_ELEMENT || (!load && !shared) ||
            kn_cuda_in_registers(w, i))
            continue;
        const char *at = kn_cuda_printed(w, "%s_vec", kn_cuda_value(w, i));
        if (is_assembled_later(w, i))
            kn_cuda_line(w, "const auto %s_around = %s;", kn_cuda_value(w, i),
                         kn_cuda_around(w, i));
        else if (shared)
            write_kept_in_shared(w, i, at);
        else if (v->kind == KN_V_LOAD &&
                 (kn_transfer_of(w->ph, i)->vector || kn_cuda_is_tile_vector(w, i)))
            write_vector_load(w, i, kn_cuda_printed(w, "%s ", kn_cuda_vector_type(w, i)), at);
        else if (!kn_cuda_varies_by_lane(w, v->access))
            kn_cuda_define_load(w, i, NULL);
    }
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (is_assembled_later(w, i))
            kn_cuda_line(
                w, "const auto %s_vec = %s;", kn_cuda_value(w, i),
                kn_cuda_assembled(w, i, kn_cuda_printed(w, "%s_around", kn_cuda_value(w, i))));
}

static void write_vector_store(kn_cuda_writer *w, int i)
{
    const kn_access *acc = &w->ph->nest.stores.data[i].access;
    const char *offset = kn_cuda_offset(w, acc, 'o', i, NULL),
               *address = w->store_guard ? kn_cuda_guarded_address(w, i, offset)
                                         : kn_cuda_printed(w, "%s + (%s)",
                                                           w->k->bufs.data[acc->buf].name, offset);
    if (w->in_last_vector) {
        kn_cuda_line(w, "kn_store_edge(%s, o%d_vec, at, at_end);", address, i);
        return;
    }
    kn_cuda_guarded(
        w,
        w->ph->how.unaligned ? "whole"
        : w->store_guard     ? w->store_guard
                             : "",
        kn_cuda_printed(w, "%s(%s, o%d_vec);", kn_cuda_store_function(w, i), address, i));
    if (!w->ph->how.unaligned)
        return;
    kn_cuda_line(w, "else");
    kn_cuda_line(w, "    kn_store_edge(%s, o%d_vec, a%d, members);", address, i,
                 kn_phase_vector_axis(w->ph));
}

void kn_cuda_step(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    w->in_step = true;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (ph->how.hoisted && w->need[i] && kn_is_hoisted(ph, i))
            kn_cuda_line(w, "kn_opaque(%s);", kn_cuda_vector(w, i));
    kn_cuda_assemble_step(w);
    write_loads(w);
    for (int i = 0; i < ph->nest.stores.len; i++)
        if (kn_cuda_stores_now(w, i) &&
            (kn_cuda_stores_vector(w, i) || kn_cuda_stores_in_registers(w, i)))
            kn_cuda_line(w, "kn_vec<%s, %d> o%d_vec;",
                         kn_cuda_type(w->k->bufs.data[ph->nest.stores.data[i].access.buf].dtype),
                         ph->how.vec, i);
    for (int r = 0; r < ph->nest.reds.len; r++)
        if (ph->nest.reds.data[r].stage == w->sweep)
            kn_cuda_before_lanes(w, r);
    kn_cuda_lanes(w);
    for (int r = 0; r < ph->nest.reds.len; r++)
        if (ph->nest.reds.data[r].stage == w->sweep)
            kn_cuda_after_lanes(w, r);
    store_kept_in_shared(w);
    for (int i = 0; i < ph->nest.stores.len; i++)
        if (kn_cuda_stores_now(w, i) && kn_cuda_stores_in_registers(w, i))
            kn_cuda_line(w, "o%d_regs[r] = o%d_vec;", i, i);
        else if (kn_cuda_stores_now(w, i) && kn_cuda_stores_vector(w, i))
            write_vector_store(w, i);
    w->in_step = false;
}

void kn_cuda_unaligned_steps(kn_cuda_writer *w)
{
    const char *slot = w->counts_slots ? ", const kn_count slot" : "";
    kn_cuda_open(w, "const auto step%d = [&](const kn_count i%s, const auto whole)", w->sweep,
                 slot);
    kn_cuda_unaligned_index(w);
    kn_cuda_step(w);
    kn_cuda_close_as(w, "};");
    kn_cuda_unaligned_edges(w);
    kn_cuda_line(w, "step%d(i%s, kn_bool<false>());", w->sweep,
                 w->counts_slots ? kn_cuda_printed(w, ", (i - begin) / %d", w->ph->how.vec) : "");
    kn_cuda_close(w);
}
