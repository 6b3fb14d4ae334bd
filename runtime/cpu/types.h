/* At which types the CPU device has which function: lists to make a row of each, with ir/ops.def. */
#ifndef KN_RUNTIME_CPU_TYPES_H
#define KN_RUNTIME_CPU_TYPES_H

/* The types that an operation exists at, by its type rule; X(OP, D, KIND, result) */
#define AT_INTS(X, OP)                                                                             \
    X(OP, I8, INT, I8)                                                                             \
    X(OP, I16, INT, I16)                                                                           \
    X(OP, I32, INT, I32)                                                                           \
    X(OP, I64, INT, I64)                                                                           \
    X(OP, U8, UINT, U8) X(OP, U16, UINT, U16) X(OP, U32, UINT, U32) X(OP, U64, UINT, U64)
#define AT_ARITH(X, OP) AT_ROUND(X, OP)
#define AT_SIGNED(X, OP) AT_INTS(X, OP) AT_FLOAT(X, OP)
#define AT_INTEGER(X, OP) AT_SIGNED(X, OP)
#define AT_FLOAT(X, OP) X(OP, F32, FLOAT, F32) X(OP, F64, FLOAT, F64)
#define AT_TRUEDIV(X, OP) AT_FLOAT(X, OP)
#define AT_ROUND(X, OP) X(OP, BOOL, BOOL, BOOL) AT_SIGNED(X, OP)
#define AT_COMPARE(X, OP)                                                                          \
    X(OP, BOOL, BOOL, BOOL)                                                                        \
    X(OP, I8, INT, BOOL)                                                                           \
    X(OP, I16, INT, BOOL)                                                                          \
    X(OP, I32, INT, BOOL)                                                                          \
    X(OP, I64, INT, BOOL)                                                                          \
    X(OP, U8, UINT, BOOL)                                                                          \
    X(OP, U16, UINT, BOOL)                                                                         \
    X(OP, U32, UINT, BOOL)                                                                         \
    X(OP, U64, UINT, BOOL) X(OP, F32, FLOAT, BOOL) X(OP, F64, FLOAT, BOOL)
#define AT_TEST(X, OP) AT_COMPARE(X, OP)
#define AT_BITS(X, OP) AT_INTS(X, OP)
#define AT_SHIFT(X, OP) AT_INTS(X, OP)
#define AT_WHOLE(X, OP) AT_INTS(X, OP)
#define AT_EXPONENT(X, OP) X(OP, F32, FLOAT, I32) X(OP, F64, FLOAT, I32)
#define AT_LOGIC(X, OP) X(OP, BOOL, BOOL, BOOL)
#define AT_SELECT(X, OP) AT_ROUND(X, OP) X(OP, F16, HALF, F16) X(OP, BF16, HALF, BF16)
#define AT_COMPLEX(X, OP) /* below: only some operations have complex numbers */
#define AT_PAIR(X, OP) X(OP, F32, FLOAT, C64) X(OP, F64, FLOAT, C128)
#define AT_FIXED(X, OP) AT_FIXED_##OP(X)
#define AT_FIXED_COPY(X) AT_SELECT(X, COPY)
#define AT_FIXED_CAST(X) /* below: casts */

/* The same for complex numbers, by the result's type */
#define OF_COMPLEX_SAME(X, OP) X(OP, C64, COMPLEX, C64) X(OP, C128, COMPLEX, C128)
#define OF_COMPLEX_PART(X, OP) X(OP, C64, COMPLEX, F32) X(OP, C128, COMPLEX, F64)
#define OF_COMPLEX_BOOL(X, OP) X(OP, C64, COMPLEX, BOOL) X(OP, C128, COMPLEX, BOOL)
#define OF_COMPLEX_FIXED(X, OP) /* casts: below */

#define CASTS_FROM(X, D, KIND)                                                                     \
    X(D, KIND, BOOL, BOOL)                                                                         \
    X(D, KIND, I8, INT)                                                                            \
    X(D, KIND, I16, INT)                                                                           \
    X(D, KIND, I32, INT)                                                                           \
    X(D, KIND, I64, INT)                                                                           \
    X(D, KIND, U8, INT)                                                                            \
    X(D, KIND, U16, INT)                                                                           \
    X(D, KIND, U32, INT)                                                                           \
    X(D, KIND, U64, INT) X(D, KIND, F32, FLOAT) X(D, KIND, F64, FLOAT)
#define CASTS(X)                                                                                   \
    CASTS_FROM(X, BOOL, BOOL)                                                                      \
    CASTS_FROM(X, I8, INT)                                                                         \
    CASTS_FROM(X, I16, INT)                                                                        \
    CASTS_FROM(X, I32, INT)                                                                        \
    CASTS_FROM(X, I64, INT)                                                                        \
    CASTS_FROM(X, U8, INT)                                                                         \
    CASTS_FROM(X, U16, INT)                                                                        \
    CASTS_FROM(X, U32, INT)                                                                        \
    CASTS_FROM(X, U64, INT)                                                                        \
    CASTS_FROM(X, F32, FLOAT)                                                                      \
    CASTS_FROM(X, F64, FLOAT)                                                                      \
    X(F32, FLOAT, C64, COMPLEX)                                                                    \
    X(F64, FLOAT, C128, COMPLEX)                                                                   \
    X(C64, COMPLEX, C128, COMPLEX)                                                                 \
    X(C128, COMPLEX, C64, COMPLEX) X(C64, COMPLEX, BOOL, BOOL) X(C128, COMPLEX, BOOL, BOOL)
#define HALVES(X) X(F16, F32) X(BF16, F32) X(F32, F16) X(F32, BF16) X(F64, F16)

/* ---- reductions ---- */

/* X(OP, COMBINE, D, KIND, accumulator) */
#define OVER_INTS(X, OP, COMBINE)                                                                  \
    X(OP, COMBINE, BOOL, BOOL, BOOL)                                                               \
    X(OP, COMBINE, I8, INT, I8)                                                                    \
    X(OP, COMBINE, I16, INT, I16)                                                                  \
    X(OP, COMBINE, I32, INT, I32)                                                                  \
    X(OP, COMBINE, I64, INT, I64)                                                                  \
    X(OP, COMBINE, U8, UINT, U8)                                                                   \
    X(OP, COMBINE, U16, UINT, U16) X(OP, COMBINE, U32, UINT, U32) X(OP, COMBINE, U64, UINT, U64)
#define OVER_COUNT(X, OP, COMBINE)                                                                 \
    OVER_INTS(X, OP, COMBINE)                                                                      \
    X(OP, COMBINE, F32, FLOAT, F64)                                                                \
    X(OP, COMBINE, F64, FLOAT, F64)                                                                \
    X(OP, COMBINE, C64, COMPLEX, C128) X(OP, COMBINE, C128, COMPLEX, C128)
#define OVER_SAME(X, OP, COMBINE)                                                                  \
    OVER_INTS(X, OP, COMBINE)                                                                      \
    X##_EXTREME(OP, COMBINE, F32, int32_t) X##_EXTREME(OP, COMBINE, F64, int64_t)                  \
        X(OP, COMBINE, C64, COMPLEX, C64) X(OP, COMBINE, C128, COMPLEX, C128)
#define OVER_BOOL(X, OP, COMBINE) X(OP, COMBINE, BOOL, BOOL, BOOL)
#define OVER_FLOAT(X, OP, COMBINE) /* MEAN: never in the kernel IR; VAR: below */

#endif
