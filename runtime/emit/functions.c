/* The CPU device's functions as texts: the macros of forms.h that make them, for the types of types.h. */
#include <string.h>

#include "runtime/cpu/loops.h"
#include "runtime/cpu/types.h"
#include "runtime/emit/impl.h"

typedef struct made {
    const char *name, *by;
} made;

#define FORMULA(name, text, least, most, rule, ulp, of, is)
#define VIEW(name, text)
#define LEAF(name, text)
#define COMPLEX(name, arity, result, ulp, of)

#define TEXT(OP, D, KIND, RD, ARITY)                                                               \
    [KN_OP_##OP][KN_##D] = {#OP "_" #D, "LOOP_" #ARITY "(" #OP ", " #D ", " #KIND ", " #RD ")"},
#define TEXT_1(OP, D, KIND, RD) TEXT(OP, D, KIND, RD, 1)
#define TEXT_2(OP, D, KIND, RD) TEXT(OP, D, KIND, RD, 2)
#define TEXT_3(OP, D, KIND, RD) TEXT(OP, D, KIND, RD, 3)
#define REDUCE(name, text, rule, combine, empty)
#undef AT_PAIR
#define AT_PAIR(X, OP) /* makes complex numbers, which C++ has otherwise */
#define ELEM(name, text, arity, rule, f32, f64, cost, infix) AT_##rule(TEXT_##arity, name)
static const made elem[KN_OP_COUNT][KN_DTYPE_LIMIT] = {
#include "ir/ops.def"
};
#undef ELEM
#undef REDUCE

#define TEXT_CAST(FROM, FKIND, TO, TKIND)                                                          \
    [KN_##FROM][KN_##TO] = {"CAST_" #FROM "_" #TO,                                                 \
                            "LOOP_CAST(" #FROM ", " #FKIND ", " #TO ", " #TKIND ")"},
#define TEXT_HALF(FROM, TO)                                                                        \
    [KN_##FROM][KN_##TO] = {"CAST_" #FROM "_" #TO, "LOOP_HALF(" #FROM ", " #TO ")"},
static const made cast[KN_DTYPE_LIMIT][KN_DTYPE_LIMIT] = {CASTS(TEXT_CAST) HALVES(TEXT_HALF)};

/* of: what FOLD_OF takes besides `blocked` and the name of the function that reduces */
typedef struct fold {
    const char *by, *of, *reduce;
} fold;

#define TEXT_FOLD(OP, COMBINE, D, KIND, AD)                                                        \
    [KN_OP_##OP][KN_##D] = {"FOLD(" #OP ", " #COMBINE ", " #D ", " #KIND ", " #AD ")",             \
                            #OP ", " #D ", " #AD, "reduce"},
#define TEXT_FOLD_EXTREME(OP, COMBINE, D, MASK)                                                    \
    [KN_OP_##OP][KN_##D] = {"FOLD_EXTREME(" #OP ", " #COMBINE ", " #D ", " #MASK ")",              \
                            #OP ", " #D ", " #D, "quick"},
#define ELEM(name, text, arity, rule, f32, f64, cost, infix)
#define REDUCE(name, text, rule, combine, empty) OVER_##rule(TEXT_FOLD, name, combine)
static const fold folds[KN_OP_COUNT][KN_DTYPE_LIMIT] = {
#include "ir/ops.def"
};

int kn_line(kn_arena *a, kn_lines *lines, const char *line)
{
    for (int i = 0; i < lines->len; i++)
        if (strcmp(lines->data[i], line) == 0)
            return i;
    kn_push(a, lines, line);
    return lines->len - 1;
}

const char *kn_emitted_loop(kn_emitter *e, const kn_c_function *f)
{
    const kn_dtype in = f->in[f->nin - 1];
    const made *m = f->op == KN_OP_CAST ? &cast[f->in[0]][f->out] : &elem[f->op][in];
    if (!m->by || kn_is_complex(in) || kn_is_complex(f->out))
        return NULL;
    kn_line(e->a, &e->functions, m->by);
    return m->name;
}

const char *kn_emitted_fold(kn_emitter *e, kn_op op, kn_dtype dtype)
{
    const char *name = kn_sprintf(e->a, "fold_%s_%s", kn_ops[op].text, kn_dtypes[dtype].text);
    const fold *f = &folds[op][dtype];
    const kn_fold *own = kn_loops_fold(&kn_loops_baseline, op, dtype);
    if (kn_is_complex(dtype) || !own)
        return NULL;
    if (op == KN_OP_VAR) {
        const char *d = dtype == KN_F32 ? "F32" : "F64";
        kn_line(e->a, &e->functions,
                kn_sprintf(e->a, "MOMENTS(%s)\nstatic const kn_fold %s = FOLD_OF_MOMENTS(%s);", d,
                           name, d));
        return name;
    }
    const int n = (int)strcspn(f->of, ",");
    const char *d = f->of + n + 2; /* "SUM, F32, F64" */
    kn_line(e->a, &e->functions,
            kn_sprintf(e->a, "%s\nstatic const kn_fold %s = FOLD_OF(%s, %d, %.*s_%s_%.*s);", f->by,
                       name, f->of, own->blocked, n, f->of, f->reduce, (int)strcspn(d, ","), d));
    return name;
}
