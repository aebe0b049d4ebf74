// needs: core, reduce
// Folds along the lanes: U vector accumulators, a scalar tail; f32 sums go to a double total after every 64 steps,
// so that their error stays at a few ulp for any length.
struct Sum {
  template <class V> INLINE static V of(V a, V b) { return a + b; }
  template <class V> INLINE static auto across(V v) { return hsum(v); }
  template <class S> static constexpr S neutral() { return 0; }
};
struct Prod {
  template <class V> INLINE static V of(V a, V b) { return a * b; }
  template <class V> INLINE static auto across(V v) { return hprod(v); }
  template <class S> static constexpr S neutral() { return 1; }
};
struct Max {
  template <class V> INLINE static V of(V a, V b) { return vmax(a, b); }
  template <class V> INLINE static auto across(V v) { return hmax(v); }
  template <class S> static constexpr S neutral() { using L = std::numeric_limits<S>; return L::has_infinity ? -L::infinity() : L::lowest(); }
};
struct Min {
  template <class V> INLINE static V of(V a, V b) { return vmin(a, b); }
  template <class V> INLINE static auto across(V v) { return hmin(v); }
  template <class S> static constexpr S neutral() { using L = std::numeric_limits<S>; return L::has_infinity ? L::infinity() : L::max(); }
};

// f(T{}, i) gives the terms i, i + 1, ... of one vector (T = V) or one term (T = float).
template <class Op, class V, int U, class Total, class F> INLINE Total fold(Total total, const int64_t begin, const int64_t end, F f) {
  using R = decltype(f(V{}, begin));
  using S = scalar_t<R>;
  constexpr int64_t L = lanes<V>;
  constexpr bool deep = std::is_same_v<Op, Sum> && std::is_same_v<S, float>;
  const int64_t whole = begin + (end - begin) / L * L;
  int64_t i = begin;
  while (i < whole) {
    const int64_t stop = deep && whole - i > 64 * U * L ? i + 64 * U * L : whole;
    R part[U];
    for (auto& p : part) p = bc<R>(Op::template neutral<S>());
    for (; i + U * L <= stop; i += U * L) {
#pragma GCC unroll 16
      for (int u = 0; u < U; ++u) part[u] = Op::of(part[u], f(V{}, i + u * L));
    }
    for (; i < stop; i += L) part[0] = Op::of(part[0], f(V{}, i));
    for (int u = 1; u < U; ++u) part[0] = Op::of(part[0], part[u]);
    total = Op::of(total, Total(Op::across(part[0])));
  }
  S tail = Op::template neutral<S>();
  for (; i < end; ++i) tail = Op::of(tail, f(float{}, i));
  return Op::of(total, Total(tail));
}
