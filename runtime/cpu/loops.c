/* One function for each operation and type, made from ops.def and expr.h. Needs -O3 -ffp-contract=off -fno-math-errno
 * -fno-trapping-math: without the last two, square roots and selections are not vectorised. They change no result. */
#include "runtime/cpu/loops.h"

#include "runtime/cpu/forms.h"
#include "runtime/cpu/types.h"

#ifndef KN_ISA
#define KN_ISA baseline
#define KN_MATHS NULL
#endif
#define KN_PASTE_(a, b) a##b
#define KN_PASTE(a, b) KN_PASTE_(a, b)
#define KN_STRING_(a) #a
#define KN_STRING(a) KN_STRING_(a)

#define FORMULA(name, text, least, most, rule, ulp, of, is)
#define REDUCE(name, text, rule, combine, empty)
#define VIEW(name, text)
#define LEAF(name, text)

#define ELEM(name, text, arity, rule, f32, f64, cost, infix) AT_##rule(LOOP_##arity, name)
#define COMPLEX(name, arity, result, ulp, of) OF_COMPLEX_##result(LOOP_##arity, name)
#include "ir/ops.def"
#undef ELEM
#undef COMPLEX
CASTS(LOOP_CAST)
HALVES(LOOP_HALF)

/* ---- reductions ---- */

#undef REDUCE
#define ELEM(name, text, arity, rule, f32, f64, cost, infix)
#define REDUCE(name, text, rule, combine, empty) OVER_##rule(FOLD, name, combine)
#include "ir/ops.def"
#undef ELEM
#undef REDUCE

MOMENTS(F32)
MOMENTS(F64)

/* ---- the tables ---- */

#define ROW_ELEM(OP, D, KIND, RD) [KN_OP_##OP][KN_##D] = OP##_##D,
#define ROW_CAST(FROM, FKIND, TO, TKIND) [KN_##FROM][KN_##TO] = CAST_##FROM##_##TO,
#define ROW_HALF(FROM, TO) [KN_##FROM][KN_##TO] = CAST_##FROM##_##TO,
/* Of floats, of complex ones too: of many in one place too much is lost. */
#define IS_BLOCKED(OP, D)                                                                          \
    (KN_OP_##OP == KN_OP_SUM &&                                                                    \
     (KN_##D == KN_F32 || KN_##D == KN_F64 || KN_##D == KN_C64 || KN_##D == KN_C128))
#define ROW_FOLDED(OP, D, AD, REDUCE)                                                              \
    [KN_OP_##OP][KN_##D] = FOLD_OF(OP, D, AD, IS_BLOCKED(OP, D), REDUCE),
#define ROW_FOLD(OP, COMBINE, D, KIND, AD) ROW_FOLDED(OP, D, AD, OP##_reduce_##D)
#define ROW_FOLD_EXTREME(OP, COMBINE, D, MASK) ROW_FOLDED(OP, D, D, OP##_quick_##D)

#define ROW_MOMENTS(D) [KN_OP_VAR][KN_##D] = FOLD_OF_MOMENTS(D),

const kn_loops KN_PASTE(kn_loops_, KN_ISA) = {
    .isa = KN_STRING(KN_ISA),
    .maths = KN_MATHS,
#define ELEM(name, text, arity, rule, f32, f64, cost, infix) AT_##rule(ROW_ELEM, name)
#define COMPLEX(name, arity, result, ulp, of) OF_COMPLEX_##result(ROW_ELEM, name)
#define REDUCE(name, text, rule, combine, empty)
    .elem =
        {
#include "ir/ops.def"
        },
#undef ELEM
#undef COMPLEX
#undef REDUCE
    .cast = {CASTS(ROW_CAST) HALVES(ROW_HALF)},
#define ELEM(name, text, arity, rule, f32, f64, cost, infix)
#define REDUCE(name, text, rule, combine, empty) OVER_##rule(ROW_FOLD, name, combine)
    .fold =
        {
#include "ir/ops.def"
            ROW_MOMENTS(F32) ROW_MOMENTS(F64)},
#undef ELEM
#undef REDUCE
};
