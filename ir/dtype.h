/* Element types, and NumPy 2's rules of how they combine. */
#ifndef KN_IR_DTYPE_H
#define KN_IR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kn_dtype {
    KN_NO_DTYPE = 0,
#define DTYPE(name, code, text, kind, bytes, ctype, cuda, numpy) KN_##name = code,
#include "ir/dtype.def"
#undef DTYPE
    KN_DTYPE_LIMIT = 16
} kn_dtype;

typedef enum kn_kind { KN_KIND_NONE, KN_KIND_BOOL, KN_KIND_INT, KN_KIND_FLOAT } kn_kind;

typedef struct kn_dtype_info {
    const char *text;
    kn_kind kind;
    int bytes;
    const char *cuda;
    const char *numpy;
} kn_dtype_info;

/* Indexed by kn_dtype; rows of missing codes have text NULL. */
extern const kn_dtype_info kn_dtypes[KN_DTYPE_LIMIT];

bool kn_dtype_valid(int dtype);
/* KN_NO_DTYPE when `text` names none. */
kn_dtype kn_dtype_find(const char *text, size_t len);
/* NumPy's result type of two array operands. */
kn_dtype kn_promote(kn_dtype a, kn_dtype b);

static inline bool kn_is_float(kn_dtype t) { return kn_dtypes[t].kind == KN_KIND_FLOAT; }
static inline bool kn_is_int(kn_dtype t) { return kn_dtypes[t].kind == KN_KIND_INT; }
static inline int kn_bytes(kn_dtype t) { return kn_dtypes[t].bytes; }

/* One value of any dtype: f for floats, i for the rest (bool is 0 or 1). */
typedef struct kn_scalar {
    kn_dtype dtype;
    union {
        int64_t i;
        double f;
    };
} kn_scalar;

/* Reads or writes one element at `p`. */
kn_scalar kn_scalar_load(kn_dtype t, const void *p);
void kn_scalar_store(kn_scalar v, void *p);

#endif
