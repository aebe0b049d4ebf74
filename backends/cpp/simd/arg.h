// needs: core
// argmax and argmin: a vector of best values with a vector of their positions; the first position wins a tie, NaN wins all.
template <bool Max, class V> INLINE mask_t<V> beats(V v, V best) {
  mask_t<V> m = Max ? gt(v, best) : lt(v, best);
  if constexpr (is_float<V>) m = lor(m, land(ne(v, v), eq(best, best)));
  return m;
}
template <bool Max, class V, class I> INLINE void arg_step(V& best, I& at, V v, I i) {
  auto m = beats<Max>(v, best);
  best = select(m, v, best);
  at = select(m, i, at);
}
template <class V, class I> INLINE void argmax_step(V& best, I& at, V v, I i) { arg_step<true>(best, at, v, i); }
template <class V, class I> INLINE void argmin_step(V& best, I& at, V v, I i) { arg_step<false>(best, at, v, i); }

template <class S, class I> struct Arg { S value; I at; };
template <bool Max, class S, class I> INLINE Arg<S, I> arg_better(Arg<S, I> a, Arg<S, I> b) {
  if (beats<Max>(b.value, a.value)) return b;
  return !beats<Max>(a.value, b.value) && b.at < a.at ? b : a;
}
template <bool Max, class V, class I> INLINE Arg<scalar_t<V>, scalar_t<I>> harg(V best, I at) {
  if constexpr (is_scalar<V>) return {best, at};
  else {
    Arg<scalar_t<V>, scalar_t<I>> r{best[0], at[0]};
    for (int i = 1; i < lanes<V>; i++) r = arg_better<Max>(r, Arg<scalar_t<V>, scalar_t<I>>{best[i], at[i]});
    return r;
  }
}
template <class V, class I> INLINE auto hargmax(V best, I at) { return harg<true>(best, at); }
template <class V, class I> INLINE auto hargmin(V best, I at) { return harg<false>(best, at); }
