/* Loads that several sweeps of a phase read, which a schedule may keep on chip. */
#include "codegen/kir/kir.h"

bool kn_is_reread(const kn_phase *ph, int value)
{
    const kn_value *v = kn_value_at(ph, value);
    if (v->kind != KN_V_LOAD || v->level != KN_ELEMENT || v->sweeps < 2 ||
        kn_in_tile_of_rows(ph, value))
        return false;
    int va = kn_phase_vector_axis(ph);
    return va >= 0 && v->access->kind[va] != KN_STRIDE_ZERO;
}

int kn_reread_each(const kn_phase *ph)
{
    int bytes = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        bytes += kn_is_reread(ph, i) ? kn_bytes(ph->nest.values.data[i].dtype) : 0;
    return bytes;
}

int kn_reread_element(const kn_phase *ph) { return ph->nest.nsweeps > 1 ? kn_reread_each(ph) : 0; }

bool kn_reread_alike(const kn_phase *ph)
{
    int width = 0;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const int own = kn_is_reread(ph, i) ? kn_bytes(kn_value_at(ph, i)->dtype) : width;
        if (width && own != width)
            return false;
        width = own;
    }
    return true;
}

int64_t kn_reread_bytes(const kn_phase *ph) { return ph->nest.members * kn_reread_element(ph); }

int kn_reread_line(const kn_phase *ph)
{
    int narrowest = 0;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const int bytes = kn_bytes(kn_value_at(ph, i)->dtype);
        if (kn_is_reread(ph, i) && (!narrowest || bytes < narrowest))
            narrowest = bytes;
    }
    return kn_cols_width(ph) * narrowest;
}

void kn_keep_reread(kn_arena *a, kn_phase *ph, kn_keep where)
{
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_is_reread(ph, i))
            kn_hold_value(a, ph, i, where);
}
