/* Small functions of whole numbers. The library and emitted programs share their text, which is C11 and C++17. */
#ifndef KN_CODEGEN_INTEGERS_H
#define KN_CODEGEN_INTEGERS_H

static inline __INT64_TYPE__ kn_lesser(__INT64_TYPE__ a, __INT64_TYPE__ b) { return a < b ? a : b; }
static inline __INT64_TYPE__ kn_greater(__INT64_TYPE__ a, __INT64_TYPE__ b)
{
    return a > b ? a : b;
}
static inline __INT64_TYPE__ kn_ceiling(__INT64_TYPE__ a, __INT64_TYPE__ b)
{
    return a / b + (a % b != 0);
}

#endif
