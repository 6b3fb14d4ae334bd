#include "cli/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int kn_cli_array_layout(kn_cli_array *a, bool fortran, const char *what, kn_err *e)
{
    char type[KN_TYPE_TEXT];
    int64_t size = (int64_t)kiln_dtype_size(a->dtype);
    int64_t step = 1;
    bool empty = false;
    for (int i = 0; i < a->rank; i++) {
        int axis = fortran ? i : a->rank - 1 - i;
        int64_t extent = a->shape[axis];
        a->strides[axis] = step;
        empty |= extent == 0;
        /* An axis of size 0 counts as 1, so that the strides of an empty array do not overflow
         * either. */
        if (extent > 0 && step > INT64_MAX / size / extent)
            return kn_usage_error(e, "%s: %s has more elements than fit in memory", what,
                                  kn_cli_array_type(a, type));
        step *= extent > 0 ? extent : 1;
    }
    a->compact = !fortran || a->rank < 2;
    a->count = empty ? 0 : step;
    a->bytes = (size_t)(a->count * size);
    return KN_EXIT_OK;
}

int kn_cli_array_alloc(kn_cli_array *a, const char *what, kn_err *e)
{
    char type[KN_TYPE_TEXT];
    a->data = malloc(a->bytes ? a->bytes : 1);
    if (!a->data)
        return kn_run_error(e, "%s: out of memory: %s takes %zu bytes", what,
                            kn_cli_array_type(a, type), a->bytes);
    return KN_EXIT_OK;
}

char *kn_cli_array_type(const kn_cli_array *a, char *text)
{
    int n = snprintf(text, KN_TYPE_TEXT, "%s[%s", kiln_dtype_text(a->dtype), a->rank ? "" : "()");
    for (int i = 0; i < a->rank; i++)
        n += snprintf(text + n, (size_t)(KN_TYPE_TEXT - n), "%s%lld", i ? ", " : "",
                      (long long)a->shape[i]);
    snprintf(text + n, (size_t)(KN_TYPE_TEXT - n), "]");
    return text;
}

int kn_cli_array_compact(kn_cli_array *a, const char *what, kn_err *e)
{
    kn_cli_array old = *a;
    size_t size = kiln_dtype_size(a->dtype);
    int64_t index[KILN_MAX_RANK] = {0}, from = 0;
    if (a->compact)
        return KN_EXIT_OK;
    a->data = NULL;
    int status = kn_cli_array_layout(a, false, what, e);
    if (!status)
        status = kn_cli_array_alloc(a, what, e);
    for (int64_t i = 0; i < a->count && !status; i++) {
        memcpy((char *)a->data + (size_t)i * size, (char *)old.data + (size_t)from * size, size);
        for (int j = a->rank - 1; j >= 0; j--) {
            from += old.strides[j];
            if (++index[j] < a->shape[j])
                break;
            from -= old.strides[j] * a->shape[j];
            index[j] = 0;
        }
    }
    free(old.data);
    return status;
}

void kn_cli_array_finish(kn_cli_array *a)
{
    free(a->data);
    a->data = NULL;
}

bool kn_cli_holds(kiln_dtype t, int64_t i)
{
    int64_t memory;
    kiln_store_int(t, &memory, i);
    return kiln_load_int(t, &memory) == i && !(t == KILN_U64 && i < 0);
}
