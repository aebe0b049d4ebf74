// needs: core
// Rounding to an integer value; `round` takes ties to even.
#if defined(__AVX512F__)
#define PRAGMA_ROUND512(x, mode)                                                               \
  if constexpr (sizeof(V) == 64 && sizeof(scalar_t<V>) == 4) return (V)_mm512_roundscale_ps((__m512)x, mode); \
  if constexpr (sizeof(V) == 64 && sizeof(scalar_t<V>) == 8) return (V)_mm512_roundscale_pd((__m512d)x, mode);
#else
#define PRAGMA_ROUND512(x, mode)
#endif
#if defined(__AVX__)
#define PRAGMA_ROUND256(x, mode)                                                               \
  if constexpr (sizeof(V) == 32 && sizeof(scalar_t<V>) == 4) return (V)_mm256_round_ps((__m256)x, mode); \
  if constexpr (sizeof(V) == 32 && sizeof(scalar_t<V>) == 8) return (V)_mm256_round_pd((__m256d)x, mode); \
  if constexpr (!is_scalar<V> && sizeof(V) == 16 && sizeof(scalar_t<V>) == 4) return (V)_mm_round_ps((__m128)x, mode);
#else
#define PRAGMA_ROUND256(x, mode)
#endif
#define PRAGMA_ROUND(name, mode, libm)                                                         \
  template <class V> INLINE V name(V x) {                                                      \
    if constexpr (!is_float<V>) return x;                                                      \
    else if constexpr (wide<V>) return join(name(lo(x)), name(hi(x)));                         \
    else {                                                                                     \
      PRAGMA_ROUND512(x, mode)                                                                 \
      PRAGMA_ROUND256(x, mode)                                                                 \
      return lanewise([](auto s) { return libm(s); }, x);                                      \
    }                                                                                          \
  }
PRAGMA_ROUND(m_round, 8, std::nearbyint)
PRAGMA_ROUND(m_floor, 9, std::floor)
PRAGMA_ROUND(m_ceil, 10, std::ceil)
PRAGMA_ROUND(m_trunc, 11, std::trunc)
