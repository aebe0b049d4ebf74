// needs: log
template <class V> INLINE V m_log1p(V x) {
  PRAGMA_POLY(log1p, x) {
    using I = mask_t<V>;
    V u = x + bc<V>(1);
    V lost = select(gt(x, bc<V>(1)), bc<V>(1) - (u - x), x - (u - bc<V>(1)));  // what rounding took from 1 + x
    I i = bits<I>(u) - 0x3f3504f3;
    V f = bits<V>((i & 0x7fffff) + 0x3f3504f3) - bc<V>(1), e = cvt<V>(i >> 23);
    f = f + lost * bits<V>(at_least(I(127 - (i >> 23)), 1) << 23);
    V tail = log_tail(f) + e * bc<V>(-2.12194440e-4f);
    V y = (tail - f * f * bc<V>(0.5f) + f) + e * bc<V>(0.693359375f);
    return select(eq(x, V{}), x, log_edges(u, y));
  }
}
