// needs: core, mem
// bf16 and f16 in memory, float in registers; rounding to nearest even, as torch rounds.
struct bf16 { uint16_t bits; };
struct f16 { uint16_t bits; };

template <class V> INLINE V from_bf16(like<V, uint16_t> h) { return bits<V>(cvt<like<V, uint32_t>>(h) << 16); }
template <class V> INLINE like<V, uint16_t> to_bf16(V v) {
  using U = like<V, uint32_t>;
  U u = bits<U>(v);
  U rounded = (u + ((u >> 16) & 1) + 0x7fff) >> 16;
  return cvt<like<V, uint16_t>>(select(ne(v, v), bc<U>(0x7fc0), rounded));
}

template <class V> INLINE V from_f16(like<V, uint16_t> h) {
#if defined(__AVX512F__)
  if constexpr (lanes<V> == 16) return (V)_mm512_cvtph_ps((__m256i)h);
#endif
#if defined(__F16C__)
  if constexpr (lanes<V> == 8) return (V)_mm256_cvtph_ps((__m128i)h);
#endif
  if constexpr (wide<V>) return join(from_f16<half_t<V>>(lo(h)), from_f16<half_t<V>>(hi(h)));
  using U = like<V, uint32_t>;
  U u = cvt<U>(h), body = (u & 0x7fff) << 13, exponent = body & 0x0f800000;
  V normal = bits<V>(body + 0x38000000);                              // bias 15 becomes 127
  V tiny = bits<V>(body + 0x38800000) - bits<V>(bc<U>(0x38800000));  // subnormal: renormalised by a subtraction
  V special = bits<V>(body + 0x70000000);
  V value = select(eq(exponent, U{}), tiny, select(eq(exponent, bc<U>(0x0f800000)), special, normal));
  return bits<V>(bits<U>(value) | ((u & 0x8000) << 16));
}
template <class V> INLINE like<V, uint16_t> to_f16(V v) {
#if defined(__AVX512F__)
  if constexpr (lanes<V> == 16) return (like<V, uint16_t>)_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT);
#endif
#if defined(__F16C__)
  if constexpr (lanes<V> == 8) return (like<V, uint16_t>)_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT);
#endif
  if constexpr (wide<V>) return join(to_f16(lo(v)), to_f16(hi(v)));
  using U = like<V, uint32_t>;
  U u = bits<U>(v), sign = (u >> 16) & 0x8000, body = u & 0x7fffffff;
  U normal = (body - 0x38000000 + ((body >> 13) & 1) + 0xfff) >> 13;
  U tiny = bits<U>(bits<V>(body) + bc<V>(0.5f)) - 0x3f000000;  // the sum's rounding is f16's subnormal rounding
  U rounded = select(lt(body, bc<U>(0x38800000)), tiny, normal);
  U special = select(gt(body, bc<U>(0x7f800000)), bc<U>(0x7e00), bc<U>(0x7c00));
  return cvt<like<V, uint16_t>>(select(ge(body, bc<U>(0x477ff000)), special, rounded) | sign);
}

template <class V> INLINE V ld(const bf16* p) { return cvt<V>(from_bf16<like<V, float>>(ld<like<V, uint16_t>>(&p->bits))); }
template <class V> INLINE V ld(const f16* p) { return cvt<V>(from_f16<like<V, float>>(ld<like<V, uint16_t>>(&p->bits))); }
template <class V> INLINE void st(bf16* p, V v) { st(&p->bits, to_bf16(cvt<like<V, float>>(v))); }
template <class V> INLINE void st(f16* p, V v) { st(&p->bits, to_f16(cvt<like<V, float>>(v))); }
// A value rounded to the narrow type and widened again (an intermediate cast).
template <class V> INLINE V as_bf16(V v) { return from_bf16<V>(to_bf16(v)); }
template <class V> INLINE V as_f16(V v) { return from_f16<V>(to_f16(v)); }
