// needs: poly
// e^x = 2^n e^r, |r| <= ln2 / 2; the scale is applied in two steps, so that subnormal results are rounded once.
template <class V> struct Reduced { V r; mask_t<V> n; };
template <class V> INLINE Reduced<V> reduce_exp(V x) {
  if constexpr (is_f32<V>) {
    auto [value, n] = nearest(x * bc<V>(1.44269504f));
    return {(x - value * bc<V>(0.693359375f)) - value * bc<V>(-2.12194440e-4f), n};
  } else {
    auto [value, n] = nearest(x * bc<V>(1.4426950408889634));
    return {(x - value * bc<V>(6.93147180369123816490e-01)) - value * bc<V>(1.90821492927058770002e-10), n};
  }
}
template <class V> INLINE V exp_of(V r) {
  V q;
  if constexpr (is_f32<V>) q = horner(r, 0.49999994f, 0.1666652f, 0.041668393f, 0.008368781f, 0.0013814507f);
  else
    q = horner(r, 0.5, 0.16666666666666682, 0.04166666666666609, 0.008333333333316916, 0.0013888888889117346, 0.0001984126989668251,
               2.480158692446639e-05, 2.7557234557867096e-06, 2.7557582899144364e-07, 2.511214464777908e-08, 2.0826507540926964e-09);
  return (q * r * r + r) + bc<V>(1);
}
template <class V> INLINE V scaled(V p, mask_t<V> n) { return p * power_of_two<V>(n >> 1) * power_of_two<V>(n - (n >> 1)); }

template <class V> INLINE V m_exp(V x) {
  if constexpr (wide<V>) return join(m_exp(lo(x)), m_exp(hi(x)));
  else {
    x = at_least(at_most(x, is_f32<V> ? 89 : 710), is_f32<V> ? -105 : -746);
    auto [r, n] = reduce_exp(x);
    return scaled(exp_of(r), n);
  }
}
