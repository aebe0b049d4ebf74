// needs: core, basic, libm
// What the polynomial functions share. Floats get the polynomial, vectors wider than a register by halves;
// PRAGMA_POLY sends doubles to the C library.
template <class V> constexpr bool is_f32 = std::is_same_v<scalar_t<V>, float>;
#define PRAGMA_POLY(name, x)                                          \
  if constexpr (!is_f32<V>) return l_##name(x);                       \
  else if constexpr (wide<V>) return join(m_##name(lo(x)), m_##name(hi(x))); \
  else

// c0 + c1 x + c2 x^2 + ...
template <class V, class... C> INLINE V horner(V x, scalar_t<V> c0, C... rest) {
  if constexpr (sizeof...(rest) == 0) return bc<V>(c0);
  else return horner(x, scalar_t<V>(rest)...) * x + bc<V>(c0);
}
// The nearest integer to x, as a value and as an integer; |x| < 2^22 (float) or 2^51 (double).
template <class V> struct Nearest { V value; mask_t<V> integer; };
template <class V> INLINE Nearest<V> nearest(V x) {
  const V shift = bc<V>(is_f32<V> ? scalar_t<V>(12582912.0) : scalar_t<V>(6755399441055744.0));
  V t = x + shift;
  return {t - shift, bits<mask_t<V>>(t) - bits<mask_t<V>>(shift)};
}
template <class V> INLINE V power_of_two(mask_t<V> k) {
  if constexpr (is_f32<V>) return bits<V>((k + 127) << 23);
  else return bits<V>((k + 1023) << 52);
}
