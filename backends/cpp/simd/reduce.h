// needs: core
// max and min let NaN win, as torch's do; the h-functions fold the lanes of one vector.
template <class V> INLINE V vmax(V a, V b) {
  if constexpr (is_float<V>) return select(lor(gt(a, b), ne(a, a)), a, b);
  else return select(gt(a, b), a, b);
}
template <class V> INLINE V vmin(V a, V b) {
  if constexpr (is_float<V>) return select(lor(lt(a, b), ne(a, a)), a, b);
  else return select(lt(a, b), a, b);
}
#define PRAGMA_FOLD(name, expr)                                                  \
  template <class V> INLINE scalar_t<V> name(V v) {                              \
    if constexpr (is_scalar<V>) return v;                                        \
    else { auto a = lo(v), b = hi(v); return name<half_t<V>>(expr); }            \
  }
PRAGMA_FOLD(hsum, a + b)
PRAGMA_FOLD(hprod, a * b)
PRAGMA_FOLD(hmax, vmax(a, b))
PRAGMA_FOLD(hmin, vmin(a, b))
PRAGMA_FOLD(hany, a | b)
PRAGMA_FOLD(hall, a & b)
