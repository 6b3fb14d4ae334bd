// The PTX instructions that compute: what ptx.def names.
#pragma once

namespace kn_emu_ptx {
KN_EMU_INLINE void spread_bits(word *, const bunch<> &) {}
template <class V, class... More>
KN_EMU_INLINE void spread_bits(word *to, const bunch<V, More...> &b)
{
    *to = kn_emu::bits(b.first);
    spread_bits(to + 1, b.more);
}
// A vector of registers is moved as the bits that it has, the first in the lowest.
template <class T, class... V> KN_EMU_INLINE T packed(const bunch<V...> &b)
{
    word all = 0;
    constexpr unsigned n = sizeof...(V), width = 8 * sizeof(T) / n;
    word parts[n];
    spread_bits(parts, b);
    for (unsigned i = 0; i < n; ++i)
        all |= (parts[i] & ((1ull << width) - 1)) << i * width;
    return (T)all;
}
template <class T, class V> KN_EMU_INLINE T move(V v) { return as<T>(v); }
template <class T, class... V> KN_EMU_INLINE T move(const bunch<V...> &b) { return packed<T>(b); }
template <class T, class A, class B> KN_EMU_INLINE T select(A a, B b, bool p)
{
    return p ? as<T>(a) : as<T>(b);
}
#define KN_EMU_COMPARE(name, op)                                                                   \
    template <class T, class A, class B> KN_EMU_INLINE bool compare_##name(A a, B b)               \
    {                                                                                              \
        return as<T>(a) op as<T>(b);                                                               \
    }
KN_EMU_COMPARE(eq, ==)
KN_EMU_COMPARE(ne, !=)
KN_EMU_COMPARE(lt, <)
KN_EMU_COMPARE(le, <=)
KN_EMU_COMPARE(gt, >)
KN_EMU_COMPARE(ge, >=)
#undef KN_EMU_COMPARE
#define KN_EMU_BINARY_OP(name, expression)                                                         \
    template <class T, class A, class B> KN_EMU_INLINE T name(A x, B y)                            \
    {                                                                                              \
        const T a = as<T>(x), b = as<T>(y);                                                        \
        return (T)(expression);                                                                    \
    }
KN_EMU_BINARY_OP(add, a + b)
KN_EMU_BINARY_OP(subtract, a - b)
KN_EMU_BINARY_OP(multiply, a *b)
KN_EMU_BINARY_OP(least, a < b ? a : b != b ? a : b)
KN_EMU_BINARY_OP(greatest, a > b ? a : b != b ? a : b)
KN_EMU_BINARY_OP(bit_and, a &b)
KN_EMU_BINARY_OP(bit_or, a | b)
KN_EMU_BINARY_OP(bit_xor, a ^ b)
#undef KN_EMU_BINARY_OP
template <class T, class A> KN_EMU_INLINE T shift_left(A x, unsigned n)
{
    return n < 8 * sizeof(T) ? (T)(as<T>(x) << n) : 0;
}
template <class T, class A> KN_EMU_INLINE T shift_right(A x, unsigned n)
{
    const T v = as<T>(x);
    return n < 8 * sizeof(T) ? (T)(v >> n) : v < 0 ? (T)-1 : (T)0;
}
template <class T, class A, class B, class C> KN_EMU_INLINE T multiply_add(A a, B b, C c)
{
    return (T)(as<T>(a) * as<T>(b) + as<T>(c));
}
template <class T, class A, class B, class C> KN_EMU_INLINE T fused(A a, B b, C c)
{
    if constexpr (sizeof(T) == 4)
        return fmaf(as<T>(a), as<T>(b), as<T>(c));
    else
        return fma(as<T>(a), as<T>(b), as<T>(c));
}
template <class T, class A> KN_EMU_INLINE T negate(A a) { return (T)-as<T>(a); }
template <class T, class A> KN_EMU_INLINE T bit_not(A a)
{
    if constexpr (is_same<T, bool>::value)
        return !a;
    else
        return (T)~as<T>(a);
}
template <class T, class A> KN_EMU_INLINE unsigned population(A a)
{
    return (unsigned)__popcll(kn_emu::bits(as<T>(a)));
}
KN_EMU_INLINE float reciprocal(float x) { return 1.0f / x; }
KN_EMU_INLINE float quotient(float x, float y) { return x / y; }
using ::cosf;
using ::exp2f;
using ::log2f;
using ::rsqrtf;
using ::sinf;
using ::sqrtf;
using ::tanhf;
} // namespace kn_emu_ptx
