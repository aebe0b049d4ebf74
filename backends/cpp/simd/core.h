// needs:
// Vectors of a scalar type on the compiler's vector extensions; every template also takes plain scalars.
// A mask is a signed integer vector of the same width, 0 or -1 in each lane. Vectors wider than a register
// are worked on by halves, because compilers fall back to scalar code for their comparisons.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif
#pragma GCC diagnostic ignored "-Wpsabi"
#define INLINE [[gnu::always_inline]] inline
#if defined(__AVX512F__)
constexpr int NATIVE_BYTES = 64;
#elif defined(__AVX__)
constexpr int NATIVE_BYTES = 32;
#else
constexpr int NATIVE_BYTES = 16;
#endif

template <class T, int N> struct VecOf { typedef T type __attribute__((vector_size(N * sizeof(T)))); };
template <class T> struct VecOf<T, 1> { using type = T; };
template <class T, int N> using Vec = typename VecOf<T, N>::type;

template <class V> struct ScalarOf { using type = std::remove_cvref_t<decltype(std::declval<V&>()[0])>; };
template <class V> requires std::is_arithmetic_v<V> struct ScalarOf<V> { using type = V; };
template <class V> using scalar_t = typename ScalarOf<V>::type;
template <class V> constexpr int lanes = sizeof(V) / sizeof(scalar_t<V>);
template <class V> constexpr bool is_scalar = std::is_arithmetic_v<V>;
template <class V> constexpr bool is_float = std::is_floating_point_v<scalar_t<V>>;
template <class V> constexpr bool wide = !is_scalar<V> && sizeof(V) > NATIVE_BYTES;
template <int B> using int_of = std::conditional_t<B == 1, int8_t, std::conditional_t<B == 2, int16_t, std::conditional_t<B == 4, int32_t, int64_t>>>;
template <class V, class T> using like = Vec<T, lanes<V>>;
template <class V> using mask_t = like<V, int_of<sizeof(scalar_t<V>)>>;
template <class V> using half_t = Vec<scalar_t<V>, lanes<V> / 2>;

template <class V> INLINE half_t<V> lo(V v) { half_t<V> t[2]; std::memcpy(t, &v, sizeof v); return t[0]; }
template <class V> INLINE half_t<V> hi(V v) { half_t<V> t[2]; std::memcpy(t, &v, sizeof v); return t[1]; }
template <class H> INLINE Vec<scalar_t<H>, 2 * lanes<H>> join(H a, H b) {
  H t[2] = {a, b};
  Vec<scalar_t<H>, 2 * lanes<H>> v;
  std::memcpy(&v, t, sizeof v);
  return v;
}
template <class To, class V> INLINE To bits(V v) { To t; std::memcpy(&t, &v, sizeof t); return t; }

template <class V> INLINE V bc(scalar_t<V> s) {
  if constexpr (is_scalar<V>) return s;
  else return s - V{};  // not +: the sign of -0.0 must live
}

// Conversion of the element type, by steps for which instructions exist.
template <class To, class V> INLINE To cvt(V v) {
  using T = scalar_t<To>;
  using S = scalar_t<V>;
  constexpr int from = sizeof(S), to = sizeof(T);
  if constexpr (std::is_same_v<T, S>) return v;
  else if constexpr (is_scalar<V>) return static_cast<T>(v);
  else if constexpr (!is_float<V> && (2 * from < to || (from < 4 && is_float<To>)))
    return cvt<To>(__builtin_convertvector(v, like<V, int_of<2 * from>>));
  else if constexpr (is_float<V> && !is_float<To> && to < 4) return cvt<To>(__builtin_convertvector(v, like<V, int32_t>));
  else if constexpr (!is_float<V> && !is_float<To> && from > 2 * to)
    return cvt<To>(__builtin_convertvector(v, like<V, int_of<from / 2>>));
  else return __builtin_convertvector(v, To);
}

#define PRAGMA_COMPARE(name, op)                                                                   \
  template <class V> INLINE mask_t<V> name(V a, V b) {                                             \
    if constexpr (is_scalar<V>) return -mask_t<V>(a op b);                                         \
    else if constexpr (wide<V>) return join(name(lo(a), lo(b)), name(hi(a), hi(b)));               \
    else return (mask_t<V>)(a op b);                                                               \
  }
PRAGMA_COMPARE(lt, <)
PRAGMA_COMPARE(le, <=)
PRAGMA_COMPARE(gt, >)
PRAGMA_COMPARE(ge, >=)
PRAGMA_COMPARE(eq, ==)
PRAGMA_COMPARE(ne, !=)
template <class M> INLINE M land(M a, M b) { return a & b; }
template <class M> INLINE M lor(M a, M b) { return a | b; }
template <class M> INLINE M lxor(M a, M b) { return a ^ b; }
template <class M> INLINE M lnot(M a) { return ~a; }

// m ? a : b by lane; a mask of another width is converted.
template <class M, class V> INLINE V select(M m, V a, V b) {
  if constexpr (is_scalar<V>) return m ? a : b;
  else if constexpr (sizeof(M) != sizeof(V)) return select(cvt<mask_t<V>>(m), a, b);
  else if constexpr (wide<V>) return join(select(lo(m), lo(a), lo(b)), select(hi(m), hi(a), hi(b)));
  else return (mask_t<V>)m ? a : b;
}
template <class M> INLINE bool any(M m) {
  if constexpr (is_scalar<M>) return m;
  else if constexpr (lanes<M> > 2) return any(lo(m) | hi(m));
  else return m[0] | m[1];
}

template <class V> INLINE V iota() {  // 0, 1, 2, ...
  if constexpr (is_scalar<V>) return 0;
  else return []<int... I>(std::integer_sequence<int, I...>) { return V{scalar_t<V>(I)...}; }(std::make_integer_sequence<int, lanes<V>>{});
}

// Calls a scalar function on every lane.
template <class F, class V> INLINE V lanewise(F f, V x) {
  if constexpr (is_scalar<V>) return f(x);
  else { V r; for (int i = 0; i < lanes<V>; i++) r[i] = f(x[i]); return r; }
}
template <class F, class V> INLINE V lanewise(F f, V x, V y) {
  if constexpr (is_scalar<V>) return f(x, y);
  else { V r; for (int i = 0; i < lanes<V>; i++) r[i] = f(x[i], y[i]); return r; }
}
