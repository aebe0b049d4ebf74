// needs: exp, log, round
// x^y of floats in double precision, so that the result is rounded once; doubles and integers lane by lane.
template <class V> INLINE V m_pow(V x, V y) {
  if constexpr (!is_f32<V>) return l_pow(x, y);
  else if constexpr (wide<V>) return join(m_pow(lo(x), lo(y)), m_pow(hi(x), hi(y)));
  else {
    using D = like<V, double>;
    V a = m_abs(x), one = bc<V>(1), whole = m_trunc(y);
    V r = cvt<V>(m_exp(cvt<D>(y) * m_log(cvt<D>(a))));
    auto integer = eq(whole, y);
    auto odd = land(integer, ne(m_trunc(y * bc<V>(0.5f)) * bc<V>(2), y));
    r = select(land(lt(bits<mask_t<V>>(x), mask_t<V>{}), odd), -r, r);
    r = select(land(lt(x, V{}), land(lnot(integer), ne(a, bc<V>(std::numeric_limits<float>::infinity())))), bc<V>(std::numeric_limits<float>::quiet_NaN()), r);
    auto unit = lor(eq(x, one), lor(eq(y, V{}), land(eq(a, one), m_isinf(y))));
    return select(unit, one, r);
  }
}
