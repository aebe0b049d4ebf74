// needs: poly, exp
template <class V> INLINE V m_expm1(V x) {
  PRAGMA_POLY(expm1, x) {
    V kept = x;
    x = at_least(at_most(x, 89), -20);  // below, the result is -1 to the last bit
    auto [r, n] = reduce_exp(x);
    V p = horner(r, 0.5f, 0.16666666f, 0.04166636f, 0.00833339f, 0.001394072f, 0.00019845903f) * r * r + r;
    V half = power_of_two<V>(n - 1);  // half of 2^n, which may overflow
    V y = half * p + (half - bc<V>(0.5f));
    return select(eq(kept, V{}), kept, y + y);
  }
}
