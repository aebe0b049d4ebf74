// needs: core, mem, half
// Stores past the caches where the address is aligned to the vector, plain stores elsewhere; end with sfence().
template <class S> INLINE bool stream_bytes(S* p, const void* raw, int bytes) {
  (void)raw;
  if (reinterpret_cast<uintptr_t>(p) % bytes) return false;
#if defined(__AVX512F__)
  if (bytes % 64 == 0) { for (int i = 0; i < bytes; i += 64) _mm512_stream_si512((__m512i*)((char*)p + i), _mm512_loadu_si512((const char*)raw + i)); return true; }
#endif
#if defined(__AVX__)
  if (bytes % 32 == 0) { for (int i = 0; i < bytes; i += 32) _mm256_stream_si256((__m256i*)((char*)p + i), _mm256_loadu_si256((const __m256i*)((const char*)raw + i))); return true; }
#endif
#if defined(__SSE2__)
  if (bytes % 16 == 0) { for (int i = 0; i < bytes; i += 16) _mm_stream_si128((__m128i*)((char*)p + i), _mm_loadu_si128((const __m128i*)((const char*)raw + i))); return true; }
#endif
  return false;
}
template <class S, class V> INLINE void stream(S* p, V v) {
  alignas(64) S raw[lanes<V>];
  st(raw, v);
  if (!stream_bytes(p, raw, sizeof raw)) st(p, v);
}
INLINE void sfence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}
