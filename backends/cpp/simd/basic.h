// needs: core, reduce
// Arithmetic that needs no table: one name for each function of the sketch. Integers divide by flooring, as torch's do.
template <class V> INLINE V m_add(V x, V y) { return x + y; }
template <class V> INLINE V m_sub(V x, V y) { return x - y; }
template <class V> INLINE V m_mul(V x, V y) { return x * y; }
template <class V> INLINE V m_div(V x, V y) { return x / y; }
template <class V> INLINE V m_neg(V x) { return -x; }
template <class V> INLINE V m_recip(V x) { return bc<V>(1) / x; }
template <class V> INLINE mask_t<V> m_isnan(V x) { return ne(x, x); }

template <class V> INLINE mask_t<V> sign_bit() { return bc<mask_t<V>>(std::numeric_limits<scalar_t<mask_t<V>>>::min()); }
template <class V> INLINE V m_abs(V x) {
  if constexpr (is_float<V>) return bits<V>(bits<mask_t<V>>(x) & ~sign_bit<V>());
  else if constexpr (std::is_unsigned_v<scalar_t<V>>) return x;
  else return select(lt(x, V{}), -x, x);
}
// The magnitude of x with the sign of y.
template <class V> INLINE V copysign_v(V x, V y) {
  return bits<V>((bits<mask_t<V>>(x) & ~sign_bit<V>()) | (bits<mask_t<V>>(y) & sign_bit<V>()));
}
template <class V> INLINE mask_t<V> m_isinf(V x) { return eq(m_abs(x), bc<V>(std::numeric_limits<scalar_t<V>>::infinity())); }
template <class V> INLINE V m_sign(V x) {
  V one = bc<V>(1), s = select(gt(x, V{}), one, V{});
  if constexpr (std::is_unsigned_v<scalar_t<V>>) return s;
  else return select(lt(x, V{}), -one, s);
}
// x unless it passes s; NaN stays NaN.
template <class V> INLINE V at_most(V x, scalar_t<V> s) { return select(gt(x, bc<V>(s)), bc<V>(s), x); }
template <class V> INLINE V at_least(V x, scalar_t<V> s) { return select(lt(x, bc<V>(s)), bc<V>(s), x); }
