// needs: core
// The C library's functions, lane by lane (hint math = libm, and where no polynomial is given).
#define PRAGMA_LIBM1(name, expr) \
  template <class V> INLINE V l_##name(V v) { return lanewise([](auto x) -> decltype(x) { return expr; }, v); }
#define PRAGMA_LIBM2(name, expr) \
  template <class V> INLINE V l_##name(V v, V w) { return lanewise([](auto x, auto y) -> decltype(x) { return expr; }, v, w); }
PRAGMA_LIBM1(exp, std::exp(x))
PRAGMA_LIBM1(expm1, std::expm1(x))
PRAGMA_LIBM1(exp2, std::exp2(x))
PRAGMA_LIBM1(log, std::log(x))
PRAGMA_LIBM1(log1p, std::log1p(x))
PRAGMA_LIBM1(log2, std::log2(x))
PRAGMA_LIBM1(log10, std::log10(x))
PRAGMA_LIBM1(sqrt, std::sqrt(x))
PRAGMA_LIBM1(rsqrt, 1 / std::sqrt(x))
PRAGMA_LIBM1(sin, std::sin(x))
PRAGMA_LIBM1(cos, std::cos(x))
PRAGMA_LIBM1(tan, std::tan(x))
PRAGMA_LIBM1(asin, std::asin(x))
PRAGMA_LIBM1(acos, std::acos(x))
PRAGMA_LIBM1(atan, std::atan(x))
PRAGMA_LIBM1(sinh, std::sinh(x))
PRAGMA_LIBM1(cosh, std::cosh(x))
PRAGMA_LIBM1(tanh, std::tanh(x))
PRAGMA_LIBM1(asinh, std::asinh(x))
PRAGMA_LIBM1(acosh, std::acosh(x))
PRAGMA_LIBM1(atanh, std::atanh(x))
PRAGMA_LIBM1(erf, std::erf(x))
PRAGMA_LIBM1(erfc, std::erfc(x))
PRAGMA_LIBM1(lgamma, std::lgamma(x))
PRAGMA_LIBM1(floor, std::floor(x))
PRAGMA_LIBM1(ceil, std::ceil(x))
PRAGMA_LIBM1(round, std::nearbyint(x))
PRAGMA_LIBM1(trunc, std::trunc(x))
PRAGMA_LIBM2(atan2, std::atan2(x, y))

template <class T> inline T sigmoid_one(T x) {
  T e = std::exp(-std::abs(x));
  return (x < 0 ? e : T(1)) / (1 + e);
}
template <class T> inline T pow_one(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) return std::pow(x, y);
  else {
    if (y < 0) return x == 1 ? 1 : x == T(-1) ? (y % 2 ? T(-1) : 1) : 0;
    T r = 1;
    for (; y; y /= 2, x *= x) if (y % 2) r *= x;
    return r;
  }
}
template <class T> inline T mod_one(T x, T y) {  // the sign of the divisor, as Python's %
  if constexpr (std::is_floating_point_v<T>) {
    T r = std::fmod(x, y);
    return r != 0 && (y < 0) != (r < 0) ? r + y : r;
  } else {
    if (y == 0) return 0;
    T r = y == T(-1) ? 0 : x % y;
    return r != 0 && (y < 0) != (r < 0) ? r + y : r;
  }
}
template <class T> inline T floordiv_one(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (y == 0) return x / y;
    T r = std::fmod(x, y), q = (x - r) / y - (r != 0 && (y < 0) != (r < 0));
    if (q == 0) return std::copysign(T(0), x / y);
    T f = std::floor(q);
    return q - f > T(0.5) ? f + 1 : f;
  } else return y == 0 ? 0 : y == T(-1) ? -x : x / y - (x % y != 0 && (x < 0) != (y < 0));
}
PRAGMA_LIBM1(sigmoid, sigmoid_one(x))
PRAGMA_LIBM2(pow, pow_one(x, y))
PRAGMA_LIBM2(mod, mod_one(x, y))
PRAGMA_LIBM2(floordiv, floordiv_one(x, y))
