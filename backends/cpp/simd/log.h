// needs: poly
// x = 2^e m with m in [sqrt(1/2), sqrt(2)); log x = e ln2 + log1p(m - 1).
template <class V> struct Parts { V f, e; };
template <class V> INLINE Parts<V> log_parts(V x) {
  using I = mask_t<V>;
  if constexpr (is_f32<V>) {
    auto tiny = lt(x, bc<V>(1.17549435e-38f));
    I i = bits<I>(select(tiny, x * bc<V>(8388608.0f), x)) - 0x3f3504f3;
    V m = bits<V>((i & 0x7fffff) + 0x3f3504f3);
    return {m - bc<V>(1), cvt<V>(i >> 23) - select(tiny, bc<V>(23), V{})};
  } else {
    auto tiny = lt(x, bc<V>(2.2250738585072014e-308));
    I i = bits<I>(select(tiny, x * bc<V>(4503599627370496.0), x)) - 0x3fe6a09e667f3bcd;
    V m = bits<V>((i & 0xfffffffffffff) + 0x3fe6a09e667f3bcd);
    I biased = (i >> 52) + 0x4338000000000000;  // an integer's double without AVX-512's conversion
    return {m - bc<V>(1), (bits<V>(biased) - bc<V>(6755399441055744.0)) - select(tiny, bc<V>(52), V{})};
  }
}
// log1p(f) - f + f^2 / 2
template <class V> INLINE V log_tail(V f) {
  return f * f * f * horner(f, 0.33333313f, -0.2500001f, 0.20002118f, -0.16667995f, 0.14219555f, -0.124056004f, 0.118881576f, -0.11675592f, 0.06746588f);
}
template <class V> INLINE V log_edges(V x, V y) {
  constexpr auto inf = std::numeric_limits<scalar_t<V>>::infinity();
  y = select(eq(x, V{}), bc<V>(-inf), y);
  y = select(eq(x, bc<V>(inf)), x, y);
  return select(ge(x, V{}), y, bc<V>(std::numeric_limits<scalar_t<V>>::quiet_NaN()));
}
template <class V> INLINE V m_log(V x) {
  if constexpr (wide<V>) return join(m_log(lo(x)), m_log(hi(x)));
  else if constexpr (is_f32<V>) {
    auto [f, e] = log_parts(x);
    V tail = log_tail(f) + e * bc<V>(-2.12194440e-4f);
    return log_edges(x, (tail - f * f * bc<V>(0.5f) + f) + e * bc<V>(0.693359375f));
  } else {
    auto [f, e] = log_parts(x);
    V s = f / (f + bc<V>(2)), z = s * s, square = f * f * bc<V>(0.5);
    V q = z * horner(z, 0.6666666666666735, 0.399999999994111, 0.2857142874326302, 0.22222198475828178, 0.18183569750748613, 0.1531390294456884, 0.14797510688171578);
    V tail = s * (square + q) + e * bc<V>(1.90821492927058770002e-10);
    return log_edges(x, e * bc<V>(6.93147180369123816490e-01) - ((square - tail) - f));
  }
}
