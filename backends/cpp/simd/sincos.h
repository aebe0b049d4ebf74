// needs: poly
// Reduction by pi / 2 in three parts, right while |x| <= 1e5 with fused multiply-add; a vector with a larger lane goes to the C library.
template <class V> struct Quadrant { V sine, cosine; mask_t<V> n; };
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
constexpr float SINCOS_LIMIT = 1e5f;
#else
constexpr float SINCOS_LIMIT = 0.78f;
#endif
template <class V> INLINE Quadrant<V> quadrant(V x) {
  auto [value, n] = nearest(x * bc<V>(0.636619772f));
  V r = ((x - value * bc<V>(1.57079637f)) - value * bc<V>(-4.37113883e-8f)) - value * bc<V>(-1.71512451e-15f);
  V z = r * r;
  V sine = horner(z, -0.16666667f, 0.008333329f, -0.00019839327f, 2.7182377e-06f) * z * r + r;
  V cosine = (horner(z, 0.041666646f, -0.001388731f, 2.4432415e-05f) * z * z - z * bc<V>(0.5f)) + bc<V>(1);
  return {sine, cosine, n};
}
template <class V> INLINE V turned(V v, mask_t<V> flip) { return bits<V>(bits<mask_t<V>>(v) ^ (flip << 31)); }
template <class V> INLINE V m_sin(V x) {
  PRAGMA_POLY(sin, x) {
    if (any(gt(m_abs(x), bc<V>(SINCOS_LIMIT)))) return l_sin(x);
    auto [sine, cosine, n] = quadrant(x);
    V y = turned(select(eq(n & 1, mask_t<V>{}), sine, cosine), (n >> 1) & 1);
    return select(eq(x, V{}), x, y);
  }
}
template <class V> INLINE V m_cos(V x) {
  PRAGMA_POLY(cos, x) {
    if (any(gt(m_abs(x), bc<V>(SINCOS_LIMIT)))) return l_cos(x);
    auto [sine, cosine, n] = quadrant(x);
    return turned(select(eq(n & 1, mask_t<V>{}), cosine, sine), ((n + 1) >> 1) & 1);
  }
}
