// needs: core
// The hardware's square root and the correctly rounded division after it.
template <class V> INLINE V m_sqrt(V x) {
  if constexpr (wide<V>) return join(m_sqrt(lo(x)), m_sqrt(hi(x)));
  else {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64 && sizeof(scalar_t<V>) == 4) return (V)_mm512_sqrt_ps((__m512)x);
    if constexpr (sizeof(V) == 64 && sizeof(scalar_t<V>) == 8) return (V)_mm512_sqrt_pd((__m512d)x);
#endif
#if defined(__AVX__)
    if constexpr (sizeof(V) == 32 && sizeof(scalar_t<V>) == 4) return (V)_mm256_sqrt_ps((__m256)x);
    if constexpr (sizeof(V) == 32 && sizeof(scalar_t<V>) == 8) return (V)_mm256_sqrt_pd((__m256d)x);
#endif
#if defined(__SSE2__)
    if constexpr (!is_scalar<V> && sizeof(V) == 16 && sizeof(scalar_t<V>) == 4) return (V)_mm_sqrt_ps((__m128)x);
#endif
    return lanewise([](auto s) { return std::sqrt(s); }, x);
  }
}
template <class V> INLINE V m_rsqrt(V x) { return bc<V>(1) / m_sqrt(x); }
