// needs: poly, exp
template <class V> INLINE V exp2_of(V r) {
  return r * horner(r, 0.6931472f, 0.24022648f, 0.05550332f, 0.009618439f, 0.0013399003f, 0.00015353262f) + bc<V>(1);
}
template <class V> INLINE V m_exp2(V x) {
  PRAGMA_POLY(exp2, x) {
    x = at_least(at_most(x, 129), -151);
    auto [value, n] = nearest(x);
    return scaled(exp2_of(x - value), n);
  }
}
