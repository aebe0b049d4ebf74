// needs: core
// Loads and stores with conversion; bool is one byte, a stored mask becomes 0 or 1.
template <class S> using stored = std::conditional_t<std::is_same_v<S, bool>, uint8_t, S>;

template <class V, class S> INLINE V ld(const S* p) {
  Vec<stored<S>, lanes<V>> raw;
  std::memcpy(&raw, p, sizeof raw);
  return cvt<V>(raw);
}
template <class S, class V> INLINE void st(S* p, V v) {
  Vec<stored<S>, lanes<V>> raw;
  if constexpr (std::is_same_v<S, bool>) raw = cvt<decltype(raw)>(ne(v, V{})) & bc<decltype(raw)>(1);
  else raw = cvt<decltype(raw)>(v);
  std::memcpy(p, &raw, sizeof raw);
}
// A b1 operand as the mask that belongs to V.
template <class V> INLINE mask_t<V> ldm(const bool* p) { return ne(ld<mask_t<V>>(p), mask_t<V>{}); }

// The first n lanes only; the others hold `fill` (ldn) or stay unwritten (stn).
template <class V, class S> INLINE V ldn(const S* p, int n, S fill = S{}) {
  S part[lanes<V>];
  for (int i = 0; i < lanes<V>; i++) part[i] = i < n ? p[i] : fill;
  return ld<V>(part);
}
template <class S, class V> INLINE void stn(S* p, V v, int n) {
  S part[lanes<V>];
  st(part, v);
  for (int i = 0; i < n; i++) p[i] = part[i];
}
// Lanes `stride` elements apart, and lanes at positions of their own.
template <class V, class S> INLINE V ldg(const S* p, int64_t stride) {
  S part[lanes<V>];
  for (int i = 0; i < lanes<V>; i++) part[i] = p[i * stride];
  return ld<V>(part);
}
template <class S, class V> INLINE void stg(S* p, int64_t stride, V v) {
  S part[lanes<V>];
  st(part, v);
  for (int i = 0; i < lanes<V>; i++) p[i * stride] = part[i];
}
template <class V, class S, class I> INLINE V gather(const S* p, I at) {
  S part[lanes<V>];
  if constexpr (is_scalar<I>) part[0] = p[at];
  else for (int i = 0; i < lanes<V>; i++) part[i] = p[at[i]];
  return ld<V>(part);
}
