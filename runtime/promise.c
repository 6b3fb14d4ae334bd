#include "runtime/promise.h"

#include <string.h>

/* The half of the address space that no process has. */
static const uint64_t first = (uint64_t)1 << 63;
enum { APART = 16 };

bool kn_is_promised(const void *data) { return (uintptr_t)data >= first; }

/* Bytes in front of the first element and behind it. False where there are no elements, or kn_bind() will refuse them. */
static bool reach_of(const kn_arg *arg, int64_t *before, int64_t *behind)
{
    int64_t bytes = kn_bytes((kn_dtype)arg->dtype), compact = bytes;
    *before = 0;
    *behind = bytes;
    for (int i = arg->rank - 1; i >= 0; i--) {
        int64_t stride = compact, reach;
        if (arg->shape[i] <= 0 || __builtin_mul_overflow(compact, arg->shape[i], &compact) ||
            (arg->strides && __builtin_mul_overflow(arg->strides[i], bytes, &stride)) ||
            __builtin_mul_overflow(stride, arg->shape[i] - 1, &reach) ||
            __builtin_add_overflow(reach < 0 ? *before : *behind, reach < 0 ? -reach : reach,
                                   reach < 0 ? before : behind))
            return false;
    }
    return *before < INT64_MAX / 16 && *behind < INT64_MAX / 16;
}

static bool is_number(const kn_program *p, const kn_arg *arg)
{
    int i = arg->name ? kn_graph_find_input(p->optimised, arg->name) : -1;
    return i >= 0 && p->optimised->inputs.data[i].by_value;
}

/* The address of an array, at or behind *at, which becomes where the next one may begin. NULL where it has no elements,
 * does not fit, or takes more than any memory holds. */
static void *address_of(const kn_arg *arg, int alignment, uint64_t *at)
{
    int64_t before, behind;
    if (!kn_dtype_valid(arg->dtype) || arg->rank < 0 || (arg->rank && !arg->shape) ||
        !reach_of(arg, &before, &behind))
        return NULL;
    uint64_t data =
        (*at + (uint64_t)before + APART) / APART * APART + (uint64_t)(alignment % APART);
    if (data < first || data > UINT64_MAX - (uint64_t)behind - APART)
        return NULL;
    *at = data + (uint64_t)behind;
    return (void *)(uintptr_t)data;
}

const kn_arg *kn_promised_args(kn_arena *a, const kn_program *p, const kn_arg *args, int nargs,
                               int alignment)
{
    uint64_t at = first;
    kn_arg *made = NULL;
    for (int k = 0; k < nargs; k++) {
        if (args[k].data)
            continue;
        if (!made)
            made = memcpy(KN_NEW_ARRAY(a, kn_arg, nargs), args, sizeof *args * (size_t)nargs);
        made[k].data = is_number(p, &args[k]) ? KN_NEW_ARRAY(a, kn_scalar, 1)
                                              : address_of(&args[k], alignment, &at);
    }
    return made ? made : args;
}
