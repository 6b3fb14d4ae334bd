#include "ir/dtype.h"

#include <string.h>

const kn_dtype_info kn_dtypes[KN_DTYPE_LIMIT] = {
#define DTYPE(name, code, text, kind, bytes, ctype, cuda, numpy)                                   \
    [KN_##name] = {text, KN_KIND_##kind, bytes, cuda, numpy},
#include "ir/dtype.def"
#undef DTYPE
};

#define DTYPE(name, code, text, kind, bytes, ctype, cuda, numpy)                                   \
    _Static_assert(sizeof(ctype) == (bytes) && (code) < KN_DTYPE_LIMIT, text);
#include "ir/dtype.def"
#undef DTYPE

bool kn_dtype_valid(int dtype)
{
    return dtype > 0 && dtype < KN_DTYPE_LIMIT && kn_dtypes[dtype].text;
}

kn_dtype kn_dtype_find(const char *text, size_t len)
{
    for (int t = 1; t < KN_DTYPE_LIMIT; t++)
        if (kn_dtypes[t].text &&
            ((strlen(kn_dtypes[t].text) == len && memcmp(kn_dtypes[t].text, text, len) == 0) ||
             (strlen(kn_dtypes[t].numpy) == len && memcmp(kn_dtypes[t].numpy, text, len) == 0)))
            return (kn_dtype)t;
    return KN_NO_DTYPE;
}

kn_dtype kn_promote(kn_dtype a, kn_dtype b)
{
    if (kn_dtypes[a].kind > kn_dtypes[b].kind) {
        kn_dtype t = a;
        a = b;
        b = t;
    }
    /* now kind(a) <= kind(b) */
    if (kn_dtypes[a].kind == kn_dtypes[b].kind)
        return kn_bytes(a) > kn_bytes(b) ? a : b;
    if (kn_dtypes[a].kind == KN_KIND_INT) /* with a float: one that holds the integer's range */
        return KN_F64;
    return b; /* bool with anything */
}

kn_scalar kn_scalar_load(kn_dtype t, const void *p)
{
    kn_scalar v = {.dtype = t};
    switch (t) {
    case KN_BOOL: v.i = *(const uint8_t *)p != 0; break;
    case KN_I32: v.i = *(const int32_t *)p; break;
    case KN_I64: v.i = *(const int64_t *)p; break;
    case KN_F32: v.f = *(const float *)p; break;
    case KN_F64: v.f = *(const double *)p; break;
    case KN_NO_DTYPE:
    case KN_DTYPE_LIMIT: break;
    }
    return v;
}

void kn_scalar_store(kn_scalar v, void *p)
{
    switch (v.dtype) {
    case KN_BOOL: *(uint8_t *)p = v.i != 0; break;
    case KN_I32: *(int32_t *)p = (int32_t)v.i; break;
    case KN_I64: *(int64_t *)p = v.i; break;
    case KN_F32: *(float *)p = (float)v.f; break;
    case KN_F64: *(double *)p = v.f; break;
    case KN_NO_DTYPE:
    case KN_DTYPE_LIMIT: break;
    }
}
